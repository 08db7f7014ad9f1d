"""The training loop: from the last saved step to the end; the gradients of a step.

Usage: `fitting.run(learner, threads, inputs, saving, output, stage)`. A step takes as many examples
at once as memory holds, in every process. Where the loss of an example depends on the whole batch
and the batch does not fit, gradients are cached. First the model's outputs are computed in parts
without a graph. The loss over all outputs gives the gradient of each output. Then the parts are
computed again and receive their outputs' gradients (Gao et al. 2021, "Scaling Deep Contrastive
Learning Batch Size under Memory Limited Setup").
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Generic, NamedTuple

import numpy as np

from residuum.artefacts import files, manifest
from residuum.cli.errors import ResiduumError
from residuum.cli.progress import track
from residuum.config.specs import derive
from residuum.neural import devices, pretrained, processes
from residuum.neural.batches import B
from residuum.neural.devices import AdaptiveBatchSize, reseed
from residuum.neural.learners import Learner, Outputs
from residuum.neural.optimisers import make_optimiser, take_step
from residuum.neural.preflight import preflight
from residuum.neural.resumable import Saving, Snapshots, TrainingState, fingerprint

if TYPE_CHECKING:
    from torch import Tensor

STEPS_UNREAD = 50  # a GPU keeps their means: reading them waits for all its work


def run(
    learner: Learner[B],
    threads: int,
    inputs: list[Path],
    saving: Saving,
    output: Path,
    stage: str,
    **more: object,
) -> None:
    """Train from where an earlier run of the same work ended; write checkpoint, log, manifest.

    The folder of `saving` holds the resumable checkpoint during training. A start that is a folder
    counts as an input. `more` are facts for the manifest.
    """
    spec, start = learner.spec, learner.start
    name = start.source.name
    config = {
        "model": spec.model_dump(mode="json"),
        "start": name,
        "revision": pretrained.commit(learner.model) or start.source.revision,
        "seed": start.seed,
        "threads": threads,
        "processes": processes.count(),
        "device": start.device.name,
        "precision": start.device.precision,
        "arithmetic": start.device.arithmetic,
    }
    config |= {"held_out": start.held_out.name} if start.held_out else {}
    inputs = [*inputs, Path(name)] if Path(name).is_dir() else inputs
    state = TrainingState(saving, fingerprint(stage, config, inputs))
    kept = Snapshots(saving.folder, learner.steps, spec.training.snapshots)
    seen = {} if processes.rank() else preflight(learner)
    rows, sizes = fit(learner, state, kept)
    if processes.rank():
        return
    facts: dict[str, object] = {**learner.sampler.facts(), "steps": learner.steps, **more}
    facts |= {"loss": rows[-1]["loss"]} if rows else {}
    facts |= {"preflight": seen} if seen else {}
    facts |= {"snapshots": kept.steps} if kept.steps else {}
    lines = ["\t".join(f"{value:.9g}" for value in row.values()) for row in rows]
    with files.whole_directory(output) as folder:
        learner.save(folder)
        kept.move_into(folder)
        files.write_text(
            folder / "training.tsv",
            "\n".join(["\t".join(rows[0]) if rows else "step", *lines]) + "\n",
        )
        manifest.write(folder, facts | sizes.facts(), config, inputs, stage)
    kept.drop()
    state.drop()


def fit(
    learner: Learner[B], state: TrainingState, kept: Snapshots
) -> tuple[list[dict[str, float]], AdaptiveBatchSize]:
    """Train in place from the last saved step; return the log by step, and the batch sizes."""
    how = learner.spec.training
    share = processes.share(how.batch_size)
    optimiser = make_optimiser(learner.model, how)
    log = Log(state.restore(learner.model, optimiser), learner.start.device.name)
    learner.model.train()
    sizes = AdaptiveBatchSize("training examples", "the model's lengths")
    left = range(len(log.rows), learner.steps)
    for step in track(left, "train", total=len(left), unit="steps"):
        means = set_gradients(learner, sizes, share, step)
        rate = take_step(optimiser, how, learner.moment(step))
        log.add(means, rate, (step + 1) * how.batch_size)
        if processes.rank():
            continue
        if kept.due(step + 1):
            log.read()
            kept.take(step + 1, learner.save)
        if state.due and left[-1] != step:
            state.save(learner.model, optimiser, log.read())
    sizes.limit = min(filter(None, processes.values_of_all(sizes.limit)), default=None)
    return log.read(), sizes


class Means(NamedTuple):
    """A step's means for the log: their names, and their values (names,) on the device."""

    names: tuple[str, ...]
    values: Tensor

    def read(self) -> dict[str, float]:
        """Return the means by name; on a GPU, wait for all launched work."""
        return dict(zip(self.names, self.values.tolist(), strict=True))


