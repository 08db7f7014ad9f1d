"""Which files below a folder are opened for reading while something runs, as Python tells it.

Usage: `with opened.below(home) as seen: ...`. A library that reads one file after the other does
not say which one it failed at; the last one opened is where to look. Must not know any library.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

_watched: dict[int, tuple[str, list[Path]]] = {}  # by the id of the list: watches may be nested


@contextmanager
def below(folder: Path) -> Iterator[list[Path]]:
    """Give a list that grows by each file below the folder that is opened for reading."""
    _listen()
    seen: list[Path] = []
    _watched[id(seen)] = (os.path.abspath(folder) + os.sep, seen)
    try:
        yield seen
    finally:
        del _watched[id(seen)]


@cache
def _listen() -> None:
    """Listen to Python's events; a hook can never be taken away again."""
    sys.addaudithook(_note)


def _note(event: str, arguments: tuple[object, ...]) -> None:
    if event != "open" or not _watched:
        return
    name, mode = arguments[:2]
    if (
        not isinstance(name, (str, os.PathLike))
        or not isinstance(mode, str)
        or set("wax") & set(mode)
    ):
        return
    path = os.path.abspath(os.fsdecode(name))
    for folder, seen in _watched.values():
        if path.startswith(folder) and Path(path) not in seen[-1:]:
            seen.append(Path(path))
