"""Term weighters: a BERT that reads a doc and gives each of its words a weight (DeepCT).

Usage: `tfs = TermWeighter.load(folder, device).predict(texts, batch_size=64)`.
A checkpoint loads with AutoModelForTokenClassification too.
Must not know losses, queries, corpora or where predictions are written.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from residuum.artefacts.streams import chunks
from residuum.cli.errors import ResiduumError
from residuum.config.schema.base import Positive, Strict
from residuum.neural import devices, pretrained
from residuum.neural.adaptive import AdaptiveBatchSize
from residuum.neural.termrecall import first_subwords, frequencies
from residuum.neural.tokens import padded

if TYPE_CHECKING:
    from torch import Tensor

TEXTS_AT_ONCE = 4096  # tokenised together; an encoding holds far more than the ids


class Weighting(Strict):
    """Settings of a checkpoint: tokens read of a doc, and what turns a weight into a tf."""

    length: Positive
    scale: Positive


class Doc(NamedTuple):
    """A doc as the model reads it: its words, their first subwords' places, all token ids."""

    words: list[str]
    places: list[int]
    ids: np.ndarray


class TermWeighter:
    """A contextual encoder and a linear layer: y = w . T + b of each word's first subword."""

    def __init__(
        self, model: Any, tokenizer: Any, settings: Weighting, device: devices.Device
    ) -> None:
        self.model = model.to(device.name)
        self.tokenizer, self.settings, self.device = tokenizer, settings, device
        self.sizes = AdaptiveBatchSize("texts", "length")

    @classmethod
    def load(cls, folder: Path, device: devices.Device) -> TermWeighter:
        """Load a checkpoint that `save` wrote; its settings are checked."""
        settings = pretrained.read_settings(folder, Weighting)
        return cls.start(str(folder), None, settings, device)

    @classmethod
    def start(
        cls,
        name: str,
        revision: str | None,
        settings: Weighting,
        device: devices.Device,
        dropout: float | None = None,
    ) -> TermWeighter:
        """Make a term weighter from a Hugging Face directory or hub id.

        A linear layer that is not there is drawn from a fixed seed. Raises ResiduumError if the
        model cannot be had, reads less than the length, or cuts no words before subwords.
        """
        from transformers import AutoModelForTokenClassification as Head

        model, tokenizer = pretrained.load(Head, name, revision, dropout, num_labels=1)
        pretrained.check_length(name, model.config, "length", settings.length)
        backend = getattr(tokenizer, "backend_tokenizer", None)
        if backend is None or backend.normalizer is None or backend.pre_tokenizer is None:
            raise ResiduumError(f"{name}: term weights need a tokenizer that cuts words, as BERT's")
        return cls(model, tokenizer, settings, device)

    def words(self, text: str) -> list[str]:
        """Return the words of a text as the tokenizer sees them, before it cuts subwords."""
        backend = self.tokenizer.backend_tokenizer
        normal = backend.normalizer.normalize_str(text)
        return [word for word, _ in backend.pre_tokenizer.pre_tokenize_str(normal)]

    def read(self, texts: Sequence[str]) -> list[Doc]:
        """Return each text's words and tokens: [CLS] text [SEP], cut to the length."""
        docs: list[Doc] = []
        for some in chunks(texts, TEXTS_AT_ONCE):
            rows = [self.words(text) for text in some]
            cut = {"truncation": True, "max_length": self.settings.length}
            encodings = self.tokenizer(rows, is_split_into_words=True, **cut).encodings
            docs += [_doc(words, found) for words, found in zip(rows, encodings, strict=True)]
        return docs

    def forward(self, docs: Sequence[Doc]) -> Tensor:
        """Return the weight of each word, all docs' words in one row: float32, with gradient."""
        import torch

        ids, mask = padded(
            [doc.ids for doc in docs], self.tokenizer.pad_token_id or 0, self.device.name
        )
        with self.device.autocast():
            weights = self.model(input_ids=ids, attention_mask=mask).logits.squeeze(-1)
        rows = np.repeat(np.arange(len(docs)), [len(doc.places) for doc in docs])
        columns = np.array([place for doc in docs for place in doc.places], dtype=np.int64)
        return weights.float()[torch.from_numpy(rows), torch.from_numpy(columns)]

    def predict(self, texts: Sequence[str], batch_size: int) -> list[dict[str, int]]:
        """Return each text's predicted term frequencies, {word: tf of 1 or more}.

        Batches hold texts of about one length, so that little of the work is padding.
        """
        import torch

        docs = self.read(texts)
        order = sorted(range(len(docs)), key=lambda i: (len(docs[i].ids), i))
        found: list[dict[str, int]] = [{} for _ in docs]

        def predict(places: Sequence[int], _: int) -> None:
            weights = self.forward([docs[i] for i in places]).tolist()
            for i in places:
                own, weights = weights[: len(docs[i].words)], weights[len(docs[i].words) :]
                found[i] = frequencies(docs[i].words, own, self.settings.scale)

        self.model.eval()
        with torch.inference_mode():
            self.sizes.each(order, batch_size, predict)
        return found

    def save(self, folder: Path) -> None:
        """Write the checkpoint into a folder: Hugging Face files and settings."""
        pretrained.save(self.model, self.tokenizer, folder)
        pretrained.write_settings(folder, self.settings)


def _doc(words: list[str], encoding: Any) -> Doc:
    places = first_subwords(encoding.word_ids)
    ids = np.array(encoding.ids, dtype=np.int32)
    return Doc([words[number] for number in places], list(places.values()), ids)
