"""Collections read through ir_datasets: any of its ids, fields joined in the order given.

Usage: `docs(collection)`, `split(collection, name)`. ir_datasets looks into IR_DATASETS_HOME
first and downloads what is missing there; where it fails, residuum.collections.faults finds the
file and the line. Must not know paths below results/.
"""

import hashlib
import heapq
import locale
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from residuum.cli.errors import ResiduumError
from residuum.collections import faults, opened, releases
from residuum.config import roots
from residuum.config.schema.datasets import Collection
from residuum.config.schema.sources import IrdsSource

MOST_SHOWN = 300  # characters of somebody else's error
MOST_QUOTED = 60  # characters of an offending value
Record = dict[str, Any]  # a doc's fields
Queries = list[tuple[str, str]]
Qrels = list[tuple[str, str, int]]


def docs(collection: Collection) -> Iterator[tuple[str, dict[str, str]]]:
    """Stream (doc_id, fields) in the collection's order.

    A doc without an id is an error, and so is a number of docs that is not pinned where a file
    shows why.
    """
    source = collection.source
    assert isinstance(source, IrdsSource)
    with _explained(source.docs, collection.access) as seen:
        chosen = _sampled(collection) if source.sample else None
        count = 0
        for doc in _named_docs(source.docs):
            if chosen is not None and doc.doc_id not in chosen:
                continue
            count += 1
            yield doc.doc_id, join_fields(_record(doc, source), source.text_fields, source.fields)
        pins = [edition.docs for edition in collection.editions]
        fewer = count < max(pins) and count not in pins
        if fewer and (fault := faults.first(seen, faults.TooFewDocs())):
            text = f"The corpus has too few docs. {fault}\nAccess: {collection.access}"
            raise ResiduumError(text)


def _named_docs(irds_id: str) -> Iterator[Any]:
    release = releases.KNOWN.get(irds_id)
    for number, doc in enumerate(release() if release else _load(irds_id).docs_iter(), start=1):
        if not doc.doc_id:
            raise faults.MissingDocId(f"doc number {number} has no doc_id")
        yield doc


def _sampled(collection: Collection) -> set[str]:
    """Return the ids of a sample: all docs judged as required, and those whose ids hash lowest."""
    source = collection.source
    assert isinstance(source, IrdsSource) and source.sample is not None
    sample = source.sample
    judged = {
        doc_id
        for name in sample.keep
        for _, doc_id, relevance in split(collection, name)[1]
        if relevance >= sample.level
    }
    if len(judged) > sample.docs:
        raise ResiduumError(
            f"sample: {', '.join(sample.keep)} judge {len(judged)} docs at level {sample.level} "
            f"and above, more than the {sample.docs} required"
        )

    def digest(doc_id: str) -> bytes:
        return hashlib.sha256(f"{sample.seed}/{doc_id}".encode()).digest()

    others = (doc.doc_id for doc in _named_docs(source.docs) if doc.doc_id not in judged)
    drawn = heapq.nsmallest(sample.docs - len(judged), ((digest(i), i) for i in others))
    return judged | {doc_id for _, doc_id in drawn}


def _record(doc: Any, source: IrdsSource) -> Record:
    record = dict(doc._asdict())
    missing = [name for name in [*source.text_fields, *source.fields] if name not in record]
    if missing:
        raise ResiduumError(
            f"{source.docs} has no doc field {', '.join(missing)}; it has {', '.join(record)}. "
            "Fix source.text_fields and source.fields in the dataset's YAML."
        )
    try:
        for name in source.quoted:
            record[name] = unquoted(record[name])
    except ValueError as error:
        raise ValueError(f"doc {doc.doc_id}, {name}: {error}") from None
    return record


def unquoted(value: str) -> str:
    """Take away the quotes that CSV sets around a value, and one of each two within it.

    A quote that nothing closes is a ValueError.
    """
    if not value.startswith('"'):
        return value
    inner = value[1:-1]
    if len(value) < 2 or value[-1] != '"' or '"' in inner.replace('""', ""):
        raise ValueError(f"a quote is not closed, or not doubled: {value[:MOST_QUOTED]}")
    return inner.replace('""', '"')


