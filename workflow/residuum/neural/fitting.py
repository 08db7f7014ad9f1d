"""The training loop: from the last saved step to the end, with a log of every step.

Usage: `log, room = fitting.fit(learner, form.training, seed, saved)`, then
`fitting.write(output, ...)`. A learner says what the losses of a part of a step's batch are; the
parts' gradients add up to those of the whole, whatever process or pass computed them.
Must not know what is trained or from what.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from residuum.core import files, manifest
from residuum.core.errors import ResiduumError
from residuum.core.progress import track
from residuum.core.schema.models import Training
from residuum.core.seeds import derive
from residuum.neural import processes
from residuum.neural.learners.base import Learner, Part
from residuum.neural.resume import Saved, say
from residuum.neural.room import Room

Log = list[dict[str, float]]


def fit(learner: Learner, how: Training, seed: int, saved: Saved) -> tuple[Log, Room]:
    """Train in place from the last saved step to the end; return the log, a row per step.

    The room says how many examples of a batch the GPU's memory held at once.
    """
    rows = processes.share(how.batch_size)
    optimizer = _optimizer(learner.model, how)
    log = saved.restore(learner.model, optimizer)
    learner.model.train()
    room = Room("training examples", "the model's lengths")
    todo = range(len(log), learner.steps)
    for step in track(todo, "train", total=len(todo), unit="steps"):
        means = _gradients(learner, room, rows, seed, step)
        optimizer.step()
        log.append(_row(means, how, step))
        if (step + 1) % how.checkpoint_every == 0 and step + 1 < learner.steps:
            _keep(saved, learner, optimizer, log)
    remark = getattr(learner, "remark", None)
    if remark is not None and (warning := remark([row["loss"] for row in log])):
        say(f"warning: {warning}")
    room.limit = min(filter(None, processes.told_by_all(room.limit)), default=None)
    return log, room


def _keep(saved: Saved, learner: Learner, optimizer: Any, log: Log) -> None:
    if processes.first():
        saved.keep(learner.model, optimizer, log)


def _optimizer(model: Any, how: Training) -> Any:
    import torch

    return torch.optim.Adam(model.parameters(), lr=how.learning_rate)


def _gradients(learner: Learner, room: Room, rows: slice, seed: int, step: int) -> dict[str, float]:
    """Set the gradients of the whole batch's mean loss; return the log's means over it.

    A step whose examples do not fit begins anew with halves.
    """
    while True:
        size = room.size(rows.stop - rows.start)
        sums: dict[str, list[Any]] = {}
        if room.fits(lambda size=size, sums=sums: _backward(learner, rows, size, seed, step, sums)):
            break
        if learner.indivisible:
            raise ResiduumError(_too_large(size))
        room.halve(size)
    processes.add_up_gradients(learner.model.parameters())
    return _means(sums)


def _backward(
    learner: Learner, rows: slice, size: int, seed: int, step: int, sums: dict[str, list[Any]]
) -> None:
    """Add up the gradients and the log's sums of this process's rows, `size` rows at once.

    All random numbers follow from the seed, the step, and the process where there are several.
    """
    import torch

    rank = [str(processes.rank())] if processes.rank() else []
    torch.manual_seed(derive(seed, "dropout", str(step), *rank))
    learner.model.zero_grad()
    for first in range(rows.start, rows.stop, size):
        part = learner.losses(step, slice(first, min(first + size, rows.stop)))
        (part.losses.sum() / part.whole).backward()
        for name, values in _columns(part).items():
            sums.setdefault(name, []).append((values.sum(), values.numel()))


def _columns(part: Part) -> dict[str, Any]:
    losses = part.losses.detach()
    watched = {name: values.detach() for name, values in part.watched.items()}
    return {"loss": losses, "active": (losses > 0).float(), **watched}


def _means(sums: Mapping[str, Sequence[Any]]) -> dict[str, float]:
    """Return each column's mean over all parts of all processes."""
    import torch

    totals = torch.stack([sum(value for value, _ in parts) for parts in sums.values()])
    counts = [float(sum(number for _, number in parts)) for parts in sums.values()]
    both = processes.add_up(torch.stack([totals, totals.new_tensor(counts)]))
    return dict(zip(sums, (both[0] / both[1]).tolist(), strict=True))


def _row(means: dict[str, float], how: Training, step: int) -> dict[str, float]:
    """Return the log's row of a step."""
    loss, active, *watched = means
    return {
        "step": step + 1,
        "loss": _finite(means[loss], step),
        "active": means[active],
        "learning_rate": how.learning_rate,
        "pairs": (step + 1) * how.batch_size,
        **{name: means[name] for name in watched},
    }


def _finite(value: float, step: int) -> float:
    if not math.isfinite(value):
        raise ResiduumError(
            f"the loss became {value} at step {step + 1}. Lower training.learning_rate, or "
            "encoder.score_scale if scores overflow; nothing was written to the output"
        )
    return value


def _too_large(size: int) -> str:
    return (
        f"{size} training examples do not fit into the GPU's memory at once, and in-batch "
        "negatives need the whole batch. Lower training.batch_size (which changes the "
        "negatives) or the encoder's lengths, or train on more GPUs (`gpus`): each holds a share"
    )


def local(start: str) -> list[Path]:
    """Return the start as an input whose bytes count, if it is a folder."""
    return [Path(start)] if Path(start).is_dir() else []


def write(
    output: Path,
    learner: Learner,
    trained: tuple[Log, Room],
    setting: Mapping[str, Any],
    inputs: Sequence[Path],
    module: str,
) -> None:
    """Write the finished checkpoint, its log and its manifest into a folder, whole."""
    log, room = trained
    facts = {"pairs": learner.pairs, "steps": learner.steps, "loss": log[-1]["loss"]}
    with files.whole_directory(output) as folder:
        learner.save(folder)
        files.write_text(folder / "training.tsv", table(log))
        manifest.write(
            folder / "manifest.json",
            artefact={**facts, **room.facts()},
            spec=setting,
            inputs=inputs,
            module=module,
        )


def table(log: Log) -> str:
    """Write the log as tab-separated values under a line of column names."""
    rows = ["\t".join(f"{value:.9g}" for value in row.values()) for row in log]
    return "\n".join(["\t".join(log[0]), *rows]) + "\n"
