"""Cross-encoders: one BERT reads a query and a doc together and gives a score.

Usage: `model = CrossEncoder.load(folder, device)`, then `model.score(pairs, batch_size=64)` of
pairs whose texts `model.tokenise` has cut into tokens, once per text and not once per pair.
Must not know losses, corpora, runs or depths.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from residuum.cli.errors import ResiduumError
from residuum.config.schema.models import Reading
from residuum.config.specs import derive
from residuum.neural import devices, pretrained
from residuum.neural.adaptive import AdaptiveBatchSize, busy
from residuum.neural.encoders import TEXTS_AT_ONCE
from residuum.neural.heads import Kind, mean

if TYPE_CHECKING:
    from torch import Tensor

SPECIALS = 3  # [CLS] query [SEP] doc [SEP]
STEP = 8  # widths of batches are multiples of it: few shapes, little padding
HEAD = Path("2_Dense", pretrained.WEIGHTS)
IDENTITY = "torch.nn.modules.linear.Identity"  # sentence-transformers would squash one label


class Pair(NamedTuple):
    """Token ids of a query and of a doc, without special tokens."""

    query: np.ndarray
    doc: np.ndarray


class CrossEncoder:
    """A classifier over [CLS] query [SEP] doc [SEP] (Nogueira and Cho 2019, section 3).

    With pooling `cls` the model is AutoModelForSequenceClassification. With `mean` no such class
    exists for BERT: it is an AutoModel and a linear layer, which sentence-transformers reads.
    """

    def __init__(
        self, model: Any, tokenizer: Any, reading: Reading, device: devices.Device
    ) -> None:
        self.model = model.to(device.name)
        self.tokenizer, self.reading, self.device = tokenizer, reading, device
        self.sizes = AdaptiveBatchSize("pairs", "reading.length")
        marks = (tokenizer.cls_token_id, tokenizer.sep_token_id)
        self._first, self._last = (_alone(mark) for mark in marks)
        if device.precision != "fp32":
            _head_in_float32(model, device.name)

    @classmethod
    def load(cls, folder: Path, device: devices.Device) -> CrossEncoder:
        """Load a checkpoint that `save` wrote; its settings are checked."""
        reading = pretrained.read_settings(folder, Reading)
        return cls.start(str(folder), None, reading, device)

    @classmethod
    def start(
        cls,
        name: str,
        revision: str | None,
        reading: Reading,
        device: devices.Device,
        dropout: float | None = None,
    ) -> CrossEncoder:
        """Make a cross-encoder of one label from a Hugging Face directory or hub id.

        A head that is not there is drawn from a fixed seed. Raises ResiduumError if the model
        cannot be had, reads less than the lengths, or does not read pairs as BERT does.
        """
        from transformers import AutoModel, AutoModelForSequenceClassification

        if reading.pooling == "cls":
            head = AutoModelForSequenceClassification
            model, tokenizer = pretrained.load(head, name, revision, dropout, num_labels=1)
        else:
            backbone, tokenizer = pretrained.load(AutoModel, name, revision, dropout)
            model = _with_linear(backbone, Path(name) / HEAD)
        return cls(model, tokenizer, reading, device)._checked(name)

    @classmethod
    def released(
        cls, name: str, revision: str | None, reading: Reading, device: devices.Device
    ) -> CrossEncoder:
        """Load somebody else's reranker, of one label or of two: not relevant, relevant."""
        from transformers import AutoModelForSequenceClassification

        head = AutoModelForSequenceClassification
        model, tokenizer = pretrained.load(head, name, revision, whole=True)
        if model.config.num_labels not in (1, 2):
            raise ResiduumError(
                f"{name} gives {model.config.num_labels} labels; a reranker has one or two"
            )
        if reading.pooling != "cls":
            raise ResiduumError(f"{name}: a released reranker has pooling cls, as its class says")
        return cls(model, tokenizer, reading, device)._checked(name)

    def _checked(self, name: str) -> CrossEncoder:
        reading = self.reading
        pretrained.check_length(name, self.model.config, "reading.length", reading.length)
        if reading.query_length + SPECIALS >= reading.length:
            raise ResiduumError(
                f"reading.query_length {reading.query_length} leaves no room for a doc in "
                f"reading.length {reading.length}"
            )
        one, other = self.tokenise(["a", "b"], "doc")
        if self.tokenizer("a", "b")["input_ids"] != self.join(Pair(one, other)).tolist():
            raise ResiduumError(f"{name} does not read a pair as [CLS] query [SEP] doc [SEP]")
        types = getattr(self.model.config, "type_vocab_size", 0)
        self.typed = "token_type_ids" in self.tokenizer("a", "b") and types > 1
        return self

    def tokenise(self, texts: Sequence[str], kind: Kind) -> list[np.ndarray]:
        """Return each text's token ids without special ones, cut to what a pair can hold of it."""
        query, whole = self.reading.query_length, self.reading.length - SPECIALS
        cut = {"truncation": True, "max_length": query if kind == "query" else whole}
        tokens: list[np.ndarray] = []
        for first in range(0, len(texts), TEXTS_AT_ONCE):
            some = list(texts[first : first + TEXTS_AT_ONCE])
            ids = self.tokenizer(some, add_special_tokens=False, verbose=False, **cut)["input_ids"]
            tokens += [np.array(row, dtype=np.int32) for row in ids]
        return tokens

    def join(self, pair: Pair) -> np.ndarray:
        """Return the token ids of a pair, special ones included, its doc cut to the length."""
        room = self.reading.length - SPECIALS - len(pair.query)
        return np.concatenate([self._first, pair.query, self._last, pair.doc[:room], self._last])

    def lengths(self, queries: np.ndarray, docs: np.ndarray) -> np.ndarray:
        """Return how many tokens pairs have whose texts have so many: integers (pairs,)."""
        return np.minimum(queries + docs + SPECIALS, self.reading.length)

    def forward(self, pairs: Sequence[Pair], width: int = 0) -> Tensor:
        """Return the scores of pairs: float32 (pairs,), with gradient.

        Pairs are padded to `width` tokens, or to the longest. Of two labels the score is the
        logarithm of the odds: the logit of "relevant" minus that of "not relevant".
        """
        rows = [self.join(pair) for pair in pairs]
        width = width or max(map(len, rows))
        logits = self._logits(*self._arrays(rows, [len(pair.query) for pair in pairs], width))
        return logits[:, 0] if logits.shape[1] == 1 else logits[:, 1] - logits[:, 0]

    def _arrays(
        self, rows: list[np.ndarray], queries: Sequence[int], width: int
    ) -> tuple[Tensor, ...]:
        """Return ids, mask and token types: integers (pairs, width)."""
        places = np.arange(width)
        mask = places < np.array([len(row) for row in rows])[:, None]
        ids = np.full(mask.shape, self.tokenizer.pad_token_id or 0, dtype=np.int64)
        ids[mask] = np.concatenate(rows)
        types = mask & (places >= np.array(queries)[:, None] + 2)
        arrays = (ids, mask.astype(np.int64), types.astype(np.int64))
        return tuple(devices.put(array, self.device.name) for array in arrays)

    def _logits(self, ids: Tensor, mask: Tensor, types: Tensor) -> Tensor:
        inputs = {"input_ids": ids, "attention_mask": mask}
        if self.typed:
            inputs["token_type_ids"] = types
        with self.device.autocast():
            if self.reading.pooling == "cls":
                return self.model(**inputs).logits.float()
            hidden = self.model["backbone"](**inputs).last_hidden_state.float()
            return self.model["linear"](mean(hidden, mask))

    def score(self, pairs: Sequence[Pair], batch_size: int) -> np.ndarray:
        """Return float32 scores (pairs,) in the order of the pairs.

        A pair's score is the same to the last bit whatever stands beside it, because the shape
        of its batch follows from its own length: a short batch is filled with repeats, and on a
        CPU a batch is no larger than keeps it `busy`. On a GPU this holds for batches of one size:
        where memory ends it is halved, as `sizes` knows.
        """
        import torch

        sizes = [(len(pair.query), len(pair.doc)) for pair in pairs]
        widths = self._widths(self.lengths(*np.array(sizes, dtype=np.int64).reshape(-1, 2).T))
        scores = np.empty(len(pairs), dtype=np.float32)
        self.model.eval()
        with torch.inference_mode():
            for width in np.unique(widths):

                def score(batch: np.ndarray, size: int, width: int = abs(width)) -> None:
                    full = [pairs[i] for i in np.resize(batch, size)]
                    scores[batch] = self.forward(full, width)[: len(batch)].cpu().numpy()

                hidden = self.model.config.hidden_size
                size = busy(batch_size, abs(int(width)), hidden, self.device.name)
                self.sizes.each(np.flatnonzero(widths == width), size, score)
        return scores

    def _widths(self, lengths: np.ndarray) -> np.ndarray:
        """Return the width of each pair's batch; below 0 where a pair fills it to the end.

        transformers leaves out a mask without a zero and then computes in another way, so that
        the rows of a batch must either all have padding or all have none.
        """
        limit = self.reading.length
        widths = np.minimum((lengths // STEP + 1) * STEP, limit)
        return np.where(lengths < limit, widths, -limit)

    def save(self, folder: Path) -> None:
        """Write the checkpoint into a folder: Hugging Face files and settings."""
        self.tokenizer.model_max_length = self.reading.length
        if self.reading.pooling == "cls":
            self.model.config.sentence_transformers = {"activation_fn": IDENTITY}
            pretrained.save(self.model, self.tokenizer, folder)
        else:
            _save_parts(self.model, self.tokenizer, folder, self.reading.length)
        pretrained.write_settings(folder, self.reading)


def _alone(mark: int | None) -> np.ndarray:
    return np.array([-1 if mark is None else mark], dtype=np.int32)


def _with_linear(backbone: Any, saved: Path) -> Any:
    """Join a model and a linear layer to one label, the saved one if there is one."""
    import torch
    from safetensors.torch import load_file

    with devices.seeded(derive(0, "new-weights")):
        linear = torch.nn.Linear(backbone.config.hidden_size, 1)
    if saved.is_file():
        found = load_file(saved).items()
        linear.load_state_dict({name.removeprefix("linear."): value for name, value in found})
    model = torch.nn.ModuleDict({"backbone": backbone, "linear": linear})
    model.config = backbone.config
    return model


def _head_in_float32(model: Any, device: str) -> None:
    """Let the last layer compute in float32: a score of bf16 has eight bits, and many ties."""
    import torch

    last = [part for part in model.modules() if isinstance(part, torch.nn.Linear)][-1]
    half = last.forward

    def forward(values: Tensor) -> Tensor:
        with torch.autocast(device, enabled=False):
            return half(values.float())

    last.forward = forward


def _save_parts(model: Any, tokenizer: Any, folder: Path, length: int) -> None:
    """Write a model with mean pooling, in the parts that sentence-transformers 6 reads."""
    from safetensors.torch import save_file

    pretrained.save(model["backbone"], tokenizer, folder)
    (folder / HEAD).parent.mkdir(exist_ok=True)
    state = model["linear"].state_dict().items()
    save_file({f"linear.{name}": value.contiguous() for name, value in state}, folder / HEAD)
    for name, content in _sentence_transformers(model["linear"].in_features, length).items():
        pretrained.write_json(folder / name, content)


def _sentence_transformers(dimensions: int, length: int) -> dict[str, Any]:
    types = {
        "": "sentence_transformers.base.modules.transformer.Transformer",
        "1_Pooling": "sentence_transformers.sentence_transformer.modules.pooling.Pooling",
        "2_Dense": "sentence_transformers.base.modules.dense.Dense",
    }
    return {
        "modules.json": [
            {"idx": i, "name": str(i), "path": path, "type": kind}
            for i, (path, kind) in enumerate(types.items())
        ],
        "1_Pooling/config.json": {"embedding_dimension": dimensions, "pooling_mode": "mean"},
        "2_Dense/config.json": {
            "in_features": dimensions,
            "out_features": 1,
            "bias": True,
            "activation_function": IDENTITY,
            "module_output_name": "scores",
        },
        "sentence_bert_config.json": {"max_seq_length": length},
        "config_sentence_transformers.json": {
            "model_type": "CrossEncoder",
            "activation_fn": IDENTITY,
        },
    }
