"""The datasets of config/: which of their files are local, and whether they are as pinned.

Usage: `residuum datasets`, `residuum datasets show nq-dpr`, `residuum datasets check nfcorpus`.
"""

import functools
import hashlib
import importlib.resources
import json
import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TypedDict

import numpy as np

from residuum import data
from residuum.artefacts import files
from residuum.cli.errors import ResiduumError, unknown
from residuum.cli.progress import track
from residuum.collections import editions, hub, splits
from residuum.config import entries, roots
from residuum.config.schema.datasets import Dataset
from residuum.config.schema.downloads import Download
from residuum.config.schema.generated import GENERATED_SPLITS
from residuum.config.schema.sources import Segmented
from residuum.inspect.text import Finding, amount, line
from residuum.pages import layout


class File(NamedTuple):
    """A source file of a dataset; unpublished `bytes` and `md5` are None."""

    name: str
    path: Path | None = None
    url: str | None = None
    bytes: int | None = None
    md5: str | None = None
    splits: Sequence[str] = ()
    makes: Sequence[Path] = ()  # what ir_datasets unpacks from it
    by_hand: bool = False
    docpairs: bool = False

    @property
    def state(self) -> str:
        """Describe the file: available, unpacked by ir_datasets, cut short, or absent."""
        if self.path and self.path.exists():
            size = self.path.stat().st_size if self.path.is_file() else None
            if size is not None and self.bytes and size < 0.99 * self.bytes:
                return f"cut short: {size:,} of {self.bytes:,} bytes"
            return "available"
        if self.makes and all(path.exists() for path in self.makes):
            return "unpacked" if self.path else "available"
        return "absent: get it by hand" if self.by_hand else "absent: downloaded when needed"

    @property
    def available(self) -> bool:
        """Say whether the file, or what ir_datasets unpacks from it, is on this machine."""
        return not self.state.startswith("absent")


def load(config: Path) -> dict[str, Dataset]:
    """Load config/datasets; all faults together raise one ResiduumError."""
    faults: list[str] = []
    folder = config / "datasets"
    if not any(folder.glob("*.yaml")):
        raise ResiduumError(f"{folder}: no such files. Run this in the project's folder.")
    datasets = entries.load_folder(entries.Folder(folder), Dataset, faults)
    if faults:
        raise ResiduumError("\n".join(faults))
    return datasets


def find(config: Path, name: str) -> Dataset:
    """Return a dataset by name; an unknown name raises ResiduumError with the known names."""
    known = load(config)
    if name not in known:
        raise ResiduumError(unknown("dataset", name, known, f"{config}/datasets/{name}.yaml"))
    return known[name]


def needed(dataset: Dataset, split: str | None, docpairs: bool = False) -> list[File]:
    """Return the files that the corpus (split None), a split or its `docpairs` are read from.

    A split without files of its own comes with the corpus. A sampled corpus is read together with
    the splits whose docs it keeps.
    """
    files = [file for file in files_of(dataset) if file.docpairs == docpairs]
    if docpairs:
        return [file for file in files if split in file.splits]
    sample = getattr(dataset.source, "sample", None)
    kept = set(sample.keep) if sample else set()
    corpus = [file for file in files if not file.splits or kept & set(file.splits)]
    if split is None:
        return corpus
    read = {split, dataset.origin(split)}
    listed = [file for file in files if read & {*file.splits}]
    if dataset.splits[split].adverse:
        return [*corpus, *(file for file in listed if file not in corpus)]
    return listed or corpus


def files_of(dataset: Dataset) -> list[File]:
    """Return every file that a dataset is read from, once each: downloads and named sources."""
    listed = {download.file for download in dataset.downloads}
    named_sources = [
        Download.model_validate({"file": name, "splits": [split] if split else []})
        for split in (None, *dataset.splits)
        for name in dataset.named_files(split)
        if not {name, str(Path(name).parent)} & listed
    ]
    named_sources += [
        Download.model_validate({"file": name, "splits": [split], "docpairs": True})
        for split in dataset.splits
        for name in dataset.named_docpairs(split)
        if name not in listed
    ]
    named: dict[str, File] = {}
    for file in map(_file, [*dataset.downloads, *named_sources]):
        if same := named.get(file.name):
            every = [*same.splits, *file.splits] if same.splits and file.splits else []
            file = same._replace(splits=every, makes=[*same.makes, *file.makes])
        named[file.name] = file
    return list(named.values())


