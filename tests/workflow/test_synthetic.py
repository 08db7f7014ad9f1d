"""Synthetic questions through the whole graph: a generator of one collection writes for another."""

import json
import os
import re
import shutil
import sys
from pathlib import Path

import polars as pl
import pytest
import yaml
from typer.testing import CliRunner

from conftest import ROOT
from copying import NAMES, draw
from projects import copy_project, invoke, snakemake
from residuum import questions
from residuum.__main__ import app
from residuum.artefacts import contracts, files, trec
from residuum.config import loading
from residuum.tuning.learned import Learned

ASKED, DOCS = {"train": draw(400, 1), "dev": draw(30, 2)}, draw(60, 3)
TRAINING = {"steps": 200, "batch_size": 32, "learning_rate": 0.01, "dropout": 0.0}
SAMPLING = {"per_doc": 2, "top_k": 3, "doc_length": 24, "question_length": 8, "seed": 1}
ANALYSIS = {"language": "en", "stemmer": "porter", "stopwords": "lucene"}
LEXICAL = {"kind": "lexical", "analysis": ANALYSIS, "bm25": {"k1": 0.9, "b": 0.4}, "k": 20}
MODELS = {
    "small": {
        "kind": "backbone", "corpora": ["known", "target"], "vocabulary": 200, "hidden": 32,
        "layers": 1, "heads": 2, "intermediate": 64, "max_length": 32, "seed": 1,
    },
    "writer": {
        "kind": "question-generator", "backbone": "start", "train_on": "known", "layers": 1,
        "doc_length": 24, "question_length": 8, "cross_attention": "copying", "training": TRAINING,
    },
    "dual": {
        "kind": "dual-encoder", "backbone": "start", "train_on": "written", "loss": {"kind": "nll"},
        "encoder": {"query_length": 12, "doc_length": 24, "score_scale": 0.25},
        "training": {**TRAINING, "steps": 100},
    },
}  # fmt: skip
SCALE = {
    "description": "synthetic", "comparable": False, "reason": "it is small", "seeds": [1],
    "roles": {"known": "qa/train", "target": "target/test", "written": "target/written"},
    "backbones": {"start": {"model": "small"}, "generator": {"model": "writer"}}, "threads": 1,
    "learning": {"candidates": "bm25", "top": 20, "measure": "RR@10"},
    "shard_docs": 100, "batch_size": 16, "pair_batch_size": 16,
}  # fmt: skip
BOTH = {"title": "T", "description": "For tests.", "licence": "none", "access": "none",
        "citation": "none"}  # fmt: skip
TABLE = {
    "kind": "table", "title": "Synthetic", "printed_in": "Table 1", "tests": "clear",
    "columns": [{"id": "rr", "role": "target", "measure": "RR@10", "header": "RR"}],
    "rows": [{"id": name, "label": name, "system": name} for name in ("bm25", "dense")],
    "tolerance": {"default": 0.005}, "reported": {},
}  # fmt: skip
TARGETS = ["metrics/target/test/dense.seed1.tsv", "learning/writer/seed1.json"]


def write_split(folder: Path, name: str, pairs: dict[str, tuple[str, str]]) -> dict[str, str]:
    """Write queries and judgements of a split into the data; return its keys in YAML."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = {"queries": f"{name}.tsv", "qrels": f"{name}.txt"}
    rows = (f"q-{doc_id}\t{question}\n" for doc_id, (_, question) in pairs.items())
    (folder / paths["queries"]).write_text("".join(rows))
    judged = (f"q-{doc_id} 0 {doc_id} 1\n" for doc_id in pairs)
    (folder / paths["qrels"]).write_text("".join(judged))
    return {key: f"{folder.name}/{path}" for key, path in paths.items()}


def write_collection(data: Path, name: str, splits: dict[str, dict], **more: object) -> dict:
    """Write a collection of the splits' docs; return its YAML."""
    keys = {split: write_split(data / name, split, pairs) for split, pairs in splits.items()}
    docs = {d: text for pairs in splits.values() for d, (text, _) in pairs.items()}
    docs |= {f"words-{name}-{n}": f"about {' '.join(NAMES)}" for n in range(2)}
    rows = (json.dumps({"doc_id": doc_id, "text": text}) + "\n" for doc_id, text in docs.items())
    (data / name / "docs.jsonl").write_text("".join(rows))
    made = {"source": {"kind": "files", "corpus": f"{name}/docs.jsonl"}, "splits": keys, **more}
    return BOTH | made | {"editions": [{"name": "any", "docs": len(docs)}]}


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = copy_project(tmp_path_factory.mktemp("synthetic"))
    config, data = folder / "config", folder / "data"
    shutil.rmtree(config)
    target = write_collection(data, "target", {"test": DOCS})
    target["splits"]["written"] = {"synthetic": {"generator": "generator", **SAMPLING}}
    target["splits"]["test"]["measures"] = ["RR@10"]
    entries = {
        "datasets": {
            "qa": write_collection(data, "qa", ASKED, own={"train": "train", "tune": "dev"}),
            "target": target,
        },
        "models": MODELS, "scales": {"synthetic": SCALE}, "papers/synthetic": {"table1": TABLE},
        "systems": {"bm25": LEXICAL, "dense": {"kind": "dense", "model": "dual", "k": 20}},
    }  # fmt: skip
    for kind, of in entries.items():
        (config / kind).mkdir(parents=True)
        for name, entry in of.items():
            (config / kind / f"{name}.yaml").write_text(yaml.safe_dump(entry))
    shutil.copytree(ROOT / "config" / "tests", config / "tests")
    chosen = {"scale": "synthetic", "papers": ["synthetic"]}
    (config / "config.yaml").write_text(yaml.safe_dump(chosen))
    return folder


