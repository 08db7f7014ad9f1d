"""How models learn that compare the scores of a query's docs, whatever gives the scores.

Usage: a subclass gives `forward` and `candidates`. Must not know the training loop.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from residuum.config.schema.models import Contrastive
from residuum.neural import losses
from residuum.neural.batches import Batch
from residuum.neural.learners.base import BatchLoss, Learner, Outputs
from residuum.neural.learners.training_data import Examples, steps_of

if TYPE_CHECKING:
    from torch import Tensor

LAST = 10  # a tenth of the steps, at the end, tells whether anything was learned
COLLAPSED = 0.99  # of the loss of equal scores; a collapsed model's scores still differ a little


class ContrastiveLearner(Learner[Batch]):
    """A model in training, watched by its scores of positives and negatives."""

    remedy: str  # keys beside training.learning_rate that may help one that learns nothing

    def __init__(self, encoder: Any, spec: Contrastive, examples: Examples) -> None:
        self.encoder, self.model, self.stream = encoder, encoder.model, examples
        self.objectives = [losses.LOSSES[one.kind].model_validate(one) for one in spec.objectives]
        self.pairs, self.group = len(examples.batches.pairs), examples.batches.group
        self.steps = steps_of(spec.training, examples.batches.sampler)

    def save(self, folder: Path) -> None:
        """Write the checkpoint."""
        self.encoder.save(folder)

    def batch(self, step: int) -> Batch:
        """Return the pairs of a step and their negatives."""
        return self.stream.batches.batch(step)

    @abstractmethod
    def candidates(self, batch: Batch, outputs: Outputs, rows: slice) -> losses.Candidates:
        """Return what the losses of some rows of a batch see."""

    @abstractmethod
    def indifferent(self, batch: Batch) -> Outputs:
        """Return the outputs of a model whose scores are all equal."""

    def losses(self, batch: Batch, outputs: Outputs, rows: slice) -> BatchLoss:
        """Return the weighted sum of the losses of some rows."""
        seen = self.candidates(batch, outputs, rows)
        total, parts = losses.weighted(self.objectives, seen)
        watched = dict(zip(("positive", "negative"), self.watched(seen, rows), strict=True))
        return BatchLoss(total, watched | (parts if len(parts) > 1 else {}))

    def watched(self, seen: losses.Candidates, rows: slice) -> tuple[Tensor, Tensor]:
        """Return the scores of the positives and of the negatives."""
        return seen.scores[:, 0], seen.scores[:, 1:]

    def convergence_warning(self, means: Sequence[float]) -> str | None:
        """Warn if the loss ended where it is when all scores are equal."""
        if any("vectors" in one.needs for one in self.objectives):
            return None
        steps = range(len(means) - max(1, len(means) // LAST), len(means))
        loss = sum(means[step] for step in steps) / len(steps)
        equal = sum(map(self._loss_of_equal_scores, steps)) / len(steps)
        if loss <= COLLAPSED * equal:
            return None
        return (
            f"the model learned nothing: the loss of its last {len(steps)} steps is {loss:.4g}, "
            f"and equal scores would give {equal:.4g}. Change training.learning_rate or "
            f"{self.remedy}, or start from another model"
        )

    def _loss_of_equal_scores(self, step: int) -> float:
        batch = self.batch(step)
        rows = slice(0, self.examples(batch))
        return float(self.losses(batch, self.indifferent(batch), rows).losses.mean())


def of_own(own: Tensor, batch: Batch) -> losses.Candidates:
    """Return what losses see where a query's candidates are its positive and its own negatives."""
    import torch

    lexical = own.new_tensor(batch.lexical)
    positive = torch.zeros(len(own), dtype=torch.int64, device=own.device)
    return losses.Candidates(own, lexical, own, positive, torch.zeros_like(own, dtype=torch.bool))
