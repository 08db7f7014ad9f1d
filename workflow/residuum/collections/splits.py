"""Load the queries, judgements and answers of a split from any source, checked against pins.

Usage: `load(dataset, collection, "dev").queries`.
"""

import hashlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from residuum.artefacts import contracts, trec
from residuum.cli.errors import ResiduumError
from residuum.code.tables import OpenTable
from residuum.collections import bioasq, editions, faults, files
from residuum.collections.records import Rows
from residuum.config.schema.datasets import Collection
from residuum.config.schema.splits import Holdout, Listed, SplitCount

SPLITS: OpenTable[Callable[[Collection, str], Rows]] = OpenTable(
    {
        "irds": "residuum.collections.irds:split",
        "files": "residuum.collections.files:split",
        "beir": "residuum.collections.files:split",
        "msmarco": "residuum.collections.files:split",
        "trec": "residuum.collections.files:split",
        "generated": "residuum.collections.worlds:split",
        "generated-articles": "residuum.collections.worlds:split",
        "generated-pages": "residuum.collections.worlds:split",
        "containing": "residuum.collections.containing:split",
    },
    "source",
)

LEAST_RELEVANT = 1  # least relevance that counts in measures without a level


def load(dataset: str, collection: Collection, name: str) -> Rows:
    """Return the rows of a split, without the queries that holdouts take from it.

    For an adverse split, the rows are its origin's; `residuum.collections.adverse` rewords them.
    The source is counted before anything is drawn from it, because published counts are of whole
    splits. A split without published judgements has no qrels, even if answers make some later.
    """
    if adverse := collection.splits[name].adverse:
        return load(dataset, collection, adverse.of)
    origin = collection.origin(name)
    rows = whole(dataset, collection, origin)
    _check_counts(dataset, origin, collection, rows)
    if level := collection.splits[origin].relevant_from:
        rows = _graded_from(rows, level)
    if collection.splits[origin].published:
        _check_relevance(f"{dataset}/{origin}", rows)
    holdouts = {n: s.holdout for n, s in collection.splits.items() if s.holdout}
    eligible = _eligible(rows, bool(collection.splits[origin].relevant_by))
    drawn = {n: _held_out(n, eligible, h) for n, h in holdouts.items() if h.of == origin}
    rest = rows.of_queries({query_id for query_id, _ in rows.queries}.difference(*drawn.values()))
    if origin == name:
        return rest
    listed = collection.splits[name].part
    part = _listed(f"{dataset}/{name}", rest, listed) if listed else rows.of_queries(drawn[name])
    _check_counts(dataset, name, collection, part)
    return part


def whole(dataset: str, collection: Collection, name: str) -> Rows:
    """Return all rows of a split in its source, before pins are checked or parts drawn."""
    if collection.splits[name].questions:
        rows = files.questions(collection, name)
    elif collection.splits[name].bioasq:
        rows = bioasq.split(collection, name)
    elif collection.splits[name].questions_of:
        rows = taken(collection, name)
    else:
        rows = SPLITS[collection.source.kind](collection, name)
    _check_ids(f"{dataset}/{name}", rows)
    if not rows.queries:
        raise ResiduumError(f"{dataset}/{name}: the split has no queries. Is its file empty?")
    return rows


def taken(collection: Collection, name: str) -> Rows:
    """Return queries and answers taken from another collection's split; qrels are made later."""
    folder = collection.behind.questions
    if folder is None:
        raise ResiduumError(f"splits.{name}: give --questions, the folder of the split it takes")
    queries, answers = taken_from(folder)
    return Rows([*trec.read_queries(queries).items()], [], contracts.read_answers(answers))


def taken_from(folder: Path | None) -> list[Path]:
    """Return the files of the split whose questions and answers are taken, or [] if none are."""
    return [folder / "queries.tsv", folder / "answers.jsonl"] if folder else []


def _listed(where: str, rows: Rows, listed: Listed) -> Rows:
    """Return the rows of the listed queries, each of which must exist."""
    if unknown := sorted({*listed.ids}.difference(query_id for query_id, _ in rows.queries)):
        raise ResiduumError(
            f"{where}: part.ids lists {len(unknown)} queries that '{listed.of}' does not have: "
            f"{', '.join(unknown[:5])}. Fix the list; those of a holdout are the holdout's."
        )
    return rows.of_queries({*listed.ids})


