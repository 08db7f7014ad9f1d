"""DeepCT's recall targets, folding and frequencies, each worked out by hand."""

import pytest

from residuum.neural.termweighter import (
    STOP_WORDS,
    first_subwords,
    frequencies,
    recall,
    targets,
    term_of,
)

QUERIES = [
    ["what", "is", "susan", "boyle", "singing", "?"],
    ["susan", "boyle", "songs", "and", "songs"],
    ["who", "sings", "with", "the", "choir"],
    ["susan"],
]


def test_recall_is_the_share_of_queries_with_the_term() -> None:
    assert recall(QUERIES) == {
        "what": 0.25,
        "susan": 0.75,
        "boyl": 0.5,
        "sing": 0.5,  # singing and sings
        "song": 0.25,  # twice in one query counts once
        "who": 0.25,
        "choir": 0.25,
    }


def test_targets_belong_to_the_words_as_they_stand() -> None:
    words = ["susan", "sang", ";", "sing", "the", "choirs", "susan", "?", "is"]
    result = targets(words, recall(QUERIES))
    assert result == [0.75, 0.0, 0.0, 0.5, 0.0, 0.25, 0.75, 0.0, 0.0]


def test_terms_are_stems_of_words_that_count() -> None:
    assert len(STOP_WORDS) == 33
    words = ["relational", "the", "?", "2019", "ponies"]
    assert [term_of(word) for word in words] == ["relat", None, None, "2019", "poni"]


def test_a_word_is_read_at_its_first_subword() -> None:
    assert first_subwords([None, 0, 1, 1, 1, 2, 4, None]) == {0: 1, 1: 2, 2: 5, 4: 6}
    assert first_subwords([None, None]) == {}


def test_frequencies_are_scaled_rounded_cut_and_the_largest() -> None:
    words = ["susan", "boyle", "sings", "a", "susan", "song"]
    weights = [0.104, 0.0156, 0.0099, -0.2, 0.307, 0.01]
    assert frequencies(words, weights, scale=100) == {"susan": 31, "boyle": 2, "song": 1}
    assert frequencies(["susan"], [0.05], scale=10) == {}  # 0.5 is below 1, rounded or not
    assert frequencies([], [], scale=100) == {}


def test_words_keep_the_order_of_the_doc() -> None:
    assert list(frequencies(["b", "a", "b"], [0.1, 0.5, 0.9], 100)) == ["b", "a"]


def test_lengths_must_agree() -> None:
    with pytest.raises(ValueError, match="shorter"):
        frequencies(["a", "b"], [0.5], 100)
