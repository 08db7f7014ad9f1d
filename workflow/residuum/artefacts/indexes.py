"""Describe the index behind a run, and compare it with the index that a paper states.

Usage: `other(stated, [recorded(metrics_file)])`. Indexes with the same statistics count as the same
index. A file beside an index lists the empty docs that it leaves out.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

from residuum.artefacts import files, intact, manifest
from residuum.config.schema.analyses import IndexStatistics

Count = int | str | None
Record = dict[str, Count]
UNKNOWN = "its run names no index, so that numbers of a stated one cannot be compared with it"
PLAIN = tuple(IndexStatistics.model_fields)
MADE_BY = ("analyzer", "anserini", "lucene")
LEFT_OUT = "left_out.txt"


def recorded(artefact: Path) -> Record | None:
    """Return the index's facts from the manifest beside a run or metrics file, or None."""
    index = manifest.facts_of(artefact).get("index")
    return dict(index) if index else None


def write_left_out(index: Path, doc_ids: Iterable[str]) -> Path:
    """Write the ids of the corpus's empty docs, which the index leaves out, a line each."""
    files.write_text(index / LEFT_OUT, "".join(f"{doc_id}\n" for doc_id in doc_ids))
    return index / LEFT_OUT


def read_left_out(index: Path) -> frozenset[str]:
    """Read the ids of the docs that an index leaves out."""
    return frozenset(files.read_lines(intact.checked(index / LEFT_OUT)))


def other(stated: IndexStatistics, records: Iterable[Record | None]) -> str | None:
    """Describe how a run's index differs from the stated index; None if no run's index does."""
    counts = stated.model_dump(exclude_none=True)
    for record in records:
        if record is None:
            return UNKNOWN
        odd = [name for name, count in counts.items() if record.get(name) != count]
        if odd:
            parts = (f"{_worded(n, record.get(n))}, stated {counts[n]:,}" for n in odd)
            return f"another index: {'; '.join(parts)}"
    return None


def counted(stated: IndexStatistics) -> str:
    """Write stated statistics, such as `documents 3,204, total terms 320,968`."""
    return ", ".join(_worded(*item) for item in stated.model_dump(exclude_none=True).items())


def described(records: Sequence[Record | None]) -> str | None:
    """Describe the index behind runs: its counts, then what analysed its texts; None if unknown."""
    record = next(filter(None, records), None)
    if record is None:
        return None
    counts = [_worded(name, record.get(name)) for name in PLAIN]
    counts += [_worded("left_out_as_empty", record["left_out"])] if record.get("left_out") else []
    return ", ".join([*counts, *(f"{n} {record[n]}" for n in MADE_BY if record.get(n))])


def _worded(name: str, count: Count) -> str:
    words = name.replace("_", " ").replace("non empty", "non-empty")
    return f"{words} unknown" if count is None else f"{words} {count:,}"