def _file(download: Download) -> File:
    splits, makes = download.splits, [roots.irds() / name for name in download.makes]
    if address := roots.HUB.fullmatch(download.file or ""):
        return _hub_file(address, splits, download.docpairs)
    if download.irds:
        known = listed_by_irds(download.irds)
        cached = known.get("cache_path")
        path = roots.irds() / download.irds.partition("/")[0] / cached if cached else None
        facts = known.get("url"), known.get("size_hint"), known.get("expected_md5")
        return File(download.irds, path, *facts, splits, makes, False, download.docpairs)
    name, local = str(download.home or download.file), download.by_hand(roots.data(), roots.irds())
    path = roots.as_it_lies(local) if local else roots.irds() / name
    size = download.bytes or (path.stat().st_size if path.is_file() else None)
    facts = download.url, size, download.md5
    return File(name, path, *facts, splits, makes, bool(local), download.docpairs)


def _hub_file(address: re.Match[str], splits: list[str], docpairs: bool) -> File:
    repository, revision, path = address["id"], address["revision"], address["path"] or ""
    folder = roots.snapshot("datasets", repository, revision)
    url = f"https://huggingface.co/datasets/{repository}/tree/{revision}/{path}"
    made = [roots.as_it_lies(folder / path)]
    return File(address[0], url=url, splits=splits, makes=made, docpairs=docpairs)


class Listed(TypedDict, total=False):
    """ir_datasets' record of one of its downloads."""

    url: str
    size_hint: int
    expected_md5: str
    cache_path: str


@functools.cache
def listed_by_irds(name: str) -> Listed:
    """Return ir_datasets' record of one of its downloads, such as msmarco-passage/queries."""
    source = importlib.resources.files("ir_datasets").joinpath("etc/downloads.json")
    collections: dict[str, dict[str, Listed]] = json.loads(source.read_text())
    collection, _, key = name.partition("/")
    known = collections.get(collection, {})
    if key not in known:
        names = [f"{collection}/{other}" for other in known] or list(collections)
        raise ResiduumError(f"downloads: ir_datasets lists {unknown('download', name, names)}")
    return known[key]


def listing(config: Path) -> str:
    """Return a table of all datasets: size, licence, download, disk space, and state."""
    rows = []
    for name, dataset in load(config).items():
        files, pin = files_of(dataset), next(iter(dataset.editions), None)
        pinned = pin.splits if pin else {}
        sizes = [f"{split} {size.queries:,}" for split, size in pinned.items()]
        others = [split for split in dataset.splits if split not in pinned]
        known = [file.bytes for file in files if file.bytes]
        download = [amount(sum(known))] if known else []
        if unsized := len(files) - len(known):
            download.append(f"{unsized} of unknown size")
        disk = f"about {amount(1e9 * dataset.disk_gb)}" if dataset.disk_gb else ""
        whole = sum(file.state in ("available", "unpacked") for file in files)
        local = f"{whole} of {len(files)} files" if files else "not listed"
        if dataset.source.kind in GENERATED_SPLITS:
            local = "generated"
        if isinstance(dataset.source, Segmented):
            local = f"cut from {dataset.source.of}"
        counts = [name, f"{pin.docs:,}" if pin else "not pinned", ", ".join([*sizes, *others])]
        rows.append([*counts, " and ".join(download), disk, dataset.licence, local])
    header = ["dataset", "docs", "splits (queries)", "download", "disk", "licence", "local"]
    where = f"ir_datasets' home: {roots.irds()}; RESIDUUM_DATA: {roots.data()}"
    return f"{layout.grid(header, rows)}\n\n{where}\nMore of one: residuum datasets show NAME"


def show(config: Path, name: str) -> str:
    """Return a description of a dataset: its texts, its files and their state, its pins."""
    dataset = find(config, name)
    source, windows, disk = dataset.source, dataset.windows, amount(1e9 * dataset.disk_gb)
    rows = [
        ("", dataset.description),
        ("licence", dataset.licence),
        ("access", dataset.access),
        ("citation", dataset.citation),
        ("disk", f"about {disk} with the downloads" if dataset.disk_gb else ""),
        ("text", f"{' + '.join(getattr(source, 'text_fields', ['text']))} ({source.kind})"),
        ("fields", ", ".join(getattr(source, "fields", []))),
    ]
    if windows:
        head = f" under {', '.join(windows.head)}" if windows.head else ""
        cut = f"passages of {windows.length} tokens of {windows.body}{head}"
        text = f"models read {cut}, every {windows.stride} tokens; a doc scores as its best"
        rows.append(("windows", text))
    title = f"{name}: {dataset.title}" if dataset.title else name
    lines = [title, *(line(key, text) for key, text in rows if text)]
    for file in files_of(dataset):
        lines.append(f"  file       {file.name}: {file.state}")
        size = f"{file.bytes:,} bytes" if file.bytes else "size unknown"
        read_for = ", ".join(file.splits) or "the corpus"
        about = [f"for {read_for}; {size}; MD5 {file.md5 or 'unknown'}"]
        about += [f"at {file.path}"] if file.path else []
        about += [f"from {file.url}"] if file.url else []
        lines += [line("", text, 4) for text in about]
    if not dataset.editions:
        lines.append(line("edition", f"none is pinned: residuum datasets pin {name}"))
    for edition in dataset.editions:
        each = f" of {edition.doc_bytes:,} bytes on average" if edition.doc_bytes else ""
        lines.append(line("edition", f"{edition.name}: {edition.docs:,} docs{each}"))
        for split, pin in edition.splits.items():
            texts = [f"{split}: {splits.described(pin)}", ", ".join(dataset.splits[split].measures)]
            if earlier := dataset.judged_before(split):
                texts.append(f"residual of {', '.join(earlier)}")
            if dataset.removes_query(split):
                texts.append("without the doc with a query's own id")
            if dataset.source_of(split).relevant_by:
                texts.append("docs that hold an answer are relevant")
            lines.append(line("", "; ".join(filter(None, texts)), 4))
    return "\n".join(lines)


