"""config/systems/*.yaml: how a run is made."""

from itertools import product
from typing import Annotated, ClassVar, Generic, Literal, TypeVar

from pydantic import Field, PositiveFloat

from residuum.code.tables import Kinds
from residuum.config.schema import base
from residuum.config.schema.analyses import Analysis, IndexForm
from residuum.config.schema.base import Id, K, Name, Positive, Probability, Ref, Role, Strict
from residuum.config.schema.scales import HubReranker, TrainedReranker
from residuum.config.schema.search import Search

Label = Annotated[str, Field(description="for readers; no part of any spec")]
UNSCORED = ("rerank", "candidates")  # kinds whose scores are no part of a sum
Part = Annotated[Id, Ref("part")]
Weights = Annotated[Id, Ref("model", kinds=("term-weights", "released-weights"))]
Unretrieved = Literal["true_score", "minimum"]
Value = TypeVar("Value")
Grid = TypeVar("Grid")


class Bm25(Strict):
    """Parameters of Lucene's BM25."""

    k1: float = Field(ge=0)
    b: Probability


class Rm3(Strict):
    """Parameters of Anserini's RM3."""

    feedback_docs: Positive
    feedback_terms: Positive
    original_query_weight: Probability


class Rm3Grid(Strict):
    """The values of each RM3 parameter that are tried, all with all."""

    feedback_docs: list[Positive] = Field(min_length=1)
    feedback_terms: list[Positive] = Field(min_length=1)
    original_query_weight: list[Probability] = Field(min_length=1)

    def settings(self) -> list[Rm3]:
        """Return every setting, docs varying slowest and the weight fastest."""
        grid = dict(self)
        return [Rm3(**dict(zip(grid, values, strict=True))) for values in product(*grid.values())]


class Setting(Strict, Generic[Value, Grid]):
    """A parameter that is fixed by a value or else tuned, by all the keys of `tuned_by`."""

    tuned_by: ClassVar[tuple[str, ...]] = ("grid", "tune_on", "measure")

    value: Value | None = Field(None, description="fixed, in place of all that tunes it")
    grid: Grid | None = Field(None, description="what is tried; the first of equals is chosen")

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
    seed: int | None = Field(None, description="of the split of the queries into folds")
    measures: dict[base.TrainRole, base.JudgedMeasure] = Field(
        {}, description="reported on splits; of own: on the own tuning split"
    )


class LexicalSystem(Strict):
    """A Lucene run: BM25 over a text, over term weights, or summed over boosted fields."""

    kind: Literal["lexical"]
    label: Label = ""
    analysis: Analysis
    boosts: dict[Id, PositiveFloat] = Field({}, description="field: factor of its BM25 score")
    joined: list[Id] = Field([], description="fields searched as one text; empty: the docs' text")
    term_weights: Weights | None = Field(
        None, description="model whose predicted weights take the place of tf"
    )
    bm25: Bm25
    rm3: Rm3Setting | None = None  # expands by the query's first hits: docs have no fixed score
    k: K = Field(description="hits requested")
    budgets: base.Budgets = Field(default=[])

    def index(self) -> IndexForm:
        """Return the form of the index that the system searches."""
        return IndexForm(analysis=self.analysis, fields=sorted(self.boosts), joined=self.joined)

    @property
    def tunes_rm3(self) -> bool:
        """Say whether RM3's parameters are chosen on the split that is searched."""
        return self.rm3 is not None and self.rm3.value is None

    def check(self) -> None:
        if self.boosts and (self.rm3 or self.term_weights):
            raise ValueError("boosts go with plain BM25: without rm3 and term_weights")
        if self.joined and (self.boosts or self.term_weights):
            raise ValueError("joined: one text, without boosts and term_weights")
        if self.index().vocabulary and (self.boosts or self.term_weights or self.rm3):
            text = "without boosts, term_weights and rm3, whose terms are words"
            raise ValueError(f"analysis.wordpieces: {text}")


class DenseSystem(Strict):
    """An inner-product search over a model's embeddings, exact or not."""

    kind: Literal["dense"]
    label: Label = ""
    model: Annotated[Id, Ref("model", kinds=("dual-encoder", "lexical-vectors"))]
    k: K
    search: Annotated[Search, Kinds("residuum.vectors.approximate:SEARCHES")] | None = Field(
        None, description="that finds candidates; absent: all are compared"
    )
    budgets: base.Budgets = Field(default=[])

    @property
    def hits_id(self) -> str:
        """What tells its hits from others of the model, in a path: the depth and the search."""
        return f"{self.k}-{self.search.named}" if self.search else str(self.k)


LambdaGrid = Annotated[list[float], Field(min_length=1)] | Literal["exact"]


class Interpolation(Setting[float, LambdaGrid]):
    """The weight of one part of a fusion: a value, or a grid and the queries it is chosen on.

    A grid `exact` is all weights from 0 on at which a list changes: of measures that the rank of
    the first relevant doc decides, RR and hits.
    """

    weighted: Part = Field(description="part whose scores are weighted; CLEAR Eq. 8: the lexical")
    tune_on: base.TuningRole | None = Field(None, description="role of the tuning split")
    measure: base.Measure | None = None
    others: dict[Part, float] = Field({}, description="part: its fixed weight, if it is not 1")


