"""A command uses memory again that it gave back."""

import platform
import subprocess
import sys

import pytest

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


# Nothing is promised elsewhere: mallopt is glibc's.
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc has mallopt")
def test_a_block_is_the_next_ones() -> None:
    words = [sys.executable, "-c", MEASURED, "measure"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert int(done.stdout) < 100
