"""The page of a plan: of a toy by hand, and of copies of the project at smoke and full."""

import importlib.resources
import json
import re
import shutil
from collections import Counter, namedtuple
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from conftest import ROOT
from plan_fixture import DATASET, MODEL, registry
from projects import copy_project
from residuum.__main__ import app
from residuum.cli.errors import ResiduumError
from residuum.config import entries, loading
from residuum.config.schema.datasets import Dataset
from residuum.inspect import datasets, planning
from residuum.inspect.dryrun import Job
from residuum.lucene import jvm

CORPUS = Job("data_corpus", {"dataset": "toy"}, [], ["c"], 1, Counter(mem_mb=2000))
TAKES = Counter(mem_mb=4000, disk_mb=30, core_s=9000)
SEARCHES = [Job("lexical_search", {"split": split}, ["c"], [split], 2, TAKES) for split in "ab"]
CARD = Counter(mem_mb=6000, disk_mb=400, core_s=3, gpu_s=7200, gpu_mb=4500)
TRAINING = Job("train_train", {"model": "dual", "seed": "1"}, ["a"], ["m"], 8, CARD)
Usage = namedtuple("Usage", "total used free")


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    return copy_project(tmp_path_factory.mktemp("project"))


@pytest.fixture(autouse=True)
def homes(monkeypatch, tmp_path):
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path / "irds"))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.delenv("HF_HUB_CACHE", raising=False)
    monkeypatch.delenv("RESIDUUM_JVM_HEAP", raising=False)


def message(monkeypatch, project, *arguments):
    monkeypatch.chdir(project)
    done = CliRunner().invoke(app, ["plan", *arguments])
    assert done.exit_code == 0, done.output
    return done.output


def cells(page):
    """Return {first cell: other cells} of all rows of the page's grids."""
    rows = [line.strip("| ").split("|") for line in page.splitlines() if line.startswith("| ")]
    return {row[0].strip(): [cell.strip() for cell in row[1:]] for row in rows}


@pytest.mark.parametrize(("editions", "size", "guess"), [
    ([{"name": "a", "docs": 20, "doc_bytes": 300}], "20 docs of 300", ""),
    ([{"name": "a", "docs": 20}], "20 docs of 1,000", ", a guess of the bytes"),
    ([], "1,000 docs of 1,000", ", a guess"),
])  # fmt: skip
def test_a_plan_says_what_of_a_collections_size_is_a_guess(editions, size, guess):
    dataset = Dataset.model_validate({**DATASET, "editions": editions})
    toy = replace(registry(), datasets={"toy": dataset})
    lines = " ".join(" ".join(planning._assumptions(toy, [CORPUS])).split())
    pin = ": `residuum datasets pin toy` counts them" if guess else ""
    assert f"- toy has {size} bytes on average{guess}{pin} - a card of" in lines


def test_rules_are_counted_and_what_their_jobs_declare_is_summed():
    rows = planning.table([*SEARCHES, TRAINING], [CORPUS, *SEARCHES, TRAINING])
    assert rows == [
        ["data_corpus", "0 of 1", "", "", "", "", "", ""],
        ["lexical_search", "2 of 2", "60 MB", "4 GB", "", "5.0", "", "1.2"],
        ["train_train", "1 of 1", "400 MB", "6 GB", "4.5 GB", "<0.1", "2.0", "2.0"],
        ["total", "3 of 4", "460 MB", "6 GB", "4.5 GB", "5.0", "2.0", "2.0"],
    ]


def test_rules_of_any_stage_stand_in_the_order_of_their_last_jobs():
    first, *later = (
        Job(rule, {}, inputs, outputs, 1, Counter())
        for rule, inputs, outputs in [
            ("unknown_draw", ["c"], ["x"]), ("evaluate_run", ["c"], ["y"]),
            ("train_train", ["x"], ["m"]), ("evaluate_run", ["m"], ["z"]),
        ]
    )  # fmt: skip
    rows = planning.table([], [*later, first, CORPUS])
    rules = ["data_corpus", "unknown_draw", "train_train", "evaluate_run", "total"]
    assert [row[0] for row in rows] == rules
    assert rows[3][1] == "0 of 2"


def test_hours_have_no_more_digits_than_an_estimate_bears():
    shown = [planning.hours(3600 * value) for value in (0, 0.04, 0.25, 3.14, 94.2, 1508.4)]
    assert shown == ["", "<0.1", "0.2", "3.1", "94", "1,508"]


def test_a_full_disk_is_warned_of_once_for_all_folders_on_it(monkeypatch, tmp_path):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(0, 0, 10**9))
    needs = {tmp_path / "results" / "toy": 0.7e9, tmp_path / "irds": 0.4e9}
    *grid, warning = planning.disks(needs)
    assert "700 MB" in grid[0] and "400 MB" in grid[0] and "1 GB" in grid[0]
    assert re.sub(r"\s+", " ", warning).startswith(
        "warning: not enough disk: 1.1 GB needed, 1 GB free"
    )
    assert "not enough" not in "".join(planning.disks({tmp_path: 0.9e9}))


def test_the_heap_that_is_told_is_that_of_jobs(monkeypatch):
    monkeypatch.delenv("RESIDUUM_JVM_HEAP", raising=False)
    assert f"-Xmx{planning.HEAP}" in jvm.options(Path("nowhere"))


@pytest.mark.parametrize(("tflops", "utilisation", "key"), [
    (0, 0.4, "tflops"), (312, 0, "utilisation"), (312, 1.5, "utilisation"),
])  # fmt: skip
def test_a_card_that_cannot_be_is_refused(monkeypatch, tflops, utilisation, key):
    monkeypatch.chdir(ROOT)
    with pytest.raises(ResiduumError, match=rf"{key}: "):
        planning.plan("smoke", [], tflops, utilisation)


