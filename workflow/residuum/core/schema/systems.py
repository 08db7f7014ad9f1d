"""config/systems/*.yaml: how a run is made."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from residuum.core.schema.base import (
    Budget,
    Id,
    Positive,
    Probability,
    Ref,
    Role,
    Strict,
    TunedMeasure,
    TuningRole,
)
from residuum.core.schema.scales import HubReranker, RerankerModel

RerankerRole = Annotated[Id, Ref("reranker")]
Depths = Annotated[list[Positive], Field(min_length=1)]


class Analysis(Strict):
    """How Lucene turns text into terms; part of what names the index."""

    language: Literal["en"] = "en"
    stemmer: Literal["porter", "krovetz", "none"]
    stopwords: Literal["lucene", "none"]

    def index_id(self) -> str:
        """Return the id of the analysis, such as en-porter-lucene."""
        return f"{self.language}-{self.stemmer}-{self.stopwords}"


class IndexForm(Strict):
    """What decides a Lucene index of a corpus: the analysis, and fields that are kept apart."""

    analysis: Analysis
    fields: list[Id] = Field(default=[], description="empty: the whole text as one field")

    def index_id(self) -> str:
        """Return the id of the index, such as en-porter-lucene or en-porter-lucene.body.title."""
        return ".".join([self.analysis.index_id(), *sorted(self.fields)])


class Bm25(Strict):
    """Parameters of Lucene's BM25."""

    k1: float = Field(ge=0)
    b: Probability


class Rm3(Strict):
    """Parameters of Anserini's RM3."""

    feedback_docs: Positive
    feedback_terms: Positive
    original_query_weight: Probability


class Rm3Sweep(Strict):
    """RM3 parameters chosen for each fold of the queries on the other folds."""

    feedback_docs: list[Positive] = Field(min_length=1)
    feedback_terms: list[Positive] = Field(min_length=1)
    original_query_weight: list[Probability] = Field(min_length=1)
    folds: int = Field(2, ge=2)
    seed: int = Field(1, description="of the split of the queries into folds")
    measures: dict[Role, TunedMeasure] = Field(
        min_length=1, description="role of a split: the measure that is reported on it"
    )

    def grid(self) -> list[Rm3]:
        """Return every setting, docs varying slowest and the weight fastest."""
        return [
            Rm3(feedback_docs=docs, feedback_terms=terms, original_query_weight=weight)
            for docs in self.feedback_docs
            for terms in self.feedback_terms
            for weight in self.original_query_weight
        ]


class LexicalSystem(Strict):
    """A Lucene run: BM25 over the text, over named fields, or over predicted term weights."""

    kind: Literal["lexical"]
    label: str = Field("", description="for readers; no part of any spec")
    analysis: Analysis
    fields: dict[Id, Annotated[float, Field(gt=0)]] = Field(
        default={},
        description="field: weight; the score is the weighted sum of the fields' own BM25 scores",
    )
    weights: Annotated[Id, Ref("model", kinds=("term-weights",))] | None = Field(
        None, description="model of kind term-weights whose weights take the place of tf"
    )
    bm25: Bm25
    rm3: Rm3 | None = None
    rm3_sweep: Rm3Sweep | None = None
    k: Positive = Field(description="hits asked for")
    budgets: list[Budget] = Field(default=[], description="scale budgets laid over this file")

    def index(self) -> IndexForm:
        """Return the form of the index that the system searches."""
        return IndexForm(analysis=self.analysis, fields=sorted(self.fields))

    @property
    def expands(self) -> bool:
        """Say whether the query depends on its own first hits, so that docs have no fixed score."""
        return self.rm3 is not None or self.rm3_sweep is not None

    @model_validator(mode="after")
    def parts_fit(self) -> "LexicalSystem":
        """RM3 is fixed or swept, and neither expands a query over several fields."""
        if self.rm3 and self.rm3_sweep:
            raise ValueError("give rm3 or rm3_sweep, not both")
        if self.fields and (self.expands or self.weights):
            raise ValueError("fields go with plain BM25: without rm3, rm3_sweep and weights")
        return self


class DenseSystem(Strict):
    """An exact inner-product search over a model's embeddings."""

    kind: Literal["dense"]
    label: str = Field("", description="for readers; no part of any spec")
    model: Annotated[Id, Ref("model", kinds=("dual-encoder",))]
    k: Positive


class Missing(Strict):
    """What a doc that is in only one of the two lists scores in the other."""

    lexical: Literal["true_score", "minimum"]
    dense: Literal["true_score", "minimum"]


class Interpolation(Strict):
    """lambda_test of CLEAR Eq. 8: a fixed value, or a grid and the queries it is chosen on."""

    value: float | None = None
    grid: list[float] = Field(default=[])
    tune_on: TuningRole | None = Field(None, description="role of the tuning split")
    measure: TunedMeasure | None = None

    @model_validator(mode="after")
    def fixed_or_tuned(self) -> "Interpolation":
        """A value, or all of grid, tune_on and measure."""
        tuned = [bool(self.grid), self.tune_on is not None, self.measure is not None]
        if (self.value is None) != all(tuned) or (self.value is not None and any(tuned)):
            raise ValueError("give value, or grid with tune_on and measure")
        return self


class FusionSystem(Strict):
    """lambda_test * lexical + dense over the union of both lists (CLEAR Eq. 8)."""

    kind: Literal["fusion"]
    label: str = Field("", description="for readers; no part of any spec")
    lexical: Annotated[Id, Ref("system", kinds=("lexical",))]
    dense: Annotated[Id, Ref("system", kinds=("dense",))]
    missing: Missing
    weight: Interpolation
    k: Positive


class Depth(Strict):
    """How deep a first stage is reranked: the grid and the queries on which it is chosen."""

    grid: Depths
    tune_on: TuningRole = Field(description="role of the tuning split")
    measure: TunedMeasure


class RerankSystem(Strict):
    """A first stage whose top docs a cross-encoder puts into a new order; the rest follows."""

    kind: Literal["rerank"]
    label: str = Field("", description="for readers; no part of any spec")
    first_stage: Annotated[Id, Ref("system", but=("rerank", "external"))] = Field(
        description="system that gives the candidates"
    )
    reranker: RerankerRole | HubReranker | RerankerModel = Field(
        description="reranker role that the scale casts, or the reranker itself"
    )
    depth: Depth
    budgets: list[Budget] = Field(default=[], description="scale budgets laid over this file")


class ExternalSystem(Strict):
    """External runs: TREC run files, validated and evaluated like ours."""

    kind: Literal["external"]
    label: str = Field("", description="for readers; no part of any spec")
    source: str = Field(description="who made it and where to get it; shown where it is absent")
    runs: dict[Role, str] = Field(
        min_length=1, description="role of a split: file below the folder of RESIDUUM_DATA"
    )


System = Annotated[
    LexicalSystem | DenseSystem | FusionSystem | RerankSystem | ExternalSystem,
    Field(discriminator="kind"),
]
