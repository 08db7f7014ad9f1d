"""How a backbone learns a corpus by masked-language modelling (Devlin et al. 2019).

Usage: `masked.make(spec, start, texts)`. One example is a token to predict.
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
from residuum.neural import batches, devices, masking, pretrained
from residuum.neural.devices import Device
from residuum.neural.learners.base import BatchLoss, Learner, Outputs, Start
from residuum.neural.learners.training_data import steps_of
from residuum.neural.tokens import PackedTokens, padded

if TYPE_CHECKING:
    from torch import Tensor


class MaskedBatch(NamedTuple):
    """The docs of a step, or some of them: whole, with tokens hidden, and which those are."""

    docs: list[np.ndarray]
    rows: list[np.ndarray]
    chosen: list[np.ndarray]


class MaskedLearner(Learner[MaskedBatch]):
    """A masked-language model in training on docs in seeded order; `pairs` are the docs."""

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        spec: MaskedLanguage,
        device: Device,
        docs: PackedTokens,
    ) -> None:
        self.model = model.to(device.name)
        self.tokenizer, self.spec, self.device, self.docs = tokenizer, spec, device, docs
        self.alphabet = alphabet_of(tokenizer)
        empty = len(tokenizer("")["input_ids"])
        self._places = np.flatnonzero(docs.lengths > empty)
        if not len(self._places):
            raise ResiduumError("the corpora hold no doc with text to learn from")
        self.pairs = len(self._places)
        self.sampler = batches.EpochSampler(self.pairs, spec.training.batch_size, spec.seed)
        self.steps = steps_of(spec.training, self.sampler)

    def save(self, folder: Path) -> None:
        """Write the model with its head; AutoModel reads the model alone."""
        pretrained.save(self.model, self.tokenizer, folder)

    def batch(self, step: int) -> MaskedBatch:
        """Return the docs of a step, with the tokens that it hides."""
        docs = [self.docs.row(self._places[number]) for number, _ in self.sampler.visits(step)]
        seed = derive(self.spec.seed, "mask", str(step))
        return MaskedBatch(docs, *masking.mask(docs, self.alphabet, self.spec.mask, seed))

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

    BERT's head is asked about those alone, a sixth of the work; other heads about every token.
    """
    if model.config.model_type != "bert":
        return model(input_ids=ids, attention_mask=mask).logits[where]
    hidden = model.base_model(input_ids=ids, attention_mask=mask).last_hidden_state
    return model.cls(hidden[where])


def alphabet_of(tokenizer: Any) -> masking.Alphabet:
    """Return which ids of a tokenizer mask, are special, and are ordinary."""
    if tokenizer.mask_token_id is None:
        raise ResiduumError("the start's tokenizer has no mask token, so no masked-language model")
    added = [key for key, token in tokenizer.added_tokens_decoder.items() if token.special]
    special = np.unique([*tokenizer.all_special_ids, *added])
    ordinary = np.setdiff1d(np.arange(len(tokenizer)), special)
    return masking.Alphabet(tokenizer.mask_token_id, special, ordinary)


def make(spec: MaskedLanguage, start: Start, texts: Iterable[str]) -> MaskedLearner:
    """Return the learner; a start without the head gets one from a fixed seed.

    The head's output weights are the word embeddings. All texts are tokenised at once.
    """
    if spec.training.part != (1, 1):
        raise ResiduumError("training.part cuts training pairs; masked-language modelling has none")
    from transformers import AutoModelForMaskedLM

    dropout = spec.training.dropout
    model, tokenizer = pretrained.load(AutoModelForMaskedLM, start.name, start.revision, dropout)
    pretrained.check_length(start.name, model.config, "length", spec.length)

    def tokenise(texts: Sequence[str]) -> list[np.ndarray]:
        found = tokenizer(list(texts), truncation=True, max_length=spec.length)
        return [np.array(row, dtype=np.int32) for row in found["input_ids"]]

    return MaskedLearner(model, tokenizer, spec, start.device, PackedTokens(texts, tokenise))
