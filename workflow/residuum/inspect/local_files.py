"""The files that the datasets of config/ are read from, and which of them are local.

Usage: `residuum datasets`, `residuum datasets show nq-dpr`. Looks at names and sizes of files;
`residuum.inspect.checking` reads them. Must not know the graph or its results.
"""

import functools
import importlib.resources
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from residuum.cli.errors import ResiduumError, unknown
from residuum.collections import splits
from residuum.config import entries, roots
from residuum.config.schema.datasets import Dataset
from residuum.config.schema.sources import GENERATED_SPLITS, Download
from residuum.inspect.text import line
from residuum.pages import layout


class File(NamedTuple):
    """A download with all that is known of it: bytes and md5 are None where nobody states them."""

    name: str
    path: Path | None
    url: str | None
    bytes: int | None
    md5: str | None
    splits: list[str]
    makes: list[Path]
    by_hand: bool

    @property
    def available(self) -> bool:
        """Say whether it is on this machine, or what ir_datasets makes of it is."""
        return self._local or bool(self.makes and all(path.exists() for path in self.makes))

    @property
    def _local(self) -> bool:
        return self.path is not None and self.path.exists()

    @property
    def whole(self) -> bool:
        """Say whether it is available and not cut short."""
        return self.state in ("available", "unpacked")

    @property
    def state(self) -> str:
        """Describe it: available, unpacked, cut short or absent."""
        if self._local and self.path is not None:
            size = self.path.stat().st_size if self.path.is_file() else None
            if size is not None and self.bytes and size < 0.99 * self.bytes:
                return f"cut short: {size:,} of {self.bytes:,} bytes"
            return "available"
        if self.available:
            return "unpacked" if self.path else "available"
        return "absent: get it by hand" if self.by_hand else "absent: downloaded when needed"


def needed(dataset: Dataset, split: str | None) -> list[File]:
    """Return the files that the corpus (split None) or a split is read from.

    A split that no file is listed for comes with the corpus; a sample of a corpus is read with the
    splits whose docs it keeps.
    """
    files = files_of(dataset)
    sample = getattr(dataset.source, "sample", None)
    kept = set(sample.keep) if sample else set()
    corpus = [file for file in files if not file.splits or kept & set(file.splits)]
    if split is None:
        return corpus
    return [file for file in files if dataset.origin(split) in file.splits] or corpus


def load(config: Path) -> dict[str, Dataset]:
    """Load config/datasets; a fault in any of them is an error that names it."""
    faults: list[str] = []
    datasets = entries.load_folder(config / "datasets", Dataset, faults)
    if faults:
        raise ResiduumError("\n".join(faults))
    if not datasets:
        raise ResiduumError(f"{config}/datasets: no such files. Run this in the project's folder.")
    return datasets


def find(config: Path, name: str) -> Dataset:
    """Return one dataset; an unknown name is an error that lists the known ones."""
    known = load(config)
    if name not in known:
        raise ResiduumError(unknown("dataset", name, known, f"{config}/datasets/{name}.yaml"))
    return known[name]


def files_of(dataset: Dataset) -> list[File]:
    """Return what a dataset is read from, each file once, the corpus's first."""
    named: dict[str, File] = {}
    for file in [*map(_file, dataset.downloads), *_own_files(dataset)]:
        if same := named.get(file.name):
            every = [*same.splits, *file.splits] if same.splits and file.splits else []
            file = same._replace(splits=every, makes=[*same.makes, *file.makes])
        named[file.name] = file
    return list(named.values())


def _own_files(dataset: Dataset) -> Iterator[File]:
    """Yield the files that the YAML names as source and not under downloads."""
    listed = {download.file for download in dataset.downloads}
    for split in [None, *dataset.splits]:
        for name in dataset.source_files(split):
            if name not in listed:
                path = roots.data() / name
                size = path.stat().st_size if path.is_file() else None
                yield File(name, path, None, size, None, [split] if split else [], [], True)


def _file(download: Download) -> File:
    makes = [roots.irds() / name for name in download.makes]
    by_hand = download.by_hand(roots.data(), roots.irds())
    path: Path | None
    if download.irds is None:
        name = str(download.home or download.file)
        path = by_hand or roots.irds() / name
        url, size, md5 = download.url, download.bytes, download.md5
    else:
        name, known = download.irds, listed_by_irds(download.irds)
        cached = known.get("cache_path")
        path = roots.irds() / name.partition("/")[0] / str(cached) if cached else None
        url, size, md5 = (known.get(key) for key in ("url", "size_hint", "expected_md5"))
    return File(name, path, url, size, md5, download.splits, makes, by_hand is not None)


