"""A small table with hand-made metrics, for the tests of tables, ledger and cells."""

from pathlib import Path

import polars as pl

from residuum.artefacts import trec
from residuum.config.schema.tests import Tests
from residuum.config.specs import canonical_json
from residuum.pages.table.entry import Table
from residuum.pages.table.job import BoundTable
from residuum.tuning.learned import Learned

TABLE = {
    "kind": "table",
    "title": "Toy & table",
    "printed_in": "Toy, Table 1",
    "columns": [
        {"id": "rr", "role": "dev", "measure": "RR@10", "header": "MRR@10"},
        {"id": "far", "role": "covid", "measure": "P@5", "header": "P@5"},
    ],
    "rows": [
        {"id": "base", "index": 1, "group": "Lexical", "label": "Base", "system": "base"},
        {"id": "ours", "index": 2, "group": "Hybrid", "label": "Ours", "system": "ours"},
        {"id": "ablation", "label": "w/o it", "system": "ablation", "below": "ours"},
        {"id": "later", "index": 3, "label": "Later", "not_run": "not built yet"},
    ],
    "tests": "toy",
    "tolerance": {"default": 0.01},
    "reported": {
        "base": {"rr": "0.300", "far": "0.1"},
        "ours": {"rr": "0.400 ^1,3"},
        "ablation": {"rr": "0.350 ↓"},
        "later": {"rr": "0.200"},
    },
}
TESTS = {"test": "permutation", "alpha": 0.05, "correction": "none", "family": "column"}
# Forty queries. ours beats base on all of them; the ablation differs from ours on two only.
VALUES = {
    "base": [0.3] * 40,
    "ours.seed1": [0.5] * 40,
    "ours.seed2": [0.4] * 40,
    "ablation": [0.44] * 2 + [0.45] * 38,
}


def job(comparable: bool = True, tests: dict | None = None, **changes: object) -> BoundTable:
    """Return the table bound for a scale that has `dev` but not `covid`."""
    return BoundTable(
        id="toy-table1",
        entry=Table.model_validate({**TABLE, **changes}),
        tests=Tests.model_validate({**TESTS, **(tests or {})}),
        splits={"rr": "data/dev", "far": None},
        runs={"base": ["base"], "ours": ["ours.seed1", "ours.seed2"], "ablation": ["ablation"]},
        systems={"base": {"kind": "lexical", "label": "Base", "bm25": {"k1": 0.9, "b": 0.4}}},
        scale="toy",
        comparable=comparable,
        reason="a toy.",
    )


def write_metrics(root: Path) -> Path:
    """Write the metrics files of the table and return their folder."""
    for run, values in VALUES.items():
        rows = [(f"q{i:02d}", "RR@10", v) for i, v in enumerate(values)]
        frame = pl.DataFrame(rows, schema=trec.METRICS, orient="row")
        trec.write_metrics(root / "data" / "dev" / f"{run}.tsv", frame)
    return root


def write_verdict(path: Path, **changes: object) -> Path:
    """Write whether a model learned, as its stage does: it did not, unless changed."""
    made = {
        **{"split_ref": "data/tune", "learned": False, "reason": "no better", "measure": "RR@10"},
        **{"examples": 4, "means": {"trained": 0.1, "start": 0.1}, "better": 0, "worse": 0},
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    Learned.model_validate(made | changes).write(path)
    return path


def spec(made: BoundTable) -> str:
    """Return the job as a `--spec` argument."""
    return canonical_json(made.model_dump(mode="json"))
