"""Complementarity: the paper's own Venn diagrams, edges, seeds, the interval as SciPy has it."""

import numpy as np
import pytest
from scipy import stats

from residuum.cli.errors import ResiduumError
from residuum.paired import ScoreMatrix
from residuum.paired.coverage import coverage, wilson


def hits(*columns: list[int]) -> ScoreMatrix:
    values = np.array(columns, dtype=float).T
    return ScoreMatrix([f"q{i}" for i in range(len(values))], values)


def venn(residual: int, both: int, other: int, failures: int) -> tuple[ScoreMatrix, ScoreMatrix]:
    """Return the hits of D and of S, of which so many queries are D's alone, both's, S's alone."""
    dense = [1] * residual + [1] * both + [0] * other + [0] * failures
    sparse = [0] * residual + [1] * both + [1] * other + [0] * failures
    return hits(dense), hits(sparse)


# Lee et al. 2023, Figure 1, in tenths of a per cent: (a) BM25+DPR, (b) CLEAR, (c) none in both.
@pytest.mark.parametrize(
    ("parts", "ratio", "failures"),
    [
        ((152, 324, 59, 465), 0.319, 465),
        ((200, 340, 42, 418), 0.370, 418),
        ((476, 0, 383, 141), 1.0, 141),
    ],
)
def test_the_papers_diagrams_give_the_papers_ratios(
    parts: tuple[int, int, int, int], ratio: float, failures: int
) -> None:
    result = coverage(*venn(*parts))
    assert round(result.ratio or 0, 3) == ratio
    assert (result.residual, result.overlap, result.failures) == (parts[0], parts[1], failures)
    assert (result.queries, result.first) == (1000, parts[0] + parts[1])
    assert result.second == parts[1] + parts[2]


def test_what_lies_within_the_other_adds_nothing_and_no_hit_has_no_ratio() -> None:
    within = coverage(*venn(0, 5, 3, 2))
    assert (within.ratio, within.low) == (0, 0) and 0 < (within.high or 0) < 0.5
    nothing = coverage(*venn(0, 0, 3, 2))
    assert (nothing.ratio, nothing.low, nothing.high) == (None, None, None)
    assert nothing.failures == 2


def test_seeds_have_a_ratio_each_and_stand_beside_one_lexical_run() -> None:
    """By hand: 1 of 2 and 3 of 4, so 0.625; from pooled counts it would be 4 of 6."""
    dense = hits([1, 1, 0, 0, 0, 0], [1, 1, 1, 1, 0, 0])
    result = coverage(dense, hits([1, 0, 0, 0, 0, 1]))
    assert result.ratio == 0.625
    assert (result.first, result.residual, result.overlap, result.failures) == (3, 2, 1, 2)
    assert (result.low, result.high) == wilson(0.625, 3)
    paired = coverage(dense, hits([1, 0, 0, 0, 0, 1], [1, 1, 1, 1, 0, 0]))
    assert paired.ratio == 0.25


@pytest.mark.parametrize(("found", "of"), [(0, 7), (1, 7), (152, 476), (30, 30)])
def test_the_interval_is_wilsons_as_scipy_has_it(found: int, of: int) -> None:
    expected = stats.binomtest(found, of).proportion_ci(method="wilson")
    assert wilson(found / of, of) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_other_values_than_hits_and_other_queries_are_refused() -> None:
    with pytest.raises(ResiduumError, match=r"a hit or none, 1 or 0, not 0\.5"):
        coverage(ScoreMatrix(["q0"], np.array([[0.5]])), hits([1]))
    with pytest.raises(ValueError, match="other queries"):
        coverage(hits([1, 0]), hits([1, 0, 1]))
