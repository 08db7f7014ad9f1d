"""Texts as the report shows them: one line, and not endless.

Usage: `shown(query)`. Markup is for the templates, which escape all. Must not know HTML.
"""

from residuum.pages.visible import visible

MOST = 500  # characters of a text that a page shows


def shown(text: str) -> str:
    """Return a text on one line, cut to 500 characters with a note of how many it has."""
    cut = text if len(text) <= MOST else f"{text[:MOST]} ... ({len(text):,} characters)"
    return visible(cut).replace("\n", " ")
