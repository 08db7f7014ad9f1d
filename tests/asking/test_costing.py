"""Every rule has a model, and a card's seconds follow from its speed."""

import re

import pytest

from conftest import ROOT
from plan_fixture import registry
from residuum.asking import costing
from residuum.asking.assumptions import ASSUMED, Cost
from residuum.asking.dryrun import Job

TOY = registry()


def test_every_rule_of_the_graph_has_a_model():
    texts = [path.read_text() for path in (ROOT / "rules").glob("*.smk")]
    rules = {name for text in texts for name in re.findall(r"^rule (\w+):", text, re.M)}
    assert len(rules) > 20
    assert {rule for rule in rules if costing.model_of(rule) is None} == set()


def test_models_rest_on_assumptions_that_are_stated():
    assert {name for model in costing.MODELS.values() for name in model.rests_on} <= set(ASSUMED)


def test_a_card_takes_its_share_of_its_speed_and_a_step_its_least():
    card = costing.Card(tflops=100, utilisation=0.5)
    assert card.seconds(Cost(operations=1e15)) == pytest.approx(20)
    assert card.seconds(Cost(operations=1e15, steps=1000)) == pytest.approx(50)
    assert card.seconds(Cost(core_s=5)) == 0


def test_a_job_takes_its_start_too():
    job = Job("lexical_search", {"dataset": "toy", "split": "dev", "run": "bm25"}, ["x"], 2, 0)
    assert costing.cost(TOY, job).core_s == pytest.approx(3 + 20 * 0.003)


def test_a_rule_of_a_stage_that_is_unknown_has_no_cost():
    assert costing.cost(TOY, Job("fishing_trawl", {}, ["x"], 1, 0)) is None
