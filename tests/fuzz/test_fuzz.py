"""Readers of files of others, on files drawn at random: the right value or one message, in time.

RESIDUUM_FUZZ=10000 draws so many for each reader and kind of file, other ones at each run; without
it a few, always the same. `make fuzz` does the former.
"""

import os
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
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
        said = printable(str(error))
        assert str(folder) in said and len(said) < LONGEST
        return said
    return None


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
    reader = READERS[name]

    @HOW
    @given(st.data())
    def check(data: st.DataObject) -> None:
        files = data.draw(mangled(data.draw(reader.good).files))
        with written(files, monkeypatch) as folder:
            refusal_of(reader, folder)

    check()
