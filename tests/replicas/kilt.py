"""The replica of KILT's Wikipedia: articles as JSON lines, and DPR's files of questions.

Usage: `write(home, data, dpr)`, given the replica of DPR's Natural Questions. An article holds some
of its passages as paragraphs, so that its questions have answers here. Must not know how anything
reads it.
"""

import json
from pathlib import Path
from typing import Any

from replicas import dpr_w100, packing
from replicas.truth import Replica

NAME = "kilt"
PARAGRAPHS = 6  # of an article
# The files of questions, and where DPR's replica has these.
SPLITS = {"nq-train": "natural-questions/train", "nq-dev": "natural-questions/dev"}


def write(home: Path, data: Path, dpr: Replica) -> Replica:
    """Write KILT's download into a home of ir_datasets, and two files of questions into data.

    DPR's own replica has written the questions for testing.
    """
    texts = [doc["text"].strip('"').replace('""', '"') for _, doc in dpr.docs]
    titles = [doc["title"] for _, doc in dpr.docs]
    pages = [(titles[n], texts[n : n + PARAGRAPHS]) for n in range(0, len(texts), PARAGRAPHS)]
    lines = [json.dumps(_record(n, *page)) + "\n" for n, page in enumerate(pages)]
    packing.plain(home / NAME / "kilt_knowledgesource.json", "".join(lines))
    splits = {}
    for split, name in SPLITS.items():
        splits[split] = dpr.queries[f"{dpr.name}/{name}"]
        answers = dpr.answers[f"{dpr.name}/{name}"]
        questions = dpr_w100.qa((text, answers[q]) for q, text in splits[split].items())
        packing.plain(data / "nq" / f"{split}.qa.csv", questions)
    docs = [(_id(n), {"title": title, "text": _read(title, paragraphs)})
            for n, (title, paragraphs) in enumerate(pages)]  # fmt: skip
    return Replica(NAME, docs, splits, {})


def _id(number: int) -> str:
    return str(1000 + 7 * number)


def _pieces(title: str, paragraphs: list[str]) -> list[str]:
    """Return an article's text as KILT cuts it: title, paragraphs, headings, points of a list."""
    first, second, *others = [*paragraphs, "", ""][: max(2, len(paragraphs))]
    points = [f"BULLET::::- {text}\n" for text in others[-1:]]
    heads = ["Section::::History.\n"] if others else []
    middle = [f"{text}\n" for text in others[:-1]]
    return [f"{title}\n", f"{first}\n", f"{second}\n", *heads, *middle, *points]


def _read(title: str, paragraphs: list[str]) -> str:
    """Return the text as ir_datasets gives it: without the marks."""
    plain = {"Section::::History.\n": "History.\n"}
    pieces = [plain.get(piece, piece) for piece in _pieces(title, paragraphs)]
    return "".join(piece.replace("BULLET::::-", "-") for piece in pieces)


def _record(number: int, title: str, paragraphs: list[str]) -> dict[str, Any]:
    return {
        "_id": _id(number),
        "wikipedia_id": _id(number),
        "wikipedia_title": title,
        "text": _pieces(title, paragraphs),
        "anchors": [{"text": title[:5], "href": "Place", "paragraph_id": 1, "start": 0, "end": 5}],
        "categories": "Places,Invented places",
        "history": {
            "revid": 900 + number,
            "timestamp": "2019-08-01T00:00:00Z",
            "parentid": 800 + number,
            "pre_dump": True,
            "pageid": int(_id(number)),
            "url": f"https://en.wikipedia.org/w/index.php?title=P&oldid={900 + number}",
        },
        "wikidata_info": {"wikidata_id": f"Q{number}", "description": "a place"},
    }
