"""What tuning chose for the runs of a table: the records, depths of a row, a sentence on each.

Usage: `note(read(Path("tuning/nfcorpus/dev/clear.seed1.json")))`. Must not know how a setting is
chosen, nor how a table is laid out.
"""

import json
from pathlib import Path
from typing import NamedTuple, NotRequired, TypedDict

from residuum.core import files
from residuum.core.errors import ResiduumError
from residuum.core.schema.papers import Column, Row
from residuum.wiring.bound import BoundTable


class Fold(TypedDict):
    """What was chosen for the queries of one fold on those of the others."""

    queries: int
    chosen: dict[str, float | None]
    value_on_others: float
    value_held_out: float
    at_edge: bool | list[str]


# The content of a tuning JSON: a depth, a lambda, or folds.
Record = TypedDict(
    "Record",
    {
        "measure": str,
        "queries": int,
        "at_edge": bool,
        "depth": NotRequired[int],
        "lambda": NotRequired[float],
        "folds": NotRequired[list[Fold]],
    },
)


class Tuned(NamedTuple):
    """What was chosen for a run, on the queries of a split."""

    run: str
    split_ref: str
    record: Record


def read(path: Path) -> Tuned:
    """Read a tuning JSON; its path, <dataset>/<split>/<run>.json, names the split and the run."""
    return Tuned(path.stem, "/".join(path.parts[-3:-1]), json.loads(files.read_bytes(path)))


def depths(job: BoundTable, row: Row, column: Column, tuned: list[Tuned]) -> list[Tuned]:
    """Return the depth record of each of a row's runs; none for a row that reranks nothing.

    A run that reranks but has no record, or only some of a row's runs, is an error.
    """
    if job.not_run(row, column) is not None:
        return []
    split_ref = str(job.places[column.id])
    records = {run: _depth(run, split_ref, tuned) for run in job.runs[row.id]}
    lacking = [run for run, record in records.items() if record is None]
    reranks = job.systems.get(row.id, {}).get("kind") == "rerank"
    if lacking and (reranks or len(lacking) < len(records)):
        raise ResiduumError(
            f"{job.id}, row {row.id}: no tuning record gives the depth of {lacking[0]} on "
            f"{split_ref}; name it with --tuning {split_ref}/{lacking[0]}.json"
        )
    return [record for record in records.values() if record]


def _depth(run: str, split_ref: str, tuned: list[Tuned]) -> Tuned | None:
    """Return a run's depth record: that of the split, or the only one."""
    records = [t for t in tuned if t.run == run and "depth" in t.record]
    own = [t for t in records if t.split_ref == split_ref] or records
    return own[0] if len(own) == 1 else None


def note(tuned: Tuned) -> str:
    """Return one sentence on what was chosen, on which queries, and whether at a grid's edge."""
    record = tuned.record
    if "folds" in record:
        folds = [_fold_note(number, fold) for number, fold in enumerate(record["folds"], start=1)]
        what = "lambda" if "lambda" in record["folds"][0]["chosen"] else "RM3"
        start = f"{tuned.run} on {tuned.split_ref}: {what} chosen for each fold of the queries by "
        return f"{start}{record['measure']} on the other folds: {'; '.join(folds)}."
    chosen = f"depth K {record['depth']}" if "depth" in record else f"lambda {record['lambda']}"
    return (
        f"{tuned.run}: {chosen}{_edge(record['at_edge'])}, chosen on "
        f"{record['queries']} tuning queries by {record['measure']}."
    )


def _fold_note(number: int, fold: Fold) -> str:
    chosen = ", ".join(f"{k} {value}" for k, value in fold["chosen"].items() if value is not None)
    return (
        f"fold {number} ({fold['queries']} queries) {chosen}"
        f"{_edge(fold['at_edge'])}, {fold['value_on_others']:.3f} on the others and "
        f"{fold['value_held_out']:.3f} held out"
    )


def _edge(at_edge: bool | list[str]) -> str:
    """Warn of a choice at an edge of its grid; a list names the parameters that are."""
    which = f"{', '.join(at_edge)} " if isinstance(at_edge, list) and at_edge else ""
    return f" ({which}at an edge of its grid)" if at_edge else ""
