"""Local files of a dataset against what its YAML pins: hashes, then counts.

Usage: `residuum datasets check nfcorpus`. Reads every file and every record once, as an
export would; writes nothing but what ir_datasets and an export keep in its home. Must not know the
graph or its results.
"""

import hashlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from residuum import data
from residuum.cli.errors import ResiduumError
from residuum.cli.progress import track
from residuum.collections import splits
from residuum.config.schema.datasets import Dataset
from residuum.inspect import local_files
from residuum.inspect.local_files import File

BLOCK = 1 << 22  # bytes hashed at once


class Finding(NamedTuple):
    """One thing checked: what, the result, and whether it is as it should be.

    `good` is None for what could not be checked, because it is not on this machine.
    """

    what: str
    message: str
    good: bool | None


def check(config: Path, name: str) -> Iterator[Finding]:
    """Yield a finding for each file, the corpus, and each split; nothing is downloaded."""
    dataset = local_files.find(config, name)
    for file in local_files.files_of(dataset):
        yield Finding(f"file {file.name}", *_hash(file, dataset.access))
    yield _checked("corpus", dataset, None, lambda: _corpus(name, dataset))
    for split in dataset.splits:
        yield _checked(f"split {split}", dataset, split, partial(_split, name, dataset, split))


def _checked(what: str, dataset: Dataset, split: str | None, count: Callable[[], str]) -> Finding:
    """Count something, unless a file of it is absent or none is known of."""
    files = local_files.needed(dataset, split)
    if not files and dataset.source.kind == "irds":
        message = "not checked, because the YAML lists no downloads: reading it might download it"
        return Finding(what, message, None)
    if missing := ", ".join(file.name for file in files if not file.available):
        return Finding(what, f"not checked, for want of {missing}", None)
    try:
        return Finding(what, count(), True)
    except ResiduumError as error:
        return Finding(what, str(error), False)


def _hash(file: File, access: str) -> tuple[str, bool | None]:
    if file.path is None or not file.path.is_file():
        absent = file.by_hand and not file.available
        where = f"; it belongs at {file.path}: {access}" if absent else ""
        return f"{file.state.removeprefix('absent: ')}{where}", file.available or None
    if file.md5 is None:
        return f"{file.state}; no MD5 to compare with", file.whole
    md5 = _md5(file.path)
    if md5 == file.md5:
        return "MD5 as published", True
    size = f"{file.path.stat().st_size:,}{f' of {file.bytes:,}' if file.bytes else ''} bytes"
    return (
        f"{file.path} has MD5 {md5}, published is {file.md5}; {size}. The download was cut short, "
        "or it is another file: delete it and get it again.",
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


def _corpus(name: str, dataset: Dataset) -> str:
    docs = track(data.docs(dataset), f"read {name}", dataset.editions[0].docs, "docs")
    count = sum(1 for _ in docs)
    edition = data.matching_edition(name, dataset.editions, count)
    return f"{count:,} docs, as pinned ({edition})"


def _split(name: str, dataset: Dataset, split: str) -> str:
    rows = splits.load(name, dataset, split)
    pinned = any(dataset.origin(split) in edition.splits for edition in dataset.editions)
    judged = len({query_id for query_id, _, _ in rows.qrels})
    pins = ", as pinned" if pinned else "; nothing is pinned"
    return f"{splits.described(splits.count(rows))}{pins}; {judged} judged"


def report(finding: Finding) -> str:
    """Write a finding as a line that starts with ok, absent or FAULT."""
    mark = {True: "ok", False: "FAULT", None: "absent"}[finding.good]
    return f"{mark:<6} {finding.what}: {finding.message}"
