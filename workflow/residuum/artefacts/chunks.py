"""Cutting a stream into lists: what shards, batches of lines and bulk calls are made of.

Usage: `for batch in chunks(docs, 1000): ...`. Must not know what is cut.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

T = TypeVar("T")


def chunks(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield the items in lists of `size`, the last one shorter; one list is held at a time."""
    rest = iter(items)
    while chunk := list(islice(rest, size)):
        yield chunk
