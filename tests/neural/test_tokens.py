"""Token ids are those of the call that transformers documents, of tokenizers in Rust and Python."""

from pathlib import Path

import pytest
from transformers import AutoTokenizer, ByT5Tokenizer

from residuum.neural import tokens
from tiny_models import toy_docs, write_problem

ODD = ["", "  ", "[CLS] water [MASK]", "e\u0301 \u4e2d\u6587 " * 30, "\u202e\x00\ud7ff"]
TEXTS = [*(text for _, text in toy_docs()), *ODD]


@pytest.fixture(scope="module", params=["Rust", "Rust, from the left", "Python"])
def tokenizer(request, tmp_path_factory: pytest.TempPathFactory):
    """Return a tokenizer of wordpieces, one that cuts on the left and pads, and one of bytes."""
    if request.param == "Python":
        return ByT5Tokenizer()
    toy: Path = write_problem(tmp_path_factory.mktemp("toy"))
    made = AutoTokenizer.from_pretrained(toy / "start")
    if request.param != "Rust":
        made.truncation_side = "left"
        made.backend_tokenizer.enable_padding(length=50)
    return made


@pytest.mark.parametrize("special", [True, False])
@pytest.mark.parametrize("length", [None, 5])
def test_ids_are_those_of_transformers(tokenizer, length, special, monkeypatch) -> None:
    monkeypatch.setattr(tokens, "TEXTS_AT_ONCE", 4)
    made = [row.tolist() for row in tokens.tokenise(tokenizer, TEXTS, length, special)]
    how = {"truncation": length is not None, "max_length": length}
    assert made == tokenizer(TEXTS, add_special_tokens=special, **how)["input_ids"]
    assert length is None or max(map(len, made)) == length


def test_texts_of_two_lengths_are_cut_each_to_its_own_in_turns(tokenizer, monkeypatch) -> None:
    monkeypatch.setattr(tokens, "TEXTS_AT_ONCE", 2)
    text = "water here and there in all of it"
    short, long = (tokens.tokenise(tokenizer, [text] * 6, length) for length in (3, 6))
    assert [(len(a), len(b)) for a, b in zip(short, long, strict=True)] == [(3, 6)] * 6