@pytest.fixture(scope="module")
def env(project):
    return {**os.environ, "RESIDUUM_DATA": str(project / "data")}


@pytest.fixture(scope="module")
def made(project, env):
    """Make runs and verdict, and return the results folder."""
    targets = [f"results/synthetic/{target}" for target in TARGETS]
    snakemake(project, *targets, env=env, scale="synthetic")
    return project / "results" / "synthetic"


def record(path):
    return json.loads(path.read_text())


def test_the_generator_writes_the_split_of_the_other_collection(made):
    folder = made / "data" / "target" / "written"
    manifest = record(folder / "queries.tsv.manifest.json")
    assert manifest["code"]["module"] == "residuum.questions"
    assert manifest["spec"]["sampling"] == {**SAMPLING, "docs": None}
    assert any(path.endswith("models/writer/seed1") for path in manifest["inputs"])
    written = trec.read_queries(folder / "queries.tsv")
    facts = manifest["artefact"]
    assert (facts["docs"], facts["queries"]) == (len(DOCS) + 2, len(written))
    # of a doc's three names a question has two; none of its docs is in the generator's collection
    right = [
        set(text.split()[1:]) <= {*DOCS[query_id.rpartition(".")[0]][0].split()}
        for query_id, text in written.items()
        if query_id.rpartition(".")[0] in DOCS
    ]
    assert sum(right) > 0.9 * len(right) > 50
    verdict = Learned.read(made / "learning" / "writer" / "seed1.json")
    assert verdict.learned and (verdict.examples, verdict.split_ref) == (30, "qa/dev")
    assert not (made / "logs" / "data" / "target.written.log").exists()
    assert (made / "logs" / "data" / "target.test.log").exists()


def test_a_dual_encoder_is_trained_on_it(made):
    written = trec.read_queries(made / "data" / "target" / "written" / "queries.tsv")
    tuples = contracts.read_tuples(made / "training" / "dual" / "tuples.jsonl.gz")
    pairs = {pair.query_id: pair.positive for pair in tuples}
    assert pairs == {query_id: query_id.rpartition(".")[0] for query_id in written}
    inputs = record(made / "models" / "dual" / "seed1" / "manifest.json")["inputs"]
    assert "results/synthetic/data/target/written/queries.tsv" in inputs
    metrics = pl.read_csv(made / "metrics" / "target" / "test" / "dense.seed1.tsv", separator="\t")
    # the doc of two names among 62 of three: by chance 0.03 or so
    assert metrics.height == len(DOCS) and metrics["value"].mean() > 0.2


def test_a_job_of_its_own_writes_the_same_bytes(made, tmp_path, monkeypatch):
    folder = made / "data" / "target" / "written"
    manifest = record(folder / "queries.tsv.manifest.json")
    monkeypatch.chdir(made.parents[1])
    monkeypatch.setattr(sys, "argv", ["test"])
    questions.generate(
        corpus=made / "data" / "target" / "corpus", model=str(made / "models" / "writer" / "seed1"),
        spec=json.dumps(manifest["spec"]["sampling"]), work=tmp_path / "work", batch_size=5,
        queries=tmp_path / "queries.tsv", qrels=tmp_path / "qrels.trec", device="cpu", part_docs=9,
    )  # fmt: skip
    for name in ("queries.tsv", "qrels.trec"):
        assert files.sha256(tmp_path / name) == files.sha256(folder / name)


def jobs(project, env, text):
    """Return the rules that a dry run would run for the pages, by their counts."""
    status, printed = invoke(
        project, *(f"results/synthetic/{target}" for target in TARGETS), env=env, scale="synthetic",
        options=["--dry-run"],
    )  # fmt: skip
    assert status == 0, printed[-3000:]
    return dict(re.findall(r"^(\w+_\w+) +(\d+)$", printed, re.M))


def test_what_is_sampled_decides_the_split_and_what_follows_and_no_generator(project, env, made):
    path = project / "config" / "datasets" / "target.yaml"
    before = path.read_text()
    assert jobs(project, env, before) == {}
    path.write_text(before.replace("top_k: 3", "top_k: 4"))
    rules = jobs(project, env, before)
    path.write_text(before)
    assert {"questions_generate", "negatives_mine", "train_train"} <= {*rules}, rules
    assert rules["train_train"] == "1", "the dual encoder alone"
    assert not {"data_split", "data_corpus", "pretrain_backbone"} & {*rules}


@pytest.mark.usefixtures("forked_plans")
def test_a_plan_counts_the_questions(project, env, made, monkeypatch):
    monkeypatch.chdir(project)
    monkeypatch.setenv("RESIDUUM_DATA", env["RESIDUUM_DATA"])
    done = CliRunner().invoke(app, ["plan", "--scale", "synthetic", "--paper", "synthetic"])
    assert done.exit_code == 0, done.output
    assert "questions_generate" in done.output
    loading.load(project / "config", {"scale": "synthetic", "papers": ["synthetic"]})
