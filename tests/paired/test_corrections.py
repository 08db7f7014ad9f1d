"""Corrections by hand."""

import pytest

from residuum.paired import adjust
from residuum.paired.corrections import bonferroni, holm


def test_corrections_by_hand():
    p = [0.01, 0.04, 0.03, 0.2]
    assert bonferroni(p) == pytest.approx([0.04, 0.16, 0.12, 0.8])
    # sorted: .01 x 4, .03 x 3, .04 x 2 (raised to .09), .2 x 1
    assert holm(p) == pytest.approx([0.04, 0.09, 0.09, 0.2])
    assert holm([0.6, 0.5]) == [1.0, 1.0]


def test_adjust_corrects_within_families_only():
    rows = [{"family": "a", "p": 0.03}, {"family": "a", "p": 0.02}, {"family": "b", "p": 0.03}]
    adjust(rows, "bonferroni")
    assert [row["p_adjusted"] for row in rows] == pytest.approx([0.06, 0.04, 0.03])
    adjust(rows, "holm")
    assert [row["p_adjusted"] for row in rows] == pytest.approx([0.04, 0.04, 0.03])
    adjust(rows, "none")
    assert [row["p_adjusted"] for row in rows] == [0.03, 0.02, 0.03]
