"""config/datasets/*.yaml: a collection, its splits and its pinned counts."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from residuum.core.schema.base import Id, Positive, Probability, Strict

GENERATED_SPLITS = {
    "generated": ("train", "tune", "dev", "judged"),
    "generated-articles": ("judged",),
}


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


class IrdsSource(Strict):
    """A collection read through ir_datasets."""

    kind: Literal["irds"]
    docs: str = Field(description="ir_datasets id whose docs are exported")
    text_fields: list[str] = Field(min_length=1, description="joined in this order by a space")
    fields: NamedFields = Field(default=[])


class FilesSource(Strict):
    """A collection of your own: jsonl (doc_id, text or named fields) or TSV (doc_id TAB text).

    Paths are relative to the folder that the environment variable RESIDUUM_DATA names
    (default: data/ in the working directory).
    """

    kind: Literal["files"]
    corpus: str
    text_fields: list[str] = Field(default=["text"], min_length=1)
    fields: NamedFields = Field(default=[])


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

    access: str = Field("", description="shown when the collection is not there: how to get it")
    source: GeneratedSource | GeneratedArticles | IrdsSource | FilesSource = Field(
        discriminator="kind"
    )
    splits: dict[Id, Split] = Field(default={})
    editions: list[Edition] = Field(
        min_length=1, description="the export must match one; its name goes into the manifest"
    )

    @model_validator(mode="after")
    def splits_fit_source(self) -> "Collection":
        """Each split names what its source needs, and holdouts name a split."""
        for name, split in self.splits.items():
            if split.holdout and split.holdout.of not in self.splits:
                raise ValueError(f"splits.{name}.holdout.of: no split '{split.holdout.of}'")
            if split.holdout and self.splits[split.holdout.of].holdout:
                raise ValueError(f"splits.{name}.holdout.of: '{split.holdout.of}' is a holdout too")
            kind = self.source.kind
            if name not in GENERATED_SPLITS.get(kind, (name,)):
                known = ", ".join(GENERATED_SPLITS[kind])
                raise ValueError(f"splits.{name}: a {kind} collection has {known}")
            if split.holdout or kind in GENERATED_SPLITS:
                continue
            needed = ["irds"] if kind == "irds" else ["queries", "qrels"]
            missing = [key for key in needed if getattr(split, key) is None]
            if missing:
                raise ValueError(f"splits.{name}: source {kind} needs {missing}")
        return self

    def source_files(self, split: str | None) -> list[str]:
        """Return the user's files behind the corpus (split None) or a split, as YAML names them."""
        if not isinstance(self.source, FilesSource):
            return []
        if split is None:
            return [self.source.corpus]
        entry = self.splits[split]
        entry = self.splits[entry.holdout.of] if entry.holdout else entry
        return [str(entry.queries), str(entry.qrels)]


class Dataset(Collection):
    """config/datasets/<id>.yaml: a collection and what a reader should know of it."""

    access: str
    splits: dict[Id, Split] = Field(min_length=1)
    title: str
    description: str
    licence: str
    citation: str

    def for_corpus(self) -> dict[str, Any]:
        """Return the part that decides which corpus the data stage writes, and no more."""
        return {
            "source": self.source.model_dump(mode="json"),
            "editions": [{"name": e.name, "docs": e.docs} for e in self.editions],
        }

    def for_split(self, name: str) -> dict[str, Any]:
        """Return the part that decides which queries and qrels a split has, and no more."""
        holdout = self.splits[name].holdout
        of = holdout.of if holdout else name
        kin = {n for n, s in self.splits.items() if s.holdout and s.holdout.of == of} | {of}
        fields = {"irds", "queries", "query_field", "qrels", "holdout"}
        dump = {n: self.splits[n].model_dump(mode="json", include=fields) for n in sorted(kin)}
        return {**self.for_corpus(), "splits": dump, "editions": self._pins(name)}

    def _pins(self, split: str) -> list[dict[str, Any]]:
        return [
            {
                "name": edition.name,
                "docs": edition.docs,
                "splits": {n: p.model_dump() for n, p in edition.splits.items() if n == split},
            }
            for edition in self.editions
        ]
