"""The passage of a doc that a training reads for a query: by hand, in learners, and in options."""

import json
import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from corpora import make_corpus
from residuum.artefacts import contracts, trec
from residuum.cli.errors import ResiduumError
from residuum.config.schema.models import CrossEncoder, DualEncoder
from residuum.config.schema.reading import Windows
from residuum.neural import devices
from residuum.neural.best import BestPassages, Passages
from residuum.neural.learners import KINDS, HeldOut, Start, relevance_of
from residuum.neural.pretrained import Source
from residuum.neural.tokens import Texts
from residuum.train import passages_of
from residuum.tuning.answers import Questions
from tiny_models import cross_encoder_spec, model_spec, write_problem

FORM = Windows(length=8, stride=8, body="body", expected=3)
SPECIAL = [0, 1]
# Passages of word numbers between special tokens 0 and 1; the words are their own names.
DOCS = {
    "a": [[5, 5, 6], [7, 8, 9, 9, 9], [6, 7]],
    "b": [[6, 6, 6, 7, 8], [9]],
    "c": [[5, 9], [5, 9], [9, 5, 5]],
}


def words(rows: list[list[int]]) -> list[str]:
    return [" ".join(map(str, row)) for row in rows]


def best(answers: dict[str, list[str]], positives: dict[str, set[str]]) -> BestPassages:
    def tokenise(texts):
        return (np.array([0, *map(int, text.split()), 1], np.int32) for text in texts)

    docs = ((doc_id, words(rows)) for doc_id, rows in DOCS.items())
    answered_by = Questions(answers).answered_by if answers else None
    return BestPassages(docs, tokenise, Passages(FORM, answered_by), positives, SPECIAL)


def bm25(query: list[int], passage: list[int], every: list[list[int]], special: list[int]) -> float:
    """Lucene's BM25, with k1 1.5 and b .75, over passages `every`; lengths with special tokens."""
    average = sum(map(len, every)) / len(every)
    score = 0.0
    for term in {*query} - {*special}:
        having = sum(term in row for row in every)
        idf = math.log(1 + (len(every) - having + 0.5) / (having + 0.5))
        count = Counter(passage)[term]
        norm = 1.5 * (0.25 + 0.75 * len(passage) / average)
        score += idf * count / (count + norm)
    return score


def expected(query: list[int], passages: list[list[int]], every: list[list[int]]) -> list[int]:
    scores = [bm25(query, row, every, SPECIAL) for row in passages]
    return passages[scores.index(max(scores))]  # the first of equals


WITH_SPECIAL = {doc_id: [[0, *row, 1] for row in rows] for doc_id, rows in DOCS.items()}
EVERY = [row for rows in WITH_SPECIAL.values() for row in rows]


@pytest.mark.parametrize("query", [[5], [6, 7], [8, 8, 9], [9, 5], [4], [5, 6, 7, 8, 9]])
def test_without_answers_the_passage_of_the_largest_bm25_is_read(query: list[int]) -> None:
    made = best({}, {"q": {"a"}})
    for doc_id, rows in WITH_SPECIAL.items():
        read = made.of("q", np.array([0, *query, 1], np.int32), doc_id)
        assert read.tolist() == expected(query, rows, EVERY)


def test_a_passage_with_an_answer_precedes_all_others_of_a_positive() -> None:
    made = best({"q": ["8 9"], "other": ["6 7"]}, {"q": {"a", "c"}, "other": {"b"}})
    five = np.array([0, 5, 1], np.int32)
    assert made.of("q", five, "a").tolist() == [0, 7, 8, 9, 9, 9, 1], "it answers, without a 5"
    assert made.of("q", five, "c").tolist() == [0, 9, 5, 5, 1], "none answers: BM25 decides"
    assert made.of("other", five, "a").tolist() == [0, 5, 5, 6, 1], "no positive of this query"
    twice = best({"q": ["5"]}, {"q": {"c"}})
    read = twice.of("q", np.array([9], np.int32), "c").tolist()
    assert read == expected([9], WITH_SPECIAL["c"], EVERY), "all three answer: the best of them"


QUERIES = {"q1": "river often", "q2": "winter forest"}
BODIES = {
    "long": "river here there often now then bread flour sound motor water frost",
    "other": "market often now then here there river winter forest trade engine music",
    "plain": "music sound",
}


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_problem(tmp_path_factory.mktemp("best"))
    docs = [(name, {"text": body, "title": "", "body": body}) for name, body in BODIES.items()]
    make_corpus(folder / "pages", docs)
    trec.write_queries(folder / "asked.tsv", [*QUERIES.items()])
    tuples = [
        contracts.Tuple("q1", "long", 1.0, ["other", "plain"], [0.5, 0.1]),
        contracts.Tuple("q2", "other", 1.0, ["long", "plain"], [0.5, 0.1]),
    ]
    contracts.write_tuples(folder / "pages.jsonl.gz", tuples)
    return folder


