"""Learners: what each kind of trained model does with a step; one module per kind.

Usage: `learner = learners.make(form, start, revision, device, seed, Files(...))`, then
`fitting.fit(learner, ...)` trains it. A new kind is a module here with `make`, and a line in KINDS.
Must not know the training loop, its log or the manifest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from residuum.core.schema.models import Trained
from residuum.core.tables import OpenTable
from residuum.neural.learners.base import Files, Learner

if TYPE_CHECKING:
    from residuum.neural.devices import Device

__all__ = ["Files", "Learner", "make"]


Maker = Callable[[Any, str, str | None, "Device", int, Files], Learner]


def make(
    form: Trained,
    start: str,
    revision: str | None,
    device: Device,
    seed: int,
    material: Files,
) -> Learner:
    """Return the learner of the spec's kind, ready for its first step."""
    return KINDS[form.kind](form, start, revision, device, seed, material)


KINDS: OpenTable[Maker] = OpenTable(
    {
        "dual-encoder": "residuum.neural.learners.dual:make",
        "term-weights": "residuum.neural.learners.terms:make",
        "cross-encoder": "residuum.neural.learners.cross:make",
    }
)
