"""Learners: what a kind of trained model does with a step; the table of kinds.

Usage: `learner = KINDS[spec.kind](spec, Start(...), tuples, texts)`. A new kind is a subclass of
`Learner` beside its model, and a line in KINDS. Must not know the training loop or its log.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from residuum.artefacts import contracts
from residuum.code.tables import OpenTable
from residuum.config.schema.models import Contrastive
from residuum.neural.batches import Batch, EpochSampler, draw_batch, part_of
from residuum.neural.devices import Device
from residuum.neural.losses import LOSSES, Candidates, weighted
from residuum.neural.pretrained import Source, TextModel
from residuum.neural.resumable import log
from residuum.neural.tokens import Texts, TokenStore

if TYPE_CHECKING:
    from torch import Tensor

Outputs = Sequence["Tensor"]
B = TypeVar("B", bound=NamedTuple)
LAST = 10  # a tenth of the steps, at the end, tells whether anything was learned
COLLAPSED = 0.99  # of the loss of equal scores; a collapsed model's scores still differ a little


class Start(NamedTuple):
    """What a training begins with: the source of its weights, with its dropout; device, seed."""

    source: Source
    device: Device
    seed: int


class BatchLoss(NamedTuple):
    """Losses (examples,) of some rows, and columns of the log, which gives the means of values."""

    losses: Tensor
    logged: dict[str, Tensor]


class Learner(ABC, Generic[B]):
    """A torch module in training, in place, and the examples that it learns from.

    The loss of a row is its own matter, unless the learner is `joint`: then it depends on the
    outputs of the whole batch. A batch is a named tuple of columns, lists with an item a row.
    """

    joint = False
    encoder: TextModel  # whose `model` it is, unless the learner saves it in another way

    def __init__(self, model: Any, spec: Any, start: Start, count: int) -> None:
        self.model, self.spec, self.start = model, spec, start
        how = spec.training
        self.sampler = EpochSampler(count, how.batch_size, start.seed)
        self.steps = how.steps or self.sampler.steps(how.epochs or 1)

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
        """Return what the model gives for some rows, with gradient; if joint, a row for each."""

    @abstractmethod
    def losses(self, batch: B, outputs: Outputs, rows: slice) -> BatchLoss:
        """Return the losses of some rows of a batch, given the outputs of all of it."""

    def save(self, folder: Path) -> None:
        """Write the finished checkpoint into a folder."""
        self.encoder.save(folder)

    def warn_of_collapse(self, means: Sequence[float]) -> None:
        """Report what is wrong with a finished training, given the mean loss of each step."""


KINDS: OpenTable[Callable[[Any, Start, Path, Texts], Learner[Any]]] = OpenTable(
    {
        "dual-encoder": "residuum.neural.encoders:DualLearner",
        "term-weights": "residuum.neural.termweighter:TermLearner",
        "cross-encoder": "residuum.neural.crossencoder:CrossLearner",
    },
    "kind of trained model",
)


class ContrastiveLearner(Learner[Batch]):
    """A model whose losses compare the scores of a query's docs; the texts are tokenised once."""

    remedy: str  # keys beside training.learning_rate that may help one that learns nothing

    def __init__(
        self, encoder: Any, spec: Contrastive, start: Start, tuples: Path, texts: Texts
    ) -> None:
        every = contracts.read_tuples(tuples)
        self.pairs = usable(part_of(every, spec.training.part), spec.drawn)
        super().__init__(encoder.model, spec, start, len(self.pairs))
        self.encoder, self.group = encoder, spec.drawn
        self.positives: defaultdict[str, set[str]] = defaultdict(set)
        for pair in every:
            self.positives[pair.query_id].add(pair.positive)
        self.objectives = [LOSSES[one.kind].model_validate(one) for one in spec.objectives]
        queries = {pair.query_id for pair in self.pairs}
        docs = {doc for pair in self.pairs for doc in (pair.positive, *pair.negatives)}
        self.queries = TokenStore(texts, "query", queries, encoder.tokenise)
        self.docs = TokenStore(texts, "doc", docs, encoder.tokenise)

    def batch(self, step: int) -> Batch:
        return draw_batch(self.pairs, self.group, self.sampler.visits(step))

    @abstractmethod
    def candidates(self, batch: Batch, outputs: Outputs, rows: slice) -> Candidates:
        """Return what the losses of some rows of a batch see."""

    @abstractmethod
    def indifferent(self, batch: Batch) -> Outputs:
        """Return the outputs of a model whose scores are all equal."""

    def losses(self, batch: Batch, outputs: Outputs, rows: slice) -> BatchLoss:
        """Return the weighted sum of the losses of some rows."""
        seen = self.candidates(batch, outputs, rows)
        total, parts = weighted(self.objectives, seen)
        logged = dict(zip(("positive", "negative"), self.logged(seen, rows), strict=True))
        return BatchLoss(total, logged | (parts if len(parts) > 1 else {}))

    def logged(self, seen: Candidates, rows: slice) -> tuple[Tensor, Tensor]:
        """Return the scores of the positives and of the negatives."""
        return seen.scores[:, 0], seen.scores[:, 1:]

    def warn_of_collapse(self, means: Sequence[float]) -> None:
        # The loss should end below where it is when all scores are equal.
        if any("vectors" in one.needs for one in self.objectives):
            return
        steps = range(len(means) - max(1, len(means) // LAST), len(means))
        loss = sum(means[step] for step in steps) / len(steps)
        equal = 0.0
        for batch in map(self.batch, steps):
            rows = slice(0, self.examples(batch))
            losses = self.losses(batch, self.indifferent(batch), rows).losses
            equal += float(losses.mean()) / len(steps)
        if loss > COLLAPSED * equal:
            log(
                f"warning: the model learned nothing: the loss of its last {len(steps)} steps is "
                f"{loss:.4g}, and equal scores would give {equal:.4g}. Change "
                f"training.learning_rate or {self.remedy}, or start from another model"
            )


def usable(part: list[contracts.Tuple], group: int) -> list[contracts.Tuple]:
    """Return the pairs that a group can be drawn for; log how many cannot, or hold too few docs."""
    if not group:
        return [pair._replace(negatives=[], negative_scores=[]) for pair in part]
    kept = [pair for pair in part if pair.negatives]
    if len(kept) < len(part):
        log(f"{len(part) - len(kept)} of {len(part)} training pairs have no negative: left out")
    if small := sum(len(pair.negatives) < group for pair in kept):
        log(
            f"{small} of {len(part)} training pairs have fewer than {group} negatives: "
            "some are taken twice"
        )
    return kept


def of_own(own: Tensor, batch: Batch) -> Candidates:
    """Return what losses see where a query's candidates are its positive and its own negatives."""
    import torch

    lexical = own.new_tensor(batch.lexical)
    positive = torch.zeros(len(own), dtype=torch.int64, device=own.device)
    return Candidates(own, lexical, own, positive, torch.zeros_like(own, dtype=torch.bool))
