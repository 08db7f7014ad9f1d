"""Word tables written as text: one item per line, or several with "; " between them.

Usage: `items(text)`, `families(text, lines)` for tables under headings, `concepts(text)` for items
whose surface forms are separated by "|", and `words(text)` for single words separated by spaces.
It must not know what the words are about.
"""

from collections.abc import Iterator
from itertools import islice

Concept = tuple[str, ...]  # the surface forms of one thing


def items(text: str) -> list[str]:
    """The items of a table in its order."""
    return [item for line in text.strip().splitlines() for item in line.strip().split("; ")]


def concepts(text: str) -> list[Concept]:
    """The items of a table, each as its surface forms."""
    return [tuple(item.split("|")) for item in items(text)]


def families(text: str, lines: int) -> Iterator[tuple[str, list[str]]]:
    """The entries of a table, each of so many lines, with the heading ("food:") above them."""
    family = ""
    rest = iter(items(text))
    for line in rest:
        if line.endswith(":"):
            family = line.rstrip(":")
        else:
            yield family, [line, *islice(rest, lines - 1)]


def words(text: str) -> list[str]:
    """The words of a table in its order."""
    return text.split()
