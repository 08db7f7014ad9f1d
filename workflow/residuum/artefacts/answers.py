"""Keep the answers of programs: append them to a file, and find them again by their text.

Usage: `had, _ = answers.read(keys)`, `with answers.appending() as keep: keep(key, line)`. Each job
appends to a file of its own and reads those of all. A line is the key, a checksum and the answer.
What a kill cut short, or what is damaged, is left out, so that it is asked for again.
"""

import hashlib
import zlib
from collections.abc import Callable, Iterator, Set
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from residuum.artefacts import textvectors
from residuum.artefacts.textvectors import Vector

Side = Literal["doc", "query"]


def key_of(side: Side, text: str) -> str:
    """Return the key of an answer: a hash of the side and the text."""
    return hashlib.sha256(f"{side}\0{text}".encode()).hexdigest()


class Answers:
    """The answers of one program, in a folder; new ones go to the file of one job."""

    def __init__(self, folder: Path, job: Path) -> None:
        """Name the folder of the program's answers, and the output of the job that asks."""
        name = hashlib.sha256(str(job.absolute()).encode()).hexdigest()[:16]
        self.folder, self.path = folder, folder / f"{name}.answers"

    def read(self, keys: Set[str]) -> tuple[dict[str, Vector], int | None]:
        """Return the vectors of those keys that are known, and the dimensions of any known vector.

        Dimensions are None without any vector, and 0 for a dimension for each term.
        """
        had, dimensions = dict[str, Vector](), None
        for key, answer in self._lines():
            if dimensions is None or (key in keys and key not in had):
                _, vector = textvectors.parse(answer)
                dimensions = textvectors.dimensions_of(vector)
                if key in keys:
                    had[key] = vector
        return had, dimensions

    def _lines(self) -> Iterator[tuple[str, bytes]]:
        for path in sorted(self.folder.glob("*.answers")):
            with open(path, "rb") as handle:
                for line in handle:
                    key, _, rest = line.partition(b" ")
                    total, _, answer = rest.partition(b" ")
                    if answer.endswith(b"\n") and total == _sum(key + answer):
                        yield key.decode(), answer

    @contextmanager
    def appending(self) -> Iterator[Callable[[str, bytes], None]]:
        """Yield a function that appends the answer, a line of JSON, to a key.

        What it has appended outlives this process.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        with open(self.path, "ab", buffering=0) as file:
            if file.tell():
                file.write(b"\n")  # ends what a kill cut short

            def keep(key: str, answer: bytes) -> None:
                name, line = key.encode(), answer.rstrip() + b"\n"
                file.write(b" ".join((name, _sum(name + line), line)))

            yield keep


def _sum(data: bytes) -> bytes:
    return f"{zlib.crc32(data):08x}".encode()
