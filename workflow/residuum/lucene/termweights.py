"""BM25 as an inner product: vectors of queries and docs with Lucene's term weights.

Usage: `weigher = Weigher(folder, system, threads)`, then `weigher.docs(texts)` and
`weigher.queries(texts)`: terms, and weights (texts, terms). The product of a query and a doc is
Lucene's score, up to the rounding of its float32.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from scipy.sparse import csr_array

from residuum.artefacts.streams import chunks
from residuum.cli.errors import ResiduumError
from residuum.config.schema.systems import LexicalSystem
from residuum.lucene import analysis, handles, indexing, postings
from residuum.lucene.jvm import java_errors

TEXTS_AT_ONCE = 4096


class Weighed(NamedTuple):
    """Rising terms, and float32 weights (texts, terms)."""

    terms: list[str]
    rows: csr_array


class Weigher:
    """The weights of BM25 in an index: of a doc's terms, and of a query's terms.

    A doc's weight is tf / (tf + k1 (1 - b + b |d| / avgdl)). Lucene keeps the length |d| in a
    byte. A query's weight is its tf times log(1 + (N - df + 0.5) / (df + 0.5)). Lucene has left
    out the constant factor k1 + 1 since version 8 (Lee et al. 2023, section 3.2, has it).
    """

    def __init__(self, folder: Path, system: LexicalSystem, threads: int = 1) -> None:
        if system.boosts or system.joined or system.term_weights or system.rm3:
            without = "without boosts, joined, term_weights and rm3"
            raise ResiduumError(f"BM25 as vectors needs a system of whole texts, {without}")
        self._bm25 = system.bm25
        self._reader = indexing.open_reader(folder)
        self._workers = handles.Workers(threads)
        analyzer, self._tokenise = analysis.terms(system.analysis, folder)
        self._tokenise_queries = analysis.for_queries(self._tokenise, system)
        self._analyze = analysis.joined(analyzer)
        self._statistics = postings.statistics(self._reader)
        self._lengths = np.sort(postings.lengths())

    def docs(self, texts: Iterable[str]) -> Weighed:
        """Return the weights of the terms of docs."""
        counts, lengths = self._counted(texts, self._tokenise)
        kept = self._lengths[np.searchsorted(self._lengths, lengths, "right") - 1]
        norms = self._bm25.k1 * (
            1 - self._bm25.b + self._bm25.b * kept / self._statistics.mean_length
        )
        tf = counts["tf"].to_numpy()
        return _weighed(counts, tf / (tf + norms[counts["text"].to_numpy()]), len(lengths))

    def queries(self, texts: Iterable[str]) -> Weighed:
        """Return the weights of the terms of queries, without terms that no doc has."""
        counts, lengths = self._counted(texts, self._tokenise_queries)
        terms = counts["term"].unique().sort()
        frequencies = postings.document_frequencies(self._reader, terms.to_list())
        held = pl.DataFrame({"term": terms, "df": frequencies}, schema_overrides={"df": pl.Int64})
        known = counts.join(held, on="term", maintain_order="left").filter(pl.col("df") > 0)
        idf = self._statistics.idf(known["df"].to_numpy())
        return _weighed(known, known["tf"].to_numpy() * idf, len(lengths))

    def _counted(
        self, texts: Iterable[str], tokenise: analysis.Tokenise
    ) -> tuple[pl.DataFrame, np.ndarray]:
        """Return text (number), term and tf of each term of each text; and all texts' lengths."""
        parts, lengths = [pl.DataFrame(schema=COUNTED)], [np.zeros(0, dtype=np.int64)]
        done = 0
        for some in chunks(texts, TEXTS_AT_ONCE):
            with java_errors("analysing texts"):
                lines = handles.texts(
                    self._workers.map(self._analyze, handles.objects(tokenise(some)))
                )
            numbers = pl.int_range(done, done + len(some), eager=True)
            terms = pl.DataFrame({"text": numbers, "term": lines}).with_columns(
                pl.col("term").str.split(" ")
            )
            terms = terms.explode("term").filter(pl.col("term") != "")
            counted = terms.group_by("text", "term").agg(tf=pl.len().cast(pl.Int64))
            parts.append(counted.sort("text", "term"))
            lengths.append(np.bincount(terms["text"].to_numpy() - done, minlength=len(some)))
            done += len(some)
        return pl.concat(parts), np.concatenate(lengths)


COUNTED = {"text": pl.Int64, "term": pl.String, "tf": pl.Int64}


def _weighed(counts: pl.DataFrame, weights: np.ndarray, texts: int) -> Weighed:
    terms = counts["term"].unique().sort()
    numbers = pl.DataFrame({"term": terms, "column": np.arange(len(terms))})
    columns = counts.join(numbers, on="term", maintain_order="left")["column"].to_numpy()
    values = weights.astype(np.float32), (counts["text"].to_numpy(), columns)
    return Weighed(terms.to_list(), csr_array(values, shape=(texts, len(terms))))
