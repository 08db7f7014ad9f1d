"""The gradients of a step: of as many examples at once as memory holds, in every process.

Usage: `means = of_step(learner, sizes, rows, seed, step)`. Where the loss of an example depends on
the whole batch and the batch does not fit, the model's outputs are computed in parts without a
graph, the loss over all of them gives the gradient of each output, and the parts are computed
again with that gradient (cached gradients: Gao et al. 2021, "Scaling Deep Contrastive Learning
Batch Size under Memory Limited Setup"). Must not know kinds of models, optimisers or files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from residuum.config.specs import derive
from residuum.neural import processes
from residuum.neural.adaptive import AdaptiveBatchSize
from residuum.neural.learners.base import Learner, Outputs

if TYPE_CHECKING:
    from torch import Tensor

Sums = dict[str, list[tuple["Tensor", int]]]


def of_step(
    learner: Learner[Any], sizes: AdaptiveBatchSize, rows: slice, seed: int, step: int
) -> dict[str, float]:
    """Set the gradients of the whole batch's mean loss; return the log's means over it.

    `rows` are this process's. A step whose examples do not fit begins anew with halves.
    """
    work = _Step(learner, sizes, rows, seed, step)
    attempt = work.jointly if learner.joint else work.separately
    while not attempt():
        pass
    processes.add_up_gradients(learner.model.parameters())
    return _means(work.sums)


class _Step:
    """One step of one process; `sums` holds each column's sums and counts for the log."""

    def __init__(
        self, learner: Learner[Any], sizes: AdaptiveBatchSize, rows: slice, seed: int, step: int
    ) -> None:
        self.learner, self.sizes, self.rows, self.seed, self.step = learner, sizes, rows, seed, step
        self.batch = learner.batch(step)
        self.examples = learner.examples(self.batch)
        self.sums: Sums = {}

    def _begin(self) -> tuple[int, list[slice]]:
        """Forget what an earlier attempt left; return how many rows go at once, and the parts."""
        self.learner.model.zero_grad()
        self.sums = {}
        size = self.sizes.size(self.rows.stop - self.rows.start)
        firsts = range(self.rows.start, self.rows.stop, size)
        return size, [slice(first, min(first + size, self.rows.stop)) for first in firsts]

    def separately(self) -> bool:
        """Take the parts one by one, each with its losses; say whether they fitted."""
        size, parts = self._begin()

        def work() -> None:
            for rows in parts:
                part = self.learner.part(self.batch, rows)
                self._backward(part, self._forward(rows), slice(0, rows.stop - rows.start))

        return self.sizes.fits(size, work)

    def jointly(self) -> bool:
        """Take the parts' outputs together, of all processes; say whether all fitted.

        What may not fit stands between messages of the processes, so that all begin anew together.
        """
        import torch

        size, parts = self._begin()
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
        for own in zip(*outputs, strict=True):
            every = processes.gather(torch.cat(own).detach(), self.rows, self.examples)
            gathered.append(every.requires_grad_())
        if not self._all_fit(size, compare):
            return False
        gradients += [processes.add_up(_gradient(every)) for every in gathered]
        return self._all_fit(size, go_back)

    def _all_fit(self, size: int, work: Callable[[], None]) -> bool:
        return all(processes.told_by_all(self.sizes.fits(size, work)))

    def _forward(self, rows: slice) -> Outputs:
        """Return the outputs of some rows; random numbers follow from the seed, step and row."""
        import torch

        first = [str(rows.start)] if rows.start else []
        torch.manual_seed(derive(self.seed, "dropout", str(self.step), *first))
        return self.learner.forward(self.learner.part(self.batch, rows))

    def _backward(self, batch: Any, outputs: Sequence[Tensor], rows: slice) -> None:
        """Send the gradient of the rows' losses back to the outputs, and note the log's sums."""
        found = self.learner.losses(batch, outputs, rows)
        (found.losses.sum() / self.examples).backward()
        losses = found.losses.detach()
        columns = {"loss": losses, "active": (losses > 0).float(), **found.logged}
        for name, values in columns.items():
            self.sums.setdefault(name, []).append((values.detach().sum(), values.numel()))


def _gradient(output: Tensor) -> Tensor:
    """Return the gradient of an output; zeros if no loss looks at it."""
    import torch

    return torch.zeros_like(output) if output.grad is None else output.grad


def _means(sums: Mapping[str, Sequence[tuple[Tensor, int]]]) -> dict[str, float]:
    """Return each column's mean over all parts of all processes."""
    import torch

    totals = torch.stack([sum(value for value, _ in parts) for parts in sums.values()])  # type: ignore[misc]
    counts = [float(sum(number for _, number in parts)) for parts in sums.values()]
    both = processes.add_up(torch.stack([totals, totals.new_tensor(counts)]))
    return dict(zip(sums, (both[0] / both[1]).tolist(), strict=True))
