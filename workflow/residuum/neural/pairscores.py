"""Scores of (query, doc) pairs, computed once and kept between jobs, for all first stages.

Usage: `store = Store(folder, fingerprint); store.fill(pairs, model, texts, 64, 8192)`, then
`store.read()`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import polars as pl

from residuum.artefacts import files
from residuum.artefacts.trec import PAIR
from residuum.cli.progress import track
from residuum.config.schema.reading import Windows
from residuum.neural.crossencoder import CrossEncoder, Pair
from residuum.neural.resumable import log, open_folder
from residuum.neural.tokens import PassageStore, Texts, TokenStore

SCORED = pl.Schema({"query_id": pl.String, "doc_id": pl.String, "score": pl.Float32})


class Store:
    """Scored pairs, kept in files that appear whole. Pairs of other work are thrown away."""

    def __init__(self, folder: Path, mark: str) -> None:
        open_folder(folder, mark)
        self.folder = folder

    def read(self) -> pl.DataFrame:
        """Return query_id, doc_id, score (float32) of all stored pairs; drop a damaged part."""
        kept = [pl.DataFrame(schema=SCORED)]
        for path in sorted(self.folder.glob("part-*.parquet")):
            try:
                kept.append(pl.read_parquet(path.read_bytes()).cast(SCORED))
            except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
                log(f"{path}: cannot be read, its pairs are scored again ({error})")
                path.unlink()
        return pl.concat(kept).unique(PAIR, keep="first", maintain_order=True)

    def _add(self, scored: pl.DataFrame) -> None:
        parts = self.folder.glob("part-*.parquet")
        numbers = [int(path.stem.partition("-")[2]) for path in parts]
        with files.whole(self.folder / f"part-{max(numbers, default=-1) + 1:05d}.parquet") as path:
            scored.write_parquet(path)

    def fill(
        self,
        rest: pl.DataFrame,
        model: CrossEncoder,
        texts: Texts,
        batch_size: int,
        part_pairs: int,
        windows: Windows | None = None,
    ) -> None:
        """Score pairs (query_id, doc_id) and keep them in parts of `part_pairs`, longest first.

        A doc read in passages gets the score of its best passage. Memory holds the tokens of each
        text once, and the pairs' ids. Sorting by length lets a part fill its batches. Raises
        ResiduumError if a text is missing.
        """
        if not rest.height:
            return
        queries = TokenStore(texts, "query", set(rest["query_id"]), model.tokenise)
        docs = PassageStore(texts, set(rest["doc_id"]), model.tokenise, model.cut(windows))
        length = model.lengths(
            _lengths(rest["query_id"], lambda ids: map(len, queries.tokens(ids))),
            _lengths(rest["doc_id"], lambda ids: (max(map(len, p)) for p in docs.tokens(ids))),
        )
        ordered = rest.with_columns(length=-length).sort("length", *PAIR)
        parts = -(-rest.height // part_pairs)
        for part in track(ordered.iter_slices(part_pairs), "score", total=parts, unit="parts"):
            asked = queries.tokens(part["query_id"].to_list())
            read = docs.tokens(part["doc_id"].to_list())
            pairs = [Pair(query, p) for query, some in zip(asked, read, strict=True) for p in some]
            counts = np.array([len(passages) for passages in read])
            scores = model.score(pairs, batch_size)
            best = np.maximum.reduceat(scores, np.cumsum(counts) - counts)
            self._add(part.select(PAIR).with_columns(score=best))


def _lengths(ids: pl.Series, sizes: Callable[[list[str]], Iterable[int]]) -> np.ndarray:
    keys = ids.unique()
    each = list(sizes(keys.to_list()))
    return ids.replace_strict(keys, each, return_dtype=pl.Int64).to_numpy()
