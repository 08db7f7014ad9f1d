"""Encoders without a network: each term of a text has its own weight, whatever the text says.

Usage: as any encoder's, with `pooling: static`. Queries of an inference-free SPLADE are read so
(Geng et al. 2024, "Towards Competitive Search Relevance For Inference-Free Learned Sparse
Retrievers"); sentence-transformers calls the module SparseStaticEmbedding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.sparse import csr_array

from residuum.cli.errors import ResiduumError
from residuum.config.schema.encoder import Encoder as EncoderSchema
from residuum.config.schema.encoder import TextKind
from residuum.neural import devices, foreign, pretrained
from residuum.neural.encoders import TEXTS
from residuum.neural.frames import save_tokenizer
from residuum.neural.heads import HEADS
from residuum.neural.termencoder import SparseEncoder
from residuum.neural.tokens import tokenise

if TYPE_CHECKING:
    from torch import Tensor

    from residuum.neural.encoders import Rows
    from residuum.neural.pretrained import Put

WEIGHT = "weight"  # name of the weights of terms, in a file of safetensors


class StaticEncoder(SparseEncoder):
    """A weight for each term; a text has the weights of its terms, however often it has them."""

    def __init__(
        self, source: pretrained.Source, settings: EncoderSchema, device: devices.Device
    ) -> None:
        from transformers import AutoTokenizer

        with pretrained.explained(source):
            tokenizer = AutoTokenizer.from_pretrained(source.name, trust_remote_code=False)
        self.weights = weights_of(Path(source.name), len(tokenizer)).numpy()
        self.model = SimpleNamespace(config=SimpleNamespace(name_or_path=source.name))
        self.tokenizer, self.settings, self.device = tokenizer, settings, device
        self.sizes = devices.AdaptiveBatchSize(self.unit, self.remedy)
        self.leads = {kind: settings.lead(kind) for kind in TEXTS}
        self.head = HEADS[settings.pooling.kind].model_validate(settings.pooling)

    def freeze(self) -> Self:
        """Return the model: weights are looked up, and multiplied with nothing."""
        self.frozen = True
        return self

    @property
    def dimensions(self) -> int:
        return len(self.weights)

    def tokenise(self, texts: Iterable[str], kind: TextKind) -> Iterator[np.ndarray]:
        """Yield each text's token ids without special tokens, cut to the kind's length."""
        led = (f"{self.leads[kind]}{text}" for text in texts)
        return tokenise(self.tokenizer, led, self.length(kind), special=False)

    def of_tokens(
        self, tokens: Sequence[np.ndarray], kind: TextKind, batch_size: int, put: Put
    ) -> Callable[[], tuple[Rows, np.ndarray]]:
        """Return a function that gives sparse vectors, one per text, of nonzero weights."""
        every = [row[self.weights[row] != 0] for row in map(np.unique, tokens)]
        places = np.concatenate([np.zeros(0, np.int32), *every])
        starts = np.cumsum([0, *map(len, every)])
        shape = len(every), self.dimensions
        rows = csr_array((self.weights[places], places, starts), shape=shape)
        return lambda: (rows, np.ones(len(every), np.int64))


def weights_of(folder: Path, terms: int) -> Tensor:
    """Return the weights of terms (terms,) in a folder, checked against a vocabulary's size."""
    path = folder / foreign.WEIGHTS
    if not path.is_file():
        raise ResiduumError(f"{folder}: no {path.name}, which holds the weights of terms")
    held = foreign.tensors(path).get(WEIGHT)
    if held is None or held.ndim != 1 or len(held) < terms:
        had = "none" if held is None else "x".join(map(str, held.shape))
        raise ResiduumError(f"{path}: {WEIGHT}: a weight for each of {terms:,} terms, found {had}")
    return held.float()


def save(weights: Tensor, tokenizer: Any, folder: Path) -> None:
    """Write weights of terms and their tokenizer into a folder."""
    from safetensors.torch import save_file

    save_file({WEIGHT: weights.contiguous()}, folder / foreign.WEIGHTS)
    save_tokenizer(tokenizer, folder)
