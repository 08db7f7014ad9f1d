"""Rows of comparisons by hand; what they depend on; what is refused."""

import itertools
import os
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from conftest import ROOT
from residuum import paired
from residuum.cli.errors import ResiduumError
from residuum.config.schema.tests import Tests
from residuum.paired import comparisons

TESTS = {"test": "permutation", "alpha": 0.05, "correction": "none", "family": "column"}


def options(**changes):
    return Tests.model_validate({**TESTS, "bootstrap": 200, **changes})


def matrix(values, ids=None):
    """Make the values of a system, of shape (queries,) or (queries, seeds)."""
    values = np.array(values, dtype=float)
    values = values[:, None] if values.ndim == 1 else values
    return paired.ScoreMatrix(ids or [f"q{i:03d}" for i in range(len(values))], values)


def compare(scores, pairs, tests, **workers):
    """Compare systems by one measure."""
    keyed = {(system, ""): values for system, values in scores.items()}
    return paired.compare(keyed, [paired.Pair(*pair) for pair in pairs], tests, **workers)


def one(a, b, **changes):
    return compare({"a": matrix(a), "b": matrix(b)}, [("a", "b")], options(**changes))[0]


def test_a_row_by_hand():
    row = one([0.5, 0.75, 0.5, 1.0], [0.25, 0.25, 0.5, 1.0])
    assert (row.a, row.b, row.n, row.seeds) == ("a", "b", 4, 1)
    assert (row.mean_a, row.mean_b, row.difference) == (0.6875, 0.5, 0.1875)
    assert (row.wins, row.ties, row.losses) == (2, 2, 0)
    assert (row.p, row.p_error, row.method) == (0.5, 0.0, "exact, 2^2 sign flips")
    assert (row.p_mixed_effects, row.seeds_agreeing) == (None, None)
    assert (row.boot_low, row.boot_high) == (None, None), "of so few queries"
    row = one([1.5, 2.5, 3.5, 0.5, 0.0], [0.5, 0.5, 0.5, 0.5, 1.0])
    assert (row.difference, row.wins, row.ties, row.losses) == (1.0, 3, 1, 1)
    assert row.effect == pytest.approx(1.0 / np.sqrt(2.5))


def test_equal_systems_and_one_query():
    row = one([0.5] * 4, [0.5] * 4)
    assert (row.p, row.difference, row.ties, row.effect) == (1.0, 0.0, 4, None)
    row = one([0.5], [0.25])
    assert (row.p, row.wins, row.ci_low, row.boot_low) == (1.0, 1, None, None)
    for test in ("t-test", "wilcoxon"):
        assert one([0.5], [0.25], test=test).p == 1.0
        assert one([0.5] * 3, [0.5] * 3, test=test).p == 1.0


def test_what_is_within_rounding_is_a_tie():
    values = np.random.default_rng(1).random(30)
    noisy = values + np.random.default_rng(2).normal(0, 1e-14, size=30)
    for test in ("permutation", "t-test", "wilcoxon"):
        row = one(values, noisy, test=test)
        assert (row.p, row.ties, row.effect) == (1.0, 30, None)


def test_the_order_of_queries_and_columns_changes_nothing():
    random = np.random.default_rng(1)
    ids = [f"q{i:03d}" for i in range(40)]
    values = {name: random.random((40, 2)).round(2) for name in "abc"}
    shuffled = random.permutation(40)
    cells = {name: matrix(v, ids) for name, v in values.items()}
    mixed = {n: matrix(v[shuffled], [ids[i] for i in shuffled]) for n, v in values.items()}
    pairs = list(itertools.combinations("abc", 2))
    rows = compare(cells, pairs, options())
    assert rows == compare(mixed, pairs, options(), workers=3)
    assert rows[::-1] == compare(cells, pairs[::-1], options())
    assert rows[:1] == compare(cells, pairs[:1], options())


