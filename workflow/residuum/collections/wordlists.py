"""Word tables written as text: one item per line, or several with "; " between them.

Usage: `items(text)`, `concepts(text)` for items whose surface forms are separated by "|", and
`words(text)` for single words separated by spaces.
It must not know what the words are about.
"""

Concept = tuple[str, ...]  # the surface forms of one thing


def items(text: str) -> list[str]:
    """The items of a table in its order."""
    return [item for line in text.strip().splitlines() for item in line.strip().split("; ")]


def concepts(text: str) -> list[Concept]:
    """The items of a table, each as its surface forms."""
    return [tuple(item.split("|")) for item in items(text)]


def words(text: str) -> list[str]:
    """The words of a table in its order."""
    return text.split()
