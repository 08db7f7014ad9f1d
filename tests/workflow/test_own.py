"""What belongs to the collection that is searched: `train_on: own`, `tune_on: own`.

What is planned for two small collections with training and tuning splits, and for one without.
"""

import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from typer.testing import CliRunner

from conftest import ROOT
from projects import copy_project, snakemake
from residuum.__main__ import app
from residuum.cli.errors import ResiduumError
from residuum.config import loading
from residuum.config.registry import SplitId
from residuum.wiring.availability import all_available, why_unavailable
from residuum.wiring.models import Models
from residuum.wiring.paths import Paths
from residuum.wiring.runs import Runs

TRAINING = {"steps": 20, "batch_size": 16, "learning_rate": 1e-3, "dropout": 0.0}
ENCODER = {"query_length": 32, "doc_length": 96, "score_scale": 0.05}
ERRORS = {"errors": {"kind": "hits", "system": "bm25", "top": 50}}
TUNED = {"tune_on": "own", "measure": "RR@10"}
ANALYSIS = {"language": "en", "stemmer": "porter", "stopwords": "lucene"}
LEXICAL = {"kind": "lexical", "analysis": ANALYSIS, "bm25": {"k1": 0.6, "b": 0.8}, "k": 100}
OWN = {"train_on": "own", "training": TRAINING}
MODELS = {
    "small": {
        "kind": "backbone", "corpora": ["one-dev", "two-dev"], "vocabulary": 4000, "hidden": 64,
        "layers": 2, "heads": 2, "intermediate": 256, "max_length": 128, "seed": 1,
    },
    "start": {
        "kind": "dual-encoder", "backbone": "untrained", "loss": {"kind": "nll"},
        "encoder": ENCODER, **OWN,
    },
    "mine": {
        "kind": "dual-encoder", "backbone": "started", "encoder": ENCODER, **OWN,
        "negatives": {"pools": ERRORS, "scores": "bm25", "per_pair": 2}, "loss": {"kind": "nll"},
    },
    "weights": {"kind": "term-weights", "backbone": "started", "length": 96, **OWN},
    "cross": {
        "kind": "cross-encoder", "backbone": "started", "loss": {"kind": "nll"}, "group": 2, **OWN,
        "negatives": {
            "pools": {**ERRORS, "mined": {"kind": "hits", "system": "vectors", "top": 20}},
            "scores": "bm25", "per_pair": 4,
        },
        "reading": {"pooling": "mean", "query_length": 32, "length": 112},
    },
}  # fmt: skip
SYSTEMS = {
    "bm25": LEXICAL,
    "weighted": {**LEXICAL, "term_weights": "weights"},
    "vectors": {"kind": "dense", "model": "mine", "k": 100},
    "hybrid": {
        "kind": "fusion", "parts": ["bm25", "vectors"], "unretrieved": "true_score", "k": 100,
        "interpolation": {"weighted": "bm25", "grid": [0.0, 0.5, 1.0], **TUNED},
    },
    "reranked": {
        "kind": "rerank", "first_stage": "hybrid", "reranker": {"model": "cross", "seed": 1},
        "depth": {"grid": [5, 10], **TUNED},
    },
}  # fmt: skip
ROLES = {"one-dev": "one/dev", "two-dev": "two/dev", "three-judged": "three/judged"}
SCALE = {
    "description": "three small collections", "comparable": False, "reason": "they are small",
    "seeds": [1], "roles": ROLES, "threads": 1, "shard_docs": 250, "batch_size": 64,
    "backbones": {"untrained": {"model": "small"}, "started": {"model": "start"}},
    "pair_batch_size": 32,
}  # fmt: skip
TABLE = {
    "kind": "table", "title": "Own models", "printed_in": "Table 1", "tests": "clear",
    "columns": [
        {"id": role, "role": role, "measure": "RR@10", "header": role} for role in ROLES
    ],
    "rows": [
        {"id": name, "index": n, "group": "all", "label": name, "system": name}
        for n, name in enumerate(SYSTEMS, start=1)
    ],
    "tolerance": {"default": 0.005}, "reported": {},
}  # fmt: skip


