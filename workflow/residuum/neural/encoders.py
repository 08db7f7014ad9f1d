"""Dual encoders: a Hugging Face model, its tokenizer, and how text becomes one vector.

Usage: `vectors = Encoder.load(folder, device).encode(texts, "doc", batch_size=64)`.
A checkpoint loads with AutoModel and with sentence-transformers too.
Must not know losses, corpora or where runs are written.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from residuum.core import entries, files, schema
from residuum.core.errors import ResiduumError
from residuum.core.seeds import derive
from residuum.neural import devices

if TYPE_CHECKING:
    from torch import Tensor

Kind = Literal["query", "doc"]
SETTINGS = "residuum.json"
TEXTS_AT_ONCE = 4096  # tokenised together; bounds the memory that lists of Python integers take
DROPOUTS = ("hidden_dropout_prob", "attention_probs_dropout_prob", "dropout", "attention_dropout")


class Encoder:
    """One shared encoder for queries and docs (CLEAR Eq. 2-4).

    The inner product of an encoded query and an encoded doc is s_emb: both vectors carry
    the square root of the settings' score_scale.
    """

    def __init__(
        self, model: Any, tokenizer: Any, settings: schema.Encoder, device: devices.Device
    ) -> None:
        self.model = model.to(device.name)
        self.tokenizer, self.settings, self.device = tokenizer, settings, device

    @classmethod
    def load(cls, folder: Path, device: devices.Device) -> Encoder:
        """Load a checkpoint that `save` wrote; its settings are checked."""
        path = Path(folder) / SETTINGS
        if not path.is_file():
            raise ResiduumError(
                f"{folder}: no {SETTINGS}, so this is no checkpoint of residuum; "
                "`python -m residuum.train train` makes one from any Hugging Face model"
            )
        record = json.loads(files.read_bytes(path))
        try:
            settings = entries.validate(str(path), record, schema.Encoder)
        except ValueError as error:
            raise ResiduumError(str(error)) from None
        return cls.start(str(folder), None, settings, device)

    @classmethod
    def start(
        cls,
        name: str,
        revision: str | None,
        settings: schema.Encoder,
        device: devices.Device,
        dropout: float | None = None,
    ) -> Encoder:
        """Make an encoder from a Hugging Face directory or hub id.

        Markers that the tokenizer lacks become special tokens with new embeddings; weights
        that the model lacks are drawn from a fixed seed. `dropout` replaces the model's own.
        Raises ResiduumError if the model cannot be had or reads less than the lengths.
        """
        with _found(name, revision), devices.seeded(derive(0, "new-weights")):
            model, tokenizer = _from_pretrained(name, revision, dropout)
            _add_markers(model, tokenizer, settings)
        _check_lengths(name, model.config, settings)
        return cls(model, tokenizer, settings, device)

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        return int(self.model.config.hidden_size)

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
        ids, mask = self._padded(tokens)
        with self.device.autocast():
            hidden = self.model(input_ids=ids, attention_mask=mask).last_hidden_state
        pooled = pool(hidden.float(), mask, self.settings.pooling)
        return pooled * math.sqrt(self.settings.score_scale)

    def _padded(self, tokens: Sequence[np.ndarray]) -> tuple[Tensor, Tensor]:
        import torch

        lengths = np.array([len(row) for row in tokens])
        mask = np.arange(lengths.max()) < lengths[:, None]
        ids = np.full(mask.shape, self.tokenizer.pad_token_id or 0, dtype=np.int64)
        ids[mask] = np.concatenate(tokens)
        to = self.device.name
        return torch.from_numpy(ids).to(to), torch.from_numpy(mask.astype(np.int64)).to(to)

    def encode(self, texts: Sequence[str], kind: Kind, batch_size: int) -> np.ndarray:
        """Return float32 vectors (texts, dimensions) in the order of the texts.

        Batches hold texts of about one length, so that little of the work is padding.
        """
        import torch

        tokens = self.tokenise(texts, kind)
        order = sorted(range(len(tokens)), key=lambda i: (len(tokens[i]), i))
        vectors = np.empty((len(tokens), self.dimensions), dtype=np.float32)
        self.model.eval()
        with torch.inference_mode():
            for first in range(0, len(order), batch_size):
                batch = order[first : first + batch_size]
                vectors[batch] = self.forward([tokens[i] for i in batch]).cpu().numpy()
        return vectors

    def save(self, folder: Path) -> None:
        """Write the checkpoint into a folder: Hugging Face files, settings, pooling, prompts."""
        backend = getattr(self.tokenizer, "backend_tokenizer", None)
        if backend is not None:
            backend.no_truncation()  # else the last call's length is written to tokenizer.json
        self.model.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)
        _write_json(folder / SETTINGS, self.settings.model_dump(mode="json"))
        for name, content in _sentence_transformers(self.settings, self.dimensions).items():
            _write_json(folder / name, content)


def pool(hidden: Tensor, mask: Tensor, pooling: str) -> Tensor:
    """Pool token vectors (texts, tokens, dimensions) into (texts, dimensions).

    `mean` averages over the tokens that `mask` (texts, tokens) marks with 1 (CLEAR Eq. 2-3),
    `cls` takes the first token.
    """
    if pooling == "cls":
        return hidden[:, 0]
    weights = mask.unsqueeze(-1).to(hidden.dtype)
    return (hidden * weights).sum(dim=1) / weights.sum(dim=1)


@contextmanager
def _found(name: str, revision: str | None) -> Iterator[None]:
    """Turn Hugging Face's complaint about a model that cannot be had into ours."""
    try:
        yield
    except (OSError, ValueError) as error:
        reason = str(error).strip().splitlines()[0]
        if Path(name).is_dir():
            raise ResiduumError(f"{name}: not a Hugging Face model directory: {reason}") from None
        at = f" at revision {revision}" if revision else ""
        raise ResiduumError(
            f"no model '{name}'{at}: it is no folder here, it is not in the Hugging Face cache "
            f"($HF_HOME), and the hub did not give it ({reason}). Without a network, put it into "
            "the cache beforehand or name a folder with `--config encoder=PATH`."
        ) from None


def _from_pretrained(name: str, revision: str | None, dropout: float | None) -> tuple[Any, Any]:
    import torch
    from transformers import AutoConfig, AutoModel, AutoTokenizer

    devices.quiet()
    where = {"revision": revision} if revision else {}
    config = AutoConfig.from_pretrained(name, **where)
    for key in DROPOUTS:
        if dropout is not None and hasattr(config, key):
            setattr(config, key, dropout)
    model = AutoModel.from_pretrained(name, config=config, dtype=torch.float32, **where)
    return model, AutoTokenizer.from_pretrained(name, **where)


def _add_markers(model: Any, tokenizer: Any, settings: schema.Encoder) -> None:
    markers = [settings.query_marker, settings.doc_marker]
    tokenizer.add_tokens([marker for marker in markers if marker], special_tokens=True)
    if len(tokenizer) > model.get_input_embeddings().num_embeddings:
        model.resize_token_embeddings(len(tokenizer), mean_resizing=False)


def _check_lengths(name: str, config: Any, settings: schema.Encoder) -> None:
    limit = getattr(config, "max_position_embeddings", None)
    for key in ("query_length", "doc_length"):
        length = getattr(settings, key)
        if limit is not None and length > limit:
            raise ResiduumError(
                f"encoder.{key} is {length}, but {name} reads at most {limit} tokens"
            )


def _sentence_transformers(settings: schema.Encoder, dimensions: int) -> dict[str, Any]:
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


def _write_json(path: Path, content: Any) -> None:
    files.write_text(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")
