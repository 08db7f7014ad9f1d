"""Learners: what each kind of trained model does with a step; one module per kind.

Usage: `learner = learners.make(spec, Start(...), TrainingData(...))`, then
`fitting.fit(learner, ...)` trains it. A new kind is a module here with `make`, and a line in KINDS.
Must not know the training loop, its log or the manifest.
"""

from collections.abc import Callable
from typing import Any

from residuum.code.tables import OpenTable
from residuum.config.schema.models import Trained
from residuum.neural.learners.base import Learner, Start, TrainingData

__all__ = ["KINDS", "Learner", "Start", "TrainingData", "make"]

KINDS: OpenTable[Callable[[Any, Start, TrainingData], Learner[Any]]] = OpenTable(
    {
        "dual-encoder": "residuum.neural.learners.dual:make",
        "term-weights": "residuum.neural.learners.terms:make",
        "cross-encoder": "residuum.neural.learners.cross:make",
    },
    "kind of trained model",
)


def make(spec: Trained, start: Start, data: TrainingData) -> Learner[Any]:
    """Return the learner of the spec's kind, ready for its first step."""
    return KINDS[spec.kind](spec, start, data)
