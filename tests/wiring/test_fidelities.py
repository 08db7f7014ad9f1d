"""Measurements of fidelity: what they read, where no split plays the role, what is at fault."""

import shutil

import pytest
import yaml

import entry_files
from conftest import ROOT
from plan_fixture import named
from residuum.cli.errors import ResiduumError
from residuum.config import loading
from residuum.pages.dimensions.bind import DimensionsInputs, bind_dimensions
from residuum.wiring.availability import all_available
from residuum.wiring.corpora import Fidelities
from residuum.wiring.pages import gaps
from residuum.wiring.paths import Paths
from residuum.wiring.resources import Resources

BASE = yaml.safe_load((ROOT / "config" / "config.yaml").read_text()) | {"papers": ["mebert"]}


def load(scale, folder=ROOT / "config"):
    return loading.load(folder, {**BASE, "scale": scale})


def test_a_page_reads_its_measurements_and_these_the_vectors_of_all_docs():
    parts = Fidelities(load("mini"), Paths("r"), all_available)
    folder = "r/fidelity/generated-mini/dev"
    names = ("luan2021", "luan2021-boolean", "luan2021-gaussian")
    pages = DimensionsInputs(load("mini"), Paths("r"), all_available)
    shown = [f"{folder}/{name}/manifest.json" for name in names]
    assert pages.measured(named(page="mebert-figure2")) == shown
    assert pages.measured(named(page="mebert-figure3")) == shown[:1]
    of = named(dataset="generated-mini", split="dev", fidelity="luan2021")
    vectors = "bm25-unigram-vectors/seed1"
    assert parts.docs(of) == [f"r/embeddings/generated-mini/{vectors}/shard-00000/manifest.json"]
    assert parts.asked(of) == f"--queries r/embeddings/generated-mini.queries/{vectors}/dev"
    assert '"most":2048' in parts.spec(of) and '"draws":2' in parts.spec(of)
    whole = named(dataset="generated-mini", split="dev", fidelity="whole")
    assert '"most":9472' in parts.spec(whole), "no scale cuts what a user asks"


def test_a_scale_without_the_role_says_so(tmp_path):
    shutil.copytree(ROOT / "config", tmp_path / "config")
    path = tmp_path / "config" / "scales" / "full.yaml"
    path.write_text(path.read_text().replace("  trec-car: car/test200\n", ""))
    full = load("full", tmp_path / "config")
    bound = bind_dimensions(full, "mebert-figure2", all_available)
    assert bound.folders() == {} and set(bound.absent) == {"bm25", "boolean", "gaussian"}
    reasons = {(gap.page, gap.row): gap.why for gap in gaps(full, all_available)}
    assert "trec-car" in reasons["mebert-figure2", "bm25"]


def test_all_vectors_of_a_collection_find_room():
    """TREC CAR: 29,678,367 docs of 40 terms, 32 bytes each, and an id."""
    of = named(dataset="car", split="test200", fidelity="luan2021")
    full = Resources(load("full"))
    assert full.fidelity_mb(of) == 4000 + 3000 * full.threads + 29_678_367 * 1480 // 10**6


def test_vectors_that_are_projected_already_are_refused(tmp_path):
    config = entry_files.copy(tmp_path / "config")
    path = config / "fidelities" / "luan2021.yaml"
    path.write_text(path.read_text().replace("bm25-unigram-vectors", "bm25-projection"))
    says = r"fidelities/luan2021\.yaml:\d+: model: 'bm25-projection' is projected already"
    with pytest.raises(ResiduumError, match=says):
        load("mini", config)
    path.write_text(path.read_text().replace("bm25-projection", "clear"))
    with pytest.raises(
        ResiduumError, match=r"fidelities/luan2021\.yaml:\d+: model: .*dual-encoder"
    ):
        load("mini", config)
