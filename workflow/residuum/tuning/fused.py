"""Lists fused: a weighted sum of scores over the docs that any system of several retrieves.

Usage: `for pairs in Lists(system, runs, scores).unions(): ranked(pairs, weight, k)`. Sources: CLEAR
Eq. 8, where the weight lies on the lexical part; RoC Eq. 11, where it lies on the dense one.
Must not know what made a list, nor how a weight is chosen.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from residuum.artefacts import trec
from residuum.artefacts.streams import chunks
from residuum.artefacts.trec import PAIR
from residuum.cli.errors import ResiduumError
from residuum.config.schema.systems import FusionSystem

QUERIES_AT_ONCE = 256  # bounds the pairs in memory
QUERY_BITS = 16  # of a pair's key, for the number of its query
WEIGHTED, REST = "weighted", "rest"  # columns: the score that bears the weight, the others' sum
ROUNDING = 2 * 10.0**-trec.SCORE_DECIMALS  # two scores this near may be equal in a run file

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]


class _Scores:
    """The docs and scores of a file, and where those of each query are."""

    def __init__(self, path: Path) -> None:
        table = trec.read_run(path)
        spans = table["query_id"].rle().struct.unnest()
        if spans["value"].n_unique() < spans.height:
            table = table.sort("query_id", maintain_order=True)
            spans = table["query_id"].rle().struct.unnest()
        ends = spans["len"].cum_sum()
        starts = zip(ends - spans["len"], spans["len"], strict=True)
        self.doc_id, self.score = table["doc_id"], table["score"].to_numpy()
        self.spans: dict[str, tuple[int, int]] = dict(zip(spans["value"], starts, strict=True))

    def rows(self, query_ids: Sequence[str]) -> tuple[Numbers, Numbers]:
        """Return the rows of some queries, and for each the number of its query among these."""
        spans = [self.spans.get(query_id, (0, 0)) for query_id in query_ids]
        rows = np.concatenate([np.arange(start, start + length) for start, length in spans])
        return rows, np.repeat(np.arange(len(spans)), [length for _, length in spans])

    def lowest(self, query_ids: Sequence[str]) -> Floats:
        """Return the score of the last doc of each query's ranked list, 0 where there is none."""
        spans = [self.spans.get(query_id, (0, 0)) for query_id in query_ids]
        return np.array([self.score[sum(span) - 1] if span[1] else 0.0 for span in spans])


