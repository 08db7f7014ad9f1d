"""Read the docs of a corpus in the form that an index takes: text, fields or term weights.

Usage: `indexing.build(docs(corpus, form, weights), form, threads, folder)`; no command of its own.
Must not know Java, what becomes of the docs, or systems.
"""

from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

from residuum.artefacts import contracts
from residuum.cli.errors import ResiduumError
from residuum.config.schema.systems import IndexForm
from residuum.lucene import indexing


def docs(corpus: Path, form: IndexForm, weights: Path | None) -> Iterator[indexing.Doc]:
    """Stream the docs of a corpus, or their term weights, as `indexing.build` takes them.

    Errors: a doc lacks a field of the form; the weights are not of the same docs.
    """
    if weights:
        return _weighted(corpus, weights)
    if form.fields:
        records = contracts.read_docs(corpus)
        return (indexing.fields_doc(r["doc_id"], _fields(corpus, r, form)) for r in records)
    return (indexing.text_doc(doc_id, text) for doc_id, text in contracts.read_corpus(corpus))


def _fields(corpus: Path, record: dict[str, str], form: IndexForm) -> dict[str, str]:
    missing = [name for name in form.fields if name not in record]
    if missing:
        known = ", ".join(name for name in record if name != "doc_id")
        raise ResiduumError(
            f"{corpus}: doc {record['doc_id']} has no field {', '.join(missing)}; it has {known}. "
            "Keep the field in the dataset's YAML, or index without it."
        )
    return {name: record[name] for name in form.fields}


def _weighted(corpus: Path, weights: Path) -> Iterator[indexing.Doc]:
    both = zip_longest(contracts.read_corpus(corpus), contracts.read_term_weights(weights))
    for doc, predicted in both:
        if not doc or not predicted or doc[0] != predicted[0]:
            ids = " and ".join(entry[0] if entry else "no doc" for entry in (doc, predicted))
            raise ResiduumError(
                f"{weights} is not of the docs of {corpus}: {ids} stand at the same place. "
                "Predict the weights of this corpus."
            )
        yield indexing.weights_doc(*predicted)
