"""The pre-flight: how the start ranks the first examples of a training, before any step.

Usage: `facts = preflight(learner)`, for the model's manifest. If active triplets have a mean gap s+
- s- of 0 or less, a hinge loss is least where all scores are equal. Training then converges there:
with all scores times a, L(a) = E[(m - a D)+] is convex in a and L'(0+) = -E[D; m > 0].
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from residuum.neural.batches import B
from residuum.neural.devices import AdaptiveBatchSize
from residuum.neural.learners import Learner, Outputs
from residuum.neural.resumable import log

if TYPE_CHECKING:
    from torch import Tensor

MOST, LEAST = 1000, 100  # examples; whole batches may give a few more
SHARE = 10  # reads a tenth of all visits, at least LEAST if available and at most MOST
ERRORS = 2  # standard errors by which a gap must lie below 0
FAR = 100  # times the loss of equal scores: such a start first has to forget its scores
ROWS = 8  # rows computed at once
DIGITS = 6
Facts = dict[str, float]


def preflight(learner: Learner[B]) -> Facts:
    """Return facts about the start on the first examples; warn of a hinge loss that will collapse.

    Warn, too, if the loss is FAR times that of equal scores or more: `times_equal_scores` then says
    how many times.

    Means are over `examples` triplets of a query, its positive and a sampled negative, as the
    training draws them. Without negatives they are over visits. They are `loss`,
    `loss_of_equal_scores` (for term weights: loss of the mean target), `gap` s+ - s-, its `gap_sd`,
    and `margin`. `gap_where_active` is the gap where the margin is above 0;
    `gap_where_active_at_most` is two standard errors higher. Shares are `negatives_above` their
    positive and `positives_best` of their candidates. Dropout is off.
    """
    values = _values(learner)
    if not values:
        return {}
    facts = _facts(values)
    times = facts["loss"] / (facts["loss_of_equal_scores"] or facts["loss"] or 1)
    if times >= FAR:
        facts["times_equal_scores"] = round(times, DIGITS)
        log(
            f"warning: the start's loss is {facts['loss']:.4g}, {times:.0f} times that of equal "
            f"scores, {facts['loss_of_equal_scores']:.4g}: its scores differ far too much, and "
            "the first steps only shrink them. Lower score_scale of the model"
        )
    if facts.get("gap_where_active_at_most", 1) <= 0:
        log(
            "warning: the start ranks these negatives above their positives, so that a hinge loss "
            "is least where all scores are equal, and training will go there: over "
            f"{facts['examples']} triplets the mean gap s+ - s- is {facts['gap']:.3g}, and "
            f"{facts['gap_where_active']:.3g} where the margin is above 0, which must be above 0 "
            f"(two standard errors higher it is {facts['gap_where_active_at_most']:.3g}); "
            f"{facts['negatives_above']:.0%} of the negatives are above their positive; the loss "
            f"is {facts['loss']:.3g}, that of equal scores {facts['loss_of_equal_scores']:.3g}. "
            "Raise positive_level of the training split, so that its positives are relevant, or "
            "deepen the pool of negatives (negatives.pools, top)"
        )
    return facts


def _values(learner: Learner[B]) -> dict[str, Tensor]:
    """Return each column's values over the first batches; {} if `indifferent` gives None."""
    import torch

    columns: defaultdict[str, list[Tensor]] = defaultdict(list)
    learner.model.eval()
    sizes = AdaptiveBatchSize("examples of the pre-flight", "the model's lengths")
    with torch.inference_mode():
        for batch in _batches(learner):
            rows, equal = slice(0, len(batch[0])), learner.indifferent(batch)
            if equal is None:
                return {}
            outputs = _forward(learner, sizes, batch, rows)
            seen = learner.seen(batch, outputs)
            seen["loss"] = learner.losses(batch, outputs, rows).losses
            seen["equal"] = learner.losses(batch, equal, rows).losses
            for name, values in seen.items():
                columns[name].append(values.double().cpu())
    return {name: torch.cat(parts) for name, parts in columns.items()}


def _batches(learner: Learner[B]) -> Iterator[B]:
    """Yield the first batches of the training until there are enough examples."""
    step = examples = 0
    enough = LEAST
    while examples < enough:
        batch = learner.batch(step)
        yield batch
        step += 1
        examples += learner.examples(batch)
        visits = learner.steps * examples // step or MOST * SHARE  # where no step trains
        enough = min(visits, MOST, max(LEAST, visits // SHARE))


def _forward(learner: Learner[B], sizes: AdaptiveBatchSize, batch: B, rows: slice) -> Outputs:
    import torch

    outputs: list[Outputs] = []

    def forward(some: Sequence[int], _: int) -> None:
        outputs.append(learner.forward(learner.part(batch, slice(some[0], some[-1] + 1))))

    sizes.each(range(rows.stop), ROWS, forward)
    return [torch.cat(parts) for parts in zip(*outputs, strict=True)]


def _facts(values: Mapping[str, Tensor]) -> Facts:
    gap, margin = values.get("gap"), values.get("margin")
    means = {"loss": values["loss"], "loss_of_equal_scores": values["equal"]}
    if gap is not None:
        means |= {"gap": gap, "negatives_above": (gap < 0).double()}
        if margin is not None:
            means |= {"margin": margin, "gap_where_active": gap[margin > 0]}
    if "best" in values:
        means["positives_best"] = values["best"]
    facts: Facts = {"examples": (values["loss"] if gap is None else gap).numel()}
    facts |= {n: round(float(some.mean()), DIGITS) for n, some in means.items() if len(some)}
    if gap is not None:
        facts["gap_sd"] = round(float(gap.std()), DIGITS)
    active = means.get("gap_where_active", ())
    if len(active) > 1:
        most = active.mean() + ERRORS * active.std() / len(active) ** 0.5
        facts["gap_where_active_at_most"] = round(float(most), DIGITS)
    return facts
