"""Cross-encoders: one BERT reads a query and a doc together and gives a score.

Usage: `model = CrossEncoder.load(folder, device)`, then `model.score(pairs, batch_size=64)`.
`model.tokenise` cuts each text into tokens once, not once per pair.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from residuum.cli.errors import ResiduumError
from residuum.config.schema.encoder import TextKind
from residuum.config.schema.models import CrossEncoder as CrossEncoderSchema
from residuum.config.schema.reading import Reading, Windows
from residuum.neural import devices, layers, packing, padding, pretrained
from residuum.neural.batches import Batch
from residuum.neural.heads import mean
from residuum.neural.learners import (
    ContrastiveLearner,
    Outputs,
    Ranker,
    ScorePairs,
    Start,
    of_own_docs,
)
from residuum.neural.losses import Candidates
from residuum.neural.pretrained import Source
from residuum.neural.tokens import Cut, passages, tokenise

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

    from residuum.neural.packing import Packed

LEAST = 8  # tokens of a passage
SHARING = 32  # most pairs that share a room of tokens on a CPU
SPECIALS = 3  # [CLS] query [SEP] doc [SEP]
STEP = 8  # widths of batches are multiples of 8: few shapes, little padding


class Pair(NamedTuple):
    """Token ids of a query and of a doc, without special tokens."""

    query: np.ndarray
    doc: np.ndarray


class CrossEncoder(Ranker):
    """A classifier over [CLS] query [SEP] doc [SEP] (Nogueira and Cho 2019, section 3).

    With pooling `cls` the model is AutoModelForSequenceClassification. transformers has no class
    for BERT with pooling `mean`: the model is an AutoModel and a linear layer, which
    sentence-transformers reads.
    """

    schema, unit, remedy = Reading, "pairs", "reading.length"
    settings: Reading

    def __init__(self, source: Source, settings: Reading, device: devices.Device) -> None:
        self.hold(*self._read(source, settings), settings, device)
        marks = (self.tokenizer.cls_token_id, self.tokenizer.sep_token_id)
        self._cls, self._sep = (np.array([-1 if m is None else m], dtype=np.int32) for m in marks)
        query, length = settings.query_length, settings.length
        pretrained.check_length(self.model, "reading.length", length)
        if query + SPECIALS >= length:
            raise ResiduumError(
                f"reading.query_length {query} leaves no room for a doc in reading.length {length}"
            )
        joined = self.tokenizer("a", "b")
        if joined["input_ids"] != self.join(Pair(*self.tokenise(["a", "b"], "doc"))).tolist():
            raise ResiduumError(
                f"{source.name} does not read a pair as [CLS] query [SEP] doc [SEP]"
            )
        types = getattr(self.model.config, "type_vocab_size", 0)
        self.typed = "token_type_ids" in joined and types > 1

    def _read(self, source: Source, settings: Reading) -> pretrained.Loaded:
        """Return model and tokenizer. A new model has one label; a released one may have two."""
        from torch.nn import Linear
        from transformers import AutoModel, AutoModelForSequenceClassification

        if settings.pooling == "mean":
            if source.released:
                raise ResiduumError(f"{source.name}: a released reranker has pooling cls")
            backbone, tokenizer = pretrained.load(AutoModel, source)
            made = {"linear": lambda: Linear(backbone.config.hidden_size, 1)}
            return layers.behind(backbone, source.name, made), tokenizer
        labels: dict[str, Any] = {} if source.released else {"num_labels": 1}
        model, tokenizer = pretrained.load(AutoModelForSequenceClassification, source, **labels)
        if (count := model.config.num_labels) not in (1, 2):
            raise ResiduumError(f"{source.name} gives {count} labels; a reranker has one or two")
        return model, tokenizer

    @property
    def sharing(self) -> tuple[int, int] | None:
        # A mean over tokens would depend on the width of the longest pair in a room.
        return (self.settings.length, SHARING) if self.settings.pooling == "cls" else None

    def exact(self) -> Collection[Module]:
        """Return the last linear layer, which would round the score to eight bits in bf16."""
        from torch.nn import Linear

        return [part for part in self.model.modules() if isinstance(part, Linear)][-1:]

    def tokenise(self, texts: Iterable[str], kind: TextKind) -> Iterator[np.ndarray]:
        """Yield each text's token ids without special tokens, cut to what a pair can hold."""
        settings = self.settings
        length = settings.query_length if kind == "query" else settings.length - SPECIALS
        return tokenise(self.tokenizer, texts, length, special=False)

    def cut(self, windows: Windows | None) -> Cut:
        """Return the function that cuts a doc's record into texts: its text, or its passages."""
        reading = self.settings
        if windows is None or reading.docs == "cut":
            return lambda record: [record["text"]]
        room = reading.length - SPECIALS - reading.query_length
        if room < LEAST:
            raise ResiduumError(
                f"reading.length {reading.length} leaves {room} tokens of a doc's passage beside a "
                f"query of reading.query_length {reading.query_length}; give {LEAST} at least"
            )
        return lambda record: passages(record, windows, self.tokenizer, room)

    def join(self, pair: Pair) -> np.ndarray:
        """Return the token ids of a pair with special tokens; cut the doc to `reading.length`."""
        room = self.settings.length - SPECIALS - len(pair.query)
        return np.concatenate([self._cls, pair.query, self._sep, pair.doc[:room], self._sep])

    def lengths(self, queries: np.ndarray, docs: np.ndarray) -> np.ndarray:
        """Return pairs' numbers of tokens, given their queries' and docs': integers (pairs,)."""
        return np.asarray(np.minimum(queries + docs + SPECIALS, self.settings.length))

    def forward(self, pairs: Sequence[Pair], width: int = 0) -> Tensor:
        """Return the scores of pairs: float32 (pairs,), with gradient.

        Pairs are padded to `width` tokens, or to the longest pair. With two labels the score is the
        logarithm of the odds: the logit of "relevant" minus the logit of "not relevant".
        """
        rows = [self.join(pair) for pair in pairs]
        given, mask = self.inputs.arguments(rows, width)
        if self.typed:
            docs = np.array([len(pair.query) + 2 for pair in pairs])
            given["token_type_ids"] = self._types(rows, docs, mask, given.get("packed"))
        with self.computing():
            if self.settings.pooling == "cls":
                logits: Tensor = self.model(**given).logits.float()
            else:
                hidden = self.backbone(**given).last_hidden_state.float()
                logits = self.model["linear"](mean(hidden, mask))
        return logits[:, 0] if logits.shape[1] == 1 else logits[:, 1] - logits[:, 0]

    def _types(
        self, rows: Sequence[np.ndarray], docs: np.ndarray, mask: Tensor, packed: Packed | None
    ) -> Tensor:
        """Return 1 for tokens of a doc, which begins at `docs[i]` of row i, and 0 for others."""
        if packed:
            each = [np.arange(len(row)) >= first for row, first in zip(rows, docs, strict=True)]
            return self.inputs.side_by_side(each, 0, packed)
        in_doc = np.arange(mask.shape[1]) >= docs[:, None]
        return mask * devices.put(in_doc.astype(np.int64), self.device.name)

    def score(self, pairs: Sequence[Pair], batch_size: int) -> np.ndarray:
        """Return float32 scores (pairs,) in the order of the pairs.

        On a CPU the other pairs of a batch change no bit of a pair's score. A wide model reads
        pairs in rooms of one shape. For a narrow model the pair's own length decides the shape of
        its batch, and repeats fill a short batch. On a GPU the last digits may depend on the other
        pairs.
        """
        import torch

        sizes = [(len(pair.query), len(pair.doc)) for pair in pairs]
        lengths = self.lengths(*np.array(sizes, dtype=np.int64).reshape(-1, 2).T)
        scores = np.empty(len(pairs), dtype=np.float32)

        def keep(batch: Sequence[int], made: np.ndarray) -> None:
            scores[batch] = made[: len(batch)]

        self.model.eval()
        with torch.inference_mode(), self.keeping() as put:
            for some, size, width in self._batches(lengths, batch_size):

                def score(batch: Sequence[int], rows: int, width: int = width) -> None:
                    full = np.resize(batch, rows) if width else batch
                    made = self.forward([pairs[i] for i in full], width)
                    put(keep, batch, devices.arriving(made))

                self.sizes.each(some, size, score)
        return scores

    def asked(self, queries: Sequence[np.ndarray], batch_size: int) -> ScorePairs:
        """Return a function that scores docs for queries; see `ScorePairs`."""

        def scores(
            docs: Sequence[Sequence[np.ndarray]], query: np.ndarray, doc: np.ndarray
        ) -> np.ndarray:
            numbers = list(zip(query.tolist(), doc.tolist(), strict=True))
            pairs = [Pair(queries[q], passage) for q, d in numbers for passage in docs[d]]
            counts = np.array([len(docs[d]) for _, d in numbers])
            return np.maximum.reduceat(self.score(pairs, batch_size), np.cumsum(counts) - counts)

        return scores

    def _batches(
        self, lengths: np.ndarray, batch_size: int
    ) -> Iterator[tuple[Sequence[int], int, int]]:
        """Yield batches: pair numbers, how many pairs to compute at once, and the width in tokens.

        With width 0, the longest pair sets the width, and a short batch is not filled.
        """
        limit, each = self.settings.length, lengths.tolist()
        if self.inputs.room:
            for some in packing.packs(each, self.inputs.room, SHARING):
                yield some, len(some), 0
            return
        if self.at_once is not None:
            order = np.argsort(lengths, kind="stable").tolist()
            yield from ((*both, 0) for both in self.batches(order, each, batch_size, limit))
            return
        hidden = self.model.config.hidden_size
        for numbers, width in padding.by_width(lengths, STEP, limit):
            yield numbers, devices.busy(batch_size, width, hidden), width

    def relevance(
        self,
        queries: Mapping[str, str],
        docs: Mapping[str, str],
        pairs: Sequence[tuple[str, str]],
        batch_size: int,
    ) -> np.ndarray:
        query_tokens = dict(zip(queries, self.tokenise(queries.values(), "query"), strict=True))
        doc_tokens = dict(zip(docs, self.tokenise(docs.values(), "doc"), strict=True))
        read = [Pair(query_tokens[query], doc_tokens[doc]) for query, doc in pairs]
        return self.score(read, batch_size)

    def save(self, folder: Path) -> None:
        """Write the checkpoint into a folder. With mean pooling, write the linear layer too."""
        self.tokenizer.model_max_length = self.settings.length
        if self.settings.pooling == "cls":  # a model of one label would apply the sigmoid
            self.model.config.sentence_transformers = {"activation_fn": layers.IDENTITY}
        super().save(folder)
        if self.settings.pooling == "mean":
            layers.save(self.model, folder)

    def records(self) -> dict[str, object]:
        """Return the files by which sentence-transformers 6 reads a model with mean pooling."""
        if self.settings.pooling == "cls":
            return {}
        dimensions = self.model["linear"].in_features
        types = {
            "": "sentence_transformers.base.modules.transformer.Transformer",
            "1_Pooling": "sentence_transformers.sentence_transformer.modules.pooling.Pooling",
            "2_Dense": "sentence_transformers.base.modules.dense.Dense",
        }
        return {
            "modules.json": pretrained.modules(types),
            "1_Pooling/config.json": {"embedding_dimension": dimensions, "pooling_mode": "mean"},
            "2_Dense/config.json": {**layers.dense(dimensions, 1), "module_output_name": "scores"},
            "sentence_bert_config.json": {"max_seq_length": self.settings.length},
            "config_sentence_transformers.json": {
                "model_type": "CrossEncoder",
                "activation_fn": layers.IDENTITY,
            },
        }


