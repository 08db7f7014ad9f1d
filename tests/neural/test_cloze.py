"""The inverse cloze task: spans by hand, losses in NumPy, and a toy encoder that learns it."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from corpora import make_corpus
from residuum import pretrain
from residuum.artefacts import contracts
from residuum.cli.errors import ResiduumError
from residuum.config.schema.backbones import InverseCloze
from residuum.neural import devices
from residuum.neural.cloze import ClozeLearner, take_span
from residuum.neural.encoders import Encoder
from residuum.neural.learners import Start
from residuum.neural.pretrained import Source
from tiny_models import ANSWERS, TOPICS, inverse_cloze_spec, write_problem

TEXT = np.arange(10, 20, dtype=np.int32)


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_problem(tmp_path_factory.mktemp("toy"))


def learner(toy: Path, texts: list[str] | None = None, **changes: Any) -> ClozeLearner:
    """Return a learner on the toy's texts, or on others."""
    spec = InverseCloze.model_validate(json.loads(inverse_cloze_spec()) | changes)
    start = Start(
        Source(str(toy / "start"), dropout=0.0, new_head=True), devices.Device("cpu", "fp32"), 1
    )
    read = [text for _, text in contracts.read_corpus(toy / "words")]
    return ClozeLearner(spec, start, read if texts is None else texts)


def test_a_span_is_a_run_of_tokens_and_what_is_left_is_the_rest() -> None:
    random = np.random.default_rng(1)
    lengths, firsts = set(), set()
    for _ in range(200):
        span, rest = take_span(TEXT, (2, 4), 1.0, random)
        first = span[0] - TEXT[0]
        assert span.tolist() == TEXT[first : first + len(span)].tolist()
        assert rest.tolist() == [*TEXT[:first], *TEXT[first + len(span) :]]
        lengths.add(len(span))
        firsts.add(first)
    assert lengths == {2, 3, 4} and firsts == set(range(9)), "all of them, to the last place"


def test_spans_leave_their_text_at_the_rate_that_is_given_and_never_take_it_all() -> None:
    random = np.random.default_rng(1)
    left = [len(take_span(TEXT, (2, 2), 0.9, random)[1]) for _ in range(1000)]
    assert {*left} == {8, 10}
    assert left.count(8) == pytest.approx(900, abs=40)  # four standard errors are 38
    span, rest = take_span(TEXT[:3], (2, 9), 1.0, random)
    assert (len(span), len(rest)) == (2, 1)


def test_a_batch_frames_spans_as_queries_and_docs_as_docs(toy: Path) -> None:
    made = learner(toy, removed=0.0)
    words = made.encoder.tokenizer.convert_ids_to_tokens
    batch = made.batch(0)
    assert batch.queries[0].tolist() == made.batch(0).queries[0].tolist(), "by seed and step"
    for query, doc in zip(batch.queries, batch.docs, strict=True):
        first, *span, last = words(query)
        opening, *text, end = words(doc)
        assert (first, last, opening, end) == ("[QRY]", "[SEP]", "[DOC]", "[SEP]")
        assert 1 <= len(span) <= 3
        assert f" {' '.join(span)} " in f" {' '.join(text)} "


def test_the_loss_is_that_of_each_spans_doc_among_those_of_the_batch(toy: Path) -> None:
    made = learner(toy)
    batch = made.batch(0)
    spans, docs = (made.encoder.forward(rows, kind)[:, 0].detach().numpy()
                   for rows, kind in ((batch.queries, "query"), (batch.docs, "doc")))  # fmt: skip
    scores = np.exp((spans @ docs.T).astype(np.float64))
    expected = -np.log(np.diag(scores) / scores.sum(axis=1))
    seen = made.losses(batch, made.forward(batch), slice(2, 5))
    np.testing.assert_allclose(seen.losses.detach().numpy(), expected[2:5], rtol=1e-4)
    best = scores.argmax(axis=1) == np.arange(len(scores))
    assert seen.logged["best"].tolist() == best[2:5].tolist()
    equal = made.losses(batch, made.indifferent(batch), slice(0, 8)).losses
    np.testing.assert_allclose(equal.numpy(), np.log(8), rtol=1e-6)


def own_docs_first(encoder: Encoder) -> int:
    """Return for how many topics the best of the docs, in other words, is their own."""
    topics, docs = (encoder.encode(texts, "doc", 8) for texts in (TOPICS, ANSWERS))
    return int(((topics @ docs.T).argmax(axis=1) == np.arange(len(TOPICS))).sum())


def test_an_encoder_learns_which_words_stand_in_one_doc(toy: Path, tmp_path: Path) -> None:
    """Spans that leave their docs tell which words go together, though none is shared."""
    texts = [f"{topic} {answer}" for topic, answer in zip(TOPICS, ANSWERS, strict=True)]
    corpus = make_corpus(tmp_path / "corpus", [(f"d{i}", text) for i, text in enumerate(texts)])
    spec = inverse_cloze_spec(steps=100, dropout=0.0)
    start, out = str(toy / "start"), tmp_path / "out"
    pretrain.adapt([corpus], start, spec, tmp_path / "work", out, device="cpu")
    device = devices.Device("cpu", "fp32")
    before = own_docs_first(Encoder(Source(start), learner(toy).spec.encoder, device))
    assert before <= 4 and own_docs_first(Encoder.load(out, device)) == 8
    record = json.loads((out / "manifest.json").read_text())["artefact"]
    assert record["preflight"]["loss_of_equal_scores"] == pytest.approx(np.log(8), abs=1e-5)


def test_texts_too_short_and_several_vectors_a_doc_are_refused(toy: Path) -> None:
    with pytest.raises(ResiduumError, match="no doc of more than 1 tokens to take a span out of"):
        learner(toy, texts=["", "river"])
    several = {"query_length": 12, "doc_length": 24, "pooling": {"kind": "first", "vectors": 4}}
    with pytest.raises(ResiduumError, match=r"encoder.pooling: .* one vector a doc"):
        learner(toy, encoder=several)
    with pytest.raises(ValueError, match=r"\[3, 2\]: the first number exceeds the second"):
        learner(toy, span=[3, 2])
