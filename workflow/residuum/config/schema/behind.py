"""What a collection is made of, where the data stage finds it: folders that its rule hands over.

Usage: `collection.made_of(Behind(corpus=folder))`.
"""

from pathlib import Path
from typing import NamedTuple


class Behind(NamedTuple):
    """Where the data stage finds what a collection is made of, and writes what is beside it."""

    of: Path | None = None  # corpus that is cut into segments
    corpus: Path | None = None  # its own, for a split
    questions: Path | None = None  # folder of the split whose questions these are
    vocabulary: str | None = None  # folder or hub id of a model
    revision: str | None = None
    output: Path | None = None  # folder of the corpus that is made
