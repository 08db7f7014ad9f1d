"""Whether a dataset is whole and fits together: hashes, pins, ids, judgements.

Usage: `residuum datasets check nfcorpus` reads every record once, as an export would. Must not know
the graph or its results.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path

from residuum import data
from residuum.cli.errors import ResiduumError
from residuum.cli.progress import track
from residuum.collections import editions, hub, splits
from residuum.config.schema.datasets import Dataset
from residuum.config.schema.sources import Segmented
from residuum.inspect.datasets import File, files_of, find, needed
from residuum.inspect.ids import Ids
from residuum.inspect.text import Finding

BLOCK = 1 << 22  # bytes hashed at once


def check(config: Path, name: str) -> Iterator[Finding]:
    """Yield a finding for each file, the corpus, and each split; nothing is downloaded."""
    dataset, known = find(config, name), list[Ids]()
    for file in files_of(dataset):
        yield Finding(f"file {file.name}", *_hash(file, dataset.access))
    for split in [None, *dataset.splits]:
        files = needed(dataset, split)
        absent = ", ".join(file.name for file in files if not file.available)
        good = None
        if absent:
            message = f"not checked, for want of {absent}"
        elif isinstance(dataset.source, Segmented):
            message = f"not checked: a run makes it of the docs that play {dataset.source.of}"
        elif split and (synthetic := dataset.splits[split].synthetic):
            message = f"not checked: a run has {synthetic.generator} write it"
        elif not files and dataset.source.kind == "irds":
            message = "not checked, because the YAML lists no downloads: reading may download it"
        else:
            try:
                with hub.cached_only():
                    message, good = _count(name, dataset, split, known)
            except ResiduumError as error:
                message, good = str(error), False
        yield Finding(f"split {split}" if split else "corpus", message, good)


def _hash(file: File, access: str) -> tuple[str, bool | None]:
    if file.path is None or not file.path.is_file():
        absent = file.by_hand and not file.available
        how = f": {access}" if access else ""
        where = f"; it belongs at {file.path}{how}" if absent else ""
        return f"{file.state.removeprefix('absent: ')}{where}", file.available or None
    if file.md5 is None:
        return f"{file.state}; no MD5 to compare with", file.state == "available"
    size, digest = file.path.stat().st_size, hashlib.md5(usedforsecurity=False)
    with open(file.path, "rb") as handle:
        blocks = iter(lambda: handle.read(BLOCK), b"")
        for block in track(blocks, f"hash {file.path.name}", -(-size // BLOCK), "blocks of 4 MiB"):
            digest.update(block)
    if digest.hexdigest() == file.md5:
        return "MD5 as published", True
    sizes = f"{size:,}{f' of {file.bytes:,}' if file.bytes else ''} bytes"
    return (
        f"{file.path} has MD5 {digest.hexdigest()}, published is {file.md5}; {sizes}. The download "
        "was cut short, or it is another file: delete it and get it again.",
        False,
    )


def _count(name: str, dataset: Dataset, split: str | None, known: list[Ids]) -> tuple[str, bool]:
    """Read the corpus (split None) or a split as an export would; say what it holds, if it fits.

    `known` gets the ids of the corpus, by which judgements of a split are looked up.
    """
    if split is None:
        stream = data.DOCS[dataset.source.kind](dataset)
        expected = next((edition.docs for edition in dataset.editions), None)
        own = Ids(doc_id for doc_id, _ in track(stream, f"read {name}", expected, "docs"))
        known.append(own)
        edition = editions.matching(name, dataset.editions, own.count)
        pins = f", as pinned ({edition})" if edition else "; nothing is pinned"
        twice = f"; {own.twice:,} have another's id, which no run takes" if own.twice else ""
        return f"{own.count:,} docs{pins}{twice}", not own.twice
    rows = data.load_split(name, split, dataset)
    pinned = any(dataset.origin(split) in edition.splits for edition in dataset.editions)
    judged = len({query_id for query_id, _, _ in rows.qrels})
    pins = ", as pinned" if pinned else "; nothing is pinned"
    made = "; judged by answers on export" if dataset.source_of(split).relevant_by else ""
    text = f"{splits.described(splits.count(rows))}{pins}; {judged} judged{made}"
    lacking = known[0].lacking(rows.qrels) if known else []
    if lacking:  # as published of some collections, so it is no fault
        query_id, doc_id, _ = lacking[0]
        text += (
            f"; {len(lacking):,} of {len(rows.qrels):,} judgements are of docs that the corpus "
            f"lacks, and count as missed (first: {doc_id} of query {query_id})"
        )
    return text, True
