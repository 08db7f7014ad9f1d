"""Encoders that give each token a vector, of queries and docs: late interaction (ColBERT).

Usage: as any encoder's, with `pooling: tokens`. A text's vectors follow one another, and
vectors/scores.py scores them. Source: Khattab and Zaharia 2020, sections 3.2 and 3.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from residuum.cli.errors import ResiduumError
from residuum.config.schema.encoder import Encoder as EncoderSchema
from residuum.config.schema.encoder import TextKind
from residuum.neural import devices, layers, pretrained
from residuum.neural.encoders import Encoder
from residuum.neural.heads import Tokens

if TYPE_CHECKING:
    from torch import Tensor


class LateEncoder(Encoder):
    """An encoder that gives each token a vector, but not the doc's tokens that are skipped.

    [MASK] tokens lengthen a query that has fewer tokens than `expanded`.
    """

    head: Tokens

    def __init__(
        self, source: pretrained.Source, settings: EncoderSchema, device: devices.Device
    ) -> None:
        super().__init__(source, settings, device)
        tokenizer, self.expanded = self.tokenizer, self.head.expanded or 0
        if self.expanded > settings.query_length:
            read = f"only {settings.query_length} of its tokens are read"
            raise ResiduumError(
                f"encoder.pooling.expanded: {self.expanded} tokens of a query, but {read}. Give "
                "fewer, or a larger query_length"
            )
        if self.expanded and tokenizer.mask_token_id is None:
            raise ResiduumError(
                f"{source.name}: its tokenizer has no [MASK], which lengthens queries. Leave out "
                "encoder.pooling.expanded"
            )
        self.mask = tokenizer.mask_token_id
        ids = tokenizer.convert_tokens_to_ids(self.head.words)
        unknown = tokenizer.unk_token_id  # of a word that is no token
        named = zip(self.head.words, ids, strict=True)
        kept = {n for word, n in named if n != unknown or word == tokenizer.unk_token}
        self.skipped = np.array(sorted(kept), dtype=np.int32)

    def tokenise(self, texts: Iterable[str], kind: TextKind) -> Iterator[np.ndarray]:
        """Yield each text's token ids, cut to the kind's length; a query's with its [MASK]."""
        for row in super().tokenise(texts, kind):
            lacking = self.expanded - len(row) if kind == "query" else 0
            yield np.pad(row, (0, max(0, lacking)), constant_values=self.mask or 0)

    def counts(self, tokens: Sequence[np.ndarray], kind: TextKind) -> np.ndarray:
        return np.array([len(self._places(row, kind)) for row in tokens], dtype=np.int64)

    def _places(self, row: np.ndarray, kind: TextKind) -> np.ndarray:
        """Return the places of the tokens that have a vector: of a doc, one at least."""
        if kind == "query":
            return np.arange(len(row))
        places = np.flatnonzero(~np.isin(row, self.skipped))
        return places if len(places) else np.arange(1)

    def forward(self, tokens: Sequence[np.ndarray], kind: TextKind) -> Tensor:
        each = [self._places(row, kind) for row in tokens]
        most = max(map(len, tokens if self.apart else each))
        rows = np.zeros((len(each), most), dtype=np.int64)
        for row, places in zip(rows, each, strict=True):
            row[: len(places)] = places
        if kind == "query" and self.expanded and not self.head.attended:
            states = self._unattended(tokens)
        else:
            states, _ = self.states(tokens)
        chosen = devices.put(rows, self.device.name)
        kept = states.take_along_dim(chosen[:, :, None], dim=1)
        return self.pooled(kept, chosen, kind)

    def _unattended(self, tokens: Sequence[np.ndarray]) -> Tensor:
        """Return the states of queries whose [MASK] no token attends to.

        On a CPU a query is read alone: no digit depends on the queries beside it.
        """
        import torch

        parts = [tokens] if self.device.name != "cpu" else [[row] for row in tokens]
        width, made = max(map(len, tokens)), []
        with self.computing():
            for part in parts:
                given = self.inputs.attending(part, [self._own(row) for row in part])
                states = self.backbone(**given).last_hidden_state
                made.append(torch.nn.functional.pad(states, (0, 0, 0, width - states.shape[1])))
        return torch.cat(made)

    def _own(self, row: np.ndarray) -> int:
        """Return how many tokens a query has before the [MASK] tokens that lengthen it."""
        others = np.flatnonzero(row != self.mask)
        return int(others[-1]) + 1 if len(others) else len(row)

    def records(self) -> dict[str, object]:
        """Return files by which sentence-transformers (6 and later) reads a MultiVectorEncoder."""
        settings, package = self.settings, "sentence_transformers"
        if settings.truncate:
            return {}  # which it does not do
        at_tokens = {"module_input_name": "token_embeddings"}
        types = {"": f"{package}.base.modules.transformer.Transformer"}
        files: dict[str, object] = {}
        if settings.dimensions:
            types[layers.FOLDERS["linear"]] = f"{package}.base.modules.dense.Dense"
            hidden = int(self.model.config.hidden_size)
            activation = layers.TANH if settings.activation else layers.IDENTITY
            form = layers.dense(hidden, settings.dimensions, activation)
            files[f"{layers.FOLDERS['linear']}/config.json"] = {**form, **at_tokens}
        mask = f"{package}.multi_vector_encoder.modules.multi_vector_mask.MultiVectorMask"
        types["3_MultiVectorMask"] = mask
        files["3_MultiVectorMask/config.json"] = {"skiplist_words": self.head.words}
        if settings.normalise:
            types["4_Normalize"] = f"{package}.base.modules.normalize.Normalize"
            files["4_Normalize/config.json"] = at_tokens
        expansion: Any = {
            "strategy": "min",
            "attend": self.head.attended,
            "length": self.head.expanded,
        }
        return {
            "modules.json": pretrained.modules(types),
            **files,
            "sentence_bert_config.json": {
                "query_length": settings.query_length,
                "document_length": settings.doc_length,
                "query_expansion": expansion if self.head.expanded else None,
            },
            "config_sentence_transformers.json": {
                "model_type": "MultiVectorEncoder",
                "prompts": {"query": self.leads["query"], "document": self.leads["doc"]},
                "default_prompt_name": None,
                "similarity_fn_name": "maxsim",
            },
        }
