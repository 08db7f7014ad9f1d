"""The key `training` of config/models/*.yaml: steps, optimiser, learning rate."""

from typing import Annotated, Literal

from pydantic import Field

from residuum.config.schema import base
from residuum.config.schema.base import Id, Positive, Probability, Ref, Role, Strict
from residuum.config.specs import FixedId


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

    def trials(self, training: "Training") -> dict[str, "Training"]:
        """Return the trainings that try the rates, given the model's, by the ends of their ids."""
        short: dict[str, object] = {"epochs": self.epochs, "steps": None} if self.epochs else {}
        changes = ({"learning_rate": rate, **short} for rate in self.grid)
        return {
            f"rate-{rate:g}": training.model_copy(update=change)
            for rate, change in zip(self.grid, changes, strict=True)
        }


class StepRule(Strict):
    """A number of steps that one model's learning curve chooses for all models with this rule.

    It is the smallest number of the curve whose mean is within some standard errors of the best.
    """

    most: Positive = Field(description="steps of the curve")
    every: Positive = Field(description="steps between two points of the curve")
    of: Annotated[Id, Ref("model", use="curve")] = Field(description="model whose curve is drawn")
    role: Role = Field(description="role whose queries judge the curve, by the scale's `learning:`")
    measure: base.JudgedMeasure
    seed: int = Field(1, ge=0, description="seed of the curve's training")
    within: float = Field(2.0, ge=0, description="standard errors below the best point")

    def check(self) -> None:
        if self.most % self.every or self.most == self.every:
            raise ValueError(f"most: {self.most} must be two or more times every: {self.every}")

    def trials(self, training: "Training") -> dict[str, "Training"]:
        """Return the training of the curve, which keeps a model at each point, by its id's end."""
        points = self.most // self.every
        changes = {"steps": self.most, "epochs": None, "snapshots": points}
        return {self._end: training.model_copy(update=changes)}

    @property
    def curve(self) -> str:
        """The id of the training whose curve is drawn, as `clear@steps-2400`."""
        return str(FixedId(self.of, self._end))

    @property
    def _end(self) -> str:
        return f"steps-{self.most}"


Rule = RateGrid | StepRule


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
    steps: Positive | StepRule | None = None
    dropout: Probability | None = Field(None, description="absent: as the backbone has it")
    visits: Literal["pairs", "queries"] = Field(
        "pairs", description="queries: all as often, their positives in turn; epochs count pairs"
    )
    snapshots: Annotated[int, Field(ge=2)] | None = Field(
        None,
        description="models to keep, spread evenly over the steps; the last is the finished model",
    )

    @property
    def rules(self) -> dict[str, Rule]:
        """The rules that choose a value before a training begins, by the key of the value."""
        values = {"learning_rate": self.learning_rate, "steps": self.steps}
        return {
            key: value for key, value in values.items() if isinstance(value, RateGrid | StepRule)
        }

    @property
    def length(self) -> int | None:
        """The number of steps, once it is chosen; None with `epochs`."""
        if isinstance(self.steps, StepRule):
            raise TypeError("a number of steps is chosen before a training begins")
        return self.steps

    @property
    def rate(self) -> float:
        """The learning rate, once it is chosen."""
        if isinstance(self.learning_rate, RateGrid):
            raise TypeError("a learning rate is chosen before a training begins")
        return self.learning_rate

    def check(self) -> None:
        if (self.epochs is None) == (self.steps is None):
            raise ValueError("give exactly one of epochs and steps")
        if isinstance(self.steps, StepRule):
            self._check_rule(self.steps)
        elif self.steps and self.snapshots and self.snapshots > self.steps:
            text = f"snapshots: {self.snapshots} of a training of {self.steps} steps"
            raise ValueError(f"{text}; give at most as many")
        if self.halve_after and self.decay != "constant":
            raise ValueError("halve_after: the rate falls on a line already; leave out decay")

    def _check_rule(self, rule: StepRule) -> None:
        if isinstance(self.learning_rate, RateGrid):
            raise ValueError("steps: a rule, beside a rule for learning_rate; give one a number")
        if why := self.why_no_curve():
            raise ValueError(f"steps: {why}")
        if (self.snapshots or 0) > rule.every:
            text = f"snapshots: {self.snapshots} of {rule.every} steps, the fewest"
            raise ValueError(f"{text} that the rule can choose; give at most as many")

    def why_no_curve(self) -> str | None:
        """Return why the first steps of this training are not a training of so many steps."""
        if self.decay == "constant" and not 0 < self.warmup < 1:
            return None
        return "the rate depends on the number of steps; take decay: constant, and warmup in steps"
