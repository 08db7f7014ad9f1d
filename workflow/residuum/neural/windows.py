"""Long docs as overlapping passages that a model can read, cut at words by its own tokenizer.

Usage: `texts = windows.passages(record, form, encoder.tokenizer, room=509)`. Source: ME-BERT, Model
Settings for MS MARCO documents, after Yan et al. (2020): passages of at most 482 tokens, each with
URL and title. Must not know how passages are encoded or scored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from residuum.config.schema.sources import Windows

HEAD_SHARE = 0.5  # of a passage; a longer head is cut, so that the body gets its half


class Tokenised(NamedTuple):
    """Where the tokens of a text stand: their characters, and whether each starts a word."""

    spans: list[tuple[int, int]]
    starts: list[bool]


def passages(record: Mapping[str, Any], form: Windows, tokenizer: Any, room: int) -> list[str]:
    """Return the passages of a doc, at least one: head and a stretch of the body.

    A passage has at most `form.length` tokens, and `room` if the model reads fewer. One starts
    `form.stride` tokens behind the other, or right at its end where that is nearer, moved back to
    the start of a word.
    """
    length = min(form.length, room)
    head = _head(" ".join(record[name] for name in form.head if record[name]), tokenizer, length)
    body = record[form.body]
    tokens = _tokenise(body, tokenizer)
    width = length - len(_tokenise(head, tokenizer).spans)
    cut = (body[tokens.spans[a][0] : tokens.spans[b - 1][1]] for a, b in _cuts(tokens, width, form))
    return [" ".join(part for part in (head, text) if part) for text in cut] or [head]


def _head(text: str, tokenizer: Any, length: int) -> str:
    spans = _tokenise(text, tokenizer).spans
    most = int(length * HEAD_SHARE)
    return text if len(spans) <= most else text[: spans[most - 1][1]]


def _tokenise(text: str, tokenizer: Any) -> Tokenised:
    found = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
    words = found.word_ids()
    starts = [place == 0 or words[place] != words[place - 1] for place in range(len(words))]
    return Tokenised(found["offset_mapping"], starts)


def _cuts(tokens: Tokenised, width: int, form: Windows) -> Iterator[tuple[int, int]]:
    """Yield the first and the last-but-one token of each passage's stretch of the body."""
    start, total = 0, len(tokens.spans)
    while start < total:
        end = _at_word(tokens, start, start + width) if start + width < total else total
        yield start, end
        if end == total:
            return
        start = _at_word(tokens, start, min(start + form.stride, end), end)


def _at_word(tokens: Tokenised, first: int, place: int, last: int = 0) -> int:
    """Move a place back to the start of a word behind `first`, or on to one up to `last`.

    Where there is none, a word is as long as a passage, and is cut.
    """
    near = [*range(place, first, -1), *range(place + 1, last + 1)]
    return next((moved for moved in near if tokens.starts[moved]), place)
