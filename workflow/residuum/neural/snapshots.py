"""Snapshots: models at steps within a training, kept beside the finished model.

Usage: `kept = Snapshots(work, steps, number)`; `kept.take(step, learner.save)` after each step that
is `due`, before the state is saved; `kept.move_into(folder)` at the end. A resumed training finds
the snapshots of all steps before its saved state.
"""

import shutil
from collections.abc import Callable
from pathlib import Path

from residuum.artefacts import files
from residuum.cli.errors import ResiduumError

FOLDER = "snapshots"


class Snapshots:
    """`number` models of a training of `steps`, spread evenly; the last is the finished model."""

    def __init__(self, work: Path, steps: int, number: int | None) -> None:
        if number and number > steps:
            fault = f"training.snapshots: {number}, but the training has {steps} steps"
            raise ResiduumError(f"{fault}. Give at most as many as steps.")
        self._work = work / FOLDER
        self.steps = [round(steps * i / number) for i in range(1, number + 1)] if number else []

    def due(self, step: int) -> bool:
        """Say whether to keep the model after `step` steps; the finished model is kept anyway."""
        return step in self.steps[:-1]

    def take(self, step: int, save: Callable[[Path], None]) -> None:
        """Keep the model of a due step."""
        with files.whole_directory(self._work / str(self.steps.index(step) + 1)) as folder:
            save(folder)

    def move_into(self, folder: Path) -> None:
        """Move the snapshots into a finished checkpoint, as snapshots/1, snapshots/2, ..."""
        for number in range(1, len(self.steps)):
            target = folder / FOLDER / str(number)
            target.parent.mkdir(exist_ok=True)
            shutil.move(self._work / str(number), target)

    def drop(self) -> None:
        """Delete the kept snapshots."""
        shutil.rmtree(self._work, ignore_errors=True)