def learner(toy: Path, kind: str, passages: Passages | None):
    text = model_spec(batch_size=2) if kind == "dual" else cross_encoder_spec(2, batch_size=2)
    spec = json.loads(text) | {"passages": "best"}
    model = (DualEncoder if kind == "dual" else CrossEncoder).model_validate(spec)
    start = Start(
        Source(str(toy / "start"), new_head=True), devices.choose("cpu", "auto", 1), 1,
        passages=passages,
    )  # fmt: skip
    texts = Texts(toy / "asked.tsv", toy / "pages", "the tuples")
    return KINDS[model.kind](model, start, toy / "pages.jsonl.gz", texts)


@pytest.mark.parametrize("kind", ["dual", "cross"])
def test_training_reads_the_passage_that_answers_and_bm25s_best_of_others(
    toy: Path, kind: str
) -> None:
    """The answer to q1, motor, stands in another passage of its positive than the query's words."""
    made = learner(
        toy, kind, Passages(FORM, Questions({"q1": ["motor"], "q2": ["nobody"]}).answered_by)
    )
    batch, cut = made.batch(0), made.encoder.cut(FORM)
    parts = {n: cut({"text": body, "title": "", "body": body}) for n, body in BODIES.items()}
    ids = {n: [row.tolist() for row in made.encoder.tokenise(p, "doc")] for n, p in parts.items()}
    every, special = (
        [row for rows in ids.values() for row in rows],
        [*made.encoder.tokenizer.all_special_ids],
    )
    [answer] = [n for n, text in enumerate(parts["long"]) if "motor" in text]
    others = 0
    for row, query_id in enumerate(batch.query_ids):
        docs = [batch.positives[row], *batch.negatives[row]]
        [query] = made.queries.tokens([query_id])
        for doc_id, tokens in zip(docs, made.tokens_of(batch, [row] * 3, docs), strict=True):
            scores = [bm25(query.tolist(), tokens, every, special) for tokens in ids[doc_id]]
            chosen = scores.index(max(scores))
            if (query_id, doc_id) == ("q1", "long"):
                assert chosen != answer, "BM25 alone would read another passage"
                chosen = answer
            assert tokens.tolist() == ids[doc_id][chosen], (query_id, doc_id)
            others += chosen > 0
    assert others > 1, "not always the start"
    outputs = made.forward(batch)
    assert np.isfinite(made.losses(batch, outputs, slice(0, 2)).losses.detach().numpy()).all()
    start = learner(toy, kind, None)
    texts = start.tokens_of(batch, [0], ["long"])
    whole = next(iter(start.encoder.tokenise([BODIES["long"]], "doc")))
    assert texts[0].tolist() == whole.tolist()


@pytest.mark.parametrize("kind", ["dual", "cross"])
def test_learning_is_judged_by_the_best_passage(toy: Path, kind: str) -> None:
    model = learner(toy, kind, None).encoder.freeze()
    queries = QUERIES
    pairs = [(query, doc) for query in queries for doc in BODIES]
    records = {doc: {"text": body, "title": "", "body": body} for doc, body in BODIES.items()}
    held = HeldOut(queries, BODIES, pairs, [], 4, FORM, records)
    expected = []
    for query, doc in pairs:
        parts = {str(n): text for n, text in enumerate(model.cut(FORM)(records[doc]))}
        expected.append(model.relevance(queries, parts, [(query, n) for n in parts], 4).max())
    np.testing.assert_allclose(relevance_of(model, held), expected, atol=1e-6)
    whole = model.relevance(queries, BODIES, pairs, 4)
    assert relevance_of(model, held._replace(windows=None)).tolist() == whole.tolist()
    assert np.abs(whole - np.array(expected)).max() > 1e-4


def test_windows_of_a_model_that_reads_no_passages_are_refused() -> None:
    model = DualEncoder.model_validate(json.loads(model_spec()))
    with pytest.raises(ResiduumError, match="--windows: its training reads no passages"):
        passages_of(model, FORM.model_dump_json(), None)
    assert passages_of(model, None, None) is None


def test_answers_of_a_split_are_matched_as_the_measure_matches_them(tmp_path: Path) -> None:
    model = DualEncoder.model_validate(json.loads(model_spec()) | {"passages": "best"})
    contracts.write_answers(tmp_path / "answers.jsonl", {"q1": ["Greta Jung"], "q2": ["Jung"]})
    made = passages_of(model, FORM.model_dump_json(), tmp_path / "answers.jsonl")
    assert made and made.windows == FORM
    assert made.answered_by("reports of greta jung.") == {"q1", "q2"}
    assert made.answered_by("reports of greta and jung") == {"q2"}
    without = passages_of(model, FORM.model_dump_json(), None)
    assert without and without.answered_by is None
