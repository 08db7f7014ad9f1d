"""The key `source` of config/datasets/*.yaml: where a collection comes from."""

from typing import Annotated, Literal

from pydantic import Field

from residuum.config import roots
from residuum.config.schema.base import Id, Positive, Ref, Role, Span, SplitId, Strict
from residuum.config.schema.files import (
    BeirSource,
    FilesSource,
    MsMarcoSource,
    NamedFields,
    OfYours,
    TrecSource,
)
from residuum.config.schema.generated import GeneratedArticles, GeneratedPages, GeneratedSource


class Sample(Strict):
    """A sample of a collection: docs judged or marked for some splits, docs drawn by their ids."""

    docs: Positive = Field(description="docs of the sample")
    seed: int
    keep: list[SplitId] = Field(description="splits whose judged docs are all in the sample")
    level: int = Field(1, description="least relevance of a judged doc that is kept")
    marked: str | None = Field(
        None,
        exclude_if=lambda name: name is None,
        description="DPR's file of gold passages, whose matches among the docs are kept too",
    )


class IrdsSource(Strict):
    """A collection read through ir_datasets."""

    kind: Literal["irds"]
    docs: str = Field(description="ir_datasets id whose docs are exported")
    text_fields: list[str] = Field(min_length=1, description="joined in this order by a space")
    fields: NamedFields = Field(default=[])
    quoted: list[str] = Field([], description="doc fields that ir_datasets leaves in CSV quotes")
    sample: Sample | None = Field(None, description="export a part of the docs only")
    repeated: Literal["error", "first"] = Field(
        "error", description="docs of the same id: fault, or first"
    )

    def check(self) -> None:
        if others := sorted(set(self.quoted) - {*self.text_fields, *self.fields}):
            raise ValueError(f"quoted: {', '.join(others)}: in neither text_fields nor fields")
        if self.sample and self.sample.marked and self.text_fields != ["title", "text"]:
            raise ValueError("sample.marked: goes with text_fields: [title, text]")


class PubmedSource(OfYours):
    """PubMed's records with an abstract, from NLM's XML files: the baseline and its updates.

    A newer file's record replaces the older record of the same PMID. A newer file also deletes the
    records that it lists as deleted.
    """

    kind: Literal["pubmed"]
    folder: str = Field(description="folder of pubmedYYnNNNN.xml.gz, below that of RESIDUUM_DATA")

    @property
    def within(self) -> roots.Within:
        return roots.Within("*.xml.gz")

    @property
    def corpus_file(self) -> str:
        return self.folder


class TaskASource(OfYours):
    """Articles with an abstract from BioASQ's task A, one a line, as released."""

    kind: Literal["bioasq"]
    articles: str = Field(description="JSON file, maybe gzipped, below the folder of RESIDUUM_DATA")

    @property
    def corpus_file(self) -> str:
        return self.articles


class Segmented(Strict):
    """The base of sources that are cut from the docs of another collection."""

    of: Role = Field(description="role whose dataset's docs are cut")
    field: str = Field("text", description="field of these docs that is cut")
    tokenizer: Annotated[Id, Ref("backbone")] = Field(
        description="role of the model whose wordpieces are counted"
    )
    length: Positive = Field(description="most wordpieces of a doc")


class Segments(Segmented):
    """Docs of as many whole sentences as fit in `length`. Queries come from other collections."""

    kind: Literal["segments"]


class Containing(Segmented):
    """Cut docs with distractors, and queries that a doc holds word for word.

    A distractor is a copy of a doc that holds queries, with some words of each query changed.
    """

    kind: Literal["containing"]
    lengths: list[Positive] = Field(min_length=1, description="of all collections of these queries")
    docs: Positive = Field(description="all docs, distractors included")
    queries: dict[SplitId, Positive] = Field(min_length=1, description="split: number of queries")
    tokens: Span = Field(description="least and most wordpieces of a query")
    distractors: Positive = Field(1, description="copies of each doc that holds queries")
    changed: Span = Field(description="least and most words that differ in a copy")
    seed: int = Field(ge=0)

    def check(self) -> None:
        if self.length not in self.lengths:
            known = ", ".join(map(str, self.lengths))
            raise ValueError(f"length: {self.length} is none of lengths: {known}")
        if self.tokens[0] > min(self.lengths):
            text = f"no doc of {min(self.lengths)} wordpieces (lengths) has them"
            raise ValueError(f"tokens: a query has {self.tokens[0]} or more, and {text}")


Generated = GeneratedSource | GeneratedPages | GeneratedArticles
Files = FilesSource | BeirSource | MsMarcoSource | TrecSource
Source = Generated | IrdsSource | Files | PubmedSource | TaskASource | Segments | Containing
