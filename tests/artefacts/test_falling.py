"""Scores fall strictly along ranks, in single precision too."""

import random

import numpy as np
import polars as pl

from residuum.artefacts import falling


def run(*scores, query="q1"):
    n = len(scores)
    return pl.DataFrame(
        {"query_id": [query] * n, "doc_id": [f"d{i}" for i in range(n)], "rank": range(1, n + 1),
         "score": list(map(float, scores))},
        schema_overrides={"rank": pl.Int64},
    )  # fmt: skip


def below(value, steps=1):
    """The float32 so many below, as the double that its shortest decimal reads as."""
    for _ in range(steps):
        value = np.nextafter(np.float32(value), np.float32(-np.inf))
    return float(str(value))


def strict(*scores):
    return falling.strictly(run(*scores))["score"].to_list()


def test_scores_that_fall_stay():
    assert strict(2.5, 2.4, 0.1, 0.0, -3.25) == [2.5, 2.4, 0.1, 0.0, -3.25]


def test_scores_that_tie_are_lowered_by_a_step_each():
    assert strict(3, 1, 1, 1, 0.5) == [3, 1, below(1), below(1, 2), 0.5]
    assert below(1) == 0.99999994  # 1 - 2^-24


def test_what_single_precision_cannot_tell_apart_is_a_tie():
    assert np.float32(20.0000015) == np.float32(20.000001)
    assert strict(20.0000015, 20.000001) == [20.0000015, 20.0]


def test_a_score_that_was_passed_is_lowered_too():
    near = below(1)
    assert strict(1, 1, near) == [1, below(1), below(1, 2)]


def test_zeros_and_negative_scores_that_tie():
    assert strict(0.0, 0.0, -0.0) == [0.0, -1.1754944e-38, -1.1754945e-38]  # -2^-126: no subnormal
    assert strict(1.1754944e-38, 1.1754944e-38, 1e-40) == [1.1754944e-38, 0.0, -1.1754944e-38]
    assert strict(-2, -2) == [-2, below(-2)]
    assert below(-2) == -2.0000002


def test_queries_have_nothing_to_do_with_one_another():
    both = pl.concat([run(1, 1), run(1, 1, query="q2"), run(5, query="q3")])
    assert falling.strictly(both)["score"].to_list() == [1, below(1), 1, below(1), 5]


def test_an_empty_run_is_one():
    assert falling.strictly(run()).height == 0


def test_any_run_falls_strictly_and_by_no_more_than_its_ties():
    draw = random.Random(1)
    scores = sorted(round(draw.gauss(0, 3), draw.choice([0, 1, 6])) for _ in range(5000))[::-1]
    made = falling.strictly(run(*scores))["score"].to_list()
    singles = np.array(made, dtype=np.float32)
    assert (np.diff(singles) < 0).all() and (np.diff(made) < 0).all()
    expected = [np.float32(scores[0])]
    for score in scores[1:]:  # by hand, one after the other
        lower = np.nextafter(expected[-1], np.float32(-np.inf))
        lower = np.float32(-(2.0**-126)) if abs(lower) < 2.0**-126 else lower
        expected.append(min(np.float32(score), lower))
    assert np.array_equal(singles, np.array(expected))
