"""The queries, judgements and answers of a split, whatever its source: drawn, counted, checked.

Usage: `queries, qrels = load(dataset, collection, "dev")`, `answers(collection, "dev", queries)`.
Must not know paths below results/.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from residuum.collections import faults, irds, opened
from residuum.collections import files as from_files
from residuum.collections.irds import Qrels, Queries
from residuum.core import roots
from residuum.core.errors import ResiduumError
from residuum.core.schema.datasets import Collection, Holdout, SplitCount
from residuum.core.tables import OpenTable

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
    taken: set[str] = set()
    for other_name, other in collection.splits.items():
        if other.holdout and other.holdout.of == name:
            taken |= held_out(other_name, queries, qrels, other.holdout)
    return _keep(queries, qrels, {query_id for query_id, _ in queries} - taken)


def answers(collection: Collection, name: str, queries: Queries) -> dict[str, list[str]]:
    """Return {query_id: answers} of the queries that `load` gave; see Collection.answered."""
    of = collection.origin(name)
    if collection.splits[of].questions:
        found = {query_id: texts for query_id, _, texts in from_files.questions(collection, of)}
    else:
        found = irds.answers(collection, of)
    return {query_id: found[query_id] for query_id, _ in queries}


def held_out(name: str, queries: Queries, qrels: Qrels, holdout: Holdout) -> set[str]:
    """Draw the judged queries of a holdout by the hash of their ids: file order is irrelevant."""
    judged = {query_id for query_id, _, _ in qrels}
    ids = [query_id for query_id, _ in queries if query_id in judged]
    if holdout.queries > len(ids):
        raise ResiduumError(
            f"holdout: {holdout.queries} queries asked for, but '{holdout.of}' has {len(ids)}"
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
    known = set(ids)
    if len(known) < len(ids):
        twice = next(i for i, count in Counter(ids).items() if count > 1)
        raise ResiduumError(f"{where}: query_id {twice} stands twice in the queries")
    _check_pairs(where, ids, qrels)
    orphans = sorted({query_id for query_id, _, _ in qrels} - known)
    if orphans:
        shown = ", ".join(orphans[:5])
        raise ResiduumError(
            f"{where}: the qrels judge {len(orphans)} queries that the queries file lacks: "
            f"{shown}. Add the queries or remove their judgements."
        )


def _check_pairs(where: str, ids: list[str], qrels: Qrels) -> None:
    """Refuse what a TREC file cannot hold: ids with white space, a pair judged twice."""
    for name in [*ids, *(doc_id for _, doc_id, _ in qrels)]:
        if name.split() != [name]:
            raise ResiduumError(f"{where}: the id {name!r} is empty or holds white space")
    seen: set[tuple[str, str]] = set()
    for query_id, doc_id, _ in qrels:
        if (query_id, doc_id) in seen:
            raise ResiduumError(f"{where}: query {query_id}, doc {doc_id} is judged twice")
        seen.add((query_id, doc_id))


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
    found = count(queries, qrels)
    if not pins or any(fits(found, pin) for pin in pins.values()):
        return
    known = "; ".join(f"{edition}: {told(pin)}" for edition, pin in pins.items())
    raise ResiduumError(
        f"{dataset}/{name}: {told(found)}, but config/datasets/{dataset}.yaml pins {known}. "
        f"A download may be incomplete{_reason(seen)}. If this is another edition, add it under "
        "editions."
    )


def _reason(seen: Sequence[Path]) -> str:
    """Name the fault in the files that were read, or else the files."""
    if not seen:
        return ""
    return f": {faults.first(seen, faults.Fewer()) or 'it was read from ' + faults.listed(seen)}"


def fits(found: SplitCount, pin: SplitCount) -> bool:
    """Say whether counts are those of a pin; a pin need not name the levels."""
    same = (found.queries, found.qrels) == (pin.queries, pin.qrels)
    return same and pin.relevance in ({}, found.relevance)


def told(size: SplitCount) -> str:
    """Word the size of a split, such as `43 queries, 9260 qrels (0: 5158, 1: 1601)`."""
    levels = ", ".join(f"{level}: {number}" for level, number in sorted(size.relevance.items()))
    return f"{size.queries} queries, {size.qrels} qrels" + (f" ({levels})" if levels else "")
