"""What a command writes is a name of its own: none that it reads, and never where it runs.

Usage: an option that is written is declared with `command.written("run to write")`, or is a
`command.Folder`. Then `writable` is asked of it while options are read, and `refuse` before the
command begins.
"""

import errno
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from residuum.cli.errors import ResiduumError

STREAMS = ("/dev/fd/", "/dev/std", "/proc/")
# Bytes of a name: file systems take 255, and a manifest's lock is `.NAME.manifest.json.part.lock`.
MOST_NAME = 255 - len("..manifest.json.part.lock")


class Output(NamedTuple):
    """An option that is written, its path, and whether the command replaces a folder whole."""

    option: str
    path: Path
    whole_folder: bool = False


def writable(option: str, path: Path) -> Path:
    """Return a path that a file or folder can be written to; else raise ResiduumError."""
    name = f"{option} {path}"
    if str(path) == "-" or str(path).startswith(STREAMS):
        raise ResiduumError(
            f"{name}: a stream. What is written appears whole, under a name of its own: name a file"
        )
    if len(os.fsencode(path.name)) > MOST_NAME:
        raise ResiduumError(
            f"{option} {path.name[:20]}...: a name of {len(os.fsencode(path.name))} bytes. Give "
            f"one of at most {MOST_NAME}"
        )
    here = Path.cwd()
    if _real(name, path) in (here, *here.parents):
        raise ResiduumError(
            f"{name}: the working directory, or a folder above it, whose place nothing can take. "
            "Name another one"
        )
    return path


def _real(name: str, path: Path) -> Path:
    """Return where a path leads; a link that leads to itself is a ResiduumError."""
    try:
        return path.resolve(strict=True)
    except RuntimeError:  # of Python before 3.13
        looped = True
    except OSError as error:
        looped = error.errno == errno.ELOOP
    if looped:
        raise ResiduumError(f"{name}: a link that leads back to itself. Delete it, or name another")
    return path.resolve()


def refuse(outputs: Sequence[Output], inputs: Iterable[Path]) -> None:
    """Raise ResiduumError if an output would take the place of an input, or of another output.

    So it is with one that lies in an artefact that is read, a folder with a manifest, or that holds
    an input and is replaced whole.
    """
    read = [(path, real) for path in inputs if (real := _present(path))]
    places = [(output, output.path.resolve()) for output in outputs]
    for number, (output, place) in enumerate(places):
        name = f"{output.option} {output.path}"
        for other, its in places[:number]:
            if its == place:
                raise ResiduumError(f"{name}: is {other.option} too; name two files")
        for path, real in read:
            if place == real or _same(place, real):
                raise ResiduumError(f"{name}: is one of the files that are read; name another")
            if place.is_relative_to(real) and (real / "manifest.json").is_file():
                raise ResiduumError(f"{name}: lies in {path}, which is read; name another place")
            if output.whole_folder and real.is_relative_to(place):
                raise ResiduumError(
                    f"{name}: holds {path}, which is read, and would be replaced whole; name "
                    "another folder"
                )


def _present(path: Path) -> Path | None:
    """Return the real path of an input; None if it does not exist or is no path."""
    try:
        return path.resolve() if path.exists() else None
    except (OSError, ValueError, RuntimeError):
        return None


def _same(one: Path, other: Path) -> bool:
    """Say whether two names are of one file, as of a hard link."""
    return one.exists() and os.path.samefile(one, other)
