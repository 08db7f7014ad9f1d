"""Preload residuum's own modules in a parent, and reload them after an edit.

The parent also computes what a stage's manifests share: package versions, and the hash of the code.

Usage: `ahead = Ahead()`, then `ahead.prepare(module, folder)` before each fork. The child then
finds the modules that `python -m` would import in that folder.
"""

import gc
import importlib
import importlib.util
import os
import sys
from collections.abc import Iterator
from contextlib import suppress

from residuum.preload import jobs

Stamp = tuple[str, int, int]  # path, modification time in nanoseconds, bytes


class Ahead:
    """The preloaded stages, and stamps of the files they were read from."""

    def __init__(self) -> None:
        self.prepared: set[str] = set()
        self.stamps: set[Stamp] = set()
        self.package = os.devnull
        self.folder = ""

    def prepare(self, module: str, folder: str) -> None:
        """Import a stage of residuum, and compute what its manifests share.

        Nothing happens if this is done and no file has changed.
        """
        stamps = set(_stamps(self.package))
        known = stamps and stamps == self.stamps and folder == self.folder
        if known and (module in self.prepared or not module.startswith("residuum.")):
            return
        sys.path.insert(0, folder)
        if not known:
            self._begin(folder)
        if module.startswith("residuum."):
            with suppress(BaseException):  # the child raises the same error and reports it
                importlib.import_module(module)
                importlib.import_module("residuum.artefacts.manifest").look_ahead(module)
            self.prepared.add(module)
        sys.path.remove(folder)
        gc.collect()
        gc.freeze()

    def _begin(self, folder: str) -> None:
        """Forget all modules, and stamp the files before any is read again."""
        jobs.forget()
        gc.unfreeze()  # frees the forgotten modules
        importlib.invalidate_caches()
        spec = importlib.util.find_spec("residuum")
        self.package = os.path.dirname(spec.origin) if spec and spec.origin else os.devnull
        self.prepared, self.folder = set(), folder
        self.stamps = set(_stamps(self.package))


def _stamps(folder: str) -> Iterator[Stamp]:
    """Yield a stamp of each file of a package, including data files, which imports may read.

    A file that is deleted meanwhile has no stamp. Nor has a dangling link, as some editors create.
    """
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if not entry.is_dir():
                with suppress(OSError):
                    seen = entry.stat()
                    yield entry.path, seen.st_mtime_ns, seen.st_size
            elif entry.name != "__pycache__":
                yield from _stamps(entry.path)
