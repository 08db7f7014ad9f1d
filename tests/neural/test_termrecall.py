"""DeepCT's recall targets, folding and frequencies, each worked out by hand."""

import pytest

from residuum.neural.termrecall import STOP_WORDS, recall, stem, targets, terms, tokens
from residuum.neural.termweighter import first_subwords, frequencies

QUERIES = [
    "What is Susan Boyle's singing?",
    "how does susan boyle do songs and songs",
    "who sings with the choir",
    "susan",
]


def test_the_stop_words_are_those_of_deepct() -> None:
    assert len(STOP_WORDS) == 418
    assert {"what", "how", "does", "who", "many", "kind", "year", "doesn't"} <= STOP_WORDS
    assert not {"s", "t", "susan", "new"} & STOP_WORDS
    assert terms("What kind of year does who use, and how many?") == set()


def test_recall_is_the_share_of_queries_with_the_term() -> None:
    assert recall([terms(query) for query in QUERIES]) == {
        "susan": 0.75,
        "boyl": 0.5,
        "sing": 0.5,  # singing and sings
        "song": 0.25,  # twice in one query counts once
        "choir": 0.25,
    }
    assert recall([terms("what is it"), terms("flour")]) == {"flour": 0.5}


def test_targets_belong_to_the_words_as_they_stand() -> None:
    doc = "Susan sang; who does Sing the choirs, Susan? It's what it is."
    words = ["susan", "sang", ";", "who", "does", "sing", "the", "choirs", ",", "susan", "?"]
    result = targets(doc, [*words, "it", "'", "s", "what"], recall([terms(q) for q in QUERIES]))
    assert result == [0.75, 0.0, 0.0, 0.0, 0.0, 0.5, 0.0, 0.25, 0.0, 0.75, 0.0, 0.0, 0.0, 0.0, 0.0]


def test_the_example_of_deepcts_readme() -> None:
    """Its label is {"grassland": 1, "animals": 1}; its doc as BERT's tokenizer cuts it."""
    doc = "Tropical grassland animals (which do not all occur in the same area) include giraffes"
    words = doc.lower().replace("(", "( ").replace(")", " )").split()
    recalls = recall([terms("what kind of animals are in grasslands")])
    result = dict(zip(words, targets(doc, words, recalls), strict=True))
    assert {word: target for word, target in result.items() if target} == {
        "grassland": 1.0,
        "animals": 1.0,
    }


def test_a_possessive_goes_and_other_apostrophes_cut() -> None:
    assert tokens("Susan's don't O'Neill") == ["susan", "don", "t", "o", "neill"]
    assert tokens("SUSAN'S") == ["susan", "s"]  # the script takes 's alone away


def test_words_of_other_letters_are_cut_where_the_script_cuts_them() -> None:
    """It keeps a-z, A-Z and 0-9: of café stays caf, which is no word that a BERT reads."""
    assert tokens("Café au lait, \u212aelvin") == ["caf", "au", "lait", "elvin"]
    assert targets("Café au lait", ["cafe", "au", "lait"], {"caf": 1.0, "lait": 0.5}) == [0, 0, 0.5]


def test_terms_are_stems_of_words_that_count() -> None:
    assert [stem(word) for word in ["relational", "2019", "ponies"]] == ["relat", "2019", "poni"]
    assert terms("Relational: the 2019 ponies!") == {"relat", "2019", "poni"}


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
