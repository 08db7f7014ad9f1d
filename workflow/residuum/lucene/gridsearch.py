"""Rank judged docs at every setting of RM3, from one search and one reading of the postings.

Usage: `GridSearch(searcher, grid).ranks(queries, judged, depth, left_out)`. Searching at each
setting alone gives the same ranks (`Searcher.search`).
"""

from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from multiprocessing.pool import AsyncResult, ThreadPool
from queue import SimpleQueue
from typing import NamedTuple

import numpy as np
import polars as pl

from residuum.artefacts.streams import chunks
from residuum.config.schema.settings import Rm3Grid
from residuum.lucene import handles
from residuum.lucene.anserini import RERANKER, VECTOR, Searcher, Texts, reranker
from residuum.lucene.handles import LIST, OBJECT, STRING, bound, chain, method, nested, static
from residuum.lucene.indexing import CONTENTS, LUCENE
from residuum.lucene.jvm import JavaObject, cast, java_errors
from residuum.lucene.postings import MOST_KEPT, Listed, Postings
from residuum.lucene.ranking import Counted, Ranker, Ranks
from residuum.lucene.relevance import Expanded, Weights, expanded

SETTLED = 32  # queries whose ties are settled together
AHEAD = 2  # queries for each thread whose postings are read before they are needed
NOTHING = pl.DataFrame(schema={"doc": pl.Int32, "score": pl.Float32})


class JudgedQuery(NamedTuple):
    """A query at every setting, and Lucene's numbers of its judged docs and of docs left out.

    `held` says which of the `judged` docs have a number in `docs`: those that the index holds and
    that are not left out.
    """

    query_id: str
    expanded: Expanded
    judged: int
    held: list[int]
    docs: np.ndarray
    left_out: list[int]


