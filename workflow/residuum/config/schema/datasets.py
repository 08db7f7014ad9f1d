"""config/datasets/*.yaml: a collection, where it comes from, its splits and its pinned counts."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, PrivateAttr, model_validator

from residuum.config import roots
from residuum.config.schema import base, splits
from residuum.config.schema.base import Id, Name, Positive, SplitId, Strict
from residuum.config.schema.behind import Behind
from residuum.config.schema.completing import completed
from residuum.config.schema.downloads import Download
from residuum.config.schema.files import InFiles, OfYours
from residuum.config.schema.generated import (
    ANSWERED,
    FIELDS,
    GENERATED_SPLITS,
    GOLD,
    SIZED_LATER,
    GeneratedArticles,
    sized_later,
)
from residuum.config.schema.reading import Windows
from residuum.config.schema.sources import Containing, Source
from residuum.config.schema.splits import OF_ORIGIN, Split, SplitCount

MADE_OTHERWISE = OF_ORIGIN | {"adverse"}
NEEDED = {  # keys of a split, by the kind of the source; of files its own
    "irds": ["irds"],
    "segments": ["questions_of"],
    "pubmed": ["bioasq"],
    "bioasq": ["bioasq"],
}


class Own(Strict):
    """Splits for what belongs to the collection itself: `train_on: own`, `tune_on: own`."""

    train: SplitId | None = None
    tune: SplitId | None = None


class Edition(Strict):
    """Pinned counts of one known edition of a collection."""

    name: str
    docs: Positive
    about: bool = Field(
        False,
        exclude_if=lambda about: not about,
        description="docs is an estimate, of what is cut from another collection that is pinned",
    )
    splits: dict[SplitId, SplitCount] = Field(default={})


class Collection(Strict):
    """What the data stage needs of a dataset: where it comes from, its splits, its pins."""

    _behind: Behind = PrivateAttr(default_factory=Behind)

    access: str = Field("", description="shown when the collection is not available: how to get it")
    source: Source = Field(discriminator="kind")
    splits: dict[Annotated[Id, Name("split")], Split] = Field(default={})
    editions: list[Edition] = Field(
        [], description="the export must match one of them; none: nothing is pinned"
    )

    def check(self) -> None:
        splits.check(self.splits)
        kind, generated = self.source.kind, GENERATED_SPLITS
        lacks_gold = isinstance(self.source, GeneratedArticles) and not self.source.gold
        makes = [n for n in generated.get(kind, ()) if n not in GOLD or not lacks_gold]
        for name, split in self.splits.items():
            if split.synthetic:
                if name in generated.get(kind, ()):
                    text = f"the questions of {name} are made with a {kind} collection"
                    raise ValueError(f"splits.{name}.synthetic: {text}; take another name")
                continue
            key, derived = f"splits.{name}", split.derived
            made = ANSWERED.get(kind, {}).get(name)  # of a generated collection
            if kind != "irds" and (split.irds or split.answers_field not in (None, made)):
                text = f"irds and answers_field go with source irds, not with {kind}"
                text += f"; {name} has the answers_field {made}" if made else ""
                raise ValueError(f"{key}: {text}")
            if kind == "irds" and (split.queries or split.qrels):
                text = "queries and qrels go with sources of files; irds names both"
                raise ValueError(f"{key}: {text}")
            if split.judged_only is not None and not isinstance(self.source, InFiles):
                raise ValueError(f"{key}.judged_only: goes with sources of files, not with {kind}")
            if split.docpairs and (kind in generated or derived):
                text = "training triples go with source irds or one of files, and no holdout"
                raise ValueError(f"{key}.docpairs: {text}")
            if kind in generated and not split.adverse and name not in makes:
                raise ValueError(f"{key}: a {kind} collection has {', '.join(makes)}")
            if split.adverse and split.adverse.synonyms.kind == "forms" and kind != "generated":
                text = f"forms go with source generated, not with {kind}; give wordnet"
                raise ValueError(f"{key}.adverse.synonyms: {text}")
            if isinstance(self.source, Containing) and not derived:
                if name not in self.source.queries or {*split.model_fields_set} & MADE_OTHERWISE:
                    known = ", ".join(self.source.queries)
                    text = f"its splits are those of source.queries ({known}), made with the docs"
                    raise ValueError(f"{key}: {text}: give measures and positive_level alone")
                continue
            if kind in generated or derived or split.questions or split.questions_of:
                continue
            of_files = ["queries"] if split.unjudged else ["queries", "qrels"]
            needed = NEEDED.get(kind, ["bioasq"] if split.bioasq else of_files)
            named = self.split_files(name)
            if missing := [n for n in needed if not (getattr(split, n) or n in named)]:
                raise ValueError(f"{key}: source {kind} needs {' and '.join(missing)}")

    @property
    def behind(self) -> Behind:
        """Where that is which it is made of, once `made_of` has said so."""
        return self._behind

    def made_of(self, behind: Behind) -> Self:
        """Return the same collection, told where that is which it is made of."""
        told = self.model_copy()
        told._behind = behind
        return told

    def origin(self, split: str) -> str:
        """Return the split whose source a split is read from: itself, or what it is made of."""
        return splits.origin(self.splits, split)

    def source_of(self, split: str) -> Split:
        """Return what says where the queries, judgements and answers of a split are from."""
        return self.splits[self.origin(split)]

    def judged(self, split: str) -> bool:
        """Say whether the docs of a split are judged, so that measures of relevance exist."""
        return self.source_of(split).judged

    def judged_before(self, split: str) -> list[str]:
        """Return the splits whose judged docs leave the runs of a split; with their holdouts."""
        named = self.source_of(split).residual_of
        drawn = [
            n for n, other in self.splits.items() if other.holdout and other.holdout.of in named
        ]
        return [*named, *drawn]

    def split_files(self, split: str) -> dict[str, str]:
        """Return the files `queries` and `qrels` of a split itself, given or as the folder has."""
        entry = self.splits[split]
        given = {key: name for key in ("queries", "qrels") if (name := getattr(entry, key))}
        if not isinstance(self.source, OfYours) or entry.brought:
            return given
        laid = self.source.split_files(split).items()
        return {key: name for key, name in laid if key != "qrels" or not entry.unjudged} | given

    def source_files(self, split: str | None) -> list[str]:
        """Return the user's files behind the corpus (split None) or a split, as YAML names them.

        Those of the hub are not among them: they are downloaded when they are read.
        """
        return local(self.named_files(split))

    def named_files(self, split: str | None) -> list[str]:
        """Return all that YAML names behind the corpus (split None) or a split, here or not."""
        if split is None:
            return [self.source.corpus_file] if isinstance(self.source, OfYours) else []
        entry, adverse = self.source_of(split), self.splits[split].adverse
        laid = self.split_files(self.origin(split)).values()
        own = [name for name in (entry.questions, *laid, *entry.bioasq) if name]
        return [*own, *self.named_files(None), *adverse.synonyms.files()] if adverse else own

    def within(self, name: str) -> roots.Within:
        """Return which files are read of a folder that YAML names: of the docs, or another one."""
        source = self.source if isinstance(self.source, OfYours) else None
        return source.within if source and name == source.corpus_file else roots.EVERY

    def docpairs_file(self, split: str) -> list[str]:
        """Return the user's file of a split's training triples, if it is one, as YAML names it."""
        return local(self.named_docpairs(split))

    def named_docpairs(self, split: str) -> list[str]:
        """Return what YAML names as a split's training triples, here or on the hub."""
        name = self.splits[split].docpairs
        return [name] if name and isinstance(self.source, InFiles) else []

    def behind_docpairs(self, split: str) -> list[str]:
        """Return what YAML names as such triples, and files that texts are looked up in."""
        named = self.named_docpairs(split)
        return named and [*named, *self.named_files(None), *self.named_files(split)]


