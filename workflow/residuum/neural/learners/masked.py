"""How a backbone learns a corpus by masked-language modelling (Devlin et al. 2019).

Usage: `masked.make(form, start, revision, device, texts)`. One example is a token to predict.
Must not know the training loop, queries, or which models start from the backbone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from residuum.core.errors import ResiduumError
from residuum.core.schema.models import MaskedLanguage
from residuum.core.seeds import derive
from residuum.neural import batches, masking, pretrained
from residuum.neural.devices import Device
from residuum.neural.learners.base import Part
from residuum.neural.learners.material import steps_of
from residuum.neural.tokens import Packed, padded

if TYPE_CHECKING:
    from torch import Tensor


class MaskedLearner:
    """A masked-language model in training on docs in seeded order; `pairs` are the docs."""

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        form: MaskedLanguage,
        device: Device,
        docs: Packed,
    ) -> None:
        self.model = model.to(device.name)
        self.tokenizer, self.form, self.device, self.docs = tokenizer, form, device, docs
        self.alphabet = alphabet_of(tokenizer)
        empty = len(tokenizer("")["input_ids"])
        self._places = np.flatnonzero(docs.lengths > empty)
        if not len(self._places):
            raise ResiduumError("the corpora hold no doc with text to learn from")
        self.pairs = len(self._places)
        self.visits = batches.Visits(self.pairs, form.training.batch_size, form.seed)
        self.steps = steps_of(form.training, self.visits)
        self.indivisible = False

    @property
    def revision(self) -> str | None:
        """Commit hash of the start if it came from the hub."""
        return pretrained.commit(self.model)

    def save(self, folder: Path) -> None:
        """Write the model with its head; AutoModel reads the model alone."""
        pretrained.save(self.model, self.tokenizer, folder)

    def losses(self, step: int, rows: slice) -> Part:
        """Return -log p of each token (tokens,) that the step hides in some of its docs."""
        from torch.nn.functional import cross_entropy

        docs = [self.docs.row(self._places[number]) for number, _ in self.visits.of(step)]
        seed = derive(self.form.seed, "mask", str(step))
        whole = masking.mask(docs, self.alphabet, self.form.mask, seed)
        hidden = masking.Masked(whole.rows[rows], whole.chosen[rows])
        wanted = np.concatenate([r[c] for r, c in zip(docs[rows], hidden.chosen, strict=True)])
        ids, mask = padded(hidden.rows, self.tokenizer.pad_token_id or 0, self.device.name)
        where, _ = padded(hidden.chosen, False, self.device.name)
        with self.device.autocast():
            logits = predictions(self.model, ids, mask, where.bool())
        target = ids.new_tensor(wanted.astype(np.int64))
        found = cross_entropy(logits.float(), target, reduction="none")
        return Part(found, sum(int(chosen.sum()) for chosen in whole.chosen), {})


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


def make(
    form: MaskedLanguage,
    start: str,
    revision: str | None,
    device: Device,
    texts: Iterable[str],
) -> MaskedLearner:
    """Return the learner; a start without the head gets one from a fixed seed.

    The head's output weights are the word embeddings. All texts are tokenised at once.
    """
    if form.training.part != (1, 1):
        raise ResiduumError("training.part cuts training pairs; masked-language modelling has none")
    from transformers import AutoModelForMaskedLM

    dropout = form.training.dropout
    model, tokenizer = pretrained.load(AutoModelForMaskedLM, start, revision, dropout)
    pretrained.check_length(start, model.config, "length", form.length)

    def tokenise(texts: Sequence[str]) -> list[np.ndarray]:
        found = tokenizer(list(texts), truncation=True, max_length=form.length)
        return [np.array(row, dtype=np.int32) for row in found["input_ids"]]

    return MaskedLearner(model, tokenizer, form, device, Packed(texts, tokenise))
