"""Find the files of a results folder that differ from what its manifests record.

Usage: `Changes(results, graph).among(kin)`. A manifest records an artefact's own files, and its
inputs. Files above LARGE bytes are compared by size, unless `deep` is true.
"""

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from residuum.artefacts import files
from residuum.artefacts.manifest import FOLDER
from residuum.inspect.provenance import Artefact, Graph, artefact_of
from residuum.inspect.text import short

LARGE = 100_000_000  # bytes; a fast disk hashes them in a tenth of a second


class Change(NamedTuple):
    """A changed file, the artefact whose manifest records it, and the recorded and found value."""

    path: str
    by: str
    recorded: str
    found: str

    @property
    def text(self) -> str:
        """What was found, and what was recorded."""
        return f"{self.found}, where the manifest of {self.by} records {self.recorded}"

    def __str__(self) -> str:
        return f"{self.path}: {self.text}"


class Changes:
    """The changed files of a results folder, or of a bundle, which holds all manifests.

    `skipped` has the files that were too large to hash.
    """

    def __init__(self, results: Path, graph: Graph, deep: bool = False) -> None:
        self.results, self.graph, self.deep = results, graph, deep
        self.records = {
            path: record for artefact in graph.values() for path, record in artefact.files.items()
        }
        self.skipped: set[str] = set()

    def among(self, kin: Iterable[Artefact], inputs: Collection[str] | None = None) -> list[Change]:
        """Return the changes of artefacts' own files and of their inputs, each once.

        `inputs` restricts the inputs that are compared to the paths in it. A folder is left out
        where a changed file within it is returned.
        """
        found: dict[str, Change] = {}
        for artefact in kin:
            read = [
                change
                for change in self._inputs(artefact)
                if inputs is None or change.path in inputs
            ]
            for change in [*self._own(artefact), *read]:
                found.setdefault(change.path, change)
        within = {str(above) for path in found for above in PurePosixPath(path).parents}
        return [change for path, change in found.items() if path not in within]

    def _own(self, artefact: Artefact) -> Iterator[Change]:
        for path, record in artefact.files.items():
            if not (self.results / path).is_file():
                continue  # intermediate files may be deleted after the pages are made
            size, digest = (self.results / path).stat().st_size, self._sha256(path)
            if size != record.bytes:
                recorded = f"{record.bytes:,} bytes"
                yield Change(path, artefact.path, recorded, f"found {size:,} bytes")
            elif digest != record.sha256:
                yield Change(path, artefact.path, short(record.sha256), f"found {short(digest)}")

    def _inputs(self, artefact: Artefact) -> Iterator[Change]:
        inputs = artefact.manifest.inputs if artefact.manifest else {}
        for path, recorded in inputs.items():
            digest = self._sha256(path) if artefact_of(path) in self.graph else None
            if digest and digest != recorded:
                yield Change(path, artefact.path, short(recorded), f"found {short(digest)}")

    def _sha256(self, path: str) -> str | None:
        """Return the hash of a file or folder, from its manifest if it is absent or large."""
        place, record = self.results / path, self.records.get(path)
        if place.is_dir():
            return self._sha256_of(place, path)
        if place.is_file() and (self.deep or place.stat().st_size <= LARGE):
            return files.sha256(place)
        if place.is_file():
            self.skipped.add(path)
        return record.sha256 if record else None

    def _sha256_of(self, folder: Path, path: str) -> str | None:
        """Return the hash of a folder's files, or None where the hash of a file is unknown."""
        within = {p.relative_to(folder) for p in folder.rglob("*") if p.is_file()}
        within |= {
            Path(name).relative_to(path) for name in self.records if name.startswith(f"{path}/")
        }
        if within == {Path(FOLDER)}:
            return None  # a bundle's, older than records of own files
        hashes = {name: self._sha256(f"{path}/{name.as_posix()}") for name in sorted(within)}
        known = [(name, digest) for name, digest in hashes.items() if digest]
        return files.sha256_of_all(known) if len(known) == len(hashes) else None
