"""Training for each fold through the whole graph: two folds of a small collection, all on disk.

The topics of a fold are its own, and no doc shares a word with a query that it answers but for a
name, by which BM25 finds docs of all topics. Which doc answers it, its fold's pairs alone tell.
"""

import json
import os
import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
import yaml
from typer.testing import CliRunner

from conftest import ROOT
from projects import copy_project, invoke, snakemake
from residuum.__main__ import app
from residuum.artefacts import contracts, trec
from residuum.cli.errors import ResiduumError
from residuum.config import loading
from residuum.config.registry import SplitId
from residuum.neural import devices
from residuum.neural.encoders import Encoder
from residuum.tuning.choosing import Record
from residuum.tuning.learned import Learned
from residuum.wiring.availability import all_available, why_unavailable
from residuum.wiring.corpora import Corpora
from residuum.wiring.models import Models
from residuum.wiring.paths import Paths
from timings import phases_of_runs

TOPICS = {
    "one": [("river", "water"), ("bread", "flour"), ("music", "sound"), ("engine", "motor")],
    "two": [("winter", "frost"), ("market", "trade"), ("doctor", "nurse"), ("forest", "trees")],
}
NAMES = ["anna", "berta", "clara", "dora", "emma", "frida"]
TRAINING = {"steps": 150, "batch_size": 8, "learning_rate": 0.01, "dropout": 0.0}
ENCODER = {"query_length": 12, "doc_length": 24, "score_scale": 0.25}
OWN = {"backbone": "start", "train_on": "own", "loss": {"kind": "nll"}, "training": TRAINING}
ERRORS = {"errors": {"kind": "hits", "system": "bm25", "top": 10}}
NEGATIVES = {"pools": ERRORS, "scores": "bm25", "per_pair": 4}
ANALYSIS = {"language": "en", "stemmer": "porter", "stopwords": "lucene"}
LEXICAL = {"kind": "lexical", "analysis": ANALYSIS, "bm25": {"k1": 0.9, "b": 0.4}, "k": 20}
TUNED = {"tune_on": "own", "measure": "RR@10"}
READING = {"pooling": "mean", "query_length": 12, "length": 30}
MODELS = {
    "small": {
        "kind": "backbone", "corpora": ["all"], "vocabulary": 150, "hidden": 16, "layers": 1,
        "heads": 2, "intermediate": 32, "max_length": 32, "seed": 1,
    },
    "dual": {"kind": "dual-encoder", "encoder": ENCODER, "negatives": NEGATIVES, **OWN},
    "cross": {
        "kind": "cross-encoder", "negatives": {"same_as": "dual"}, "reading": READING, **OWN,
        "training": {**TRAINING, "steps": 5},
    },
    "weights": {"kind": "term-weights", "backbone": "start", "length": 24, "train_on": "own",
                "training": TRAINING},
}  # fmt: skip
MINED = {"pools": {"mined": {"kind": "hits", "system": "dense", "top": 5}}, "scores": "bm25",
         "per_pair": 2}  # fmt: skip
