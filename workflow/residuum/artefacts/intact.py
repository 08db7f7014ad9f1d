"""Check, when a file is read for a result, that it is as its manifest records it.

Usage: `pl.read_parquet(intact.checked(path))`. A file that no manifest records passes, because it
may be a user's own. A file is hashed once per process.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, Field, ValidationError

from residuum.artefacts import files, manifest
from residuum.artefacts.manifest import FOLDER, FileRecord
from residuum.cli.command import describe
from residuum.cli.errors import ResiduumError

ABOVE = 2  # parent folders searched for a manifest: vectors lie a folder per split


class Listed(BaseModel):
    """The file list of a manifest; old manifests have none."""

    files: dict[str, FileRecord] = Field(default={})


class Recorded(NamedTuple):
    """A file's record in a manifest, the path to delete if it differs, and Snakemake's target."""

    record: FileRecord
    remade: Path
    target: Path


def checked(path: Path) -> Path:
    """Return the path of a file; a file that differs from its manifest raises ResiduumError."""
    found = recorded(path) if path.is_file() else None
    if found and (unlike := difference(path, found.record)):
        raise ResiduumError(f"{path}: not the file that was made: {unlike}. {_remedy(found)}")
    return path


def made(path: Path) -> Path:
    """Check a file of results as `checked` does; a file without a record is refused too.

    The record is required because an editor of the file may also have deleted its manifest.
    """
    if path.is_file() and recorded(path) is None:
        raise ResiduumError(
            f"{path}: no manifest records it, so it may be anything. {files.REMAKE}"
        )
    return checked(path)


def _remedy(found: Recorded) -> str:
    again = f"snakemake --cores all -- {found.target} all (with the --config of that run)"
    return f"Delete {found.remade}, then make it again: {again}."


def check_folder(folder: Path) -> None:
    """Raise ResiduumError if a file in a folder's own manifest is absent or changed."""
    beside = folder / FOLDER
    for name, record in _files(beside).items():
        if not (folder / name).is_file():
            again = _remedy(Recorded(record, folder, beside))
            raise ResiduumError(f"{folder / name}: no such file. {again}")
        checked(folder / name)


def difference(path: Path, record: FileRecord) -> str | None:
    """Describe how a file differs from its record, by size, else by hash; None if it is equal."""
    size = path.stat().st_size
    if size != record.bytes:
        return f"found {size:,} bytes, its manifest records {record.bytes:,}"
    digest = files.sha256(path)
    same = digest == record.sha256
    return None if same else f"found sha256 {digest}, its manifest records {record.sha256}"


def recorded(path: Path) -> Recorded | None:
    """Return a file's record from a manifest beside it, in a folder above, or beside a sibling."""
    for manifest_path, name in _manifests(path):
        if record := _files(manifest_path).get(name):
            if manifest_path.name == FOLDER:
                return Recorded(record, manifest_path.parent, manifest_path)
            return Recorded(record, path, path)
    return None


def _manifests(path: Path) -> Iterator[tuple[Path, str]]:
    """Yield (manifest that may record a file, the file's name in it)."""
    beside = manifest.beside(path)
    if beside.is_file():
        yield beside, path.name
    for folder in path.parents[:ABOVE]:
        yield folder / FOLDER, path.relative_to(folder).as_posix()
    if not beside.is_file():  # the manifest of queries also records qrels
        others = path.parent.glob(manifest.beside(Path("*")).name)
        yield from ((other, path.name) for other in sorted(others))


def _files(manifest_path: Path) -> Mapping[str, FileRecord]:
    """Return the files that a manifest records; {} if it is absent or not residuum's."""
    if not manifest_path.is_file():
        return {}
    return _listed(manifest_path, files.state(manifest_path))


@lru_cache(maxsize=100)  # each file of a folder asks for the same manifest
def _listed(manifest_path: Path, _: files.State) -> Mapping[str, FileRecord]:
    try:
        return Listed.model_validate_json(files.read_bytes(manifest_path)).files
    except ValidationError as error:
        if error.errors()[0]["type"] != "json_invalid":
            return {}
        why = describe("cut short or damaged", error)
        raise ResiduumError(f"{manifest_path}: {why}. {files.REMAKE}") from None
