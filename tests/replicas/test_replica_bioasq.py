"""BioASQ's full graph on a replica of PubMed and of its questions."""

import json
import os

import polars as pl
import pytest

from by_hand import relevant_of, run_of
from projects import choose, copy_project, snakemake
from replicas import hub
from replicas.bioasq import DEV, World
from residuum.artefacts.contracts import read_docs
from results_fixture import change

pytestmark = pytest.mark.workflow


@pytest.fixture(scope="module")
def world():
    return World()


@pytest.fixture(scope="module")
def results(world, tmp_path_factory):
    folder = tmp_path_factory.mktemp("bioasq")
    project = folder / "project"
    project.mkdir()
    copy_project(project)
    choose(project, "bioasq")
    scale = project / "config" / "scales" / "replica.yaml"
    change(scale, "shard_pairs: 4000", "shard_pairs: 400")  # several of each split
    world.write(folder / "data")
    hub.write(folder / "hf", world.texts())
    data = {"RESIDUUM_DATA": str(folder / "data")}
    env = os.environ | hub.offline(folder / "hf") | data
    snakemake(project, "all", env=env, scale="replica")
    return project / "results" / "replica"


def test_records_are_those_of_the_newest_files(world, results):
    docs = {record["doc_id"]: record for record in read_docs(results / "data/bioasq/corpus")}
    assert len(docs) == len(world.docs) == 320
    for doc in world.docs:
        record = docs[doc["pmid"]]
        assert (record["title"], record["abstract"]) == (doc["title"], doc["abstract"])


def test_pairs_are_scored_in_several_shards(results):
    """Each shard holds the pairs of other questions, which follow each other by their ids."""
    folders = sorted((results / "rerank/bioasq").glob("*/*/"))
    assert folders
    for folder in folders:
        runs = [run_of(path) for path in sorted(folder.glob("shard-*.trec.gz"))]
        listed = [query for run in runs for query in sorted(run)]
        assert len(runs) > 1 and listed == sorted({*listed}), folder


def test_the_last_questions_are_for_development_and_batches_are_files(world, results):
    splits = {}
    for split in ("train", "dev", "test", *(f"batch{n}" for n in range(1, 6))):
        lines = (results / "data/bioasq" / split / "queries.tsv").read_text().splitlines()
        splits[split] = [line.split("\t")[0] for line in lines]
    train = [query for query, _ in world.questions["training8b.json"]]
    assert splits["train"] == train[:-DEV] and splits["dev"] == train[-DEV:]
    for number in range(1, 6):
        assert splits[f"batch{number}"] == [
            q for q, _ in world.questions[f"8B{number}_golden.json"]
        ]
    assert splits["test"] == [q for n in range(1, 6) for q in splits[f"batch{n}"]]
    relevant = relevant_of(results / "data/bioasq/test")
    assert relevant == {(query, doc) for query in splits["test"] for doc in world.gold[query]}


def test_every_cell_that_is_ours_has_a_value(results):
    for page in ("table1", "table1_batch5", "table2", "updates"):
        table = pl.read_csv(results / "tables" / f"bioasq-{page}.tsv", separator="\t")
        own = table.filter(pl.col("row") != "best")
        assert own["measured"].null_count() == 0
        assert own.filter(pl.col("row").str.starts_with("bm25"))["measured"].mean() > 0.1


def test_the_hubs_generator_wrote_the_questions_that_a_fifth_of_each_batch_has(results):
    manifest = json.loads((results / "data/bioasq/synthetic/queries.tsv.manifest.json").read_text())
    named, revision = manifest["spec"]["hub"]
    assert named == "doc2query/stackexchange-t5-base-v1" and len(revision) == 40
    assert manifest["artefact"]["docs"] == 320
    training = json.loads((results / "models/bioasq-de/seed1/manifest.json").read_text())
    mix = training["artefact"]["mix"]
    assert [mix[role]["in_batch"] for role in ("bioasq-train", "bioasq-synthetic")] == [13, 3]
    assert training["spec"]["start"] == "microsoft/BiomedNLP-BiomedBERT-base-uncased-abstract"


def test_hybrids_list_ten_docs_and_rerankers_the_same(results):
    for hybrid in ("bioasq-hybrid-first", "bioasq-hybrid"):
        run = run_of(results / "runs/bioasq/test" / f"{hybrid}.seed1.trec.gz")
        reranked = run_of(results / "runs/bioasq/test" / f"{hybrid}-rerank.seed1.trec.gz")
        assert len(run) == 20 and all(len(docs) == 10 for docs in run.values())
        assert {q: {*docs} for q, docs in run.items()} == {q: {*d} for q, d in reranked.items()}
