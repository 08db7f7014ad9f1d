"""CUDA graphs that are not there: what is recorded computes anew, into the same memory.

Usage: `stand_in(monkeypatch)`; it returns the list of what is recorded. As on a card, a replay
writes over what the one before gave, and reads nothing but the memory that it was recorded with.
`one_by_one` stands for the kernel of a card's attention, which reads where texts end, and no more.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
import torch

from residuum.neural import cudagraphs, packing


def stand_in(monkeypatch: pytest.MonkeyPatch) -> list[cudagraphs.Recorded]:
    """Let a CPU's tensors count as a card's; return what is recorded from now on."""
    made: list[cudagraphs.Recorded] = []

    def recorded(*arguments: Any) -> cudagraphs.Recorded:
        made.append(record(*arguments))
        return made[-1]

    monkeypatch.setattr(packing, "kernel", one_by_one)
    monkeypatch.setattr(cudagraphs, "on_card", lambda states: True)
    monkeypatch.setattr(cudagraphs, "_place", lambda: None)
    monkeypatch.setattr(cudagraphs, "record", recorded)
    return made


def one_by_one(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    packed: packing.Bounds,
    dropout: float,
    scale: float,
) -> torch.Tensor:
    """Return the attention of each text by itself, from its definition."""
    made = []
    for first, end in pairwise(packed.ends.tolist()):
        q, k, v = (some[first:end].transpose(0, 1) for some in (query, key, value))
        made.append(((q @ k.transpose(1, 2) * scale).softmax(dim=-1) @ v).transpose(0, 1))
    return torch.cat(made)


def record(
    layers: Any,
    compute: Any,
    states: torch.Tensor,
    bounds: packing.Bounds,
    gradients: Sequence[torch.Tensor],
    place: Any,
) -> cudagraphs.Recorded:
    """Return what reads, writes and overwrites the memory that a graph would."""
    grad, random = torch.is_grad_enabled(), torch.random.get_rng_state()
    held, ends = states.detach().clone(), bounds.ends.clone()
    lie = [some.data_ptr() for some in [*layers.parameters(), *gradients]]
    made = torch.empty_like(held)
    gradient, own = (torch.empty_like(held), torch.empty_like(held)) if grad else (None, None)
    last: list[Any] = []

    def forward() -> None:
        with cudagraphs.leaves(layers, grad) as weights, torch.set_grad_enabled(grad):
            assert [some.data_ptr() for some in [*layers.parameters(), *gradients]] == lie
            leaf = held.detach().requires_grad_(grad)
            last[:] = [compute(leaf, bounds._replace(ends=ends)), [leaf, *weights]]
        made.copy_(last[0].detach())

    def back() -> None:
        others = torch.autograd.grad(*last, gradient)
        for place, value in zip([own, *gradients], others, strict=True):
            place.copy_(value)

    if grad:  # a card does all once, to have what is made at a first time
        forward()
        gradient.fill_(7)
        back()
    torch.random.set_rng_state(random)
    return cudagraphs.Recorded(gradients, held, ends, made, gradient, own, forward, back)
