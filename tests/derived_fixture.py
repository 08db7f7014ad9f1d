"""A small results folder of fusions and their parts, and a table of all that is derived of them."""

import random
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from bounds_fixture import bounds_of
from residuum import evaluate, ledger, significance
from residuum.artefacts import trec
from residuum.config.schema.tests import Tests
from residuum.pages import grids
from residuum.pages.grids import GridCell
from residuum.pages.table import make as tables
from residuum.pages.table.entry import Table
from residuum.pages.table.job import ITSELF, NO_PARTS, BoundTable
from results_fixture import record
from tables_fixture import spec

QUERIES = [f"q{i:02d}" for i in range(60)]
MEASURES = ["Success@10", "RR@10"]
SEEDED = ("sum", "ours", "dense-sum", "dense-ours", "dense-none")
HIT = {"measure": "Success@10", "role": "nq"}
TABLE = {
    "kind": "table",
    "title": "Toy complementarity",
    "printed_in": "Toy, Table 1",
    "columns": [
        {"id": "roc", "header": "RoC", "derived": "RoC", **HIT},
        {"id": "gain", "header": "RoC", "derived": "RoC", "change_from": "sum", **HIT},
        {"id": "more", "header": "|D - S|", "derived": "residual", "change_from": "sum",
         "tick": "above", **HIT},
        {"id": "less", "header": "both", "derived": "overlap", "change_from": "sum",
         "tick": "below", **HIT},
        {"id": "both", "header": "both", "derived": "overlap", **HIT},
        {"id": "rr", "header": "MRR", "measure": "RR@10", "role": "nq", "change_from": "sum"},
        {"id": "won", "header": "wins", "measure": "RR@10", "role": "nq", "derived": "better",
         "than": "bm25"},
    ],
    "rows": [
        {"id": "bm25", "label": "BM25", "system": "bm25"},
        {"id": "sum", "index": 1, "label": "Sum", "system": "sum"},
        {"id": "ours", "index": 2, "label": "Ours", "system": "ours"},
        {"id": "none", "label": "None", "system": "none"},
    ],
    "tests": "roc",
    "baselines": ["sum"],
    "tolerance": {"default": 0.005},
    "reported": {
        "sum": {"roc": "0.32"},
        "ours": {"roc": "0.47", "gain": "+0.12", "more": "✓", "less": "✓", "rr": "-0.01"},
    },
}  # fmt: skip
TESTS = {
    **{"test": "t-test", "alpha": 0.05, "compare": "with_baselines"},
    **{"correction": "bonferroni", "family": "column"},
}


def seeds(system: str) -> list[str]:
    return [f"{system}.seed1", f"{system}.seed2"] if system in SEEDED else [system]


def job(**changes: object) -> BoundTable:
    """Return the table, bound as the wiring binds it."""
    parts = {"sum": "dense-sum", "ours": "dense-ours", "none": "dense-none"}
    derived = {
        row: {
            name: {"first": seeds(dense), "second": ["bm25"]}
            for name in ("roc", "gain", "more", "less", "both")
        }
        for row, dense in parts.items()
    }
    rows = ["bm25", "sum", "ours", "none"]
    for row in rows[1:]:
        derived[row]["won"] = {"first": seeds(row), "second": ["bm25"]}
    return BoundTable.model_validate(
        {
            **{"id": "toy-table1", "entry": Table.model_validate({**TABLE, **changes})},
            **{"tests": Tests.model_validate(TESTS), "systems": {}, "scale": "toy"},
            "splits": {column["id"]: "data/nq" for column in TABLE["columns"]},
            "runs": {row: seeds(row) for row in rows},
            "absent": {"bm25": {**dict.fromkeys(derived["sum"], NO_PARTS), "won": ITSELF}},
            **{"derived": derived, "comparable": True, "reason": "a toy."},
        }
    )


def build(results: Path) -> Path:
    """Write runs, their metrics, the table, its tests and the ledger."""
    draw, split = random.Random(7), results / "data" / "data" / "nq"
    trec.write_queries(split / "queries.tsv", [(q, f"text of {q}") for q in QUERIES])
    trec.write_qrels(split / "qrels.trec", [(q, f"{q}-right", 1) for q in QUERIES])
    record(split / "queries.tsv", {"queries": 60}, [], "residuum.data")
    easy = {"bm25": range(24), "sum": range(48), "ours": range(52), "none": range(20)}
    found = {"dense-sum": range(12, 36), "dense-ours": range(14, 56), "dense-none": range(0)}
    for system, numbers in {**easy, **found}.items():
        for run in seeds(system):
            missed = set(draw.sample(list(numbers), min(3, len(numbers))))
            ranks = [draw.randint(1, 10) if i in set(numbers) - missed else 12 for i in range(60)]
            _run(results, run, ranks, system)
    make_pages(results)
    return results


def _run(results: Path, run: str, ranks: list[int], system: str) -> None:
    """Write fifteen docs a query, the right one at its rank, as the system's kind would."""
    rows = []
    for query_id, at in zip(QUERIES, ranks, strict=True):
        docs = [f"{query_id}-wrong{i}" for i in range(14)]
        docs.insert(at - 1, f"{query_id}-right")
        rows += [(query_id, doc, float(100 - i)) for i, doc in enumerate(docs)]
    frame = pl.DataFrame(rows, schema=["query_id", "doc_id", "score"], orient="row")
    path, split = results / "runs" / "data" / "nq" / f"{run}.trec.gz", results / "data/data/nq"
    trec.write_run(path, trec.rank(frame), run)
    record(path, {"hits": frame.height}, [split / "queries.tsv"], "residuum.dense", system=system)
    output = results / "metrics" / "data" / "nq" / f"{run}.tsv"
    evaluate.run(path, split / "qrels.trec", MEASURES, output)


def make_pages(results: Path, made: BoundTable | None = None, groups: Sequence[Path] = ()) -> None:
    text, page = spec(made or job()), results / "tables" / "toy-table1.tsv"
    tests = results / "significance" / "toy-table1.tsv"
    significance.compare(
        text, results / "metrics", tests, bounds_of(results / "metrics"), groups=[*groups]
    )
    tables.render(text, results / "metrics", tests, page, [], groups=[*groups])
    ledger.write([text], [page], significance=[tests], output=results / "ledger.tsv")


def cells(results: Path) -> dict[tuple[str, str], GridCell]:
    """Return the cells of the table as its TSV has them, by row and column."""
    path = results / "tables" / "toy-table1.tsv"
    return grids.by_place(grids.rows(path, GridCell, optional=grids.OPTIONAL))
