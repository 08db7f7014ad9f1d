"""Choices by hand: the best mean, the first of equals, folds; and their record read again."""

from collections import Counter

import numpy as np
import pytest

from residuum.artefacts import manifest, trec
from residuum.cli.errors import ResiduumError
from residuum.config.schema.settings import Interpolation
from residuum.tuning.choosing import Record, Tuned, choose, edges, means, read_folds, split_folds

SETTINGS = [{"docs": 5}, {"docs": 10}, {"docs": 20}]


def test_the_first_of_equal_settings_is_chosen(capsys):
    values = np.array([[0.5, 0.0], [0.75, 0.25], [0.25, 0.75]])
    record = choose(SETTINGS, values, ["a", "b"], "RR@10")
    (choice,) = record.choices
    assert (choice.setting, choice.mean, choice.held_out) == ({"docs": 10}, 0.5, None)
    assert (choice.at_edge, capsys.readouterr().err) == ([], "")
    assert [tried.means for tried in record.tried] == [[0.25], [0.5], [0.5]]
    choose(SETTINGS[1:], values[1:], ["a", "b"], "RR@10")
    assert "warning: docs 10 at an edge of the grid" in capsys.readouterr().err


def test_each_fold_gets_what_is_best_on_the_others():
    fold_of = {"a": 0, "b": 1, "c": 0, "d": 1, "e": 2, "f": 0}  # f is not judged
    values = np.array(
        [
            [1.0, 0.0, 1.0, 0.0, 0.0],  # best where fold 0 counts
            [0.0, 0.9, 0.0, 0.9, 0.0],  # best where fold 1 counts and fold 0 does not
            [0.0, 0.9, 0.0, 0.9, 0.0],  # its equal, and later
        ]
    )
    record = choose(SETTINGS, values, list("abcde"), "RR@10", fold_of)
    first, second, third = record.choices
    assert (first.setting, first.queries) == ({"docs": 10}, 2)
    assert (first.mean, first.held_out) == (pytest.approx(1.8 / 3), 0.0)
    assert (second.setting, second.mean) == ({"docs": 5}, pytest.approx(2 / 3))
    assert (third.setting, third.mean, third.queries) == ({"docs": 5}, 0.5, 1)
    assert record.tried[1].means == [0.0, pytest.approx(0.9), 0.0]
    assert (record.queries, record.of_queries()["f"]) == (5, {"docs": 10})


def test_means_of_the_same_values_in_another_order_are_equal():
    values = [0.1, 0.2, 0.3, 1 / 3, 1 / 7, 1 / 9] * 3
    one, other = means(np.array([values, sorted(values)]))
    assert one == other


def test_folds_are_balanced_and_follow_the_seed_alone():
    ids = [f"q{i}" for i in range(101)]
    judged = set(ids[:31])
    fold_of = split_folds(ids, judged, 3, seed=1)
    assert list(fold_of) == ids
    assert sorted(Counter(fold_of.values()).values()) == [33, 34, 34]
    assert sorted(Counter(fold_of[q] for q in judged).values()) == [10, 10, 11]
    assert split_folds(ids[::-1], judged, 3, seed=1) == fold_of
    assert split_folds(ids, judged, 3, seed=2) != fold_of


def test_edges_are_those_of_grids_with_several_values():
    grid = [{"docs": d, "terms": 10, "weight": w} for d in (5, 10, 20) for w in (0.1, 0.5, 0.9)]
    assert edges({"docs": 10, "terms": 10, "weight": 0.9}, grid) == ["weight"]
    assert edges({"docs": 5, "terms": 10, "weight": 0.5}, grid) == ["docs"]


def test_a_record_is_read_as_it_was_written(tmp_path):
    path = tmp_path / "data" / "dev" / "x.seed1.json"
    values = np.array([[0.1, 0.2], [1 / 3, 0.7]])
    settings = [{"lambda": 0.0, "docs": 5}, {"lambda": 0.5, "docs": 5}]
    record = choose(settings, values, ["a", "b"], "RR@10", {"a": 0, "b": 1, "c": 1})
    record.write(path, Interpolation(weighted="a", value=1.0), [], "residuum.fusion")
    assert Tuned.read(path) == ("x.seed1", "data/dev", record)
    manifest.beside(path).unlink()  # which would refuse the file first
    path.write_text(path.read_text().replace('"setting"', '"settings"'))
    with pytest.raises(ResiduumError, match=r"x\.seed1\.json: choices\.0\.setting: missing key"):
        Record.read(path)


def test_a_fold_without_a_judged_query_or_with_all_of_them_is_named():
    values = np.array([[0.1, 0.2], [0.2, 0.3]])
    with pytest.raises(ResiduumError, match="fold 2 of 3: none of its queries is judged"):
        choose(SETTINGS[:2], values, ["a", "b"], "RR@10", {"a": 0, "b": 2, "c": 1})
    with pytest.raises(ResiduumError, match="fold 3 of 3: none of its queries is judged"):
        choose(SETTINGS[:2], values, ["a", "b"], "RR@10", {"a": 0, "b": 1, "c": 2})
    with pytest.raises(ResiduumError, match="fold 1 of 2: all judged queries are in it"):
        choose(SETTINGS[:2], values, ["a", "b"], "RR@10", {"a": 0, "b": 0, "c": 1})


def test_a_fold_without_a_query_is_named(tmp_path):
    for name, rows in (("one", [("a", "text")]), ("two", [])):
        trec.write_queries(tmp_path / f"{name}.tsv", rows)
    with pytest.raises(ResiduumError, match=r"two\.tsv: a fold without a query"):
        read_folds(["a"], [tmp_path / "one.tsv", tmp_path / "two.tsv"])


def test_folds_need_a_judged_query_each():
    with pytest.raises(ResiduumError, match="1 judged queries cannot be split into 2 folds"):
        split_folds(["a", "b"], {"a"}, 2, seed=1)
