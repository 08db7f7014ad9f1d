"""The processes of one training: torchrun starts one per GPU, and each computes a share of a batch.

Usage: `with processes.joined(device): ...`, within it `share(batch_size)`, `add_up(tensor)`.
Without torchrun there is one process, and nothing here changes its results.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr
from typing import TYPE_CHECKING, TypeVar

from residuum.cli.errors import ResiduumError

if TYPE_CHECKING:
    from torch import Tensor

T = TypeVar("T")
PR_SET_PDEATHSIG = 1  # linux/prctl.h


@contextmanager
def joined(device: str) -> Iterator[None]:
    """Join torchrun's other processes if it started this one; only the first writes messages.

    On cuda each process takes the card of its local rank. Raises ResiduumError if there are fewer
    cards than processes. An error leaves the block at once: torchrun then ends the other processes.
    At the end of the block the processes end: all work must be done within it.
    """
    import torch
    import torch.distributed as dist

    if not dist.is_torchelastic_launched() or int(os.environ["WORLD_SIZE"]) == 1:
        yield
        return
    if sys.platform == "linux":
        # torchrun starts each process in its own session. A process that outlived a killed torchrun
        # would write to the same files as a restarted training.
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if device == "cuda":
        number, cards = int(os.environ["LOCAL_WORLD_SIZE"]), torch.cuda.device_count()
        if cards < number:
            raise ResiduumError(
                f"torchrun started {number} processes on this machine, which shows {cards} GPUs. "
                f"Set `gpus` to {cards} at most, or ask the scheduler for {number}"
            )
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    elif device != "cpu":
        raise ResiduumError(f"several processes train on cuda or cpu, not {device}; start one")
    dist.init_process_group("nccl" if device == "cuda" else "gloo")
    with ExitStack() as stack:
        if rank():
            nowhere = stack.enter_context(open(os.devnull, "w", encoding="utf-8"))
            stack.enter_context(redirect_stderr(nowhere))
        yield
    dist.barrier()  # a group that ends while another process still sends may abort this one
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # gloo's threads may abort a process that exits normally after its work


def count() -> int:
    """Return the number of processes that train together, or 1 without torchrun."""
    import torch.distributed as dist

    return dist.get_world_size() if dist.is_initialized() else 1


def rank() -> int:
    """Return the number of this process. The first process, 0, writes files and messages."""
    import torch.distributed as dist

    return dist.get_rank() if dist.is_initialized() else 0


def share(size: int) -> slice:
    """Return this process's examples of a batch: equal shares, in order, none empty."""
    if size < count():
        raise ResiduumError(
            f"training.batch_size {size} has no example for each of {count()} processes. "
            f"Set `gpus` to {size} at most, or raise training.batch_size"
        )
    return slice(size * rank() // count(), size * (rank() + 1) // count())


def values_of_all(value: T) -> list[T]:
    """Return every process's value, in order of rank."""
    import torch.distributed as dist

    values = [value] * count()
    if count() > 1:
        dist.all_gather_object(values, value)
    return values


def add_up(tensor: Tensor) -> Tensor:
    """Replace a tensor by its sum over the processes, in place, and return it."""
    import torch.distributed as dist

    if count() > 1:
        dist.all_reduce(tensor)
    return tensor


def add_up_gradients(parameters: Iterable[Tensor]) -> None:
    """Replace each gradient in place by its sum over the processes, all in one message."""
    import torch
    from torch.nn.utils import parameters_to_vector

    if count() > 1:
        gradients = [some.grad for some in parameters if some.grad is not None]
        parts = add_up(parameters_to_vector(gradients)).split([g.numel() for g in gradients])
        sums = [part.view_as(gradient) for part, gradient in zip(parts, gradients, strict=True)]
        torch._foreach_copy_(gradients, sums)


def rows_of_all(share: Tensor, rows: slice, size: int) -> Tensor:
    """Return the rows of all processes (size, ...), given this process's share, `rows`."""
    if count() == 1:
        return share
    every = share.new_zeros(size, *share.shape[1:])  # a sum works for unequal shares too
    every[rows] = share
    return add_up(every)
