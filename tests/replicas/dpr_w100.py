"""The replica of Natural Questions as DPR has it: passages, training JSON and test questions.

Usage: `write(home, data)`. Each target passage names its founder, whom a question asks for; the
answers differ from the passage in case, in Unicode's normal form and in spacing, and some are
nowhere. Must not know how anything reads it.
"""

import csv
import io
import json
import random
import unicodedata
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from replicas import packing
from replicas.truth import Replica, places

NAME = "dpr-w100"
TEST = "nq-test"  # DPR's questions, which ir_datasets does not have
FIRST = ["José", "Zoë", "Søren", "Łukasz", "André", "Mireille", "O'Brien", "Jean-Luc"]


class Question(NamedTuple):
    """A question, its answers, the position of its passage, and whether that holds an answer."""

    text: str
    answers: list[str]
    passage: int
    held: bool


def write(home: Path, data: Path) -> Replica:
    """Write dpr-w100's downloads into a home of ir_datasets and DPR's test questions into data.

    Docs are given as ir_datasets hands them on: with the quotes of the file around the text and
    doubled within it. Qrels take a score of 1,000 as level 2, other positives as 1, hard
    negatives as 0 and negatives as -1.
    """
    source = places(seed=3, passages=440, listings=80, stubs=80, judged=0, dev=40, tune=60)
    position = {doc_id: i for i, (doc_id, _) in enumerate(source.docs)}
    texts = [doc["text"] for _, doc in source.docs]
    splits: dict[str, list[Question]] = {}
    for split, name in (("train", "train"), ("dev", "dev"), ("tune", TEST)):
        targets = [position[doc] for _, doc, _ in source.qrels[split]]
        splits[name] = _questions(source.queries[split], targets, texts)
    passages = [(str(i + 1), text, _title(text)) for i, text in enumerate(texts)]
    packing.gz(home / NAME / "docs.tsv.gz", _tsv(passages))
    records = {name: _records(name, splits[name], passages) for name in ("train", "dev")}
    for name, items in records.items():
        packing.gz(home / NAME / f"nq-{name}.json.gz", json.dumps(items, indent=4))
    packing.plain(data / "nq" / "nq-test.qa.csv", qa((q.text, q.answers) for q in splits[TEST]))
    marked = {"data": [_paragraph(question, passages) for question in splits[TEST]]}
    packing.gz(data / "nq" / "nq-test_gold_info.json.gz", json.dumps(marked))
    return _truth(passages, splits, records)


def _truth(passages: list[tuple[str, str, str]], splits: dict, records: dict) -> Replica:
    ids = {"train": f"{NAME}/natural-questions/train", "dev": f"{NAME}/natural-questions/dev"}
    ids |= {TEST: TEST}
    named = {ids[s]: list(enumerate(questions)) for s, questions in splits.items()}
    return Replica(
        NAME,
        [(i, {"text": _quoted(text), "title": title}) for i, text, title in passages],
        {s: {str(n): q.text for n, q in questions} for s, questions in named.items()},
        {ids[s]: _judgements(items) for s, items in records.items()},
        {s: {str(n): q.answers for n, q in questions} for s, questions in named.items()},
        {
            s: {str(n): {str(q.passage + 1)} if q.held else set() for n, q in questions}
            for s, questions in named.items()
        },
    )


def _questions(queries: list, targets: list[int], texts: list[str]) -> list[Question]:
    """Ask for the founder of each target passage, which is named in it once, whoever asks."""
    questions = []
    for n, ((_, query), target) in enumerate(zip(queries, targets, strict=True)):
        if "was founded by" not in texts[target]:
            texts[target] += (
                f' It was founded by {_founder(target)}, called "the {_number(target)}th".'
            )
        answers, held = _answers(n, target)
        questions.append(Question(f"who founded the place of: {query}", answers, target, held))
    return questions


def _founder(target: int) -> str:
    return f"{FIRST[target % len(FIRST)]} Garnier-{_letters(target)}"


def _number(target: int) -> str:
    return f"{target + 1000:,}"