def write_config(folder: Path) -> None:
    """Write config/ of the three collections into a folder."""
    datasets = {"three": _dataset("generated-articles-smoke")}
    for seed, name in enumerate(("one", "two"), start=1):
        datasets[name] = _dataset("generated-smoke")
        datasets[name]["source"] |= {"seed": seed}
        datasets[name]["editions"] = [{"name": "any", "docs": 460}]
    entries = {"datasets": datasets, "models": MODELS, "systems": SYSTEMS, "scales": {"own": SCALE}}
    entries["papers/own"] = {"table1": TABLE}
    for kind, of in entries.items():
        (folder / kind).mkdir(parents=True)
        for name, entry in of.items():
            (folder / kind / f"{name}.yaml").write_text(yaml.safe_dump(entry))
    shutil.copytree(ROOT / "config" / "tests", folder / "tests")
    (folder / "config.yaml").write_text(yaml.safe_dump({"scale": "own", "papers": ["own"]}))


def _dataset(name):
    return yaml.safe_load((ROOT / "config" / "datasets" / f"{name}.yaml").read_text())


def load(folder):
    return loading.load(folder, {"scale": "own", "papers": ["own"]})


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = copy_project(tmp_path_factory.mktemp("project"))
    shutil.rmtree(folder / "config")
    write_config(folder / "config")
    return folder


@pytest.fixture(scope="module")
def jobs(project):
    """Return {output: inputs} of every file that a dry run would make."""
    output = snakemake(project, scale="own", options=["--dry-run", "--quiet", "host", "--nocolor"])
    printed = re.findall(r"^    input: (.*)\n    output: (.*)$", output, re.M)
    assert "rule all" in output
    return {
        made.removeprefix("results/own/"): {
            p.removeprefix("results/own/") for p in read.split(", ")
        }
        for read, outputs in printed
        for made in outputs.split(", ")
    }


@pytest.mark.parametrize(("name", "other"), [("one", "two"), ("two", "one")])
def test_each_collection_has_its_models_with_all_that_they_come_from(jobs, name, other):
    of = f"@{name}.train"
    start, mine = (f"models/{model}{of}/seed1/manifest.json" for model in ("start", "mine"))
    tuples, queries = f"training/mine{of}/tuples.jsonl.gz", f"data/{name}/train/queries.tsv"
    corpus = f"data/{name}/corpus/manifest.json"
    assert jobs[mine] == {tuples, corpus, queries, start}, "from a start that is its own as well"
    assert "backbones/small/manifest.json" in jobs[start]
    assert f"data/{name}/train/qrels.trec" in jobs[tuples]
    embedded = f"embeddings/{name}/mine{of}/seed1/shard-00000/manifest.json"
    assert jobs[embedded] == {corpus, mine}
    requested = jobs[f"embeddings/{name}.queries/mine{of}/seed1/manifest.json"] - {mine}
    assert requested == {
        f"data/{name}/{split}/queries.tsv" for split in ("train", "tune", "dev", "judged", "topics")
    }
    index = f"index/{name}/en-porter-lucene@weights{of}.seed1/manifest.json"
    assert f"weights/{name}/weights{of}/seed1/manifest.json" in jobs[index]
    assert index in jobs[f"runs/{name}/dev/weighted.seed1.trec.gz"]
    assert not any(f"/{other}/" in path or f"@{other}." in path for path in _ancestors(jobs, mine))


def _ancestors(jobs, output):
    """Return the files behind one, as far as the backbone, which is made of both corpora."""
    read = jobs.get(output, set()) if not output.startswith("backbones/") else set()
    return read.union(*(_ancestors(jobs, path) for path in read))


@pytest.mark.parametrize("name", ["one", "two"])
def test_each_collection_has_its_tuning_and_its_reranker(jobs, name):
    tuned = f"tuning/{name}/tune/hybrid.seed1.json"
    assert tuned in jobs[f"runs/{name}/dev/hybrid.seed1.trec.gz"]
    assert f"data/{name}/tune/qrels.trec" in jobs[tuned]
    cross = f"models/cross@{name}.train/seed1/manifest.json"
    mined = f"runs/{name}/train/vectors.seed1.trec.gz"
    assert mined in jobs[f"training/cross@{name}.train/tuples.jsonl.gz"], "a dense system's errors"
    assert cross in jobs[f"rerank/{name}/dev/cross@seed1/shard-00000.trec.gz"]
    curve = f"rerank/{name}/tune/cross@seed1.depths.tsv"
    assert curve in jobs[f"runs/{name}/dev/reranked.seed1.trec.gz"]
    assert cross in jobs[f"rerank/{name}/tune/cross@seed1/shard-00000.trec.gz"]


