"""What the training loop and the learners agree on: what to learn from, losses of a batch.

Usage: `class MyLearner(Learner[MyBatch]): ...` and `def make(spec, start, data)`, which returns
one. Apart from the table of kinds, so that what trains one kind does not depend on
the others' code. Must not know any kind.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from residuum.neural import pretrained
from residuum.neural.devices import Device

if TYPE_CHECKING:
    from torch import Tensor

Outputs = Sequence["Tensor"]
B = TypeVar("B", bound=NamedTuple)


class TrainingData(NamedTuple):
    """Where the training data lie: tuples, the corpus of their docs, their queries."""

    tuples: Path
    corpus: Path
    queries: Path


class Start(NamedTuple):
    """What a training begins with: a Hugging Face folder or hub id, its commit, device, seed."""

    name: str
    revision: str | None
    device: Device
    seed: int


class BatchLoss(NamedTuple):
    """Losses (examples,) of some rows of a batch.

    `logged` holds columns that the log adds: values whose mean over the batch it gives.
    """

    losses: Tensor
    logged: dict[str, Tensor]


class Learner(ABC, Generic[B]):
    """A model in training and the examples that it learns from.

    `model` is a torch module, trained in place; `pairs` counts the training pairs for the
    manifest, and `steps` what the spec asks for. The loss of a row is its own matter, unless the
    learner is `joint`: then it depends on the outputs of the whole batch. A batch is a named
    tuple of columns, each a list with a place for every row.
    """

    model: Any
    pairs: int
    steps: int
    joint = False

    @property
    def revision(self) -> str | None:
        """Commit hash of the start if it came from the hub."""
        return pretrained.commit(self.model)

    @abstractmethod
    def batch(self, step: int) -> B:
        """Return the batch of a step, counted from 0."""

    def examples(self, batch: B) -> int:
        """Return how many losses a batch has: one for each row."""
        return len(batch[0])

    def part(self, batch: B, rows: slice) -> B:
        """Return some rows of a batch."""
        return batch._make(column[rows] for column in batch)

    @abstractmethod
    def forward(self, batch: B) -> Outputs:
        """Return what the model gives for some rows, with gradient.

        The tensors of a joint learner have a row for each.
        """

    @abstractmethod
    def losses(self, batch: B, outputs: Outputs, rows: slice) -> BatchLoss:
        """Return the losses of some rows of a batch, given the outputs of all of it."""

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Write the finished checkpoint into a folder."""

    def convergence_warning(self, means: Sequence[float]) -> str | None:
        """Say what is wrong with a finished training, given the mean loss of each step."""
        return None
