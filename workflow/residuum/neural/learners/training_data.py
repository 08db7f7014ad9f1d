"""What learners read alike: training tuples, the texts that they name, and the steps of a spec.

Usage: `examples = read(data, spec, seed, encoder.tokenise)`; `examples.batches.batch(0)`.
Must not know models or losses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from residuum.artefacts import contracts, trec
from residuum.config.schema.models import Contrastive, Training
from residuum.neural import batches
from residuum.neural.heads import Kind
from residuum.neural.learners.base import TrainingData
from residuum.neural.resume import log
from residuum.neural.tokens import TokenStore, wanted

Tokenise = Callable[[Sequence[str], Kind], list[np.ndarray]]


class Examples(NamedTuple):
    """What contrastive training draws from: ids, their tokens, the known positives."""

    batches: batches.GroupBatches
    queries: TokenStore
    docs: TokenStore
    positives: batches.Positives


def read(data: TrainingData, spec: Contrastive, seed: int, tokenise: Tokenise) -> Examples:
    """Read the tuples, choose the part trained on, and tokenise the texts it needs, once."""
    pairs = contracts.read_tuples(data.tuples)
    chosen = usable(batches.part_of(pairs, spec.training.part), spec.drawn)
    docs = {doc for pair in chosen for doc in (pair.positive, *pair.negatives)}
    queries = {pair.query_id for pair in chosen}
    return Examples(
        batches.GroupBatches(chosen, spec.drawn, spec.training.batch_size, seed),
        TokenStore(wanted_queries(data, queries), lambda texts: tokenise(texts, "query")),
        TokenStore(wanted_docs(data, docs), lambda texts: tokenise(texts, "doc")),
        batches.Positives(pairs),
    )


def usable(part: list[contracts.Tuple], group: int) -> list[contracts.Tuple]:
    """Return the pairs that a group can be drawn for; log how many cannot, or hold too few docs."""
    if not group:
        return [pair._replace(negatives=[], negative_scores=[]) for pair in part]
    kept = [pair for pair in part if pair.negatives]
    if len(kept) < len(part):
        log(f"{len(part) - len(kept)} of {len(part)} training pairs have no negative: left out")
    small = sum(len(pair.negatives) < group for pair in kept)
    if small:
        log(
            f"{small} of {len(part)} training pairs have fewer than {group} negatives: "
            "drawn with replacement"
        )
    return kept


def steps_of(how: Training, sampler: batches.EpochSampler) -> int:
    """Return how many steps the spec asks for: its steps, or those of its epochs."""
    return how.steps or sampler.steps(how.epochs or 1)


def wanted_docs(data: TrainingData, ids: set[str]) -> Iterator[tuple[str, str]]:
    """Stream (doc_id, text) of the docs; raises ResiduumError if the corpus lacks one."""
    return wanted(contracts.read_corpus(data.corpus), ids, "doc", data.corpus, str(data.tuples))


def wanted_queries(data: TrainingData, ids: set[str]) -> Iterator[tuple[str, str]]:
    """Stream (query_id, text) of the queries; raises ResiduumError if one is not there."""
    queries = trec.read_queries(data.queries).items()
    return wanted(queries, ids, "query", data.queries, str(data.tuples))
