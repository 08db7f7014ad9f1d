"""Adverse queries: replace the words that a query shares with its relevant docs by synonyms.

Usage: `reworded(rows, texts, SYNONYMS[spec.kind](spec))`. A synonym must not occur in the relevant
docs. The rest of the query keeps its bytes.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from residuum.code.tables import OpenTable
from residuum.collections.records import Rows

WORD = re.compile(r"\w+(?:[.'\u2019-]\w+)*")


class Synonyms(Protocol):
    """A source of synonyms: the units of a text that have any, and their synonyms."""

    def units(self, text: str) -> Iterator[re.Match[str]]:
        """Yield the units, words or phrases, of a lower-case text that may have synonyms."""
        ...

    def synonyms_of(self, unit: str) -> Iterable[str]:
        """Return the synonyms of a unit, in the order in which they are tried."""
        ...


SYNONYMS: OpenTable[Callable[..., Synonyms]] = OpenTable(
    {
        "forms": "residuum.collections.places:lexicon",
        "wordnet": "residuum.collections.wordnet:WordNet",
    },
    "source of synonyms",
)


class Lexicon:
    """Concepts with several forms, words or phrases, which are synonyms of each other."""

    def __init__(self, concepts: Iterable[Sequence[str]]) -> None:
        self.others = {
            form: [other for other in forms if other != form]
            for forms in concepts
            for form in forms
        }
        longest_first = sorted(self.others, key=len, reverse=True)
        self.form = re.compile(rf"\b(?:{'|'.join(map(re.escape, longest_first))})\b")

    def units(self, text: str) -> Iterator[re.Match[str]]:
        """Yield the forms that occur in a lower-case text."""
        return self.form.finditer(text)

    def synonyms_of(self, unit: str) -> list[str]:
        """Return the other forms of a form's concept, in the order of the lexicon."""
        return self.others[unit]


def words(text: str) -> list[str]:
    """Return the lower-case words of a text; hyphens, apostrophes and dots do not split a word."""
    return WORD.findall(text.lower())


def reworded(rows: Rows, texts: Mapping[str, Sequence[str]], synonyms: Synonyms) -> Rows:
    """Replace the words that each query shares with a relevant doc; keep ids, qrels and answers.

    `texts` are the relevant docs' texts by query_id. A unit is shared if its words occur
    consecutively in a relevant doc, in any case. It is replaced by its first synonym without a word
    of these docs. If there is no such synonym, the unit stays. Source: section 4.2 of Lee et al.
    (ACL 2023). `reworded` of the result counts the changed queries, and the words that were
    replaced.
    """
    made = [(i, *_query(text, texts.get(i, ()), synonyms)) for i, text in rows.queries]
    gone = [number for _, _, number in made if number]
    counts = {"queries": len(gone), "words": sum(gone)}
    return rows._replace(queries=[(i, text) for i, text, _ in made], reworded=counts)


def _query(query: str, texts: Sequence[str], synonyms: Synonyms) -> tuple[str, int]:
    """Return a reworded query, and how many of its words were replaced."""
    docs = [f" {' '.join(words(text))} " for text in texts]
    held = {word for doc in docs for word in doc.split()}
    parts, end, gone = [], 0, 0
    for unit in synonyms.units(_lower(query)):
        if any(f" {' '.join(words(unit[0]))} " in doc for doc in docs):
            free = (
                other for other in synonyms.synonyms_of(unit[0]) if held.isdisjoint(words(other))
            )
            if (other := next(free, None)) is not None:
                parts += [query[end : unit.start()], other]
                end, gone = unit.end(), gone + len(words(unit[0]))
    return "".join([*parts, query[end:]]), gone


def _lower(text: str) -> str:
    """Return a text in lower case with its length unchanged, because spans index the original."""
    return "".join(low if len(low := letter.lower()) == 1 else letter for letter in text)
