"""Devices: steps reuse memory; random numbers follow from a seed; a lack of a card is told."""

import os
import platform
import subprocess
import sys

import pytest
import torch

from residuum.cli.errors import ResiduumError
from residuum.neural import cards, devices

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


# Of cards: what torch says of them is stood in for.

ONE = cards.Cards(("GPU-a",))
MISSING = cards.Cards((), "no NVIDIA driver: nvidia-smi is not found. Install it", True)
OLD = (  # c10/cuda/CUDAFunctions.cpp
    "The NVIDIA driver on your system is too old (found version 11040). Please update your GPU "
    "driver by downloading and installing a new version from the URL"
)


@pytest.fixture
def machine(monkeypatch):
    """Return a function that sets what the machine shows, and what torch makes of it."""

    def stand_in(found, sees, refuses=""):
        def init():
            if refuses:
                raise RuntimeError(refuses)

        for name, value in (("__version__", "2.13.0"), ("version.cuda", "13.0")):
            monkeypatch.setattr(f"torch.{name}", value)
        monkeypatch.setattr("torch.cuda.is_available", lambda: sees)
        monkeypatch.setattr("torch.cuda.init", init)
        monkeypatch.setattr(cards, "usable", lambda made: found)

    monkeypatch.setattr("torch.backends.mps.is_available", lambda: False)
    monkeypatch.delenv(cards.NAMES, raising=False)
    return stand_in


def test_cuda_without_a_card_says_what_is_missing(machine):
    machine(MISSING, sees=False)
    with pytest.raises(ResiduumError) as told:
        devices.choose("cuda", "auto", threads=1)
    assert str(told.value) == f"device cuda: {MISSING.why}"


def test_this_builds_lack_is_told_to_who_wants_cuda(monkeypatch):
    """Of the torch that is installed here, whose build decides."""
    monkeypatch.setattr(cards, "_listed", lambda: ONE)
    monkeypatch.delenv(cards.VISIBLE, raising=False)
    monkeypatch.setattr("torch.version.cuda", None)
    with pytest.raises(ResiduumError, match=r"device cuda: torch 2\.\S+ computes on CPUs alone"):
        devices.choose("cuda", "auto", threads=1)


def test_cuda_that_does_not_start_gives_torchs_reason_in_a_line(machine):
    machine(ONE, sees=False, refuses=OLD)
    with pytest.raises(ResiduumError) as told:
        devices.choose("cuda", "auto", threads=1)
    message = str(told.value)
    assert message.startswith("device cuda: The NVIDIA driver on your system is too old (found ")
    assert "nvidia-smi lists 1; torch 2.13.0 is built for CUDA 13.0" in message
    assert "URL" not in message and "\n" not in message


@pytest.mark.parametrize(
    ("found", "refuses", "told"),
    [
        (MISSING, "", f"device auto: {MISSING.why}. Computing on the device cpu\n"),
        (MISSING._replace(seen=False), "", ""),
        (ONE, OLD, "device auto: The NVIDIA driver on your system is too old"),
    ],
)
def test_auto_leaves_a_card_aside_in_a_line(machine, capsys, found, refuses, told):
    machine(found, sees=False, refuses=refuses)
    assert devices.choose("auto", "auto", threads=1) == ("cpu", "fp32", "native")
    message = capsys.readouterr().err
    assert message.startswith(told) and message.count("\n") == bool(told)


def test_a_job_does_not_repeat_what_its_run_has_said(machine, capsys, monkeypatch):
    machine(MISSING, sees=False)
    monkeypatch.setenv(cards.NAMES, "")
    assert devices.choose("auto", "auto", threads=1).name == "cpu"
    assert not capsys.readouterr().err


@pytest.fixture
def undone(monkeypatch):
    """Take back what a device asks of torch for good."""
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", "")
    monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG")
    yield
    torch.use_deterministic_algorithms(False)
    torch.utils.deterministic.fill_uninitialized_memory = True


def test_a_card_is_taken_before_torch_looks_and_computes_the_same_twice(
    machine, monkeypatch, undone
):
    monkeypatch.setenv(cards.NAMES, f"GPU-{os.getpid()}")
    monkeypatch.setenv(cards.VISIBLE, "")
    machine(ONE, sees=True)
    seen = []

    def look() -> bool:
        seen.append(os.environ[cards.VISIBLE])
        return True

    monkeypatch.setattr("torch.cuda.is_available", look)
    try:
        assert devices.choose("auto", "auto", threads=1) == ("cuda", "bf16", "native")
    finally:
        while cards._held:
            cards._held.pop().close()
    assert seen == [f"GPU-{os.getpid()}"]
    assert os.environ["CUBLAS_WORKSPACE_CONFIG"] == ":4096:8"
    assert torch.are_deterministic_algorithms_enabled()
    assert not torch.is_deterministic_algorithms_warn_only_enabled(), "attention follows this"
