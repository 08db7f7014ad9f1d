"""Whether data could have shown an effect: rules on hand-made values, and their verdicts."""

from dataclasses import fields

import numpy as np
import polars as pl
import pytest
from scipy import stats

from bounds_fixture import bounds_of
from comparison_fixture import comparison
from residuum.artefacts import trec
from residuum.config.schema.tests import Tests
from residuum.pages import bearing, verdicts
from residuum.pages.bearing import Limits, weigh
from residuum.pages.figure.entry import Figure
from residuum.pages.figure.job import BoundFigure
from residuum.pages.jobs import Basis, Trained
from residuum.pages.limits import below
from residuum.pages.table.blanks import blank_verdict
from residuum.pages.verdicts import Tested
from residuum.paired import Comparison
from tables_fixture import job

TESTS = Tests(test="permutation", alpha=0.05, correction="none", family="column")

DEPTHS = {
    "kind": "figure", "title": "Toy depths", "printed_in": "Toy, Figure 1", "role": "dev",
    "series": [{"id": "ours", "label": "Ours", "system": "ours"}],
    "panels": [
        {"id": "recall", "shows": "recall", "header": "Recall"},
        {"id": "accuracy", "shows": "reranked", "measure": "RR@10", "header": "MRR@10"},
    ],
    "tests": "toy",
}  # fmt: skip


def plain(**changes):
    """Return a comparison that nothing is known of yet."""
    made = comparison(**changes)
    return Comparison(**{field.name: getattr(made, field.name) for field in fields(Comparison)})


def limits(tmp_path, chance=0.0, ceiling=1.0, **runs):
    """Write the values of runs for queries q0, q1, ... and the bounds of their split."""
    for run, values in runs.items():
        rows = [(f"q{number}", "RR@10", value) for number, value in enumerate(values)]
        frame = pl.DataFrame(rows, schema=trec.METRICS, orient="row")
        path = tmp_path / "metrics" / "data" / "dev" / f"{run}.tsv"
        path.parent.mkdir(parents=True, exist_ok=True)
        trec.write_metrics(path, frame)
    return Limits(tmp_path / "metrics", bounds_of(tmp_path / "metrics", chance, ceiling))


def basis(*alone, models=(), whole=True):
    return Basis("data/dev", "RR@10", None, tuple(map(tuple, alone)), tuple(models), whole)


@pytest.mark.parametrize(("alpha", "queries"), [(0.05, 6), (0.1, 5), (0.01, 8), (0.5, 2)])
def test_the_fewest_queries_that_must_differ_by_flips(alpha, queries):
    """All signs of m differences are equal in 2 of 2^m patterns: the smallest p of m queries."""
    assert bearing.must_differ("permutation", alpha, 40) == queries
    assert 2 / 2**queries <= alpha < 2 / 2 ** (queries - 1)


@pytest.mark.parametrize("test", ["t-test", "wilcoxon"])
@pytest.mark.parametrize(("alpha", "queries"), [(0.05, 20), (0.05, 300), (0.0001, 200)])
def test_the_fewest_queries_that_must_differ_by_other_tests(test, alpha, queries):
    """SciPy's p of so many equal differences is at most alpha, and of one fewer it is above."""

    def p(number):
        d = np.array([1.0] * number + [0.0] * (queries - number))
        if test == "t-test":
            return stats.ttest_1samp(d, 0).pvalue
        return stats.wilcoxon(d, method="asymptotic").pvalue

    fewest = bearing.must_differ(test, alpha, queries)
    assert p(fewest) <= alpha < p(fewest - 1)


def test_where_no_number_is_enough_more_than_all_must_differ():
    assert bearing.must_differ("permutation", 0.05, 4) == 5


def test_a_dense_part_within_two_standard_errors_of_chance_is_at_chance(tmp_path):
    """Of 16 queries 8 have 1: mean 0.5, standard deviation 0.516, error 0.129, doubled 0.258."""
    half = [1.0, 0.0] * 8
    known = limits(tmp_path, chance=0.25, dense=half)
    assert "dense answers no more than chance on data/dev" in known.at_chance(basis(["dense"]))
    assert limits(tmp_path, chance=0.24, dense=half).at_chance(basis(["dense"])) is None
    assert known.at_chance(basis()) is None, "without a dense part there is nothing to ask"


