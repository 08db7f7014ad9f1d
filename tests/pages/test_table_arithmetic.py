"""The precision under a table is what the manifests of its neural parts record."""

import json

import pytest
import yaml

from conftest import ROOT
from plan_fixture import named
from residuum.config import loading
from residuum.pages.table import notes
from residuum.pages.table.bind import TableInputs
from residuum.wiring.availability import all_available
from residuum.wiring.paths import Paths

BASE = yaml.safe_load((ROOT / "config" / "config.yaml").read_text())


@pytest.fixture
def manifests(tmp_path):
    """Write manifests as their stages do: encode names its device `name`, the others `device`."""
    paths = Paths(str(tmp_path))
    model = {"model": "clear", "seed": 1}
    specs = {
        paths.checkpoint.fill(**model): {"device": "cuda", "precision": "bf16"},
        paths.checkpoint.fill(model="clear", seed=2): {"device": "cuda", "precision": "bf16"},
        paths.query_embeddings.fill(dataset="d", **model): {"name": "cpu", "precision": "fp32"},
        paths.pairs.manifest.fill(dataset="d", split="dev", reranker="base", shard="00000"): {
            "device": "cuda", "precision": "bf16",
        },
    }  # fmt: skip
    for name, spec in specs.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"artefact": {}, "spec": spec}))
    return [tmp_path / name for name in specs]


def test_what_was_computed_in_which_precision_is_said_once(manifests):
    assert list(notes.of_arithmetic(manifests)) == [
        "Matrix products in bf16 on cuda: scores of base, training of clear.",
        "Matrix products in fp32 on cpu: encoding by clear.",
    ]
    assert list(notes.of_arithmetic([])) == []


def test_a_table_reads_them_of_all_that_is_behind_its_rows():
    registry = loading.load(ROOT / "config", {**BASE, "scale": "mini", "seeds": [1, 2]})
    mini = TableInputs(registry, Paths("r"), all_available)
    made = mini.computed(named(page="clear-table2"))
    assert {path for path in made if path.startswith("r/models/")} == {
        f"r/models/clear/seed{seed}/manifest.json" for seed in (1, 2)
    }
    for split in ("dev", "judged"):
        for reranker in ("bert-base-reranker", "bert-large-reranker"):
            folder = f"r/rerank/generated-mini/{split}/{reranker}"
            assert f"{folder}/shard-00000.trec.gz.manifest.json" in made
    assert "r/embeddings/generated-mini.queries/clear/seed2/manifest.json" in made
    weighted = mini.computed(named(page="clear-table1"))
    assert "r/models/deepct/seed1/manifest.json" in weighted
    assert not [path for path in weighted if ".queries/deepct" in path], "it encodes nothing"
    assert mini.computed(named(page="lexical-baselines-cacm")) == []
