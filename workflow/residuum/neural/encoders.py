"""Encoders: how text becomes vectors.

Usage: `vectors = Encoder.load(folder, device).encode(texts, "doc", batch_size=64)`. AutoModel and
sentence-transformers load a checkpoint too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast, get_args

import numpy as np

from residuum.artefacts import contracts, intact
from residuum.artefacts.streams import chunks
from residuum.cli.errors import ResiduumError
from residuum.cli.progress import track
from residuum.code.tables import OpenTable
from residuum.config.schema.encoder import Encoder as EncoderSchema
from residuum.config.schema.encoder import TextKind
from residuum.config.schema.reading import Windows
from residuum.neural import devices, layers, packing, pretrained
from residuum.neural.frames import begins_with_cls, set_cls
from residuum.neural.heads import FLAGS, HEADS
from residuum.neural.learners import Ranker
from residuum.neural.overlap import ahead
from residuum.neural.pretrained import Put
from residuum.neural.tokens import Cut, passages, tokenise

if TYPE_CHECKING:
    from scipy.sparse import csr_array
    from torch import Tensor
    from torch.nn import Module

    from residuum.vectors.scores import Vectors

    Rows = np.ndarray | csr_array  # of vectors, dense or sparse


TEXTS: tuple[TextKind, ...] = get_args(TextKind)


class Encoder(Ranker):
    """One shared encoder for queries and docs (CLEAR Eq. 2-4).

    The inner product of an encoded query and an encoded doc is s_emb: both vectors carry the square
    root of the settings' score_scale. A marker begins a text, and replaces [CLS] unless `keep_cls`
    is true. Markers that the tokenizer lacks become special tokens, with [CLS]'s embedding as their
    start.
    """

    schema, remedy = EncoderSchema, "encoder.doc_length"
    settings: EncoderSchema
    apart = False  # on a CPU, batches in which no digit of a text depends on the others

    def __init__(
        self, source: pretrained.Source, settings: EncoderSchema, device: devices.Device
    ) -> None:
        markers = (settings.query_marker, settings.doc_marker)
        model, tokenizer = pretrained.load(self.form(), source, markers)
        if model.config.is_encoder_decoder:
            raise ResiduumError(
                f"{source.name}: a {model.config.model_type} has an encoder and a decoder, and no "
                "states of a text alone. Name an encoder, such as a bert"
            )
        if settings.dimensions:
            model = _projected(model, source.name, settings.dimensions, settings.norm)
        width = settings.dimensions or int(model.config.hidden_size)
        if settings.truncate and settings.truncate > width:
            raise ResiduumError(
                f"{source.name}: the first {settings.truncate} dimensions are asked for, but its "
                f"vectors have {width}"
            )
        self.hold(model, tokenizer, settings, device)
        if not settings.keep_cls:
            self._take_cls_away()
        first = "" if settings.keep_cls else tokenizer.cls_token or ""
        self.leads = {kind: settings.lead(kind, first) for kind in TEXTS}
        self.head = HEADS[settings.pooling.kind].model_validate(settings.pooling)
        if (most := self.head.most("doc", settings.doc_length)) > settings.doc_length:
            read = f"only {settings.doc_length} of its tokens are read"
            raise ResiduumError(
                f"encoder.pooling: {most} vectors for a doc, but {read}. Give fewer, or a larger "
                "doc_length"
            )
        for key in ("query_length", "doc_length"):
            pretrained.check_length(self.model, f"encoder.{key}", getattr(settings, key))

    @classmethod
    def class_for(cls, settings: EncoderSchema) -> type[Self]:
        kind = settings.pooling.kind
        return cast(type[Self], ENCODERS[kind]) if kind in ENCODERS else cls

    @staticmethod
    def form() -> Any:
        """Return the class by which transformers reads the model."""
        from transformers import AutoModel

        return AutoModel

    def _take_cls_away(self) -> None:
        """Let the tokenizer put no [CLS] before a text, so that a marker is the first token."""
        set_cls(self.tokenizer, False)
        if begins_with_cls(self.tokenizer):
            raise ResiduumError(
                f"{self.model.config.name_or_path}: its tokenizer puts {self.tokenizer.cls_token} "
                "before every text. Give encoder.keep_cls: true"
            )

    @property
    def sharing(self) -> tuple[int, int] | None:
        return max(self.settings.query_length, self.settings.doc_length), 0

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        settings = self.settings
        return settings.truncate or settings.dimensions or int(self.model.config.hidden_size)

    @property
    def doc_room(self) -> int:
        """Most tokens of a doc's own text: doc_length without markers and special tokens."""
        empty = self.tokenizer(self.leads["doc"])["input_ids"]
        return self.settings.doc_length - len(empty)

    def cut(self, windows: Windows | None) -> Cut:
        if windows is None:
            return lambda record: [record["text"]]
        return lambda record: passages(record, windows, self.tokenizer, self.doc_room)

    def tokenise(self, texts: Iterable[str], kind: TextKind) -> Iterator[np.ndarray]:
        """Yield each text's token ids: marker prompt text [SEP], cut to the kind's length."""
        led = (f"{self.leads[kind]}{text}" for text in texts)
        return tokenise(self.tokenizer, led, self.length(kind))

    def length(self, kind: TextKind) -> int:
        """Return the most tokens that are read of a query or doc."""
        return self.settings.query_length if kind == "query" else self.settings.doc_length

    def counts(self, tokens: Sequence[np.ndarray], kind: TextKind) -> np.ndarray:
        """Return how many vectors tokenised texts get: integers (texts,)."""
        most = self.head.most(kind, self.length(kind))
        return np.minimum([len(row) for row in tokens], most).astype(np.int64)

    def forward(self, tokens: Sequence[np.ndarray], kind: TextKind) -> Tensor:
        """Return the vectors of tokenised texts: float32 (texts, most, dimensions), with gradient.

        Vectors beyond a text's `counts` mean nothing.
        """
        return self.pooled(*self.states(tokens), kind)

    def states(self, tokens: Sequence[np.ndarray]) -> tuple[Tensor, Tensor]:
        """Return the last layer's states (texts, tokens, hidden), and the mask of tokens."""
        given, mask = self.inputs.arguments(tokens)
        with self.computing():
            return self.backbone(**given).last_hidden_state, mask

    def both(
        self, queries: Sequence[np.ndarray], docs: Sequence[np.ndarray]
    ) -> tuple[Tensor, Tensor]:
        """Return the vectors of queries and of docs, as `forward` does, in one pass."""
        states, mask = self.states([*queries, *docs])
        number = len(queries)
        return (
            self.pooled(states[:number], mask[:number], "query"),
            self.pooled(states[number:], mask[number:], "doc"),
        )

    def pooled(self, states: Tensor, mask: Tensor, kind: TextKind) -> Tensor:
        """Return the vectors that `forward` returns, given the states and the mask of texts."""
        from torch.nn.functional import normalize

        vectors = self.head.pool(states.float(), mask, kind)
        settings = self.settings
        if settings.dimensions:
            vectors = self.model["linear"](vectors)
            vectors = self.model["norm"](vectors) if settings.norm else vectors
            vectors = vectors.tanh() if settings.activation else vectors
        if settings.truncate:
            vectors = vectors[..., : settings.truncate]
        if settings.normalise:
            vectors = normalize(vectors, dim=-1)
        return vectors * math.sqrt(self.settings.score_scale)

    def encode(self, texts: Sequence[str], kind: TextKind, batch_size: int) -> Rows:
        """Return float32 vectors (vectors, dimensions) in the order of the texts."""
        return self.vectors(texts, kind, batch_size)[0]

    def vectors(
        self, texts: Iterable[str], kind: TextKind, batch_size: int, total: int | None = None
    ) -> tuple[Rows, np.ndarray]:
        """Return all vectors of texts, and how many each text has: integers (texts,).

        A GPU gets the texts in parts; the next part is read and tokenised meanwhile. A CPU gets all
        texts at once. `total` is the number of texts, for the progress estimate.
        """
        return self.vectors_of(self.tokenise(texts, kind), kind, batch_size, total)

    def vectors_of(
        self,
        tokens: Iterable[np.ndarray],
        kind: TextKind,
        batch_size: int,
        total: int | None = None,
    ) -> tuple[Rows, np.ndarray]:
        """Return what `vectors` returns, given the tokens of the texts."""
        at_once = self.at_once
        parts: Iterable[list[np.ndarray]] = [list(tokens)] if at_once is None else []
        if at_once is not None:
            number = None if total is None else -(-total // at_once)
            parts = track(ahead(chunks(tokens, at_once)), f"encode {kind}", number, "parts")
        with self.keeping() as put:
            waiting = [self.of_tokens(part, kind, batch_size, put) for part in parts]
            waiting = waiting or [self.of_tokens([], kind, batch_size, put)]
        rows, counts = zip(*(made() for made in waiting), strict=True)
        return self.joined(rows), np.concatenate(counts)

    def joined(self, rows: Sequence[Rows]) -> Rows:
        """Join the vectors of several parts of texts."""
        return rows[0] if len(rows) == 1 else np.concatenate(rows)

    def of_tokens(
        self, tokens: Sequence[np.ndarray], kind: TextKind, batch_size: int, put: Put
    ) -> Callable[[], tuple[Rows, np.ndarray]]:
        """Start encoding; return a function that gives vectors and counts after `put` is done."""
        counts = self.counts(tokens, kind)
        starts = np.cumsum(counts) - counts
        rows = np.empty((counts.sum(), self.dimensions), dtype=np.float32)

        def keep(texts: Sequence[int], vectors: np.ndarray) -> None:
            number = np.arange(vectors.shape[1])
            held = number < counts[texts][:, None]
            rows[(starts[texts][:, None] + number)[held]] = vectors[held]

        self.each(tokens, kind, batch_size, partial(put, keep))
        return lambda: (rows, counts)

    def each(
        self,
        tokens: Sequence[np.ndarray],
        kind: TextKind,
        batch_size: int,
        put: Callable[[Sequence[int], Callable[[], np.ndarray]], None],
    ) -> None:
        """Call `put(numbers, values)` per batch; values() gives vectors (texts, most, dimensions).

        A batch holds texts of about one length, so that little is padding. A CPU takes as many
        texts as keep it `busy`. A GPU takes as many tokens as `batch_size` of the longest texts
        have, or fewer if `sizes` knows that memory ends earlier. A GPU computes the next batch
        while the last one is stored.
        """
        import torch

        order = sorted(range(len(tokens)), key=lambda i: (len(tokens[i]), i))
        lengths = [len(row) for row in tokens]
        self.model.eval()

        def encode(batch: Sequence[int], size: int) -> None:
            some = np.resize(batch, size) if self.apart and self.at_once is None else batch
            vectors = self.forward([tokens[i] for i in some], kind)
            put(batch, devices.arriving(vectors[: len(batch)]))

        with torch.inference_mode():
            batches: Iterable[tuple[Sequence[int], int]] = self.batches(
                order, lengths, batch_size, self.length(kind)
            )
            if self.at_once is None:
                every = list(batches)
                batches = track(every, f"encode {kind}", len(every), "batches")
            for batch, size in batches:
                self.sizes.each(batch, size, encode)

    def batches(
        self, order: Sequence[int], lengths: Sequence[int], requested: int, longest: int
    ) -> Iterator[tuple[Sequence[int], int]]:
        if self.at_once is not None:
            yield from super().batches(order, lengths, requested, longest)
            return
        if room := self.inputs.room:
            yield from ((pack, len(pack)) for pack in packing.packs(lengths, room))
            return
        hidden = self.model.config.hidden_size
        if self.apart:  # repeats fill the last batch of a length
            for length, texts in groupby(order, key=lambda i: lengths[i]):
                yield [*texts], devices.busy(requested, length, hidden)
            return
        for batch in chunks(order, requested):
            yield batch, devices.busy(requested, lengths[batch[-1]], hidden)

    def save(self, folder: Path) -> None:
        super().save(folder)
        if self.settings.dimensions:
            layers.save(self.model, folder)

    def named(self, ids: Sequence[str], rows: Rows) -> Vectors:
        """Return vectors of this model with ids, in the form that searches and scores read."""
        return list(ids), np.asarray(rows)

    def write(self, folder: Path, ids: Sequence[str], rows: Rows) -> None:
        """Write vectors of this model into a folder, an id for each."""
        contracts.write_vectors(folder, ids, np.asarray(rows), self.overflow())

    def overflow(self) -> str:
        """Return what to do where this model makes a value that is not finite."""
        return (
            f"The weights of {self.model.config.name_or_path} overflow, as those of a training "
            "that diverged, or as fp16 does above 65,504. Train it again, or give precision fp32"
        )

    def relevance(
        self,
        queries: Mapping[str, str],
        docs: Mapping[str, str],
        pairs: Sequence[tuple[str, str]],
        batch_size: int,
    ) -> np.ndarray:
        """Return s_emb (pairs,) of pairs of ids: the best over the doc's vectors."""
        rows = np.asarray(self.encode(list(queries.values()), "query", batch_size))
        query_vectors = dict(zip(queries, rows, strict=True))
        vectors, counts = self.vectors(list(docs.values()), "doc", batch_size)
        parts = np.split(np.asarray(vectors), np.cumsum(counts)[:-1])
        doc_vectors = dict(zip(docs, parts, strict=True))
        best = [(doc_vectors[doc] @ query_vectors[query]).max() for query, doc in pairs]
        return np.array(best, np.float32)

    def records(self) -> dict[str, object]:
        """Return files by which sentence-transformers (2 and later) gives a text's first vector."""
        settings, package = self.settings, "sentence_transformers.models"
        types = {"": "Transformer", "1_Pooling": "Pooling"}
        hidden, size, more = int(self.model.config.hidden_size), settings.dimensions, {}
        if size:
            types["2_Dense"] = "Dense"
            activation = layers.TANH if settings.activation else layers.IDENTITY
            more["2_Dense/config.json"] = layers.dense(hidden, size, activation)
        if size and settings.norm:
            types["3_LayerNorm"] = "LayerNorm"
            more["3_LayerNorm/config.json"] = {"dimension": size}
        if settings.normalise:
            types["4_Normalize"] = "Normalize"
            more["4_Normalize/config.json"] = {}
        mode = self.head.mode or "cls"  # of several vectors, the first
        flags = FLAGS["cls"], FLAGS["mean"]
        return {
            "modules.json": pretrained.modules({n: f"{package}.{t}" for n, t in types.items()}),
            **more,
            "1_Pooling/config.json": {
                "word_embedding_dimension": hidden,
                **dict.fromkeys(flags, False),
                FLAGS[mode]: True,
            },
            "sentence_bert_config.json": {
                "max_seq_length": max(settings.query_length, settings.doc_length),
                "do_lower_case": False,  # the tokenizer lowercases where needed
            },
            "config_sentence_transformers.json": {
                "prompts": {"query": self.leads["query"], "document": self.leads["doc"]},
                "default_prompt_name": None,
                "similarity_fn_name": "cosine" if settings.normalise else "dot",
                **({"truncate_dim": settings.truncate} if settings.truncate else {}),
            },
        }


def asker(folder: Path) -> Path:
    """Return the folder of the checkpoint that reads queries, which a checkpoint may hold.

    Raises ResiduumError if a file of the whole checkpoint is not the one that its manifest records.
    """
    within = folder / pretrained.QUERIES
    if not within.is_dir():
        return folder
    intact.check_folder(folder)
    return within


def check_alike(model: object, dimensions: int, asking: object, asked: int) -> None:
    """Refuse a model for queries whose vectors have other dimensions than the docs'."""
    if dimensions != asked:
        raise ResiduumError(
            f"{asking}: vectors of queries have {asked} dimensions, and those of docs by {model} "
            f"have {dimensions}. Name two encoders that were trained together"
        )


def _projected(backbone: Any, source: str, size: int, norm: bool) -> Any:
    """Put a linear layer behind a backbone, with a layer norm if `norm` (Luan et al. 2021, 4.1).

    The linear layer alone is the projection to fewer dimensions of Ma et al. 2020 (CLEF), section
    2.1.
    """
    from torch.nn import LayerNorm, Linear

    hidden = int(backbone.config.hidden_size)
    if size > hidden and not layers.held(Path(source), "linear"):
        text = f"encoder.dimensions is {size}, but {source} gives vectors of {hidden}"
        raise ResiduumError(f"{text}. Give at most as many, or leave it out")
    made: dict[str, Callable[[], Module]] = {"linear": lambda: Linear(hidden, size)}
    made |= {"norm": lambda: LayerNorm(size)} if norm else {}
    return layers.behind(backbone, source, made)


ENCODERS: OpenTable[type[Encoder]] = OpenTable(
    {
        "tokens": "residuum.neural.lateencoder:LateEncoder",
        "terms": "residuum.neural.termencoder:TermEncoder",
        "splade": "residuum.neural.termencoder:SpladeEncoder",
        "static": "residuum.neural.staticencoder:StaticEncoder",
    },
    "pooling with an encoder of its own",
)
