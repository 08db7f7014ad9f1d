"""Which device and number format torch computes with, and what makes its results repeatable.

Usage: `device = devices.choose("auto", "auto", threads=1)`. Must not know models or texts.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, NamedTuple

from residuum.cli.errors import ResiduumError, unknown

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor

PRECISIONS = ("auto", "fp32", "bf16")


class Device(NamedTuple):
    """A torch device (cpu, cuda, mps) and the precision (fp32, bf16) of its matrix products."""

    name: str
    precision: str

    def autocast(self) -> AbstractContextManager[object]:
        """Return the context in which a model runs; weights and results stay float32."""
        import torch

        if self.precision == "fp32":
            return nullcontext()
        return torch.autocast(self.name, dtype=torch.bfloat16)


def choose(device: str, precision: str, threads: int) -> Device:
    """Choose what computes, fix the number of CPU threads, and ask torch for determinism.

    `auto` takes cuda with bf16 where there is one, else mps, else cpu, both with fp32. The
    threads are an argument because the order of sums, so the last digits, depends on them.
    Raises ResiduumError for a device that is not there and for bf16 without cuda, where it
    is several times slower than fp32.
    """
    with importing():
        name = _available(device)
    if precision not in PRECISIONS:
        raise ResiduumError(unknown("precision", precision, PRECISIONS))
    if precision == "bf16" and name != "cuda":
        raise ResiduumError(f"precision bf16 needs the device cuda, found {name}; use fp32")
    _make_repeatable(name, threads)
    best = "bf16" if name == "cuda" else "fp32"
    return Device(name, best if precision == "auto" else precision)


def _available(device: str) -> str:
    import torch

    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    found = [*(name for name, yes in there.items() if yes), "cpu"]
    if device == "auto":
        return found[0]
    if device not in found:
        raise ResiduumError(f"no device '{device}' on this machine; found: {', '.join(found)}")
    return device


def _make_repeatable(device: str, threads: int) -> None:
    """Fix the threads; on cuda ask for determinism, and for float32 that is not TF32.

    On a CPU the sums follow from the threads alone, and asking costs a second of imports.
    """
    import torch

    if threads < 1:
        raise ResiduumError(f"--threads must be 1 or more, found {threads}")
    torch.set_num_threads(threads)
    if device == "cuda":
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # cuBLAS is random without it
        torch.use_deterministic_algorithms(True, warn_only=True)
        torch.set_float32_matmul_precision("highest")  # what torch does if nobody says otherwise
        torch.utils.deterministic.fill_uninitialized_memory = False  # costs time, changes nothing


def put(array: np.ndarray, device: str) -> Tensor:
    """Return an array on a device; a GPU need not have finished earlier work before the copy."""
    import torch

    tensor = torch.from_numpy(array)
    if device == "cuda":
        return tensor.pin_memory().to(device, non_blocking=True)
    return tensor.to(device)


@contextmanager
def importing() -> Iterator[None]:
    """Collect no garbage while torch or transformers load: a fifth of their seconds goes there.

    Nearly all that an import makes stays for good; it is not looked at again later either.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if collecting:
            gc.enable()


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Make torch's random numbers inside the block follow from the seed, and leak none out."""
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield


def quiet() -> None:
    """Silence the progress bars and load reports of transformers; ours say what matters."""
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
