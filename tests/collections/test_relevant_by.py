"""Judgements made of answers: the docs that hold one, by hand; Success is then AnswerAccuracy."""

import fcntl
import json
import random
import re
import threading

import polars as pl
import pytest

from residuum import data
from residuum.artefacts import contracts, trec
from residuum.cli.errors import ResiduumError
from residuum.collections import irds
from residuum.collections.records import Rows
from residuum.config.schema.datasets import Collection
from residuum.config.schema.splits import Split
from residuum.config.specs import canonical_json
from residuum.tuning.evaluation import evaluate

DOCS = {
    "d0": ("nothing", "Here is nothing."),
    "d1": ("Anne Smith", "She was born in 1901; nobody knows where."),
    "d2": ("x", "ANNE SMITH, born in 1901."),
    "d3": ("x", "Anne  Smith-Jones (1,901 acres)"),
    "d4": ("x", "Smith, Anne. Annette Smithson."),
}
QUESTIONS = [
    ("who?", ["Anne Smith"]),
    ("when?", ["1901", "1902"]),
    ("how large?", ["1,901"]),
    ("what is missing?", ["smiths", "annes smith"]),
]
HOLDERS = [["d2", "d3"], ["d1", "d2"], ["d3"], []]


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """Lay docs with titles, and questions in DPR's form, and return their spec as a dict."""
    monkeypatch.setenv("RESIDUUM_DATA", str(tmp_path))
    docs = [{"doc_id": i, "title": title, "text": text} for i, (title, text) in DOCS.items()]
    (tmp_path / "docs.jsonl").write_text("".join(json.dumps(doc) + "\n" for doc in docs))
    write_questions(tmp_path, QUESTIONS)
    return {
        "source": {"kind": "files", "corpus": "docs.jsonl", "text_fields": ["title", "text"]},
        "splits": {"test": {"questions": "q.csv", "relevant_by": "answers"}},
        "editions": [
            {"name": "first", "docs": 5, "splits": {"test": {"queries": 4, "qrels": 0}}},
            {"name": "large", "docs": 300},
        ],
    }


def write_questions(folder, questions):
    (folder / "q.csv").write_text("".join(f"{text}\t{answers!r}\n" for text, answers in questions))


def exported(spec, folder, name="test"):
    """Export the corpus and a split; return them as paths: corpus, queries, qrels, answers."""
    corpus, made = folder / "corpus", folder / name
    text = canonical_json(spec)
    if not corpus.exists():
        data.corpus("mine", text, corpus)
    paths = [made / end for end in ("queries.tsv", "qrels.trec", "answers.jsonl")]
    data.split("mine", name, text, *paths[:2], corpus=corpus)
    data.answers("mine", name, text, paths[2])
    return corpus, *paths


def test_docs_that_hold_an_answer_are_relevant_and_unanswered_queries_count(mine, tmp_path):
    _, queries, qrels, _ = exported(mine, tmp_path)
    expected = [(str(n), doc, 1) for n, docs in enumerate(HOLDERS) for doc in docs]
    assert trec.read_qrels(qrels).rows() == [*expected, ("3", "d0", 0)]
    record = json.loads((tmp_path / "test" / "queries.tsv.manifest.json").read_text())
    counts = {"queries": 4, "qrels": 6, "relevant": 5, "unanswered": 1}
    assert record["artefact"] == counts, "the pins are of the source: four questions, no qrels"
    assert any(path.endswith("corpus/manifest.json") for path in record["inputs"])
    assert list(trec.read_queries(queries)) == ["0", "1", "2", "3"]


