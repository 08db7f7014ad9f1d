"""Token ids of texts: cut to a length, looked up by id, masked where a query has them, in windows.

Usage: `docs = TokenStore(texts.read("doc", {"d1", "d2"}), tokenise); docs.tokens(["d1"])`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

import numpy as np

from residuum.artefacts import contracts, trec
from residuum.artefacts.streams import chunks
from residuum.cli import command
from residuum.cli.errors import ResiduumError
from residuum.config.schema.encoder import TextKind
from residuum.config.schema.reading import Windows

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase as Tokenizer

TEXTS_AT_ONCE = 4096  # bounds the memory of lists of Python integers
HEAD_SHARE = 0.5  # of a window; a longer head is cut to leave the body its half
Cut = Callable[[Mapping[str, Any]], list[str]]  # cuts a doc's record into the texts that are read
T = TypeVar("T")
Tokenise = Callable[[Iterable[str]], Iterable[np.ndarray]]


def special_ids(tokenizer: Tokenizer) -> list[int]:
    """Return the ids of the special tokens, added ones included, in rising order."""
    added = tokenizer.added_tokens_decoder.items()
    return sorted({*tokenizer.all_special_ids, *(key for key, token in added if token.special)})


def tokenise(
    tokenizer: Tokenizer, texts: Iterable[str], length: int | None, special: bool = True
) -> Iterator[np.ndarray]:
    """Yield each text's token ids (int32), cut to `length` unless it is None."""
    how = {"add_special_tokens": special, "truncation": length is not None, "max_length": length}
    for some in chunks(texts, TEXTS_AT_ONCE):
        for row in _ids(tokenizer, some, how):
            yield np.array(row, dtype=np.int32)


def _ids(tokenizer: Tokenizer, texts: list[str], how: dict[str, Any]) -> Iterable[list[int]]:
    """Return each text's ids. A tokenizer in Rust computes no offsets, which would take longer."""
    if not getattr(tokenizer, "is_fast", False):
        return tokenizer(texts, verbose=False, **how)["input_ids"]
    tokenizer("", verbose=False, **how)  # sets up the cut of the call below
    special = how["add_special_tokens"]
    below = tokenizer.backend_tokenizer.encode_batch_fast(texts, add_special_tokens=special)
    return (row.ids for row in below)


class PackedTokens:
    """Token ids of many texts in one int32 array: a tenth of the size of lists of integers."""

    def __init__(self, rows: Iterable[np.ndarray]) -> None:
        ids = bytearray()  # grows in place: a second copy of millions of docs would take gigabytes
        lengths: list[int] = []
        for row in rows:
            lengths.append(len(row))
            ids += row.tobytes()
        self._ids = np.frombuffer(ids, dtype=np.int32)
        self._ends = np.cumsum([0, *lengths])

    @property
    def lengths(self) -> np.ndarray:
        """Number of tokens of each text."""
        return np.diff(self._ends)

    @property
    def highest(self) -> int:
        """The highest token id; -1 without tokens."""
        return int(self._ids.max(initial=-1))

    def row(self, number: int) -> np.ndarray:
        """Return the token ids of a text by its number, from 0."""
        return self._ids[self._ends[number] : self._ends[number + 1]]


class Readable(Protocol):
    """Texts of queries and docs, by id."""

    def read(self, kind: TextKind, ids: set[str]) -> Iterator[tuple[str, str]]:
        """Stream (id, text) of queries or docs by id. Raises ResiduumError if one is missing."""

    def docs(self, ids: set[str]) -> Iterator[tuple[str, dict[str, str]]]:
        """Stream (id, record with all its fields) of docs by id. Raises the errors of `read`."""


class TokenStore(PackedTokens):
    """The tokens of texts, given with their ids, looked up by id."""

    def __init__(self, texts: Iterable[tuple[str, str]], tokenise: Tokenise) -> None:
        self._numbers: dict[str, int] = {}

        def numbered() -> Iterator[str]:
            for key, text in texts:
                self._numbers[key] = len(self._numbers)
                yield text

        super().__init__(tokenise(numbered()))

    def tokens(self, keys: Sequence[str]) -> list[np.ndarray]:
        """Return the token ids of each key's text."""
        return [self.row(self._numbers[key]) for key in keys]


class PassageStore(PackedTokens):
    """The tokens of docs, given as one text or several with their ids, looked up by id."""

    def __init__(self, docs: Iterable[tuple[str, list[str]]], tokenise: Tokenise) -> None:
        self._numbers: dict[str, range] = {}

        def numbered() -> Iterator[str]:
            first = 0
            for key, texts in docs:
                self._numbers[key] = range(first, first := first + len(texts))
                yield from texts

        super().__init__(tokenise(numbered()))

    def tokens(self, keys: Sequence[str]) -> list[list[np.ndarray]]:
        """Return the token ids of each doc's texts, at least one text per doc."""
        return [[self.row(number) for number in self._numbers[key]] for key in keys]


