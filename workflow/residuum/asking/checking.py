"""Is what lies on this machine the collection that a dataset's YAML pins? Hashes, then counts.

Usage: `residuum datasets check nfcorpus`. Reads every file and every record once, as an
export would; writes nothing but what ir_datasets and an export keep in its home. Must not know the
graph or its results.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from residuum import data
from residuum.asking import holdings
from residuum.collections import splits
from residuum.core.errors import ResiduumError
from residuum.core.progress import track
from residuum.core.schema.datasets import Dataset

BLOCK = 1 << 22  # bytes hashed at once


class Finding(NamedTuple):
    """One thing looked at: what, what was found, and whether it is as it should be.

    `good` is None for what could not be looked at, because it is not on this machine.
    """

    what: str
    said: str
    good: bool | None


def check(config: Path, name: str) -> Iterator[Finding]:
    """Yield a finding for each file, the corpus, and each split; nothing is downloaded."""
    dataset = holdings.find(config, name)
    for file in holdings.files_of(dataset):
        yield _hash(file, dataset.access)
    yield _absent("corpus", dataset, None) or _corpus(name, dataset)
    for split in dataset.splits:
        yield _absent(f"split {split}", dataset, split) or _split(name, dataset, split)


def _absent(what: str, dataset: Dataset, split: str | None) -> Finding | None:
    """Say that something is not looked at, because a file is absent or none is known of."""
    files = holdings.needed(dataset, split)
    if not files and dataset.source.kind == "irds":
        said = "not looked at, because the YAML lists no downloads: reading it might download it"
        return Finding(what, said, None)
    missing = ", ".join(file.name for file in files if not file.here)
    return Finding(what, f"not looked at, for want of {missing}", None) if missing else None


def _hash(file: holdings.File, access: str) -> Finding:
    what = f"file {file.name}"
    if file.path is None or not file.path.is_file():
        how = f"; it belongs at {file.path}: {access}" if file.by_hand and not file.here else ""
        return Finding(what, f"{file.state.removeprefix('absent: ')}{how}", file.here or None)
    if file.md5 is None:
        whole = file.state == "here"
        return Finding(what, f"{file.state}; no MD5 to compare with", whole)
    found = _md5(file.path)
    if found == file.md5:
        return Finding(what, "MD5 as published", True)
    length = file.path.stat().st_size
    expected = f" of {file.bytes:,}" if file.bytes else ""
    return Finding(
        what,
        f"{file.path} has MD5 {found}, published is {file.md5}; {length:,}{expected} bytes. The "
        "download was cut short, or it is another file: delete it and get it again.",
        False,
    )


def _md5(path: Path) -> str:
    digest = hashlib.md5(usedforsecurity=False)
    with open(path, "rb") as handle:
        blocks = iter(lambda: handle.read(BLOCK), b"")
        total = -(-path.stat().st_size // BLOCK)
        for block in track(blocks, f"hash {path.name}", total, "blocks of 4 MiB"):
            digest.update(block)
    return digest.hexdigest()


def _corpus(name: str, dataset: Dataset) -> Finding:
    try:
        docs = data.docs(dataset)
        expected = dataset.editions[0].docs
        count = sum(1 for _ in track(docs, f"read {name}", expected, "docs"))
        edition = data.matching_edition(name, dataset.editions, count)
    except ResiduumError as error:
        return Finding("corpus", str(error), False)
    return Finding("corpus", f"{count:,} docs, as pinned ({edition})", True)


def _split(name: str, dataset: Dataset, split: str) -> Finding:
    what = f"split {split}"
    try:
        queries, qrels = splits.load(name, dataset, split)
        if dataset.answered(split):
            splits.answers(dataset, split, queries)
    except ResiduumError as error:
        return Finding(what, str(error), False)
    origin = dataset.origin(split)
    pinned = any(origin in edition.splits for edition in dataset.editions)
    judged = len({query_id for query_id, _, _ in qrels})
    said = splits.told(splits.count(queries, qrels))
    pins = ", as pinned" if pinned else "; nothing is pinned"
    return Finding(what, f"{said}{pins}; {judged} judged", True)


def told(finding: Finding) -> str:
    """Write a finding as a line that starts with ok, absent or FAULT."""
    mark = {True: "ok", False: "FAULT", None: "absent"}[finding.good]
    return f"{mark:<6} {finding.what}: {finding.said}"
