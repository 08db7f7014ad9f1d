"""How a dual encoder learns from a batch of queries, positives and negatives.

Usage: see the package. Must not know the training loop, or how the model will be searched.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from residuum.config.schema.models import DualEncoder
from residuum.neural.batches import Batch
from residuum.neural.devices import put
from residuum.neural.encoders import Encoder
from residuum.neural.learners.base import Outputs, Start, TrainingData
from residuum.neural.learners.contrastive import ContrastiveLearner, of_own
from residuum.neural.learners.training_data import read
from residuum.neural.losses import Candidates

if TYPE_CHECKING:
    from torch import Tensor


class DualLearner(ContrastiveLearner):
    """One shared encoder in training; its outputs are the vectors of queries and docs.

    A loss that needs candidates gets one matrix: the positives of the batch, those of other
    processes included, then all sampled negatives.
    """

    remedy = "encoder.score_scale"

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.joint = any("candidates" in one.needs for one in self.objectives)

    def forward(self, batch: Batch) -> Outputs:
        """Return vectors (rows, vectors, dimensions) of queries and positives, and of negatives.

        Those of the negatives have the shape (rows, negatives, vectors, dimensions).
        """
        queries = self.encoder.forward(self.stream.queries.of(batch.query_ids), "query")
        docs = self.encoder.forward(self.stream.docs.of(batch.docs), "doc")
        positives, negatives = docs.tensor_split([len(queries)])
        return queries, positives, negatives.view(len(queries), self.group, *docs.shape[1:])

    def indifferent(self, batch: Batch) -> Outputs:
        """Return vectors whose inner products are all 0."""
        import torch

        rows = len(batch.query_ids)
        return torch.zeros(rows, 1, 1), torch.zeros(rows, 1, 1), torch.zeros(rows, self.group, 1, 1)

    def candidates(self, batch: Batch, outputs: Outputs, rows: slice) -> Candidates:
        """Return s_emb of each query with its own docs, or with all candidates too."""
        import torch

        queries, positives, negatives = outputs[0][rows, 0], outputs[1], outputs[2]
        groups = torch.cat([positives[rows, None], negatives[rows]], dim=1)
        part = self.part(batch, rows)
        own = self._best((queries[:, None, None] * groups).sum(dim=-1), part.groups)
        seen = of_own(own, part)._replace(vectors=(queries, positives[rows]))
        if not self.joint:
            return seen
        docs = torch.cat([positives.flatten(0, 1), negatives.flatten(0, 2)])
        scores = (queries @ docs.T).view(len(queries), -1, positives.shape[1])
        return seen._replace(
            scores=self._best(scores, [batch.docs]),
            positive=torch.arange(len(positives), device=docs.device)[rows],
            ignore=put(self.stream.positives.ignore(batch, rows), str(docs.device)),
        )

    def _best(self, scores: Tensor, docs: Sequence[Sequence[str]]) -> Tensor:
        """Return the best score (rows, docs) of each doc's vectors, given (rows, docs, vectors)."""
        counts = [self.encoder.counts(self.stream.docs.of(ids), "doc") for ids in docs]
        absent = np.arange(scores.shape[-1]) >= np.array(counts)[..., None]
        kept = scores.masked_fill(put(absent, str(scores.device)), float("-inf"))
        return kept.max(dim=-1).values

    def watched(self, seen: Candidates, rows: slice) -> tuple[Tensor, Tensor]:
        """Return the scores of the positives and of the negatives, whichever query's they are."""
        if not self.joint:
            positive, negative = super().watched(seen, rows)
            return positive.contiguous(), negative.contiguous()
        others = (~seen.ignore).scatter(1, seen.positive[:, None], False)
        return seen.scores.diagonal(rows.start), seen.scores[others]


def make(spec: DualEncoder, start: Start, data: TrainingData) -> DualLearner:
    """Return the learner of a dual encoder."""
    name, revision, device, seed = start
    encoder = Encoder.start(name, revision, spec.encoder, device, spec.training.dropout)
    return DualLearner(encoder, spec, read(data, spec, seed, encoder.tokenise))