@functools.cache
def _irds_list() -> dict[str, dict[str, Any]]:
    text = importlib.resources.files("ir_datasets").joinpath("etc/downloads.json").read_text()
    return dict(json.loads(text))


def listed_by_irds(name: str) -> dict[str, Any]:
    """Return what ir_datasets knows of one of its downloads, such as msmarco-passage/queries."""
    collection, _, key = name.partition("/")
    known = _irds_list().get(collection, {})
    if key not in known:
        names = [f"{collection}/{other}" for other in known] or list(_irds_list())
        raise ResiduumError(f"downloads: ir_datasets lists {unknown('download', name, names)}")
    return dict(known[key])


def listing(config: Path) -> str:
    """Return a table of all datasets: size, licence, download, disk, and what is local."""
    rows = [_row(name, dataset) for name, dataset in load(config).items()]
    header = ["dataset", "docs", "splits (queries)", "download", "disk", "licence", "local"]
    where = f"ir_datasets' home: {roots.irds()}; RESIDUUM_DATA: {roots.data()}"
    return f"{layout.grid(header, rows)}\n\n{where}\nMore of one: residuum datasets show NAME"


def _row(name: str, dataset: Dataset) -> list[str]:
    edition = dataset.editions[0]
    sizes = [f"{split} {edition.splits[split].queries:,}" for split in edition.splits]
    others = [split for split in dataset.splits if split not in edition.splits]
    return [
        name,
        f"{edition.docs:,}",
        ", ".join([*sizes, *others]),
        size(files_of(dataset)),
        f"about {amount(1e9 * dataset.disk_gb)}" if dataset.disk_gb else "",
        dataset.licence,
        "generated" if dataset.source.kind in GENERATED_SPLITS else presence(files_of(dataset)),
    ]


def size(files: list[File]) -> str:
    """Describe the sum of downloads; files of unknown size are counted apart."""
    known = [file.bytes for file in files if file.bytes]
    unsized = len(files) - len(known)
    if not known:
        return "size unknown" if unsized else ""
    return amount(sum(known)) + (f" and {unsized} of unknown size" if unsized else "")


def amount(size: float) -> str:
    """Write a number of bytes in the unit that suits it: 8.5 GB, 220 kB."""
    for unit, worth in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if size >= worth:
            return f"{size / worth:.3g} {unit}"
    return f"{size / 1e3:.3g} kB"


def presence(files: list[File]) -> str:
    """Describe how much of a dataset is on this machine."""
    if not files:
        return "not listed"
    whole = sum(file.whole for file in files)
    if whole == len(files):
        return "all"
    return f"{whole} of {len(files)} files" if whole else "nothing"


def show(config: Path, name: str) -> str:
    """Return all that the project knows of a dataset: text, files with their state, pins."""
    dataset = find(config, name)
    top = [f"{name}: {dataset.title}", line("", dataset.description)]
    top += [line(key, getattr(dataset, key)) for key in ("licence", "access", "citation")]
    if dataset.disk_gb:
        top.append(line("disk", f"about {amount(1e9 * dataset.disk_gb)} with the downloads"))
    return "\n".join([*top, *_source(dataset), *_files(dataset), *_pins(dataset)])


def _source(dataset: Dataset) -> Iterator[str]:
    source = dataset.source
    fields = getattr(source, "text_fields", ["text"])
    yield line("text", " + ".join(fields) + f" ({source.kind})")
    if kept := getattr(source, "fields", []):
        yield line("fields", ", ".join(kept))
    if form := dataset.windows:
        head = f" under {', '.join(form.head)}" if form.head else ""
        text = f"passages of {form.length} tokens of {form.body}{head}, every {form.stride} tokens"
        yield line("windows", f"models read {text}; a doc scores as its best")


def _files(dataset: Dataset) -> Iterator[str]:
    for file in files_of(dataset):
        yield f"  file       {file.name}: {file.state}"
        needed = ", ".join(file.splits) or "the corpus"
        amount = f"{file.bytes:,} bytes" if file.bytes else "size unknown"
        yield line("", f"for {needed}; {amount}; MD5 {file.md5 or 'unknown'}", 4)
        if file.path:
            yield line("", f"at {file.path}", 4)
        if file.url:
            yield line("", f"from {file.url}", 4)


def _pins(dataset: Dataset) -> Iterator[str]:
    for edition in dataset.editions:
        yield line("edition", f"{edition.name}: {edition.docs:,} docs")
        for split, pin in edition.splits.items():
            measures = ", ".join(dataset.splits[split].measures)
            shown = f"{split}: {splits.told(pin)}" + (f"; {measures}" if measures else "")
            yield line("", shown, 4)
