"""The queries, judgements and answers of a split, whatever its source: drawn, counted, checked.

Usage: `queries, qrels = load(dataset, collection, "dev")`, `answers(collection, "dev", queries)`.
Must not know paths below results/.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from residuum.cli.errors import ResiduumError
from residuum.code.tables import OpenTable
from residuum.collections import faults, irds, opened
from residuum.collections import files as from_files
from residuum.collections.irds import Qrels, Queries
from residuum.config import roots
from residuum.config.schema.datasets import Collection, Holdout, SplitCount

T = TypeVar("T")
SPLITS: OpenTable[Callable[[Collection, str], tuple[Queries, Qrels]]] = OpenTable(
    {
        "irds": "residuum.collections.irds:split",
        "files": "residuum.collections.files:split",
        "generated": "residuum.collections.synthetic:split",
        "generated-articles": "residuum.collections.synthetic:split",
    },
    "source",
)


def load(dataset: str, collection: Collection, name: str) -> tuple[Queries, Qrels]:
    """Return the queries and qrels of a split, with holdouts drawn from it taken away.

    The source is counted as it is, before anything is drawn from it, because those are the
    counts that others publish. A split without public judgements has no qrels.
    """
    of = collection.origin(name)
    with opened.below(roots.irds()) as seen:
        queries, qrels = _source(collection, of)
    _check_ids(f"{dataset}/{of}", queries, qrels)
    check_counts(dataset, of, collection, queries, qrels, seen)
    if of != name:
        entry = collection.splits[name].holdout
        assert entry is not None
        drawn = _keep(queries, qrels, held_out(name, queries, qrels, entry))
        check_counts(dataset, name, collection, *drawn)
        return drawn
    drawn_from = {n: s.holdout for n, s in collection.splits.items() if s.holdout}
    taken = [held_out(n, queries, qrels, h) for n, h in drawn_from.items() if h.of == name]
    return _keep(queries, qrels, {query_id for query_id, _ in queries}.difference(*taken))


def answers(collection: Collection, name: str, queries: Queries) -> dict[str, list[str]]:
    """Return {query_id: answers} of the queries that `load` gave; see Collection.answered."""
    of = collection.origin(name)
    if collection.splits[of].questions:
        texts = {query_id: answers for query_id, _, answers in from_files.questions(collection, of)}
    else:
        texts = irds.answers(collection, of)
    return {query_id: texts[query_id] for query_id, _ in queries}


def held_out(name: str, queries: Queries, qrels: Qrels, holdout: Holdout) -> set[str]:
    """Draw the judged queries of a holdout by the hash of their ids: file order is irrelevant."""
    judged = {query_id for query_id, _, _ in qrels}
    ids = [query_id for query_id, _ in queries if query_id in judged]
    if holdout.queries > len(ids):
        raise ResiduumError(
            f"holdout: {holdout.queries} queries required, but '{holdout.of}' has {len(ids)}"
        )
    ids.sort(key=lambda i: hashlib.sha256(f"{holdout.seed}/{name}/{i}".encode()).digest())
    return set(ids[: holdout.queries])


def _keep(queries: Queries, qrels: Qrels, ids: set[str]) -> tuple[Queries, Qrels]:
    kept = [(query_id, text) for query_id, text in queries if query_id in ids]
    return kept, [row for row in qrels if row[0] in ids]


def _source(collection: Collection, name: str) -> tuple[Queries, Qrels]:
    if collection.splits[name].questions:
        return [(i, text) for i, text, _ in from_files.questions(collection, name)], []
    return SPLITS[collection.source.kind](collection, name)


def _check_ids(where: str, queries: Queries, qrels: Qrels) -> None:
    ids = [query_id for query_id, _ in queries]
    for name in [*ids, *(doc_id for _, doc_id, _ in qrels)]:
        if name.split() != [name]:
            raise ResiduumError(f"{where}: the id {name!r} is empty or holds white space")
    if query_id := _duplicate(ids):
        raise ResiduumError(f"{where}: duplicate query_id {query_id} in the queries")
    if pair := _duplicate([row[:2] for row in qrels]):
        raise ResiduumError(f"{where}: duplicate judgement of query {pair[0]}, doc {pair[1]}")
    if orphans := sorted({query_id for query_id, _, _ in qrels} - set(ids)):
        raise ResiduumError(
            f"{where}: the qrels judge {len(orphans)} queries that the queries file lacks: "
            f"{', '.join(orphans[:5])}. Add the queries or remove their judgements."
        )


def _duplicate(items: Sequence[T]) -> T | None:
    """Return the first item that is given twice."""
    repeated = len(set(items)) < len(items)
    return next(i for i, n in Counter(items).items() if n > 1) if repeated else None


def count(queries: Queries, qrels: Qrels) -> SplitCount:
    """Return the size of a split: queries, qrels, and qrels of each level of relevance."""
    levels = Counter(relevance for _, _, relevance in qrels)
    return SplitCount.model_construct(
        queries=len(queries), qrels=len(qrels), relevance=dict(sorted(levels.items()))
    )


def check_counts(
    dataset: str,
    name: str,
    collection: Collection,
    queries: Queries,
    qrels: Qrels,
    seen: Sequence[Path] = (),
) -> None:
    """Refuse a split that fits none of its pins; one that has no pins fits.

    `seen` are the files that it was read from, which are looked at for the reason.
    """
    pins = {e.name: e.splits[name] for e in collection.editions if name in e.splits}
    counts = count(queries, qrels)
    if not pins or any(fits(counts, pin) for pin in pins.values()):
        return
    known = "; ".join(f"{edition}: {told(pin)}" for edition, pin in pins.items())
    raise ResiduumError(
        f"{dataset}/{name}: {told(counts)}, but config/datasets/{dataset}.yaml pins {known}. "
        f"A download may be incomplete{_reason(seen)}. If this is another edition, add it under "
        "editions."
    )


def _reason(seen: Sequence[Path]) -> str:
    """Name the fault in the files that were read, or else the files."""
    if not seen:
        return ""
    return (
        f": {faults.first(seen, faults.TooFewDocs()) or 'it was read from ' + faults.listed(seen)}"
    )


def fits(counts: SplitCount, pin: SplitCount) -> bool:
    """Say whether counts are those of a pin; a pin need not name the levels."""
    same = (counts.queries, counts.qrels) == (pin.queries, pin.qrels)
    return same and pin.relevance in ({}, counts.relevance)


def told(size: SplitCount) -> str:
    """Word the size of a split, such as `43 queries, 9260 qrels (0: 5158, 1: 1601)`."""
    levels = ", ".join(f"{level}: {number}" for level, number in sorted(size.relevance.items()))
    return f"{size.queries} queries, {size.qrels} qrels" + (f" ({levels})" if levels else "")
