"""Read collections in the user's files: docs, queries, judgements, DPR's questions.

Usage: `docs(collection)`, `split(collection, name)`, `questions(collection, name)`. The source
names the files and their form. Paths are relative to the folder that RESIDUUM_DATA names, or to
data/. Files may lie on the hub instead.
"""

import ast
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

import polars as pl

from residuum.artefacts import trec
from residuum.cli.errors import ResiduumError
from residuum.collections import forms, hub, sgml
from residuum.collections.forms import Record
from residuum.collections.lines import MOST_SHOWN, numbered
from residuum.collections.records import Rows, join_fields, unquoted
from residuum.config import roots
from residuum.config.schema.datasets import Collection
from residuum.config.schema.files import BeirSource, InFiles, TrecSource


def resolve(name: str, access: str) -> Path:
    """Return the path of a collection's file; an absent file is a ResiduumError."""
    path = roots.as_it_lies(_located(name))
    if not path.is_file():
        raise _absent(name, path, "no such file", access)
    return path


def resolved(name: str, access: str, within: roots.Within = roots.EVERY) -> list[Path]:
    """Return the files that a name stands for: a file, or a folder's files that fit a pattern."""
    return _among(name, _located(name), access, within)


def _refuse_twice(name: str) -> None:
    """Raise ResiduumError if a folder has a file both plain and with .gz; one may be older."""
    path = _located(name)
    packed = path.with_name(f"{path.name}.gz")
    if path.is_file() and packed.is_file():
        raise ResiduumError(
            f"{path} and {packed.name} are both there, and may differ. Move one of them away"
        )


def _among(name: str, path: Path, access: str, within: roots.Within) -> list[Path]:
    paths = roots.files_of(path, within)
    if not paths:
        kinds = f" that ends in {', '.join(within.endings)}" if within.endings else ""
        every = (
            "; `below: '**/*'` in the source reads all, of other endings as TSV" if kinds else ""
        )
        what = f"no {within.glob.removeprefix('**/')}{kinds} in it{every}"
        raise _absent(name, path, what, access)
    if not paths[0].is_file():
        raise _absent(name, path, "no such file", access)
    return paths


def addresses(name: str, access: str, within: roots.Within = roots.EVERY) -> dict[str, Path]:
    """Return {address: path} of the files that a name stands for.

    Addresses are the same on every machine: those of the hub, wherever its cache lies, and those of
    `roots.address`.
    """
    path = _located(name)
    files = _among(name, path, access, within)
    if not roots.HUB.fullmatch(name):
        return {roots.address(file): file for file in files}
    if path.is_dir():
        return {f"{name}/{file.relative_to(path).as_posix()}": file for file in files}
    return {f"{name}{file.name.removeprefix(path.name)}": file for file in files}  # .gz, or none


def _located(name: str) -> Path:
    return hub.obtained(name) if roots.HUB.fullmatch(name) else roots.data() / name


def _absent(name: str, path: Path, what: str, access: str) -> ResiduumError:
    if roots.HUB.fullmatch(name):
        text = "Is the path right? The dataset's page shows its files at this commit."
        return ResiduumError(f"{name}: {what} in the dataset. {text}")
    start = f"Relative paths start at {roots.data().resolve()} (set RESIDUUM_DATA to change that)."
    return ResiduumError(f"{path}: {what}. {start}" + (f"\nAccess: {access}" if access else ""))


def docs(collection: Collection) -> Iterator[tuple[str, dict[str, str]]]:
    """Stream (doc_id, fields) in the order of files and lines; errors name the line."""
    source = collection.source
    assert isinstance(source, InFiles)
    if isinstance(source, BeirSource):
        _refuse_twice(source.corpus_file)
    for path in resolved(source.corpus_file, collection.access, source.within):
        for where, record in _read(path, source):
            try:
                doc_id = forms.id_of(record, "doc_id", source.names)
                fields = join_fields({**record, "doc_id": doc_id}, source)
            except ValueError as error:
                raise ResiduumError(f"{where}: {error}") from None
            yield doc_id, fields


