"""Match paragraphs that people marked in Natural Questions to the passages of a collection.

Usage: `matched(read(path), passages)`. DPR's file of gold passages has titles and paragraphs of the
original pages, and no ids of passages. How DPR matched its own training questions is not published.
"""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from residuum.artefacts import files
from residuum.cli.errors import ResiduumError
from residuum.collections.lines import AGAIN

LEAST_SHARED = 0.5  # of the word trigrams of the shorter text
Passage = tuple[str, str, str]  # doc_id, title, text
Trigrams = frozenset[tuple[str, ...]]


class Marked(NamedTuple):
    """A question's page and paragraph."""

    title: str
    paragraph: str


def read(path: Path) -> list[Marked]:
    """Read DPR's file of gold passages: `{"data": [{"title": ..., "context": ...}, ...]}`."""
    try:
        whole = json.loads(files.read_bytes(path))
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise ResiduumError(f"{path}: not JSON, or cut short ({error}). {AGAIN}") from None
    rows = whole.get("data") if isinstance(whole, dict) else None
    if not isinstance(rows, list):
        raise ResiduumError(f'{path}: expected {{"data": [...]}}, as DPR publishes it. {AGAIN}')
    return [*_marked(path, rows)]


def _marked(path: Path, rows: list[object]) -> Iterator[Marked]:
    for number, row in enumerate(rows, start=1):
        texts = [row.get(key) for key in ("title", "context")] if isinstance(row, dict) else []
        if not texts or not all(isinstance(text, str) for text in texts):
            text = f"question {number} of `data` lacks a title or a context, which are texts"
            raise ResiduumError(f"{path}: {text}. {AGAIN}")
        yield Marked(*map(str, texts))


def matched(marked: Iterable[Marked], passages: Iterable[Passage]) -> list[set[str]]:
    """Return the doc_ids of the passages that match each paragraph.

    A passage matches if its title is the paragraph's, and if the shorter of both texts has at least
    half of its word trigrams in the other. Case and punctuation do not count. A paragraph may cover
    several passages. It matches none if the passages of the page have another title or text.
    """
    listed = [(_words(m.title), _trigrams(m.paragraph)) for m in marked]
    by_title: dict[tuple[str, ...], list[int]] = {}
    for number, (named, trigrams) in enumerate(listed):
        if named and trigrams:
            by_title.setdefault(named, []).append(number)
    found: list[set[str]] = [set() for _ in listed]
    for doc_id, title, text in passages:
        if numbers := by_title.get(_words(title)):
            trigrams = _trigrams(text)
            for number in numbers:
                if _same(trigrams, listed[number][1]):
                    found[number].add(doc_id)
    return found


def _words(text: str) -> tuple[str, ...]:
    return tuple(re.findall(r"\w+", text.casefold()))


def _trigrams(text: str) -> Trigrams:
    """Return all runs of three words; a shorter text as a whole, and nothing of an empty text."""
    words = _words(text)
    if len(words) < 3:
        return frozenset([words] if words else [])
    return frozenset(zip(words, words[1:], words[2:], strict=False))


def _same(a: Trigrams, b: Trigrams) -> bool:
    shorter = min(len(a), len(b))
    return shorter > 0 and len(a & b) >= LEAST_SHARED * shorter
