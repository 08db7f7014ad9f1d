"""Search at every setting of RM3, and let each fold of the queries have its best on the others.

Used by `residuum.lexical`; no command of its own. Source: CLEAR section 4.
Must not know files, splits or which system is swept.
"""

import sys
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from residuum import evaluate, folds
from residuum.core import trec
from residuum.core.errors import ResiduumError
from residuum.core.measures import cutoff
from residuum.core.progress import track
from residuum.core.schema import Rm3, Rm3Sweep
from residuum.folds import Choice
from residuum.lucene.anserini import CHUNK, Searcher

PARAMETERS = ("feedback_docs", "feedback_terms", "original_query_weight")
SLACK = 10  # hits behind the cut-off, whose scores may become equal to its last by rounding


class Sweep:
    """A grid of RM3 settings, an index and judgements."""

    def __init__(
        self, searcher: Searcher, sweep: Rm3Sweep, qrels: pl.DataFrame, measure: str, k: int
    ) -> None:
        self._searcher, self._sweep, self._qrels = searcher, sweep, qrels
        self._grid = sweep.grid()
        self._measure, self._k = measure, k
        self._depth = min(k, _cutoff(measure, k))
        self._judged = qrels["query_id"].unique(maintain_order=True).to_list()

    def choose(
        self, texts: Mapping[str, str], named: Sequence[Collection[str]] = ()
    ) -> tuple[dict[str, Rm3], dict[str, Any]]:
        """Return the setting of every query, and the record of how the settings were chosen.

        `named` are the queries of each fold where the collection has folds of its own.
        """
        fold_of = folds.named(list(texts), named) if named else self._dealt(list(texts))
        values = self._values([(query_id, texts[query_id]) for query_id in self._judged])
        fold = np.array([fold_of[query_id] for query_id in self._judged])
        choices = folds.choose(values, fold)
        facts = [self._facts(choice) for choice in choices]
        _warn(facts)
        record = {
            "measure": self._measure,
            "folds": facts,
            "tried": self._tried(values, fold),
            "queries": len(self._judged),
            "fold_of": fold_of,
        }
        return {q: self._grid[choices[f].setting] for q, f in fold_of.items()}, record

    def _dealt(self, query_ids: list[str]) -> dict[str, int]:
        if len(self._judged) < self._sweep.folds:
            raise ResiduumError(
                f"{len(self._judged)} judged queries cannot be split into {self._sweep.folds} "
                "folds. Use fewer folds or more queries."
            )
        return folds.split(query_ids, set(self._judged), self._sweep.folds, self._sweep.seed)

    def _values(self, queries: list[tuple[str, str]]) -> np.ndarray:
        """Return the measure of each setting and query; hits are dropped once evaluated."""
        place = {query_id: number for number, (query_id, _) in enumerate(queries)}
        row = {setting: number for number, setting in enumerate(self._grid)}
        values = np.zeros((len(self._grid), len(queries)))
        batches = -(-len(queries) // CHUNK)
        found = self._searcher.search_grid(queries, self._grid, min(self._k, self._depth + SLACK))
        for ids, setting, hits in track(found, "sweep", batches * len(self._grid), "searches"):
            for query_id, value in self._evaluated(ids, hits).items():
                values[row[setting], place[query_id]] = value
        return values

    def _evaluated(self, query_ids: list[str], hits: pl.DataFrame) -> dict[str, float]:
        run = trec.rank(hits, self._depth)
        qrels = self._qrels.filter(pl.col("query_id").is_in(query_ids))
        metrics = evaluate.evaluate(run, qrels, [self._measure])
        return dict(metrics.select("query_id", "value").iter_rows())

    def _facts(self, choice: Choice) -> dict[str, Any]:
        chosen = self._grid[choice.setting].model_dump()
        return {
            "queries": choice.queries,
            "chosen": chosen,
            "value_on_others": choice.value_on_others,
            "value_held_out": choice.value_held_out,
            "at_edge": folds.edges(chosen, {n: getattr(self._sweep, n) for n in PARAMETERS}),
        }

    def _tried(self, values: np.ndarray, fold: np.ndarray) -> list[dict[str, Any]]:
        of_folds = [folds.means(values[:, fold == f]) for f in range(int(fold.max()) + 1)]
        by_setting = zip(self._grid, zip(*of_folds, strict=True), strict=True)
        return [{**rm3.model_dump(), "fold values": list(means)} for rm3, means in by_setting]

    def run(self, texts: Mapping[str, str], chosen: Mapping[str, Rm3]) -> pl.DataFrame:
        """Search every query at its setting: query_id, doc_id, score of `k` hits."""
        settings = dict.fromkeys(chosen.values())
        found = []
        for setting in settings:
            asked = [(q, text) for q, text in texts.items() if chosen[q] == setting]
            found.append(self._searcher.search(asked, self._k, setting))
        return pl.concat(found)


def _cutoff(measure: str, k: int) -> int:
    """Return how deep a measure looks; one without a cut-off looks at all `k` hits."""
    return cutoff(measure) or k


def _warn(found: list[dict[str, Any]]) -> None:
    for number, fold in enumerate(found):
        if fold["at_edge"]:
            where = ", ".join(f"{name} {fold['chosen'][name]}" for name in fold["at_edge"])
            print(f"warning: fold {number}: {where} at the edge of the grid", file=sys.stderr)