class GridSearch:
    """A searcher's index with the settings of a grid, all of which rank at once.

    The JVM serves this thread alone. So it reads what further threads compute with. They are no
    threads of `concurrent.futures`, which makes none in a process that is kept for a second job.
    """

    def __init__(self, searcher: Searcher, grid: Rm3Grid, threads: int = 1) -> None:
        self._searcher, self._grid, self._threads = searcher, grid, threads
        with java_errors("reading the index"):
            self._postings = Postings(searcher.reader, searcher.system.bm25)
        self._rankers = SimpleQueue[Ranker]()
        for _ in range(threads):
            self._rankers.put(Ranker(self._postings.docs))

    def ranks(
        self,
        queries: Texts,
        judged: Mapping[str, Sequence[str]],
        depth: int,
        left_out: pl.DataFrame,
    ) -> Iterator[tuple[str, Ranks]]:
        """Yield query_id and the ranks of its judged docs at every setting, down to `depth`.

        `judged` has the docs of each query, in the order of the ranks. Pairs `left_out` of query_id
        and doc_id are in no list.
        """
        with java_errors("searching"), ThreadPool(self._threads) as pool:
            for some in chunks(self._counted(queries, judged, depth, left_out, pool), SETTLED):
                tied = set[int]().union(*(counted.tied() for _, counted in some))
                names = self._searcher.doc_ids(tied)
                yield from (self._ranks(query, counted, names) for query, counted in some)

    def _counted(
        self,
        queries: Texts,
        judged: Mapping[str, Sequence[str]],
        depth: int,
        left_out: pl.DataFrame,
        pool: ThreadPool,
    ) -> Iterator[tuple[JudgedQuery, Counted]]:
        """Yield each query and what stands above its judged docs, in the order of the queries."""
        begun = deque[tuple[JudgedQuery, int, "AsyncResult[Counted]"]]()
        held = 0  # postings that the begun queries hold
        for query in self._judged_queries(queries, judged, left_out):
            terms = query.expanded.terms
            listed, idf = self._postings.of(terms), self._postings.idf(terms)
            size = sum(len(term.docs) for term in listed)
            counting = pool.apply_async(self._count, (query, idf, listed, depth))
            begun.append((query, size, counting))
            held += size
            while len(begun) > AHEAD * self._threads or (held > MOST_KEPT and len(begun) > 1):
                first, size, counting = begun.popleft()
                held -= size
                yield first, counting.get()
        for query, _, counting in begun:
            yield query, counting.get()

    def _count(
        self, query: JudgedQuery, idf: np.ndarray, listed: list[Listed], depth: int
    ) -> Counted:
        """Count the docs above a query's judged docs, in any thread."""
        ranker = self._rankers.get()
        try:
            return ranker.count(query.expanded, idf, listed, query.docs, depth, query.left_out)
        finally:
            self._rankers.put(ranker)

    def _ranks(
        self, query: JudgedQuery, counted: Counted, names: Mapping[int, str]
    ) -> tuple[str, Ranks]:
        """Return a query's id and ranks; docs that are not held have the rank 0."""
        found = counted.ranks(names)
        ranks = np.zeros((len(found.lengths), query.judged), dtype=np.int64)
        ranks[:, query.held] = found.ranks
        return query.query_id, Ranks(ranks, found.lengths)

    def _judged_queries(
        self, queries: Texts, judged: Mapping[str, Sequence[str]], left_out: pl.DataFrame
    ) -> Iterator[JudgedQuery]:
        """Yield each query with its terms at every setting, and with Lucene's numbers of docs."""
        for query_ids, texts, bags in self._searcher.bags_of_words(queries):
            some = {query_id: judged[query_id] for query_id in query_ids}
            out = left_out.filter(pl.col("query_id").is_in(query_ids))
            numbers = self._searcher.numbers({*out["doc_id"]}.union(*some.values()))
            without = dict(out.group_by("query_id").agg("doc_id").iter_rows())
            expansions = self._expanded(query_ids, texts, bags)
            self._postings.prepare([*{term for query in expansions for term in query.terms}])
            for query_id, query in zip(query_ids, expansions, strict=True):
                dropped = [numbers[d] for d in without.get(query_id, []) if d in numbers]
                docs = [numbers.get(doc_id, -1) for doc_id in some[query_id]]
                held = [n for n, doc in enumerate(docs) if doc >= 0 and doc not in dropped]
                kept = np.array([docs[n] for n in held], dtype=np.int64)
                yield JudgedQuery(query_id, query, len(docs), held, kept, dropped)

    def _expanded(
        self, query_ids: list[str], texts: JavaObject, bags: JavaObject
    ) -> list[Expanded]:
        """Return the terms and weights of some queries."""
        searcher, grid = self._searcher, self._grid
        own = map(_shares, searcher.counted(texts))
        deep = searcher.by_score_and_id(max(grid.feedback_docs))
        hits = searcher.hits(query_ids, deep, bags)
        parts = hits.partition_by("query_id", as_dict=True)
        first = [parts.get((query_id,), NOTHING) for query_id in query_ids]
        docs = self._frequencies(hits["doc"].unique().sort().to_list())
        return [
            expanded(mine, [docs[doc] for doc in part["doc"]], part["score"].to_numpy(), grid)
            for mine, part in zip(own, first, strict=True)
        ]

    def _frequencies(self, docs: list[int]) -> dict[int, Weights]:
        """Return the terms of docs that RM3 takes, with their frequencies, by doc."""
        if not docs:
            return {}
        searcher, vectors = self._searcher, f"{LUCENE}.index.TermVectors"
        number = static("java.lang.Integer", "parseInt", "int", STRING)
        of_doc = method(vectors, "get", f"{LUCENE}.index.Terms", "int", STRING)
        of_doc = bound(bound(of_doc, 0, searcher.reader.termVectors()), 1, CONTENTS)
        taken = handles.private(RERANKER, "createdFeatureVector")
        taken = bound(nested(taken, 0, reranker(searcher.analyzer)), 1, searcher.reader, False)
        written = static(STRING, "valueOf", STRING, OBJECT)
        read = chain(number, of_doc, taken, handles.field(VECTOR, "features"), written)
        lines = handles.function(handles.each(read)).apply("\n".join(map(str, docs)))
        return dict(zip(docs, map(_parsed, handles.texts(cast(LIST, lines))), strict=True))


def _shares(bag: Counter[str]) -> Weights:
    """Return the share of each term of a query. Source: scaleToUnitL1Norm of FeatureVector."""
    return {term: count / bag.total() for term, count in bag.items()}


def _parsed(line: str) -> Weights:
    """Return the terms of a feedback doc, letters and digits, from Java's `{a=1.0, b=2.0}`."""
    pairs = (pair.split("=") for pair in line.strip("{}").split(", ") if pair)
    return {term: float(frequency) for term, frequency in pairs}