def test_elsewhere_than_in_the_project_the_error_says_so(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ResiduumError, match=r"no config/config.yaml in .*project's folder"):
        planning.plan(None, [], None, None)


@pytest.mark.workflow
def test_smoke_needs_no_download_and_every_stage(monkeypatch, project):
    page = message(
        monkeypatch, project, "--scale", "smoke", "--paper", "clear", "--paper", "dualrm"
    )
    assert page.startswith("Scale smoke, papers clear, dualrm: ")
    assert "Downloads: none." in page
    rows = cells(page)
    assert rows["data_corpus"][:3:2] == ["2 of 2", "2 GB"]
    assert rows["train_train"][0] == "8 of 8"
    assert rows["rerank_score"][2] == "16 GB"
    parsed = sum(int(row[0].split(" of ")[0]) for name, row in rows.items() if "_" in name)
    assert rows["total"][0] == f"{parsed} of {parsed}"
    assert "GUIR_S2_run1.txt" in page and "dualrm-table5/guir" in page
    assert "JVM heap in jobs of lexical and negatives: 2g" in page


def test_a_download_of_two_datasets_is_counted_once(monkeypatch, tmp_path):
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path))
    base = entries.parse(ROOT / "config" / "config.yaml", dict[str, object])
    full = loading.load(ROOT / "config", {**base, "scale": "full"})
    names = ["msmarco-passage", "msmarco-passage-raw"]
    files = {name: datasets.needed(full.datasets[name], None) for name in names}
    assert "\n".join(planning._downloads(full, files)).startswith("Downloads: 1.06 GB to come")
    assert planning.homes(full, files) == {tmp_path: pytest.approx(4.3e9 + 1.1e9 - 1057717952)}


def test_what_comes_from_the_hub_needs_room_in_its_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    full = loading.load(ROOT / "config", {"scale": "full", "papers": ["clear"]})
    address = f"hf://datasets/me/mine@{'0a' * 20}/docs.parquet"
    source = {"kind": "files", "corpus": address}
    splits = {"test": {"queries": "q.tsv", "qrels": "qrels"}}
    mine = Dataset.model_validate({"source": source, "splits": splits, "disk_gb": 2})
    registry = replace(full, datasets={"mine": mine})
    files = {"mine": datasets.needed(mine, None)}
    assert planning.homes(registry, files) == {tmp_path / "hub": 2e9}


@pytest.mark.workflow
@pytest.mark.usefixtures("forked_plans")
def test_full_downloads_ms_marco_and_three_models(monkeypatch, project):
    card = ["--tflops", "100", "--utilisation", "0.5"]
    page = message(monkeypatch, project, "--scale", "full", "--paper", "clear", *card)
    assert "a card of 100 TFLOPS, of which 50% are reached" in page
    rows = [line.strip("| ").split("|") for line in page.splitlines() if line.startswith("| msm")]
    named = [row[1].strip() for row in rows]
    text = importlib.resources.files("ir_datasets").joinpath("etc/downloads.json").read_text()
    listed = json.loads(text)["msmarco-passage"]
    keys = [
        "collectionandqueries", "queries", "train/qrels", "trec-dl-2019/queries",
        "trec-dl-2019/qrels", "trec-dl-2020/queries", "trec-dl-2020/qrels",
    ]  # fmt: skip
    assert sorted(named) == sorted(f"msmarco-passage/{key}" for key in keys)
    assert {row[4].strip() for row in rows} == {listed[key]["url"] for key in keys}
    files = sum(listed[key]["size_hint"] for key in keys)
    weights = 4 * (2 * 108.77e6 + 333.77e6)  # BERT-base twice and BERT-large, as published
    assert f"Downloads: {(files + weights) / 1e9:.3g} GB to come" in page
    assert "licence    non-commercial research (Microsoft's terms of use)" in page
    for model in ("google-bert/bert-base-uncased", "nboost/pt-bert-large-msmarco"):
        assert model in page


def test_a_plan_says_which_programs_are_asked_for_how_many_texts():
    """Of 1,000 docs in four shards two are to come; 20 queries of dev and 10 of tune."""
    entry = {"kind": "program", "command": ["python", "my script.py"], "similarity": "dot"}
    toy = registry()
    toy = replace(toy, models={**toy.models, "asked": MODEL.validate_python(entry)})
    place = {"dataset": "toy", "model": "asked", "seed": "0"}
    rules = ["program_docs", "program_docs", "program_queries", "dense_search"]
    jobs = [Job(rule, place, [], [], 1, Counter()) for rule in rules]
    assert [*planning._programs(toy, jobs)][1:] == [
        "- asked, `python 'my script.py'`: 530 texts of toy"
    ]
    assert [*planning._programs(toy, jobs[3:])] == []


def test_training_triples_are_downloaded_for_their_own_job_alone():
    base = yaml.safe_load((ROOT / "config" / "config.yaml").read_text())
    registry = loading.load(ROOT / "config", {**base, "scale": "full"})
    place = {"dataset": "msmarco-passage", "split": "train"}
    named = {}
    for rule in ("data_split", "data_docpairs"):
        job = Job(rule, place, [], [], 1, Counter())
        named[rule] = [file.name for file in planning.required(registry, [job])["msmarco-passage"]]
    assert named["data_docpairs"] == ["msmarco-passage/train/docpairs/small"]
    assert named["data_split"] == ["msmarco-passage/queries", "msmarco-passage/train/qrels"]