class Lists:
    """The lists of a fusion's parts, and the scores of docs that a part did not retrieve."""

    def __init__(
        self, system: FusionSystem, runs: Mapping[str, Path], scores: Mapping[str, Sequence[Path]]
    ) -> None:
        """Read the run of each part, and of parts that give true scores the files of these."""
        self._system, self._files = system, scores
        scoring = list(dict.fromkeys(part for part, _ in system.true_scores()))
        for part in scoring:
            if not scores.get(part):
                raise ResiduumError(f"{part} gives true scores: name their files with --scores")
        self._runs = [(part, _Scores(runs[part])) for part in system.parts]
        self._true = [(part, _Scores(path)) for part in scoring for path in scores[part]]

    def unions(self, query_ids: Sequence[str] | None = None) -> Iterator[pl.DataFrame]:
        """Yield query_id, doc_id, weighted, rest of all lists' docs, some queries at once.

        Queries come sorted: those given, or all.
        """
        known = {query_id for _, run in self._runs for query_id in run.spans}
        for some in chunks(sorted(known if query_ids is None else query_ids), QUERIES_AT_ONCE):
            yield self._union(some)

    def _union(self, query_ids: Sequence[str]) -> pl.DataFrame:
        sources = [*self._runs, *self._true]
        rows, numbers = zip(*(source.rows(query_ids) for _, source in sources), strict=True)
        doc_id = pl.concat(
            [s.doc_id.gather(own) for (_, s), own in zip(sources, rows, strict=True)]
        )
        number = np.concatenate(numbers)
        first, pair = _distinct(number, doc_id)
        retrieved = first < sum(map(len, rows[: len(self._runs)]))
        scores = self._of_pairs(rows, pair, len(first))
        query, first = number[first[retrieved]], first[retrieved]
        ids = pl.Series(query_ids, dtype=pl.String)
        table = pl.DataFrame({"query_id": ids.gather(query), "doc_id": doc_id.gather(first)})
        filled = {
            part: self._filled(part, scores[part][retrieved], table, run.lowest(query_ids)[query])
            for part, run in self._runs
        }
        return table.with_columns(**self._summed(filled))

    def _of_pairs(self, rows: Sequence[Numbers], pair: Numbers, pairs: int) -> dict[str, Floats]:
        """Return the scores of each part, NaN where it has none; `pair` is that of each row."""
        scores = {part: np.full(pairs, np.nan) for part in self._system.parts}
        end = len(pair)
        for (part, source), own in reversed([*zip([*self._runs, *self._true], rows, strict=True)]):
            scores[part][pair[end - len(own) : end]] = source.score[own]  # its list over true ones
            end -= len(own)
        return scores

    def _filled(self, part: str, scores: Floats, pairs: pl.DataFrame, lowest: Floats) -> Floats:
        """Give the docs that a part did not retrieve the lowest score of its list, or an error."""
        lacking = np.isnan(scores)
        if self._system.rule(part) == "minimum":
            return np.where(lacking, lowest, scores)
        if lacking.any():
            query_id, doc_id = pairs.filter(lacking).sort(PAIR).row(0)
            paths = ", ".join(map(str, self._files[part]))
            raise ResiduumError(
                f"{paths}: no score of {part} for query {query_id}, doc {doc_id}. Delete the file "
                "and run again."
            )
        return scores

    def _summed(self, scores: Mapping[str, Floats]) -> dict[str, Floats]:
        """Add up all parts but the weighted one, in their order."""
        weighting = self._system.interpolation
        first, *others = (
            scores[part] * weighting.others.get(part, 1.0)
            for part in self._system.parts
            if part != weighting.weighted
        )
        return {WEIGHTED: scores[weighting.weighted], REST: sum(others, start=first)}


def _distinct(number: Numbers, doc_id: pl.Series) -> tuple[Numbers, Numbers]:
    """Return the first row of each pair of query and doc, sorted by query, and each row's pair.

    Pairs are told apart by a hash of the doc_id; where two docs share it, by another one.
    """
    for seed in count():
        low = doc_id.hash(seed).to_numpy() >> np.uint64(QUERY_BITS)
        keys = low | (number.astype(np.uint64) << np.uint64(64 - QUERY_BITS))
        _, first, pair = np.unique(keys, return_index=True, return_inverse=True)
        later = np.flatnonzero(first[pair] != np.arange(len(keys)))
        if (doc_id.gather(later) == doc_id.gather(first[pair[later]])).all():
            break
    return first, pair


def ranked(pairs: pl.DataFrame, weight: float | pl.Series, k: int) -> pl.DataFrame:
    """Rank by `weight * weighted + rest` and cut at k; weights may be given per pair."""
    return trec.rank(pairs.select(*PAIR, score=weight * pl.col(WEIGHTED) + pl.col(REST)), k)


def contenders(pairs: pl.DataFrame, weights: Sequence[float], k: int) -> pl.DataFrame:
    """Keep the pairs that one of the weights at least brings among the first `k` of their query.

    The pairs of a query are together, as `unions` yields them. All weights are tried at once; ties
    with the k-th stay, for `ranked` to break.
    """
    lengths = pairs["query_id"].rle().struct.field("len").to_numpy()
    weighted, rest = pairs[WEIGHTED].to_numpy(), pairs[REST].to_numpy()
    tried, kept = np.array(weights)[:, None], np.ones(pairs.height, dtype=bool)
    ends = np.cumsum(lengths)
    for start, end in zip(ends - lengths, ends, strict=True):
        if end - start > k:
            scores = tried * weighted[start:end] + rest[start:end]
            last = np.partition(scores, -k, axis=1)[:, [-k]]
            near = scores >= last - ROUNDING - np.spacing(np.abs(last)) * 4
            kept[start:end] = near.any(axis=0)
    return pairs.filter(kept)