def test_columns_tested_together_have_the_p_of_columns_tested_alone():
    random = np.random.default_rng(1)
    columns = {"rr": 40, "ndcg": 40, "far": 17}
    cells = {
        (name, column): matrix(random.random(n)) for column, n in columns.items() for name in "ab"
    }
    rows = paired.compare(cells, [paired.Pair("a", "b", c) for c in columns], options())
    assert [(row.column, row.n) for row in rows] == list(columns.items())
    for row in rows:
        own = {name: cells[name, row.column] for name in "ab"}
        alone = compare(own, [("a", "b")], options())[0]
        assert replace(alone, column=row.column) == row


def test_seeds_are_averaged_and_counted():
    # Three seeds: a beats b by 0.3 and 0.2 on every query, and loses by 0.1 in the third.
    b = np.full((20, 1), 0.5)
    a = b + [0.3, 0.2, -0.1] + 0.01 * np.tile([1, -1], 10)[:, None]
    row = one(a, b)
    assert row.seeds == 3
    assert row.difference == pytest.approx(0.4 / 3)
    assert row.seeds_agreeing == "2/3", "significant in the third too, but the other way"
    assert row.p < 0.001 < 0.05 < row.p_mixed_effects, "three seeds that disagree show little"
    turned = one(b, a)
    assert (turned.seeds_agreeing, turned.p_mixed_effects) == (
        "2/3",
        pytest.approx(row.p_mixed_effects),
    )


def test_ranks_may_turn_a_difference_that_means_turn_the_other_way():
    # b is better in 50 queries by about 0.011, a in 10 by 1: the means favour a, the ranks b.
    d = np.concatenate([-0.011 - 1e-5 * np.arange(50), np.full(10, 1.0)])
    row = one(0.5 + d, np.full(60, 0.5), test="wilcoxon")
    assert row.difference > 0 and row.p == pytest.approx(
        stats.wilcoxon(d, method="asymptotic").pvalue
    )
    assert (row.significant, row.direction, row.disagrees, row.beats) == (True, -1, True, None)
    seeds = one(np.stack([0.5 + d, 0.5 + d], axis=1), np.full(60, 0.5), test="wilcoxon")
    assert seeds.seeds_agreeing == "2/2", "each alone favours b, as both do together"
    agreeing = one(0.5 - np.abs(d), np.full(60, 0.5), test="wilcoxon")
    assert (agreeing.direction, agreeing.beats) == (-1, ("b", "a"))
    assert one(0.5 + d, np.full(60, 0.5)).direction == 1, "the flips test the sum"


@pytest.mark.parametrize("correction", ["none", "bonferroni", "holm"])
def test_what_holds_over_seeds_is_corrected_as_p_is(correction):
    # Column one: seeds agree. Two: they do not. Three has no seeds, and counts by its p.
    b = np.full((20, 1), 0.5)
    noise = 0.01 * np.tile([1, -1], 10)[:, None]
    cells = {("b", c): matrix(b) for c in ("one", "two", "three")}
    cells["a", "one"] = matrix(np.add(b, [0.3, 0.31, 0.29]) + noise)
    cells["a", "two"] = matrix(np.add(b, [0.3, 0.2, -0.1]) + noise)
    cells["a", "three"] = matrix(b + 0.3 + noise)
    pairs = [paired.Pair("a", "b", c, family="all") for c in ("one", "two", "three")]
    rows = paired.adjust(paired.compare(cells, pairs, options()), correction, 0.05)
    larger = [max(row.p, row.p_mixed_effects or 0) for row in rows]
    expected = comparisons.CORRECTIONS[correction](larger)
    assert [row.p_over_seeds for row in rows] == [*expected[:2], None]
    assert [row.holds_over_seeds for row in rows] == [True, False, None]
    assert all(row.significant for row in rows)


