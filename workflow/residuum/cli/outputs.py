"""Refuse outputs that would replace an input, another output, or the working directory.

Usage: declare an option for an output with `command.written("run to write")`, or as
`command.Folder`. Then `writable` checks the option while options are read, and `refuse` checks all
options before the command begins.
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
            f"{name}: a stream. An output gets its name when it is whole: name a file"
        )
    if len(os.fsencode(path.name)) > MOST_NAME:
        raise ResiduumError(
            f"{option} {path.name[:20]}...: a name of {len(os.fsencode(path.name))} bytes. Give "
            f"one of at most {MOST_NAME}"
        )
    here = Path.cwd()
    if _real(name, path) in (here, *here.parents):
        raise ResiduumError(
            f"{name}: the working directory, or a folder above it. It cannot be replaced. Name "
            "another one"
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
    """Raise ResiduumError if an output would replace an input or another output.

    An output may not lie in an artefact that is read (a folder with a manifest). A folder that is
    replaced whole may not hold an input.
    """
    read = [(path, real) for path in inputs if (real := _present(path))]
    places = [(output, output.path.resolve()) for output in outputs]
    for number, (output, place) in enumerate(places):
        name = f"{output.option} {output.path}"
        for other, its in places[:number]:
            if its == place:
                raise ResiduumError(f"{name}: is {other.option} too; name two files")
        for path, real in read:
            linked = place.exists() and place.samefile(real)  # as by a hard link
            if place == real or linked:
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