def test_seeds_count_by_the_mean_of_each_query(tmp_path):
    """One seed answers the even queries, the other one the odd ones: each query has 0.5."""
    seeds = {"dense.seed1": [1.0, 0.0] * 8, "dense.seed2": [0.0, 1.0] * 8}
    known = limits(tmp_path, chance=0.45, **seeds)
    assert known.at_chance(basis([*seeds])) is None
    for one in seeds:
        assert known.at_chance(basis([one]))


def test_each_part_of_a_fusion_is_looked_at(tmp_path):
    known = limits(tmp_path, chance=0.25, good=[1.0] * 16, bad=[0.25] * 16)
    assert known.at_chance(basis(["good"])) is None
    assert known.at_chance(basis(["good"], ["bad"])).startswith("bad answers")


def test_room_is_the_ceiling_less_the_other_rows_mean(tmp_path):
    known = limits(tmp_path, ceiling=0.9, x=[0.5] * 16)
    made = weigh(plain(mean_a=0.2, mean_b=0.85), [basis()], [basis()], known, TESTS)
    assert (made.room_a, made.room_b) == (pytest.approx(0.05), pytest.approx(0.7))
    other = [basis(whole=False)]
    made = weigh(plain(mean_a=0.2, mean_b=0.85), other, [basis()], known, TESTS)
    assert (made.room_a, made.room_b) == (None, pytest.approx(0.7))
    made = weigh(plain(), [basis(), basis()], [basis(), basis()], known, TESTS)
    assert (made.room_a, made.room_b) == (None, None), "a gap has no ceiling"


@pytest.mark.parametrize(
    ("of_a", "of_b", "trainings"),
    [
        (["a/seed1", "a/seed2", "a/seed3"], ["b/seed1"], 1),
        (["a/seed1", "a/seed2", "a/seed3"], ["b/seed1", "b/seed2", "b/seed3"], 3),
        (["a/seed1", "a/seed2"], [], None),
        # One reranker behind both rows is none of their difference.
        (["a/seed1", "a/seed2", "a/seed3", "r/seed1"], ["r/seed1"], None),
        (["a/seed1", "a/seed2", "r/seed1"], ["b/seed1", "b/seed2", "r/seed1"], 2),
        (["a/seed1", "a/seed2", "r/seed1"], ["b/seed1", "b/seed2", "s/seed1"], 1),
    ],
)
def test_trainings_are_seeds_of_models_that_one_row_has(tmp_path, of_a, of_b, trainings):
    both = [basis(models=of_a)], [basis(models=of_b)]
    assert weigh(plain(), *both, limits(tmp_path, x=[1.0]), TESTS).trainings == trainings


SHOWN = {"significant": True, "difference": 0.1, "wins": 20, "must_differ": 6, "ties": 20}
OPEN = SHOWN | {"significant": False, "min_detectable": 0.2}


@pytest.mark.parametrize(
    ("claim", "sign", "changes", "verdict"),
    [
        ("above", 1, SHOWN, "holds"),
        ("above", 1, SHOWN | {"at_chance": "x answers no more than chance"}, "not judged"),
        ("above", 1, OPEN, "inconclusive"),
        ("above", 1, OPEN | {"wins": 5}, "not judged"),
        ("above", 1, OPEN | {"wins": 3, "losses": 3}, "inconclusive"),
        # The row that the claim is about is a, with sign -1 it is b.
        ("above", 1, OPEN | {"room_a": 0.1}, "not judged"),
        ("above", 1, OPEN | {"room_b": 0.1}, "inconclusive"),
        ("below", 1, OPEN | {"room_b": 0.1}, "not judged"),
        ("above", -1, OPEN | {"room_b": 0.1}, "not judged"),
        ("below", -1, OPEN | {"room_a": 0.1}, "not judged"),
        ("above", 1, OPEN | {"room_a": 0.2}, "inconclusive"),
        # What is significant was shown, whichever way it points.
        ("above", 1, SHOWN | {"room_a": 0.1, "min_detectable": 0.2}, "holds"),
        ("below", 1, SHOWN | {"room_b": 0.1, "min_detectable": 0.2}, "reversed"),
        ("above", 1, SHOWN | {"trainings": 3}, "holds"),
        ("above", 1, SHOWN | {"trainings": 2}, "these models only"),
        ("below", 1, SHOWN | {"trainings": 1}, "these models only"),
        ("above", 1, OPEN | {"trainings": 1}, "inconclusive"),
    ],
)
def test_verdicts_of_comparisons(claim, sign, changes, verdict):
    found, why = verdicts.comparison_verdict(claim, Tested(sign, comparison(**changes)))
    assert found == verdict
    assert why.startswith("the data could not show it: ") == (verdict == "not judged")


