"""config/datasets/*.yaml: a collection with its source, its splits and its pinned counts."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, NamedTuple, Self

from pydantic import Field, PrivateAttr, model_validator

from residuum.config import roots
from residuum.config.schema import base, splits
from residuum.config.schema.base import Id, Name, Positive, SplitId, Strict
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
from residuum.config.schema.sources import Containing, IrdsSource, Source
from residuum.config.schema.splits import OF_ORIGIN, Split, SplitCount

AFTER = ("relevant_by", "relevant_from")  # keys that decide judgements, and no doc of a sample
MADE_OTHERWISE = OF_ORIGIN | {"adverse"}
NEEDED = {  # required keys of a split, by the kind of the source
    "irds": ["irds"],
    "segments": ["questions_of"],
    "pubmed": ["bioasq"],
    "bioasq": ["bioasq"],
}


class Own(Strict):
    """The collection's own training and tuning splits, for `train_on: own` and `tune_on: own`."""

    train: SplitId | None = None
    tune: SplitId | None = None


class Edition(Strict):
    """Pinned counts of one known edition of a collection."""

    name: str
    docs: Positive
    doc_bytes: Positive | None = Field(
        default=None,
        exclude_if=lambda count: count is None,
        description="mean bytes of a doc's text; plans and declared memory depend on it, no result",
    )
    about: bool = Field(
        False,
        exclude_if=lambda about: not about,
        description="docs is an estimate; the collection that it is cut from is pinned",
    )
    splits: dict[SplitId, SplitCount] = Field(default={})


class Behind(NamedTuple):
    """The inputs that a collection is made from, and the folder of the corpus to write."""

    cut_from: Path | None = None  # the corpus that is cut into segments
    corpus: Path | None = None  # the collection's corpus, to make a split
    questions: Path | None = None  # the folder of the split whose questions are taken
    vocabulary: str | None = None  # folder or hub id of a model
    revision: str | None = None
    output: Path | None = None  # the folder of the corpus to write


class Collection(Strict):
    """The part of a dataset that the data stage needs: its source, its splits, its pins."""

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
            made = ANSWERED.get(kind, {}).get(name)  # the answers field of a generated split
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
        """The data that the collection is made from, as `made_of` set it."""
        return self._behind

    def made_of(self, behind: Behind) -> Self:
        """Return a copy of the collection that knows the data it is made from."""
        told = self.model_copy()
        told._behind = behind
        return told

    def origin(self, split: str) -> str:
        """Return the split whose source a split is read from: itself, or its origin."""
        return splits.origin(self.splits, split)

    def source_of(self, split: str) -> Split:
        """Return the entry with the sources of a split's queries, judgements and answers."""
        return self.splits[self.origin(split)]

    def judged(self, split: str) -> bool:
        """Say whether a split has judgements of docs, published or made from answers."""
        return self.source_of(split).judged

    def judged_before(self, split: str) -> list[str]:
        """Return the earlier rounds of a residual split, with the holdouts drawn from them."""
        named = self.source_of(split).residual_of
        drawn = [
            n for n, other in self.splits.items() if other.holdout and other.holdout.of in named
        ]
        return [*named, *drawn]

    def removes_query(self, split: str) -> bool:
        """Say whether the doc with a query's own id leaves the query's list."""
        return self.source_of(split).remove_query

    def split_files(self, split: str) -> dict[str, str]:
        """Return a split's files `queries` and `qrels`, as its keys or the layout name them."""
        entry = self.splits[split]
        given = {key: name for key in ("queries", "qrels") if (name := getattr(entry, key))}
        if not isinstance(self.source, OfYours) or entry.brought:
            return given
        laid = self.source.split_files(split).items()
        return {key: name for key, name in laid if key != "qrels" or not entry.unjudged} | given

    def source_files(self, split: str | None) -> list[str]:
        """Return the user's files behind the corpus (split None) or a split, as YAML names them.

        Files on the hub are left out: they are downloaded when they are read.
        """
        return local(self.named_files(split))

    def named_files(self, split: str | None) -> list[str]:
        """Return all files behind the corpus (split None) or a split, the user's and the hub's."""
        if split is None:
            if isinstance(self.source, OfYours):
                return [self.source.corpus_file]
            sample = self.source.sample if isinstance(self.source, IrdsSource) else None
            return [sample.marked] if sample and sample.marked else []
        entry, adverse = self.source_of(split), self.splits[split].adverse
        laid = self.split_files(self.origin(split)).values()
        named = [name for name in (entry.questions, *laid, *entry.bioasq) if name]
        return [*named, *self.named_files(None), *adverse.synonyms.files()] if adverse else named

    def within(self, name: str) -> roots.Within:
        """Return which files of a folder are read; a source can limit the files of its docs."""
        source = self.source if isinstance(self.source, OfYours) else None
        return source.within if source and name == source.corpus_file else roots.EVERY

    def docpairs_file(self, split: str) -> list[str]:
        """Return the user's file of a split's training triples, if any, as YAML names it."""
        return local(self.named_docpairs(split))

    def named_docpairs(self, split: str) -> list[str]:
        """Return the file of a split's training triples, if any: the user's or the hub's."""
        name = self.splits[split].docpairs
        return [name] if name and isinstance(self.source, InFiles) else []

    def behind_docpairs(self, split: str) -> list[str]:
        """Return the file of a split's training triples, and the files with their texts."""
        named = self.named_docpairs(split)
        return named and [*named, *self.named_files(None), *self.named_files(split)]


