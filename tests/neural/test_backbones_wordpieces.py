"""The vocabulary trainer: order, ties, determinism, and BERT's tokenizer reading its result."""

import random
from itertools import pairwise

import pytest
from transformers import BertTokenizer

from residuum.cli.errors import ResiduumError
from residuum.neural import backbones

TEXTS = ["Low lower lowest", "new newer newest", "wide wider widest", "Café, naïve!"] * 3


def test_specials_come_first_then_sorted_characters() -> None:
    vocabulary = backbones.train_wordpiece(TEXTS, 200)
    assert vocabulary[:7] == ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[QRY]", "[DOC]"]
    letters = [token for token in vocabulary[7:] if len(token.removeprefix("##")) == 1]
    assert vocabulary[7 : 7 + len(letters)] == sorted(letters)
    assert {"lowest", "cafe", "naive", "!"} <= set(vocabulary)
    assert len(set(vocabulary)) == len(vocabulary)


def test_most_frequent_pair_first_and_ties_by_the_pair() -> None:
    vocabulary = backbones.train_wordpiece(["ab ab ab cd cd zy zy", "xy xy"], 200)
    merges = [token for token in vocabulary[7:] if len(token.removeprefix("##")) > 1]
    assert merges == ["ab", "cd", "xy", "zy"]


def test_counts_match_a_recount_after_every_merge() -> None:
    source = random.Random(3)
    words = ["".join(source.choice("abc") for _ in range(source.randint(1, 9))) for _ in range(80)]
    pairs = backbones.PairCounts(backbones.count_words(words), set("abc") | {"##a", "##b", "##c"})
    while (best := pairs.best()) is not None:
        recount: dict[tuple[str, str], int] = {}
        for pieces, count in zip(pairs.words, pairs.word_counts, strict=True):
            for pair in pairwise(pieces):
                recount[pair] = recount.get(pair, 0) + count
        assert {pair: count for pair, count in pairs.counts.items() if count} == recount
        highest = max(recount.values())
        assert best == min(pair for pair, count in recount.items() if count == highest)
        pairs.merge(best)


def test_the_order_of_texts_does_not_matter() -> None:
    shuffled = random.Random(1).sample(TEXTS, len(TEXTS))
    assert backbones.train_wordpiece(shuffled, 60) == backbones.train_wordpiece(TEXTS, 60)


def test_size_is_kept() -> None:
    assert len(backbones.train_wordpiece(TEXTS, 40)) == 40
    assert len(backbones.train_wordpiece(TEXTS, 10)) == 10


def test_bert_reads_the_corpus_without_unknowns() -> None:
    vocabulary = backbones.train_wordpiece(TEXTS, 45)
    tokenizer = BertTokenizer(vocab={token: i for i, token in enumerate(vocabulary)})
    assert "[UNK]" not in tokenizer.tokenize(" ".join(TEXTS))


def test_a_size_without_room_is_refused() -> None:
    with pytest.raises(ResiduumError, match="7 entries leave no room"):
        backbones.train_wordpiece(TEXTS, 7)


def test_odd_texts_do_no_harm() -> None:
    odd = ["", " \t\n", "\U0001f600 emoji", "x" * 100_000, "[SEP] [QRY]", "漢字 漢字"]
    assert "漢" in backbones.train_wordpiece(odd, 100)
