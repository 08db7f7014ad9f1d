"""Adverse queries: what a query shares with its relevant docs gives way to synonyms they lack.

Usage: `reworded(rows, texts, SYNONYMS[spec.kind](spec))`. What else a query says stays as it is, to
the byte.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from residuum.code.tables import OpenTable
from residuum.collections.records import Rows

WORD = re.compile(r"\w+(?:[.'\u2019-]\w+)*")


class Synonyms(Protocol):
    """What may be replaced, and by what."""

    def units(self, text: str) -> Iterator[re.Match[str]]:
        """Yield what has synonyms, if any, in a text of lower case: words, or phrases."""
        ...

    def of(self, unit: str) -> Iterable[str]:
        """Return the synonyms of a unit, the first to be tried first."""
        ...


SYNONYMS: OpenTable[Callable[[Any], Synonyms]] = OpenTable(
    {
        "forms": "residuum.collections.place_facts:lexicon",
        "wordnet": "residuum.collections.wordnet:WordNet",
    },
    "source of synonyms",
)


class Lexicon:
    """Concepts whose forms, words or phrases, are each other's synonyms."""

    def __init__(self, concepts: Iterable[Sequence[str]]) -> None:
        self.others = {
            form: [other for other in forms if other != form]
            for forms in concepts
            for form in forms
        }
        longest_first = sorted(self.others, key=len, reverse=True)
        self.form = re.compile(rf"\b(?:{'|'.join(map(re.escape, longest_first))})\b")

    def units(self, text: str) -> Iterator[re.Match[str]]:
        """Yield the forms in a text of lower case."""
        return self.form.finditer(text)

    def of(self, unit: str) -> list[str]:
        """Return the other forms of a concept, in the order of the lexicon."""
        return self.others[unit]


def words(text: str) -> list[str]:
    """Return the words of a text in lower case; hyphen, apostrophe and dot hold a word together."""
    return WORD.findall(text.lower())


def reworded(rows: Rows, texts: Mapping[str, Sequence[str]], synonyms: Synonyms) -> Rows:
    """Replace what each query shares with a relevant doc, ids, judgements and answers unchanged.

    `texts` are those of the relevant docs by query_id. A unit is shared if its words stand in a row
    in one of them, in any case. Its first synonym without a word of any of them takes its place;
    where there is none, the unit stays. After section 4.2 of Lee et al. (ACL 2023). `reworded` of
    the rows counts the queries that changed, and the words of theirs that gave way.
    """
    made = [(i, *_query(text, texts.get(i, ()), synonyms)) for i, text in rows.queries]
    gone = [number for _, _, number in made if number]
    counts = {"queries": len(gone), "words": sum(gone)}
    return rows._replace(queries=[(i, text) for i, text, _ in made], reworded=counts)


def _query(query: str, texts: Sequence[str], synonyms: Synonyms) -> tuple[str, int]:
    """Return a query reworded, and how many of its words gave way."""
    docs = [f" {' '.join(words(text))} " for text in texts]
    held = {word for doc in docs for word in doc.split()}
    parts, end, gone = [], 0, 0
    for unit in synonyms.units(_lower(query)):
        if any(f" {' '.join(words(unit[0]))} " in doc for doc in docs):
            free = (other for other in synonyms.of(unit[0]) if held.isdisjoint(words(other)))
            if (other := next(free, None)) is not None:
                parts += [query[end : unit.start()], other]
                end, gone = unit.end(), gone + len(words(unit[0]))
    return "".join([*parts, query[end:]]), gone


def _lower(text: str) -> str:
    """Put into lower case what keeps its length so, since spans are of the text as it is."""
    return "".join(low if len(low := letter.lower()) == 1 else letter for letter in text)