@pytest.mark.parametrize("difference", [0.1, -0.1])
@pytest.mark.parametrize(
    "lacking", [{"at_chance": "x"}, {"wins": 2}, {"room_a": 0.0, "room_b": 0.0}]
)
def test_no_rule_reads_which_row_is_better(difference, lacking):
    made = comparison(**OPEN | {"difference": difference} | lacking)
    for claim in ("above", "below"):
        assert verdicts.comparison_verdict(claim, Tested(1, made))[0] == "not judged"
    assert blank_verdict(Tested(1, made))[0] == "not judged"


def test_room_in_one_direction_is_enough_for_a_pair_without_a_marker():
    made = comparison(**OPEN | {"room_a": 0.0, "room_b": 0.5})
    assert blank_verdict(Tested(1, made))[0] == "agrees"


def test_a_bound_page_names_dense_parts_and_trainings():
    """Two trainings of one model behind `ours`, whose lists its dense part gives."""
    parts = {
        f"ours.seed{n}": Trained(dense=[f"dense.seed{n}"], models=[f"clear/seed{n}", "r/seed1"])
        for n in (1, 2)
    }
    bound = job().model_copy(update={"trained_runs": {"data/dev": parts}})
    made = bound.basis("ours", "rr")
    assert made.alone == (("dense.seed1", "dense.seed2"),)
    assert made.models == ("clear/seed1", "r/seed1", "clear/seed2")
    assert bound.basis("base", "rr")[3:5] == ((), ())
    assert bound.basis("ours", "far") is None, "the scale has no split for this column"
    metrics, bounds = below([made])
    assert metrics == ["data/dev/dense.seed1.tsv", "data/dev/dense.seed2.tsv"]
    assert bounds == ["data/dev.tsv"]


def test_recall_over_depths_asks_dense_parts_by_the_measure_beside_it():
    """Two trainings behind `ours`; no run's metrics hold the recall of a curve."""
    parts = {
        f"ours.seed{n}": Trained(dense=[f"dense.seed{n}"], models=[f"clear/seed{n}"])
        for n in (1, 2)
    }
    entry = Figure.model_validate(DEPTHS)
    bound = BoundFigure(
        id="toy-figure1", entry=entry, tests=TESTS, splits={"ours": "data/dev"},
        runs={"ours": [*parts]}, trained_runs={"data/dev": parts}, scale="toy", reason="a toy.",
    )  # fmt: skip
    made = bound.basis("ours", "recall/10")
    assert made == bound.basis("ours", "accuracy/10")
    assert made.alone == (("dense.seed1", "dense.seed2"),) and made.measure == "RR@10"
    alone = entry.model_copy(update={"panels": entry.panels[:1]})
    bare = bound.model_copy(update={"entry": alone}).basis("ours", "recall/10")
    assert bare == made._replace(measure=None), "its seeds count, and nothing is asked of chance"
    assert below([bare]) == ([], [])


def test_of_candidates_the_order_of_them_is_compared_with_chance():
    trained = {"data/dev": {"ours.seed1": Trained(models=["clear/seed1"])}}
    bound = job().model_copy(update={"trained_runs": trained})
    runs = ["ours.seed1.on.drawn"]
    made = bound.basis_of(runs, "data/dev", "RR@10", "drawn", True)
    assert (made.alone, made.over) == ((tuple(runs),), "drawn")
    assert below([made]) == (["data/dev/ours.seed1.on.drawn.tsv"], ["data/dev/drawn.tsv"])
