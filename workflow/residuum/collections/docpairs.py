"""Read training triples in the user's files, of ids or of texts.

Usage: `docpairs(collection, "train")` streams query_id, positive, negative. Texts must occur in the
collection's files. They are looked up by digest, so that memory holds 24 bytes and an id per doc.
"""

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np

from residuum.artefacts.files import digest
from residuum.artefacts.streams import chunks
from residuum.cli.errors import ResiduumError
from residuum.cli.progress import track
from residuum.collections import bioasq, files
from residuum.collections.lines import MOST_SHOWN, numbered
from residuum.collections.records import Rows
from residuum.config.schema.datasets import Collection

LINES_AT_ONCE = 4096
Triple = tuple[str, str, str]  # query_id, positive, negative; or their texts


class Line(NamedTuple):
    """The number of a line in a file of triples, and its triple."""

    number: int
    triple: Triple


def docpairs(collection: Collection, name: str) -> Iterator[Triple]:
    """Stream a split's training triples; an error about a line names its file and number.

    The first line decides whether all lines hold ids or texts. For a text with several ids, the id
    of a relevant doc is taken, else the first. Texts without an id are counted, and raise
    ResiduumError at the end.
    """
    path = files.resolve(str(collection.splits[name].docpairs), collection.access)
    lines = _lines(path)
    if (first := next(lines, None)) is None:
        return
    rows = _rows(collection, name)
    if _of_ids(first.triple, rows, collection):
        yield from _ids(path, first, lines)
    else:
        yield from _looked_up(path, first, lines, rows, collection)


def _lines(path: Path) -> Iterator[Line]:
    for number, line in numbered(path):
        query, *docs = line.split("\t")
        if len(docs) != 2:
            text = (
                f"expected query_id TAB positive TAB negative, or their texts, found {line[:60]!r}"
            )
            raise ResiduumError(f"{path}, line {number}: {text}")
        yield Line(number, (query, docs[0], docs[1]))


def _rows(collection: Collection, name: str) -> Rows:
    """Return all queries of a split, judged or not, and its judgements."""
    entry = collection.splits[name]
    if entry.questions:
        return files.questions(collection, name)
    if entry.bioasq:
        return bioasq.split(collection, name)
    return files.split(collection, name, every=True)


def _of_ids(triple: Triple, rows: Rows, collection: Collection) -> bool:
    """Say whether a triple holds ids: a query_id of the split, and doc_ids of the corpus."""
    query, *docs = triple
    if any(" " in field.strip() for field in triple):
        return False  # no id holds white space
    is_id = any(query == query_id for query_id, _ in rows.queries)
    is_text = any(_plain(query) == _plain(text) for _, text in rows.queries)
    if is_id != is_text or not is_id:
        return not is_text  # the export counts ids of other queries
    missing = {*docs}
    for doc_id, _ in track(files.docs(collection), "look for the first triple's docs"):
        missing.discard(doc_id)
        if not missing:
            return True
    return False


def _ids(path: Path, first: Line, lines: Iterator[Line]) -> Iterator[Triple]:
    yield first.triple
    for number, triple in lines:
        if any(" " in each for each in triple):
            shown = "\t".join(triple)[:MOST_SHOWN]
            text = f"texts where ids are expected, as the first line has them: {shown!r}"
            raise ResiduumError(f"{path}, line {number}: {text}")
        yield triple


class Index:
    """A map from texts' digests to ids, as arrays of numbers and an array of bytes.

    `Index(rows)` reads (id, text) once. `ids_of(texts)` looks up many texts at once.
    """

    def __init__(self, rows: Iterable[tuple[str, str]]) -> None:
        digests, ends, self._ids = array("Q"), array("Q", [0]), bytearray()
        for key, text in rows:
            digests.append(_digest(text))
            self._ids += key.encode()
            ends.append(len(self._ids))
        unsorted = np.frombuffer(digests, np.uint64) if digests else np.zeros(0, np.uint64)
        self._order = np.argsort(unsorted, kind="stable")  # stable: equal texts keep their order
        self._digests, self._ends = unsorted[self._order], ends

    def ids_of(self, texts: Sequence[str]) -> list[list[str]]:
        """Return the ids of each text; [] for a text without an id."""
        digests = np.fromiter(map(_digest, texts), np.uint64, len(texts))
        sides = (np.searchsorted(self._digests, digests, side) for side in ("left", "right"))
        spans = zip(*(side.tolist() for side in sides), strict=True)
        return [[self._id(n) for n in self._order[start:stop].tolist()] for start, stop in spans]

    def _id(self, number: int) -> str:
        return self._ids[self._ends[number] : self._ends[number + 1]].decode()


def _digest(text: str) -> int:
    return digest(_plain(text))


def _plain(text: str) -> str:
    return " ".join(text.split())


def _looked_up(
    path: Path, first: Line, lines: Iterator[Line], rows: Rows, collection: Collection
) -> Iterator[Triple]:
    expected = max((edition.docs for edition in collection.editions), default=None)
    docs = track(files.docs(collection), "digest docs for triples of texts", expected, "docs")
    of_docs = Index((doc_id, fields["text"]) for doc_id, fields in docs)
    of_queries = Index(rows.queries)
    relevant = defaultdict[str, set[str]](set)
    for query_id, doc_id, relevance in rows.qrels:
        if relevance > 0:
            relevant[query_id].add(doc_id)
    lost, unknown = "", 0
    for some in chunks(chain([first], lines), LINES_AT_ONCE):
        texts = [*zip(*(line.triple for line in some), strict=True)]
        looked_up = [
            of_queries.ids_of(texts[0]),
            of_docs.ids_of(texts[1]),
            of_docs.ids_of(texts[2]),
        ]
        for line, queries, positives, negatives in zip(some, *looked_up, strict=True):
            if queries and positives and negatives:
                yield (*_judged(queries, positives, relevant), negatives[0])
                continue
            unknown += 1
            if not lost:
                whose = "query" if not queries else "doc"
                text = line.triple[[bool(queries), bool(positives), False].index(False)]
                lost = f"{path}, line {line.number}: no {whose} has the text {text[:MOST_SHOWN]!r}"
    if unknown:
        others = f"{unknown:,} lines have such texts" if unknown > 1 else "no other line has such"
        cause = "The triples are of another edition, or hold neither ids nor texts of this split."
        raise ResiduumError(f"{lost}; {others}. {cause}")


def _judged(
    queries: list[str], positives: list[str], relevant: dict[str, set[str]]
) -> tuple[str, str]:
    """Return a query and a doc that is relevant to it, or the first query and the first doc."""
    if len(queries) == len(positives) == 1:
        return queries[0], positives[0]
    pairs = ((q, d) for q in queries for d in positives if d in relevant.get(q, ()))
    return next(pairs, (queries[0], positives[0]))
