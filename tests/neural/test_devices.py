"""Devices: steps reuse memory."""

import platform
import subprocess
import sys

import pytest

MEASURED = """
import resource, torch
from residuum.neural import devices

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    torch.ones(2**24)  # 64 MB: 16,384 pages of 4 KB
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

devices.choose("cpu", "fp32", threads=1)
print([faults() for step in range(6)][-1])
"""


# Nothing is promised elsewhere: mallopt is glibc's, and devices.choose leaves others alone.
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc has mallopt")
def test_the_memory_of_a_step_is_the_next_ones() -> None:
    words = [sys.executable, "-c", MEASURED]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert int(done.stdout) < 100
