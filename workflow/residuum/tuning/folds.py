"""Folds of queries for cross-validation: dealt, or those of the collection.

Usage: `fold_of = split(ids, judged, folds=2, seed=1)`, or `named(ids, lists)` where a collection
has folds of its own. Pure functions. Must not know what is chosen on them.
"""

from collections.abc import Collection, Sequence

from residuum.cli.errors import ResiduumError
from residuum.config.specs import derive


def split(
    query_ids: Sequence[str], judged: Collection[str], folds: int, seed: int
) -> dict[str, int]:
    """Return the fold of each query: dealt in turn, in the order of a seeded hash of the id.

    Judged queries are dealt first, so that the folds are as equal as can be in them too. Raises
    ResiduumError if they are fewer than the folds.
    """
    if len(judged) < folds:
        raise ResiduumError(
            f"{len(judged)} judged queries cannot be split into {folds} folds. Use fewer folds or "
            "more queries."
        )
    dealt = sorted(query_ids, key=lambda q: (q not in judged, derive(seed, "fold", q), q))
    fold = {query_id: number % folds for number, query_id in enumerate(dealt)}
    return {query_id: fold[query_id] for query_id in query_ids}


def named(query_ids: Sequence[str], folds: Sequence[Collection[str]]) -> dict[str, int]:
    """Return the fold of each query, given the queries of each fold; every query is in one."""
    holding = {
        query_id: [n for n, ids in enumerate(folds) if query_id in ids] for query_id in query_ids
    }
    for query_id, numbers in holding.items():
        if len(numbers) != 1:
            listed = ", ".join(str(number + 1) for number in numbers) or "none"
            raise ResiduumError(
                f"query {query_id} is in {len(numbers)} of the {len(folds)} folds ({listed}); "
                "folds divide the queries: each is in exactly one"
            )
    return {query_id: number for query_id, (number,) in holding.items()}
