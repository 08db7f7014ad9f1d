"""Learners: what each kind of trained model does with a step; one module per kind.

Usage: `learner = learners.make(form, start, revision, device, seed, Files(...))`, then
`fitting.fit(learner, ...)` trains it. A new kind is a module here with `make`, and a line in KINDS.
Must not know the training loop, its log or the manifest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from residuum.core import schema
from residuum.neural.learners.base import Files, Learner

if TYPE_CHECKING:
    from residuum.neural.devices import Device

__all__ = ["Files", "Learner", "make"]


Maker = Callable[[Any, str, str | None, "Device", int, Files], Learner]


def make(
    form: schema.Trained,
    start: str,
    revision: str | None,
    device: Device,
    seed: int,
    material: Files,
) -> Learner:
    """Return the learner of the spec's kind, ready for its first step."""
    return KINDS[form.kind]()(form, start, revision, device, seed, material)


def _dual() -> Maker:
    from residuum.neural.learners import dual

    return dual.make


def _terms() -> Maker:
    from residuum.neural.learners import terms

    return terms.make


def _cross() -> Maker:
    from residuum.neural.learners import cross

    return cross.make


# Functions, because one kind's imports are no concern of another.
KINDS: dict[str, Callable[[], Maker]] = {
    "dual-encoder": _dual,
    "term-weights": _terms,
    "cross-encoder": _cross,
}
