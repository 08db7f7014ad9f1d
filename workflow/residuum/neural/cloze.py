"""The inverse cloze task: an encoder learns to find the doc that a span was taken out of.

Usage: `ClozeLearner(spec, start, texts)`, trained as any learner is. It needs texts alone, no query
and no judgement (Lee, Chang and Toutanova 2019, "Latent Retrieval for Weakly Supervised Open Domain
Question Answering", section 4).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from residuum.cli.errors import ResiduumError
from residuum.config.schema.backbones import InverseCloze
from residuum.config.schema.encoder import TextKind
from residuum.config.specs import derive
from residuum.neural import padding
from residuum.neural.encoders import Encoder
from residuum.neural.learners import BatchLoss, Learner, Outputs, Start
from residuum.neural.losses import in_batch
from residuum.neural.tokens import PackedTokens


class ClozeBatch(NamedTuple):
    """Spans as queries, and the docs that the spans were taken from, as token ids."""

    queries: list[np.ndarray]
    docs: list[np.ndarray]


class ClozeLearner(Learner[ClozeBatch]):
    """A dual encoder in training on spans; a span's negatives are the other docs of its batch."""

    joint = True
    spec: InverseCloze
    encoder: Encoder

    def __init__(self, spec: InverseCloze, start: Start, texts: Iterable[str]) -> None:
        self.encoder = Encoder(start.source, spec.encoder, start.device)
        if self.encoder.head.most("doc", self.encoder.settings.doc_length) > 1:
            raise ResiduumError("encoder.pooling: the inverse cloze task takes one vector a doc")
        self.frames = {"query": self._frame("query"), "doc": self._frame("doc")}
        self.docs = PackedTokens(self.encoder.tokenise(texts, "doc"))
        least = len(np.concatenate(self.frames["doc"])) + spec.span[0]
        self._long_enough = np.flatnonzero(self.docs.lengths > least)
        if not len(self._long_enough):
            raise ResiduumError(
                f"the corpora hold no doc of more than {spec.span[0]} tokens to take a span out of"
            )
        super().__init__(self.encoder.model, spec, start, len(self._long_enough))

    def _frame(self, kind: TextKind) -> tuple[np.ndarray, np.ndarray]:
        """Return the tokens before a text, the marker last, and the tokens behind the text."""
        (empty,) = self.encoder.tokenise([""], kind)
        marker = self.encoder.tokenizer.convert_tokens_to_ids(self.encoder.leads[kind].rstrip())
        first = int(np.flatnonzero(empty == marker)[-1]) + 1
        return empty[:first], empty[first:]

    def batch(self, step: int) -> ClozeBatch:
        numbers = [self._long_enough[visit.number] for visit in self.sampler.visits(step)]
        before, behind = self.frames["doc"]
        rows = [self.docs.row(n) for n in numbers]
        texts = [row[len(before) : len(row) - len(behind)] for row in rows]
        random = np.random.default_rng(derive(self.start.seed, "span", str(step)))
        pairs = [take_span(text, self.spec.span, self.spec.removed, random) for text in texts]
        spans, rests = zip(*pairs, strict=True)
        return ClozeBatch(self._framed(spans, "query"), self._framed(rests, "doc"))

    def _framed(self, rows: Sequence[np.ndarray], kind: TextKind) -> list[np.ndarray]:
        before, behind = self.frames[kind]
        return [np.concatenate([before, row, behind]) for row in rows]

    def forward(self, batch: ClozeBatch) -> Outputs:
        """Return the vectors (rows, dimensions) of spans and of docs."""
        if self.encoder.inputs.packs:
            return [made[:, 0] for made in self.encoder.both(batch.queries, batch.docs)]
        texts: dict[TextKind, list[np.ndarray]] = {"query": batch.queries, "doc": batch.docs}
        return [
            padding.by_length(rows, partial(self.encoder.forward, kind=kind), self.model)[:, 0]
            for kind, rows in texts.items()
        ]

    def indifferent(self, batch: ClozeBatch) -> Outputs:
        """Return vectors whose inner products are all 0."""
        import torch

        return [torch.zeros(len(batch.docs), 1)] * 2

    def losses(self, batch: ClozeBatch, outputs: Outputs, rows: slice) -> BatchLoss:
        """Return -log p of each span's doc among the batch's docs."""
        spans, docs = outputs
        losses, best = in_batch(spans, docs, rows)
        return BatchLoss(losses, {"best": best})


def take_span(
    text: np.ndarray, span: tuple[int, int], removed: float, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return a span of a text, and the text, without the span at the rate `removed`.

    Length and position are drawn uniformly; at least one token is left. A model learns from kept
    spans that equal words speak for a doc. The source removes spans at a rate of 0.9.
    """
    length = int(random.integers(span[0], min(span[1], len(text) - 1) + 1))
    first = int(random.integers(0, len(text) - length + 1))
    rest = np.delete(text, slice(first, first + length)) if random.random() < removed else text
    return text[first : first + length], rest
