"""Collections read through ir_datasets: any of its ids, fields joined in the order given.

Usage: `docs(collection)`, `split(collection, name)`. ir_datasets looks into IR_DATASETS_HOME
first and downloads what is missing there. Must not know paths below results/.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from residuum.core.errors import ResiduumError
from residuum.core.schema import Collection, IrdsSource

Queries = list[tuple[str, str]]
Qrels = list[tuple[str, str, int]]


def docs(collection: Collection) -> Iterator[tuple[str, dict[str, str]]]:
    """Stream (doc_id, fields) in the collection's order."""
    source = collection.source
    assert isinstance(source, IrdsSource)
    with _explained(source.docs, collection.access):
        for doc in _load(source.docs).docs_iter():
            yield doc.doc_id, join_fields(_record(doc, source), source.text_fields, source.fields)


def _record(doc: Any, source: IrdsSource) -> dict[str, Any]:
    record = doc._asdict()
    missing = [name for name in [*source.text_fields, *source.fields] if name not in record]
    if missing:
        raise ResiduumError(
            f"{source.docs} has no doc field {', '.join(missing)}; it has {', '.join(record)}. "
            "Mend source.text_fields and source.fields in the dataset's YAML."
        )
    return dict(record)


def join_fields(
    record: dict[str, Any], text_fields: list[str], fields: list[str]
) -> dict[str, str]:
    """Join the text fields into `text`; keep them by name where there are several, and `fields`."""
    values = {name: _plain(record[name]) for name in [*text_fields, *fields]}
    text = " ".join(values[name] for name in text_fields if values[name])
    kept = [*(text_fields if len(text_fields) > 1 else []), *fields]
    return {"text": text, **{name: values[name] for name in kept if name != "text"}}


def _plain(value: Any) -> str:
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
        queries = [(q.query_id, str(getattr(q, field))) for q in data.queries_iter()]
        qrels = [(q.query_id, q.doc_id, int(q.relevance)) for q in data.qrels_iter()]
    return queries, qrels


def _load(irds_id: str) -> Any:
    import ir_datasets

    return ir_datasets.load(irds_id)


@contextmanager
def _explained(irds_id: str, access: str) -> Iterator[None]:
    """Turn whatever ir_datasets raises into one message that ends with the access note."""
    try:
        yield
    except ResiduumError:
        raise
    except KeyError as error:
        raise ResiduumError(f"ir_datasets knows no id {error} (wanted: {irds_id})") from None
    except Exception as error:
        from ir_datasets.util import home_path

        raise ResiduumError(
            f"ir_datasets could not provide {irds_id} ({type(error).__name__}: {error}).\n"
            f"It looks in {home_path()} (set IR_DATASETS_HOME to change that) and downloads what "
            f"is not there.\nAccess: {access}"
        ) from None
