"""What is planned for a model behind a gate, and for a cross-encoder in nobody's place."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

import entry_files
from conftest import ROOT
from plan_fixture import MODEL, MODELS, SYSTEM, TRAINING, named, registry
from residuum.cli.errors import ResiduumError
from residuum.config import entries, loading
from residuum.config.registry import SplitId
from residuum.wiring import sizes
from residuum.wiring.availability import all_available, why_unavailable
from residuum.wiring.estimates import Estimates
from residuum.wiring.models import Models
from residuum.wiring.paths import Paths
from residuum.wiring.rerankers import played_rerankers
from residuum.wiring.runs import Runs

CONFIG = {"scale": "smoke", "papers": ["roc"]}
SMOKE = loading.load(ROOT / "config", CONFIG)
PLACE = SplitId("generated-smoke", "dev")
TRAINED = "generated-smoke.train"


def test_a_training_behind_a_gate_waits_for_that_of_its_collection_and_seed():
    models = Models(SMOKE, Paths(), all_available)
    for name in ("sparterm", "sparterm-i"):
        gate = models.gate(named(model=f"{name}@{TRAINED}", seed="3"))
        assert gate == [f"models/sparterm-gate@{TRAINED}/seed3/manifest.json"]
    for name in ("dpr", "sparterm-gate"):
        assert models.gate(named(model=f"{name}@{TRAINED}", seed="3")) == []
    tuples = {
        of for n in ("sparterm", "dpr") for of in models.tuples(named(model=f"{n}@{TRAINED}"))
    }
    assert tuples == {f"training/dpr@{TRAINED}/tuples.jsonl.gz"}


def test_what_a_gate_lacks_its_systems_lack():
    assert why_unavailable(SMOKE, "sparterm", PLACE, all_available) is None
    gated = SMOKE.models["sparterm-gate"].model_copy(update={"backbone": "nothing"})
    lacking = replace(SMOKE, models={**SMOKE.models, "sparterm-gate": gated})
    assert "nothing" in str(why_unavailable(lacking, "sparterm", PLACE, all_available))


def edited(folder: Path, model: str, **changes: object) -> Path:
    """Copy config/ with a model changed."""
    entry_files.copy(folder / "config")
    path = folder / "config" / "models" / f"{model}.yaml"
    path.write_text(yaml.safe_dump(yaml.safe_load(path.read_text()) | changes))
    return folder / "config"


def test_a_gate_of_another_split_or_kind_is_a_fault(tmp_path):
    config = edited(tmp_path / "one", "sparterm-gate", train_on="msmarco-train", negatives={})
    with pytest.raises(ResiduumError, match="gate: the gate is trained on msmarco-train, and this"):
        loading.load(config, CONFIG)
    entry = entries.parse(config / "models" / "sparterm.yaml", dict[str, Any])
    encoder = json.loads(json.dumps(entry["encoder"]))
    encoder["pooling"]["gate"]["model"] = "dpr"
    config = edited(tmp_path / "two", "sparterm", encoder=encoder)
    with pytest.raises(ResiduumError, match="'dpr' is of kind dual-encoder; fitting: sparterm-g"):
        loading.load(config, CONFIG)
    config = edited(tmp_path / "three", "sparterm-gate", backbone="scibert")
    scale = config / "scales" / "smoke.yaml"
    plays = "scibert: {model: scibert-start}"
    scale.write_text(scale.read_text().replace(plays, "scibert: {model: sparterm}"))
    with pytest.raises(ResiduumError, match=r"made from itself: .*sparterm-gate"):
        loading.load(config, CONFIG)


def test_an_interaction_model_reranks_the_first_hundred_and_no_released_one_plays_it():
    runs = Runs(SMOKE, Paths(), all_available)
    for name in ("interaction-bert", "interaction-bert-i"):
        reranker = {**PLACE._asdict(), "reranker": f"{name}@seed1"}
        assert runs.depths(named(**reranker)) == (
            "--run runs/generated-smoke/dev/bm25-default.trec.gz --depth 100"
        )
        made = f"models/{name}@{TRAINED}/seed1"
        assert runs.reranker(named(**reranker)) == f"--model {made}"
        assert runs.reranker_files(named(**reranker)) == [f"{made}/manifest.json"]
    cut = runs.cut(named(**PLACE._asdict(), run="bm25-interaction"))
    assert "curve" not in cut and cut["first"] == "runs/generated-smoke/dev/bm25-default.trec.gz"
    assert SMOKE.runs("bm25-interaction") == ["bm25-interaction"]
    full = loading.load(ROOT / "config", {**CONFIG, "scale": "full"})
    played = played_rerankers(full, ["bm25-interaction"])
    assert played == {"interaction-bert@seed1": "interaction-bert, trained here with seed 1"}


POOLING = {"kind": "terms", "gate": {"model": "gate", "threshold": 0.7}}
TERMS = {
    "gate": {
        "kind": "term-gate", "backbone": "start", "train_on": "train", "training": TRAINING,
        "length": 100,
    },
    "terms": {**MODELS["dual"], "encoder": {**MODELS["dual"]["encoder"], "pooling": POOLING}},
    "literal": {**MODELS["dual"], "encoder": {**MODELS["dual"]["encoder"], "pooling": "terms"}},
}  # fmt: skip


def test_vectors_of_terms_take_what_they_hold_and_two_networks_work():
    toy = registry()
    models = {name: MODEL.validate_python(entry) for name, entry in TERMS.items()}
    systems = {n: SYSTEM.validate_python({"kind": "dense", "model": n, "k": 10}) for n in TERMS}
    toy = replace(toy, models=toy.models | models, systems=toy.systems | systems)
    head = 64 * 64 + 64 * 486
    assert sizes.shape(toy, "literal").layer_parameters == 65_536 + head
    assert sizes.shape(toy, "gate").layer_parameters == 65_536 + head
    assert sizes.shape(toy, "terms").layer_parameters == 2 * (65_536 + head)
    # what one has without the head, and a square matrix in it; the other comes from the embeddings
    alone = sizes.shape(toy, "dual").parameters + 64 * 64
    assert sizes.shape(toy, "literal").parameters == alone
    assert sizes.shape(toy, "terms").parameters == 2 * alone
    corpus = {"dataset": "toy", "model": "terms", "seed": "1"}
    shard = Estimates(toy).doc_vectors(named(**corpus, shard="0"))
    assert shard.disk == 4 * 80 * 1000 / 4, "40 terms and their numbers"
    search = Estimates(toy).dense_search(named(**corpus, k="10", shard="3"))
    assert search.core_s == pytest.approx(2 * 80 * 250 * 30 / 60e9)
    assert Estimates(toy).training(named(model="gate", seed="1")).steps == 30
    assert json.loads(Models(toy, Paths(), all_available).spec(named(model="terms")))
