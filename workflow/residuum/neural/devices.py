"""Which device and number format torch computes with, and how many items at once.

Usage: `device = devices.choose("auto", "auto", threads=1)`; `AdaptiveBatchSize("texts",
"length").each(items, 64, work)`.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from residuum.artefacts import machine
from residuum.cli import memory
from residuum.cli.collecting import uncollected
from residuum.cli.errors import ResiduumError, unknown
from residuum.neural import cards, cudagraphs
from residuum.neural.resumable import log

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor, dtype
    from torch.nn import Module

Item = TypeVar("Item")
PRECISIONS = ("auto", "fp32", "bf16", "fp16")
BUSY = 2**26  # multiplications of a square layer: about a millisecond of a core
PLAIN = "DEFAULT"  # ATen's kernels without vector extensions
FAST = {  # instructions of a CPU that multiply numbers of 16 bits, as torch names them
    "bf16": ("avx512_bf16", "amx_bf16"),
    "fp16": ("avx512_fp16", "amx_fp16"),
}
LARGE = 2**30  # bytes of a block that one step may free and the next one reuse
MOST_THREADS = 4096
FEWEST = 4  # rows of a matrix product; with fewer rows the order of its sums differs


class Device(NamedTuple):
    """A torch device (cpu, cuda, mps), the precision of its products, its kernels.

    The precision is fp32, bf16 or fp16.
    """

    name: str
    precision: str
    arithmetic: str = "native"

    @property
    def dtype(self) -> dtype:
        """The type of weights and products of a model that is not trained."""
        import torch

        return {"bf16": torch.bfloat16, "fp16": torch.float16}.get(self.precision, torch.float32)

    def autocast(self) -> AbstractContextManager[object]:
        """Return the context in which a model runs; weights and results stay float32."""
        import torch

        return torch.autocast(self.name, torch.bfloat16, enabled=self.precision == "bf16")


def choose(
    device: str, precision: str, threads: int, arithmetic: str = "native", trains: bool = False
) -> Device:
    """Choose the device and precision, fix the number of CPU threads, and make torch deterministic.

    `auto` takes cuda with bf16 if available, else mps with fp32, else cpu with fp32. The number of
    threads decides the order of sums, and so the last digits. With native arithmetic the kind of
    CPU decides them too. Raises ResiduumError for a device that this machine lacks, and for
    portable arithmetic in 16 bits or on another device than a CPU. Also raises ResiduumError for
    bf16 and fp16 on a device without instructions for it, where it is several times slower than
    fp32, and for fp16 if the job `trains`: small gradients would be 0 in it.
    """
    machine.pin(arithmetic)
    name = _available(device)
    import torch

    if precision not in PRECISIONS:
        raise ResiduumError(unknown("precision", precision, PRECISIONS))
    if precision == "fp16" and trains:
        raise ResiduumError("precision fp16 is for models that are not trained; use bf16 or fp32")
    if precision in FAST and (lack := lacks(precision, name, arithmetic)):
        where = "of the model's entry, or of config.yaml"
        raise ResiduumError(f"precision {precision} ({where}) needs {lack}; use fp32")
    if arithmetic == "portable":
        _check_portable(name)
    if not 1 <= threads <= MOST_THREADS:
        raise ResiduumError(f"--threads must be from 1 to {MOST_THREADS}, not {threads}")
    torch.set_num_threads(threads)
    os.environ.setdefault("RAYON_NUM_THREADS", str(threads))  # else tokenizers takes all cores
    # The number of threads fixes the sums on one kind of CPU. Determinism there would cost a
    # second.
    if name == "cuda":
        _ask_for_determinism()
    if name == "cpu":
        memory.keep(LARGE)
    best = "bf16" if name == "cuda" else "fp32"
    return Device(name, best if precision == "auto" else precision, arithmetic)


def _available(device: str) -> str:
    """Return the device, or for `auto` the best device of this machine; take a card for cuda."""
    with uncollected():
        import torch

    made = cards.Build(torch.__version__, torch.version.cuda, torch.version.hip)
    if device in ("auto", "cuda") and made.cuda:
        cards.take()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns in several lines; the message below has one
        usable = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    said = os.environ.get(cards.NAMES) == ""  # the run has already said that there is no card
    if device == "auto" and said:
        usable["cuda"] = False
    available = [*(name for name, yes in usable.items() if yes), "cpu"]
    name = available[0] if device == "auto" else device
    if device == "cuda" and not usable["cuda"]:
        _say_what_lacks(made, device)
    if name not in available:
        raise ResiduumError(
            f"no device '{device}' on this machine; available: {', '.join(available)}"
        )
    if device == "auto" and not usable["cuda"] and not said:
        try:
            _say_what_lacks(made, device)
        except ResiduumError as error:
            log(f"{error}. Computing on the device {name}")
    return name


def _say_what_lacks(made: cards.Build, device: str) -> None:
    """Raise ResiduumError if torch cannot use a card: what was found, and how to mend it.

    Where the machine shows no card, raise only for the device cuda.
    """
    import torch

    found = cards.usable(made)
    if found.names:
        built = f"torch {made.version} is built for CUDA {made.cuda}"
        shown = f"{cards.TOOL} lists {len(found.names)}; {built}"
        try:
            torch.cuda.init()  # type: ignore[no-untyped-call]  # torch does not annotate it
        except RuntimeError as error:
            reason = str(error).split(". ")[0].split("\n")[0]
            raise ResiduumError(
                f"device {device}: {reason} ({shown}). Mend it: {cards.HOW}"
            ) from None
        raise ResiduumError(f"device {device}: torch finds no card ({shown}). Mend it: {cards.HOW}")
    if device == "cuda" or found.seen:
        raise ResiduumError(f"device {device}: {found.why}")


def _check_portable(name: str) -> None:
    """Refuse a device other than the CPU, and kernels that torch chose before they were pinned."""
    import torch

    if name != "cpu":
        raise ResiduumError(f"arithmetic portable needs the device cpu, not {name}; use native")
    if (kernels := torch.backends.cpu.get_cpu_capability()) != PLAIN:
        words = " ".join(map("=".join, machine.ARITHMETIC["portable"].items()))
        raise ResiduumError(f"torch computes with {kernels} already; set {words} before it starts")


def _ask_for_determinism() -> None:
    """Make cuda deterministic, with float32 in place of TF32.

    An operation without a deterministic algorithm fails and names itself. With warnings in place of
    failures, torch would use nondeterministic algorithms of attention's backward pass, though
    deterministic ones exist (attention_backward.cu, sdp_utils.cpp).
    """
    import torch

    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # cuBLAS is random without it
    torch.use_deterministic_algorithms(True)
    torch.set_float32_matmul_precision("highest")
    deterministic = torch.utils.deterministic
    # Filling uninitialised memory costs time and changes nothing.
    deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]  # undeclared


def lacks(precision: str, name: str, arithmetic: str) -> str:
    """Return what a device lacks for bf16 or fp16, or an empty string where it is faster."""
    import torch

    if name == "cuda":
        return ""
    if name != "cpu":
        return f"the device cuda or cpu, not {name}"
    if arithmetic == "portable":
        return "arithmetic native, not portable"
    known = torch.cpu.get_capabilities()
    if not any(known.get(instructions) for instructions in FAST[precision]):
        return f"a CPU with one of {', '.join(FAST[precision])}, or the device cuda"
    return ""


def name_of_card() -> str:
    """Return what the maker calls the card that this process computes on."""
    import torch

    return torch.cuda.get_device_name()


def put(array: np.ndarray, device: str) -> Tensor:
    """Return an array on a device. The copy to a GPU does not wait for earlier work."""
    import torch

    tensor = torch.from_numpy(array)
    if device == "cuda":
        return tensor.pin_memory().to(device, non_blocking=True)
    return tensor.to(device)


def arriving(tensor: Tensor) -> Callable[[], np.ndarray]:
    """Start to copy a tensor to the host; return a function that waits and returns the array.

    The GPU and the caller go on meanwhile.
    """
    import torch

    if tensor.device.type != "cuda":
        return tensor.cpu().numpy
    held = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
    held.copy_(tensor, non_blocking=True)
    copied = torch.cuda.Event()
    copied.record()

    def wait() -> np.ndarray:
        copied.synchronize()
        return held.numpy()

    return wait


def in_float32(layer: Module, device: str) -> None:
    """Let a linear layer compute in float32: values in bf16 have eight bits, and many ties."""
    import torch

    half = layer.forward

    def forward(input: Tensor) -> Tensor:
        with torch.autocast(device, enabled=False):
            return half(input.float())

    # torch supports this: it calls a layer's own forward where it has one.
    layer.forward = forward


def round_weights(model: Module, dtype: dtype, but: Collection[Module]) -> None:
    """Round the weights of a model to 16 bits in place, except in the layers `but`."""
    for part in model.modules():
        if part in but:
            continue
        for weights in (*part.parameters(recurse=False), *part.buffers(recurse=False)):
            if weights.is_floating_point():
                weights.data = weights.data.to(dtype)


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed torch's random numbers inside the block, and restore their state after it."""
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield


