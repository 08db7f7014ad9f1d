"""Find which pinned edition a collection is, by its number of docs.

Usage: `matching("nfcorpus", collection.editions, 3633)`.
"""

from collections.abc import Sequence
from typing import NoReturn

from residuum.cli.errors import ResiduumError
from residuum.config.schema.datasets import Edition


def matching(dataset: str, editions: Sequence[Edition], docs: int) -> str | None:
    """Return the name of the edition with (about) this number of docs.

    No such edition, or no docs at all, raises ResiduumError. Without pins, the result is None.
    """
    if not docs:
        raise ResiduumError(f"{dataset}: the corpus has no docs. Are its files empty?")
    if not editions:
        return None
    for edition in editions:
        if edition.docs == docs or edition.about:
            return edition.name
    known = "; ".join(f"{edition.name}: {edition.docs}" for edition in editions)
    lacking = min((e.docs - docs for e in editions if e.docs > docs), default=0)
    fewer = f": {lacking:,} docs are missing" if lacking else ""
    reason = f"{fewer}, or the pin is wrong: fix it"
    refuse(dataset, dataset, f"the corpus has {docs} docs", known, reason)


def refuse(dataset: str, where: str, found: str, pinned: str, reason: str = "") -> NoReturn:
    """Raise ResiduumError for counts that no edition pins; `reason` may say what is missing."""
    raise ResiduumError(
        f"{where}: {found}, but config/datasets/{dataset}.yaml pins {pinned}. A download may be "
        f"incomplete{reason}. If this is another edition, add it under editions."
    )


def unpinned(dataset: str, docs: int) -> str:
    """Return a sentence on the consequence of missing pins, and how to pin."""
    return (
        f"{dataset}: {docs:,} docs, and nothing is pinned: their vectors are one shard, and plans "
        f"guess. `residuum datasets pin {dataset}` counts and pins them."
    )
