"""Resume killed work: a fingerprint of all that it depends on, its saved state, its snapshots.

Usage: `TrainingState(Saving(work), fingerprint(stage, config, inputs))`, then `restore(model,
optimiser)`; or `open_folder(folder, fingerprint(...))` for work in parts.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from residuum.artefacts import files, manifest
from residuum.cli.errors import ResiduumError

if TYPE_CHECKING:
    from torch.nn import Module
    from torch.optim import Optimizer

MARK = "fingerprint"
SNAPSHOTS = "snapshots"  # folder within a checkpoint
SAVE_S = 300.0  # most seconds of training that a kill may cost


def fingerprint(stage: str, config: Mapping[str, object], inputs: Iterable[Path]) -> str:
    """Return a hash of the config, the bytes of the inputs, the code and the packages."""
    record = {
        "setting": dict(config),
        "inputs": [files.sha256_of(Path(path)) for path in inputs],
        "code": manifest.made_by(stage, config)["sha256"],
        "packages": manifest.environment()["packages"],
    }
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()


def log(text: str) -> None:
    """Write a line on the progress of the work to standard error."""
    print(text, file=sys.stderr, flush=True)


def open_folder(folder: Path, mark: str) -> None:
    """Keep the finished parts of the same work, drop other parts, and write the work's mark.

    A folder with files but without a mark belongs to something else. It stays unchanged, and raises
    ResiduumError.
    """
    path = folder / MARK
    files.drop_unfinished(folder)
    held = sorted(folder.iterdir()) if folder.exists() else []  # Snakemake makes empty folders
    if held and not path.is_file():
        text = f"{folder}: it holds {held[0].name}, which no unfinished work left there"
        raise ResiduumError(f"{text}. Name a new folder, or an empty one")
    if held and path.read_text() != mark:
        log(f"{folder}: stale parts (data, spec, model or code changed): restarting")
        shutil.rmtree(folder)
    files.write_text(path, mark)


class Saving(NamedTuple):
    """Where a training saves its state, and the seconds between two savings."""

    folder: Path
    seconds: float = SAVE_S


class TrainingState:
    """The state of a training in one file, which is replaced whole at each saving."""

    def __init__(self, saving: Saving, fingerprint: str) -> None:
        self.path, self.fingerprint = saving.folder / "state.pt", fingerprint
        self._seconds, self._last = saving.seconds, time.monotonic()

    @property
    def due(self) -> bool:
        """Whether `seconds` have passed since the start or the last saving."""
        return time.monotonic() - self._last >= self._seconds

    def save(self, model: Module, optimiser: Optimizer, rows: list[dict[str, float]]) -> None:
        """Save model, optimiser and log; `rows` has one row per finished step."""
        import torch

        state = {
            "fingerprint": self.fingerprint,
            "model": model.state_dict(),
            "optimizer": optimiser.state_dict(),
            "log": rows,
        }
        with files.whole(self.path) as temporary:
            torch.save(state, temporary)
        self._last = time.monotonic()

    def drop(self) -> None:
        """Delete the state, and its folder if nothing else is in it."""
        self.path.unlink(missing_ok=True)
        files.drop_unfinished(self.path.parent)
        with suppress(OSError):
            self.path.parent.rmdir()

    def restore(self, model: Module, optimiser: Optimizer) -> list[dict[str, float]]:
        """Load the saved state into model and optimiser; return its log, or [] if none fits."""
        import torch

        files.drop_unfinished(self.path.parent)
        if not self.path.exists():
            return []
        try:
            state = torch.load(self.path, map_location="cpu", weights_only=True)
        except Exception as error:  # damaged bytes can raise any error in an unpickler
            log(f"{self.path}: cannot be read, restarting ({error})")
            return []
        if state.get("fingerprint") != self.fingerprint:
            log(f"{self.path}: stale checkpoint (data, spec, seed or code changed): restarting")
            return []
        model.load_state_dict(state["model"])
        optimiser.load_state_dict(state["optimizer"])
        log(f"{self.path}: resuming after step {len(state['log'])}")
        return list(state["log"])


class Snapshots:
    """`number` models of a training of `steps`, spread evenly; the last is the finished model.

    Each is kept before the state is saved, so that a resumed training finds all earlier ones.
    """

    def __init__(self, work: Path, steps: int, number: int | None) -> None:
        if number and number > steps:
            fault = f"training.snapshots: {number}, but the training has {steps} steps"
            raise ResiduumError(f"{fault}. Give at most as many as steps.")
        self._work = work / SNAPSHOTS
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
            target = folder / SNAPSHOTS / str(number)
            target.parent.mkdir(exist_ok=True)
            shutil.move(self._work / str(number), target)

    def drop(self) -> None:
        """Delete the kept snapshots."""
        shutil.rmtree(self._work, ignore_errors=True)
