"""What the entry of a collection states of it: title, licence, access, citation; all are optional.

Usage: `stated.of("mine", entry)`. Must not know where it is shown.
"""

from typing import NamedTuple

from residuum.config.schema.datasets import Dataset

UNKNOWN = "not recorded"


class Stated(NamedTuple):
    """The texts of a collection that readers are shown, none of them empty."""

    title: str
    licence: str
    access: str
    citation: str


def of(dataset: str, entry: Dataset | None) -> Stated:
    """Return an entry's texts: the dataset's id in place of a title, UNKNOWN for what it lacks."""
    if entry is None:
        return Stated(dataset, UNKNOWN, UNKNOWN, UNKNOWN)
    texts = (entry.licence, entry.access, entry.citation)
    return Stated(entry.title or dataset, *(text.strip() or UNKNOWN for text in texts))
