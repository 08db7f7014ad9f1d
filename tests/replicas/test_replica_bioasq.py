"""BioASQ's full graph on a replica of PubMed and of its questions."""

import hashlib
import json
import os
from collections import defaultdict
from types import SimpleNamespace

import polars as pl
import pytest
import yaml

from by_hand import relevant_of, run_of
from conftest import ROOT
from projects import choose, copy_project, snakemake
from replicas import hub, pubmed
from residuum.artefacts.contracts import read_docs
from residuum.collections.articles import generate

pytestmark = pytest.mark.workflow
RECIPE = yaml.safe_load((ROOT / "config/datasets/generated-pubmed-smoke.yaml").read_text())[
    "source"
]
BATCH, DEV = 4, 10


class World:
    """The generated records as PubMed would have them, and BioASQ their questions."""

    def __init__(self):
        recipe = dict(RECIPE, gold=SimpleNamespace(**RECIPE["gold"]), judged=0, judged_before=0)
        made = generate(SimpleNamespace(**recipe))
        self.docs = [{"pmid": self.pmid(doc_id), **fields} for doc_id, fields in made.docs]
        test = made.queries["test"]
        train = [*made.queries["train"], *made.queries["dev"]]  # the last are for development
        self.questions = {"training8b.json": [(self.hexed(q), text) for q, text in train]}
        for number in range(5):
            own = test[number * BATCH : (number + 1) * BATCH]
            name = f"8B{number + 1}_golden.json"
            self.questions[name] = [(self.hexed(q), text) for q, text in own]
        self.gold = defaultdict(list)
        for split in ("train", "dev", "test"):
            for query, doc, _ in made.qrels[split]:
                self.gold[self.hexed(query)].append(self.pmid(doc))

    @staticmethod
    def pmid(doc_id):
        return f"1{doc_id[1:]}"

    @staticmethod
    def hexed(query_id):
        return hashlib.sha1(query_id.encode()).hexdigest()[:24]


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
    pubmed.write_collection(folder / "data", world.docs, world.questions, world.gold)
    texts = [f"{doc['title']} {doc['abstract']}" for doc in world.docs]
    hub.write(folder / "hf", [*texts, *(t for own in world.questions.values() for _, t in own)])
    env = {
        **os.environ,
        "RESIDUUM_DATA": str(folder / "data"),
        "HF_HOME": str(folder / "hf"),
        "HF_HUB_OFFLINE": "1",
        "HTTPS_PROXY": "http://127.0.0.1:9",
    }
    snakemake(project, "all", env=env, scale="replica")
    return project / "results" / "replica"


def test_records_are_those_of_the_newest_files(world, results):
    docs = {record["doc_id"]: record for record in read_docs(results / "data/bioasq/corpus")}
    assert len(docs) == len(world.docs) == 320
    for doc in world.docs:
        record = docs[doc["pmid"]]
        assert (record["title"], record["abstract"]) == (doc["title"], doc["abstract"])


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
