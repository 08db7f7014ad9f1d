"""The training loop: from the last saved step to the end, with a log of every step.

Usage: `fitting.run(learner, spec, start, threads, inputs, Folders(work, output), stage)`.
Must not know what is trained, from what, or how gradients are found.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from residuum.artefacts import files, manifest
from residuum.cli.errors import ResiduumError
from residuum.cli.progress import track
from residuum.config.schema.models import MaskedLanguage, Trained, Training
from residuum.neural import gradients, optimisers, processes
from residuum.neural.adaptive import AdaptiveBatchSize
from residuum.neural.learners.base import Learner, Start
from residuum.neural.resume import TrainingState, fingerprint, log

Rows = list[dict[str, float]]


class Folders(NamedTuple):
    """Where the resumable checkpoint lies while the training runs, and the finished one after."""

    work: Path
    output: Path


def run(
    learner: Learner[Any],
    spec: Trained | MaskedLanguage,
    start: Start,
    threads: int,
    inputs: Sequence[Path],
    folders: Folders,
    stage: str,
) -> None:
    """Train from where an earlier run of the same work ended; write checkpoint, log, manifest.

    The bytes of a start that is a folder count as those of an input.
    """
    config = {
        "model": spec.model_dump(mode="json"),
        "start": start.name,
        "revision": learner.revision or start.revision,
        "seed": start.seed,
        "threads": threads,
        "processes": processes.count(),
        "device": start.device.name,
        "precision": start.device.precision,
    }
    inputs = [*inputs, *([Path(start.name)] if Path(start.name).is_dir() else [])]
    state = TrainingState(folders.work, fingerprint(stage, config, inputs))
    trained = fit(learner, spec.training, start.seed, state)
    if processes.first():
        write(folders.output, learner, trained, config, inputs, stage)
        shutil.rmtree(folders.work, ignore_errors=True)


def fit(
    learner: Learner[Any], how: Training, seed: int, state: TrainingState
) -> tuple[Rows, AdaptiveBatchSize]:
    """Train in place from the last saved step to the end; return the log, a row per step.

    The batch size says how many examples of a batch the GPU's memory held at once.
    """
    share = processes.share(how.batch_size)
    optimiser = optimisers.make(learner.model, how)
    rows = state.restore(learner.model, optimiser)
    learner.model.train()
    sizes = AdaptiveBatchSize("training examples", "the model's lengths")
    todo = range(len(rows), learner.steps)
    for step in track(todo, "train", total=len(todo), unit="steps"):
        means = gradients.of_step(learner, sizes, share, seed, step)
        rate = optimisers.step(optimiser, how, step, learner.steps)
        rows.append(_row(means, rate, how.batch_size, step))
        done = step + 1
        if done % how.checkpoint_every == 0 and done < learner.steps and processes.first():
            state.save(learner.model, optimiser, rows)
    if warning := learner.convergence_warning([row["loss"] for row in rows]):
        log(f"warning: {warning}")
    sizes.limit = min(filter(None, processes.told_by_all(sizes.limit)), default=None)
    return rows, sizes


def _row(means: dict[str, float], rate: float, batch_size: int, step: int) -> dict[str, float]:
    """Return the log's row of a step."""
    loss, active, *logged = means
    return {
        "step": step + 1,
        "loss": _finite(means[loss], step),
        "active": means[active],
        "learning_rate": rate,
        "pairs": (step + 1) * batch_size,
        **{name: means[name] for name in logged},
    }


def _finite(value: float, step: int) -> float:
    if not math.isfinite(value):
        raise ResiduumError(
            f"the loss became {value} at step {step + 1}. Lower training.learning_rate, or "
            "encoder.score_scale if scores overflow; nothing was written to the output"
        )
    return value


def write(
    output: Path,
    learner: Learner[Any],
    trained: tuple[Rows, AdaptiveBatchSize],
    config: Mapping[str, Any],
    inputs: Sequence[Path],
    stage: str,
) -> None:
    """Write the finished checkpoint, its log and its manifest into a folder, whole."""
    rows, sizes = trained
    facts = {"pairs": learner.pairs, "steps": learner.steps, "loss": rows[-1]["loss"]}
    with files.whole_directory(output) as folder:
        learner.save(folder)
        files.write_text(folder / "training.tsv", table(rows))
        manifest.write(folder, {**facts, **sizes.facts()}, config, inputs, stage)


def table(rows: Rows) -> str:
    """Write the log as tab-separated values under a line of column names."""
    lines = ["\t".join(f"{value:.9g}" for value in row.values()) for row in rows]
    return "\n".join(["\t".join(rows[0]), *lines]) + "\n"