def _read(path: Path, source: InFiles) -> Iterator[tuple[str, Record]]:
    if isinstance(source, TrecSource):
        return sgml.docs(path, source.encoding)
    records = forms.records(path, source.columns)
    if isinstance(source, BeirSource):  # docs may lack a title
        return ((where, {"title": "", **record}) for where, record in records)
    return records


def split(collection: Collection, name: str, every: bool = False) -> Rows:
    """Return the queries and qrels of a split; without public judgements there are no qrels.

    `judged_only` of the split or source drops queries without judgements, unless `every` is true.
    An id that is empty, holds white space or is repeated raises ResiduumError with its line.
    """
    source, laid, entry = collection.source, collection.split_files(name), collection.splits[name]
    assert isinstance(source, InFiles)
    for file in laid.values() if isinstance(source, BeirSource) else ():
        _refuse_twice(file)
    paths = {key: resolved(file, collection.access) for key, file in laid.items()}
    judged = [row for path in paths.get("qrels", ()) for row in _judgements(path, source.names)]
    read = (row for path in paths["queries"] for row in _queries(path, source, entry.query_field))
    rows = [*_once(read)]
    only = source.judged_only if entry.judged_only is None else entry.judged_only
    if judged and only and not every:
        known = {query_id for query_id, _, _ in judged}
        total, rows = len(rows), [row for row in rows if row[0] in known]
        if left := total - len(rows):
            _say_left_out(name, left, total, *paths["qrels"])
    return Rows(rows, judged)


@cache
def _say_left_out(name: str, left: int, total: int, *_of: Path) -> None:
    """Say once, however often a split is read, how many of its queries are left out."""
    text = f"{left:,} of {total:,} queries have no judgement and are left out"
    print(f"split {name}: {text} (judged_only)", file=sys.stderr)


def _once(given: Iterable[tuple[str, tuple[str, str]]]) -> Iterator[tuple[str, str]]:
    """Yield queries, checking that ids are valid and unique, and that UTF-8 holds the text."""
    seen = set[str]()
    for where, (query_id, text) in given:
        if query_id.split() != [query_id]:
            raise ResiduumError(f"{where}: the id {query_id!r} is empty or holds white space")
        if query_id in seen:
            raise ResiduumError(f"{where}: duplicate query_id {query_id}")
        if not forms.writable(query_id + text):
            half = "half a character (a surrogate), which UTF-8 cannot hold"
            raise ResiduumError(f"{where}: query {query_id!a} has {half}. Fix the text.")
        seen.add(query_id)
        yield query_id, text


def _queries(path: Path, source: InFiles, field: str) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield (file and line, (query_id, text)) from topics, named columns, or TSV."""
    encoding = source.encoding if isinstance(source, TrecSource) else "utf-8"
    if forms.named(path):
        for where, record in forms.records(path):
            yield where, _query(where, record, source, field)
    elif sgml.is_topics(path, encoding):
        yield from sgml.topics(path, "title" if field == "text" else field, encoding)
    else:
        yield from _tsv(path, field, encoding)


def _tsv(path: Path, field: str, encoding: str) -> Iterator[tuple[str, tuple[str, str]]]:
    if field != "text":
        text = f"query_field {field}: TSV, query_id TAB text, has no such field"
        raise ResiduumError(f"{path}: {text}. Leave query_field out.")
    for number, line in numbered(path, encoding):
        query_id, tab, text = line.partition("\t")
        if not tab or not query_id or "\t" in text:
            rule = f"expected query_id TAB text, found {line[:MOST_SHOWN]!r}"
            known = "Else queries are topics, <top> after <top> or XML, or, by a file's name"
            raise ResiduumError(f"{path}, line {number}: {rule}. {known}, {forms.ENDINGS}.")
        if number == 1:
            forms.refuse_header(path, line)
        yield f"{path}, line {number}", (query_id, text)


def _query(where: str, record: Record, source: InFiles, field: str) -> tuple[str, str]:
    text = record.get(field)
    try:
        query_id = forms.id_of(record, "query_id", source.names)
    except ValueError as error:
        raise ResiduumError(f"{where}: {error}") from None
    if not isinstance(text, str):
        has = f"no text in a field {field}; the query has {', '.join(record)}"
        raise ResiduumError(f"{where}: {has}. Fix the line, or query_field of the split.")
    return query_id, text


def read_qrels(path: Path) -> pl.DataFrame:
    """Read qrels in any form that a collection's may have: query_id, doc_id, relevance."""
    if not path.is_file() or not (forms.named(path) or _columns(path)):
        return trec.read_qrels(path)
    schema = {"query_id": pl.String, "doc_id": pl.String, "relevance": pl.Int64}
    judged = pl.DataFrame(list(_judgements(path, {})), schema=schema, orient="row")
    named_first = not forms.named(path) or ".csv" in path.suffixes
    return trec.checked_qrels(path, judged, named_first)


