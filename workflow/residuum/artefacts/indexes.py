"""Which index a measured run searched, and whether published numbers of a stated index compare.

Usage: `other(stated, [recorded(metrics_file)])`. Same statistics are taken for the same index. Must
not know Lucene, nor what is measured.
"""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from residuum.artefacts import files, manifest
from residuum.config.schema.papers import IndexStatistics

Count = int | str | None
Record = dict[str, Count]
UNKNOWN = "its run names no index, so that numbers of a stated one cannot be compared with it"
PLAIN = tuple(IndexStatistics.model_fields)
MADE_BY = ("analyzer", "anserini", "lucene")


def recorded(artefact: Path) -> Record | None:
    """Return the facts of the index in the manifest beside a run or metrics; None without any."""
    path = manifest.beside(artefact)
    if not path.is_file():
        return None
    found = json.loads(files.read_bytes(path))["artefact"].get("index")
    return dict(found) if found else None


def other(stated: IndexStatistics, records: Iterable[Record | None]) -> str | None:
    """Return in which counts an index is not the stated one, or None if all runs searched that."""
    reasons = [UNKNOWN if record is None else _unlike(stated, record) for record in records]
    return next((why for why in reasons if why), None)


def _unlike(stated: IndexStatistics, record: Record) -> str:
    counts = stated.model_dump(exclude_none=True)
    odd = [name for name, count in counts.items() if record.get(name) != count]
    listed = "; ".join(
        f"{_worded(n)} {_shown(record.get(n))}, stated {_shown(counts[n])}" for n in odd
    )
    return f"another index: {listed}" if odd else ""


def _shown(count: Count) -> str:
    return "unknown" if count is None else f"{count:,}"


def _worded(name: str) -> str:
    return name.replace("_", " ").replace("non empty", "non-empty")


def counted(stated: IndexStatistics) -> str:
    """Write the statistics that are stated, such as `documents 3,204, total terms 320,968`."""
    return _listed(stated.model_dump(exclude_none=True))


def described(records: Sequence[Record | None]) -> str | None:
    """Write what is known of the index behind runs: its counts, then what analysed its texts."""
    record = next((found for found in records if found), None)
    if record is None:
        return None
    made = [f"{name} {record[name]}" for name in MADE_BY if record.get(name)]
    return ", ".join([_listed({name: record.get(name) for name in PLAIN}), *made])


def _listed(counts: Record) -> str:
    return ", ".join(f"{_worded(name)} {_shown(count)}" for name, count in counts.items())