def local(names: list[str]) -> list[str]:
    """Return the names that are of files of yours, and not of the hub."""
    return [name for name in names if not roots.HUB.fullmatch(name)]


class Dataset(Collection):
    """config/datasets/<id>.yaml: a collection and what a reader should know of it.

    `source` and `splits` are needed, the others are for readers, or have defaults.
    """

    title: str = ""
    description: str = ""
    licence: str = ""
    citation: str = ""

    splits: dict[Annotated[Id, Name("split")], Split] = Field(min_length=1)
    own: Own = Field(
        Own(),
        description="what is trained and tuned on it, for itself; of files: train, and tune or dev",
    )
    windows: Windows | None = None
    downloads: list[Download] = Field([], description="for lists, plans and hints")
    budgets: base.Budgets = Field(default=[])
    disk_gb: float = Field(0, ge=0, description="estimate of what ir_datasets keeps of it")

    @model_validator(mode="before")
    @classmethod
    def _completed(cls, data: object) -> object:
        return completed(data)

    def check(self) -> None:
        super().check()
        if (tune := self.own.tune) in self.splits and self.splits[tune].synthetic:
            raise ValueError(
                f"own.tune: '{tune}' is what a generator writes; nothing is chosen by it"
            )
        joined, kept = getattr(self.source, "text_fields", []), getattr(self.source, "fields", [])
        kept = [*(joined if len(joined) > 1 else []), *kept]  # beside the text itself
        kept = ["body" if name == "text" else name for name in kept]
        kept = FIELDS.get(self.source.kind, kept)
        required = [*self.windows.head, self.windows.body] if self.windows else []
        if lost := [name for name in required if name not in kept]:
            named = ", ".join(kept) or "none"
            raise ValueError(f"windows: docs keep no field {', '.join(lost)}; kept: {named}")

    def missing(self, split: str | None, data: Path, irds_home: Path) -> list[Path]:
        """Return what you have to get before the corpus (split None) or a split can be read, and
        is not there; ir_datasets downloads the rest. What a residual split leaves out is needed,
        and the corpus, where judgements, or questions, are made of it."""
        if split and (self.source_of(split).relevant_by or self.splits[split].synthetic):
            corpus = self.missing(None, data, irds_home)
            return list(dict.fromkeys([*corpus, *self._absent([split], data, irds_home)]))
        read = [split, *self.judged_before(split)] if split else []
        return self._absent(read, data, irds_home)

    def _absent(self, read: list[str], data: Path, irds_home: Path) -> list[Path]:
        of = {*read, *map(self.origin, read)}
        own = [d for d in self.downloads if (of & {*d.splits} if of else not d.splits)]
        names = [name for each in read or (None,) for name in self.source_files(each)]
        needed = [roots.as_it_lies(data / name) for name in names]
        needed += [
            path
            for download in own
            if not download.docpairs and (path := download.by_hand(data, irds_home))
        ]
        absent = [path for path in dict.fromkeys(needed) if not path.exists()]
        return [path for path in absent if path.parent not in absent]

    def for_corpus(self) -> dict[str, object]:
        """Return the part that decides which corpus the data stage writes, and no more."""
        sample = getattr(self.source, "sample", None)
        return {
            "source": self.source.model_dump(mode="json", exclude={*SIZED_LATER}),
            "editions": [e.model_dump(include={"name", "docs", "about"}) for e in self.editions],
            **({"splits": self._sources(sample.keep, "relevant_by")} if sample else {}),
        }

    def for_split(self, name: str) -> dict[str, object]:
        """Return the part that decides which queries and qrels a split has, and no more."""
        of = self.origin(name)
        kin = {n for n, s in self.splits.items() if s.holdout and s.holdout.of == of} | {of, name}
        pins = [e.model_dump(exclude={"splits": {"__all__": {"docpairs"}}}) for e in self.editions]
        for pin in pins:
            pin["splits"] = {n: counts for n, counts in pin["splits"].items() if n in (name, of)}
        whole = (
            {"source": self.source.model_dump(mode="json")}
            if sized_later(self.source.kind, of)
            else {}
        )
        return {**self.for_corpus(), **whole, "splits": self._sources(kin), "editions": pins}

    def for_docpairs(self, name: str) -> dict[str, object]:
        """Return the part that decides which training triples a split has, and no more."""
        split, pins = self.splits[name].model_dump(mode="json", exclude_defaults=True), []
        for edition in self.editions:
            counts = {n: count for n, count in edition.splits.items() if n == name}
            pins.append(edition.model_copy(update={"splits": counts}).model_dump())
        keys = ["irds", "queries", "qrels", "questions", "docpairs"]
        keys += ["query_field", "bioasq"] if isinstance(self.source, InFiles) else []
        kept = {name: {key: split[key] for key in keys if key in split}}
        return {"source": self.for_corpus()["source"], "splits": kept, "editions": pins}

    def _sources(self, names: Iterable[str], *but: str) -> dict[str, object]:
        # What readers of the export decide.
        apart = {"folds", "residual_of", "positive_level", "measures", "docpairs", *but}
        return {
            name: self.splits[name].model_dump(mode="json", exclude=apart, exclude_defaults=True)
            for name in sorted(names)
        }