def test_there_are_two_models_of_each_and_none_of_the_collection_without_splits(jobs):
    made = {path.split("/")[1] for path in jobs if path.startswith("models/")}
    assert made == {f"{m}@{n}.train" for m in MODELS if m != "small" for n in ("one", "two")}
    runs = {path for path in jobs if path.startswith("runs/three/") and path.endswith(".gz")}
    assert runs == {"runs/three/judged/bm25.trec.gz"}


def test_a_collection_without_splits_of_its_own_is_not_run_and_told_how_to_get_them(project):
    own, three = load(project / "config"), SplitId("three", "judged")
    why = {n: why_unavailable(own, n, three, all_available) for n in SYSTEMS}
    assert why.pop("bm25") is None
    text = "three.yaml: own.train: no split given, but train_on: own needs one of earlier, judged"
    assert why["vectors"].endswith(text)
    assert "three.yaml: own.tune: no split given" in why["hybrid"]
    assert all("three.yaml: own." in text for text in why.values())


@pytest.mark.usefixtures("forked_plans")
def test_what_is_planned_is_estimated_and_the_gaps_are_listed(project, monkeypatch):
    monkeypatch.chdir(project)
    done = CliRunner().invoke(app, ["plan", "--scale", "own", "--paper", "own"])
    assert done.exit_code == 0, done.output
    assert re.search(r"train_train +\| 8 of 8 ", done.output)
    gap = re.search(r"- config/datasets/three.yaml: own.train: no split.*?\)", done.output, re.S)
    assert gap and "own-table1/vectors" in gap[0]


def test_tuples_are_shared_between_models_of_one_collection_only(project, tmp_path):
    config = shutil.copytree(project / "config", tmp_path / "config")
    other = {**MODELS["mine"], "negatives": {"same_as": "mine"}}
    (config / "models" / "other.yaml").write_text(yaml.safe_dump(other))
    assert load(config).tuples_of("other@two.train") == "mine@two.train"
    (config / "models" / "other.yaml").write_text(
        yaml.safe_dump({**MODELS["start"], "backbone": "started", "train_on": "two-dev"})
    )
    models = Models(load(config), Paths("r"), all_available)
    start = models.start(SimpleNamespace(model="other", seed="1"))
    assert start == "r/models/start@two.train/seed1", "of what a fixed role's model is trained on"
    (config / "models" / "other.yaml").write_text(yaml.safe_dump({**other, "train_on": "one-dev"}))
    with pytest.raises(ResiduumError, match="'mine' is trained on own, so its tuples are not"):
        load(config)


def test_a_role_may_be_played_by_each_collections_own_reranker(project, tmp_path):
    config = shutil.copytree(project / "config", tmp_path / "config")
    scale = SCALE | {"rerankers": {"role": {"model": "cross"}}}
    (config / "scales" / "own.yaml").write_text(yaml.safe_dump(scale))
    system = SYSTEMS["reranked"] | {"reranker": "role"}
    (config / "systems" / "reranked.yaml").write_text(yaml.safe_dump(system))
    runs = Runs(load(config), Paths("r"), all_available)
    for name in ("one", "two"):
        job = SimpleNamespace(dataset=name, split="dev", reranker="role")
        assert runs.reranker(job) == f"--model r/models/cross@{name}.train/seed1"


def test_rm3_has_a_measure_where_the_collection_tunes(project, tmp_path):
    config = shutil.copytree(project / "config", tmp_path / "config")
    grid = {"feedback_docs": [5], "feedback_terms": [5], "original_query_weight": [0.5]}
    for measures, split in (({"one-dev": "RR@10"}, "dev"), ({"own": "RR@10"}, "tune")):
        rm3 = {"grid": grid, "folds": 2, "seed": 1, "measures": measures}
        (config / "systems" / "rm3.yaml").write_text(yaml.safe_dump({**LEXICAL, "rm3": rm3}))
        why = why_unavailable(load(config), "rm3", SplitId("one", split), all_available)
        assert why is None, (measures, why)
    assert "names no role that this scale binds to two/dev" in str(
        why_unavailable(load(config), "rm3", SplitId("two", "dev"), all_available)
    )