def local(names: list[str]) -> list[str]:
    """Return the names of the user's files, without names on the hub."""
    return [name for name in names if not roots.HUB.fullmatch(name)]


class Dataset(Collection):
    """config/datasets/<id>.yaml: a collection, with information for readers.

    `source` and `splits` are required; other keys are for readers, or have defaults.
    """

    title: str = ""
    description: str = ""
    licence: str = ""
    citation: str = ""

    splits: dict[Annotated[Id, Name("split")], Split] = Field(min_length=1)
    own: Own = Field(
        Own(),
        description="its training and tuning splits; default for files: train, and tune or dev",
    )
    windows: Windows | None = None
    downloads: list[Download] = Field([], description="its files, which lists and plans show")
    budgets: base.Budgets = Field(default=[])
    disk_gb: float = Field(0, ge=0, description="estimated GB that ir_datasets keeps on disk")

    @model_validator(mode="before")
    @classmethod
    def _completed(cls, data: object) -> object:
        return completed(data)

    def check(self) -> None:
        super().check()
        tunes = {f"splits.{name}.tune": split.tune for name, split in self.splits.items()}
        for key, tune in {"own.tune": self.own.tune, **tunes}.items():
            if tune in self.splits and self.splits[tune].synthetic:
                raise ValueError(
                    f"{key}: '{tune}' holds generated questions; choose by a split of real ones"
                )
        joined, kept = getattr(self.source, "text_fields", []), getattr(self.source, "fields", [])
        kept = [*(joined if len(joined) > 1 else []), *kept]  # the fields beside the text
        kept = ["body" if name == "text" else name for name in kept]
        kept = FIELDS.get(self.source.kind, kept)
        required = [*self.windows.head, self.windows.body] if self.windows else []
        if lost := [name for name in required if name not in kept]:
            named = ", ".join(kept) or "none"
            raise ValueError(f"windows: docs keep no field {', '.join(lost)}; kept: {named}")

    def missing(self, split: str | None, data: Path, irds_home: Path) -> list[Path]:
        """Return the missing files that the user has to get for the corpus (split None) or a split.

        Files that ir_datasets downloads are not listed. A residual split needs its earlier rounds.
        A split needs the corpus if its judgements or its questions are made from it.
        """
        if split and (self.source_of(split).relevant_by or self.splits[split].synthetic):
            corpus = self.missing(None, data, irds_home)
            return list(dict.fromkeys([*corpus, *self._absent([split], data, irds_home)]))
        read = [split, *self.judged_before(split)] if split else []
        return self._absent(read, data, irds_home)

    def _absent(self, read: list[str], data: Path, irds_home: Path) -> list[Path]:
        splits = {*read, *map(self.origin, read)}
        needing = [d for d in self.downloads if (splits & {*d.splits} if splits else not d.splits)]
        names = [name for each in read or (None,) for name in self.source_files(each)]
        needed = [roots.as_it_lies(data / name) for name in names]
        needed += [
            path
            for download in needing
            if not download.docpairs and (path := download.by_hand(data, irds_home))
        ]
        absent = [path for path in dict.fromkeys(needed) if not path.exists()]
        return [path for path in absent if path.parent not in absent]

    def for_corpus(self) -> dict[str, object]:
        """Return the spec of the corpus: the part of the entry that decides its contents."""
        sample = getattr(self.source, "sample", None)
        return {
            "source": self.source.model_dump(mode="json", exclude={*SIZED_LATER}),
            "editions": [e.model_dump(include={"name", "docs", "about"}) for e in self.editions],
            **({"splits": self._sources(sample.keep, *AFTER)} if sample else {}),
        }

    def for_split(self, name: str) -> dict[str, object]:
        """Return the spec of a split: the part of the entry that decides its queries and qrels."""
        origin = self.origin(name)
        drawn = {n for n, s in self.splits.items() if s.holdout and s.holdout.of == origin}
        pins = [
            e.model_dump(exclude={"doc_bytes": True, "splits": {"__all__": {"docpairs"}}})
            for e in self.editions
        ]
        for pin in pins:
            counts = pin["splits"].items()
            pin["splits"] = {n: count for n, count in counts if n in (name, origin)}
        spec = {**self.for_corpus(), "editions": pins}
        spec["splits"] = self._sources({*drawn, origin, name})
        if sized_later(self.source.kind, origin):
            spec["source"] = self.source.model_dump(mode="json")
        return spec

    def for_docpairs(self, name: str) -> dict[str, object]:
        """Return the spec of a split's training triples: the keys that decide their content."""
        split, pins = self.splits[name].model_dump(mode="json", exclude_defaults=True), []
        for edition in self.editions:
            counts = {n: count for n, count in edition.splits.items() if n == name}
            pin = edition.model_copy(update={"splits": counts})
            pins.append(pin.model_dump(exclude={"doc_bytes"}))
        keys = ["irds", "queries", "qrels", "questions", "docpairs"]
        keys += ["query_field", "bioasq"] if isinstance(self.source, InFiles) else []
        kept = {name: {key: split[key] for key in keys if key in split}}
        return {"source": self.for_corpus()["source"], "splits": kept, "editions": pins}

    def _sources(self, names: Iterable[str], *but: str) -> dict[str, object]:
        # Keys that later stages read; the export does not depend on them.
        apart = {
            "folds",
            "tune",
            "residual_of",
            "remove_query",
            "positive_level",
            "measures",
            "docpairs",
            *but,
        }
        return {
            name: self.splits[name].model_dump(mode="json", exclude=apart, exclude_defaults=True)
            for name in sorted(names)
        }
