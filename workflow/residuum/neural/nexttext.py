"""Hidden words and pairs of texts: a backbone learns which second half continues a first half.

Usage: `NextLearner(spec, start, texts)`, trained as any learner is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from residuum.cli.errors import ResiduumError
from residuum.config.schema.backbones import NextText
from residuum.config.specs import derive
from residuum.neural import devices
from residuum.neural.backbones import word_starts
from residuum.neural.frames import begins_with_cls
from residuum.neural.learners import BatchLoss, Outputs
from residuum.neural.losses import in_batch
from residuum.neural.masking import MaskedBatch, MaskingLearner, hidden_tokens
from residuum.neural.tokens import tokenise

if TYPE_CHECKING:
    from torch import Tensor


class Half(NamedTuple):
    """A half of a doc: whole, with tokens replaced, and which tokens are hidden (boolean)."""

    doc: np.ndarray
    row: np.ndarray
    chosen: np.ndarray


class NextBatch(NamedTuple):
    """The first halves of docs, and their second halves."""

    first: list[Half]
    second: list[Half]


class NextLearner(MaskingLearner[NextBatch]):
    """A masked-language model that learns from halves of docs, each read by itself.

    The loss is the mean over all hidden tokens plus a mean over docs. The second mean is of -log p
    of a doc's second half among the batch's second halves, by inner products of the last layer's
    [CLS] states. This is BERT's pretraining with a softmax in place of its binary loss (Ma et al.
    2020, CLEF, section 5.1). A softmax over a batch needs texts read apart, not joined. There is no
    layer above the states: a dual encoder's projection is trained later, with the encoder.
    """

    joint = True
    spec: NextText

    def read(self, spec: NextText, texts: Iterable[str]) -> tuple[Iterable[np.ndarray], int]:
        """Return the tokens of texts without special tokens, and the least tokens of a doc."""
        if not begins_with_cls(self.tokenizer):
            name = self.tokenizer.name_or_path
            raise ResiduumError(
                f"{name}: its tokenizer puts no [CLS] before a text, and training compares the "
                "states of [CLS]"
            )
        frame = np.array(self.tokenizer("")["input_ids"], dtype=np.int32)
        self.before, self.behind = frame[:1], frame[1:]
        room = spec.length - 2 * len(frame)
        if room < 2 * spec.least:
            text = f"length {spec.length} leaves {room} tokens for two halves of {spec.least}"
            raise ResiduumError(f"{text} beside special ones; give more, or a smaller least")
        self.starts = word_starts(self.tokenizer)
        return tokenise(self.tokenizer, texts, room, special=False), 2 * spec.least

    def batch(self, step: int) -> NextBatch:
        random = np.random.default_rng(derive(self.start.seed, "cut", str(step)))
        docs = self.visited(step)
        places = [cut(self.starts[doc], self.spec.least, random) for doc in docs]
        halves = [np.split(doc, [place]) for doc, place in zip(docs, places, strict=True)]
        rows = [
            np.concatenate([self.before, half, self.behind])
            for side in zip(*halves, strict=True)
            for half in side
        ]
        made = list(map(Half, *self.masked(rows, step)))
        return NextBatch(made[: len(docs)], made[len(docs) :])

    def forward(self, batch: NextBatch) -> Outputs:
        """Return the sum of each doc's losses (rows,), and vectors (rows, hidden) of its halves."""
        both = MaskedBatch(*map(list, zip(*batch.first, *batch.second, strict=True)))
        each, states = self.predict(both)
        counts = [int(some.sum()) for some in both.chosen]
        docs = np.repeat(np.arange(len(counts)) % len(batch.first), counts)
        sums = each.new_zeros(len(batch.first))
        sums = sums.index_add(0, devices.put(docs, self.device.name), each)
        return [sums, *states.chunk(2)]

    def indifferent(self, batch: NextBatch) -> Outputs:
        """Return losses of a uniform guess, and vectors whose inner products are all 0."""
        import torch

        pairs = zip(batch.first, batch.second, strict=True)
        counts = [hidden_tokens(half.chosen for half in pair) for pair in pairs]
        uniform = math.log(self.model.config.vocab_size)
        return [torch.tensor(counts) * uniform, *[torch.zeros(len(counts), 1)] * 2]

    def losses(self, batch: NextBatch, outputs: Outputs, rows: slice) -> BatchLoss:
        """Return each doc's share of the mean over hidden tokens, plus -log p of its second half.

        The mean of the shares over the docs of a batch is the mean over its hidden tokens.
        """
        sums, first, second = outputs
        hidden = hidden_tokens(half.chosen for side in batch for half in side)
        masked = sums[rows] * (len(sums) / hidden)
        pair, best = in_batch(first, second, rows)
        return BatchLoss(masked + pair, {"masked": masked, "pair": pair, "best": best})

    def seen(self, batch: NextBatch, outputs: Outputs) -> dict[str, Tensor]:
        """Return whether each doc's own second half scores best."""
        _, best = in_batch(outputs[1], outputs[2], slice(0, len(batch.first)))
        return {"best": best}


def cut(starts: np.ndarray, least: int, random: np.random.Generator) -> int:
    """Return the first token of a text's second half: a start of a word, drawn uniformly.

    `starts` (tokens,) marks tokens that start a word. Each half has at least `least` tokens. If no
    word starts in between, any token may start the second half.
    """
    places = np.arange(least, len(starts) - least + 1)
    words = places[starts[places]]
    return int(random.choice(words if len(words) else places))