MODELS["kept"] = {**MODELS["dual"], "training": {**TRAINING, "snapshots": 2}}
MODELS["mined"] = {**MODELS["dual"], "negatives": MINED}
SYSTEMS = {
    "bm25": LEXICAL,
    "dense": {"kind": "dense", "model": "dual", "k": 20},
    "hybrid": {
        "kind": "fusion", "parts": ["bm25", "dense"], "unretrieved": "true_score", "k": 20,
        "interpolation": {"weighted": "dense", "grid": [0.0, 0.5, 1.0], **TUNED},
    },
    "reranked": {
        "kind": "rerank", "first_stage": "bm25", "reranker": {"model": "cross", "seed": 1},
        "depth": {"value": 5},
    },
    "deepest": {
        "kind": "rerank", "first_stage": "bm25", "reranker": {"model": "cross", "seed": 1},
        "depth": {"grid": [1, 2, 5], **TUNED},
    },
    "weighted": {**LEXICAL, "term_weights": "weights"},
    "from-mined": {"kind": "dense", "model": "mined", "k": 20},
    "snapped": {"kind": "dense", "model": "kept", "k": 20},
    "exact": {
        "kind": "hybrid", "parts": ["dense", "snapped"], "k": 20,
        "interpolation": {"weighted": "dense", "value": 0.5},
    },
}  # fmt: skip
SCALE = {
    "description": "two folds", "comparable": False, "reason": "it is small", "seeds": [1],
    "roles": {"all": "tiny/all"}, "backbones": {"start": {"model": "small"}}, "threads": 1,
    "learning": {"candidates": "bm25", "top": 20, "measure": "RR@10"},
    "shard_docs": 15, "batch_size": 16, "pair_batch_size": 16,
}  # fmt: skip
SPLITS = {
    "all": {"queries": "tiny/queries.tsv", "qrels": "tiny/qrels.txt", "folds": ["one", "two"],
            "measures": ["RR@10", "AP@20"]},
    "other": {"queries": "tiny/queries.tsv", "qrels": "tiny/qrels.txt"},
}  # fmt: skip
DATASET = {
    "title": "Tiny", "description": "For tests.", "licence": "none", "access": "none",
    "citation": "none", "source": {"kind": "files", "corpus": "tiny/docs.jsonl"},
    "own": {"train": "all", "tune": "all"}, "editions": [{"name": "any", "docs": 34}],
}  # fmt: skip
TABLE = {
    "kind": "table", "title": "Folds", "printed_in": "Table 1", "tests": "clear",
    "columns": [{"id": "rr", "role": "all", "measure": "RR@10", "header": "RR"}],
    "rows": [
        {"id": name, "index": n, "group": "all", "label": name, "system": name}
        for n, name in enumerate(SYSTEMS, start=1)
    ],
    "tolerance": {"default": 0.005}, "reported": {},
}  # fmt: skip
RR = {"role": "all", "measure": "RR@10", "header": "RR"}
BY_FOLD = TABLE | {
    "columns": [
        {"id": fold, **RR, "within": {"grouping": "folds", "group": fold}} for fold in TOPICS
    ] + [{"id": "all", **RR}],
    "rows": [{"id": name, "label": name, "system": name} for name in ("bm25", "hybrid")],
}  # fmt: skip
MADE = ["dense.seed1", "hybrid.seed1", "reranked", "deepest"]
MODEL = "dual@tiny.all"


def write_collection(folder: Path) -> dict[str, list[str]]:
    """Write docs, queries and judgements; return the query ids of each fold."""
    words = " ".join(asked for topics in TOPICS.values() for asked, _ in topics)
    docs = {f"words-{n}": f"about {words}" for n in range(2)}  # so that a vocabulary has them
    queries, qrels, folds = {}, [], {"one": [], "two": []}
    for fold, topics in TOPICS.items():
        for number, (asked, answer) in enumerate(topics):
            docs |= {f"{answer}-{n}": f"{answer} {n} {answer} {NAMES[n]}" for n in range(4)}
            for place, name in enumerate(NAMES[:3]):
                query_id = f"{fold}-{number}-{place}"
                queries[query_id] = f"about {asked} {name}"
                folds[fold].append(query_id)
                qrels += [f"{query_id} 0 {answer}-{n} 1" for n in range(4)]
    folder.mkdir(parents=True)
    rows = (json.dumps({"doc_id": name, "text": text}) for name, text in docs.items())
    for name, lines in (
        ("docs.jsonl", rows),
        ("queries.tsv", (f"{query_id}\t{text}" for query_id, text in queries.items())),
        ("qrels.txt", qrels),
    ):
        (folder / name).write_text("".join(f"{line}\n" for line in lines))
    return folds


def write_config(folder: Path, folds: dict[str, list[str]]) -> None:
    """Write config/ of the collection into a folder."""
    parts = {name: {"part": {"of": "other", "ids": ids}} for name, ids in folds.items()}
    entries = {
        "datasets": {"tiny": DATASET | {"splits": SPLITS | parts}},
        "models": MODELS, "systems": SYSTEMS, "scales": {"folds": SCALE},
        "papers/folds": {"table1": TABLE, "table2": BY_FOLD},
        "groupings": {"folds": {"kind": "folds"}},
    }  # fmt: skip
    for kind, of in entries.items():
        (folder / kind).mkdir(parents=True)
        for name, entry in of.items():
            (folder / kind / f"{name}.yaml").write_text(yaml.safe_dump(entry))
    shutil.copytree(ROOT / "config" / "tests", folder / "tests")
    (folder / "config.yaml").write_text(yaml.safe_dump({"scale": "folds", "papers": ["folds"]}))


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = copy_project(tmp_path_factory.mktemp("folds"))
    shutil.rmtree(folder / "config")
    write_config(folder / "config", write_collection(folder / "data" / "tiny"))
    return folder


