"""Spans beside questions: which are drawn, what a batch holds, and names that no question has."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pydantic
import pytest
from scipy import stats

from copying import draw, write_task
from corpora import make_corpus
from residuum import train
from residuum.cli.errors import ResiduumError
from residuum.config.schema.models import QuestionGenerator
from residuum.config.schema.questions import Sampling, SpanWriting
from residuum.neural import devices
from residuum.neural.learners import Start
from residuum.neural.pretrained import Source
from residuum.neural.questions import QuestionLearner, Spans
from residuum.neural.seq2seq import Lengths, QuestionWriter
from residuum.neural.tokens import Texts
from tiny_models import question_generator_spec, train_arguments

DEVICE = devices.Device("cpu", "fp32")
OTHERS = [
    "anchor", "bellow", "candle", "drum", "engine", "funnel", "girder", "hammer", "iron", "jigsaw",
    "kettle", "ladder",
]  # fmt: skip
GREEDY = Sampling(per_doc=1, top_k=1, doc_length=24, question_length=8)


def others(count: int, seed: int) -> list[tuple[str, str]]:
    """Return docs of the task's form, with names that none of its docs and questions has."""
    random = np.random.default_rng(seed)
    names = (random.choice(OTHERS, 3, replace=False) for _ in range(count))
    return [(f"o{seed}-{n}", f"{a} and {b} with {c}") for n, (a, b, c) in enumerate(names)]


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("task")
    made = write_task(folder, more=others(200, 1), layers=2)
    make_corpus(folder / "others", others(200, 1))
    return made


def spec(**spans: Any) -> str:
    how = {"steps": 300, "batch_size": 32, "cross_attention": "copying"}
    entry = json.loads(question_generator_spec(**how))
    return json.dumps({**entry, "spans": {"corpora": ["others"], "length": [2, 3], **spans}})


def writer_of(folder: Path) -> QuestionWriter:
    lengths = Lengths(doc_length=24, question_length=8)
    return QuestionWriter(Source(str(folder)), lengths, DEVICE)


def errors(folder: Path, docs: Sequence[tuple[str, str]]) -> tuple[np.ndarray, np.ndarray]:
    """Return -log p of a question about two of each doc's names, given that doc and the next."""
    writer = writer_of(folder)
    tokens = list(writer.tokenise_docs(text for _, text in docs))
    names = [text.split() for _, text in docs]
    questions = list(writer.tokenise_questions(f"about {own[0]} {own[4]}" for own in names))
    others = [*tokens[1:], tokens[0]]
    return writer.errors(tokens, questions, 8), writer.errors(others, questions, 8)


def fit(task: Path, output: Path, how: str, *corpora: Path) -> Path:
    arguments = train_arguments(task, output, how)
    train.train(**arguments, spans=list(corpora))
    return output


def test_names_that_no_question_has_can_be_written_where_spans_were(
    task: Path, tmp_path: Path
) -> None:
    """The other docs' names stand in spans alone, and in no question."""
    with_spans = fit(task, tmp_path / "with", spec(), task / "others")
    without = fit(task, tmp_path / "without", json.dumps({**json.loads(spec()), "spans": None}))
    unseen = others(60, 2)
    own, of_others = errors(with_spans, unseen)
    never, _ = errors(without, unseen)
    assert np.mean(own < never) > 0.9
    assert stats.ttest_rel(own, of_others, alternative="less").pvalue < 0.01, "it looks at the doc"
    held = [(doc_id, doc) for doc_id, (doc, _) in draw(60, 2).items()]
    own, of_others = errors(with_spans, held)
    assert own.mean() < 0.5 < of_others.mean(), "and it writes its questions as before"


def learner(task: Path, **changes: Any) -> QuestionLearner:
    how = QuestionGenerator.model_validate_json(spec(**changes))
    start = Start(
        Source(str(task / "start"), dropout=0.0, new_head=True),
        DEVICE,
        3,
        corpora=(task / "others",),
    )
    texts = Texts(task / "queries.tsv", task / "corpus", "a test")
    return QuestionLearner(how, start, task / "tuples.jsonl.gz", texts)


def test_a_batch_holds_pairs_and_spans_by_their_share(task: Path) -> None:
    made = learner(task, share=0.25)
    marks, seen = made.encoder.marks, set()
    for step in range(50):
        batch = made.batch(step)
        assert batch.starts == [marks.start] * 24 + [marks.end] * 8
        assert len(batch.docs) == len(batch.questions) == 32
        seen |= {tuple(map(int, question)) for question in batch.questions[:24]}
        again = learner(task, share=0.25).batch(step) if step == 7 else batch
        pairs = zip(batch.docs + batch.questions, again.docs + again.questions, strict=True)
        assert all(np.array_equal(one, other) for one, other in pairs)
    assert len({pair.query_id for pair in made.pairs}) == 600 and made.sampler.batch_size == 24
    decode = made.encoder.tokenizer.decode
    assert {decode(row, skip_special_tokens=True).split()[0] for row in seen} == {"about"}


