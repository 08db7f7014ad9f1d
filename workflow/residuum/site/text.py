"""Texts as the report shows them: one line, and not endless.

Usage: `shown(query)`. Markup is for the templates, which escape all.
"""

from residuum.pages.visible import visible

PARTS = 3  # of a path, which tell files of one name apart
MOST = 500  # characters of a text that a page shows


def shown(text: str) -> str:
    """Return a text on one line, cut to 500 characters with a note of how many it has."""
    return visible(shortened(text, MOST)).replace("\n", " ")


def brief(path: str) -> str:
    """Return a path from the machine's root as its last parts, since a report is sent to others."""
    parts = path.split("/")
    return "/".join(["...", *parts[-PARTS:]]) if path.startswith("/") else path


def shortened(text: str, most: int) -> str:
    """Return a text cut to so many characters, with a note of how many it has."""
    return text if len(text) <= most else f"{text[:most]} ... ({len(text):,} characters)"