@pytest.fixture(scope="module")
def folds(project):
    dataset = yaml.safe_load((project / "config" / "datasets" / "tiny.yaml").read_text())
    return {name: {*dataset["splits"][name]["part"]["ids"]} for name in TOPICS}


@pytest.fixture(scope="module")
def env(project):
    return {**os.environ, "RESIDUUM_DATA": str(project / "data")}


@pytest.fixture(scope="module")
def registry(project):
    return loading.load(project / "config", {"scale": "folds", "papers": ["folds"]})


@pytest.fixture(scope="module")
def made(project, env):
    """Make the runs of the whole split, the verdict, and return the results folder."""
    targets = [f"results/folds/metrics/tiny/all/{run}.tsv" for run in MADE]
    targets.append(f"results/folds/learning/{MODEL}/seed1.json")
    targets.append("results/folds/tables/folds-table2.tsv")
    snakemake(project, *targets, env=env, scale="folds")
    return project / "results" / "folds"


def record(path):
    return json.loads(path.read_text())


def encoders(made):
    """Return the encoder of each fold's training, by the fold that it holds out."""
    cpu = devices.choose("cpu", "fp32", 1)
    return {f: Encoder.load(made / "models" / f"{MODEL}.{f}" / "seed1", cpu) for f in TOPICS}


def texts(made):
    queries = trec.read_queries(made / "data" / "tiny" / "all" / "queries.tsv")
    return queries, dict(contracts.read_corpus(made / "data" / "tiny" / "corpus"))


def scores_of(encoder, queries, docs):
    """Return the inner products of all queries and docs, by their ids."""
    rows = encoder.encode(list(queries.values()), "query", 16)
    products = rows @ encoder.encode(list(docs.values()), "doc", 16).T
    return {(q, d): products[i, j] for i, q in enumerate(queries) for j, d in enumerate(docs)}


def test_each_training_keeps_no_pair_of_its_fold(made, folds):
    tuples = contracts.read_tuples(made / "training" / MODEL / "tuples.jsonl.gz")
    assert len(tuples) == 96 and {pair.query_id for pair in tuples} == folds["one"] | folds["two"]
    assert {path.name for path in (made / "models").iterdir()} == {
        f"{name}@tiny.all.{fold}" for name in ("dual", "cross") for fold in TOPICS
    }
    for path in (made / "models").iterdir():
        facts = record(path / "seed1" / "manifest.json")
        fold = path.name.rpartition(".")[2]
        kept = {"fold": fold, "pairs": 48, "pairs_left": 48, "queries": 12, "queries_left": 12}
        assert facts["artefact"]["held_out"] == kept
        assert (facts["artefact"]["pairs"], facts["spec"]["held_out"]) == (48, fold)


def test_what_only_a_folds_queries_carry_is_not_learned_by_its_own_model(made, folds):
    """Of a query's fold: how often an answer is above a doc of the fold's other topics."""
    queries, docs = texts(made)
    qrels = trec.read_qrels(made / "data" / "tiny" / "all" / "qrels.trec")
    relevant = {(q, d) for q, d, _ in qrels.iter_rows()}
    shares = {}
    for held_out, encoder in encoders(made).items():
        scores = scores_of(encoder, queries, docs)
        for fold in folds:
            own = {answer for _, answer in TOPICS[fold]}
            of = [d for d in docs if d.partition("-")[0] in own]
            pairs = [
                (scores[q, good] > scores[q, bad])
                for q in folds[fold] for good in of for bad in of
                if (q, good) in relevant and (q, bad) not in relevant
            ]  # fmt: skip
            shares[held_out, fold] = np.mean(pairs)
    assert shares["one", "two"] > 0.95 and shares["two", "one"] > 0.95, shares
    assert shares["one", "one"] < 0.75 and shares["two", "two"] < 0.75, shares


