"""Readers of files of others, on files drawn at random: the right value or one message, in time.

RESIDUUM_FUZZ=10000 draws so many for each reader and kind of file, other ones at each run; without
it a few, always the same. `make fuzz` does the former.
"""

import os
import signal
import tempfile
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fuzz.mangling import mangled
from fuzz.readers import READERS, Files, Reader
from residuum.cli.errors import printable

FEW = 20
SECONDS = 10  # that a file of some hundred bytes may take
LONGEST = 3000  # characters of a message
LONG_RUN = int(os.environ.get("RESIDUUM_FUZZ", 0))
HOW = settings(
    max_examples=LONG_RUN or FEW,
    derandomize=not LONG_RUN,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
# Read by a library that ends the process, by design, where a file has it ask for too much memory.
NATIVE = ("Parquet",)
EVERY = pytest.mark.parametrize("name", READERS)


@contextmanager
def in_time() -> Iterator[None]:
    """Raise TimeoutError once the seconds are over."""

    def late(*_: object) -> None:
        raise TimeoutError(f"not done after {SECONDS} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def written(files: Files, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give a folder that holds files, as the folder of one's own data."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path, data in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(data)
        monkeypatch.setenv("RESIDUUM_DATA", name)
        yield folder


def refusal_of(reader: Reader, folder: Path) -> str | None:
    """Return the message with which files are refused, which names one; None if they are read."""
    try:
        with in_time():
            reader.read(folder)
    except reader.refusal as error:
        message = printable(str(error))
        assert str(folder) in message and len(message) < LONGEST
        return message
    return None


def _refusal_there(name: str, folder: str) -> str | None:
    os.environ["RESIDUUM_DATA"] = folder
    return refusal_of(READERS[name], Path(folder))


class Apart:
    """A process beside this one that reads files; `ended` counts those that it did not survive."""

    def __init__(self, name: str) -> None:
        self.ended, self._name = 0, name
        self._pool: ProcessPoolExecutor | None = None

    def refusal_of(self, folder: Path) -> str | None:
        self._pool = self._pool or ProcessPoolExecutor(1, get_context("spawn"))
        try:
            return self._pool.submit(_refusal_there, self._name, str(folder)).result(10 * SECONDS)
        except BrokenProcessPool:
            self.ended += 1
            self.close()
            return None

    def close(self) -> None:
        if self._pool:
            self._pool.shutdown()
        self._pool = None


@EVERY
def test_good_files_are_read_as_what_they_hold(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = READERS[name]

    @HOW
    @given(reader.good)
    def check(case) -> None:
        with written(case.files, monkeypatch) as folder, in_time():
            assert reader.read(folder) == case.truth

    check()


@EVERY
def test_files_that_lie_are_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = READERS[name]

    @HOW
    @given(reader.spoiled)
    def check(files: Files) -> None:
        with written(files, monkeypatch) as folder:
            assert refusal_of(reader, folder) is not None

    check()


@EVERY
def test_damaged_files_are_read_or_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    reader, apart = READERS[name], Apart(name)

    @HOW
    @given(st.data())
    def check(data: st.DataObject) -> None:
        files = data.draw(mangled(data.draw(reader.good).files))
        with written(files, monkeypatch) as folder:
            if name in NATIVE:
                apart.refusal_of(folder)
            else:
                refusal_of(reader, folder)

    check()
    apart.close()
    if apart.ended:
        warnings.warn(f"{name}: {apart.ended} files had a library end its process", stacklevel=1)
