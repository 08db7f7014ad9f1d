"""The paper `released`: its numbers are the references', its scale leaves out what it says."""

import shutil
from functools import cache

import pytest
import yaml

from conftest import ROOT
from residuum.cli.errors import ResiduumError
from residuum.config import loading
from residuum.config.registry import SplitId
from residuum.wiring.availability import all_available, why_unavailable

PAGES = ROOT / "config" / "papers" / "released"
REFERENCES = ROOT.parent / "shared" / "references"
MEASURES = {"ndcg": "nDCG@10", "recall100": "R@100", "recall1000": "R@1000"}
CONDITIONS = {
    "bm25": "bm25-flat",
    "multifield": "bm25-multifield",
    "splade": "splade-pp-ed",
    "contriever": "contriever-msmarco",
    "bge": "bge-base-en-v1.5.faiss",
}
MARCO = {"splade": "splade-pp-ed-pytorch", "bge": "bge-base-en-v1.5.faiss-flat.pytorch"}
TOPICS = {"dev": "msmarco-v1-passage.dev", "dl19": "dl19-passage", "dl20": "dl20-passage"}
NAMES = {"rr": "MRR@10", "recall": "R@1K", "ap": "MAP", "ndcg": "nDCG@10"}
LEXICAL = {"rr": "RR@10", "recall": "R@1000", "ap": "AP@1000", "ndcg": "nDCG@10"}


@cache
def reference(name):
    path = REFERENCES / name
    if not path.is_file():
        pytest.skip(f"no references at {path}")
    return yaml.safe_load(path.read_text())


def reported(page):
    return yaml.safe_load((PAGES / f"{page}.yaml").read_text())["reported"]


@pytest.mark.parametrize("page", MEASURES)
def test_each_reported_number_of_beir_is_pyserinis(page):
    scores = {row: reference("published-models.yaml")["beir"][c]["scores"]
              for row, c in CONDITIONS.items()}  # fmt: skip
    printed = reported(page)
    assert printed.keys() == CONDITIONS.keys()
    for row, cells in printed.items():
        expected = {name: f"{scores[row][name][MEASURES[page]]:.4f}" for name in cells}
        assert cells == expected and len(cells) == 5, row


def test_each_reported_number_of_ms_marco_is_pyserinis_or_anserinis():
    printed, models = reported("msmarco"), reference("published-models.yaml")["msmarco-v1-passage"]
    assert printed.keys() == {"bm25", *MARCO}
    lexical = reference("lexical-baselines.yaml")["anserini"]
    for row, cells in printed.items():
        assert len(cells) == 8
        for column, text in cells.items():
            split, measure = column.split("-")
            if row == "bm25":
                at = "msmarco-v1-passage" if split == "dev" else TOPICS[split]
                value = lexical[at]["models"]["bm25-default"]["results"][LEXICAL[measure]][0]
            else:
                value = models[MARCO[row]]["topics"][TOPICS[split]][NAMES[measure]]
            assert text == f"{value:.4f}", (row, column)


def laptop(tmp_path, written="{system: bge-base, datasets: [beir-fiqa, beir-scidocs]}"):
    """Load a copy of config/ at the scale laptop, with another entry of `left_out`."""
    (tmp_path / "scales").mkdir()
    for path in [*(ROOT / "config").iterdir(), *(ROOT / "config" / "scales").iterdir()]:
        if path.name not in ("scales", "laptop.yaml"):
            (tmp_path / path.relative_to(ROOT / "config")).symlink_to(path)
    given = (ROOT / "config" / "scales" / "laptop.yaml").read_text()
    marked = "{system: bge-base, datasets: [beir-fiqa, beir-scidocs]}"
    assert given.count(marked) == 1
    (tmp_path / "scales" / "laptop.yaml").write_text(given.replace(marked, written))
    return loading.load(tmp_path, {"scale": "laptop", "papers": ["released"]})


def test_a_scale_leaves_systems_out_on_some_collections_with_what_is_made_of_them(tmp_path):
    registry = laptop(tmp_path)
    why = "scale laptop leaves bge-base out on beir-fiqa (left_out)"
    for system in ("bge-base", "bm25-bge-rrf", "bm25-bge-min-max"):
        at = SplitId("beir-fiqa", "test")
        assert why_unavailable(registry, system, at, all_available) == why
        at = SplitId("beir-nfcorpus", "test")
        assert why_unavailable(registry, system, at, all_available) is None
    at = SplitId("beir-fiqa", "test")
    assert why_unavailable(registry, "bm25-default", at, all_available) is None


@pytest.mark.parametrize("odd", ["{system: bge-bose, datasets: [beir-fiqa]}",
                                 "{system: bge-base, datasets: [beir-fiqua]}"])  # fmt: skip
def test_a_misspelt_name_that_is_left_out_is_a_fault(tmp_path, odd):
    with pytest.raises(ResiduumError, match=r"left_out.*bge-bose|left_out.*beir-fiqua"):
        laptop(tmp_path, odd)


def test_what_the_page_on_suites_shows_is_a_scale_and_a_table(tmp_path):
    shutil.copytree(ROOT / "config", tmp_path / "config")
    page = (ROOT / "docs" / "how-to" / "suite.md").read_text()
    for block in page.split("```yaml\n# ")[1:]:
        name, text = block.split("```")[0].split("\n", 1)
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text.replace("system: mine}", "system: bge-base}"))
    registry = loading.load(tmp_path / "config", {"scale": "beir", "papers": ["mine"]})
    assert registry.scale.left_out == [] and registry.binding("beir-quora")
    assert registry.pages["mine-beir"].means[0].of == ["nfcorpus", "scifact", "arguana"]
