"""DPR's marked paragraphs matched to passages by title and shared words, on hand-made texts."""

import json
from gzip import compress

import pytest

from residuum.cli.errors import ResiduumError
from residuum.collections import marked
from residuum.collections.marked import Marked

RIVER = "The Arno rises on Monte Falterona and flows to Florence and Pisa before it meets the sea"
PASSAGES = [
    ("whole", "Arno", RIVER),
    ("start", "Arno", "The Arno rises on Monte Falterona and flows through fields"),
    ("other", "Arno", "Ships once carried marble up the river from a harbour near the coast"),
    ("elsewhere", "Tiber", RIVER),
]


def of(title, paragraph):
    return marked.matched([Marked(title, paragraph)], PASSAGES)[0]


def test_a_passage_of_the_page_that_shares_half_of_the_shorter_text_matches():
    # Seven words open both of "start"'s nine and the paragraph's: "flows" is the eighth. So six of
    # its eight trigrams are shared.
    assert of("Arno", RIVER) == {"whole", "start"}
    assert of("ARNO", RIVER.upper().replace(" ", " , ")) == {"whole", "start"}


def test_the_half_is_counted_by_trigrams():
    # Six words have four trigrams. The first four words share two of these, the first three one.
    shared = RIVER.split()[:4]
    assert of("Arno", " ".join([*shared, "wooden", "boats"])) == {"whole", "start"}
    assert of("Arno", " ".join([*shared[:3], "by", "wooden", "boats"])) == set()


@pytest.mark.parametrize(
    ("title", "paragraph"),
    [("Po", RIVER), ("", RIVER), ("Arno", ""), ("Arno", "Marble was once carried by ships")],
)
def test_another_page_or_text_matches_nothing(title, paragraph):
    assert of(title, paragraph) == set()


def test_paragraphs_are_matched_apart_and_in_order():
    paragraphs = [Marked("Po", RIVER), Marked("Arno", PASSAGES[2][2]), Marked("Tiber", RIVER)]
    assert marked.matched(paragraphs, PASSAGES) == [set(), {"other"}, {"elsewhere"}]


def test_dprs_file_is_read_plain_or_packed(tmp_path):
    row = {"title": "Arno", "context": RIVER, "question": "where", "example_id": "1"}
    text = json.dumps({"version": 1, "data": [row]}).encode()
    for name, data in (("gold.json", text), ("gold.json.gz", compress(text))):
        (tmp_path / name).write_bytes(data)
        assert marked.read(tmp_path / name) == [Marked("Arno", RIVER)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"data": [', "not JSON, or cut short"),
        ("[]", r'expected \{"data": \[\.\.\.\]\}'),
        ('{"data": [{"title": "Arno", "context": "a"}, {"title": "Arno"}]}', "question 2 of"),
        ('{"data": ["Arno"]}', "question 1 of `data` lacks a title"),
    ],
)
def test_another_file_is_refused_with_its_place(tmp_path, text, message):
    path = tmp_path / "gold.json"
    path.write_text(text)
    with pytest.raises(ResiduumError, match=rf"gold\.json: .*{message}"):
        marked.read(path)
