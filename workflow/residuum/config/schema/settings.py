"""Settings that a system fixes or tunes: RM3's parameters, a part's weight, a rerank depth."""

from itertools import product
from typing import Annotated, ClassVar, Generic, Literal, TypeVar

from pydantic import Field

from residuum.config.schema import base
from residuum.config.schema.base import Id, Positive, Probability, Ref, Strict

Part = Annotated[Id, Ref("part")]
Value = TypeVar("Value")
Grid = TypeVar("Grid")


class Rm3(Strict):
    """Parameters of Anserini's RM3."""

    feedback_docs: Positive
    feedback_terms: Positive
    original_query_weight: Probability


class Rm3Grid(Strict):
    """The values of each RM3 parameter to try, in all combinations."""

    feedback_docs: list[Positive] = Field(min_length=1)
    feedback_terms: list[Positive] = Field(min_length=1)
    original_query_weight: list[Probability] = Field(min_length=1)

    def settings(self) -> list[Rm3]:
        """Return all settings. Docs vary slowest, the original query's weight fastest."""
        grid = dict(self)
        return [Rm3(**dict(zip(grid, values, strict=True))) for values in product(*grid.values())]


class Setting(Strict, Generic[Value, Grid]):
    """A parameter that is fixed by `value`, or else tuned by all the keys in `tuned_by`."""

    tuned_by: ClassVar[tuple[str, ...]] = ("grid", "measure")

    value: Value | None = Field(None, description="a fixed value; leave out the keys that tune it")
    grid: Grid | None = Field(None, description="values to try; of equals, the first is chosen")

    def check(self) -> None:
        given = [getattr(self, key) not in (None, {}) for key in self.tuned_by]
        complete = all(given) if self.value is None else not any(given)
        if not complete:
            *first, last = self.tuned_by
            raise ValueError(f"give value, or {', '.join(first)} and {last}")


class Rm3Setting(Setting[Rm3, Rm3Grid]):
    """RM3's parameters: fixed, or chosen for each fold of the queries on the other folds."""

    tuned_by: ClassVar[tuple[str, ...]] = ("grid", "folds", "seed", "measures")

    folds: int | None = Field(None, ge=2)
    seed: int | None = Field(None, description="seed by which queries are divided into folds")
    measures: dict[base.TrainRole, base.JudgedMeasure] = Field(
        {}, description="reported on splits; of own: on the own tuning split"
    )


class OnQueries(Strict):
    """The queries that a value is chosen on: a tuning split, or folds of the searched split.

    With `folds` and `seed` each fold of the searched queries gets the value that is best on the
    others. A split's own folds go before drawn ones.
    """

    tune_on: base.TuningRole | None = Field(None, description="role of the tuning split")
    folds: int | None = Field(
        None,
        ge=2,
        exclude_if=lambda folds: folds is None,
        description="folds of the searched split's queries, drawn by seed",
    )
    seed: int | None = Field(None, exclude_if=lambda seed: seed is None)

    @property
    def drawn(self) -> tuple[int, int] | None:
        """Return the number of drawn folds and their seed, or None."""
        return None if self.folds is None or self.seed is None else (self.folds, self.seed)

    def refuse_unless(self, chosen: bool) -> None:
        """Raise ValueError unless just one key says on which queries to choose, or none does."""
        halves = (self.folds is None) != (self.seed is None)
        if halves or (self.tune_on is not None) + (self.drawn is not None) != chosen:
            raise ValueError(
                "give value, or grid, measure and tune_on; to choose on other folds of the "
                "searched split, give folds and seed in place of tune_on"
            )


LambdaGrid = Annotated[list[float], Field(min_length=1)] | Literal["exact"]


class Interpolation(Setting[float, LambdaGrid], OnQueries):
    """The weight of one part of a fusion: a value, or a grid and the queries it is chosen on.

    These are a tuning split, or with `folds` and `seed` the searched queries: each fold gets the
    weight that is best on the others. A split's own folds go before drawn ones. The grid `exact` is
    all weights from 0 up at which a list changes. It needs a measure that the rank of the first
    relevant doc decides: RR@k, Success@k or AnswerAccuracy@k.
    """

    weighted: Part = Field(
        description="part whose scores are weighted; CLEAR Eq. 8: the lexical part"
    )
    measure: base.Measure | None = None
    others: dict[Part, float] = Field({}, description="part: its fixed weight, if it is not 1")

    def check(self) -> None:
        super().check()
        self.refuse_unless(chosen=self.value is None)
        if self.weighted in self.others:
            raise ValueError("others: the weighted part has its weight from value or grid")


class TunedParameter(OnQueries):
    """A parameter of a function of one's own that is chosen from a grid on queries."""

    parameter: str = Field(description="keyword argument of the function")
    grid: list[int | float] = Field(
        min_length=1, description="values to try; of equals, the first is chosen"
    )
    measure: base.JudgedMeasure

    def check(self) -> None:
        self.refuse_unless(chosen=True)


Deep = Positive | Literal["largest"]


class Depth(Setting[Deep, Annotated[list[Positive], Field(min_length=1)]], OnQueries):
    """How deep a first stage is reranked: a value, or a grid and the queries it is chosen on.

    These are a tuning split, or with `folds` and `seed` the searched queries: each fold gets the
    depth that is best on the others. The value `largest` is the largest depth of the grid, which a
    scale's budget may change.
    """

    measure: base.JudgedMeasure | None = None

    def check(self) -> None:
        if self.value != "largest":
            super().check()
            self.refuse_unless(chosen=self.value is None)
        elif self.grid is None or self.measure or {self.tune_on, self.folds, self.seed} != {None}:
            raise ValueError("value largest goes with a grid, without tune_on, folds and measure")

    def fixed(self) -> int | None:
        """Return the depth if it is not tuned, or None."""
        return max(self.grid or []) if self.value == "largest" else self.value

    def tried(self, drawn: bool = False) -> list[int]:
        """Return the depths to try in rising order. A figure (`drawn`) shows the whole grid."""
        fixed = self.fixed()
        return sorted(set(self.grid)) if self.grid and (drawn or fixed is None) else [fixed or 0]
