"""Dual encoders: a Hugging Face model, its tokenizer, and how text becomes one vector.

Usage: `vectors = Encoder.load(folder, device).encode(texts, "doc", batch_size=64)`.
A checkpoint loads with AutoModel and with sentence-transformers too.
Must not know losses, corpora or where runs are written.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from residuum.core.chunks import chunks
from residuum.core.progress import track
from residuum.core.schema.models import Encoder as EncoderSchema
from residuum.neural import devices, pretrained
from residuum.neural.room import Room, busy
from residuum.neural.tokens import padded

if TYPE_CHECKING:
    from torch import Tensor

Kind = Literal["query", "doc"]
TEXTS_AT_ONCE = 4096  # tokenised together; bounds the memory that lists of Python integers take


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
        self.room = Room("texts", "encoder.doc_length")

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

    def forward(self, tokens: Sequence[np.ndarray]) -> Tensor:
        """Return the vectors of tokenised texts: float32 (texts, dimensions), with gradient."""
        ids, mask = padded(tokens, self.tokenizer.pad_token_id or 0, self.device.name)
        with self.device.autocast():
            hidden = self.model(input_ids=ids, attention_mask=mask).last_hidden_state
        pooled = pool(hidden.float(), mask, self.settings.pooling)
        return pooled * math.sqrt(self.settings.score_scale)

    def encode(self, texts: Sequence[str], kind: Kind, batch_size: int) -> np.ndarray:
        """Return float32 vectors (texts, dimensions) in the order of the texts.

        Batches hold texts of about one length, so that little of the work is padding. They are
        as large as `batch_size` and a GPU's memory allow, which `room` knows, or as keeps a CPU
        `busy`.
        """
        import torch

        tokens = self.tokenise(texts, kind)
        order = sorted(range(len(tokens)), key=lambda i: (len(tokens[i]), i))
        vectors = np.empty((len(tokens), self.dimensions), dtype=np.float32)

        def encode(batch: list[int], _: int) -> None:
            vectors[batch] = self.forward([tokens[i] for i in batch]).cpu().numpy()

        self.model.eval()
        total = -(-len(order) // batch_size)
        with torch.inference_mode():
            for batch in track(chunks(order, batch_size), f"encode {kind}", total, "batches"):
                width = len(tokens[batch[-1]])
                size = busy(batch_size, width, self.dimensions, self.device.name)
                self.room.each(batch, size, encode)
        return vectors

    def save(self, folder: Path) -> None:
        """Write the checkpoint into a folder: Hugging Face files, settings, pooling, prompts."""
        pretrained.save(self.model, self.tokenizer, folder)
        pretrained.write_settings(folder, self.settings)
        for name, content in _sentence_transformers(self.settings, self.dimensions).items():
            pretrained.write_json(folder / name, content)


def pool(hidden: Tensor, mask: Tensor, pooling: str) -> Tensor:
    """Pool token vectors (texts, tokens, dimensions) into (texts, dimensions).

    `mean` averages over the tokens that `mask` (texts, tokens) marks with 1 (CLEAR Eq. 2-3),
    `cls` takes the first token.
    """
    if pooling == "cls":
        return hidden[:, 0]
    weights = mask.unsqueeze(-1).to(hidden.dtype)
    return (hidden * weights).sum(dim=1) / weights.sum(dim=1)


def _sentence_transformers(settings: EncoderSchema, dimensions: int) -> dict[str, Any]:
    """Return the files by which sentence-transformers (2 and later) reads the checkpoint."""
    package = "sentence_transformers.models"
    prompts = {"query": settings.query_marker, "document": settings.doc_marker}
    return {
        "modules.json": [
            {"idx": 0, "name": "0", "path": "", "type": f"{package}.Transformer"},
            {"idx": 1, "name": "1", "path": "1_Pooling", "type": f"{package}.Pooling"},
        ],
        "1_Pooling/config.json": {
            "word_embedding_dimension": dimensions,
            "pooling_mode_cls_token": settings.pooling == "cls",
            "pooling_mode_mean_tokens": settings.pooling == "mean",
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
