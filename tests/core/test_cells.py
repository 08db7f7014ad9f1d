"""Folds of a cross-validation pooled into one cell."""

import numpy as np
import pytest

from residuum.core.cells import Cell, pooled
from residuum.core.errors import ResiduumError


def fold(ids, values, runs=("a.seed1", "a.seed2")):
    return Cell(list(ids), list(runs), np.array(values, dtype=float))


def test_folds_are_joined_in_the_order_of_query_ids():
    made = pooled([fold(["301", "305"], [[1, 2], [5, 6]]), fold(["303"], [[3, 4]])])
    assert made.query_ids == ["301", "303", "305"]
    assert made.runs == ["a.seed1", "a.seed2"]
    assert made.values.tolist() == [[1, 2], [3, 4], [5, 6]]
    assert made.per_query.tolist() == [1.5, 3.5, 5.5]


def test_the_order_of_folds_changes_nothing():
    folds = [fold([f"{i}"], [[i, i]]) for i in range(5)]
    assert pooled(folds).values.tolist() == pooled(folds[::-1]).values.tolist()


@pytest.mark.parametrize(
    ("folds", "message"),
    [
        ([], "no folds"),
        ([fold("ab", [[1, 2]] * 2), fold("cb", [[1, 2]] * 2)], "fold 2 holds query b, .* share no"),
        ([fold("a", [[1, 2]]), fold("b", [[1]], ["x"])], "fold 2 has 1 runs, fold 1 has 2"),
    ],
)
def test_what_cannot_be_pooled(folds, message):
    with pytest.raises(ResiduumError, match=message):
        pooled(folds)
