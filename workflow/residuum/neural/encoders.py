"""Dual encoders: a Hugging Face model, its tokenizer, and how text becomes vectors.

Usage: `vectors = Encoder.load(folder, device).encode(texts, "doc", batch_size=64)`.
A checkpoint loads with AutoModel and with sentence-transformers too.
Must not know losses, corpora or where runs are written.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from residuum.artefacts.streams import chunks
from residuum.cli.progress import track
from residuum.config.schema.models import Encoder as EncoderSchema
from residuum.neural import devices, pretrained
from residuum.neural.adaptive import AdaptiveBatchSize, busy
from residuum.neural.heads import HEADS, Kind
from residuum.neural.tokens import padded

if TYPE_CHECKING:
    from torch import Tensor

TEXTS_AT_ONCE = 4096  # tokenised together; bounds the memory that lists of Python integers take


class Vectors(NamedTuple):
    """The vectors of texts (vectors, dimensions) in their order, and how many each text has."""

    rows: np.ndarray
    counts: np.ndarray


class Encoder:
    """One shared encoder for queries and docs (CLEAR Eq. 2-4).

    The inner product of an encoded query and an encoded doc is s_emb: both vectors carry
    the square root of the settings' score_scale.
    """

    def __init__(
        self, model: Any, tokenizer: Any, settings: EncoderSchema, device: devices.Device
    ) -> None:
        self.model = model.to(device.name)
        self.tokenizer, self.settings, self.device = tokenizer, settings, device
        self.head = HEADS[settings.pooling.kind].model_validate(settings.pooling)
        self.sizes = AdaptiveBatchSize("texts", "encoder.doc_length")

    @classmethod
    def load(cls, folder: Path, device: devices.Device) -> Encoder:
        """Load a checkpoint that `save` wrote; its settings are checked."""
        settings = pretrained.read_settings(folder, EncoderSchema)
        return cls.start(str(folder), None, settings, device)

    @classmethod
    def start(
        cls,
        name: str,
        revision: str | None,
        settings: EncoderSchema,
        device: devices.Device,
        dropout: float | None = None,
    ) -> Encoder:
        """Make an encoder from a Hugging Face directory or hub id.

        Markers that the tokenizer lacks become special tokens with new embeddings; weights
        that the model lacks are drawn from a fixed seed. `dropout` replaces the model's own.
        Raises ResiduumError if the model cannot be had or reads less than the lengths.
        """
        from transformers import AutoModel

        markers = (settings.query_marker, settings.doc_marker)
        model, tokenizer = pretrained.load(AutoModel, name, revision, dropout, markers)
        for key in ("query_length", "doc_length"):
            pretrained.check_length(name, model.config, f"encoder.{key}", getattr(settings, key))
        return cls(model, tokenizer, settings, device)

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        return int(self.model.config.hidden_size)

    @property
    def doc_room(self) -> int:
        """Most tokens of a doc's own text: doc_length without [CLS], marker and [SEP]."""
        empty = self.tokenizer(f"{self.settings.doc_marker} ")["input_ids"]
        return self.settings.doc_length - len(empty)

    def tokenise(self, texts: Sequence[str], kind: Kind) -> list[np.ndarray]:
        """Return each text's token ids: [CLS] marker text [SEP], cut to the kind's length."""
        query = kind == "query"
        marker = self.settings.query_marker if query else self.settings.doc_marker
        length = self.settings.query_length if query else self.settings.doc_length
        tokens: list[np.ndarray] = []
        for first in range(0, len(texts), TEXTS_AT_ONCE):
            marked = [f"{marker} {text}" for text in texts[first : first + TEXTS_AT_ONCE]]
            ids = self.tokenizer(marked, truncation=True, max_length=length)["input_ids"]
            tokens += [np.array(row, dtype=np.int32) for row in ids]
        return tokens

    def counts(self, tokens: Sequence[np.ndarray], kind: Kind) -> np.ndarray:
        """Return how many vectors tokenised texts get: integers (texts,)."""
        return np.minimum([len(row) for row in tokens], self.head.most(kind))

    def forward(self, tokens: Sequence[np.ndarray], kind: Kind) -> Tensor:
        """Return the vectors of tokenised texts: float32 (texts, most, dimensions), with gradient.

        Those beyond a text's `counts` mean nothing.
        """
        ids, mask = padded(tokens, self.tokenizer.pad_token_id or 0, self.device.name)
        with self.device.autocast():
            hidden = self.model(input_ids=ids, attention_mask=mask).last_hidden_state
        return self.head.pool(hidden.float(), mask, kind) * math.sqrt(self.settings.score_scale)

    def encode(self, texts: Sequence[str], kind: Kind, batch_size: int) -> np.ndarray:
        """Return float32 vectors (vectors, dimensions) in the order of the texts."""
        return self.vectors(texts, kind, batch_size).rows

    def vectors(self, texts: Sequence[str], kind: Kind, batch_size: int) -> Vectors:
        """Return the vectors of texts, and how many each text has.

        Batches hold texts of about one length, so that little of the work is padding. They are
        as large as `batch_size` and a GPU's memory allow, which `sizes` knows, or as keeps a CPU
        `busy`.
        """
        import torch

        tokens = self.tokenise(texts, kind)
        order = sorted(range(len(tokens)), key=lambda i: (len(tokens[i]), i))
        counts = self.counts(tokens, kind).astype(np.int64)
        starts = np.cumsum(counts) - counts
        rows = np.empty((counts.sum(), self.dimensions), dtype=np.float32)

        def encode(batch: Sequence[int], _: int) -> None:
            found = self.forward([tokens[i] for i in batch], kind).cpu().numpy()
            for i, own in zip(batch, found, strict=True):
                rows[starts[i] : starts[i] + counts[i]] = own[: counts[i]]

        self.model.eval()
        total = -(-len(order) // batch_size)
        with torch.inference_mode():
            for batch in track(chunks(order, batch_size), f"encode {kind}", total, "batches"):
                width = len(tokens[batch[-1]])
                size = busy(batch_size, width, self.dimensions, self.device.name)
                self.sizes.each(batch, size, encode)
        return Vectors(rows, counts)

    def save(self, folder: Path) -> None:
        """Write the checkpoint into a folder: Hugging Face files, settings, pooling, prompts."""
        pretrained.save(self.model, self.tokenizer, folder)
        pretrained.write_settings(folder, self.settings)
        for name, content in _sentence_transformers(self.settings, self.dimensions).items():
            pretrained.write_json(folder / name, content)


def _sentence_transformers(settings: EncoderSchema, dimensions: int) -> dict[str, Any]:
    """Return the files by which sentence-transformers (2 and later) reads the checkpoint.

    It gives a text one vector: of several, the first.
    """
    package = "sentence_transformers.models"
    prompts = {"query": settings.query_marker, "document": settings.doc_marker}
    return {
        "modules.json": [
            {"idx": 0, "name": "0", "path": "", "type": f"{package}.Transformer"},
            {"idx": 1, "name": "1", "path": "1_Pooling", "type": f"{package}.Pooling"},
        ],
        "1_Pooling/config.json": {
            "word_embedding_dimension": dimensions,
            "pooling_mode_cls_token": settings.pooling.kind != "mean",
            "pooling_mode_mean_tokens": settings.pooling.kind == "mean",
        },
        "sentence_bert_config.json": {
            "max_seq_length": max(settings.query_length, settings.doc_length),
            "do_lower_case": False,  # the tokenizer does what is needed
        },
        "config_sentence_transformers.json": {
            "prompts": {name: f"{marker} " for name, marker in prompts.items()},
            "default_prompt_name": None,
            "similarity_fn_name": "dot",
        },
    }
