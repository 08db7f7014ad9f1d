"""Scores of (query, doc) pairs, computed once and kept between jobs, whoever asks for them.

Usage: `store = Store(folder, fingerprint); fill(store, pairs, model, texts, 64, 8192)`, then
`store.read()`. Must not know runs, depths or measures.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import polars as pl

from residuum.artefacts import contracts, files, trec
from residuum.artefacts.trec import PAIR
from residuum.cli.progress import track
from residuum.neural.crossencoder import CrossEncoder, Pair
from residuum.neural.parts import open_folder
from residuum.neural.resume import log
from residuum.neural.tokens import TokenStore, wanted

ASKER = "a first-stage run"
SCORED = {"query_id": pl.String, "doc_id": pl.String, "score": pl.Float32}


class Texts(NamedTuple):
    """Where the texts of pairs lie: queries.tsv and a corpus folder."""

    queries: Path
    corpus: Path


class Store:
    """Scored pairs, kept in files that appear whole; those of other work are thrown away."""

    def __init__(self, folder: Path, mark: str) -> None:
        self.folder = open_folder(folder, mark).parent

    def _parts(self) -> list[Path]:
        return sorted(self.folder.glob("part-*.parquet"))

    def read(self) -> pl.DataFrame:
        """Return query_id, doc_id, score (float32) of all pairs kept; drop a damaged part."""
        found = [pl.DataFrame(schema=SCORED)]
        for path in self._parts():
            try:
                found.append(pl.read_parquet(path.read_bytes()).cast(SCORED))
            except pl.exceptions.PolarsError as error:
                log(f"{path}: cannot be read, its pairs are scored again ({error})")
                path.unlink()
        return pl.concat(found).unique(PAIR, keep="first", maintain_order=True)

    def add(self, scored: pl.DataFrame) -> None:
        """Keep more pairs, as the next part."""
        numbers = [int(path.stem.partition("-")[2]) for path in self._parts()]
        with files.whole(self.folder / f"part-{max(numbers, default=-1) + 1:05d}.parquet") as path:
            scored.write_parquet(path)


def fill(
    store: Store,
    todo: pl.DataFrame,
    model: CrossEncoder,
    texts: Texts,
    batch_size: int,
    part_pairs: int,
) -> None:
    """Score pairs (query_id, doc_id) and keep them in parts of `part_pairs`, longest first.

    Memory holds the tokens of the texts that are needed, each once, and the pairs' ids.
    Raises ResiduumError if a text is not there.
    """
    if not todo.height:
        return
    queries, docs = _tokens(todo, model, texts)
    ordered = _longest_first(todo, model, queries, docs)
    parts = -(-todo.height // part_pairs)
    for part in track(ordered.iter_slices(part_pairs), "score", total=parts, unit="parts"):
        ids = queries.of(part["query_id"].to_list()), docs.of(part["doc_id"].to_list())
        scores = model.score(list(map(Pair, *ids)), batch_size)
        store.add(part.select(PAIR).with_columns(score=scores))


def _tokens(todo: pl.DataFrame, model: CrossEncoder, texts: Texts) -> tuple[TokenStore, TokenStore]:
    asked, named = set(todo["query_id"]), set(todo["doc_id"])
    queries = wanted(trec.read_queries(texts.queries).items(), asked, "query", texts.queries, ASKER)
    docs = wanted(contracts.read_corpus(texts.corpus), named, "doc", texts.corpus, ASKER)
    return (
        TokenStore(queries, lambda some: model.tokenise(some, "query")),
        TokenStore(docs, lambda some: model.tokenise(some, "doc")),
    )


def _longest_first(
    todo: pl.DataFrame, model: CrossEncoder, queries: TokenStore, docs: TokenStore
) -> pl.DataFrame:
    """Order pairs by length, so that a part fills its batches."""
    one, other = _lengths(todo["query_id"], queries), _lengths(todo["doc_id"], docs)
    lengths = model.lengths(one.to_numpy(), other.to_numpy())
    order = {"by": ["length", *PAIR], "descending": [True, False, False]}
    return todo.with_columns(length=lengths).sort(**order)


def _lengths(ids: pl.Series, tokens: TokenStore) -> pl.Series:
    keys = ids.unique()
    sizes = [len(row) for row in tokens.of(keys.to_list())]
    return ids.replace_strict(keys, sizes, return_dtype=pl.Int64)
