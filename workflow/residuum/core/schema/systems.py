"""config/systems/*.yaml: how a run is made."""

from typing import Annotated, Literal

from pydantic import Field

from residuum.core.schema.base import Id, Positive, Probability, Strict


class Analysis(Strict):
    """How Lucene turns text into terms; together they name the index."""

    language: Literal["en"] = "en"
    stemmer: Literal["porter", "krovetz", "none"]
    stopwords: Literal["lucene", "none"]

    def index_id(self) -> str:
        """Return the id of the index that this analysis makes, such as en-porter-lucene."""
        return f"{self.language}-{self.stemmer}-{self.stopwords}"


class Bm25(Strict):
    """Parameters of Lucene's BM25."""

    k1: float = Field(ge=0)
    b: Probability


class Rm3(Strict):
    """Parameters of Anserini's RM3."""

    feedback_docs: Positive
    feedback_terms: Positive
    original_query_weight: Probability


class LexicalSystem(Strict):
    """A Lucene run."""

    kind: Literal["lexical"]
    label: str = Field("", description="for readers; no part of any spec")
    analysis: Analysis
    bm25: Bm25
    rm3: Rm3 | None = None
    k: Positive = Field(description="hits asked for")


class DenseSystem(Strict):
    """An exact inner-product search over a model's embeddings."""

    kind: Literal["dense"]
    label: str = Field("", description="for readers; no part of any spec")
    model: Id
    k: Positive


class Missing(Strict):
    """What a doc that is in only one of the two lists scores in the other."""

    lexical: Literal["true_score", "minimum"]
    dense: Literal["true_score", "minimum"]


class Interpolation(Strict):
    """lambda_test of CLEAR Eq. 8: the grid and the queries on which it is chosen."""

    grid: list[float] = Field(min_length=1)
    tune_on: Id = Field(description="role of the tuning split")
    measure: str


class FusionSystem(Strict):
    """lambda_test * lexical + dense over the union of both lists (CLEAR Eq. 8)."""

    kind: Literal["fusion"]
    label: str = Field("", description="for readers; no part of any spec")
    lexical: Id
    dense: Id
    missing: Missing
    weight: Interpolation
    k: Positive


System = Annotated[LexicalSystem | DenseSystem | FusionSystem, Field(discriminator="kind")]
