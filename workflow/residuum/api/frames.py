"""Turn qrels and runs of any form into the tables that the rest reads.

Usage: `qrels(source)`, `run("bm25", source)`. A source is a path, a frame of pandas or polars, a
dictionary, an object of ranx, or an iterable of ir_measures' tuples.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from residuum.artefacts import trec
from residuum.cli.errors import ResiduumError
from residuum.collections.files import read_qrels
from residuum.inspect.comparing import ENDINGS, pooled

# Names of columns, ours first: of ir_measures, PyTerrier, ranx, BEIR; `query` may be a text.
NAMES = {
    "query_id": ("query_id", "qid", "q_id", "query-id"),
    "doc_id": ("doc_id", "docno", "docid", "corpus-id"),
    "relevance": ("relevance", "label", "rel", "score"),
    "score": ("score",),
    "rank": ("rank",),
}
IDS = {"query_id", "doc_id"}
Source = Any  # a path, a frame, a dictionary, an object of ranx, or tuples of ir_measures
FORMS = (
    "a path, a frame of pandas or polars, {query: {doc: value}}, an object of ranx, or "
    "ir_measures' tuples"
)


def qrels(source: Source) -> pl.DataFrame:
    """Return query_id, doc_id, relevance (integer) of a source; a pair is judged once."""
    if _is_path(source):
        return read_qrels(Path(source))
    table = _table(source, ["query_id", "doc_id", "relevance"], "qrels")
    whole = pl.col("relevance").cast(pl.Int64, strict=False)
    odd = table.filter(whole.is_null() | (whole != pl.col("relevance")))
    if odd.height:
        query_id, doc_id, found = odd.row(0)
        where = f"query {query_id}, doc {doc_id}"
        raise ResiduumError(f"qrels: relevance of {where} is {found}; give whole numbers")
    return trec.checked_qrels(Path("qrels"), table.with_columns(whole))


def runs(sources: Mapping[str, Source] | Sequence[Source]) -> dict[str, tuple[pl.DataFrame, str]]:
    """Return each run by its name, with a remark on its order, as `run` does.

    Of a list, a path gives its file's name, and another object the name that it has (`name`).
    """
    if isinstance(sources, Mapping):
        return {str(name): run(str(name), source) for name, source in sources.items()}
    if isinstance(sources, str | os.PathLike) or not isinstance(sources, Iterable):
        raise ResiduumError("runs: give a list of runs, or {name: run}")
    named: dict[str, tuple[pl.DataFrame, str]] = {}
    for number, source in enumerate(sources, start=1):
        name = ENDINGS.sub("", Path(source).name) if _is_path(source) else _name(source)
        if not name:
            raise ResiduumError(f"runs: run {number} has no name; give {{name: run}}")
        if name in named:
            raise ResiduumError(f"two runs are named {name}; give {{name: run}} with other names")
        named[name] = run(name, source)
    return named


def run(name: str, source: Source) -> tuple[pl.DataFrame, str]:
    """Return query_id, doc_id, rank (from 1) and score of a run, and a remark on its order.

    Ranks stand where scores fall along them. Without ranks, docs are ranked by score, then doc_id.
    A list of paths are the folds of one run.
    """
    folds = [source] if _is_path(source) else source
    if isinstance(folds, Sequence) and folds and all(map(_is_path, folds)):
        remarks: list[str] = []
        table = pooled([Path(path) for path in folds], remarks)
        remarks += [f"{name}: {len(folds)} folds, pooled."] * (len(folds) > 1)
        return table, " ".join(remarks)
    table = _table(source, ["query_id", "doc_id", "score"], name, optional="rank")
    table = table.with_columns(pl.col("score").cast(pl.Float64))
    if "rank" not in table.columns:
        by = ["query_id", "score", "doc_id"]
        table = table.sort(by, descending=[False, True, False])
        table = table.with_columns(rank=trec.POSITION)
    order = table.with_columns(pl.col("rank").cast(pl.Int64)).select(trec.READ)
    made, remark = trec.ordered(Path(name), order)
    return made, f"{name}: {remark}." if remark else ""


def _is_path(source: Source) -> bool:
    return isinstance(source, str | os.PathLike)


def _name(source: Source) -> str:
    name = getattr(source, "name", "")
    return name if isinstance(name, str) else ""


def _table(source: Source, columns: list[str], what: str, optional: str = "") -> pl.DataFrame:
    """Return the columns of a source, ids as texts; `what` names it in messages."""
    if hasattr(source, "to_dict") and not hasattr(source, "columns"):
        source = source.to_dict()  # of ranx
    if isinstance(source, Mapping):
        lines = [
            (query_id, doc_id, value)
            for query_id, of_query in source.items()
            for doc_id, value in _items(of_query, what)
        ]
        table = pl.DataFrame(lines, schema=columns, orient="row", strict=False)
    elif hasattr(source, "columns"):
        table = _of_frame(source, columns, what, optional)
    elif isinstance(source, Iterable) and not isinstance(source, str | bytes):
        table = _of_tuples(source, columns, what)
    else:
        raise ResiduumError(f"{what}: {type(source).__name__} is no {FORMS}")
    return table.with_columns(_id(table, name, what) for name in columns if name in IDS)


def _items(of_query: object, what: str) -> Iterable[tuple[object, object]]:
    if not isinstance(of_query, Mapping):
        raise ResiduumError(f"{what}: a dictionary is {{query: {{doc: value}}}}")
    return of_query.items()


def _of_frame(frame: Any, columns: list[str], what: str, optional: str) -> pl.DataFrame:
    """Return the columns of a frame of pandas or polars, by any of their names."""
    given, taken = [str(name) for name in frame.columns], dict[str, str]()
    for name in [*columns, *([optional] if optional else [])]:
        found = next((known for known in NAMES[name] if known in given), None)
        if found:
            taken[name] = found
        elif name != optional:
            known = " or ".join(NAMES[name])
            raise ResiduumError(f"{what}: no column {known}; it has {', '.join(given)}")
    return pl.DataFrame(
        {name: pl.Series(frame[found].to_list(), strict=False) for name, found in taken.items()}
    )


def _of_tuples(source: Iterable[Any], columns: list[str], what: str) -> pl.DataFrame:
    """Return the fields of ir_measures' tuples, or of others with such names."""
    lines = [
        tuple(getattr(line, name, None) for name in columns) if hasattr(line, "_fields") else None
        for line in source
    ]
    if not lines or None in lines or any(None in line for line in lines if line):
        fields = ", ".join(columns)
        raise ResiduumError(f"{what}: no tuples with the fields {fields}; give {FORMS}")
    return pl.DataFrame(lines, schema=columns, orient="row", strict=False)


def _id(table: pl.DataFrame, name: str, what: str) -> pl.Expr:
    """Return a column of ids as texts; numbers with a fraction and missing values are no ids."""
    column = table[name]
    if column.null_count() or column.dtype.is_float():
        found = "a missing value" if column.null_count() else f"{column[0]}, a number with a point"
        raise ResiduumError(f"{what}: {name} holds {found}; make its ids texts")
    return pl.col(name).cast(pl.String)
