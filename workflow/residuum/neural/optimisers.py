"""The optimiser of a training: Adam with its learning rate at each step, weight decay, clipping.

Usage: `optimiser = make(model, how)`, then `rate = step(optimiser, how, number, steps)` once the
gradients stand. Must not know losses, batches or what is trained.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from residuum.config.schema.models import Training

if TYPE_CHECKING:
    from torch.nn import Module
    from torch.optim import Optimizer


def make(model: Module, how: Training) -> Optimizer:
    """Return Adam with decoupled weight decay of the matrices (Loshchilov and Hutter 2019).

    Biases and layer norms, which are vectors, do not decay, as in BERT's training.
    """
    import torch

    matrices = [some for some in model.parameters() if some.ndim > 1]
    vectors = [some for some in model.parameters() if some.ndim < 2]
    groups = [
        {"params": matrices, "weight_decay": how.weight_decay},
        {"params": vectors, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=how.learning_rate)


def step(optimiser: Optimizer, how: Training, number: int, steps: int) -> float:
    """Take the step of a number counted from 0; return its learning rate."""
    from torch.nn.utils import clip_grad_norm_

    rate = learning_rate(how, number, steps)
    for group in optimiser.param_groups:
        group["lr"] = rate
    if how.clip_norm is not None:
        parameters = [some for group in optimiser.param_groups for some in group["params"]]
        clip_grad_norm_(parameters, how.clip_norm)
    optimiser.step()
    return rate


def learning_rate(how: Training, number: int, steps: int) -> float:
    """Return the rate of a step counted from 0, of `steps`.

    It rises to its full value at step `warmup_steps`; linear decay would reach 0 at step `steps`.
    """
    if number < how.warmup_steps:
        return how.learning_rate * number / how.warmup_steps
    if how.decay == "constant":
        return how.learning_rate
    return how.learning_rate * (steps - number) / max(1, steps - how.warmup_steps)
