"""The optimiser of a training: two forms of Adam, the learning rate, decay and clipping.

Usage: `optimiser = make_optimiser(model, how)`, then `take_step(optimiser, how, Moment(step, steps,
epoch))` at each step, with `how` a model's `training`.
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, NamedTuple

from residuum.config.schema.training import Training

if TYPE_CHECKING:
    from torch.nn import Module
    from torch.optim import Optimizer


class Moment(NamedTuple):
    """A step, counted from 0; the number of all steps; the step's epoch, counted from 0."""

    step: int
    steps: int
    epoch: int = 0


class Adam(NamedTuple):
    """The settings in which the two forms of Adam differ."""

    epsilon: float
    corrected: bool  # whether both moments' start at 0 is corrected


ADAMS = {
    "adam": Adam(1e-8, True),  # Kingma and Ba 2015, Algorithm 1
    "bert-adam": Adam(1e-6, False),  # google-research/bert, optimization.py
}


def make_optimiser(model: Module, how: Training) -> Optimizer:
    """Return AdamW; only matrices have weight decay (Loshchilov and Hutter 2019).

    Biases and layer norms, which are vectors, do not decay, as in BERT's training.
    """
    import torch

    matrices = [some for some in model.parameters() if some.ndim > 1]
    vectors = [some for some in model.parameters() if some.ndim < 2]
    return torch.optim.AdamW([{"params": matrices}, {"params": vectors}], lr=how.rate, fused=True)


def take_step(optimiser: Optimizer, how: Training, at: Moment) -> float:
    """Take a step with the gradients; return its learning rate."""
    from torch.nn.utils import clip_grad_norm_

    rate = learning_rate(how, at)
    for group, decay in zip(optimiser.param_groups, (how.weight_decay, 0.0), strict=True):
        group |= settings(how, at.step, rate, decay, group["betas"])
    if how.clip_norm is not None:
        parameters = [some for group in optimiser.param_groups for some in group["params"]]
        clip_grad_norm_(parameters, how.clip_norm)
    optimiser.step()
    return rate


def settings(
    how: Training, number: int, rate: float, decay: float, betas: tuple[float, float]
) -> dict[str, float]:
    """Return the rate, epsilon and decay by which torch's AdamW takes a step of `how.optimizer`.

    AdamW divides the moments m and v of step t by c = 1 - beta^t. The step without this correction
    is r m / (sqrt(v) + e). AdamW takes it with rate r c1 / sqrt(c2) and epsilon e / sqrt(c2); the
    decay keeps the rate r.
    """
    adam = ADAMS[how.optimizer]
    first, second = (1.0 if adam.corrected else 1 - beta ** (number + 1) for beta in betas)
    scale = first / sqrt(second)
    return {"lr": rate * scale, "eps": adam.epsilon / sqrt(second), "weight_decay": decay / scale}


def learning_rate(how: Training, at: Moment) -> float:
    """Return a step's learning rate: a warm-up to the highest rate, then decay to 0 or by halves.

    With `halve_after` n the rate is highest in epochs 0 to n - 1, and halves in each later epoch
    (Lee et al. 2023, section 4.1).
    """
    warmup = int(how.warmup * at.steps if how.warmup < 1 else how.warmup)
    if at.step < warmup:
        return how.rate * at.step / warmup
    if how.halve_after:
        return how.rate * 0.5 ** max(0, at.epoch - how.halve_after + 1)
    if how.decay == "constant":
        return how.rate
    first = warmup if how.decay == "linear" else 0
    return how.rate * (at.steps - at.step) / (at.steps - first)
