"""Shorten texts for the report, and put each on one line.

Usage: `shown(query)`. Templates escape markup, so these functions do not.
"""

from residuum.pages.visible import visible

PARTS = 3  # last parts of a path, which distinguish files of the same name
MOST = 500  # characters shown of a text


def shown(text: str) -> str:
    """Return a text on one line, cut to 500 characters with a note of its full length."""
    return visible(shortened(text, MOST)).replace("\n", " ")


def brief(path: str) -> str:
    """Return the last parts of an absolute path; a shared report does not show the rest."""
    parts = path.split("/")
    return "/".join(["...", *parts[-PARTS:]]) if path.startswith("/") else path


def shortened(text: str, most: int) -> str:
    """Return a text cut to `most` characters, with a note of its full length."""
    return text if len(text) <= most else f"{text[:most]} ... ({len(text):,} characters)"
