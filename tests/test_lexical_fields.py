"""Lucene over fields and over term weights: the BM25 formula by hand, and what is refused."""

import json
import math

import pytest

from corpora import form, hits, make_corpus, make_index, make_weights, spec, system
from residuum import lexical
from residuum.artefacts import indexes, trec
from residuum.cli.errors import ResiduumError

WEIGHTS = {"title": 1.0, "body": 2.0}
DOCS = [
    ("d1", {"title": "apple", "body": "apple banana apple", "text": "unused"}),
    ("d2", {"title": "banana split", "body": "", "text": "unused"}),
    ("d3", {"title": "", "body": "cherry apple date elder", "text": "unused"}),
    ("d4", {"title": "", "body": "", "text": "unused"}),
]
TERMS = [
    ("d1", {"apple": 5, "banana": 1}),
    ("d2", {"run": 2, "running": 3, "the": 9}),
    ("d3", {}),
    ("d4", {"banana": 2, "fig-tree": 1, "\x01": 1}),
]


def bm25(tf: int, length: int, df: int, lengths: list[int], k1: float = 0.9, b: float = 0.4):
    """Return the BM25 score of one term; docs without any term do not count, as in Lucene."""
    filled = [n for n in lengths if n]
    idf = math.log(1 + (len(filled) - df + 0.5) / (df + 0.5))
    average = sum(filled) / len(filled)
    return idf * tf / (tf + k1 * (1 - b + b * length / average))


@pytest.fixture(scope="module")
def fields(tmp_path_factory):
    return make_index(tmp_path_factory.mktemp("fields"), DOCS, fields=["body", "title"])


@pytest.fixture(scope="module")
def weighted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("weighted")
    corpus = make_corpus(folder / "corpus", [(doc_id, "unused") for doc_id, _ in TERMS])
    weights = make_weights(folder / "weights", TERMS)
    lexical.index(corpus, form(), folder / "index", weights)
    return folder / "index"


def test_the_score_is_the_weighted_sum_of_each_fields_own_bm25(fields):
    title, body = [1, 2, 0, 0], [3, 0, 4, 0]
    result = hits(fields, "apples, banana", boosts=WEIGHTS)
    in_title = bm25(1, 1, 1, title)
    in_body = bm25(2, 3, 2, body) + bm25(1, 3, 1, body)
    assert result["d1"] == pytest.approx(in_title + 2 * in_body, abs=1e-6)
    assert result["d2"] == pytest.approx(bm25(1, 2, 1, title), abs=1e-6)
    assert result["d3"] == pytest.approx(2 * bm25(1, 4, 2, body), abs=1e-6)
    assert set(result) == {"d1", "d2", "d3"}


def test_fields_score_given_docs_as_they_search(fields, tmp_path):
    trec.write_queries(tmp_path / "q.tsv", [("q", "apple banana elder"), ("r", "split")])
    run, scores = tmp_path / "run.trec.gz", tmp_path / "scores.trec.gz"
    lexical.search(fields, tmp_path / "q.tsv", spec(boosts=WEIGHTS), "x", run)
    lexical.score(fields, tmp_path / "q.tsv", [run], spec(boosts=WEIGHTS), "x", scores)
    assert trec.read_run(run).equals(trec.read_run(scores))
    facts = json.loads((tmp_path / "run.trec.gz.manifest.json").read_text())
    assert facts["artefact"]["parameters"]["fields"] == WEIGHTS


def test_an_index_states_the_statistics_of_each_field(fields):
    record = lexical.index_record(fields)
    assert record["fields"] == ["body", "title"]
    assert (record["docs"], record["documents"], record["left_out"]) == (4, 3, 1)
    assert indexes.read_left_out(fields) == {"d4"}, "d2 and d3 lack one field only"
    assert record["by_field"] == {
        "title": {"non_empty_documents": 2, "unique_terms": 3, "total_terms": 3},
        "body": {"non_empty_documents": 2, "unique_terms": 5, "total_terms": 7},
    }


def test_a_doc_whose_joined_fields_are_empty_is_left_out(tmp_path):
    index = make_index(tmp_path, DOCS, joined=["title", "body"])
    assert indexes.read_left_out(index) == {"d4"}
    assert lexical.index_record(index)["documents"] == 3


