"""Published statistics of an index against those of the index that a run searched."""

import json

import pytest

from residuum.artefacts import indexes, manifest
from residuum.config.schema.analyses import IndexStatistics

STATED = IndexStatistics(documents=3633, total_terms=637485)
RECORD = {
    "docs": 3633,
    "documents": 3633,
    "non_empty_documents": 3632,
    "unique_terms": 22000,
    "total_terms": 637485,
    "analyzer": "DefaultEnglishAnalyzer",
    "lucene": "9.9.1",
}
FEW = RECORD | {"total_terms": 320}


def test_only_what_is_stated_must_be_the_same():
    assert indexes.other(STATED, [RECORD, RECORD]) is None
    assert indexes.other(STATED, [RECORD, {**RECORD, "unique_terms": 1}]) is None


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"documents": 3395}, "another index: documents 3,395, stated 3,633"),
        (
            {"documents": 3395, "total_terms": 512980},
            "another index: documents 3,395, stated 3,633; total terms 512,980, stated 637,485",
        ),
        ({"total_terms": None}, "another index: total terms unknown, stated 637,485"),
    ],
)
def test_what_differs_is_named_with_both_counts(changes, says):
    assert indexes.other(STATED, [RECORD, {**RECORD, **changes}]) == says


def test_a_run_without_an_index_is_not_taken_for_one_of_the_same():
    assert "names no index" in str(indexes.other(STATED, [RECORD, None]))


def test_statistics_are_written_in_words():
    assert indexes.counted(STATED) == "documents 3,633, total terms 637,485"
    assert indexes.described([None]) is None
    assert indexes.described([RECORD]) == (
        "documents 3,633, non-empty documents 3,632, unique terms 22,000, total terms 637,485, "
        "analyzer DefaultEnglishAnalyzer, lucene 9.9.1"
    )
    assert indexes.described([RECORD | {"left_out": 0}]) == indexes.described([RECORD])
    assert "320, left out as empty 2, ana" in indexes.described([{**FEW, "left_out": 2}])


def test_an_index_is_read_from_the_manifest_beside(tmp_path):
    path = tmp_path / "bm25.tsv"
    assert indexes.recorded(path) is None
    manifest.beside(path).write_text(json.dumps({"artefact": {"queries": 2}}))
    assert indexes.recorded(path) is None
    manifest.beside(path).write_text(json.dumps({"artefact": {"index": RECORD}}))
    assert indexes.recorded(path) == RECORD