def test_success_is_the_accuracy_of_answers_for_every_run(mine, tmp_path):
    """300 docs of random words, 60 questions; holders by a reading of their own."""
    rng = random.Random(5)
    words = ["Ann", "o'neil", "éa", "3.5", "U.S.", "b", "x-ray", "Zoë", "12", "of", "the"]
    docs = [
        {"doc_id": f"d{n}", "title": rng.choice(words), "text": " ".join(rng.choices(words, k=9))}
        for n in range(300)
    ]
    questions = [
        (f"q {n}", [" ".join(rng.choices(words, k=rng.randint(1, 4))) for _ in range(2)])
        for n in range(60)
    ]
    (tmp_path / "docs.jsonl").write_text("".join(json.dumps(doc) + "\n" for doc in docs))
    write_questions(tmp_path, questions)
    mine["editions"][0]["splits"] = {}
    corpus, _, qrels, answers = exported(mine, tmp_path)

    def plain(text):
        return f" {' '.join(re.findall(r'[a-zéë0-9]+|[^a-zéë0-9 ]', text.lower()))} "

    holders = {
        (str(n), doc["doc_id"])
        for n, (_, texts) in enumerate(questions)
        for doc in docs
        if any(plain(text) in plain(doc["text"]) for text in texts)
    }
    judged = trec.read_qrels(qrels)
    assert set(judged.filter(relevance=1).select(trec.PAIR).rows()) == holders
    unanswered = {str(n) for n in range(60)} - {query_id for query_id, _ in holders}
    assert set(judged.filter(relevance=0)["query_id"]) == unanswered and 3 < len(unanswered) < 55
    texts = contracts.read_answers(answers)
    for depth in (1, 5, 20):
        hits = [(str(n), f"d{d}", rng.random()) for n in range(60)
                for d in rng.sample(range(300), 40) if n != 7]  # fmt: skip
        form = {"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64}
        run = trec.rank(pl.DataFrame(hits, schema=form, orient="row"))
        names = [f"AnswerAccuracy@{depth}", f"Success@{depth}"]
        metrics = evaluate(run, judged, names, lambda: (texts, contracts.read_docs(corpus)))
        values = [dict(metrics.filter(measure=n).select("query_id", "value").rows()) for n in names]
        assert values[0] == values[1] and len(values[0]) == 60
        assert 0 < sum(values[0].values()) < 60


@pytest.mark.parametrize(
    ("questions", "message"),
    [
        ([("a?", ["Anne"]), ("b?", ["\u200b", "1901"])],
         r"mine/test: query 1: the answer '\\u200b' holds no letter, digit or sign, so that"),
        ([("a?", ["Anne"]), ("b?", [])], r"q\.csv, line 2: expected question TAB \['answer'"),
        ([("a?", ["nowhere"])], "mine/test: no doc of .*corpus holds an answer to any query"),
    ],
)  # fmt: skip
def test_answers_that_judge_nothing_are_refused_and_nothing_is_written(
    mine, tmp_path, questions, message
):
    write_questions(tmp_path, questions)
    mine["editions"][0]["splits"] = {}
    with pytest.raises(ResiduumError, match=message):
        exported(mine, tmp_path)
    assert not list((tmp_path / "test").iterdir() if (tmp_path / "test").exists() else [])


def test_without_a_corpus_nothing_is_judged(mine, tmp_path):
    paths = [tmp_path / "queries.tsv", tmp_path / "qrels.trec"]
    with pytest.raises(ResiduumError, match="mine/test: relevant_by: answers: give --corpus"):
        data.split("mine", "test", canonical_json(mine), *paths)


QUERIES = [(f"q{n}", f"question {n}") for n in range(10)]
PUBLISHED = [("q0", "d4", 2), ("q1", "d4", 2)]


def read_by_irds(monkeypatch, answers):
    """Have ir_datasets give ten queries, two of them judged."""
    monkeypatch.setattr(irds, "split", lambda *_: Rows(QUERIES, PUBLISHED, answers))
    counts = {"queries": 10, "qrels": 2, "relevance": {2: 2}}
    return {
        "source": {"kind": "irds", "docs": "x", "text_fields": ["title", "text"]},
        "splits": {
            "dev": {"irds": "x", "answers_field": "answers", "relevant_by": "answers"},
            "some": {"holdout": {"of": "dev", "queries": 4, "seed": 1}},
        },
        "editions": [{"name": "any", "docs": 5, "splits": {"dev": counts}}],
    }


def test_answers_decide_where_a_split_has_judgements_too(mine, tmp_path, monkeypatch):
    data.corpus("mine", canonical_json(mine), tmp_path / "corpus")
    spec = read_by_irds(monkeypatch, {query_id: ["Anne Smith"] for query_id, _ in QUERIES})
    _, rest, qrels, _ = exported(spec, tmp_path, "dev")
    _, held_out, others, _ = exported(spec, tmp_path, "some")
    assert (len(trec.read_queries(rest)), len(trec.read_queries(held_out))) == (6, 4)
    for path, of in ((qrels, rest), (others, held_out)):
        expected = [(query_id, doc, 1) for query_id in trec.read_queries(of) for doc in HOLDERS[0]]
        assert trec.read_qrels(path).rows() == expected
    spec["editions"][0]["splits"]["dev"]["qrels"] = 3
    with pytest.raises(ResiduumError, match="mine/dev: 10 queries, 2 qrels"):
        exported(spec, tmp_path, "dev")


def test_one_process_at_a_time_reads_what_ir_datasets_builds(tmp_path, monkeypatch):
    """Queries and answers of a split are exported side by side; DPR's are built at first sight."""
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path))
    reached = threading.Event()

    def load(irds_id):
        reached.set()
        raise ResiduumError("far enough")

    def reading():
        with pytest.raises(ResiduumError, match="far enough"):
            irds.split(collection, "dev")

    monkeypatch.setattr(irds, "_load", load)
    collection = Collection.model_validate({
        "source": {"kind": "irds", "docs": "dpr-w100", "text_fields": ["text"]},
        "splits": {"dev": {"irds": "dpr-w100/natural-questions/dev"}},
        "editions": [{"name": "any", "docs": 1}],
    })  # fmt: skip
    with open(tmp_path / ".dpr-w100.lock", "a") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        thread = threading.Thread(target=reading)
        thread.start()
        assert not reached.wait(0.3)
    thread.join(10)
    assert reached.is_set()