def _judgements(path: Path, names: Mapping[str, str]) -> Iterable[tuple[str, str, int]]:
    """Read qrels from named columns, BEIR's TSV with its header, or TREC's four columns."""
    if forms.named(path):
        records = forms.records(path)
    elif columns := _columns(path):
        _check_header(path, columns, names)
        records = forms.records(path, columns)
        next(records)
    else:
        return trec.read_qrels(path).iter_rows()
    return (_judgement(where, record, names) for where, record in records)


def _columns(path: Path) -> list[str]:
    """Return the columns that BEIR's TSV names in its first line; [] for TREC's qrels."""
    first = next((line.split("\t") for _, line in numbered(path)), [])
    return first if len(first) == 3 else []


def _check_header(path: Path, columns: list[str], names: Mapping[str, str]) -> None:
    forms.once(f"{path}, line 1", columns)
    try:
        for meaning in ("query_id", "doc_id", "relevance"):
            forms.value(dict.fromkeys(columns), meaning, names)
    except ValueError:
        raise ResiduumError(
            f"{path}, line 1: expected the header query-id TAB corpus-id TAB score, found "
            f"{' TAB '.join(columns)[:MOST_SHOWN]!r}. Add it; qrels without one have TREC's four "
            "columns: query_id, 0, doc_id, relevance."
        ) from None


def _judgement(where: str, record: Record, names: Mapping[str, str]) -> tuple[str, str, int]:
    try:
        query_id = forms.id_of(record, "query_id", names)
        doc_id = forms.id_of(record, "doc_id", names)
        return query_id, doc_id, forms.grade_of(record, names)
    except ValueError as error:
        raise ResiduumError(f"{where}: {error}") from None


def questions(collection: Collection, name: str) -> Rows:
    """Return the questions of a file in DPR's form with their answers; ids count from 0."""
    entry = collection.splits[name]
    assert entry.questions is not None
    path = resolve(entry.questions, collection.access)
    queries: list[tuple[str, str]] = []
    answers: dict[str, list[str]] = {}
    for number, (line, text) in enumerate(numbered(path)):
        question, listed = _question(text)
        if not (question and listed):
            raise ResiduumError(
                f"{path}, line {line}: expected question TAB ['answer', ...], found {text[:60]!r}"
            )
        queries.append((str(number), question))
        answers[str(number)] = listed
    return Rows(queries, [], answers)


def _question(text: str) -> tuple[str, list[str]]:
    """Split a line into question and answers as DPR's csv.reader does, which removes quotes."""
    question, _, listed = text.partition("\t")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a backslash that escapes nothing stays
            answers = ast.literal_eval(unquoted(listed.strip()))
        if not isinstance(answers, list) or not all(isinstance(a, str | int) for a in answers):
            return "", []
        return unquoted(question.strip()), [*map(str, answers)]
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):  # nested too deeply
        return "", []