class Texts(NamedTuple):
    """Files of texts: queries.tsv, a corpus folder; `namer` names the ids' source in messages."""

    queries: Path
    corpus: Path
    namer: str

    def read(
        self, kind: TextKind, ids: set[str], optional: Collection[str] = ()
    ) -> Iterator[tuple[str, str]]:
        """Stream (id, text) of queries or docs by id. Raises ResiduumError if one is missing.

        Texts with `optional` ids may be missing.
        """
        query = kind == "query"
        source = self.queries if query else self.corpus
        texts = trec.read_queries(source).items() if query else contracts.read_corpus(source)
        yield from self._among(ids, texts, kind, optional)

    def docs(
        self, ids: set[str], optional: Collection[str] = ()
    ) -> Iterator[tuple[str, dict[str, str]]]:
        """Stream (id, record with all its fields) of docs by id. Raises the errors of `read`."""
        every = ((record["doc_id"], record) for record in contracts.read_docs(self.corpus))
        yield from self._among(ids, every, "doc", optional)

    def _among(
        self,
        ids: set[str],
        every: Iterable[tuple[str, T]],
        kind: TextKind,
        optional: Collection[str],
    ) -> Iterator[tuple[str, T]]:
        missing = ids.difference(optional)
        for key, item in every:
            if key in ids:
                missing.discard(key)
                yield key, item
        if missing:
            source = self.queries if kind == "query" else self.corpus
            raise ResiduumError(
                f"{source}: {kind}_id {min(missing)} of {self.namer} is missing ({len(missing)} "
                f"such ids). Remake {self.namer} from this collection."
            )


def masked(
    query: np.ndarray,
    doc: np.ndarray,
    special: Collection[int],
    mask: int,
    share: float,
    random: np.random.Generator,
) -> np.ndarray:
    """Return a doc's token ids (int32, tokens) with `mask` for some tokens that the query has too.

    Each matched token is masked with probability `share`; special tokens are never masked. The
    paper samples 15% of the matched tokens. Queries and docs share about four tokens, of which 15%
    would round to none. Lee et al. 2023 (RoC), Eq. 10.
    """
    matched = np.isin(doc, query) & ~np.isin(doc, [*special])
    return np.where(matched & (random.random(len(doc)) < share), np.int32(mask), doc)


def windows_of(option: str | None) -> Windows | None:
    """Return how docs are cut into passages, by --windows, or None if they are not."""
    return command.parse_spec(Windows, option, "--windows") if option else None


def passages(
    record: Mapping[str, Any], form: Windows, tokenizer: Tokenizer, room: int
) -> list[str]:
    """Return the passages of a long doc, at least one: head and a stretch of the body.

    A passage has at most `form.length` tokens, and at most `room`, the model's limit. Each stretch
    starts `form.stride` tokens behind the last one's start, or at the last one's end if that is
    nearer. The start moves back to the start of a word. Source: ME-BERT (Luan et al. 2021), Model
    Settings for MS MARCO documents, after Yan et al. (2020): passages of at most 482 tokens, each
    with URL and title.
    """
    length = min(form.length, room)
    head = " ".join(record[name] for name in form.head if record[name])
    spans, _ = _spans(head, tokenizer)
    most = int(length * HEAD_SHARE)
    if len(spans) > most:
        head = head[: spans[most - 1][1]]
    body, width = record[form.body], length - len(_spans(head, tokenizer)[0])
    spans, starts = _spans(body, tokenizer)
    cuts = _cuts(starts, width, form.stride)
    texts = (body[spans[first][0] : spans[end - 1][1]] for first, end in cuts)
    return [" ".join(part for part in (head, text) if part) for text in texts] or [head]


def _spans(text: str, tokenizer: Tokenizer) -> tuple[list[tuple[int, int]], list[bool]]:
    """Return the character span of each token of a text, and whether the token starts a word."""
    tokens = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
    words = tokens.word_ids()
    starts = [place == 0 or words[place] != words[place - 1] for place in range(len(words))]
    return tokens["offset_mapping"], starts


def _cuts(starts: Sequence[bool], width: int, stride: int) -> Iterator[tuple[int, int]]:
    """Yield the first token and the end of each stretch of a body.

    `starts` marks tokens that start a word. A cut moves back to a word's start behind the first
    token, or on to a word's start up to the end. Without either, a word is as long as a passage,
    and is cut.
    """

    def at_word(place: int, last: int = 0) -> int:
        near = [*range(place, first, -1), *range(place + 1, last + 1)]
        return next((moved for moved in near if starts[moved]), place)

    first, total = 0, len(starts)
    while first < total:
        end = at_word(first + width) if first + width < total else total
        yield first, end
        if end == total:
            return
        first = at_word(min(first + stride, end), end)
