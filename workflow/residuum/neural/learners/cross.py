"""How a cross-encoder learns to tell a positive from negatives of its query.

Usage: see the package. Must not know the training loop, or which runs will be reranked.
"""

from __future__ import annotations

from residuum.config.schema.models import CrossEncoder as CrossEncoderSchema
from residuum.neural.batches import Batch
from residuum.neural.crossencoder import CrossEncoder, Pair
from residuum.neural.learners.base import Outputs, Start, TrainingData
from residuum.neural.learners.contrastive import ContrastiveLearner, of_own
from residuum.neural.learners.training_data import read
from residuum.neural.losses import Candidates


class CrossLearner(ContrastiveLearner):
    """A cross-encoder in training; its output is the score of each pair of a group."""

    remedy = "reading.pooling"

    def forward(self, batch: Batch) -> Outputs:
        """Return the scores (rows, 1 + negatives) of each query's docs, the positive first."""
        grouped = list(zip(batch.query_ids, batch.groups, strict=True))
        queries = self.stream.queries.of([query for query, docs in grouped for _ in docs])
        docs = self.stream.docs.of([doc for _, docs in grouped for doc in docs])
        pairs = list(map(Pair, queries, docs))
        return [self.encoder.forward(pairs).view(len(grouped), -1)]

    def candidates(self, batch: Batch, outputs: Outputs, rows: slice) -> Candidates:
        """Return the scores of each query's own docs."""
        return of_own(outputs[0], batch)

    def indifferent(self, batch: Batch) -> Outputs:
        """Return equal scores."""
        import torch

        return [torch.zeros(len(batch.query_ids), 1 + self.group)]


def make(spec: CrossEncoderSchema, start: Start, data: TrainingData) -> CrossLearner:
    """Return the learner of a cross-encoder."""
    name, revision, device, seed = start
    encoder = CrossEncoder.start(name, revision, spec.reading, device, spec.training.dropout)
    return CrossLearner(encoder, spec, read(data, spec, seed, encoder.tokenise))