def join_fields(record: Record, text_fields: list[str], fields: list[str]) -> dict[str, str]:
    """Join the text fields into `text`; keep them by name where there are several, and `fields`.

    One that is called text itself, beside a title say, is kept as `body`.
    """
    values = {name: _plain(record[name]) for name in [*text_fields, *fields]}
    text = " ".join(values[name] for name in text_fields if values[name])
    kept = [*(text_fields if len(text_fields) > 1 else []), *fields]
    if "text" in kept and "body" in kept:
        raise ResiduumError("a doc has the fields text and body: name one of them, not both")
    return {"text": text, **{("body" if n == "text" else n): values[n] for n in kept}}


def _plain(value: object) -> str:
    """The text of a field; a body that comes in sections is one text."""
    if isinstance(value, (list, tuple)):
        return " ".join(part for part in map(_plain, value) if part)
    return str(value or "")


def split(collection: Collection, name: str) -> tuple[Queries, Qrels]:
    """Return queries and qrels of a split, as ir_datasets has them."""
    irds_id, field = collection.splits[name].irds, collection.splits[name].query_field
    assert irds_id is not None
    with _explained(irds_id, collection.access):
        data = _load(irds_id)
        _check_field(irds_id, data, "query_field", field)
        queries = [(q.query_id, str(getattr(q, field))) for q in data.queries_iter()]
        judged = data.qrels_iter() if collection.judged(name) else ()
        return queries, [(q.query_id, q.doc_id, int(q.relevance)) for q in judged]


def answers(collection: Collection, name: str) -> dict[str, list[str]]:
    """Return {query_id: answers} of a split, from the field that the dataset names."""
    entry = collection.splits[name]
    assert entry.irds is not None and entry.answers_field is not None
    with _explained(entry.irds, collection.access):
        data = _load(entry.irds)
        _check_field(entry.irds, data, "answers_field", entry.answers_field)
        return {q.query_id: list(getattr(q, entry.answers_field)) for q in data.queries_iter()}


def _check_field(irds_id: str, data: Any, key: str, field: str) -> None:
    known = data.queries_cls()._fields
    if field not in known:
        raise ResiduumError(
            f"{irds_id} has no query field {field}; it has {', '.join(known)}. Fix {key} in the "
            "dataset's YAML."
        )


def _load(irds_id: str) -> Any:
    import ir_datasets

    encoding = locale.getpreferredencoding(False)
    if encoding.lower().replace("-", "") != "utf8":
        raise ResiduumError(
            f"ir_datasets would read files as {encoding}, this machine's default, but they are "
            "UTF-8. Set PYTHONUTF8=1 and run the same command again."
        )
    try:
        return ir_datasets.registry[irds_id]
    except KeyError:
        raise ResiduumError(
            f"ir_datasets knows no id {irds_id!r}. Fix source.docs, or the split's irds, in the "
            "dataset's YAML; https://ir-datasets.com lists the ids."
        ) from None


@contextmanager
def _explained(irds_id: str, access: str) -> Iterator[list[Path]]:
    """Turn whatever ir_datasets raises into one message that ends with the access note.

    Gives the list of the files that were read. The message names the file and the line at fault
    where they can be found.
    """
    with opened.below(roots.irds()) as seen:
        try:
            yield seen
        except ResiduumError:
            raise
        except Exception as error:
            raise ResiduumError(f"{_message(irds_id, seen, error)}\nAccess: {access}") from None


def _message(irds_id: str, seen: list[Path], error: Exception) -> str:
    if fault := faults.first(seen, error):
        return fault
    last = f"The last file read was {seen[-1]}.\n" if seen else ""
    return (
        f"ir_datasets could not provide {irds_id} ({_cause(error)}).\n{last}It looks in "
        f"{roots.irds()} (set IR_DATASETS_HOME to change that) and downloads what is not there."
    )


def _cause(error: BaseException) -> str:
    """Word the first of a chain of errors; of failed downloads, the addresses that were tried."""
    while error.__context__ is not None and not isinstance(error.__context__, KeyError):
        reworded = error.__suppress_context__ and error.__cause__ is None  # raise ... from None
        if reworded or "http" in str(error).lower():
            break
        error = error.__context__
    if len(error.args) == 2 and isinstance(error.args[1], list):
        tried = ", ".join(getattr(source, "url", str(source)) for source, _ in error.args[1])
        return f"{error.args[0]}: {tried}"
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:MOST_SHOWN]}{' ...' * (len(text) > MOST_SHOWN)}"
