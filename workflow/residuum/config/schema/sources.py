"""Where a collection comes from: what makes it or who is asked for it, and what it downloads."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from residuum.config.schema.base import Positive, Probability, SplitId, Strict

GENERATED_SPLITS = {
    "generated": ("train", "tune", "dev", "judged"),
    "generated-articles": ("judged",),
}


class GeneratedSource(Strict):
    """A collection made by residuum.collections.places; see docs/generated-collection.md."""

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


class GeneratedArticles(Strict):
    """Docs with title, abstract and body, made by residuum.collections.articles; same page."""

    kind: Literal["generated-articles"]
    seed: int
    articles: Positive = Field(description="studies of one aspect of a condition")
    reviews: int = Field(ge=0, description="papers that cover several aspects, partially relevant")
    notices: int = Field(ge=0, description="calls and letters, lexical distractors")
    conditions: Positive = Field(description="invented illnesses")
    agents: Positive = Field(description="invented drugs")
    judged: Positive
    shift: Probability = Field(description="probability that a concept leaves its usual form")


class Sample(Strict):
    """A part of a collection: the docs judged for some splits, and others drawn by their ids."""

    docs: Positive = Field(description="docs of the sample")
    seed: int
    keep: list[SplitId] = Field(description="splits whose judged docs are all in the sample")
    level: int = Field(1, description="least relevance of a judged doc that is kept")


def _not_taken(name: str) -> str:
    if name in ("doc_id", "text"):
        raise ValueError(f"{name}: every doc has that already; name other fields")
    return name


NamedFields = Annotated[
    list[Annotated[str, AfterValidator(_not_taken)]],
    Field(description="kept beside text by their names, for systems that search by field"),
]


class IrdsSource(Strict):
    """A collection read through ir_datasets."""

    kind: Literal["irds"]
    docs: str = Field(description="ir_datasets id whose docs are exported")
    text_fields: list[str] = Field(min_length=1, description="joined in this order by a space")
    fields: NamedFields = Field(default=[])
    quoted: list[str] = Field([], description="doc fields that ir_datasets leaves in CSV quotes")
    sample: Sample | None = Field(None, description="export a part of the docs only")
    repeated: Literal["error", "first"] = Field("error", description="of docs with the same id")

    def check(self) -> None:
        if others := sorted(set(self.quoted) - {*self.text_fields, *self.fields}):
            raise ValueError(f"quoted: {', '.join(others)}: in neither text_fields nor fields")


class FilesSource(Strict):
    """A collection of your own: jsonl (doc_id, text or named fields) or TSV (doc_id TAB text).

    Paths are relative to the folder that the environment variable RESIDUUM_DATA names
    (default: data/ in the working directory).
    """

    kind: Literal["files"]
    corpus: str
    text_fields: list[str] = Field(default=["text"], min_length=1)
    fields: NamedFields = Field(default=[])


class Windows(Strict):
    """How models read docs longer than their input: in overlapping passages, a vector for each.

    A doc's score is the largest of its passages' (ME-BERT, Model Settings of the MS MARCO part).
    """

    length: Positive = Field(description="tokens of a passage, head included, in the model's own")
    stride: Positive = Field(description="tokens from the start of one passage to the next's")
    head: list[str] = Field([], description="fields that every passage starts with")
    body: str = Field(description="field that is cut")
    expected: Positive = Field(description="passages of a doc on average; shards are sized by it")

    def check(self) -> None:
        if self.stride > self.length:
            raise ValueError(f"stride {self.stride} is more than length {self.length}")


class Download(Strict):
    """A file or folder that a collection is read from: exactly one of irds, home and file."""

    irds: str | None = Field(None, description="NAME/KEY in ir_datasets' own list of downloads")
    home: str | None = Field(None, description="path below ir_datasets' home; by hand without url")
    file: str | None = Field(None, description="path below the folder of RESIDUUM_DATA")
    url: str | None = Field(None, description="address of a file that ir_datasets does not list")
    bytes: Positive | None = Field(None, description="size, where ir_datasets does not list it")
    md5: str | None = Field(None, pattern=r"^[0-9a-f]{32}$")
    splits: list[SplitId] = Field([], description="that need it; absent: the corpus does")
    makes: list[str] = Field([], description="what ir_datasets keeps of it, and takes in its place")

    def check(self) -> None:
        if sum(place is not None for place in (self.irds, self.home, self.file)) != 1:
            raise ValueError("give exactly one of irds, home and file")
        if self.irds and (self.url or self.bytes or self.md5):
            raise ValueError("ir_datasets lists url, bytes and md5 itself; leave them out")

    def by_hand(self, data: Path, home: Path) -> Path | None:
        """Return where the user has to put it; None of what is downloaded when it is needed."""
        if self.home:
            return None if self.url else home / self.home
        return data / self.file if self.file else None
