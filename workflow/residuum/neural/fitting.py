"""The training loop: from the last saved step to the end, with a log of every step.

Usage: `log = fitting.fit(learner, form.training, seed, saved)`, then `fitting.write(output, ...)`.
A learner says what a step's losses are. Must not know what is trained or from what.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from residuum.core import files, manifest, schema
from residuum.core.errors import ResiduumError
from residuum.core.progress import track
from residuum.core.seeds import derive
from residuum.neural.learners.base import Learner
from residuum.neural.resume import Saved, say

if TYPE_CHECKING:
    from torch import Tensor

Log = list[dict[str, float]]


def fit(learner: Learner, how: schema.Training, seed: int, saved: Saved) -> Log:
    """Train in place from the last saved step to the end; return the log, a row per step."""
    optimizer = _optimizer(learner.model, how)
    log = saved.restore(learner.model, optimizer)
    learner.model.train()
    todo = range(len(log), learner.steps)
    for step in track(todo, "train", total=len(todo), unit="steps"):
        log.append(_step(learner, optimizer, how, seed, step))
        if (step + 1) % how.checkpoint_every == 0 and step + 1 < learner.steps:
            saved.keep(learner.model, optimizer, log)
    remark = getattr(learner, "remark", None)
    if remark is not None and (warning := remark([row["loss"] for row in log])):
        say(f"warning: {warning}")
    return log


def _optimizer(model: Any, how: schema.Training) -> Any:
    import torch

    return torch.optim.Adam(model.parameters(), lr=how.learning_rate)


def _step(
    learner: Learner, optimizer: Any, how: schema.Training, seed: int, step: int
) -> dict[str, float]:
    """Take one step; all its random numbers follow from the seed and its number."""
    import torch

    torch.manual_seed(derive(seed, "dropout", str(step)))
    losses = learner.losses(step)
    loss = losses.mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    watched = getattr(learner, "watched", dict)
    return {
        "step": step + 1,
        "loss": _finite(loss, step),
        "active": (losses > 0).float().mean().item(),
        "learning_rate": how.learning_rate,
        "pairs": (step + 1) * how.batch_size,
        **watched(),
    }


def _finite(loss: Tensor, step: int) -> float:
    value = float(loss.item())
    if not math.isfinite(value):
        raise ResiduumError(
            f"the loss became {value} at step {step + 1}. Lower training.learning_rate, or "
            "encoder.score_scale if scores overflow; nothing was written to the output"
        )
    return value


def local(start: str) -> list[Path]:
    """Return the start as an input whose bytes count, if it is a folder."""
    return [Path(start)] if Path(start).is_dir() else []


def write(
    output: Path,
    learner: Learner,
    log: Log,
    setting: Mapping[str, Any],
    inputs: Sequence[Path],
    module: str,
) -> None:
    """Write the finished checkpoint, its log and its manifest into a folder, whole."""
    with files.whole_directory(output) as folder:
        learner.save(folder)
        files.write_text(folder / "training.tsv", table(log))
        manifest.write(
            folder / "manifest.json",
            artefact={"pairs": learner.pairs, "steps": learner.steps, "loss": log[-1]["loss"]},
            spec=setting,
            inputs=inputs,
            module=module,
        )


def table(log: Log) -> str:
    """Write the log as tab-separated values under a line of column names."""
    rows = ["\t".join(f"{value:.9g}" for value in row.values()) for row in log]
    return "\n".join(["\t".join(log[0]), *rows]) + "\n"
