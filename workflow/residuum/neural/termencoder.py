"""Encoders whose vectors have a dimension for each term of the vocabulary: SparTerm and SPLADE.

Usage: as any encoder's, with `pooling: terms` or `pooling: splade`. SparTerm has two networks. One
weighs terms. The other is a gate, trained before and fixed, which chooses a text's terms beside its
own (Bai et al. 2020, as described by Formal et al. 2021, section 3.1). SPLADE has one network.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array, vstack

from residuum.artefacts import termvectors
from residuum.artefacts.streams import chunks
from residuum.artefacts.termvectors import TermVectors
from residuum.cli.errors import ResiduumError
from residuum.config.schema.encoder import Encoder as EncoderSchema
from residuum.config.schema.encoder import TextKind
from residuum.neural import devices, inputs, layers, pretrained
from residuum.neural.encoders import Encoder
from residuum.neural.heads import Splade, Terms
from residuum.neural.pretrained import Put
from residuum.neural.termgate import TermGater, ordinary
from residuum.vectors import products

if TYPE_CHECKING:
    from torch import Tensor

    from residuum.neural.encoders import Rows


PLACES = 16  # of tokens whose scores of all terms are held at once


class SparseEncoder(Encoder):
    """An encoder that gives a text weights of terms. AutoModelForMaskedLM loads its weights."""

    def __init__(
        self, source: pretrained.Source, settings: EncoderSchema, device: devices.Device
    ) -> None:
        super().__init__(source, settings, device)
        self.term_head = layers.take_head(self.model, source.name)

    @staticmethod
    def form() -> Any:
        from transformers import AutoModelForMaskedLM

        return AutoModelForMaskedLM

    @property
    def sharing(self) -> None:
        return None

    @property
    def dimensions(self) -> int:
        return int(self.model.get_input_embeddings().num_embeddings)

    def both(
        self, queries: Sequence[np.ndarray], docs: Sequence[np.ndarray]
    ) -> tuple[Tensor, Tensor]:
        vectors = self.forward([*queries, *docs], "doc")  # pooled alike
        return vectors[: len(queries)], vectors[len(queries) :]

    def of_tokens(
        self, tokens: Sequence[np.ndarray], kind: TextKind, batch_size: int, put: Put
    ) -> Callable[[], tuple[Rows, np.ndarray]]:
        """Return a function that gives sparse vectors, one per text, of nonzero weights."""
        none = np.zeros(0, np.int64), np.zeros(0, np.float32)
        kept = [none] * len(tokens)

        def keep(texts: Sequence[int], vectors: np.ndarray) -> None:
            for i, (weights,) in zip(texts, vectors, strict=True):
                places = np.flatnonzero(weights)
                kept[i] = places, weights[places]

        def made() -> tuple[Rows, np.ndarray]:
            starts = np.cumsum([0, *(len(places) for places, _ in kept)])
            places, weights = map(np.concatenate, zip(none, *kept, strict=True))
            rows = csr_array((weights, places, starts), shape=(len(kept), self.dimensions))
            return rows, np.ones(len(kept), np.int64)

        self.each(tokens, kind, batch_size, partial(put, keep))
        return made

    def batches(
        self, order: Sequence[int], lengths: Sequence[int], requested: int, longest: int
    ) -> Iterator[tuple[Sequence[int], int]]:
        if self.at_once is None:
            yield from super().batches(order, lengths, requested, longest)
            return
        # As many texts as requested, however short: each text has a weight for each term.
        yield from ((batch, len(batch)) for batch in chunks(order, requested))

    def joined(self, rows: Sequence[Rows]) -> Rows:
        return rows[0] if len(rows) == 1 else csr_array(vstack(rows, format="csr"))

    def named(self, ids: Sequence[str], rows: Rows) -> TermVectors:
        """Return vectors with ids; the columns are the terms that any vector has."""
        sparse = csr_array(rows)
        used = np.unique(sparse.indices)
        names = dict(zip(self.tokenizer.convert_ids_to_tokens(used.tolist()), used, strict=True))
        columns = np.array([names[term] for term in sorted(names)], dtype=np.int64)
        return TermVectors(list(ids), sorted(names), csr_array(sparse[:, columns]))

    def write(self, folder: Path, ids: Sequence[str], rows: Rows) -> None:
        termvectors.write(folder, *self.named(ids, rows), self.overflow())

    def relevance(
        self,
        queries: Mapping[str, str],
        docs: Mapping[str, str],
        pairs: Sequence[tuple[str, str]],
        batch_size: int,
    ) -> np.ndarray:
        """Return the inner products (pairs,) of pairs of ids."""
        query_rows = self.encode([*queries.values()], "query", batch_size)
        doc_rows = self.encode([*docs.values()], "doc", batch_size)
        query_numbers = {query: number for number, query in enumerate(queries)}
        doc_numbers = {doc: number for number, doc in enumerate(docs)}
        numbers = [(query_numbers[query], doc_numbers[doc]) for query, doc in pairs]
        left, right = np.array(numbers, dtype=np.int64).reshape(-1, 2).T
        asked, held = self.named([*queries], query_rows), self.named([*docs], doc_rows)
        return products.pairs(asked, held, left, right).astype(np.float32)

    def records(self) -> dict[str, object]:
        return {}  # no other library reads these vectors


class TermEncoder(SparseEncoder):
    """An encoder that gives a text weights of terms, but not of special tokens (SparTerm).

    The gate has its own folder.
    """

    head: Terms

    def __init__(
        self, source: pretrained.Source, settings: EncoderSchema, device: devices.Device
    ) -> None:
        super().__init__(source, settings, device)
        self.ordinary = ordinary(self.tokenizer, self.dimensions)
        self.is_term = devices.put(self.ordinary, device.name)
        self.gate = self._gate(source) if self.head.gate else None

    def _gate(self, source: pretrained.Source) -> TermGater:
        """Load the fixed gate. Raises ResiduumError if its vocabulary is not the encoder's."""
        self.gate_folder = folder = source.gate or Path(source.name) / pretrained.GATE
        gate = TermGater.load(folder, self.device)
        if gate.tokenizer.get_vocab() != self.tokenizer.get_vocab():
            raise ResiduumError(
                f"{folder}: its vocabulary is not that of {source.name}. Start both from one "
                'backbone, with the markers "" or those that its tokenizer has'
            )
        gate.model.requires_grad_(False).eval()
        return gate

    def forward(self, tokens: Sequence[np.ndarray], kind: TextKind) -> Tensor:
        """Return the weights of terms: float32 (texts, 1, vocabulary), with gradient.

        Terms that a text does not have weigh 0, so that their scores are never computed.
        """
        import torch
        from torch.nn.functional import embedding

        given, mask = self.inputs.arguments(tokens)
        terms, present = self._opened(tokens, mask) if self.gate else self._own_terms(tokens)
        with self.computing():
            states = self.model(**given).logits
            scores = states @ embedding(terms, self.term_head.weight).transpose(1, 2)
            if self.term_head.bias is not None:
                scores = scores + self.term_head.bias[terms][:, None]
        pooled = self.head.pool(scores.float(), mask, kind)[:, 0] * present
        weights = torch.zeros(len(terms), self.dimensions, device=pooled.device)
        weights = weights.scatter_add(1, terms, pooled)[:, None]
        return weights * math.sqrt(self.settings.score_scale)

    def _own_terms(self, tokens: Sequence[np.ndarray]) -> tuple[Tensor, Tensor]:
        """List the terms of texts in the form of `listed`, without reading from the device."""
        ids = [row[self.ordinary[row]] for row in map(np.unique, tokens)]
        lengths = [*map(len, ids)]
        present = inputs.present(lengths, max(1, *lengths))
        terms = np.zeros(present.shape, np.int64)
        terms[present] = np.concatenate(ids)
        device = self.device.name
        return devices.put(terms, device), devices.put(present, device)

    def _opened(self, tokens: Sequence[np.ndarray], mask: Tensor) -> tuple[Tensor, Tensor]:
        """List the terms of texts and the terms that the gate opens, in the form of `listed`."""
        import torch

        gate, head = self.gate, self.head.gate
        assert gate and head, "a gate is loaded with its threshold"
        ids, _ = inputs.padded(tokens, 0, self.device.name)
        counts = torch.zeros(len(ids), self.dimensions, device=ids.device)
        active = counts.scatter_add(1, ids, mask.to(counts.dtype)) > 0
        with torch.no_grad():
            active |= gate.logits(tokens).sigmoid() >= head.threshold
        return listed(active & self.is_term)

    def save(self, folder: Path) -> None:
        super().save(folder)
        if self.gate:
            pretrained.copy(self.gate_folder, Path(folder) / pretrained.GATE)


