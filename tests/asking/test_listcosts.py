"""What exports, indexes, searches and lists take on a toy: 1,000 docs of 1,000 bytes, by hand."""

from dataclasses import replace

import pytest

from plan_fixture import named, registry
from residuum.asking import listcosts

TOY = registry()
DEV = {"dataset": "toy", "split": "dev"}


def test_a_corpus_is_compressed_and_exported_at_the_stated_rates():
    found = listcosts.corpus(TOY, named(dataset="toy"))
    assert found.disk == pytest.approx(0.36e6)
    assert found.core_s == pytest.approx(1e6 / 20e6)
    index = listcosts.index(TOY, named(dataset="toy", index="en"))
    assert (index.disk, index.core_s) == pytest.approx((0.5e6, 1e6 / 2.5e6))


def test_a_search_takes_its_least_time_on_a_small_corpus():
    found = listcosts.search(TOY, named(**DEV, run="bm25"))
    assert found.core_s == pytest.approx(20 * 0.003)
    assert found.disk == 11 * 20 * 10


def test_a_search_grows_with_the_corpus():
    edition = TOY.datasets["toy"].editions[1].model_copy(update={"docs": 8_840_000})
    dataset = TOY.datasets["toy"].model_copy(update={"editions": [edition]})
    large = replace(TOY, datasets={"toy": dataset})
    found = listcosts.search(large, named(**DEV, run="bm25"))
    assert found.core_s == pytest.approx(20 / 13)


def test_tuning_rm3_searches_at_every_setting_and_once_for_the_run():
    found = listcosts.tune_rm3(TOY, named(**DEV, run="tuned"))  # 2 * 2 settings, for RR@10
    assert found.core_s == pytest.approx(20 * 0.003 * (4 * 0.75 + 2.5))


def test_tuning_rm3_for_a_measure_that_looks_deep_takes_longer():
    tuned = TOY.systems["tuned"]
    deep = tuned.rm3.model_copy(update={"measures": {"dev": "AP@1000"}})
    systems = {"tuned": tuned.model_copy(update={"rm3": deep})}
    found = listcosts.tune_rm3(replace(TOY, systems=systems), named(**DEV, run="tuned"))
    assert found.core_s == pytest.approx(20 * 0.003 * (4 + 1) * 2.5)


def test_mining_searches_for_each_training_query_and_scores_what_it_draws():
    found = listcosts.mine(TOY, named(model="dual"))
    assert found.core_s == pytest.approx(60 * 0.003 + 60 * 3 * 5e-6 + 1e6 / 20e6)
    assert found.disk == 11 * 60 * 4
    assert listcosts.mine(TOY, named(model="inbatch")).core_s == pytest.approx(1e6 / 20e6)


def test_scoring_another_system_takes_its_docs_of_all_seeds():
    found = listcosts.score(TOY, named(**DEV, run="bm25", other="vectors"))
    assert found.disk == 11 * 20 * 10 * 2
    assert found.core_s == pytest.approx(20 * 0.003 + 400 * 5e-6)


def test_a_depth_curve_measures_each_run_at_each():
    found = listcosts.depths(TOY, named(**DEV, reranker="role"))
    assert found.core_s == pytest.approx(20 * (8 * 4 + 3 + 3) * 1e-6)


def test_a_cut_and_a_measurement_read_the_run_once():
    assert listcosts.cut(TOY, named(**DEV, run="deep")).disk == 11 * 20 * 10
    assert listcosts.evaluate(TOY, named(**DEV, run="deep")).core_s == pytest.approx(200 * 3e-6)
