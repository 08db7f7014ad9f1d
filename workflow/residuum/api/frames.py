"""Turn qrels and runs of any form into the tables that the rest reads.

Usage: `qrels(source)`, `runs({"bm25": source})`. A source is a path, a frame of pandas or polars, a
dictionary, an object of ranx, or an iterable of ir_measures' tuples.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from residuum.artefacts import trec
from residuum.cli import scalars
from residuum.cli.errors import ResiduumError, printable
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
IDS, WHOLE = {"query_id", "doc_id"}, {"relevance", "rank"}
Source = Any  # a path, a frame, a dictionary, an object of ranx, or tuples of ir_measures
Columns = dict[str, list[Any]]  # values of any type
FORMS = (
    "a path, a frame of pandas or polars, {query: {doc: value}}, an object of ranx, or "
    "ir_measures' tuples"
)


def qrels(source: Source) -> pl.DataFrame:
    """Return query_id, doc_id, relevance (integer) of a source; a pair is judged once."""
    if _is_path(source):
        return read_qrels(Path(source))
    table = _table(source, ["query_id", "doc_id", "relevance"], "qrels")
    _refuse_twice(table, "qrels")
    return trec.checked_qrels(Path("qrels"), table)


def runs(sources: Mapping[str, Source] | Sequence[Source]) -> dict[str, tuple[pl.DataFrame, str]]:
    """Return each run by its name, with a remark on its order, as `run` does.

    Of a list, a path gives its file's name, paths of folds give all their names, and another object
    the name that it has (`name`).
    """
    if isinstance(sources, Mapping):
        given = [(str(name), source) for name, source in sources.items()]
    elif _is_path(sources) or hasattr(sources, "columns") or not isinstance(sources, Iterable):
        raise ResiduumError("runs: give a list of runs, or {name: run}")
    else:
        given = [(_name(source), source) for source in sources]
    named: dict[str, tuple[pl.DataFrame, str]] = {}
    for number, (text, source) in enumerate(given, start=1):
        name = printable(text)
        if not name.strip():
            raise ResiduumError(f"runs: run {number} has no name; give {{name: run}}")
        if name in named:
            raise ResiduumError(f"two runs are named {name}; give {{name: run}} with other names")
        named[name] = run(name, source)
    return named


def run(name: str, source: Source) -> tuple[pl.DataFrame, str]:
    """Return query_id, doc_id, rank (from 1) and score of a run, and a remark on its order.

    The order of ranks stands, unless scores rise along them. Without ranks, docs are ranked by
    score, then doc_id. A list of paths gives the folds of one run.
    """
    if folds := _folds(source):
        remarks: list[str] = []
        table = pooled(folds, remarks)
        remarks += [f"{name}: {len(folds)} folds, pooled."] * (len(folds) > 1)
        return table, " ".join(remarks)
    table = _table(source, ["query_id", "doc_id", "score"], name, optional="rank")
    if table.is_empty():
        raise ResiduumError(f"{name}: the run is empty")
    _refuse_twice(table, name)
    if "rank" not in table.columns:
        table = trec.by_score(table)
    made, remark = trec.ordered(Path(name), table.select(trec.READ))
    return made, f"{name}: {remark}." if remark else ""


def _is_path(source: Source) -> bool:
    return isinstance(source, str | os.PathLike)


def _folds(source: Source) -> list[Path]:
    """Return the files of a run: one, or its folds; none if the source is no path."""
    if _is_path(source):
        return [Path(source)]
    paths = isinstance(source, Sequence) and source and all(map(_is_path, source))
    return [Path(path) for path in source] if paths else []


def _name(source: Source) -> str:
    if folds := _folds(source):
        return " + ".join(ENDINGS.sub("", path.name) for path in folds)
    name = getattr(source, "name", "")
    return name if isinstance(name, str) else ""


def _table(source: Source, columns: list[str], what: str, optional: str = "") -> pl.DataFrame:
    """Return the columns of a source, checked; `what` names it in messages."""
    if hasattr(source, "collect_schema") and hasattr(source, "collect"):
        source = source.collect()  # a lazy frame of polars
    if hasattr(source, "to_dict") and not hasattr(source, "columns"):
        source = source.to_dict()  # of ranx
    if isinstance(source, Mapping):
        given = _of_mapping(source, columns, what)
    elif hasattr(source, "columns"):
        given = _of_frame(source, columns, what, optional)
    elif isinstance(source, Iterable) and not isinstance(source, str | bytes):
        given = _of_tuples(source, columns, what)
    else:
        raise ResiduumError(f"{what}: {type(source).__name__} is not one of: {FORMS}")
    return pl.DataFrame({name: _column(name, values, what) for name, values in given.items()})


def _of_mapping(source: Mapping[Any, Any], columns: list[str], what: str) -> Columns:
    made: Columns = {name: [] for name in columns}
    for query_id, of_query in source.items():
        if not isinstance(of_query, Mapping):
            raise ResiduumError(f"{what}: a dictionary is {{query: {{doc: value}}}}")
        for line in ((query_id, doc_id, value) for doc_id, value in of_query.items()):
            for values, value in zip(made.values(), line, strict=True):
                values.append(value)
    return made


def _of_frame(frame: Any, columns: list[str], what: str, optional: str) -> Columns:
    """Return the columns of a frame of pandas or polars, by any of their names."""
    given, made = [str(name) for name in frame.columns], Columns()
    for name in [*columns, *([optional] if optional else [])]:
        column = next((text for text in NAMES[name] if text in given), None)
        if column is None and name == optional:
            continue
        if column is None:
            first, *others = NAMES[name]
            also = f" (or {', '.join(others)})" * bool(others)
            raise ResiduumError(f"{what}: no column {first}{also}; it has {', '.join(given)}")
        if given.count(column) > 1:
            raise ResiduumError(f"{what}: two columns are named {column}")
        made[name] = frame[column].to_list()
    return made


def _of_tuples(source: Iterable[Any], columns: list[str], what: str) -> Columns:
    """Return the fields of ir_measures' tuples, or of others with such names."""
    lines = list(source)
    if not lines or not all(set(columns) <= {*getattr(line, "_fields", ())} for line in lines):
        fields = ", ".join(columns)
        raise ResiduumError(f"{what}: no tuples with the fields {fields}; give {FORMS}")
    return {name: [getattr(line, name) for line in lines] for name in columns}


def _column(name: str, values: list[Any], what: str) -> pl.Series:
    """Return a column of texts or of numbers; a value of another kind raises ResiduumError."""
    if name in IDS:
        ids = [scalars.identifier(value, name, what) for value in values]
        return pl.Series(ids, dtype=pl.String)
    numbers = [scalars.finite(value, name, what, name in WHOLE) for value in values]
    if name in WHOLE:
        return pl.Series([int(number) for number in numbers], dtype=pl.Int64)
    return pl.Series(numbers, dtype=pl.Float64)


def _refuse_twice(table: pl.DataFrame, what: str) -> None:
    """Refuse a pair that comes twice by its ids: the source of the table may have no lines."""
    twice = table.filter(pl.struct(trec.PAIR).is_duplicated())
    if twice.height:
        query_id, doc_id = twice.select(trec.PAIR).row(0)
        raise ResiduumError(f"{what}: doc {doc_id} comes twice for query {query_id}; keep one")