def test_a_doc_without_a_field_is_an_error_that_names_what_it_has(tmp_path):
    docs = [*DOCS, ("d5", {"title": "fig", "text": "fig"})]
    with pytest.raises(ResiduumError, match=r"corpus: doc d5 has no field body; it has title, tex"):
        make_index(tmp_path, docs, fields=["body", "title"])
    assert not (tmp_path / "index").exists()


def test_an_index_of_other_fields_or_weights_is_refused(fields, weighted):
    with pytest.raises(ResiduumError, match=r"en-porter-lucene.body.title.*en-porter-lucene of p"):
        lexical.open_index(fields, system())
    with pytest.raises(ResiduumError, match=r"requires en-porter-lucene.title of plain tf\. Index"):
        lexical.open_index(fields, system(boosts={"title": 1.0}))
    with pytest.raises(ResiduumError, match=r"as .* of term weights, but .* of plain tf\. Index"):
        lexical.open_index(weighted, system())


def test_fields_of_any_name_are_kept_apart_from_anserinis(tmp_path):
    docs = [("d1", {"text": "a", "id": "apple", "contents": "banana", "vector": "cherry"})]
    names = {"id": 1.0, "contents": 1.0, "vector": 1.0}
    index = make_index(tmp_path, docs, fields=list(names))
    assert set(hits(index, "cherry", boosts=names)) == {"d1"}
    assert not hits(index, "d1", boosts=names)


def test_term_weights_take_the_place_of_tf_and_words_of_one_stem_add_up(weighted):
    lengths = [6, 5, 0, 4]
    result = hits(weighted, "apple bananas", term_weights="deepct")
    d1 = bm25(5, 6, 1, lengths) + bm25(1, 6, 2, lengths)
    assert result == pytest.approx({"d1": d1, "d4": bm25(2, 4, 2, lengths)}, abs=1e-6)
    runs = {"d2": bm25(5, 5, 1, lengths)}
    assert hits(weighted, "runs", term_weights="deepct") == pytest.approx(runs, abs=1e-6)
    assert not hits(weighted, "the", term_weights="deepct")


def test_an_index_of_term_weights_leaves_out_empty_docs_and_says_where_they_are_from(weighted):
    record = lexical.index_record(weighted)
    assert (record["docs"], record["documents"], record["non_empty_documents"]) == (4, 3, 3)
    assert indexes.read_left_out(weighted) == {"d3"}
    assert record["total_terms"] == 15 and record["weights"].endswith("weights")
    inputs = json.loads((weighted / "manifest.json").read_text())["inputs"]
    assert [path.split("/")[-2] for path in inputs] == ["corpus", "weights"]


def test_term_weights_of_another_corpus_are_refused(tmp_path):
    corpus = make_corpus(tmp_path / "corpus", [("d1", "x"), ("d9", "y")])
    weights = make_weights(tmp_path / "weights", TERMS[:2])
    with pytest.raises(ResiduumError, match=r"weights is not of the docs of .*: d9 and d2 are"):
        lexical.index(corpus, form(), tmp_path / "index", weights)
    weights = make_weights(tmp_path / "fewer", TERMS[:1])
    with pytest.raises(ResiduumError, match="d9 and no doc are at the same position"):
        lexical.index(corpus, form(), tmp_path / "index", weights)
    with pytest.raises(ResiduumError, match="Index them without fields"):
        lexical.index(corpus, form(fields=["title"]), tmp_path / "index", weights)


def test_joined_fields_are_one_text(tmp_path):
    """d1 has apple three times in four words, d3 once in four, d2 none of two; N is 3."""
    index = make_index(tmp_path, DOCS, joined=["title", "body"])
    result = hits(index, "apple", joined=["title", "body"])
    lengths = [4, 2, 4, 0]
    assert result["d1"] == pytest.approx(bm25(3, 4, 2, lengths), abs=1e-6)
    assert result["d3"] == pytest.approx(bm25(1, 4, 2, lengths), abs=1e-6)
    assert set(result) == {"d1", "d3"} and not hits(index, "unused", joined=["title", "body"])
    record = json.loads((index / "manifest.json").read_text())
    assert record["artefact"]["total_terms"] == 10
    with pytest.raises(ResiduumError, match=r"made as en-porter-lucene.title\+body of plain tf"):
        hits(index, "apple")
    with pytest.raises(ResiduumError, match="doc d1 has no field abstract; it has"):
        make_index(tmp_path / "other", DOCS, joined=["title", "abstract"])
    with pytest.raises(ResiduumError, match="joined: one text, without boosts"):
        system(joined=["title"], boosts={"body": 1.0})
