"""residuum's own modules in a parent: imported once for the jobs of a stage, anew after an edit.

So is what all manifests of the stage say: the versions of packages, and the code that it reaches.

Usage: `ahead = Ahead()`, then `ahead.prepare(module, folder)` before each fork, so that the child
finds what its module imports, as `python -m` in that folder would.
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
        self.prepared: set[str] = set()
        self.stamps: set[Stamp] = set()
        self.package = os.devnull
        self.folder = ""

    def prepare(self, module: str, folder: str) -> None:
        """Import a stage of residuum, and look up what its manifests share.

        Unless that is done and no file was changed since.
        """
        stamps = set(_stamps(self.package))
        known = stamps and stamps == self.stamps and folder == self.folder
        if known and (module in self.prepared or not module.startswith("residuum.")):
            return
        sys.path.insert(0, folder)
        if not known:
            self._begin(folder)
        if module.startswith("residuum."):
            with suppress(BaseException):  # the child meets it too, and says so
                importlib.import_module(module)
                importlib.import_module("residuum.artefacts.manifest").look_ahead(module)
            self.prepared.add(module)
        sys.path.remove(folder)
        gc.collect()
        gc.freeze()

    def _begin(self, folder: str) -> None:
        """Forget all modules, and take down the files as they are before any is read again."""
        jobs.forget()
        gc.unfreeze()  # so that what is forgotten goes
        importlib.invalidate_caches()
        spec = importlib.util.find_spec("residuum")
        self.package = os.path.dirname(spec.origin) if spec and spec.origin else os.devnull
        self.prepared, self.folder = set(), folder
        self.stamps = set(_stamps(self.package))


def _stamps(folder: str) -> Iterator[Stamp]:
    """Yield a stamp of each file of a package, data among them, which modules read on import.

    A file that goes away meanwhile has none, nor has a link to nowhere, as some editors leave.
    """
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if not entry.is_dir():
                with suppress(OSError):
                    seen = entry.stat()
                    yield entry.path, seen.st_mtime_ns, seen.st_size
            elif entry.name != "__pycache__":
                yield from _stamps(entry.path)