class FusionSystem(Strict):
    """A weighted sum of the scores of several systems over the union of their lists."""

    kind: Literal["fusion"]
    label: Label = ""
    parts: list[Annotated[Id, Ref("system", but=UNSCORED), Name("part")]] = Field(
        min_length=2, description="systems, in the order of the sum"
    )
    interpolation: Interpolation
    unretrieved: Unretrieved | dict[Part, Unretrieved] = Field(
        description="score of a doc that only another part retrieved: of all parts, or of each"
    )
    k: K = Field(description="hits that are kept")

    def rule(self, part: str) -> Unretrieved:
        """Return what a part gives to a doc that it did not retrieve."""
        return self.unretrieved[part] if isinstance(self.unretrieved, dict) else self.unretrieved

    def true_scores(self) -> list[tuple[str, str]]:
        """Return each part that gives true scores, with each other one whose docs it scores."""
        scoring = [part for part in self.parts if self.rule(part) == "true_score"]
        return [(part, other) for part in scoring for other in self.parts if other != part]

    def check(self) -> None:
        if self.interpolation.weighted in self.interpolation.others:
            raise ValueError("others: the weighted part has its weight from value or grid")
        if isinstance(self.unretrieved, dict) and {*self.parts} - {*self.unretrieved}:
            raise ValueError("unretrieved: name every part, or write one word for all")


Deep = Positive | Literal["largest"]


class Depth(Setting[Deep, Annotated[list[Positive], Field(min_length=1)]]):
    """How deep a first stage is reranked: a value, or a grid and the queries it is chosen on.

    `largest` is that of the grid, so that a scale's grid decides it too.
    """

    tune_on: base.TuningRole | None = Field(None, description="role of the tuning split")
    measure: base.JudgedMeasure | None = None

    def check(self) -> None:
        if self.value != "largest":
            super().check()
        elif self.grid is None or self.tune_on or self.measure:
            raise ValueError("value largest goes with a grid, without tune_on and measure")

    def fixed(self) -> int | None:
        """Return the depth that is not tuned, or None."""
        return max(self.grid or []) if self.value == "largest" else self.value

    def tried(self, drawn: bool = False) -> list[int]:
        """Return the depths that are looked at, the least first: all, where a figure is drawn."""
        fixed = self.fixed()
        return sorted(set(self.grid)) if self.grid and (drawn or fixed is None) else [fixed or 0]


class RerankSystem(Strict):
    """A first stage whose top docs a cross-encoder puts into a new order; the rest follows."""

    kind: Literal["rerank"]
    label: Label = ""
    first_stage: Annotated[Id, Ref("system", but=("rerank", "external"))]  # gives the candidates
    reranker: Annotated[Id, Ref("reranker")] | HubReranker | TrainedReranker  # a role, or itself
    depth: Depth
    budgets: base.Budgets = Field(default=[])


class ExternalSystem(Strict):
    """External runs: TREC run files, validated and evaluated like ours."""

    kind: Literal["external"]
    label: Label = ""
    source: str = Field(description="who made it and where to get it; shown if it is absent")
    runs: dict[Role, str] = Field(min_length=1, description="role: file below RESIDUUM_DATA")
    md5: dict[Role, Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]] = Field(
        {}, description="role: published MD5 of its file, unpacked; another file is refused"
    )
    others: bool = Field(False, description="files list other queries too, which are left out")

    def check(self) -> None:
        if others := sorted(self.md5.keys() - self.runs.keys()):
            raise ValueError(f"md5: no run is given for {', '.join(others)}")


class CandidatesPart(Strict):
    """The first docs of a system."""

    system: Annotated[Id, Ref("system", kinds=("lexical", "external")), Name("part")]
    top: K


class CandidatesSystem(Strict):
    """Docs that other systems only put into order: the first of some systems, and random ones."""

    kind: Literal["candidates"]
    label: Label = ""
    parts: list[CandidatesPart] = Field(min_length=1, description="in the order of their docs")
    random: int = Field(0, ge=0, description="docs of the corpus that are none of these")
    seed: int = Field(1, ge=0, description="of the random docs")
    budgets: base.Budgets = Field(default=[])

    @property
    def most(self) -> int:
        """The docs of a query, if no doc is in two lists."""
        return sum(part.top for part in self.parts) + self.random


class ReciprocalRankSystem(Strict):
    """The lists of several systems fused by rank alone: Cormack et al., SIGIR 2009."""

    kind: Literal["rrf"]
    label: Label = ""
    parts: list[Annotated[Id, Ref("system", but=UNSCORED), Name("part")]] = Field(
        min_length=2, description="systems, whose lists count alike"
    )
    rank_constant: Positive = Field(description="k of the paper, 60 there")
    k: K = Field(description="hits that are kept")


System = Annotated[
    LexicalSystem
    | DenseSystem
    | FusionSystem
    | RerankSystem
    | ExternalSystem
    | ReciprocalRankSystem
    | CandidatesSystem,
    Field(discriminator="kind"),
]