def test_the_pooled_run_has_each_query_once_answered_by_the_model_that_has_not_seen_it(made, folds):
    run = trec.read_run(made / "runs" / "tiny" / "all" / "dense.seed1.trec.gz")
    assert run.group_by("query_id").len()["len"].to_list() == [20] * 24
    scored = trec.read_run(made / "scores" / "tiny" / "all" / "dense.seed1.on.bm25.trec.gz")
    queries, docs = texts(made)
    for fold, encoder in encoders(made).items():
        own = {query_id: queries[query_id] for query_id in folds[fold]}
        scores = scores_of(encoder, own, docs)
        for part in (run, scored):
            rows = part.filter(pl.col("query_id").is_in(list(own)))
            pairs = rows.select("query_id", "doc_id").rows()
            np.testing.assert_allclose(rows["score"], [scores[pair] for pair in pairs], atol=1e-5)
        best = run.filter(rank=1, query_id=min(own))["score"].item()
        assert best == pytest.approx(max(scores[min(own), d] for d in docs), abs=1e-5)
    inputs = record(made / "runs" / "tiny" / "all" / "dense.seed1.trec.gz.manifest.json")["inputs"]
    shards = {path.partition(f"{MODEL}.")[2].partition("/")[0] for path in inputs}
    assert (len(inputs), shards) == (6, {"one", "two"}), "three shards of each"


def test_only_the_folds_queries_are_encoded_for_a_folds_training(made):
    for fold in TOPICS:
        facts = record(made / "embeddings/tiny.queries" / f"{MODEL}.{fold}/seed1/manifest.json")
        assert facts["artefact"]["queries"] == {fold: 12}


def test_a_folds_lambda_is_chosen_on_the_other_folds_held_out_run(made, folds):
    tuned = Record.read(made / "tuning" / "tiny" / "all" / "hybrid.seed1.json")
    assert {q for q, fold in tuned.fold_of.items() if fold == 0} == folds["one"]
    metrics = {weight: trial.means for trial in tuned.tried for weight in trial.setting.values()}
    for fold, choice in enumerate(tuned.choices):
        best = max(metrics, key=lambda weight: metrics[weight][1 - fold])
        assert metrics[choice.setting["lambda"]][1 - fold] == metrics[best][1 - fold]


def test_columns_of_folds_are_means_over_their_queries(made, folds):
    """The hybrid's model has learned nothing that its fold's queries ask, so that it has none."""
    table = pl.read_csv(made / "tables" / "folds-table2.tsv", separator="\t")
    values = trec.read_metrics(made / "metrics" / "tiny" / "all" / "bm25.tsv")
    for column, own in {**folds, "all": folds["one"] | folds["two"]}.items():
        of_fold = values.filter(pl.col("query_id").is_in(own), measure="RR@10")["value"]
        cell = table.row(by_predicate=(pl.col("row") == "bm25") & _is(column), named=True)
        assert cell["measured"] == pytest.approx(of_fold.mean(), abs=1e-12)
        assert cell["n"] == len(own) == len(of_fold)
        other = table.row(by_predicate=(pl.col("row") == "hybrid") & _is(column), named=True)
        assert other["measured"] is None and other["not_learned"]


def _is(column):
    return pl.col("column") == column


def test_one_verdict_is_on_all_queries_each_by_the_model_that_has_not_seen_it(made, folds):
    verdict = Learned.read(made / "learning" / MODEL / "seed1.json")
    assert (verdict.examples, verdict.split_ref) == (24, "tiny/all")
    assert verdict.means["trained"] < 0.75, "no topic of a query's own fold was learned"
    assert verdict.preflight["examples"] == TRAINING["steps"] * TRAINING["batch_size"] / 10
    for fold in TOPICS:
        held = pl.read_csv(made / "learning" / f"{MODEL}.{fold}" / "seed1.tsv", separator="\t")
        assert {*held["query_id"]} == folds[fold]


def test_a_reranker_is_trained_for_each_fold_too(made, folds):
    facts = record(
        made / "rerank" / "tiny" / "all" / "cross@seed1/shard-00000.trec.gz.manifest.json"
    )
    models = [path for path in facts["inputs"] if "/models/" in path]
    assert [re.search(r"\.(\w+)/seed1", path)[1] for path in models] == ["one", "two"]
    assert facts["artefact"]["queries"] == 24


