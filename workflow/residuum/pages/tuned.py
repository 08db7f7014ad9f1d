"""What tuning chose for the runs of a table: the records, depths of a row, a sentence on each.

Usage: `note(Tuned.read(Path("tuning/nfcorpus/dev/clear.seed1.json")))`. Must not know how a
setting is chosen, nor how a table is laid out.
"""

from residuum.cli.errors import ResiduumError
from residuum.config.schema.papers import Column, Row
from residuum.tuning.choosing import Choice, Tuned
from residuum.wiring.bound import BoundTable

NAMES = {"lambda": "lambda", "depth": "depth K"}  # of a setting of one parameter; RM3 has several


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
    records = [t for t in tuned if t.run == run and "depth" in t.record.choices[0].setting]
    own = [t for t in records if t.split_ref == split_ref] or records
    return own[0] if len(own) == 1 else None


def note(tuned: Tuned) -> str:
    """Return one sentence on what was chosen, on which queries, and whether at a grid's edge."""
    record, several = tuned.record, len(tuned.record.choices[0].setting) > 1
    name, value = next(iter(record.choices[0].setting.items()))
    what = "RM3" if several else NAMES[name]
    if record.fold_of:
        folds = [_fold_note(number, fold) for number, fold in enumerate(record.choices, start=1)]
        start = f"{tuned.run} on {tuned.split_ref}: {what} chosen for each fold of the queries by "
        return f"{start}{record.measure} on the other folds: {'; '.join(folds)}."
    if record.measure is None:
        return f"{tuned.run}: {what} {value}, fixed."
    return (
        f"{tuned.run}: {what} {value}{_edge(record.choices[0])}, chosen on "
        f"{record.queries} tuning queries by {record.measure}."
    )


def _fold_note(number: int, fold: Choice) -> str:
    chosen = ", ".join(f"{name} {value}" for name, value in fold.setting.items())
    return (
        f"fold {number} ({fold.queries} queries) {chosen}{_edge(fold)}, "
        f"{fold.mean:.3f} on the others and {fold.held_out:.3f} held out"
    )


def _edge(choice: Choice) -> str:
    """Warn of a choice at an edge of its grid; of several parameters, name those that are."""
    which = f"{', '.join(choice.at_edge)} " if len(choice.setting) > 1 else ""
    return f" ({which}at an edge of its grid)" if choice.at_edge else ""
