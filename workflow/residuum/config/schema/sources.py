"""Where a collection comes from: what makes it or who is asked for it, and what it downloads."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from residuum.config.schema.base import Id, Positive, Probability, Ref, Strict

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


def _named_fields(names: list[str]) -> list[str]:
    taken = [name for name in names if name in ("doc_id", "text")]
    if taken:
        raise ValueError(f"{', '.join(taken)}: every doc has that already; name other fields")
    return names


NamedFields = Annotated[
    list[str],
    AfterValidator(_named_fields),
    Field(description="further named fields kept beside text, for systems that search by field"),
]


class Sample(Strict):
    """A part of a collection: the docs judged for some splits, and others drawn by their ids."""

    docs: Positive = Field(description="docs of the sample")
    seed: int
    keep: list[Annotated[Id, Ref("split")]] = Field(
        description="splits whose judged docs are all in the sample"
    )
    level: int = Field(1, description="least relevance of a judged doc that is kept")


class IrdsSource(Strict):
    """A collection read through ir_datasets."""

    kind: Literal["irds"]
    docs: str = Field(description="ir_datasets id whose docs are exported")
    text_fields: list[str] = Field(min_length=1, description="joined in this order by a space")
    fields: NamedFields = Field(default=[])
    quoted: list[str] = Field(
        [], description="doc fields in the quotes of a CSV file, which ir_datasets leaves there"
    )
    sample: Sample | None = Field(None, description="export a part of the docs only")
    repeated: Literal["error", "first"] = Field(
        "error", description="a doc_id that stands again: a fault, or only the first is taken"
    )

    @model_validator(mode="after")
    def quoted_is_exported(self) -> "IrdsSource":
        """Quotes are taken from fields that are exported."""
        others = sorted(set(self.quoted) - {*self.text_fields, *self.fields})
        if others:
            raise ValueError(f"quoted: {', '.join(others)}: in neither text_fields nor fields")
        return self


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

    @model_validator(mode="after")
    def passages_leave_no_gap(self) -> "Windows":
        """One passage starts within the other, or right behind it."""
        if self.stride > self.length:
            raise ValueError(f"stride {self.stride} is more than length {self.length}")
        return self


class Download(Strict):
    """A file or folder that a collection is read from: exactly one of irds, home and file."""

    irds: str | None = Field(
        None, description="NAME/KEY of ir_datasets' own list, which has address, size and MD5"
    )
    home: str | None = Field(
        None, description="path below ir_datasets' home; without url you have to put it there"
    )
    file: str | None = Field(None, description="path below the folder of RESIDUUM_DATA")
    url: str | None = Field(None, description="address of a file that ir_datasets does not list")
    bytes: Positive | None = Field(None, description="size, where ir_datasets does not list it")
    md5: str | None = Field(None, pattern=r"^[0-9a-f]{32}$")
    splits: list[Annotated[Id, Ref("split")]] = Field(
        [], description="splits that need it; absent: the corpus does"
    )
    makes: list[str] = Field(
        [], description="files that ir_datasets keeps of it in its home, and takes in its place"
    )

    @model_validator(mode="after")
    def one_place(self) -> "Download":
        """A download lies in one place, and ir_datasets' own facts are not repeated."""
        if sum(place is not None for place in (self.irds, self.home, self.file)) != 1:
            raise ValueError("give exactly one of irds, home and file")
        if self.irds and (self.url or self.bytes or self.md5):
            raise ValueError("ir_datasets lists url, bytes and md5 itself; leave them out")
        return self

    def by_hand(self, data: Path, home: Path) -> Path | None:
        """Return where the user has to put it; None of what is downloaded when it is needed."""
        if self.home:
            return None if self.url else home / self.home
        return data / self.file if self.file else None
