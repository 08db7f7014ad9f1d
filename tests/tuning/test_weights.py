"""Exact weights: by hand, and against every weight of a fine grid and between all changes."""

from collections.abc import Iterable, Iterator

import numpy as np
import polars as pl
import pytest

from residuum.artefacts import trec
from residuum.config import measures
from residuum.fusion import ranked
from residuum.tuning import weights
from residuum.tuning.evaluation import of_rankings

MEASURES = ["RR@10", "RR", "Success@3", "Success@1"]


def table(*queries: list[tuple[float, float, int]]) -> pl.DataFrame:
    """Return pairs of queries from (weighted, rest, relevant) of each doc."""
    rows = [
        (f"q{n:02d}", f"d{number:03d}", *doc)
        for n, docs in enumerate(queries)
        for number, doc in enumerate(docs)
    ]
    names = [*trec.PAIR, "weighted", "rest", "relevance"]
    return pl.DataFrame(rows, schema=names, orient="row")


def means(
    pairs: pl.DataFrame, measure: str, tried: Iterable[float], depth: int = 1000
) -> list[float]:
    """Return the mean at each weight, of lists that are ranked and evaluated as all are."""
    cut = min(depth, measures.cutoff(measure) or depth)
    runs = [ranked(pairs, float(weight), cut) for weight in tried]
    values = of_rankings(runs, pairs.select(*trec.PAIR, "relevance"), measure)
    return [float(mean) for mean in values.mean(axis=1)]


def value(pairs: pl.DataFrame, measure: str, weight: float) -> float:
    [mean] = means(pairs, measure, [weight])
    return mean


def best(pairs: pl.DataFrame, measure: str, depth: int = 1000) -> list[float]:
    return weights.best(pairs, pairs["relevance"] > 0, measure, depth)


def test_a_doc_that_is_first_between_two_weights() -> None:
    # 2w + 1, w + 3.5, 5: the second is above the first up to 2.5, above the third from 1.5
    pairs = table([(2.0, 1.0, 0), (1.0, 3.5, 1), (0.0, 5.0, 0)])
    # the gap 1.5 to 2.5; of the others, that from 2.5 on has no end, and 0 to 1.5 is narrower
    assert best(pairs, "Success@1") == [2.0, 2500.0, 0.75, 0.0]
    assert means(pairs, "Success@1", (0.0, 1.4, 1.6, 2.4, 2.6)) == [0, 0, 1, 1, 0]


def test_the_widest_of_equal_gaps_comes_with_the_others() -> None:
    # relevant first below 1, and from 4 on: its rival lies between in both lists
    one = [(1.0, 1.0, 1), (2.0, 0.0, 0)]  # above up to 1
    two = [(1.0, 0.0, 1), (0.0, 4.0, 0)]  # above from 4
    tried = best(table(one, two), "Success@1")
    assert tried == [4000.0, 0.5, 2.5, 0.0]
    assert value(table(one, two), "Success@1", 2.0) == 0.0


def test_a_query_whose_list_never_changes_changes_nothing() -> None:
    same = [(1.0, 2.0, 1), (1.0, 1.0, 0), (1.0, 3.0, 0)]
    assert best(table(same), "RR@10") == [1.0, 0.0]
    assert best(table([(1.0, 0.0, 0), (0.0, 1.0, 0)]), "RR@10") == [1.0, 0.0], "none is relevant"


def test_docs_that_tie_at_0_alone_are_told_apart_by_any_other_weight() -> None:
    pairs = table([(0.0, 5.0, 0), (1.0, 5.0, 1)])
    assert means(pairs, "RR@10", best(pairs, "RR@10")) == [1.0, 0.5]


def test_a_gap_that_rounding_hides_does_not_stand_for_the_next_best() -> None:
    # q1: relevant first within 1 to 1 + 1e-9, else second; q2: first from 4 to 8
    one = [(0.0, 2.0, 0), (1.0, 1.0, 1), (2.0, -1e-9, 0)]
    two = [(1.0, 0.0, 1), (0.0, 4.0, 0), (2.0, -8.0, 0)]
    three = [(1.0, 0.0, 1), (0.0, 0.5, 0), (2.0, -3.9, 0)]  # 0.5 to 3.9
    pairs = table(one, two, three)
    values = means(pairs, "Success@1", best(pairs, "Success@1"))
    fine = means(pairs, "Success@1", np.linspace(0.003, 20, 4001))
    assert max(values) == max(fine) == pytest.approx(1 / 3)
    tried = best(pairs, "Success@1")
    assert tried[:2] == [6.0, pytest.approx((1 + 3.9) / 2, abs=1e-6)]
    assert 8000.0 in tried, "beyond all changes"


