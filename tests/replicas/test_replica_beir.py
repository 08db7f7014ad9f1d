"""ir_datasets reads the replicas of BEIR's small collections; the scale pins their counts."""

import pytest
import yaml

from conftest import ROOT
from replicas import beir, exporting, reading
from residuum.artefacts import contracts, trec
from residuum.config import entries
from residuum.config.schema.datasets import Dataset

SCALE = yaml.safe_load((ROOT / "config" / "scales" / "replica.yaml").read_text())


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def replicas(home):
    written = [*beir.write(home), *beir.write_nano(home)]
    return {
        replica.name.removeprefix("beir/").replace("-beir/", "-"): replica for replica in written
    }


@pytest.fixture(scope="module")
def result(home, replicas):
    splits = [split for replica in replicas.values() for split in replica.queries]
    names = [f"beir/{name}" for name in beir.SPLITS]  # Parquet is read by residuum alone
    return reading.read(home, names, [split for split in splits if split.startswith("beir/")])


@pytest.mark.parametrize("name", beir.SPLITS)
def test_docs_queries_and_judgements_are_read_as_they_were_written(replicas, result, name):
    replica = replicas[name]
    assert reading.docs(result, replica.name) == replica.docs
    for split, queries in replica.queries.items():
        assert reading.queries(result, split) == queries and queries
        assert reading.qrels(result, split) == replica.qrels[split]


@pytest.mark.parametrize("name", [*beir.SPLITS, *(f"nano-{name}" for name in beir.SPLITS)])
def test_the_scale_pins_what_the_replicas_hold(replicas, name):
    entry = name if name.startswith("nano-") else f"beir-{name}"
    dataset = entries.parse(ROOT / "config" / "datasets" / f"{entry}.yaml", Dataset)
    [pin] = SCALE["editions"][entry]
    counts = replicas[name].counts()
    assert dataset.source.docs == replicas[name].name and pin["docs"] == counts["docs"]
    assert pin["splits"] == {s: counts["splits"][dataset.splits[s].irds] for s in dataset.splits}
    assert {*dataset.splits} == {*beir.SPLITS.get(name, ["test"])}


def test_queries_of_arguana_are_docs_and_not_their_counterarguments(replicas):
    [queries], [judged] = (of.values() for of in (replicas["arguana"].queries,
                                                 replicas["arguana"].qrels))  # fmt: skip
    docs = dict(replicas["arguana"].docs)
    assert all(docs[query_id]["text"] == text for query_id, text in queries.items())
    assert all(query_id != doc_id and doc_id in docs for query_id, doc_id, _ in judged)


def test_residuum_exports_arguana_and_a_sample_of_nanobeir(home, replicas, tmp_path):
    folders = exporting.Folders(home, tmp_path)
    made = {"beir-arguana": replicas["arguana"], "nano-arguana": replicas["nano-arguana"]}
    for name, replica in made.items():
        entry, output = exporting.dataset(name, replica), tmp_path / name
        for done in (exporting.corpus(folders, name, entry, output / "corpus"),
                     exporting.split(folders, name, entry, "test", output / "test")):  # fmt: skip
            assert done.returncode == 0, done.stderr
        texts = {doc["doc_id"]: doc["text"] for doc in contracts.read_docs(output / "corpus")}
        assert texts == {
            doc_id: " ".join(filter(None, [doc.get("title"), doc["text"]]))
            for doc_id, doc in replica.docs
        }
        [queries], [qrels] = replica.queries.values(), replica.qrels.values()
        assert trec.read_queries(output / "test" / "queries.tsv") == queries
        judged = trec.read_qrels(output / "test" / "qrels.trec")
        assert set(judged.select("query_id", "doc_id", "relevance").rows()) == set(qrels)
