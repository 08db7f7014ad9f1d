"""A command uses memory again that it gave back."""

import ctypes
import platform
import subprocess
import sys
from types import SimpleNamespace

import pytest

from residuum.cli import memory

MEASURED = """
import resource
from residuum.cli import command

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    bytearray(48 << 20)  # 12,288 pages of 4 KB; glibc by itself maps them anew
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

app = command.app(None)

@app.command()
def measure():
    print([faults() for block in range(3)][-1])

command.main(app)
"""


# Elsewhere (macOS, musl) there is no mallopt that could keep a block, so nothing is promised; what
# keep() asks of a C library is tested everywhere, below.
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc has mallopt")
def test_a_block_is_the_next_ones() -> None:
    words = [sys.executable, "-c", MEASURED, "measure"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert int(done.stdout) < 100


@pytest.mark.parametrize(
    ("limit", "kept"),
    [
        (2**30, [(-3, 2**26), (-1, 2**31 - 1)]),
        (2**25, [(-3, 2**25), (-1, 2**31 - 1)]),
        (0, []),
    ],
)
def test_a_library_that_takes_less_keeps_less_and_one_that_takes_nothing_is_left_alone(
    monkeypatch: pytest.MonkeyPatch, limit: int, kept: list[tuple[int, int]]
) -> None:
    """To set the trim alone would end glibc's own adapting, and keep less than before."""
    taken = []

    def mallopt(number: int, value: int) -> int:
        fits = number != memory.M_MMAP_THRESHOLD or value <= limit
        taken.extend([(number, value)] if fits else [])
        return int(fits)

    monkeypatch.setattr(ctypes, "CDLL", lambda name: SimpleNamespace(mallopt=mallopt))
    memory.keep(memory.MODEST)
    assert taken == kept


def test_a_library_without_mallopt_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda name: SimpleNamespace())
    memory.keep(memory.MODEST)
