"""Whether a file is still the one that its manifest records; asked where it is read for a result.

Usage: `pl.read_parquet(intact.checked(path))`. What no manifest records passes, as files of others
do. A file is hashed once a process.
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

ABOVE = 2  # folders above a file that may hold its manifest: vectors lie in one per split


class Listed(BaseModel):
    """The part of a manifest that lists its files; in one from before they were listed, none."""

    files: dict[str, Own] = Field(default={})


class Recorded(NamedTuple):
    """What a manifest records of a file; what is deleted, and named, to have it made again."""

    own: Own
    remade: Path
    target: Path


def checked(path: Path) -> Path:
    """Return the path of a file that is as its manifest records it; else it is a ResiduumError."""
    found = recorded(path) if path.is_file() else None
    if found and (unlike := difference(path, found.own)):
        raise ResiduumError(f"{path}: not the file that was made: {unlike}. {_remedy(found)}")
    return path


def made(path: Path) -> Path:
    """Return what `checked` does, of a file of results: one that no manifest records is an error.

    Whoever edits a file can delete its manifest, too.
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
    """Raise ResiduumError if a file that a folder's own manifest records is absent or changed."""
    place = folder / FOLDER
    for name, own in _files(place).items():
        if not (folder / name).is_file():
            again = _remedy(Recorded(own, folder, place))
            raise ResiduumError(f"{folder / name}: no such file. {again}")
        checked(folder / name)


def difference(path: Path, own: Own) -> str | None:
    """Return in what a file differs from what is recorded: its size, else its hash; or None."""
    size = path.stat().st_size
    if size != own.bytes:
        return f"found {size:,} bytes, its manifest records {own.bytes:,}"
    digest = files.sha256(path)
    same = digest == own.sha256
    return None if same else f"found sha256 {digest}, its manifest records {own.sha256}"


def recorded(path: Path) -> Recorded | None:
    """Return what is recorded of a file: beside it, above, or beside another of its folder."""
    for place, name in _places(path):
        if own := _files(place).get(name):
            whole = place.name == FOLDER
            return Recorded(own, place.parent if whole else path, place if whole else path)
    return None


def _places(path: Path) -> Iterator[tuple[Path, str]]:
    """Yield the manifests that may record a file, each with the name that it has there."""
    own = manifest.beside(path)
    if own.is_file():
        yield own, path.name
    for folder in path.parents[:ABOVE]:
        yield folder / FOLDER, path.relative_to(folder).as_posix()
    if not own.is_file():  # that of queries has qrels too
        others = path.parent.glob(manifest.beside(Path("*")).name)
        yield from ((place, path.name) for place in sorted(others))


def _files(place: Path) -> Mapping[str, Own]:
    """Return the files that a manifest records; none if it is absent or a file of others."""
    return _listed(place, files.state(place)) if place.is_file() else {}


@lru_cache(maxsize=100)  # of a folder with many files each asks for the same one
def _listed(place: Path, _: files.State) -> Mapping[str, Own]:
    try:
        return Listed.model_validate_json(files.read_bytes(place)).files
    except ValidationError as error:
        if error.errors()[0]["type"] != "json_invalid":
            return {}
        why = describe("cut short or damaged", error)
        raise ResiduumError(f"{place}: {why}. {files.REMAKE}") from None
