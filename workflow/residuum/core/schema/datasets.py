"""config/datasets/*.yaml: a collection, its splits and its pinned counts."""

from typing import Any, Literal

from pydantic import Field, model_validator

from residuum.core.schema.base import Id, Positive, Probability, Strict


class GeneratedSource(Strict):
    """A collection made by residuum.collections.generated; see docs/generated-collection.md."""

    kind: Literal["generated"]
    seed: int
    entities: Positive
    passages: Positive = Field(description="attribute passages")
    listings: int = Field(ge=0, description="listing pages, lexical distractors")
    stubs: int = Field(ge=0, description="question stubs, lexical distractors")
    train_pairs: Positive
    train_share: Probability = Field(description="share of passages that train pairs come from")
    tune: Positive
    dev: Positive
    judged: Positive
    shift: Probability = Field(description="probability that a concept changes its surface form")


class IrdsSource(Strict):
    """A collection read through ir_datasets."""

    kind: Literal["irds"]
    docs: str = Field(description="ir_datasets id whose docs are exported")
    text_fields: list[str] = Field(min_length=1, description="joined in this order by a space")


class FilesSource(Strict):
    """A collection of your own: jsonl (doc_id, text or named fields) or TSV (doc_id TAB text).

    Paths are relative to the folder that the environment variable RESIDUUM_DATA names
    (default: data/ in the working directory).
    """

    kind: Literal["files"]
    corpus: str
    text_fields: list[str] = Field(default=["text"], min_length=1)


class Holdout(Strict):
    """A split drawn from another one, whose queries it removes there."""

    of: Id
    queries: Positive
    seed: int


class Split(Strict):
    """Queries with their judgements. Which keys are needed depends on the source's kind."""

    irds: str | None = Field(None, description="ir_datasets id of queries and qrels")
    queries: str | None = Field(None, description="TSV file, query_id TAB text")
    query_field: str = Field("text", description="field of an ir_datasets query")
    qrels: str | None = Field(None, description="TREC qrels file")
    holdout: Holdout | None = None
    positive_level: Positive = Field(1, description="least relevance of a train positive")
    measures: list[str] = Field(
        default=[], description="ir_measures names, beside those the tables ask for"
    )


class SplitCount(Strict):
    """Pinned size of one split."""

    queries: Positive
    qrels: Positive


class Edition(Strict):
    """Pinned counts of one known edition of a collection."""

    name: str
    docs: Positive
    splits: dict[Id, SplitCount] = Field(default={})


class Collection(Strict):
    """What the data stage needs of a dataset: where it comes from, its splits, its pins."""

    access: str = Field(description="shown when the collection is not there: how to get it")
    source: GeneratedSource | IrdsSource | FilesSource = Field(discriminator="kind")
    splits: dict[Id, Split] = Field(min_length=1)
    editions: list[Edition] = Field(
        min_length=1, description="the export must match one; its name goes into the manifest"
    )

    @model_validator(mode="after")
    def splits_fit_source(self) -> "Collection":
        """Each split names what its source needs, and holdouts name a split."""
        for name, split in self.splits.items():
            if split.holdout and split.holdout.of not in self.splits:
                raise ValueError(f"splits.{name}.holdout.of: no split '{split.holdout.of}'")
            if split.holdout or self.source.kind == "generated":
                continue
            needed = ["irds"] if self.source.kind == "irds" else ["queries", "qrels"]
            missing = [key for key in needed if getattr(split, key) is None]
            if missing:
                raise ValueError(f"splits.{name}: source {self.source.kind} needs {missing}")
        return self


class Dataset(Collection):
    """config/datasets/<id>.yaml: a collection and what a reader should know of it."""

    title: str
    description: str
    licence: str
    citation: str

    def collection(self) -> dict[str, Any]:
        """Return the part that decides which files the data stage writes, and no more."""
        unused = {"splits": {"__all__": {"measures", "positive_level"}}}
        return Collection.model_validate(
            self.model_dump(include=set(Collection.model_fields))
        ).model_dump(mode="json", exclude=unused)