def _letters(number: int) -> str:
    """A name that belongs to this number alone, without accents."""
    return "".join("abcdefghij"[int(digit)] for digit in f"{number + 1000}").capitalize()


def _answers(kind: int, target: int) -> tuple[list[str], bool]:
    """Return answers and whether a passage holds one by DPR's rule: tokens, NFD, lower case."""
    founder = _founder(target)
    forms = [
        ([founder], True),
        ([founder.upper()], True),
        ([unicodedata.normalize("NFD", founder)], True),
        ([founder.replace("-", " - ")], True),  # punctuation is a token of its own
        (["Nobody Atall", founder], True),  # one of several is enough
        ([founder.replace("-", "")], False),  # and must not be left out
        ([founder[:-1]], False),  # tokens are compared whole
        ([f"{_number(target)}th"], True),  # 1 , 037th: three tokens
        ([_number(target).replace(",", "") + "th"], False),
        ([f'called "the {_number(target)}th"'], True),  # not with the TSV's doubled quotes
    ]
    return forms[kind % len(forms)]


def _title(text: str) -> str:
    return text.split(",")[0].removeprefix("Visitors to ").removeprefix("In ")[:40]


def _quoted(text: str) -> str:
    doubled = text.replace('"', '""')
    return f'"{doubled}"'


def _tsv(passages: list[tuple[str, str, str]]) -> str:
    rows = [f"{i}\t{_quoted(text)}\t{title}\n" for i, text, title in passages]
    return "id\ttext\ttitle\n" + "".join(rows)


def qa(questions: Iterable[tuple[str, list[str]]]) -> str:
    """Return question, tab, a Python list, quoted where a quote stands in it (as csv writes)."""
    buffer = io.StringIO()
    rows = [(text, repr(answers)) for text, answers in questions]
    csv.writer(buffer, delimiter="\t", lineterminator="\n").writerows(rows)
    return buffer.getvalue()


def _records(split: str, questions: list[Question], passages: list) -> list[dict[str, Any]]:
    rng = random.Random(split)
    return [_record(split, question, passages, rng) for question in questions]


def _record(split: str, question: Question, passages: list, rng: random.Random) -> dict[str, Any]:
    others = rng.sample([i for i in range(len(passages)) if i != question.passage], 9)
    gold = _context(passages[question.passage], 1000, 1)
    bm25 = _context(passages[others[0]], 14.299, 0)
    return {
        "dataset": f"nq_{split}_psgs_w100",
        "question": question.text,
        "answers": question.answers,
        "positive_ctxs": [gold, bm25, gold] if question.passage % 2 else [gold],  # one may repeat
        "negative_ctxs": [_context(passages[i], 0, 0) for i in others[1:6]],
        "hard_negative_ctxs": [_context(passages[i], 12.5, 0) for i in others[6:]],
    }


def _paragraph(question: Question, passages: list) -> dict[str, Any]:
    """Return a test question's page and paragraph, as the page of another day has it: tokenised."""
    _, text, title = passages[question.passage]
    return {
        "title": title.upper(),
        "question": question.text,
        "context": text.replace(",", " ,").replace(".", " .").replace('"', " `` "),
        "example_id": str(question.passage),
        "short_answers": question.answers,
    }


def _context(passage: tuple[str, str, str], score: float, title_score: int) -> dict[str, Any]:
    passage_id, text, title = passage
    scores = {"score": score, "title_score": title_score, "passage_id": passage_id}
    return {"title": title, "text": text, **scores}


def _judgements(records: list[dict[str, Any]]) -> list[tuple[str, str, int]]:
    rows: dict[tuple[str, str], int] = {}
    for number, record in enumerate(records):
        for context in record["positive_ctxs"]:
            level = 2 if context["score"] == 1000 else 1
            rows.setdefault((str(number), context["passage_id"]), level)
        for part, level in (("hard_negative_ctxs", 0), ("negative_ctxs", -1)):
            for context in record[part]:
                rows.setdefault((str(number), context["passage_id"]), level)
    return [(query_id, doc_id, level) for (query_id, doc_id), level in rows.items()]
