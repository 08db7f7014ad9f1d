"""The keys of models that learn from pairs: their roles, negatives and training.

`train_on: {bioasq-train: 0.8, bioasq-synthetic: 0.2}` is a mix: every batch has these shares of
pairs of each role.
"""

from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import AfterValidator, Discriminator, Field, Tag

from residuum.config.schema import base
from residuum.config.schema.base import OWN, Role, Strict
from residuum.config.schema.negatives import Negatives
from residuum.config.schema.training import RateGrid, Training

ROUNDING = 1e-9  # rounding error of the sum of shares in decimals
NO_EPOCHS = "an epoch of several roles is not one number"


def _whole(train_on: str | dict[str, float]) -> str | dict[str, float]:
    """Check that shares add up to 1, and return them. A mix of one role becomes the role."""
    if isinstance(train_on, str):
        return train_on
    if OWN in train_on:
        raise ValueError(f"{OWN} stands alone: name the roles of a mix")
    if abs((total := sum(train_on.values())) - 1) > ROUNDING:
        raise ValueError(f"shares add up to {total:.10g}; change them so that they add up to 1")
    return train_on if len(train_on) > 1 else next(iter(train_on))


Share = Annotated[
    float,
    Field(gt=0, strict=True, description="share of each batch's pairs; all shares add up to 1"),
]
TrainOn = Annotated[
    Annotated[base.TrainRole, Tag("role")]
    | Annotated[dict[Role, Share], Field(min_length=1), Tag("shares")],
    Discriminator(lambda given: "shares" if isinstance(given, dict) else "role"),
    AfterValidator(_whole),
]


def in_batch(shares: Mapping[str, float], batch_size: int) -> dict[str, int]:
    """Return the number of pairs of each role in a batch; 0 for a share that is too small.

    The shares of the batch are rounded down. The pairs that are left go, one each, to the roles
    with the largest fractions, or with the larger share if fractions are equal.
    """
    exact = {role: round(share * batch_size, 9) for role, share in shares.items()}
    counts = {role: int(number) for role, number in exact.items()}
    order = sorted(shares, key=lambda role: (counts[role] - exact[role], -shares[role]))
    for role in order[: batch_size - sum(counts.values())]:
        counts[role] += 1
    return counts


class Pairs(Strict):
    """The keys of a model that learns from pairs: its roles, its negatives, its training."""

    train_on: TrainOn = Field(
        description="own: the split that a collection names for it; several: each role's share"
    )
    negatives: Negatives = Field(default_factory=lambda: Negatives())
    training: Training
    trained: bool = Field(True, description="false: its start as it is, no step taken: a control")
    seeds: base.Seeds | None = Field(None, description="seeds of trainings; absent: the scale's")
    mixable: ClassVar[bool] = False  # whether it takes the docs of a batch as negatives

    @property
    def shares(self) -> dict[str, float]:
        """The share of each role in a batch, sorted by size from the largest, then by name."""
        if isinstance(self.train_on, str):
            return {self.train_on: 1.0}
        return dict(sorted(self.train_on.items(), key=lambda item: (-item[1], item[0])))

    @property
    def mixed(self) -> bool:
        """Say whether the pairs are of several roles."""
        return len(self.shares) > 1

    @property
    def in_batch(self) -> dict[str, int]:
        """The number of pairs of each role in a batch."""
        return in_batch(self.shares, self.training.batch_size)

    def check(self) -> None:
        if not self.mixed:
            return
        if not self.mixable:
            raise ValueError("train_on: a mix is for dual encoders; name one role alone")
        how, rate = self.training, self.training.learning_rate
        for role, number in self.in_batch.items():
            if not number:
                text = f"no pair of {role}, whose share is {self.shares[role]:g}"
                raise ValueError(f"train_on: a batch of {how.batch_size} has {text}; raise either")
        if how.steps is None or (isinstance(rate, RateGrid) and rate.epochs):
            raise ValueError(f"training: {NO_EPOCHS}; give steps, and a grid no epochs")
        if how.halve_after:
            raise ValueError(f"training.halve_after: {NO_EPOCHS}; leave it out")
        if how.visits != "pairs":
            raise ValueError(
                f"training.visits: visits by {how.visits} need a single role in train_on"
            )
        if self.negatives.sampled:
            text = "the negatives of a mix are the other docs of the batch"
            raise ValueError(f"negatives: {text}; leave out pools, triples and same_as")
