"""How a backbone learns a corpus by masked-language modelling (Devlin et al. 2019).

Usage: `learner = MaskedLearner(spec, start, texts)`. One example is a token to predict.
Must not know the training loop, queries, or which models start from the backbone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from residuum.cli.errors import ResiduumError
from residuum.config.schema.models import MaskedLanguage
from residuum.config.specs import derive
from residuum.neural import devices, pretrained
from residuum.neural.learners import BatchLoss, Learner, Outputs, Start
from residuum.neural.tokens import PackedTokens, padded, tokenise

if TYPE_CHECKING:
    from torch import Tensor

MASKED, RANDOM = 0.8, 0.1  # of the chosen tokens; the rest stays as it is


class Alphabet(NamedTuple):
    """The token that hides others, the special ones, and the ordinary ones, as ids."""

    mask: int
    special: np.ndarray
    ordinary: np.ndarray


class MaskedBatch(NamedTuple):
    """Docs whole, with tokens replaced, and which of their tokens are to be predicted (boolean)."""

    docs: list[np.ndarray]
    rows: list[np.ndarray]
    chosen: list[np.ndarray]


class MaskedLearner(Learner[MaskedBatch]):
    """A masked-language model in training on docs; its head shares the word embeddings."""

    spec: MaskedLanguage

    def __init__(self, spec: MaskedLanguage, start: Start, texts: Iterable[str]) -> None:
        if spec.training.part != (1, 1):
            raise ResiduumError(
                "training.part cuts training pairs; masked-language modelling has none"
            )
        from transformers import AutoModelForMaskedLM

        self.device = start.device
        model, self.tokenizer = pretrained.load(AutoModelForMaskedLM, start.source)
        pretrained.check_length(model, "length", spec.length)
        self.alphabet = alphabet_of(self.tokenizer)
        self.docs = PackedTokens(tokenise(self.tokenizer, texts, spec.length))
        self._with_text = np.flatnonzero(self.docs.lengths > len(self.tokenizer("")["input_ids"]))
        if not len(self._with_text):
            raise ResiduumError("the corpora hold no doc with text to learn from")
        super().__init__(model.to(self.device.name), spec, start, len(self._with_text))

    def save(self, folder: Path) -> None:
        pretrained.save(self.model, self.tokenizer, folder)

    def batch(self, step: int) -> MaskedBatch:
        docs = [self.docs.row(self._with_text[number]) for number, _ in self.sampler.visits(step)]
        seed = derive(self.start.seed, "mask", str(step))
        return mask(docs, self.alphabet, self.spec.mask, seed)

    def examples(self, batch: MaskedBatch) -> int:
        """Return the number of hidden tokens."""
        return sum(int(some.sum()) for some in batch.chosen)

    def forward(self, batch: MaskedBatch) -> Outputs:
        """Return the logits (hidden tokens, vocabulary) of some docs."""
        ids, mask = padded(batch.rows, self.tokenizer.pad_token_id or 0, self.device.name)
        where, _ = padded(batch.chosen, False, self.device.name)
        with self.device.autocast():
            return [predictions(self.model, ids, mask, where.bool())]

    def losses(self, batch: MaskedBatch, outputs: Outputs, rows: slice) -> BatchLoss:
        """Return -log p of each hidden token."""
        from torch.nn.functional import cross_entropy

        hidden = [row[some] for row, some in zip(batch.docs, batch.chosen, strict=True)]
        target = devices.put(np.concatenate(hidden).astype(np.int64), self.device.name)
        return BatchLoss(cross_entropy(outputs[0].float(), target, reduction="none"), {})


def predictions(model: Any, ids: Tensor, mask: Tensor, where: Tensor) -> Tensor:
    """Return the logits (chosen tokens, vocabulary) of the tokens that `where` marks.

    BERT's head reads those alone, a sixth of the work; other heads read every token.
    """
    if model.config.model_type != "bert":
        return model(input_ids=ids, attention_mask=mask).logits[where]
    hidden = model.base_model(input_ids=ids, attention_mask=mask).last_hidden_state
    return model.cls(hidden[where])


def alphabet_of(tokenizer: Any) -> Alphabet:
    """Return which ids of a tokenizer mask, are special, and are ordinary."""
    if tokenizer.mask_token_id is None:
        raise ResiduumError("the start's tokenizer has no mask token, so no masked-language model")
    added = [key for key, token in tokenizer.added_tokens_decoder.items() if token.special]
    special = np.unique([*tokenizer.all_special_ids, *added])
    ordinary = np.setdiff1d(np.arange(len(tokenizer)), special)
    return Alphabet(tokenizer.mask_token_id, special, ordinary)


def mask(docs: Sequence[np.ndarray], alphabet: Alphabet, share: float, seed: int) -> MaskedBatch:
    """Choose a share of each doc's tokens, at least one; special tokens are never chosen.

    Of the chosen, 80% become the mask, 10% an ordinary token drawn uniformly, 10% stay. What is
    drawn follows from the seed alone. Devlin et al. 2019 (BERT), section 3.1 and appendix A.
    """
    random = np.random.default_rng(seed)
    chosen = [np.zeros(len(doc), dtype=bool) for doc in docs]
    for doc, own in zip(docs, chosen, strict=True):
        places = np.flatnonzero(~np.isin(doc, alphabet.special))
        count = min(len(places), max(1, round(share * len(places))))
        own[random.choice(places, count, replace=False)] = True
    rows = []
    for doc, own in zip(docs, chosen, strict=True):
        draw, row = random.random(len(doc)), doc.copy()
        row[own & (draw < MASKED)] = alphabet.mask
        other = own & (draw >= MASKED) & (draw < MASKED + RANDOM)
        row[other] = random.choice(alphabet.ordinary, int(other.sum()))
        rows.append(row)
    return MaskedBatch(list(docs), rows, chosen)