def test_where_the_best_gap_has_no_end_the_weighted_part_alone_orders_other_queries() -> None:
    # the tuning query asks for 2 and more; at 3 the test query's dense part still wins
    tuning = table([(1.0, 0.0, 1), (0.0, 2.0, 0)])
    test = table([(1.0, 0.0, 1), (0.0, 60.0, 0)])
    chosen = best(tuning, "Success@1")[0]
    assert chosen == 2000.0
    assert [value(test, "Success@1", w) for w in (3.0, chosen)] == [0.0, 1.0]


def problems() -> Iterator[pl.DataFrame]:
    random = np.random.default_rng(11)
    for queries, docs, kinds in ((1, 4, 9), (6, 30, 9), (25, 60, 9), (8, 40, 3)):
        made = []
        for _ in range(queries):
            # few kinds of scores: ties of docs, of both scores and of weights
            lexical = random.integers(kinds, size=docs).astype(float)
            dense = random.integers(-kinds, kinds, size=docs) * random.choice([0.1, 1.0, 30.0])
            relevant = random.random(docs) < random.choice([0.0, 0.05, 0.2])
            made.append(list(zip(lexical, dense, relevant.astype(int), strict=True)))
        yield table(*made)


@pytest.mark.parametrize("measure", MEASURES)
def test_no_weight_of_a_fine_grid_is_better(measure: str) -> None:
    for pairs in problems():
        for depth in (1000, 2):
            reached = means(pairs, measure, best(pairs, measure, depth), depth)
            fine = [*np.linspace(0, 40, 81), *np.geomspace(1e-3, 1e4, 30)]
            assert max(reached) >= max(means(pairs, measure, fine, depth)) - 1e-12


@pytest.mark.parametrize("depth", [1, 3, 10])
def test_what_no_weight_shows_is_dropped_and_nothing_else_changes(depth: int) -> None:
    for pairs in problems():
        few = weights.undominated(pairs, depth)
        for weight in (0.0, *np.geomspace(1e-4, 1e4, 40)):
            whole = ranked(pairs, float(weight), depth)
            assert ranked(few, float(weight), depth).equals(whole)
        for (query,), own in few.group_by("query_id"):
            scores = own.select("weighted", "rest").to_numpy()
            of = pairs.filter(query_id=query).select("weighted", "rest").to_numpy()
            beaten = ((of[None] > scores[:, None]).all(axis=2)).sum(axis=1)
            assert len(of) <= depth or (beaten < depth).all()


@pytest.mark.parametrize("measure", MEASURES)
def test_between_two_changes_the_value_is_the_same(measure: str) -> None:
    """Without ties, each gap has the value that its steps say, by evaluating its lists."""
    random = np.random.default_rng(2)
    docs = zip(random.random(12), random.random(12), [0, 1] * 6, strict=True)
    pairs = table(list(docs))
    own = pairs["weighted"].to_numpy(), pairs["rest"].to_numpy(), pairs["relevance"].to_numpy() > 0
    starts, values = weights._steps(*own, weights.of_rank(measure, 1000))
    ends = np.append(starts[1:], starts[-1] + 5)
    for start, end, expected in zip(starts, ends, values, strict=True):
        inside = [start + share * (end - start) for share in (0.01, 0.5, 0.99)]
        assert means(pairs, measure, inside) == pytest.approx([expected] * 3)


def test_folds_get_what_is_best_on_the_others() -> None:
    asked = []

    def find(own: list[str]) -> list[float]:
        asked.append(list(own))
        return [0.0, float(len(own))]

    folds = {"a": 0, "b": 1, "c": 1, "d": 2}
    assert weights.of_folds(find, ["a", "b", "c"], folds) == [0.0, 2.0, 1.0, 3.0]
    assert asked == [["b", "c"], ["a"], ["a", "b", "c"]]
    assert weights.of_folds(find, ["a", "b"], {}) == [0.0, 2.0]


def test_what_the_first_relevant_doc_decides() -> None:
    fitting = ["RR", "RR@10", "RR(rel=2)@10", "Success@1", "AnswerAccuracy@20"]
    others = ["nDCG@10", "AP@1000", "R@100", "P@5", "Holes@10"]
    assert [measures.of_first(name) for name in fitting + others] == [True] * 5 + [False] * 5
