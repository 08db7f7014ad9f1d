"""Corrections by hand."""

import pytest

from comparison_fixture import comparison
from residuum.paired import adjust
from residuum.paired.comparisons import bonferroni, holm


def test_corrections_by_hand():
    p = [0.01, 0.04, 0.03, 0.2]
    assert bonferroni(p) == pytest.approx([0.04, 0.16, 0.12, 0.8])
    # sorted: .01 x 4, .03 x 3, .04 x 2 (raised to .09), .2 x 1
    assert holm(p) == pytest.approx([0.04, 0.09, 0.09, 0.2])
    assert holm([0.6, 0.5]) == [1.0, 1.0]


def test_adjust_corrects_within_families_only():
    made = [("a", 0.03), ("a", 0.02), ("b", 0.03)]
    rows = [comparison(family=family, p=p) for family, p in made]

    def adjusted(correction):
        return [(row.p_adjusted, row.significant) for row in adjust(rows, correction, 0.05)]

    assert adjusted("bonferroni") == [(0.06, False), (0.04, True), (0.03, True)]
    assert adjusted("holm") == [(0.04, True), (0.04, True), (0.03, True)]
    assert adjust(rows, "none", 0.025)[1].significant
    assert not adjust(rows, "none", 0.025)[0].significant
