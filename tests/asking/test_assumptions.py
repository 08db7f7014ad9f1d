"""Assumptions as a reader sees them."""

import pytest

from residuum.asking.assumptions import ASSUMED, Assumption, assumed


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (60e9, "60 thousand million"),
        (2.5e6, "2.5 million"),
        (3, "3"),
        (0.05, "0.05"),
        (5e-6, "5 µs"),
        (8.7017e-9, "8.7 ns"),
    ],
)
def test_numbers_are_told_in_units_that_suit_them(value, told):
    assert Assumption(value, "takes {}.").told() == f"takes {told}."


def test_every_assumption_shows_its_number():
    assert all(assumption.text.count("{}") == 1 for assumption in ASSUMED.values())
    # 13 queries a second over MS MARCO's 8.84 million passages, as published
    assert assumed("search") * 8.84e6 == pytest.approx(1 / 13)
