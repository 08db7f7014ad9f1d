"""config/datasets/*.yaml: a collection, its splits and its pinned counts."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

from pydantic import Field, model_validator

from residuum.config.schema.base import Budgets, Id, Measure, Name, Positive, Ref, Strict
from residuum.config.schema.sources import (
    GENERATED_SPLITS,
    Download,
    FilesSource,
    GeneratedArticles,
    GeneratedSource,
    IrdsSource,
    Windows,
)

SplitId = Annotated[Id, Ref("split")]


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
    questions: str | None = Field(
        None, description="file of questions and answers in DPR's form: question TAB ['a', 'b']"
    )
    answers_field: str | None = Field(
        None, description="field of an ir_datasets query that holds its answers"
    )
    unjudged: bool = Field(False, description="no judgements are public: runs, but no metrics")
    folds: list[SplitId] = Field(
        [], description="splits that divide its queries, for choices made by cross-validation"
    )
    holdout: Holdout | None = None
    positive_level: Positive = Field(1, description="least relevance of a train positive")
    measures: list[Measure] = Field(
        default=[], description="ir_measures names, beside those the tables ask for"
    )


class SplitCount(Strict):
    """Pinned size of one split, as its source has it: before holdouts are drawn from it."""

    queries: Positive
    qrels: int = Field(ge=0)
    relevance: dict[int, Positive] = Field({}, description="level of relevance: qrels of it")


class Own(Strict):
    """Splits for what belongs to the collection itself: `train_on: own`, `tune_on: own`."""

    train: SplitId | None = None
    tune: SplitId | None = None


class Edition(Strict):
    """Pinned counts of one known edition of a collection."""

    name: str
    docs: Positive
    splits: dict[SplitId, SplitCount] = Field(default={})


class Collection(Strict):
    """What the data stage needs of a dataset: where it comes from, its splits, its pins."""

    access: str = Field("", description="shown when the collection is not available: how to get it")
    source: GeneratedSource | GeneratedArticles | IrdsSource | FilesSource = Field(
        discriminator="kind"
    )
    splits: dict[Annotated[Id, Name("split")], Split] = Field(default={})
    editions: list[Edition] = Field(
        min_length=1, description="the export must match one; its name goes into the manifest"
    )

    @model_validator(mode="after")
    def splits_fit_source(self) -> "Collection":
        """Each split has what its source needs, and a holdout is of another split."""
        for name, split in self.splits.items():
            if fault := next(self._faults(name, split), None):
                raise ValueError(f"splits.{name}{fault}")
        return self

    def _faults(self, name: str, split: Split) -> Iterator[str]:
        kind = self.source.kind
        if split.holdout and split.holdout.of not in self.splits:
            yield f".holdout.of: no split '{split.holdout.of}'; known: {', '.join(self.splits)}"
        elif split.holdout and self.splits[split.holdout.of].holdout:
            yield f".holdout.of: '{split.holdout.of}' is a holdout too"
        for fold in split.folds:
            if fold == name or split.folds.count(fold) > 1:
                yield f".folds: '{fold}' is the split itself, or is given twice"
        yield from self._odd_keys(split)
        if name not in GENERATED_SPLITS.get(kind, (name,)):
            yield f": a {kind} collection has {', '.join(GENERATED_SPLITS[kind])}"
        if split.holdout or split.questions or kind in GENERATED_SPLITS:
            return
        needed = ["irds"] if kind == "irds" else ["queries", "qrels"]
        if split.unjudged and kind == "files":
            needed = ["queries"]
        if missing := [key for key in needed if getattr(split, key) is None]:
            yield f": source {kind} needs {missing}"

    def _odd_keys(self, split: Split) -> Iterator[str]:
        """Yield keys that the source, or another key, makes meaningless."""
        kind = self.source.kind
        if kind != "irds" and (split.irds or split.answers_field):
            yield f": irds and answers_field go with source irds, not with {kind}"
        if split.questions and (split.queries or split.qrels or split.irds):
            yield ": questions brings the queries; leave out queries, qrels and irds"
        if kind == "irds" and (split.queries or split.qrels):
            yield ": queries and qrels go with source files; irds names both"

    def origin(self, split: str) -> str:
        """Return the split whose source a split is read from: itself, or what it is held out of."""
        holdout = self.splits[split].holdout
        return holdout.of if holdout else split

    def answered(self, split: str) -> bool:
        """Say whether the queries of a split come with answers."""
        entry = self.splits[self.origin(split)]
        return entry.questions is not None or entry.answers_field is not None

    def judged(self, split: str) -> bool:
        """Say whether the docs of a split are judged, so that measures of relevance exist."""
        entry = self.splits[self.origin(split)]
        return entry.questions is None and not entry.unjudged

    def source_files(self, split: str | None) -> list[str]:
        """Return the user's files behind the corpus (split None) or a split, as YAML names them."""
        if split is None:
            return [self.source.corpus] if isinstance(self.source, FilesSource) else []
        entry = self.splits[self.origin(split)]
        return [name for name in (entry.questions, entry.queries, entry.qrels) if name]