class Log:
    """The log of a training, a row for each step.

    The means of many steps are read from a GPU at once.
    """

    def __init__(self, rows: list[dict[str, float]], device: str) -> None:
        self.rows, self._waiting = rows, list[tuple[Means, float, int]]()
        self._most = 1 if device == "cpu" else STEPS_UNREAD

    def add(self, means: Means, rate: float, pairs: int) -> None:
        """Add a step's means, its learning rate, and the pairs visited so far."""
        self._waiting.append((means, rate, pairs))
        if len(self._waiting) >= self._most:
            self.read()

    def read(self) -> list[dict[str, float]]:
        """Return the rows of all steps; raises ResiduumError if a loss is not finite."""
        for waiting, rate, pairs in self._waiting:
            step, means = len(self.rows) + 1, waiting.read()
            if not math.isfinite(means["loss"]):
                raise ResiduumError(
                    f"the loss became {means['loss']} at step {step}. Lower training.learning_rate "
                    "or, if scores overflow, encoder.score_scale; nothing was written to the output"
                )
            row = {"step": step, "loss": means["loss"], "active": means["active"]}
            self.rows.append({**row, "learning_rate": rate, "pairs": pairs, **means})
        self._waiting.clear()
        return self.rows


def set_gradients(learner: Learner[B], sizes: AdaptiveBatchSize, rows: slice, step: int) -> Means:
    """Set the gradients of a batch's mean loss from this process's rows; return the log's means.

    If memory ends, the step begins anew with halves.
    """
    import torch

    work = _Step(learner, sizes, rows, step)
    while not work.fitted():
        pass
    processes.add_up_gradients(learner.model.parameters())
    sums = [sum((value for value, _ in rest), first) for (first, _), *rest in work.sums.values()]
    totals = torch.stack(sums)
    counts = [sum(number for _, number in parts) for parts in work.sums.values()]
    numbers = devices.put(np.array(counts, dtype=np.float32), totals.device.type)
    both = processes.add_up(torch.stack([totals, numbers]))
    return Means((*work.sums,), both[0] / both[1])


class _Step(Generic[B]):
    """One step of one process; `sums` holds each column's sums and counts for the log."""

    def __init__(
        self, learner: Learner[B], sizes: AdaptiveBatchSize, rows: slice, step: int
    ) -> None:
        self.learner, self.sizes, self.rows, self.step = learner, sizes, rows, step
        self.batch = learner.batch(step)
        self.examples = learner.examples(self.batch)
        self.sums: dict[str, list[tuple[Tensor, int]]] = {}

    def fitted(self) -> bool:
        """Compute all rows in parts of the largest size that fitted; say whether they fitted."""
        self.learner.model.zero_grad()
        self.sums = {}  # an earlier attempt may have left sums
        size = self.sizes.size(self.rows.stop - self.rows.start)
        firsts = range(self.rows.start, self.rows.stop, size)
        parts = [slice(first, min(first + size, self.rows.stop)) for first in firsts]
        if self.learner.joint:
            return self._jointly(size, parts)
        return self.sizes.fits(size, lambda: self._separately(parts))

    def _separately(self, parts: Sequence[slice]) -> None:
        for rows in parts:
            part = self.learner.part(self.batch, rows)
            self._backward(part, self._forward(rows), slice(0, rows.stop - rows.start))

    def _jointly(self, size: int, parts: Sequence[slice]) -> bool:
        """Compute losses over all processes' outputs; all begin anew if a part does not fit."""
        import torch

        graph = len(parts) == 1
        outputs: list[Outputs] = []
        gathered: list[Tensor] = []
        gradients: list[Tensor] = []

        def compute() -> None:
            with torch.set_grad_enabled(graph):
                outputs.extend(map(self._forward, parts))

        def compare() -> None:
            self._backward(self.batch, gathered, self.rows)

        def go_back() -> None:
            for rows in parts:
                again = outputs[0] if graph else self._forward(rows)
                torch.autograd.backward(again, [every[rows] for every in gradients])

        if not self._all_fit(size, compute):
            return False
        for parts_of_output in zip(*outputs, strict=True):
            rows = torch.cat(parts_of_output).detach()
            every = processes.rows_of_all(rows, self.rows, self.examples)
            gathered.append(every.requires_grad_())
        if not self._all_fit(size, compare):
            return False
        for every in gathered:  # an output that no loss reads has no gradient
            gradient = torch.zeros_like(every) if every.grad is None else every.grad
            gradients.append(processes.add_up(gradient))
        return self._all_fit(size, go_back)

    def _all_fit(self, size: int, work: Callable[[], None]) -> bool:
        return all(processes.values_of_all(self.sizes.fits(size, work)))

    def _forward(self, rows: slice) -> Outputs:
        """Return the outputs of `rows`; seed, step and first row determine the random numbers."""
        first = [str(rows.start)] if rows.start else []
        seed = derive(self.learner.start.seed, "dropout", str(self.step), *first)
        reseed(seed, self.learner.start.device.name)
        return self.learner.forward(self.learner.part(self.batch, rows))

    def _backward(self, batch: B, outputs: Sequence[Tensor], rows: slice) -> None:
        """Propagate the gradient of the rows' losses to the outputs, and note the log's sums."""
        made = self.learner.losses(batch, outputs, rows)
        (made.losses.sum() / self.examples).backward()
        losses = made.losses.detach()
        columns = {"loss": losses, "active": (losses > 0).float(), **made.logged}
        for name, values in columns.items():
            self.sums.setdefault(name, []).append((values.detach().sum(), values.numel()))