def test_a_query_without_an_answer_is_named(mine, tmp_path, monkeypatch):
    data.corpus("mine", canonical_json(mine), tmp_path / "corpus")
    answers = {query_id: ["Anne"] for query_id, _ in QUERIES} | {"q3": []}
    spec = read_by_irds(monkeypatch, answers)
    del spec["splits"]["some"]
    with pytest.raises(ResiduumError, match="mine/dev: query q3 has no answer, so that no doc"):
        exported(spec, tmp_path, "dev")


def test_listed_queries_are_a_split_that_the_other_keeps(mine, tmp_path):
    mine["splits"]["one"] = {"part": {"of": "test", "ids": ["2", "0"]}}
    mine["splits"]["two"] = {"part": {"of": "test", "ids": ["1", "3"]}}
    mine["splits"]["test"]["folds"] = ["one", "two"]
    _, queries, qrels, answers = exported(mine, tmp_path, "one")
    assert trec.read_queries(queries) == {"0": "who?", "2": "how large?"}, "in the file's order"
    assert trec.read_qrels(qrels).rows() == [("0", "d2", 1), ("0", "d3", 1), ("2", "d3", 1)]
    assert contracts.read_answers(answers) == {"0": ["Anne Smith"], "2": ["1,901"]}
    assert len(trec.read_queries(exported(mine, tmp_path)[1])) == 4
    mine["splits"]["one"]["part"]["ids"] = ["0", "7", "q"]
    with pytest.raises(
        ResiduumError, match=r"mine/one: part\.ids lists 2 queries that 'test' does not .*: 7, q\. "
    ):
        exported(mine, tmp_path, "one")


def test_a_listed_query_that_is_held_out_is_not_there(mine, tmp_path):
    mine["splits"]["some"] = {"holdout": {"of": "test", "queries": 4, "seed": 1}}
    mine["splits"]["one"] = {"part": {"of": "test", "ids": ["0"]}}
    with pytest.raises(ResiduumError, match="lists 1 queries that 'test' does not have: 0"):
        exported(mine, tmp_path, "one")


@pytest.mark.parametrize("other", [{"relevant_by": "answers"}, {"unjudged": True}])
def test_judgements_that_have_no_levels_are_refused_a_level(other):
    with pytest.raises(ValueError, match="relevant_from: only published judgements have levels"):
        Split.model_validate({"relevant_from": 2, **other})


def test_judgements_below_a_level_are_exported_as_not_relevant(mine, tmp_path):
    """The level decides what is relevant, and neither which docs are judged nor the pins."""
    (tmp_path / "queries.tsv").write_text("q1\tone\nq2\ttwo\n")
    (tmp_path / "qrels").write_text("q1 0 d0 -1\nq1 0 d1 1\nq1 0 d2 2\nq2 0 d3 3\nq2 0 d4 0\n")
    split = {"queries": "queries.tsv", "qrels": "qrels", "relevant_from": 2}
    pins = {"queries": 2, "qrels": 5, "relevance": {"-1": 1, "0": 1, "1": 1, "2": 1, "3": 1}}
    spec = mine | {
        "splits": {"test": split},
        "editions": [{"name": "first", "docs": 5, "splits": {"test": pins}}],
    }
    queries, qrels = tmp_path / "out.tsv", tmp_path / "out.trec"
    data.split("x", "test", canonical_json(spec), queries, qrels)
    lines = ["q1 0 d0 -1", "q1 0 d1 0", "q1 0 d2 2", "q2 0 d3 3", "q2 0 d4 0"]
    assert qrels.read_text().splitlines() == lines