def _graded_from(rows: Rows, level: int) -> Rows:
    """Return the rows with 0 in place of each relevance from 1 to below `level`."""
    graded = [(q, doc, 0 if 0 < grade < level else grade) for q, doc, grade in rows.qrels]
    return rows._replace(qrels=graded)


def _eligible(rows: Rows, by_answers: bool) -> list[str]:
    """Return the query ids that a holdout is drawn from: judged ones, or those with answers."""
    known = {*rows.answers} if by_answers else {query_id for query_id, _, _ in rows.qrels}
    return [query_id for query_id, _ in rows.queries if query_id in known]


def _held_out(name: str, queries: list[str], holdout: Holdout) -> set[str]:
    """Draw the query ids of a holdout: the last ones, or by a hash of ids in any order."""
    ids = list(queries)
    if holdout.queries > len(ids):
        raise ResiduumError(
            f"holdout: {holdout.queries} queries required, but '{holdout.of}' has {len(ids)}"
        )
    if holdout.drawn == "last":
        return set(ids[-holdout.queries :])
    ids.sort(key=lambda i: hashlib.sha256(f"{holdout.seed}/{name}/{i}".encode()).digest())
    return set(ids[: holdout.queries])


def _check_ids(where: str, rows: Rows) -> None:
    ids = [query_id for query_id, _ in rows.queries]
    for name in [*ids, *(doc_id for _, doc_id, _ in rows.qrels)]:
        if name.split() != [name]:
            raise ResiduumError(f"{where}: the id {name!r} is empty or holds white space")
    if twice := [query_id for query_id, n in Counter(ids).items() if n > 1]:
        raise ResiduumError(f"{where}: duplicate query_id {twice[0]} in the queries")
    if pairs := [pair for pair, n in Counter(row[:2] for row in rows.qrels).items() if n > 1]:
        query_id, doc_id = pairs[0]
        raise ResiduumError(f"{where}: duplicate judgement of query {query_id}, doc {doc_id}")
    if orphans := sorted({query_id for query_id, _, _ in rows.qrels} - set(ids)):
        raise ResiduumError(
            f"{where}: the qrels judge {len(orphans)} queries that the queries file lacks: "
            f"{', '.join(orphans[:5])}. Add the queries or remove their judgements."
        )


def _check_relevance(where: str, rows: Rows) -> None:
    """Refuse judgements without any relevant doc, because every measure would be 0."""
    highest = max((relevance for *_, relevance in rows.qrels), default=None)
    if highest is None or highest < LEAST_RELEVANT:
        found = "there are none" if highest is None else f"the highest relevance is {highest}"
        raise ResiduumError(
            f"{where}: no doc is judged relevant, {LEAST_RELEVANT} or above ({found}). Give the "
            "judgements, or say `unjudged: true` in the split."
        )


def count(rows: Rows) -> SplitCount:
    """Return the size of a split: its queries, its qrels, and its qrels per relevance level."""
    levels = Counter(relevance for _, _, relevance in rows.qrels)
    return SplitCount.model_construct(
        queries=len(rows.queries), qrels=len(rows.qrels), relevance=dict(sorted(levels.items()))
    )


def _check_counts(dataset: str, name: str, collection: Collection, rows: Rows) -> None:
    """Refuse a split that matches none of its pins, if it has any; pins may omit levels."""
    pins = {e.name: e.splits[name] for e in collection.editions if name in e.splits}
    counts = count(rows)
    fitting = (
        (counts.queries, counts.qrels) == (pin.queries, pin.qrels)
        and pin.relevance in ({}, counts.relevance)
        for pin in pins.values()
    )
    if not pins or any(fitting):
        return
    known = "; ".join(f"{edition}: {described(pin)}" for edition, pin in pins.items())
    fault = faults.first(rows.files, faults.TooFewDocs())
    reason = fault or (f"it was read from {faults.listed(rows.files)}" if rows.files else "")
    where, reason = f"{dataset}/{name}", reason and f": {reason}"
    editions.refuse(dataset, where, described(counts), known, reason)


def described(size: SplitCount) -> str:
    """Write a split's size, such as `43 queries, 9260 qrels (0: 5158, 1: 1601)`."""
    levels = ", ".join(f"{level}: {number}" for level, number in sorted(size.relevance.items()))
    return f"{size.queries} queries, {size.qrels} qrels" + (f" ({levels})" if levels else "")
