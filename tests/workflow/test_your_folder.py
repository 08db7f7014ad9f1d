"""The docs' recipe of a dataset of one's own, as printed: from a folder to a tested table."""

import re

import pytest

import layouts
from conftest import ROOT
from projects import copy_project, snakemake

PAGE = (ROOT / "docs" / "how-to" / "dataset.md").read_text()
RECIPE = PAGE.partition("## Make a tested table of it\n")[2].partition("\n## ")[0]
BLOCK = re.compile(r"```yaml\n# (config/\S+?\.yaml)\b[^\n]*\n(.*?)```", re.S)


def lay(home):
    """Lay 30 docs as BEIR has them, with a query of each word that two docs share."""
    folder = home / "mine"
    docs = [(f"d{n}", "", f"word{n % 15} of doc {n} in town{n % 6}") for n in range(30)]
    queries = [(f"q{n}", f"word{n}") for n in range(15)]
    layouts.write_beir(folder, docs, queries, {
        split: [(f"q{n}", f"d{doc}", 1) for n in range(15) if n % 3 == part for doc in (n, n + 15)]
        for part, split in enumerate(("train", "dev", "test"))
    })  # fmt: skip


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """Copy the project, write the files of the recipe, at scale smoke, and lay the folder."""
    project = copy_project(tmp_path_factory.mktemp("mine"))
    blocks = dict(BLOCK.findall(RECIPE))
    for name, text in blocks.items():
        path = project / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text.replace("base: mini", "base: smoke"))
    lay(project / "data")
    return project, blocks


def test_the_recipe_has_as_many_lines_as_pages_say(project):
    _, blocks = project
    assert [*blocks] == [
        "config/datasets/mine.yaml", "config/scales/mine.yaml", "config/papers/mine/table1.yaml",
    ]  # fmt: skip
    assert sum(len(text.splitlines()) for text in blocks.values()) == 17
    for name in ("README.md", "docs/tutorial.md", "docs/how-to/dataset.md"):
        assert re.search("seventeen lines of YAML", (ROOT / name).read_text(), re.I), name


def test_a_folder_becomes_a_tested_table(project):
    folder, _ = project
    snakemake(folder, scale="mine", config="papers=[mine]", cores=1)
    table = (folder / "results" / "mine" / "tables" / "mine-table1.md").read_text()
    for label in ("1 BM25", "2 CLEAR's embedding", "3 DPR trained on it", "4 BM25 and DPR"):
        (row,) = [line for line in table.splitlines() if f"| {label}" in line]
        assert "not run" not in row and re.search(r"\d\.\d{3}", row)
    assert "1 BM25                                 | 1.000" in table  # two docs share each word
    assert "Test: permutation" in table and ", 5 queries." in table


def test_without_a_split_to_train_on_the_others_run(project):
    folder, _ = project
    (folder / "config" / "datasets" / "mine.yaml").write_text(
        "source: {kind: beir, folder: mine}\nsplits: {test: {}}\n"
    )
    snakemake(folder, scale="mine", config="papers=[mine]", cores=1)
    table = (folder / "results" / "mine" / "tables" / "mine-table1.md").read_text()
    lines = {label: line for line in table.splitlines() if (label := line[5:11])}
    assert "not run" in lines["3 DPR "] and "not run" in lines["4 BM25"]
    assert "not run" not in lines["1 BM25"] + lines["2 CLEA"]
    assert "Not run: dpr: config/datasets/mine.yaml: own.train: no split given" in table