def reseed(seed: int, device: str) -> None:
    """Seed torch's random numbers on a device.

    On a CPU seed the CPU's generator alone. torch.manual_seed also queues a call with its stack for
    each kind of device that is not started, which takes 0.4 ms.
    """
    import torch

    if device == "cpu":
        torch.default_generator.manual_seed(seed)
    else:
        torch.manual_seed(seed)


def quiet() -> None:
    """Silence the progress bars and load reports of transformers."""
    from transformers.utils import logging

    # transformers does not annotate them.
    logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]


def busy(requested: int, width: int, hidden: int) -> int:
    """Return how many texts of `width` tokens a CPU computes at once, at most `requested`.

    A power of two that makes work enough for a layer of `hidden` units. Larger batches leave the
    caches: with six layers of 384 units and 128 tokens, a text takes 47 ms in batches of 32 and 43
    ms in batches of 4. Small batches also have less padding.
    """
    enough = max(FEWEST, BUSY // (width * hidden**2))
    return min(requested, 1 << (enough.bit_length() - 1))


def by_tokens(
    order: Sequence[int], lengths: Sequence[int], requested: int, longest: int
) -> Iterator[Sequence[int]]:
    """Cut text numbers, in order of rising length, into batches that a GPU takes at once.

    A batch has at most `requested * longest` tokens, padding included. Every batch but the last has
    at least `requested` texts.
    """
    first = 0
    while first < len(order):
        end = min(first + requested, len(order))
        while end < len(order) and (end + 1 - first) * lengths[order[end]] <= requested * longest:
            end += 1
        yield order[first:end]
        first = end


class AdaptiveBatchSize:
    """The largest batch that fitted a GPU's memory. A smaller size is kept from then on.

    Messages call the items of a batch `unit`, and name `remedy` as the key that makes an item
    smaller. Only torch's own out-of-memory error counts, which no CPU raises.
    """

    def __init__(self, unit: str, remedy: str) -> None:
        self.unit, self.remedy = unit, remedy
        self.limit: int | None = None

    def size(self, requested: int) -> int:
        """Return the size of batch to use for a requested size."""
        return requested if self.limit is None else min(requested, self.limit)

    def each(
        self, items: Sequence[Item], requested: int, work: Callable[[Sequence[Item], int], None]
    ) -> None:
        """Call `work(batch, size)` with batches of the items, in order.

        The last batch has the items that are left. A batch that does not fit is tried again in
        halves, so `work` must not change anything before its computation has succeeded.
        """
        done = 0
        while done < len(items):
            size = self.size(requested)
            batch = items[done : done + size]
            if self.fits(size, partial(work, batch, size)):
                done += len(batch)

    def fits(self, size: int, work: Callable[[], None]) -> bool:
        """Do work on `size` items. If the GPU's memory ends, halve the size and return False."""
        import torch

        try:
            work()
            return True
        except torch.OutOfMemoryError:
            pass
        # After the except block, because the error keeps the interrupted computation's memory.
        dropped = cudagraphs.drop_all()
        torch.cuda.empty_cache()
        if dropped:
            log("the GPU's memory ended: recorded layers are given up, and launched from now on")
            return False
        if size == 1:
            raise ResiduumError(
                f"one of the {self.unit} alone does not fit into the GPU's memory. "
                f"Lower {self.remedy}, or use a larger GPU"
            )
        self.limit = size // 2
        log(
            f"a batch of {size} {self.unit} does not fit into the GPU's memory: "
            f"{self.limit} at once from now on"
        )
        return False

    def facts(self) -> dict[str, int]:
        """Return what a manifest records: an empty dict if all batches fitted as requested."""
        return {} if self.limit is None else {"largest_batch": self.limit}
