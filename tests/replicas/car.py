"""The replica of TREC CAR v1.5: paragraphs and outlines of pages in CBOR, judgements of headings.

Usage: `write(home)`. A query is a page's title with the headings that lead to a section. Must not
know how anything reads it.
"""

import hashlib
import lzma
from pathlib import Path
from typing import Any
from urllib.parse import quote

import cbor

from replicas import packing
from replicas.truth import Replica, places

NAME = "car/v1.5"
PARAGRAPHS, OUTLINES = 2, 1  # kinds of files, as their header says
TEXT, LINK = 0, 1  # kinds of parts of a paragraph
SECTION = 0
SPLIT = f"{NAME}/test200"

Outline = tuple[str, str, list[Any]]  # heading, its id, sections below it


def write(home: Path) -> Replica:
    """Write the downloads of car/v1.5 and of its split test200; return what they hold.

    Each second query is a section of a page, the one after it a section within that.
    """
    source = places(seed=8, judged=24)
    ids = {doc_id: hashlib.sha1(doc["text"].encode()).hexdigest() for doc_id, doc in source.docs}
    docs = [(ids[doc_id], {"text": doc["text"]}) for doc_id, doc in source.docs]
    texts = dict(source.queries["judged"])
    pages, queries, names = [], {}, {}
    pairs = [*texts][::2], [*texts][1::2]
    for outer, inner in zip(*pairs, strict=True):
        title, *rest = texts[outer].split()
        heading, below = " ".join(rest), texts[inner]
        path = [f"enwiki:{quote(title)}", quote(heading), quote(below)]
        pages.append((title, path[0], [(heading, path[1], [(below, path[2], [])])]))
        for query_id, depth in ((outer, 2), (inner, 3)):
            names[query_id] = "/".join(path[:depth])
            queries[names[query_id]] = " ".join([title, heading, below][:depth])
    links = [(names[q], ids[d], 1) for q, d, level in source.qrels["judged"] if level > 0]
    judged = [(q, d, level) for q, d, level in links if q in queries]
    corpus = _file(PARAGRAPHS, [_paragraph(*doc) for doc in docs])
    _tar_xz(home / "car" / "docs.tar.xz", {"paragraphcorpus/paragraphcorpus.cbor": corpus})
    _tar_xz(
        home / "car" / "test200.tar.xz",
        {
            "test200/train.test200.cbor.outlines": _file(OUTLINES, list(map(_page, pages))),
            "test200/train.test200.cbor.hierarchical.qrels": "".join(
                f"{query_id} 0 {doc_id} {level}\n" for query_id, doc_id, level in judged
            ),
        },
    )
    return Replica(NAME, docs, {SPLIT: queries}, {SPLIT: judged})


def _file(kind: int, items: list[Any]) -> bytes:
    """Return a header, and items as a list without a length."""
    header = cbor.dumps(["CAR", [kind], ["replica"]])
    return header + b"\x9f" + b"".join(map(cbor.dumps, items)) + b"\xff"


def _paragraph(doc_id: str, doc: dict[str, str]) -> list[Any]:
    """Return a paragraph of plain text with a link in its midst."""
    words = doc["text"].split(" ")
    middle = len(words) // 2
    before, anchor, after = words[:middle], words[middle], words[middle + 1 :]
    link = [0, "Elsewhere", [], b"enwiki:Elsewhere", anchor]  # to a page, to no section of it
    texts = ["".join(f"{word} " for word in before), "".join(f" {word}" for word in after)]
    return [0, doc_id.encode(), [[TEXT, texts[0]], [LINK, link], [TEXT, texts[1]]]]


def _page(page: Outline) -> list[Any]:
    title, page_id, sections = page
    return [0, title, page_id.encode(), list(map(_section, sections))]


def _section(section: Outline) -> list[Any]:
    heading, heading_id, sections = section
    return [SECTION, heading, heading_id.encode(), list(map(_section, sections))]


def _tar_xz(path: Path, members: dict[str, str | bytes]) -> None:
    packing.plain(path, lzma.compress(packing.tar(members)))
