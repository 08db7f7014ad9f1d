"""The values of derived columns, made from two runs' values of a measure.

Usage: `value(column, dense, lexical)` gives a `ScoreMatrix`, or a `Coverage` for RoC.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from residuum.cli.errors import NotRun
from residuum.pages.cells import TICK
from residuum.pages.layout import DASH
from residuum.pages.table.entry import Column
from residuum.paired import ScoreMatrix
from residuum.paired.coverage import Coverage, coverage, overlap, residual

Value = ScoreMatrix | Coverage


class Derivation(NamedTuple):
    """How a value is made from D and S, or from two rows, and its description for readers."""

    made: Callable[[ScoreMatrix, ScoreMatrix], Value]
    words: str


def better(row: ScoreMatrix, other: ScoreMatrix) -> ScoreMatrix:
    """Return 1 for each query and seed in which a row's value is higher than the other row's.

    Differences of at most 1e-12 are rounding, as in every comparison.
    """
    a, b = np.broadcast_arrays(row.values, other.values)
    return ScoreMatrix(row.query_ids, (a - b > 1e-12).astype(np.float64))


def ratio(dense: ScoreMatrix, lexical: ScoreMatrix) -> Coverage:
    """Return RoC; NotRun if D answers no query."""
    counts = coverage(dense, lexical)
    if counts.ratio is None:
        raise NotRun("the dense part D answers no query, so that RoC would divide by 0")
    return counts


DERIVED = {
    "residual": Derivation(residual, "share of the queries that D answers and S does not"),
    "overlap": Derivation(overlap, "share of the queries that both D and S answer"),
    "RoC": Derivation(
        ratio,
        "among the queries that D answers, the share that S does not answer: a ratio of sums in "
        "each seed, averaged over seeds; in brackets Wilson's 95% interval over D's hits of one "
        "seed; not tested",
    ),
    "better": Derivation(
        better, "share of the queries in which a row's value is higher than that of"
    ),
}
PARTS = (
    "D is the dense part of a row and S its lexical part. Each searches alone; neither is the "
    f"hybrid (Lee et al., ACL 2023). {DASH}: a row without such parts."
)


def value(column: Column, *sides: ScoreMatrix) -> Value:
    """Return the value of a column from the scores of its sides; a derived column has two sides."""
    return DERIVED[column.derived].made(*sides) if column.derived else sides[0]


def explained(column: Column) -> Iterator[str]:
    """Yield the description of a derived column, a change or a tick; nothing for a measure."""
    if column.derived:
        yield " ".join(filter(None, (DERIVED[column.derived].words, column.than)))
    if column.change_from:
        yield f"differences from {column.change_from}, whose row shows its value"
    if column.tick:
        yield f"{TICK}: significantly {column.tick} {column.change_from}"
