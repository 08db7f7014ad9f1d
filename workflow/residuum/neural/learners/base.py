"""What the training loop and the learners agree on: files to learn from, losses of a batch.

Usage: `def make(form, start, revision, device, seed, material: Files) -> Learner: ...`.
Apart from the table of kinds, so that what trains one kind does not depend on the others' code.
Must not know any kind.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from torch import Tensor


class Files(NamedTuple):
    """Where the training material lies: tuples, the corpus of their docs, their queries."""

    tuples: Path
    corpus: Path
    queries: Path


class Part(NamedTuple):
    """Losses (examples,) of some rows of a batch, and how many the whole batch has.

    `watched` holds columns that the log adds: values whose mean over the batch it gives.
    """

    losses: Tensor
    whole: int
    watched: dict[str, Tensor]


class Learner(Protocol):
    """A model in training and the examples that it learns from.

    A learner may also have `remark(losses) -> str | None`, a warning about the finished training,
    given the mean loss of each step.
    """

    model: Any  # a torch module, trained in place
    pairs: int  # training pairs, as the manifest counts them
    steps: int  # steps that the spec asks for
    indivisible: bool  # must a process compute its rows of a batch at once?

    def losses(self, step: int, rows: slice) -> Part:
        """Return what rows of the batch of a step, counted from 0, say, with gradient."""
        ...

    def save(self, folder: Path) -> None:
        """Write the finished checkpoint into a folder."""
        ...

    @property
    def revision(self) -> str | None:
        """Commit hash of the start if it came from the hub."""
        ...
