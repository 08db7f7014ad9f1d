"""Devices: steps reuse memory; random numbers follow from a seed."""

import platform
import subprocess
import sys

import pytest
import torch

from residuum.neural import devices

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


def test_a_cpu_draws_what_it_draws_after_torchs_own_seeding() -> None:
    torch.manual_seed(5)
    expected = torch.nn.functional.dropout(torch.ones(1000), 0.3)
    torch.rand(3)
    devices.reseed(5, "cpu")
    assert torch.equal(torch.nn.functional.dropout(torch.ones(1000), 0.3), expected)
    assert torch.initial_seed() == 5
