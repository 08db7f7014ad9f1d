"""residuum's own modules in a parent: imported once for the jobs of a stage, anew after an edit.

Usage: `ahead = Ahead()`, then `ahead.prepare(module)` before each fork, so that the child finds
what its module imports. The module itself is left to the child, which runs it.
"""

import gc
import importlib
import importlib.util
import os
import sys
from collections.abc import Iterator
from contextlib import suppress

from residuum.preload import jobs

Stamp = tuple[str, int, int]  # path, time of the last change in nanoseconds, bytes


class Ahead:
    """The modules that stages import, with the files that they were read from."""

    def __init__(self) -> None:
        self.stages: set[str] = set()
        self.stamps: set[Stamp] = set()
        self.folder = os.devnull

    def prepare(self, module: str) -> None:
        """Import what a stage of residuum imports, unless that is done and no file was changed."""
        stamps = _stamps(self.folder)
        if not stamps or stamps != self.stamps:
            self._begin()
        if module.startswith("residuum.") and module not in self.stages:
            with suppress(Exception):  # the child meets it too, and says so
                importlib.import_module(module)
            sys.modules.pop(module, None)
            self.stages.add(module)
            gc.collect()
            gc.freeze()

    def _begin(self) -> None:
        """Forget all modules, and take down the files as they are before any is read again."""
        jobs.forget()
        importlib.invalidate_caches()
        self.stages = set()
        found = importlib.util.find_spec("residuum")
        self.folder = os.path.dirname(found.origin) if found and found.origin else os.devnull
        self.stamps = _stamps(self.folder)


def _stamps(folder: str) -> set[Stamp]:
    """Return a stamp of each file of a package, data among them, which modules read on import.

    None where there is no package, or where a file goes away meanwhile.
    """
    with suppress(OSError):
        return set(_walked(folder))
    return set()


def _walked(folder: str) -> Iterator[Stamp]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                if entry.name != "__pycache__":
                    yield from _walked(entry.path)
            else:
                seen = entry.stat()
                yield entry.path, seen.st_mtime_ns, seen.st_size
