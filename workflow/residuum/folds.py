"""Cross-validation over queries: deal them into folds, choose for each fold on the others.

Usage: `fold_of = split(ids, judged, folds=2, seed=1)`, or `named(ids, lists)` where a collection
has folds of its own; then `choose(values, fold)`. Pure functions.
Must not know what a setting is or how it was searched.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from residuum.core import seeds
from residuum.core.errors import ResiduumError


class Choice(NamedTuple):
    """What one fold gets: a setting, chosen on the other folds, and the means of its values."""

    setting: int
    queries: int
    value_on_others: float
    value_held_out: float


def split(
    query_ids: Sequence[str], judged: Collection[str], folds: int, seed: int
) -> dict[str, int]:
    """Return the fold of each query: dealt in turn, in the order of a seeded hash of the id.

    Judged queries are dealt first, so that the folds are as equal as can be in them too.
    """
    dealt = sorted(query_ids, key=lambda q: (q not in judged, seeds.derive(seed, "fold", q), q))
    fold = {query_id: place % folds for place, query_id in enumerate(dealt)}
    return {query_id: fold[query_id] for query_id in query_ids}


def named(query_ids: Sequence[str], folds: Sequence[Collection[str]]) -> dict[str, int]:
    """Return the fold of each query, given the queries of each fold; every query is in one."""
    places = {
        query_id: [n for n, ids in enumerate(folds) if query_id in ids] for query_id in query_ids
    }
    for query_id, found in places.items():
        if len(found) != 1:
            numbers = ", ".join(str(number + 1) for number in found) or "none"
            raise ResiduumError(
                f"query {query_id} is in {len(found)} of the {len(folds)} folds ({numbers}); "
                "folds divide the queries: each is in exactly one"
            )
    return {query_id: found[0] for query_id, found in places.items()}


def choose(values: np.ndarray, fold: np.ndarray) -> list[Choice]:
    """Return for each fold the setting with the best mean on the queries of all other folds.

    `values` has shape (settings, queries), `fold` (queries,) and counts from 0; every fold has a
    query. The first of equal settings wins.
    """
    return [_choice(values, fold == number) for number in range(int(fold.max()) + 1)]


def _choice(values: np.ndarray, held_out: np.ndarray) -> Choice:
    others = means(values[:, ~held_out])
    best = others.index(max(others))
    return Choice(best, int(held_out.sum()), others[best], means(values[:, held_out])[best])


def means(values: np.ndarray) -> list[float]:
    """Return the mean of each row, exact before it is rounded, so that equals stay equal."""
    return [math.fsum(row) / len(row) for row in values.tolist()]


def edges(chosen: Mapping[str, Any], grid: Mapping[str, Sequence[Any]]) -> list[str]:
    """Name the parameters whose chosen value is the least or the greatest of several."""
    return [
        name
        for name, tried in grid.items()
        if len(set(tried)) > 1 and chosen[name] in (min(tried), max(tried))
    ]