class SpladeEncoder(SparseEncoder):
    """An encoder that gives a text weights of any terms of the vocabulary (Formal et al. 2021)."""

    head: Splade

    def forward(self, tokens: Sequence[np.ndarray], kind: TextKind) -> Tensor:
        """Return the weights of terms: float32 (texts, 1, vocabulary), with gradient.

        The scores of all terms at all tokens are never held together: places are taken in blocks.
        """
        import torch

        given, mask = self.inputs.arguments(tokens)
        with self.computing():
            states = self.model(**given).logits
        made: list[Tensor] = []
        for some, kept in zip(states.split(PLACES, 1), mask.split(PLACES, 1), strict=True):
            with self.computing():
                scores = torch.nn.functional.linear(
                    some, self.term_head.weight, self.term_head.bias
                )
            part = self.head.pool(scores.float(), kept, kind)
            made = [self.head.joined(*made, part)] if made else [part]
        return made[0] * math.sqrt(self.settings.score_scale)


def listed(active: Tensor) -> tuple[Tensor, Tensor]:
    """List the terms of texts: ids (texts, most terms of a text), and which ids are terms.

    `active` is boolean (texts, vocabulary). Rows of texts with fewer terms are padded with 0.
    """
    import torch

    counts = active.sum(dim=1)
    texts, terms = active.nonzero(as_tuple=True)
    places = torch.arange(len(terms), device=terms.device) - (counts.cumsum(0) - counts)[texts]
    ids = terms.new_zeros(len(active), max(1, int(counts.max())))
    ids[texts, places] = terms
    return ids, torch.arange(ids.shape[1], device=ids.device) < counts[:, None]
