"""Draw the negatives of training pairs from pools, and score them by BM25.

Usage: `Miner(negatives, doc_ids, judged, searcher, runs).mine(pairs)`. Source: CLEAR section 3.3,
"Error-Based Negative Sampling".
"""

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain
from random import Random
from typing import NamedTuple

import numpy as np
import polars as pl

from residuum.artefacts import contracts, trec
from residuum.artefacts.streams import DiskList, chunks
from residuum.config.schema.negatives import Negatives
from residuum.config.specs import derive
from residuum.lucene.anserini import Searcher
from residuum.pools import POOLS, Draw, Ranked

PAIRS_AT_ONCE = 256  # limits the ranked lists in memory
LISTS = [("query_id", pl.String), ("doc_id", pl.List(pl.String))]


class Pair(NamedTuple):
    """A training pair; `given` holds its negatives if they are not drawn."""

    query_id: str
    text: str
    positive: str
    given: list[str]


class Miner:
    """Draws negatives, and counts fallbacks and the differences of scores."""

    def __init__(
        self,
        negatives: Negatives,
        doc_ids: DiskList,
        judged: pl.DataFrame,
        searcher: Searcher | None,
        runs: dict[str, pl.DataFrame],
    ) -> None:
        """Take the corpus's ids, the judgements, and the runs of systems, with columns LISTS."""
        relevant = judged.filter(pl.col("relevance") >= 1).group_by("query_id").agg("doc_id")
        self._relevant = {q: set(docs) for q, docs in relevant.iter_rows()}
        self._negatives, self._doc_ids, self._searcher = negatives, doc_ids, searcher
        pools = [pool for _, pool in sorted(negatives.pools.items())]
        self._pools = [POOLS[pool.kind].model_validate(pool) for pool in pools]
        self._runs = dict(runs)
        self._left_out = defaultdict[str, set[str]](set)
        self._counts = {"random_fallbacks": 0, "drawn_with_replacement": 0}
        self._gaps = array("d")  # positives' scores less their negatives'

    def facts(self) -> dict[str, object]:
        """Return counts of random fallbacks and repeated docs, and the score differences."""
        spread = None
        if self._gaps:
            values = [np.mean(self._gaps), *np.percentile(self._gaps, [5, 50, 95])]
            rounded = [round(float(value), trec.SCORE_DECIMALS) for value in values]
            spread = dict(zip(("mean", "p5", "p50", "p95"), rounded, strict=True))
        return {**self._counts, "negatives": len(self._gaps), "score_difference": spread}

    def candidates(self, pairs: Iterable[Pair]) -> Iterator[tuple[str, set[str]]]:
        """Yield each query with all docs that `mine` could draw for it, including random docs.

        The hits are kept, so that `mine` does not search again.
        """
        assert self._searcher is not None, "docs are left out of pools"
        self._counts |= {"docs_with_an_answer": 0, "pairs_without_a_negative": 0}
        hits: list[Ranked] = []
        for chunk in chunks(pairs, PAIRS_AT_ONCE):
            ranked = self._ranked(self._searcher, {pair.query_id: pair.text for pair in chunk})
            hits.append({s: lists for s, lists in ranked.items() if s not in self._runs})
            docs = defaultdict[str, set[str]](set)
            for query_id, _, positive, _ in chunk:
                draw = self._draw_of(query_id, positive, ranked)
                docs[query_id].update(self._pooled(draw), draw.anywhere(draw.per_pair))
            yield from docs.items()
        for system in hits[0] if hits else ():
            lists = {q: ids for ranked in hits for q, ids in ranked[system].items()}
            self._runs[system] = pl.DataFrame(list(lists.items()), LISTS, orient="row")

    def leave_out(self, query_id: str, doc_id: str) -> None:
        """Exclude a doc from a query's negatives."""
        self._left_out[query_id].add(doc_id)
        self._counts["docs_with_an_answer"] += 1

    def mine(self, pairs: Iterable[Pair]) -> Iterator[contracts.Tuple]:
        """Yield the tuple of each pair that has negatives; all positives must be in the corpus."""
        for chunk in chunks(pairs, PAIRS_AT_ONCE):
            for mined in self._mine(chunk):
                self._gaps.extend(mined.positive_score - score for score in mined.negative_scores)
                yield mined

    def _mine(self, pairs: list[Pair]) -> Iterator[contracts.Tuple]:
        if self._searcher is None:
            yield from (contracts.Tuple(q, positive, 0.0, [], []) for q, _, positive, _ in pairs)
            return
        texts = {pair.query_id: pair.text for pair in pairs}
        ranked = self._ranked(self._searcher, texts)
        every = ((q, d, given or self._draw(q, d, ranked)) for q, _, d, given in pairs)
        drawn = [(q, d, negatives) for q, d, negatives in every if negatives]
        docs: dict[str, set[str]] = {}
        for query_id, positive, negatives in drawn:
            docs.setdefault(query_id, set()).update([positive, *negatives])
        scored = self._searcher.score((q, texts[q], sorted(ids)) for q, ids in docs.items())
        scores = {(q, d): round(score, trec.SCORE_DECIMALS) for q, d, score in scored.iter_rows()}
        for query_id, positive, negatives in drawn:
            positive_score, *others = (
                scores[query_id, doc_id] for doc_id in (positive, *negatives)
            )
            yield contracts.Tuple(query_id, positive, positive_score, negatives, others)

    def _ranked(self, searcher: Searcher, texts: dict[str, str]) -> Ranked:
        """Return {system: {query_id: ranked docs}} for the pools' systems and the given queries."""
        ranked = {
            system: dict(run.filter(pl.col("query_id").is_in(list(texts))).iter_rows())
            for system, run in self._runs.items()
        }
        for system, top, _ in self._negatives.sources:
            if system not in ranked:
                run = trec.rank(pl.concat(searcher.search(texts.items(), top)), top)
                ranked[system] = dict(trec.lists_of(run).iter_rows())
        return ranked

    def _draw_of(self, query_id: str, positive: str, ranked: Ranked) -> Draw:
        """Return the draw of a pair; its own seed makes it independent of the order of pairs."""
        per_pair, relevant = self._negatives.per_pair or 0, self._relevant[query_id]
        random = Random(derive(self._negatives.seed, query_id, positive))
        return Draw(query_id, random, per_pair, ranked, relevant, self._doc_ids)

    def _pooled(self, draw: Draw) -> list[str]:
        """Return the union of the pools' docs, in order, without relevant docs."""
        union = dict.fromkeys(chain.from_iterable(pool.docs(draw) for pool in self._pools))
        return [doc_id for doc_id in union if doc_id not in draw.relevant]

    def _draw(self, query_id: str, positive: str, ranked: Ranked) -> list[str]:
        """Draw the negatives of a pair; [] if all possible docs are excluded."""
        draw, left_out = self._draw_of(query_id, positive, ranked), self._left_out.get(query_id, ())
        random, per_pair = draw.random, draw.per_pair
        docs = [doc_id for doc_id in self._pooled(draw) if doc_id not in left_out]
        if not docs:
            self._counts["random_fallbacks"] += 1
            docs = [doc_id for doc_id in draw.anywhere(per_pair) if doc_id not in left_out]
        if not docs:
            self._counts["pairs_without_a_negative"] += 1
            return []
        if len(docs) >= per_pair:
            return random.sample(docs, per_pair)
        self._counts["drawn_with_replacement"] += 1
        return random.choices(docs, k=per_pair)