def test_a_folds_depth_is_chosen_on_the_other_folds_queries(made, folds):
    """By plain loops over the pairs' scores, each by the model that has not seen the fold."""
    place = made / "rerank/tiny/all/cross@seed1"
    run = trec.read_run(made / "runs/tiny/all/bm25.trec.gz")
    scores = {row[:2]: row[2] for row in trec.read_run(
        next(place.glob("shard-*.trec.gz"))).select(*trec.PAIR, "score").rows()}  # fmt: skip
    qrels = trec.read_qrels(made / "data/tiny/all/qrels.trec").filter(pl.col("relevance") > 0)
    relevant = {*qrels.select(trec.PAIR).rows()}
    lists = {q: docs["doc_id"].to_list() for (q,), docs in run.group_by("query_id")}

    def reranked(query, depth):
        top = sorted(lists[query][:depth], key=lambda doc: (-scores[query, doc], doc))
        return top + lists[query][depth:]

    def value(query, depth):
        ranks = [n for n, doc in enumerate(reranked(query, depth), 1) if (query, doc) in relevant]
        return 1 / ranks[0] if ranks and ranks[0] <= 10 else 0

    chosen = {}
    for fold, other in (("one", "two"), ("two", "one")):
        means = {d: np.mean([value(q, d) for q in sorted(folds[other])]) for d in (1, 2, 5)}
        chosen[fold] = max(means, key=means.get)
    kept = Record.read(made / "tuning/tiny/all/deepest.json")
    assert [choice.setting["depth"] for choice in kept.choices] == [chosen["one"], chosen["two"]]
    assert {q: kept.fold_of[q] for q in lists} == {q: int(q in folds["two"]) for q in lists}
    made_lists = trec.read_run(made / "runs/tiny/all/deepest.trec.gz")
    for (query,), docs in made_lists.group_by("query_id"):
        fold = "one" if query in folds["one"] else "two"
        assert docs.sort("rank")["doc_id"].to_list() == reranked(query, chosen[fold])


def test_systems_of_folds_are_timed_but_for_rerankers(made):
    """Each query is searched for by the model of its fold, and fused with the fold's lambda."""
    dense = {"encode", "search"}
    runs = {"dense.seed1": dense, "hybrid.seed1": {*dense, "score", "fuse"}}
    assert phases_of_runs(made, "tiny/all", *runs) == runs
    with pytest.raises(ResiduumError, match="a reranker of folds cannot be timed"):
        phases_of_runs(made, "tiny/all", "reranked")


def test_a_model_of_all_folds_is_not_made(project, env, made):
    target = f"results/folds/models/{MODEL}/seed1/manifest.json"
    status, output = invoke(project, target, env=env, scale="folds")
    assert (
        status
        and f"{MODEL} is trained for each fold on the others; name one of {MODEL}.one" in output
    )
    assert not (project / target).exists()


def test_what_folds_do_not_go_with_is_not_run_and_says_why(registry, env, monkeypatch):
    monkeypatch.setenv("RESIDUUM_DATA", env["RESIDUUM_DATA"])
    place, other = SplitId("tiny", "all"), SplitId("tiny", "other")
    why = {name: why_unavailable(registry, name, place, all_available) for name in SYSTEMS}
    assert [name for name, text in why.items() if text is None] == [
        "bm25", "dense", "hybrid", "reranked", "deepest", "snapped",
    ]  # fmt: skip
    assert (
        why["exact"]
        == "dual is trained for each fold, and a hybrid needs one model for all queries"
    )
    trained = "is trained for each fold of tiny/all"
    assert why["weighted"] == f"weights {trained}, and an index has the weights of one"
    assert why["from-mined"].startswith(f"mined {trained}, and so is what gives its negatives")
    for system, model in {"hybrid": "dual", "deepest": "cross"}.items():
        text = why_unavailable(registry, system, other, all_available)
        answers = "answers no query of another split: other"
        assert text == f"{model} {trained} on the others, and {answers}"
    assert why_unavailable(registry, "dense", SplitId("tiny", "one"), all_available) is None


def test_snapshots_and_folds_do_not_combine(registry):
    wired = Paths("r"), all_available
    job = SimpleNamespace(dataset="tiny", split="all", run="snapped.seed1@2")
    with pytest.raises(ResiduumError, match=r"each fold, which keeps no snapshots; ask for snap"):
        Corpora(registry, *wired).answered(job)
    spec = Models(registry, *wired).spec(SimpleNamespace(model="kept@tiny.all.one", seed="1"))
    assert json.loads(spec)["training"]["snapshots"] is None


@pytest.mark.usefixtures("forked_plans")
def test_a_plan_counts_the_trainings_of_all_folds(project, env, made, monkeypatch):
    monkeypatch.chdir(project)
    monkeypatch.setenv("RESIDUUM_DATA", env["RESIDUUM_DATA"])
    done = CliRunner().invoke(app, ["plan", "--scale", "folds", "--paper", "folds"])
    assert done.exit_code == 0, done.output
    assert re.search(r"train_train +\| \d of 6 ", done.output), "dual, cross, kept: two of each"
