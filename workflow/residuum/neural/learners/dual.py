"""How a dual encoder learns from (query, positive, negative), as CLEAR section 3.3 describes.

Usage: see the package. Must not know the training loop, or how the model will be searched.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from residuum.core import contracts
from residuum.core.schema.models import DualEncoder
from residuum.neural import batches, losses, pretrained, processes
from residuum.neural.devices import Device
from residuum.neural.encoders import Encoder
from residuum.neural.learners.base import Files, Part
from residuum.neural.learners.material import (
    steps_of,
    wanted_docs,
    wanted_queries,
    with_negatives,
)
from residuum.neural.tokens import Tokens

if TYPE_CHECKING:
    from torch import Tensor

LAST = 10  # a tenth of the steps, at the end, tells whether the scores have collapsed
COLLAPSED = 0.99  # of the loss of equal scores; a collapsed model's scores still differ a little


class Material(NamedTuple):
    """What training draws from: the stream of ids, their tokens, the known positives."""

    stream: batches.Stream
    queries: Tokens
    docs: Tokens
    positives: batches.Positives


class DualLearner:
    """One shared encoder in training, watched by its s_emb of positives and negatives."""

    def __init__(self, encoder: Encoder, form: DualEncoder, material: Material) -> None:
        self.encoder, self.form, self.material = encoder, form, material
        self.model = encoder.model
        self.pairs = len(material.stream.pairs)
        self.steps = steps_of(form.training, material.stream)
        self.indivisible = form.loss.kind == "nll"

    @property
    def revision(self) -> str | None:
        """Commit hash of the start if it came from the hub."""
        return pretrained.commit(self.model)

    def save(self, folder: Path) -> None:
        """Write the checkpoint."""
        self.encoder.save(folder)

    def losses(self, step: int, rows: slice) -> Part:
        """Return the losses (rows,) of some of a step's pairs; the encoder is shared.

        In-batch negatives are the docs of the whole batch, those of other processes included.
        """
        material = self.material
        whole = material.stream.batch(step)
        batch = whole.part(rows)
        queries = self.encoder.forward(material.queries.of(batch.query_ids))
        docs = self.encoder.forward(material.docs.of([*batch.positives, *batch.negatives]))
        if self.form.loss.kind == "nll":
            every = processes.gather(docs, rows, len(whole.query_ids))
            return self._nll(queries @ every.T, whole, rows)
        positives, negatives = docs.split(len(queries))
        s_emb_pos, s_emb_neg = (queries * positives).sum(dim=1), (queries * negatives).sum(dim=1)
        found = losses.triplet_hinge(s_emb_pos, s_emb_neg, self._margin(batch, like=docs))
        watched = {"positive": s_emb_pos, "negative": s_emb_neg}
        return Part(found, len(whole.query_ids), watched)

    def _nll(self, scores: Tensor, whole: batches.Batch, rows: slice) -> Part:
        ignore = scores.new_tensor(self.material.positives.ignore(whole)[rows]).bool()
        others = ~ignore
        others.diagonal(rows.start).fill_(False)
        watched = {"positive": scores.diagonal(rows.start), "negative": scores[others]}
        return Part(losses.in_batch_nll(scores, ignore, rows.start), len(ignore[0]), watched)

    def _margin(self, batch: batches.Batch, like: Tensor) -> Tensor:
        loss = self.form.loss
        if loss.kind == "constant_margin":
            return like.new_full((len(batch.query_ids),), loss.margin)
        positive = like.new_tensor(batch.positive_scores)
        negative = like.new_tensor(batch.negative_scores)
        return losses.residual_margin(positive, negative, loss.xi, loss.lambda_train)

    def remark(self, means: list[float]) -> str | None:
        """Warn if a margin loss ended where it is when all scores are equal."""
        if self.form.loss.kind == "nll":
            return None
        steps = range(len(means) - max(1, len(means) // LAST), len(means))
        loss = sum(means[step] for step in steps) / len(steps)
        equal = sum(map(self._loss_of_equal_scores, steps)) / len(steps)
        if loss <= COLLAPSED * equal:
            return None
        return (
            f"the model learned nothing: the loss of its last {len(steps)} steps is {loss:.4g}, "
            f"and equal scores would give {equal:.4g}. Change training.learning_rate or "
            "encoder.score_scale, or start from another model"
        )

    def _loss_of_equal_scores(self, step: int) -> float:
        import torch

        margin = self._margin(self.material.stream.batch(step), like=torch.zeros(()))
        return float(losses.triplet_hinge(margin * 0, margin * 0, margin).mean())


def make(
    form: DualEncoder,
    start: str,
    revision: str | None,
    device: Device,
    seed: int,
    material: Files,
) -> DualLearner:
    """Return the learner of a dual encoder."""
    encoder = Encoder.start(start, revision, form.encoder, device, form.training.dropout)
    return DualLearner(encoder, form, gather(encoder, form, seed, material))


def gather(encoder: Encoder, form: DualEncoder, seed: int, material: Files) -> Material:
    """Read the tuples, choose the part trained on, and tokenise the texts it needs, once."""
    pairs = contracts.read_tuples(material.tuples)
    chosen = _chosen(pairs, form)
    stream = batches.Stream(chosen, form.training.batch_size, seed)
    docs = {doc for pair in chosen for doc in (pair.positive, *pair.negatives)}
    asked = {pair.query_id for pair in chosen}
    return Material(
        stream,
        Tokens(wanted_queries(material, asked), lambda text: encoder.tokenise(text, "query")),
        Tokens(wanted_docs(material, docs), lambda text: encoder.tokenise(text, "doc")),
        batches.Positives(pairs),
    )


def _chosen(pairs: list[contracts.Tuple], form: DualEncoder) -> list[contracts.Tuple]:
    part = batches.part_of(pairs, form.training.part)
    if form.loss.kind == "nll":
        return [pair._replace(negatives=[], negative_scores=[]) for pair in part]
    return with_negatives(part)
