"""Passages of long docs: no token lost, none too long, cut at words, head before each."""

import random

import pytest

from residuum.config.schema.reading import Windows
from residuum.neural.tokens import passages

WORDS = ["alpha", "beta", "gamma", "delta", "epsilon", "unknownword", "zetaeta", "x"]


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    """Make a WordPiece tokenizer that knows most of WORDS whole, and single letters."""
    from transformers import BertTokenizerFast

    letters = "abcdefghijklmnopqrstuvwxyz"
    known = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS[:5], "http", "example", "title"]
    path = tmp_path_factory.mktemp("tokenizer") / "vocab.txt"
    path.write_text("\n".join([*known, *letters, *(f"##{letter}" for letter in letters)]))
    return BertTokenizerFast(str(path))


def form(length=20, stride=10, head=("url", "title")):
    return Windows(length=length, stride=stride, head=list(head), body="body", expected=3)


def tokens(tokenizer, text):
    return tokenizer(text, add_special_tokens=False)["input_ids"]


def unlike(number):
    """Return a word that no other number has, of three letters."""
    return "".join(chr(97 + number // 26**place % 26) for place in range(3))


def doc(words, url="http example", title="a title", seed=1):
    draw = random.Random(seed)
    every = [f"{draw.choice(WORDS)} {unlike(number)}" for number in range(words)]
    body = " ".join(" ".join(every).split()[:words])
    return {"url": url, "title": title, "body": body}


@pytest.mark.parametrize("words", [1, 5, 40, 200])
@pytest.mark.parametrize("stride", [3, 10, 20])
def test_the_passages_cover_the_body_and_fit(tokenizer, words, stride):
    record = doc(words)
    result = passages(record, form(stride=stride), tokenizer, room=1000)
    assert all(len(tokens(tokenizer, text)) <= 20 for text in result)
    head = "http example a title"
    assert all(text.startswith(f"{head} ") for text in result)
    bodies = [text.removeprefix(f"{head} ") for text in result]
    assert record["body"].startswith(bodies[0]) and record["body"].endswith(bodies[-1])
    place = len(bodies[0])
    for text in bodies[1:]:
        start = record["body"].index(text)
        assert start <= place + 1, "nothing between two passages is lost"
        assert not start or record["body"][start - 1] == " ", "a passage starts at a word"
        place = start + len(text)
    assert place == len(record["body"])


def test_a_short_doc_is_one_passage_and_an_empty_one_its_head(tokenizer):
    assert passages(doc(3), form(), tokenizer, 1000) == [f"http example a title {doc(3)['body']}"]
    empty = {"url": "http example", "title": "", "body": ""}
    assert passages(empty, form(), tokenizer, 1000) == ["http example"]
    nothing = {"url": "", "title": "", "body": ""}
    assert passages(nothing, form(), tokenizer, 1000) == [""]


def test_by_hand(tokenizer):
    # One token per word in this vocabulary: 4 of head and body leave 3 for the body of each.
    record = {"url": "x", "title": "", "body": "alpha beta gamma delta epsilon alpha beta"}
    assert all(len(tokens(tokenizer, word)) == 1 for word in record["body"].split())
    result = passages(record, form(4, 2, ["url", "title"]), tokenizer, 1000)
    assert result == [
        "x alpha beta gamma",
        "x gamma delta epsilon",
        "x epsilon alpha beta",
    ]


def test_a_model_that_reads_less_gets_shorter_passages(tokenizer):
    result = passages(doc(60), form(), tokenizer, room=12)
    assert max(len(tokens(tokenizer, text)) for text in result) == 12


def test_a_head_takes_half_at_most_and_a_word_longer_than_a_passage_is_cut(tokenizer):
    record = doc(30, title=" ".join(["gamma"] * 50))
    result = passages(record, form(), tokenizer, 1000)
    assert all(len(tokens(tokenizer, text)) <= 20 for text in result)
    assert result[0].startswith("http example gamma")
    long = {"url": "", "title": "", "body": "qzj" * 40}
    result = passages(long, form(8, 8), tokenizer, 1000)
    assert all(len(tokens(tokenizer, text)) <= 8 for text in result)
    assert "".join(result) == long["body"]


def test_a_stride_beyond_the_length_is_refused():
    with pytest.raises(ValueError, match="stride 21 is more than length 20"):
        form(20, 21)