def test_a_seed_that_shows_nothing_alone_does_not_hold():
    either_way = np.tile([0.1, -0.1], 10)
    a = 0.5 + np.stack([either_way, 0.2 + either_way, 0.01 + either_way], axis=1)
    assert one(a, np.full(20, 0.5)).seeds_agreeing == "1/3"
    assert one(a, np.stack([np.full(20, 0.5)] * 3, axis=1)).seeds_agreeing == "1/3"
    assert one(a, a[:, [1, 2, 0]] - 0.0).seeds_agreeing == "0/3"


def test_seeds_that_do_not_pair_have_no_p_over_seeds():
    row = one(np.random.default_rng(1).random((9, 2)), np.zeros((9, 3)))
    assert (row.seeds, row.p_mixed_effects, row.seeds_agreeing) == (3, None, None)
    assert one([[0.5, 0.4]], [0.2]).p_mixed_effects is None, "nor does a single query"


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_what_is_no_number_is_refused(wrong):
    with pytest.raises(ResiduumError, match=r"b: query q001 has the value .*, which is not finite"):
        one([0.5, 0.5], [0.5, wrong])


def test_different_queries_and_none_are_refused():
    cells = {"a": matrix([0.5, 0.5]), "b": matrix([0.5, 0.5, 0.5]), "c": matrix(np.zeros((0, 1)))}
    with pytest.raises(ResiduumError, match=r"a and b hold different queries \(1 .* as q002\)"):
        compare(cells, [("a", "b")], options())
    cells["d"] = cells["c"]
    with pytest.raises(ResiduumError, match="c and d hold no queries"):
        compare(cells, [("c", "d")], options())
    cells["e"] = matrix([0.5, 0.5], ["q1", "q1"])
    with pytest.raises(ResiduumError, match="e: duplicate query q1"):
        compare(cells, [("a", "e")], options())


def test_seeds_whose_own_p_is_near_alpha_are_counted():
    # 999 flips: near alpha is whatever lies within 2 sqrt(p (1 - p) / 1000) of it, about 0.014.
    random = np.random.default_rng(5)
    b = random.random((60, 1))
    a = b + np.linspace(0, 0.1, 40) + random.normal(0, 0.2, size=(60, 40))
    row = one(a, b, resamples=999)
    alone = [one(a[:, [seed]], b, resamples=999).p for seed in range(40)]
    near = sum(abs(p - 0.05) <= 2 * np.sqrt(p * (1 - p) / 1000) for p in alone)
    assert row.seeds_near_alpha == near
    assert 0 < near < 40
    assert one(a, b, test="t-test").seeds_near_alpha == 0, "nothing is drawn"
    assert one(a[:, 0], b).seeds_near_alpha is None


PRINTED = """
import numpy as np
from residuum.config.schema.tests import Tests
from residuum.paired import Pair, ScoreMatrix, compare
random = np.random.default_rng(0)
values = {("s%d" % i, ""): ScoreMatrix([str(q) for q in range(70)], random.random((70, 3)))
          for i in range(12)}
pairs = [Pair(a, b) for a, _ in values for b, _ in values if a < b]
for test in ("t-test", "wilcoxon"):
    tests = Tests(test=test, alpha=0.05, correction="none", family="column", bootstrap=20)
    print(*compare(values, pairs, tests), sep="\\n")
"""


def test_rows_are_the_same_with_another_mathematical_library():
    """The C library has several forms of exp and log; it takes them by the processor."""
    without = "glibc.cpu.hwcaps=-AVX2,-FMA,-AVX512F,-AVX2_Usable,-FMA_Usable,-FMA4_Usable"
    printed = {
        subprocess.run(
            [sys.executable, "-c", PRINTED],
            env={**os.environ, "PYTHONPATH": str(ROOT / "workflow"), "GLIBC_TUNABLES": tunables},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for tunables in ("", without)
    }
    assert len(printed) == 1
    for row in next(iter(printed)).split("\n")[:66]:
        (p,) = re.findall(r" p=([^,]*)", row)
        assert float(p) == float(f"{float(p):.12g}")
