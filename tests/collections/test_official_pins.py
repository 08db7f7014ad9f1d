"""The pins of the papers' collections against the official queries and judgements."""

import gzip
import json
import re
from pathlib import Path

import pytest

from conftest import ROOT, irds_process
from residuum.artefacts import trec
from residuum.config import entries
from residuum.config.schema.datasets import Dataset
from residuum.config.specs import canonical_json

DATASETS = entries.Folder(ROOT / "config" / "datasets")


def dataset(name):
    return DATASETS.entry(name, Dataset)


@pytest.mark.shared_data
@pytest.mark.parametrize(
    ("name", "split", "queries", "qrels"),
    [
        ("msmarco-passage", "dev", 6980, 7437),
        ("msmarco-passage", "trec-dl-2019", 43, 9260),
        ("msmarco-passage", "trec-dl-2020", 54, 11386),
        ("cord19", "round1", 30, 8691),
        ("cord19", "round2", 35, 12037),
        ("nfcorpus", "test", 325, 15820),
    ],
)
def test_official_queries_and_qrels_fit_their_pins(
    official_home, tmp_path, name, split, queries, qrels
):
    entry = dataset(name)
    pin = entry.editions[0].splits[split]
    assert (pin.queries, pin.qrels) == (queries, qrels), "the pin is what the track publishes"
    if name == "nfcorpus":  # the home holds a part of its docs, so of their qrels
        pin = entry.editions[1].splits[split]
    words = ["-m", "residuum.data", "split", "--dataset", name, "--name", split]
    words += ["--spec", canonical_json(entry.for_split(split))]
    paths = [tmp_path / "queries.tsv", tmp_path / "qrels.trec"]
    words += ["--queries", str(paths[0]), "--qrels", str(paths[1])]
    done = irds_process(official_home, *words)
    assert done.returncode == 0, done.stderr
    assert len(trec.read_queries(paths[0])) == pin.queries
    levels = trec.read_qrels(paths[1])["relevance"].value_counts().rows()
    assert sum(count for _, count in levels) == pin.qrels
    if pin.relevance:
        assert dict(levels) == pin.relevance


TOPICS = """
import json, sys, ir_datasets
topics = lambda i: [query.query_id for query in ir_datasets.load(i).queries_iter()]
print(json.dumps({irds_id: topics(irds_id) for irds_id in sys.argv[1:]}))
"""


@pytest.mark.shared_data
def test_robust04s_five_folds_divide_its_250_topics(official_home):
    entry = dataset("robust04")
    ids = {name: split.irds for name, split in entry.splits.items() if split.irds}
    done = irds_process(official_home, "-c", TOPICS, *ids.values())
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    topics = gzip.decompress((official_home / "disks45" / "04.testset.gz").read_bytes()).decode(
        "latin-1"
    )
    numbers = re.findall(r"<num>\s*Number:\s*(\d+)", topics)
    assert result[ids["test"]] == numbers and len(numbers) == 250
    folds = [result[ids[name]] for name in entry.splits["test"].folds]
    assert [len(fold) for fold in folds] == [50] * 5
    assert sorted(query for fold in folds for query in fold) == sorted(numbers)
    others = [set(entry.splits[name].part.ids) for name in entry.splits["test-mcdonald"].folds]
    assert not [fold for fold in folds if set(fold) in others], "another division than McDonald's"
    pins = entry.editions[0].splits
    assert pins["test"].queries == 250
    assert all(pins[name].queries == 50 for name in entry.splits["test"].folds)


def test_the_folds_qrels_add_up_to_the_whole():
    pins = dataset("robust04").editions[0].splits
    folds = [pins[name] for name in dataset("robust04").splits["test"].folds]
    assert sum(fold.qrels for fold in folds) == pins["test"].qrels
    for level, count in pins["test"].relevance.items():
        assert sum(fold.relevance[level] for fold in folds) == count


def test_mcdonalds_folds_divide_the_topics_otherwise_than_ir_datasets():
    splits = dataset("robust04").splits
    folds = [splits[name].part.ids for name in splits["test-mcdonald"].folds]
    assert [len(fold) for fold in folds] == [50] * 5
    topics = sorted(topic for fold in folds for topic in fold)
    assert topics == [str(number) for number in [*range(301, 451), *range(601, 701)]]
    assert splits["test-mcdonald"].irds == splits["test"].irds
    assert not set(splits["test-mcdonald"].folds) & set(splits["test"].folds)
    whole = dataset("robust04")
    assert Dataset.model_validate(whole.model_dump()) == whole, "defaults may be written out"


@pytest.mark.shared_data
def test_mcdonalds_folds_are_those_that_anserini_publishes(shared_data):
    published = json.loads((shared_data / "robust04" / "folds.mcdonald2018.json").read_text())
    splits = dataset("robust04").splits
    assert [splits[name].part.ids for name in splits["test-mcdonald"].folds] == published


@pytest.mark.parametrize("name", DATASETS.locations)
def test_pinned_levels_add_up(name):
    for edition in dataset(name).editions:
        for split, pin in edition.splits.items():
            assert not pin.relevance or sum(pin.relevance.values()) == pin.qrels, split


OWN_READERS = {
    "cord19/fulltext/2020-05-01": "cord19/trec-covid/round2",
    "msmarco-passage/raw": "msmarco-passage",
}


def test_ir_datasets_publishes_the_same_counts():
    """Its own metadata is an independent record of all that cannot be had here."""
    import ir_datasets

    file = Path(ir_datasets.__file__).parent / "etc" / "metadata.json"
    known = json.loads(file.read_text())

    def part(irds_id, kind):
        result = known[irds_id][kind]
        return part(result["_ref"], kind) if "_ref" in result else result

    compared = 0
    for dataset_id in DATASETS.locations:
        entry = dataset(dataset_id)
        if entry.source.kind != "irds":
            continue
        edition = entry.editions[0]
        docs = OWN_READERS.get(entry.source.docs, entry.source.docs)
        if not entry.source.sample:
            assert edition.docs == part(docs, "docs")["count"], dataset_id
        for name, pin in edition.splits.items():
            irds_id = entry.splits[name].irds
            if not irds_id:
                continue
            assert pin.queries == part(irds_id, "queries")["count"], (dataset_id, name)
            if entry.judged(name):
                levels = part(irds_id, "qrels")["fields"]["relevance"]["counts_by_value"]
                counts = {int(level): count for level, count in levels.items()}
                assert pin.relevance in ({}, counts) and pin.qrels == sum(counts.values())
            compared += 1
    assert compared > 15
