"""Dual encoders in training: the vectors of a batch, and the scores that its losses need.

Usage: `DualLearner(spec, start, tuples, texts)`, trained as any learner is.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from residuum.config.schema.encoder import TextKind
from residuum.config.schema.models import DualEncoder
from residuum.neural import devices, padding
from residuum.neural.batches import Batch, other_positives
from residuum.neural.encoders import Encoder
from residuum.neural.fixed import FixedVectors
from residuum.neural.learners import ContrastiveLearner, Outputs, Start, of_own_docs
from residuum.neural.losses import Candidates
from residuum.neural.mixes import Tuples
from residuum.neural.tokens import Readable

if TYPE_CHECKING:
    from torch import Tensor


class DualLearner(ContrastiveLearner):
    """One shared encoder in training; its outputs are the vectors of queries and docs.

    A loss that needs candidates gets one matrix: the positives of the batch, other processes'
    included, then all sampled negatives.
    """

    encoder: Encoder

    def __init__(self, spec: DualEncoder, start: Start, tuples: Tuples, texts: Readable) -> None:
        super().__init__(spec, start, tuples, texts)
        self.needs = {need for objective in self.objectives for need in objective.needs}
        self.joint = "candidates" in self.needs
        if start.fixed:
            docs = {pair.positive for pair in self.pairs}
            if "fixed_scores" in self.needs:
                docs |= {doc for pair in self.pairs for doc in pair.negatives}
            start.fixed.keep("query", {pair.query_id for pair in self.pairs})
            start.fixed.keep("doc", docs)

    @classmethod
    def begin(cls, spec: DualEncoder, start: Start) -> Encoder:
        return Encoder.class_for(spec.encoder)(start.source, spec.encoder, start.device)

    def forward(self, batch: Batch) -> Outputs:
        """Return vectors (rows, vectors, dimensions) of queries and of positives, and of negatives.

        The vectors of negatives are (rows, negatives, vectors, dimensions).
        """
        query_tokens = self.queries.tokens(batch.query_ids)
        doc_tokens = self.tokens_of(batch, _rows(batch), batch.docs)
        if self.encoder.inputs.packs:
            queries, docs = self.encoder.both(query_tokens, doc_tokens)
        else:
            queries = self._vectors(query_tokens, "query")
            docs = self._vectors(doc_tokens, "doc")
        positives, negatives = docs.tensor_split([len(queries)])
        return queries, positives, negatives.view(len(queries), -1, *docs.shape[1:])

    def _vectors(self, tokens: Sequence[np.ndarray], kind: TextKind) -> Tensor:
        return padding.by_length(tokens, partial(self.encoder.forward, kind=kind), self.model)

    def indifferent(self, batch: Batch) -> Outputs:
        """Return vectors whose inner products are all 0."""
        import torch

        rows, width = len(batch.query_ids), self.encoder.dimensions
        negatives = torch.zeros(rows, self.drawn, 1, width)
        return torch.zeros(rows, 1, width), torch.zeros(rows, 1, width), negatives

    def candidates(self, batch: Batch, outputs: Outputs, rows: slice) -> Candidates:
        """Return s_emb of each query with its own docs, and if `joint` with all candidates."""
        import torch

        queries, positives, negatives = outputs[0][rows, 0], outputs[1], outputs[2]
        own_docs = torch.cat([positives[rows, None], negatives[rows]], dim=1)
        part, counts = self.part(batch, rows), self._counts(batch)
        first, drawn = np.split(counts, [len(batch.positives)])
        own_counts = np.column_stack([first, drawn.reshape(len(first), self.drawn)])
        scores = self._best((queries[:, None, None] * own_docs).sum(dim=-1), own_counts[rows])
        seen = of_own_docs(scores, part)._replace(vectors=(queries, positives[rows]))
        fixed = self.start.fixed
        if fixed and "fixed" in self.needs:
            seen = seen._replace(fixed=self._fixed(fixed, part, queries))
        if not self.joint:
            return seen
        ignore, device = other_positives(batch, rows, self.positives), queries.device.type
        own_columns = np.arange(len(positives))[rows]
        others = ~ignore
        others[np.arange(len(others)), own_columns] = False
        docs = torch.cat([positives.flatten(0, 1), negatives.flatten(0, 2)])
        scores = (queries @ docs.T).view(len(queries), -1, positives.shape[1])
        if fixed and "fixed_scores" in self.needs:
            lexical = fixed.scores(part.query_ids, batch.docs)
            seen = seen._replace(fixed_scores=devices.put(lexical, device))
        return seen._replace(
            scores=self._best(scores, counts[None]),
            positive=devices.put(own_columns, device),
            ignore=devices.put(ignore, device),
            others=devices.put(np.flatnonzero(others), device),
        )

    def _fixed(self, fixed: FixedVectors, batch: Batch, queries: Tensor) -> tuple[Tensor, Tensor]:
        """Return the fixed vectors of queries and positives, as wide as `queries`."""
        width, device = queries.shape[1], queries.device.type
        query_vectors = fixed.vectors("query", batch.query_ids, width)
        doc_vectors = fixed.vectors("doc", batch.positives, width)
        return devices.put(query_vectors, device), devices.put(doc_vectors, device)

    def _counts(self, batch: Batch) -> np.ndarray:
        """Return the number of vectors of each of the batch's docs: integers (docs,)."""
        tokens = self.read(batch, _rows(batch), batch.docs)
        return self.encoder.counts(tokens, "doc")

    def _best(self, scores: Tensor, counts: np.ndarray) -> Tensor:
        """Return the best score (rows, docs) of each doc's vectors, given (rows, docs, vectors).

        `counts` (rows or 1, docs) says how many of the vectors a doc has.
        """
        absent = np.arange(scores.shape[-1]) >= counts[..., None]
        kept = scores.masked_fill(devices.put(absent, scores.device.type), float("-inf"))
        return kept.max(dim=-1).values

    def logged(self, seen: Candidates, rows: slice) -> tuple[Tensor, Tensor]:
        """Return the scores of positives and negatives; if `joint`, those of all candidates."""
        if not self.joint:
            positive, negative = super().logged(seen, rows)
            return positive.contiguous(), negative.contiguous()
        return seen.scores.diagonal(rows.start), seen.scores.flatten()[seen.others]


def _rows(batch: Batch) -> list[int]:
    """Return the row of each of a batch's docs: of the positives, then of all negatives."""
    pairs = range(len(batch.query_ids))
    return [*pairs, *(row for row in pairs for _ in batch.negatives[row])]
