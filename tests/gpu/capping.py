"""Step 5: a step whose memory ends: halves are taken, and their gradients are those of the whole.

On a card its memory is capped at half of what the step took; a CPU's end is put on. For a loss of
each row by itself (CLEAR), and for one over the whole batch (DPR, by cached gradients).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gpu import product
from gpu.records import Records
from gpu.setting import Setting

LARGEST = 1e-4  # of the norm of a gradient in fp32
# [CLS] of random weights is nearly the same for all texts, so that most of a gradient cancels.
MEAN = {"pooling": "mean"}


def measure(setting: Setting, records: Records) -> None:
    """Record what fitted, and how far its gradient lies from the whole batch's."""
    batch = setting.pick(128, 8)
    how = {"learning_rate": 1e-5, "steps": 10, "epochs": None, "batch_size": batch, "dropout": 0.0}
    for name in ("clear", "dpr"):
        model = product.spec(setting, name, training=how, encoder=MEAN)
        made = product.learner(setting, model, setting.chosen("fp32"))
        apart, fitted = _apart(setting, made, batch)
        records.add(f"{name}: examples at once, of {batch}", fitted, "examples")
        records.add(f"{name}: difference of the gradients", apart, "of their norm")
        if fitted >= batch:
            records.failed("memory did not end", name)
        if not apart <= LARGEST:
            records.failed(f"the gradients differ by {apart:.2g}, more than {LARGEST:g}", name)


def _apart(setting: Setting, made: Any, batch: int) -> tuple[float, int]:
    """Return the relative difference of the gradients, and how many examples fitted at once."""
    import torch

    base = torch.cuda.memory_allocated() if setting.device == "cuda" else 0
    product.gradients(made)
    whole = [some.grad.clone() for some in made.model.parameters() if some.grad is not None]
    with _capped(setting, made, batch, base):
        sizes = product.gradients(made)
    parts = [some.grad for some in made.model.parameters() if some.grad is not None]
    norms = [[(a - b).norm(), b.norm()] for a, b in zip(parts, whole, strict=True)]
    apart, size = torch.tensor(norms, dtype=torch.float64).norm(dim=0)
    return float(apart / size), sizes.limit or batch


@contextmanager
def _capped(setting: Setting, made: Any, batch: int, base: int) -> Iterator[None]:
    """Let the memory end before the whole batch is computed."""
    import torch

    if setting.device != "cuda":
        forward = made.forward
        made.forward = lambda part: _refused(forward, part, batch // 2)
        yield
        del made.forward
        return
    peak, held = torch.cuda.max_memory_allocated(), torch.cuda.memory_allocated()
    made.model.zero_grad()
    torch.cuda.empty_cache()
    total = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.set_per_process_memory_fraction((held + (peak - base) / 2) / total)
    yield
    torch.cuda.set_per_process_memory_fraction(1.0)
    torch.cuda.reset_peak_memory_stats()


def _refused(forward: Any, part: Any, most: int) -> Any:
    import torch

    outputs = forward(part)
    if len(part[0]) > most:
        raise torch.OutOfMemoryError("CUDA out of memory.")
    return outputs
