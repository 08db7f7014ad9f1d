"""config/datasets/*.yaml: a collection, its splits and its pinned counts."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

from pydantic import Field

from residuum.cli.errors import unknown
from residuum.config.schema import sources
from residuum.config.schema.base import Budgets, Id, Measure, Name, Positive, SplitId, Strict

Source = (
    sources.GeneratedSource | sources.GeneratedArticles | sources.IrdsSource | sources.FilesSource
)


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
    questions: str | None = Field(None, description="file in DPR's form: question TAB ['a', 'b']")
    answers_field: str | None = Field(None, description="field of an ir_datasets query's answers")
    unjudged: bool = Field(False, description="no judgements are public: runs, but no metrics")
    folds: list[SplitId] = Field([], description="that divide its queries, for cross-validation")
    holdout: Holdout | None = None
    positive_level: Positive = Field(1, description="least relevance of a train positive")
    measures: list[Measure] = Field([], description="beside those that the tables ask for")

    def check(self) -> None:
        if self.questions and (self.queries or self.qrels or self.irds):
            raise ValueError("questions brings the queries; leave out queries, qrels and irds")


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
    source: Source = Field(discriminator="kind")
    splits: dict[Annotated[Id, Name("split")], Split] = Field(default={})
    editions: list[Edition] = Field(min_length=1, description="the export must match one of them")

    def check(self) -> None:
        kind, generated = self.source.kind, sources.GENERATED_SPLITS
        for name, split in self.splits.items():
            key, holdout = f"splits.{name}", split.holdout
            if holdout and holdout.of not in self.splits:
                raise ValueError(f"{key}.holdout.of: {unknown('split', holdout.of, self.splits)}")
            if holdout and self.splits[holdout.of].holdout:
                raise ValueError(f"{key}.holdout.of: '{holdout.of}' is a holdout too")
            for fold in split.folds:
                if fold == name or split.folds.count(fold) > 1:
                    text = f"'{fold}' is the split itself, or is given twice"
                    raise ValueError(f"{key}.folds: {text}")
            if kind != "irds" and (split.irds or split.answers_field):
                text = f"irds and answers_field go with source irds, not with {kind}"
                raise ValueError(f"{key}: {text}")
            if kind == "irds" and (split.queries or split.qrels):
                raise ValueError(f"{key}: queries and qrels go with source files; irds names both")
            if kind in generated and name not in generated[kind]:
                raise ValueError(f"{key}: a {kind} collection has {', '.join(generated[kind])}")
            if kind in generated or holdout or split.questions:
                continue
            of_files = ["queries"] if split.unjudged else ["queries", "qrels"]
            needed = ["irds"] if kind == "irds" else of_files
            if missing := [needs for needs in needed if getattr(split, needs) is None]:
                raise ValueError(f"{key}: source {kind} needs {' and '.join(missing)}")

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
            return [self.source.corpus] if isinstance(self.source, sources.FilesSource) else []
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
    windows: sources.Windows | None = None
    downloads: list[sources.Download] = Field([], description="for lists, plans and hints")
    budgets: Budgets = Field(default=[])
    disk_gb: float = Field(0, ge=0, description="estimate of what ir_datasets keeps of it")

    def check(self) -> None:
        super().check()
        joined, kept = getattr(self.source, "text_fields", []), getattr(self.source, "fields", [])
        kept = [*(joined if len(joined) > 1 else []), *kept]  # beside the text itself
        kept = ["body" if name == "text" else name for name in kept]
        if isinstance(self.source, sources.GeneratedArticles):
            kept = ["title", "abstract", "body"]
        required = [*self.windows.head, self.windows.body] if self.windows else []
        if lost := [name for name in required if name not in kept]:
            named = ", ".join(kept) or "none"
            raise ValueError(f"windows: docs keep no field {', '.join(lost)}; kept: {named}")

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
        of_users = {"folds", "positive_level", "measures"}  # what readers of the export decide
        splits = {name: self.splits[name] for name in sorted(names)}
        return {
            name: split.model_dump(mode="json", exclude=of_users, exclude_defaults=True)
            for name, split in splits.items()
        }
