"""What learners read alike: the texts that training tuples name, and the steps of a spec.

Usage: `docs = wanted_docs(files, ids)` streams (doc_id, text). Must not know models or losses.
"""

from __future__ import annotations

from collections.abc import Iterator

from residuum.core import contracts, trec
from residuum.core.schema.models import Training
from residuum.neural import batches
from residuum.neural.batches import Stream, Visits
from residuum.neural.learners.base import Files
from residuum.neural.resume import say
from residuum.neural.tokens import wanted


def steps_of(how: Training, stream: Stream | Visits) -> int:
    """Return how many steps the spec asks for: its steps, or those of its epochs."""
    return how.steps or stream.steps(how.epochs or 1)


def wanted_docs(material: Files, ids: set[str]) -> Iterator[tuple[str, str]]:
    """Stream (doc_id, text) of the docs; raises ResiduumError if the corpus lacks one."""
    docs = contracts.read_corpus(material.corpus)
    return wanted(docs, ids, "doc", material.corpus, str(material.tuples))


def wanted_queries(material: Files, ids: set[str]) -> Iterator[tuple[str, str]]:
    """Stream (query_id, text) of the queries; raises ResiduumError if one is not there."""
    queries = trec.read_queries(material.queries).items()
    return wanted(queries, ids, "query", material.queries, str(material.tuples))


def with_negatives(part: list[contracts.Tuple]) -> list[contracts.Tuple]:
    """Return the pairs that have a negative, and say how many were left out."""
    kept = batches.with_negatives(part)
    if len(kept) < len(part):
        say(f"{len(part) - len(kept)} of {len(part)} training pairs have no negative: left out")
    return kept