def test_spans_stand_in_their_docs_and_end_as_questions_do(task: Path) -> None:
    writer = writer_of(fit_start(task))
    how = SpanWriting(corpora=["a", "b"], length=(2, 4), tries=3)
    docs, spans = Spans(how, [task / "others", task / "corpus"], writer).draw(40, 5)
    for number, (doc, span) in enumerate(zip(docs, spans, strict=True)):
        assert span[-1] == writer.marks.end and 2 <= len(span) - 1 <= 4
        own, text = (f" {writer.tokenizer.decode(row[:-1])} " for row in (span, doc))
        assert own.strip() in text
        name = text.split()[1]
        assert (name in OTHERS) == (number % 2 == 0), "as often from one corpus as from the other"
    again, _ = Spans(how, [task / "others", task / "corpus"], writer).draw(40, 5)
    assert all(np.array_equal(one, other) for one, other in zip(docs, again, strict=True))


def fit_start(task: Path) -> Path:
    """Return a generator as a training begins with it, written once."""
    folder = task / "begun"
    if not folder.exists():
        entry = {**json.loads(spec()), "trained": False}
        fit(task, folder, json.dumps(entry), task / "others")
    return folder


def test_unknown_words_are_no_part_of_a_span(task: Path, tmp_path: Path) -> None:
    unknown = "\N{CJK UNIFIED IDEOGRAPH-5BFA} " * 12  # a word each that the vocabulary lacks
    docs = [("u", f"{unknown} amber"), ("d", "amber basil cedar daisy ember")]
    make_corpus(tmp_path / "corpus", docs)
    writer = writer_of(fit_start(task))
    how = SpanWriting(corpora=["a"], length=(2, 4), tries=2)
    spans = Spans(how, [tmp_path / "corpus"], writer)
    for seed in range(20):
        [doc], [span] = spans.draw(1, seed)
        assert "amber basil" in writer.tokenizer.decode(doc) and len(span) >= 3


def test_of_drawn_spans_that_is_taken_whose_words_recur(task: Path, tmp_path: Path) -> None:
    """Of the doc's spans of two words one alone has two words that stand elsewhere in it too."""
    others = [(f"x{n}", "grove hazel ivory") for n in "abcde"]  # else its words were common ones
    text = "amber basil cedar daisy ember cedar fern daisy"
    make_corpus(tmp_path / "corpus", [("d", text), *others])
    writer = writer_of(fit_start(task))
    how = SpanWriting(corpora=["a"], length=(2, 2), tries=200)
    spans = Spans(how, [tmp_path / "corpus"], writer)
    drawn = set()
    for seed in range(30):
        docs, written = spans.draw(1, seed)
        if len(docs[0]) > 8:
            drawn.add(writer.tokenizer.decode(written[0][:-1]))
    assert drawn == {"cedar daisy"}


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"share": 0.01}, "spans.share: 0.01 of a batch of 32 leaves no span or no question"),
        ({"share": 0.99}, "spans.share: 0.99 of a batch of 32 leaves no span or no question"),
        ({"length": [5, 3]}, "length [5, 3]: the first number exceeds the second"),
        ({"corpora": []}, "at least 1 item"),
    ],
)
def test_what_no_batch_can_hold_is_refused(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(pydantic.ValidationError) as caught:
        QuestionGenerator.model_validate_json(spec(**changes))
    assert says in str(caught.value)
    entry = json.loads(spec())
    entry["training"] |= {"steps": None, "epochs": 1}
    with pytest.raises(
        pydantic.ValidationError, match="questions and spans together have no epochs; give steps"
    ):
        QuestionGenerator.model_validate(entry)
    entry["training"] |= {"steps": 20, "epochs": None, "halve_after": 5}
    with pytest.raises(pydantic.ValidationError, match=r"halve_after: .* no epochs; leave it out"):
        QuestionGenerator.model_validate(entry)


def test_corpora_are_given_as_the_spec_has_them(task: Path, tmp_path: Path) -> None:
    with pytest.raises(ResiduumError, match=r"--spans is given 0 times, .* are others: give one"):
        fit(task, tmp_path / "none", spec())
    short = tmp_path / "short"
    make_corpus(short, [("d", "amber basil")])
    with pytest.raises(ResiduumError, match=r"short: no doc has more than the 3 tokens of a span"):
        fit(task, tmp_path / "short-docs", spec(), short)