def _tokens(pair: Pair) -> int:
    return len(pair.query) + len(pair.doc)


class CrossLearner(ContrastiveLearner):
    """A cross-encoder in training; its output is the score of each query with each of its docs."""

    encoder: CrossEncoder

    @classmethod
    def begin(cls, spec: CrossEncoderSchema, start: Start) -> CrossEncoder:
        return CrossEncoder(start.source, spec.reading, start.device)

    def forward(self, batch: Batch) -> Outputs:
        """Return the scores (rows, 1 + negatives) of each query's docs, the positive first."""
        docs_by_query = batch.docs_by_query
        rows = [row for row, docs in enumerate(docs_by_query) for _ in docs]
        queries = self.queries.tokens([batch.query_ids[row] for row in rows])
        docs = self.tokens_of(batch, rows, [doc for docs in docs_by_query for doc in docs])
        pairs = list(map(Pair, queries, docs))
        scores = padding.by_length(pairs, self.encoder.forward, self.model, _tokens)
        return [scores.view(len(docs_by_query), -1)]

    def candidates(self, batch: Batch, outputs: Outputs, rows: slice) -> Candidates:
        return of_own_docs(outputs[0], batch)

    def indifferent(self, batch: Batch) -> Outputs:
        import torch

        return [torch.zeros(len(batch.query_ids), 1 + self.drawn)]
