"""External TREC runs, read for a comparison: named, folds pooled, over the same queries.

Usage: `named, notes = read(["bm25.trec", "fold1.trec,fold2.trec"])`, then `same_queries(named,
judged, "refuse")`. Must not know measures or tests.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from residuum.artefacts import trec
from residuum.cli.errors import NotRun, ResiduumError

ENDINGS = (".gz", ".trec", ".run", ".txt", ".res")
RELEVANT = 1  # the lowest grade that a measure without a level of its own counts


def read(runs: Sequence[str]) -> tuple[dict[str, pl.DataFrame], list[str]]:
    """Return the runs by name, and a note for each whose ranks had to be made anew.

    Files joined by commas are the folds of one run, as cross-validation leaves them: they share no
    query, and the run has the first file's name.
    """
    named: dict[str, pl.DataFrame] = {}
    notes: list[str] = []
    for text in runs:
        paths = [Path(part) for part in text.split(",") if part]
        if not paths:
            raise ResiduumError(f"'{text}' names no run")
        name = _name(paths[0])
        if name in named:
            raise ResiduumError(f"two runs are named {name} ({paths[0]}). Rename one of the files.")
        folds = []
        for path in paths:
            fold, note = _read(path)
            folds.append(fold)
            notes += [f"{_name(path)}: {note}."] if note else []
        named[name] = _pooled(paths, folds)
        notes += [f"{name}: {len(paths)} folds, pooled."] * (len(paths) > 1)
    return named, notes


def _read(path: Path) -> tuple[pl.DataFrame, str]:
    try:
        return trec.read_any_run(path)
    except NotRun as reason:
        raise ResiduumError(f"{path}: not a run, it was refused: {reason}") from None


def _pooled(paths: Sequence[Path], folds: Sequence[pl.DataFrame]) -> pl.DataFrame:
    seen: dict[str, Path] = {}
    for path, fold in zip(paths, folds, strict=True):
        for query_id in fold["query_id"].unique(maintain_order=True):
            if query_id in seen:
                raise ResiduumError(
                    f"{path}: holds query {query_id}, which {seen[query_id]} holds too; folds to "
                    "pool share no query"
                )
            seen[query_id] = path
    return pl.concat(folds)


def _name(path: Path) -> str:
    name = path.name
    while name.endswith(ENDINGS):
        name = name[: name.rindex(".")]
    return name


def same_queries(
    named: dict[str, pl.DataFrame], judged: pl.DataFrame, missing: str
) -> tuple[dict[str, pl.DataFrame], list[str]]:
    """Cut the runs to the judged queries; what a run lacks of them is refused or noted.

    `missing` is refuse or zero. Raises ResiduumError where runs cover different judged queries, or
    none, and where the qrels hold no relevant doc.
    """
    if not (judged["relevance"] >= RELEVANT).any():
        raise ResiduumError("the qrels hold no relevant doc: every measure would be 0")
    queries = judged["query_id"].unique().sort().to_list()
    notes = [f"{len(queries)} judged queries."]
    for name, run in named.items():
        ranked = set(run["query_id"])
        lacking = [query_id for query_id in queries if query_id not in ranked]
        if len(lacking) == len(queries):
            raise ResiduumError(
                f"{name}: no line for any judged query, such as {queries[0]}; it ranks docs for "
                f"{min(ranked)}. Are the qrels those of its topics?"
            )
        if lacking and missing == "refuse":
            raise ResiduumError(
                f"{name}: no line for query {lacking[0]}, which is judged ({len(lacking)} of "
                f"{len(queries)} judged queries lack a list). Runs over different queries cannot "
                "be compared; with --missing zero these queries count 0."
            )
        if lacking:
            notes.append(f"{name}: {len(lacking)} judged queries without a list count 0.")
    cut = {name: run.filter(pl.col("query_id").is_in(queries)) for name, run in named.items()}
    return cut, notes


def without_relevant(judged: pl.DataFrame) -> list[str]:
    """Note judged queries that no run can score in."""
    best = judged.group_by("query_id").agg(pl.col("relevance").max())
    count = best.filter(pl.col("relevance") < RELEVANT).height
    return [f"Judged queries without a relevant doc, which count 0 for all: {count}."] * bool(count)