Judgement = tuple[str, str, int]  # query_id, doc_id, relevance


class Ids:
    """The doc ids of a corpus, as 64-bit hashes.

    Among a thousand million ids, a collision happens once in forty corpora.
    """

    def __init__(self, doc_ids: Iterable[str]) -> None:
        read = np.array(array("Q", map(files.digest, doc_ids)), dtype=np.uint64)
        self.count = len(read)
        self._known = np.unique(read)

    @property
    def twice(self) -> int:
        """Return how many docs repeat the id of an earlier doc."""
        return self.count - len(self._known)

    def lacking(self, qrels: Sequence[Judgement]) -> list[Judgement]:
        """Return the judgements whose docs are not in the corpus."""
        judged = np.array([files.digest(doc_id) for _, doc_id, _ in qrels], dtype=np.uint64)
        known = np.isin(judged, self._known)
        return [judgement for judgement, has in zip(qrels, known, strict=True) if not has]


BLOCK = 1 << 22  # bytes hashed at once


def check(config: Path, name: str) -> Iterator[Finding]:
    """Yield a finding for each file, the corpus and each split, without downloading anything."""
    dataset, known = find(config, name), list[Ids]()
    for file in files_of(dataset):
        yield Finding(f"file {file.name}", *_hash(file, dataset.access))
    for split in [None, *dataset.splits]:
        files = needed(dataset, split)
        absent = ", ".join(file.name for file in files if not file.available)
        good = None
        if absent:
            message = f"not checked, because of absent files: {absent}"
        elif isinstance(dataset.source, Segmented):
            message = f"not checked: a run cuts it from the docs bound to {dataset.source.of}"
        elif split and (synthetic := dataset.splits[split].synthetic):
            message = f"not checked: a run has {synthetic.generator} write it"
        elif not files and dataset.source.kind == "irds":
            message = "not checked: the YAML lists no downloads, so reading might download it"
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
    """Read the corpus (split None) or a split as an export would, and say whether it is sound.

    Returns (message, good). `known` receives the ids of the corpus, which are used to find
    judgements of unknown docs.
    """
    if split is None:
        stream = data.DOCS[dataset.source.kind](dataset)
        expected = next((edition.docs for edition in dataset.editions), None)
        ids = Ids(doc_id for doc_id, _ in track(stream, f"read {name}", expected, "docs"))
        known.append(ids)
        edition = editions.matching(name, dataset.editions, ids.count)
        pins = f", as pinned ({edition})" if edition else "; nothing is pinned"
        twice = f"; {ids.twice:,} repeat an id, which no run accepts" if ids.twice else ""
        return f"{ids.count:,} docs{pins}{twice}", not ids.twice
    rows = data.load_split(name, split, dataset)
    pinned = any(dataset.origin(split) in edition.splits for edition in dataset.editions)
    judged = len({query_id for query_id, _, _ in rows.qrels})
    pins = ", as pinned" if pinned else "; nothing is pinned"
    made = "; judged by answers on export" if dataset.source_of(split).relevant_by else ""
    text = f"{splits.described(splits.count(rows))}{pins}; {judged} judged{made}"
    lacking = known[0].lacking(rows.qrels) if known else []
    if lacking:  # no fault: some collections are published so
        query_id, doc_id, _ = lacking[0]
        text = (
            f"warning: {len(lacking):,} of {len(rows.qrels):,} judgements are of docs that the "
            f"corpus lacks, and count as missed (first: {doc_id} of query {query_id}). Are ids "
            f"written alike in both? {text}"
        )
    return text, True
