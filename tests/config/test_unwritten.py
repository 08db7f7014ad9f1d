"""Dense systems without an entry: what an id of a model stands for, where a system is named."""

import pytest
import yaml

from conftest import ROOT
from entry_files import unlined
from residuum.cli.errors import ResiduumError
from residuum.config import loading, specs

BASE = yaml.safe_load((ROOT / "config" / "config.yaml").read_text())


def load(folder):
    return loading.load(folder, {**BASE, "scale": "mini"})


def sum_of(folder, first, second):
    """Write a fusion of two systems."""
    entry = {"kind": "fusion", "parts": [first, second], "unretrieved": "minimum", "k": 10}
    entry["interpolation"] = {"weighted": first, "value": 1.0}
    (folder / "systems" / "sum.yaml").write_text(yaml.safe_dump(entry))


def test_a_named_model_is_its_dense_system_with_1000_hits(config):
    (config / "models" / "wide.yaml").write_text("base: clear\ndescription: Wider.\n")
    assert not {"wide", "wide-embedding"} & load(config).systems.keys(), "nobody names it"
    sum_of(config, "wide", "wide-embedding")
    made = load(config)
    for name in ("wide", "wide-embedding"):
        assert made.systems[name].model_dump(exclude_defaults=True) == {
            "kind": "dense", "model": "wide", "label": "Wider."
        }  # fmt: skip
        assert made.systems[name].k == 1000
    assert made.runs("sum") == [f"sum.seed{seed}" for seed in made.scale.seeds]
    assert [*made.systems] == sorted(made.systems, key=lambda name: f"{name}.yaml")


def test_an_entry_of_the_id_comes_first(config):
    """As clear's, a fusion: its dense system is `clear-embedding`."""
    made = load(config)
    assert (made.systems["clear"].kind, made.systems["clear-embedding"].model) == (
        "fusion",
        "clear",
    )
    assert not (config / "systems" / "clear-embedding.yaml").exists()
    own = "kind: dense\nmodel: clear-random\nk: 5\n"
    (config / "systems" / "clear-embedding.yaml").write_text(own)
    assert load(config).systems["clear-embedding"].model == "clear-random"


def test_it_is_the_same_to_a_job_as_one_that_is_written(config):
    before = specs.of_entry(load(config).systems["me-bert"])
    (config / "systems" / "me-bert.yaml").write_text("{kind: dense, model: me-bert, k: 1000}\n")
    assert specs.of_entry(load(config).systems["me-bert"]) == before


@pytest.mark.parametrize("name", ["deepct-embedding", "cross-attention", "reranker-base-embedding"])
def test_a_model_without_vectors_is_no_system(config, name):
    sum_of(config, "bm25", name)
    with pytest.raises(ResiduumError, match=rf"sum\.yaml:\d+: parts: no system '{name}'; known: "):
        load(config)


def test_a_broken_model_is_one_fault_and_what_names_its_system_none(config):
    (config / "models" / "wide.yaml").write_text("base: clear\nbackbome: x\n")
    sum_of(config, "bm25", "wide-embedding")
    with pytest.raises(ResiduumError) as caught:
        load(config)
    assert str(caught.value).startswith("1 fault "), caught.value
    assert "models/wide.yaml: backbome: unknown key" in unlined(caught.value)
