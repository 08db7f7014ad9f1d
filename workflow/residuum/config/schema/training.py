"""The key `training` of config/models/*.yaml: steps, optimiser, learning rate."""

from typing import Annotated, Literal

from pydantic import Field

from residuum.config.schema import base
from residuum.config.schema.base import Id, Positive, Probability, Ref, Role, Strict


class RateGrid(Strict):
    """A learning rate that trainings of one model choose for all models with this grid."""

    grid: list[Annotated[float, Field(gt=0)]] = Field(
        min_length=1, description="rates to try, rising; of equals, the smallest is chosen"
    )
    of: Annotated[Id, Ref("model", use="rate")] = Field(description="model that is trained at each")
    role: Role = Field(description="role whose queries choose the rate, by the scale's `learning:`")
    measure: base.JudgedMeasure
    seed: int = Field(1, ge=0, description="seed of these trainings")
    epochs: float | None = Field(None, gt=0, description="epochs of each; absent: the model's")

    def check(self) -> None:
        if self.grid != sorted({*self.grid}):
            raise ValueError("grid: write each rate once, the smallest first")


class Training(Strict):
    """The length and the optimiser of a training. Give one of epochs and steps."""

    optimizer: Literal["adam", "bert-adam"] = Field(
        "adam", description="bert-adam: BERT's own, without bias correction and with epsilon 1e-6"
    )
    learning_rate: Annotated[float, Field(gt=0)] | RateGrid
    warmup: float = Field(
        0.0, ge=0, description="steps in which the rate rises from 0; below 1: a share of all steps"
    )
    decay: Literal["constant", "linear", "bert"] = Field(
        "constant",
        description="how the rate falls to 0: linear from the end of the warm-up; bert from the "
        "first step, so that the rate drops at the end of the warm-up",
    )
    halve_after: Positive | None = Field(
        None, description="epochs at the full rate, which then halves with every epoch that begins"
    )
    weight_decay: float = Field(
        0.0, ge=0, description="decoupled; biases and layer norms have none"
    )
    clip_norm: float | None = Field(None, gt=0, description="largest norm of all gradients")
    batch_size: Positive
    epochs: float | None = Field(None, gt=0)
    steps: Positive | None = None
    dropout: Probability | None = Field(None, description="absent: as the backbone has it")
    visits: Literal["pairs", "queries"] = Field(
        "pairs", description="queries: all as often, their positives in turn; epochs count pairs"
    )
    snapshots: Annotated[int, Field(ge=2)] | None = Field(
        None,
        description="models to keep, spread evenly over the steps; the last is the finished model",
    )

    def tried(self, rate: float) -> "Training":
        """Return the training that tries a rate of the grid, for the grid's epochs."""
        changes: dict[str, object] = {"learning_rate": rate}
        if isinstance(self.learning_rate, RateGrid) and self.learning_rate.epochs:
            changes |= {"epochs": self.learning_rate.epochs, "steps": None}
        return self.model_copy(update=changes)

    @property
    def rate(self) -> float:
        """The learning rate, once it is chosen."""
        if isinstance(self.learning_rate, RateGrid):
            raise TypeError("a learning rate is chosen before a training begins")
        return self.learning_rate

    def check(self) -> None:
        if (self.epochs is None) == (self.steps is None):
            raise ValueError("give exactly one of epochs and steps")
        if self.steps and self.snapshots and self.snapshots > self.steps:
            text = f"snapshots: {self.snapshots} of a training of {self.steps} steps"
            raise ValueError(f"{text}; give at most as many")
        if self.halve_after and self.decay != "constant":
            raise ValueError("halve_after: the rate falls on a line already; leave out decay")
