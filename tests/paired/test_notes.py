"""What is said of comparisons, and when nothing is."""

import pytest

from residuum.paired import notes

ROW = {
    "a": "x", "b": "y", "p": 0.2, "p_error": 0.004, "p_adjusted": 0.2, "significant": False,
    "method": "9999 sign flips", "p_seeds": None, "seeds_holding": "",
}  # fmt: skip


def said(*rows):
    return notes.remarks(
        [{**ROW, **row} for row in rows], 0.05, lambda row: f"{row['a']}-{row['b']}"
    )


def test_nothing_to_say():
    assert said({}) == []
    assert said({"p": None, "method": None}) == [], "a row that was not tested"


def test_p_near_alpha_is_named_with_its_error():
    near = {"a": "clear", "p": 0.0485, "p_adjusted": 0.0485, "p_error": 0.002}
    (line,) = said({}, near, {"p": 0.0455, "p_adjusted": 0.0455, "p_error": 0.002})
    assert "clear-y (p 0.0485 ± 0.0020)." in line
    assert "x-y" not in line


def test_the_error_of_an_adjusted_p_is_scaled_with_it():
    # Raw p is far from 0.05, but three times p is not: 0.054 within 2 x 3 x 0.001.
    (line,) = said({"p": 0.018, "p_adjusted": 0.054, "p_error": 0.001})
    assert "x-y (p 0.0540 ± 0.0030)" in line
    assert said({"p": 0.05, "p_adjusted": 0.15, "p_error": 0.002}) == []


def test_an_exact_p_has_no_error():
    (line,) = said(
        {"p": 0.05, "p_adjusted": 0.05, "p_error": 0.0, "method": "exact, 2^9 flips"}, {}
    )
    assert line.startswith("Exact p in 1 of 2 comparisons")


@pytest.mark.parametrize("true", [True, "true"])
def test_seeds(true):
    held = {"significant": true, "seeds_holding": "3/3", "p_seeds": 0.01}
    partly = {"significant": true, "seeds_holding": "2/3", "p_seeds": 0.07}
    not_significant = {"seeds_holding": "1/3", "p_seeds": 0.5}
    (line,) = said(held, partly, partly, not_significant, {"significant": true})
    assert "of 3 significant comparisons between rows with seeds, 1 hold" in line
    assert "2 of 3 for 2, 3 of 3 for 1" in line
