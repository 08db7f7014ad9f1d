"""Training triples in files of one's own: of ids, and of texts, which are looked up."""

import gzip
import json

import numpy as np
import pytest

import layouts
from residuum import data
from residuum.artefacts import docpairs as written
from residuum.artefacts import manifest
from residuum.cli.errors import ResiduumError
from residuum.collections import docpairs
from residuum.config.schema.datasets import Dataset
from residuum.config.specs import canonical_json

TEXTS = {
    "01": "cats",
    "null": "dogs of the town",
    "007": "Cats cats sit on mats in Zürich",
    "NA": "dogs bark",
    "d3": "Cats and dogs cats and dogs of the town sleep",
}
IDS = [("01", "007", "NA"), ("null", "d3", "NA")]


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """Lay out a collection; return what writes its triples and reads them."""
    monkeypatch.setenv("RESIDUUM_DATA", str(tmp_path))
    layouts.beir(tmp_path)

    def dataset(lines, packed=False):
        text = "".join("\t".join(line) + "\r\n" for line in lines).encode()
        name = "triples.tsv.gz" if packed else "triples.tsv"
        (tmp_path / "mine" / name).write_bytes(gzip.compress(text) if packed else text)
        split = {"docpairs": "mine/triples.tsv"}
        entry = {"source": {"kind": "beir", "folder": "mine"}, "splits": {"test": split}}
        return Dataset.model_validate(entry)

    return dataset


def texts(triples):
    return [tuple(f"  {TEXTS[field]} ".replace(" ", "  ", 1) for field in one) for one in triples]


def read(dataset):
    return [*docpairs.docpairs(dataset, "test")]


@pytest.mark.parametrize("packed", [False, True])
def test_triples_of_texts_are_those_of_their_ids(mine, packed):
    assert read(mine(IDS, packed)) == IDS
    assert read(mine(texts(IDS), packed)) == IDS
    assert read(mine([])) == []


def test_triples_of_queries_of_other_splits_are_ids_too(mine):
    other = [("77", "007", "NA"), ("9", "d3", "NA")]
    assert read(mine(other)) == other


def test_a_query_that_is_an_id_and_a_text_is_told_by_its_docs(mine, tmp_path):
    """Whether `dogs` is a query_id or a query, the ids of docs say."""
    with open(tmp_path / "mine" / "queries.jsonl", "a") as handle:
        handle.write('{"_id": "dogs", "text": "x"}\n{"_id": "2", "text": "dogs"}\n')
    with open(tmp_path / "mine" / "corpus.jsonl", "a") as handle:
        handle.write('{"_id": "a", "text": "NA"}\n{"_id": "b", "text": "bark"}\n')
    assert read(mine([("dogs", "007", "NA")])) == [("dogs", "007", "NA")]
    assert read(mine([("dogs", "NA", "bark")])) == [("2", "a", "b")]


def test_texts_of_several_ids_are_resolved_by_the_judgements(mine, tmp_path):
    with open(tmp_path / "mine" / "queries.jsonl", "a") as handle:
        handle.write('{"_id": "again", "text": "cats"}\n{"_id": "more", "text": "cats"}\n')
    with open(tmp_path / "mine" / "corpus.jsonl", "a") as handle:
        handle.write(json.dumps({"_id": "zz", "text": TEXTS["007"]}) + "\n")
        handle.write(json.dumps({"_id": "na2", "text": TEXTS["NA"]}) + "\n")
    with open(tmp_path / "mine" / "qrels" / "test.tsv", "a") as handle:
        handle.write("more\tzz\t1\nagain\tna2\t0\n")
    by_qrels = texts([("01", "007", "NA"), ("01", "NA", "007"), ("null", "NA", "d3")])
    assert read(mine(by_qrels)) == [
        ("01", "007", "NA"),  # 01 and 007 are judged, and so are more and zz: the first
        ("01", "NA", "007"),  # no such pair is relevant: the first of each
        ("null", "NA", "d3"),
    ]
    (tmp_path / "mine" / "qrels" / "test.tsv").write_text(
        "query-id\tcorpus-id\tscore\nmore\tzz\t1\n"
    )
    assert read(mine(by_qrels))[0] == ("more", "zz", "NA")


def test_texts_that_nothing_has_are_counted_and_the_first_is_named(mine):
    lost = ("cats", "no such text", TEXTS["NA"])
    dataset = mine([*texts(IDS), lost, *texts(IDS), ("who", *lost[1:]), lost])
    message = r"line 3: no doc has the text 'no such text'; 3 lines have such texts\."
    with pytest.raises(ResiduumError, match=message):
        read(dataset)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([("01", "007")], "line 1: expected query_id TAB positive TAB negative, or their texts"),
        ([*IDS, texts(IDS)[0]], "line 3: texts where ids are expected, as the first line has"),
        ([*texts(IDS), IDS[0]], "line 3: no query has the text '01'; no other line has"),
    ],
)
def test_lines_of_another_form_are_named(mine, lines, message):
    with pytest.raises(ResiduumError, match=message):
        read(mine(lines))


def test_the_export_names_what_it_read(mine, tmp_path):
    dataset, queries = mine(texts([*IDS, IDS[0]])), tmp_path / "queries.tsv"
    queries.write_text("01\tcats\n")
    spec = canonical_json(dataset.for_docpairs("test"))
    data.docpairs("mine", "test", spec, queries, tmp_path / "made.tsv.gz")
    assert written.read(tmp_path / "made.tsv.gz").rows() == [IDS[0], IDS[0]]
    record = json.loads(manifest.beside(tmp_path / "made.tsv.gz").read_text())
    assert record["artefact"] == {"triples": 2, "of_other_queries": 1}
    names = ["triples.tsv", "corpus.jsonl", "queries.jsonl", "qrels/test.tsv"]
    assert [*record["inputs"]] == [str(queries), *(f"RESIDUUM_DATA/mine/{n}" for n in names)]


def test_an_index_holds_little_for_each_doc():
    index = docpairs.Index((str(n), f"text {n % 50_000}") for n in range(100_000))
    assert index.ids_of(["text 7", "none", "text 49999"]) == [
        ["7", "50007"],
        [],
        ["49999", "99999"],
    ]
    arrays = [value for value in vars(index).values() if isinstance(value, np.ndarray)]
    assert sum(array.nbytes for array in arrays) == 16 * 100_000
