"""The folders of the data that a collection is made from, as the data stage's rule gives them.

Usage: `collection.made_of(Behind(corpus=folder))`.
"""

from pathlib import Path
from typing import NamedTuple


class Behind(NamedTuple):
    """The inputs that a collection is made from, and the folder of the corpus to write."""

    of: Path | None = None  # the corpus that is cut into segments
    corpus: Path | None = None  # the collection's corpus, to make a split
    questions: Path | None = None  # the folder of the split whose questions are taken
    vocabulary: str | None = None  # folder or hub id of a model
    revision: str | None = None
    output: Path | None = None  # the folder of the corpus to write
