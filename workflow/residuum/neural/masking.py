"""Masked-language modelling: a backbone learns to predict hidden tokens of docs.

Usage: `MaskedLearner(spec, start, texts)`, trained as any learner is.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from residuum.cli.errors import ResiduumError
from residuum.config.schema.backbones import MaskedLanguage, NextText
from residuum.config.specs import derive
from residuum.neural import devices, padding, pretrained
from residuum.neural.batches import B, rows_of
from residuum.neural.inputs import Inputs, places
from residuum.neural.learners import BatchLoss, Learner, Outputs, Start
from residuum.neural.tokens import PackedTokens, special_ids, tokenise

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel

MASKED, RANDOM = 0.8, 0.1  # shares of the chosen tokens; the rest stays unchanged


class Alphabet(NamedTuple):
    """Token ids: the mask token, the special tokens, and the ordinary tokens."""

    mask: int
    special: np.ndarray
    ordinary: np.ndarray


class MaskedBatch(NamedTuple):
    """Whole docs, docs with tokens replaced, and which tokens are to be predicted (boolean)."""

    docs: list[np.ndarray]
    rows: list[np.ndarray]
    chosen: list[np.ndarray]


class MaskingLearner(Learner[B]):
    """A masked-language model in training on docs; its head shares the word embeddings.

    `docs` has the tokens of the texts, `usable` the numbers of texts that are long enough.
    """

    spec: MaskedLanguage | NextText

    def __init__(self, spec: MaskedLanguage | NextText, start: Start, texts: Iterable[str]) -> None:
        from transformers import AutoModelForMaskedLM

        self.device = start.device
        model, self.tokenizer = pretrained.load(AutoModelForMaskedLM, start.source)
        pretrained.check_length(model, "length", spec.length)
        if self.tokenizer.mask_token_id is None:
            raise ResiduumError(f"{start.source.name}: its tokenizer has no mask token")
        special = np.array(special_ids(self.tokenizer))
        ordinary = np.setdiff1d(np.arange(len(self.tokenizer)), special)
        self.alphabet = Alphabet(self.tokenizer.mask_token_id, special, ordinary)
        rows, least = self.read(spec, texts)
        self.docs = PackedTokens(rows)
        self.usable = np.flatnonzero(self.docs.lengths >= least)
        if not len(self.usable):
            raise ResiduumError(f"the corpora hold no doc of at least {least} tokens to learn from")
        super().__init__(model.to(self.device.name), spec, start, len(self.usable))
        self.inputs = Inputs(model, self.tokenizer.pad_token_id or 0, self.device)

    @abstractmethod
    def read(self, spec: Any, texts: Iterable[str]) -> tuple[Iterable[np.ndarray], int]:
        """Return the tokens of texts, and the least number of tokens that a doc needs."""

    def save(self, folder: Path) -> None:
        pretrained.save(self.model, self.tokenizer, folder)

    def visited(self, step: int) -> list[np.ndarray]:
        """Return the tokens of the docs of a step."""
        return [self.docs.row(self.usable[one.number]) for one in self.sampler.visits(step)]

    def masked(self, rows: Sequence[np.ndarray], step: int) -> MaskedBatch:
        """Hide tokens of the texts of a step."""
        seed = derive(self.start.seed, "mask", str(step))
        return mask(rows, self.alphabet, self.spec.mask, seed)

    def predict(self, batch: MaskedBatch) -> tuple[Tensor, Tensor]:
        """Return -log p of each hidden token (hidden tokens,), and each text's first token state.

        Both follow the order of the texts; states are (texts, hidden).
        """
        import torch

        together = padding.together([*map(len, batch.rows)], self.model)
        parts = [self._together(rows_of(batch, numbers)) for numbers in together]
        losses, states = (torch.cat(part) for part in zip(*parts, strict=True))
        order = np.concatenate(together)
        texts = np.repeat(order, [batch.chosen[i].sum() for i in order])
        tokens, device = np.argsort(texts, kind="stable"), self.device.name
        return losses[devices.put(tokens, device)], states[devices.put(np.argsort(order), device)]

    def _together(self, batch: MaskedBatch) -> tuple[Tensor, Tensor]:
        """Return the results of `predict` for texts that are padded to the longest text."""
        from torch.nn.functional import cross_entropy

        given, _ = self.inputs.arguments(batch.rows)
        where = places(batch.chosen, self.device.name)
        with self.device.autocast():
            logits, states = predictions(self.model, given, where)
        hidden = [row[some] for row, some in zip(batch.docs, batch.chosen, strict=True)]
        target = devices.put(np.concatenate(hidden).astype(np.int64), self.device.name)
        return cross_entropy(logits.float(), target, reduction="none"), states[:, 0].float()


class MaskedLearner(MaskingLearner[MaskedBatch]):
    """A masked-language model that learns hidden tokens, with no other task."""

    def read(self, spec: MaskedLanguage, texts: Iterable[str]) -> tuple[Iterable[np.ndarray], int]:
        empty = self.tokenizer("")["input_ids"]
        return tokenise(self.tokenizer, texts, spec.length), len(empty) + 1

    def batch(self, step: int) -> MaskedBatch:
        return self.masked(self.visited(step), step)

    def examples(self, batch: MaskedBatch) -> int:
        """Return the number of hidden tokens."""
        return hidden_tokens(batch.chosen)

    def forward(self, batch: MaskedBatch) -> Outputs:
        """Return -log p of each hidden token of a batch."""
        return [self.predict(batch)[0]]

    def losses(self, batch: MaskedBatch, outputs: Outputs, rows: slice) -> BatchLoss:
        """Return -log p of each hidden token."""
        return BatchLoss(outputs[0], {})


def hidden_tokens(chosen: Iterable[np.ndarray]) -> int:
    """Return the number of hidden tokens."""
    return sum(int(some.sum()) for some in chosen)


def predictions(
    model: PreTrainedModel, given: Mapping[str, object], where: Tensor
) -> tuple[Tensor, Tensor]:
    """Return logits (chosen tokens, vocabulary), and the last layer's states of all tokens.

    `where` numbers the chosen tokens through (texts, tokens). BERT's head reads only the chosen
    tokens, a sixth of the work; other heads read every token. The states have shape (texts, tokens,
    hidden).
    """
    if model.config.model_type != "bert":
        made = model(**given, output_hidden_states=True)
        return made.logits.flatten(0, 1)[where], made.hidden_states[-1]
    states = model.base_model(**given).last_hidden_state
    return model.cls(states.flatten(0, 1)[where]), states


def mask(docs: Sequence[np.ndarray], alphabet: Alphabet, share: float, seed: int) -> MaskedBatch:
    """Choose a share of each doc's tokens, at least one token and never a special one.

    Of the chosen tokens, 80% become the mask, 10% become an ordinary token drawn uniformly, and 10%
    stay. Devlin et al. 2019 (BERT), section 3.1 and appendix A.
    """
    random = np.random.default_rng(seed)
    chosen = [np.zeros(len(doc), dtype=bool) for doc in docs]
    for doc, hidden in zip(docs, chosen, strict=True):
        places = np.flatnonzero(~np.isin(doc, alphabet.special))
        count = min(len(places), max(1, round(share * len(places))))
        hidden[random.choice(places, count, replace=False)] = True
    rows = []
    for doc, hidden in zip(docs, chosen, strict=True):
        draw, row = random.random(len(doc)), doc.copy()
        row[hidden & (draw < MASKED)] = alphabet.mask
        other = hidden & (draw >= MASKED) & (draw < MASKED + RANDOM)
        row[other] = random.choice(alphabet.ordinary, int(other.sum()))
        rows.append(row)
    return MaskedBatch(list(docs), rows, chosen)