class Dataset(Collection):
    """config/datasets/<id>.yaml: a collection and what a reader should know of it."""

    title: str
    description: str
    licence: str
    citation: str

    access: str
    splits: dict[Annotated[Id, Name("split")], Split] = Field(min_length=1)
    own: Own = Field(Own(), description="what is trained and tuned on it, for itself")
    windows: Windows | None = None
    downloads: list[Download] = Field([], description="what it is read from, for lists and plans")
    budgets: Budgets = Field(default=[])
    disk_gb: float = Field(
        0, ge=0, description="estimate of what ir_datasets unpacks and keeps, downloads too"
    )

    @model_validator(mode="after")
    def windows_fit(self) -> "Dataset":
        """What is cut into passages is a field that docs keep."""
        if self.windows:
            kept = self.kept_fields()
            required = [*self.windows.head, self.windows.body]
            if lost := [name for name in required if name not in kept]:
                named = ", ".join(kept) or "none"
                raise ValueError(f"windows: docs keep no field {', '.join(lost)}; kept: {named}")
        return self

    def kept_fields(self) -> list[str]:
        """Return the named fields of a doc beside its text; one called text is kept as body."""
        if isinstance(self.source, GeneratedSource):
            return []
        if isinstance(self.source, GeneratedArticles):
            return ["title", "abstract", "body"]
        own = self.source.text_fields
        kept = [*(own if len(own) > 1 else []), *self.source.fields]
        return ["body" if name == "text" else name for name in kept]

    def missing(self, split: str | None, data: Path, irds_home: Path) -> list[Path]:
        """Return what you have to get before the corpus (split None) or a split can be read, and
        is not there; ir_datasets downloads the rest."""
        needed = [data / name for name in self.source_files(split)]
        of = self.origin(split) if split else None
        for download in self.downloads:
            path = download.by_hand(data, irds_home)
            if path and (of in download.splits if of else not download.splits):
                needed.append(path)
        return [path for path in dict.fromkeys(needed) if not path.exists()]

    def for_corpus(self) -> dict[str, object]:
        """Return the part that decides which corpus the data stage writes, and no more."""
        sample = getattr(self.source, "sample", None)
        spec: dict[str, object] = {
            "source": self.source.model_dump(mode="json"),
            "editions": [{"name": e.name, "docs": e.docs} for e in self.editions],
        }
        return {**spec, "splits": self._sources(sample.keep)} if sample else spec

    def for_split(self, name: str) -> dict[str, object]:
        """Return the part that decides which queries and qrels a split has, and no more."""
        of = self.origin(name)
        kin = {n for n, s in self.splits.items() if s.holdout and s.holdout.of == of} | {of}
        pins = [e.model_dump() for e in self.editions]
        for pin in pins:
            pin["splits"] = {n: counts for n, counts in pin["splits"].items() if n in (name, of)}
        return {**self.for_corpus(), "splits": self._sources(kin), "editions": pins}

    def _sources(self, names: Iterable[str]) -> dict[str, object]:
        fields = {"irds", "queries", "query_field", "qrels", "holdout"}
        fields |= {"questions", "answers_field", "unjudged"}
        return {
            name: self.splits[name].model_dump(mode="json", include=fields, exclude_defaults=True)
            for name in sorted(names)
        }
