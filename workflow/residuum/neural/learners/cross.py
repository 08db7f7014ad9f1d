"""How a cross-encoder learns to tell a positive from negatives of its query, as a classification.

Usage: see the package. Must not know the training loop, or which runs will be reranked.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from residuum.core import contracts
from residuum.core.schema.models import CrossEncoder as CrossEncoderSchema
from residuum.core.schema.models import Training
from residuum.neural import batches, listwise
from residuum.neural.crossencoder import CrossEncoder, Pair
from residuum.neural.devices import Device
from residuum.neural.learners.base import Files, Part
from residuum.neural.learners.material import (
    steps_of,
    wanted_docs,
    wanted_queries,
    with_negatives,
)
from residuum.neural.resume import say
from residuum.neural.tokens import Tokens

LAST = 10  # a tenth of the steps, at the end, tells whether anything was learned


class Group(NamedTuple):
    """A query and its docs, the positive first."""

    query_id: str
    docs: list[str]


class GroupStream:
    """An endless sequence of full batches of groups; a batch follows from seed and step alone."""

    def __init__(
        self, pairs: Sequence[contracts.Tuple], group: int, batch_size: int, seed: int
    ) -> None:
        self.pairs, self.group = pairs, group
        self.visits = batches.Visits(len(pairs), batch_size, seed)

    def batch(self, step: int) -> list[Group]:
        """Return the groups of a step, counted from 0."""
        return [self._group(self.pairs[number], draw) for number, draw in self.visits.of(step)]

    def _group(self, pair: contracts.Tuple, draw: int) -> Group:
        """Draw the negatives without replacement; from a pool that is too small, with it."""
        pool = len(pair.negatives)
        picks = np.random.default_rng(draw).choice(pool, self.group, replace=pool < self.group)
        return Group(pair.query_id, [pair.positive, *(pair.negatives[pick] for pick in picks)])


class CrossLearner:
    """A cross-encoder in training, watched by its scores of positives and negatives."""

    def __init__(
        self,
        encoder: CrossEncoder,
        training: Training,
        stream: GroupStream,
        queries: Tokens,
        docs: Tokens,
    ) -> None:
        self.encoder, self.stream, self.queries, self.docs = encoder, stream, queries, docs
        self.model = encoder.model
        self.pairs = len(stream.pairs)
        self.steps = steps_of(training, stream.visits)
        self.indivisible = False

    @property
    def revision(self) -> str | None:
        """Commit hash of the start if it came from the hub."""
        return self.encoder.revision

    def save(self, folder: Path) -> None:
        """Write the checkpoint."""
        self.encoder.save(folder)

    def losses(self, step: int, rows: slice) -> Part:
        """Return the losses (rows,) of some of a step's groups."""
        whole = self.stream.batch(step)
        groups = whole[rows]
        scores = self.encoder.forward(self._pairs(groups)).view(len(groups), -1)
        watched = {"positive": scores[:, 0], "negative": scores[:, 1:]}
        return Part(listwise.group_nll(scores), len(whole), watched)

    def _pairs(self, groups: list[Group]) -> list[Pair]:
        asked = [group.query_id for group in groups for _ in group.docs]
        docs = [doc for group in groups for doc in group.docs]
        return list(map(Pair, self.queries.of(asked), self.docs.of(docs)))

    def remark(self, means: list[float]) -> str | None:
        """Warn if the loss ended no lower than it is where all scores are equal."""
        last = means[-max(1, len(means) // LAST) :]
        if sum(last) / len(last) < math.log(1 + self.stream.group):
            return None
        return (
            f"the model learned nothing: over the last {len(last)} steps its loss "
            f"({sum(last) / len(last):.4g}) is that of equal scores. Change "
            "training.learning_rate or reading.pooling, or start from another model"
        )


def make(
    form: CrossEncoderSchema,
    start: str,
    revision: str | None,
    device: Device,
    seed: int,
    material: Files,
) -> CrossLearner:
    """Return the learner of a cross-encoder."""
    encoder = CrossEncoder.start(start, revision, form.reading, device, form.training.dropout)
    part = batches.part_of(contracts.read_tuples(material.tuples), form.training.part)
    pairs = usable(part, form.group)
    docs = {doc for pair in pairs for doc in (pair.positive, *pair.negatives)}
    asked = {pair.query_id for pair in pairs}
    return CrossLearner(
        encoder,
        form.training,
        GroupStream(pairs, form.group, form.training.batch_size, seed),
        Tokens(wanted_queries(material, asked), lambda texts: encoder.tokenise(texts, "query")),
        Tokens(wanted_docs(material, docs), lambda texts: encoder.tokenise(texts, "doc")),
    )


def usable(part: list[contracts.Tuple], group: int) -> list[contracts.Tuple]:
    """Return the pairs that have a negative; say how many have none or fewer than a group."""
    kept = with_negatives(part)
    small = sum(len(pair.negatives) < group for pair in kept)
    if small:
        say(
            f"{small} of {len(part)} training pairs have fewer than {group} negatives: "
            "drawn with replacement"
        )
    return kept
