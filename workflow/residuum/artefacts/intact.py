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
from residuum.artefacts.manifest import FOLDER, Own
from residuum.cli.command import describe
from residuum.cli.errors import ResiduumError

ABOVE = 2  # parent folders searched for a manifest: vectors lie a folder per split


class Listed(BaseModel):
    """The file list of a manifest; old manifests have none."""

    files: dict[str, Own] = Field(default={})


class Recorded(NamedTuple):
    """A file's record in a manifest, the path to delete if it differs, and Snakemake's target."""

    own: Own
    remade: Path
    target: Path


def checked(path: Path) -> Path:
    """Return the path of a file; a file that differs from its manifest raises ResiduumError."""
    found = recorded(path) if path.is_file() else None
    if found and (unlike := difference(path, found.own)):
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
    place = folder / FOLDER
    for name, own in _files(place).items():
        if not (folder / name).is_file():
            again = _remedy(Recorded(own, folder, place))
            raise ResiduumError(f"{folder / name}: no such file. {again}")
        checked(folder / name)


def difference(path: Path, own: Own) -> str | None:
    """Describe how a file differs from its record, by size, else by hash; None if it is equal."""
    size = path.stat().st_size
    if size != own.bytes:
        return f"found {size:,} bytes, its manifest records {own.bytes:,}"
    digest = files.sha256(path)
    same = digest == own.sha256
    return None if same else f"found sha256 {digest}, its manifest records {own.sha256}"


def recorded(path: Path) -> Recorded | None:
    """Return a file's record from a manifest beside it, in a folder above, or beside a sibling."""
    for place, name in _places(path):
        if own := _files(place).get(name):
            whole = place.name == FOLDER
            return Recorded(own, place.parent if whole else path, place if whole else path)
    return None


def _places(path: Path) -> Iterator[tuple[Path, str]]:
    """Yield (manifest that may record a file, the file's name in it)."""
    own = manifest.beside(path)
    if own.is_file():
        yield own, path.name
    for folder in path.parents[:ABOVE]:
        yield folder / FOLDER, path.relative_to(folder).as_posix()
    if not own.is_file():  # the manifest of queries also records qrels
        others = path.parent.glob(manifest.beside(Path("*")).name)
        yield from ((place, path.name) for place in sorted(others))


def _files(place: Path) -> Mapping[str, Own]:
    """Return the files that a manifest records; {} if it is absent or not residuum's."""
    return _listed(place, files.state(place)) if place.is_file() else {}


@lru_cache(maxsize=100)  # each file of a folder asks for the same manifest
def _listed(place: Path, _: files.State) -> Mapping[str, Own]:
    try:
        return Listed.model_validate_json(files.read_bytes(place)).files
    except ValidationError as error:
        if error.errors()[0]["type"] != "json_invalid":
            return {}
        why = describe("cut short or damaged", error)
        raise ResiduumError(f"{place}: {why}. {files.REMAKE}") from None
