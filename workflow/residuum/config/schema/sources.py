"""The key `source` of config/datasets/*.yaml: where a collection comes from.

Must not know splits, or how anything is read.
"""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from residuum.config.schema.base import Positive, SplitId, Strict
from residuum.config.schema.generated import GeneratedArticles, GeneratedPages, GeneratedSource


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


Source = GeneratedSource | GeneratedPages | GeneratedArticles | IrdsSource | FilesSource
