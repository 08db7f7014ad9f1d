"""Faults between the entries of config/: names that nothing defines, entries that contradict.

Called by `residuum.config.loading`. What a key may name stands in the schemas; here stand the few
rules that no single key can say. Must not know paths below results/ or any stage.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel

from residuum.cli.errors import unknown
from residuum.config import measures
from residuum.config.references import references, walk
from residuum.config.registry import Place, Registry
from residuum.config.schema.base import OWN, Name, Ref
from residuum.config.schema.models import Negatives, TermWeights
from residuum.config.schema.papers import Characteristics, Figure, Table, parts_of
from residuum.config.schema.scales import Config as ConfigSchema
from residuum.config.schema.scales import FromModel, Scale
from residuum.config.schema.systems import DenseSystem, FusionSystem, LexicalSystem

Fault = tuple[str, str]  # key, what is wrong
BOUND = {
    "role": "role",
    "backbone": "backbone role",
    "reranker": "reranker role",
    "budget": "budget",
}


class Config(NamedTuple):
    """All that a name may refer to."""

    registry: Registry
    scales: list[Scale]  # all of them: a role of another scale is no fault
    folder: Path

    def entries(self) -> dict[str, Mapping[str, BaseModel]]:
        """Return the entries that a key may name, by what names them."""
        datasets, models = self.registry.datasets, self.registry.models
        systems, tests = self.registry.systems, self.registry.tests
        return {"dataset": datasets, "model": models, "system": systems, "tests": tests}

    def file(self, kind: str, name: str) -> str:
        """Return the file of an entry; with the scale's, if that pins a dataset's counts."""
        file = f"{self.folder}/{kind.removesuffix('s')}s/{name}.yaml"
        pinned = kind == "dataset" and name in self.registry.scale.editions
        return f"{file} with editions of {self.registry.scale_file}" if pinned else file

    def files(self) -> Iterator[tuple[str, BaseModel]]:
        """Yield every entry that takes part in this scale, under the name of its file."""
        yield "config", self.registry.config
        yield self.file("scale", self.registry.config.scale), self.registry.scale
        for kind, entries in self.entries().items():
            yield from ((self.file(kind, name), entry) for name, entry in entries.items())
        for page, entry in self.registry.pages.items():
            paper, name = parts_of(page)
            yield f"{self.folder}/papers/{paper}/{name}.yaml", entry


def between(registry: Registry, scales: list[Scale], folder: Path) -> list[str]:
    """Return one line per name that nothing defines, and per contradiction between entries."""
    config = Config(registry, scales, folder)
    faults = [
        f"{file}: {key}: {text}"
        for file, entry in config.files()
        for key, text in [*_names(config, entry), *_rules(registry, entry)]
    ]
    return [*faults, *_cycles(config), *_seedless(config), *_unjudged(config)]


def _names(config: Config, entry: BaseModel) -> Iterator[Fault]:
    """Yield the key and the fault of each reference, and of each name that is given twice."""
    own: dict[str, list[str]] = {}
    for named in (found := list(walk(entry))):
        if isinstance(named.mark, Name):
            own.setdefault(named.mark.of, []).append(named.value)
            if own[named.mark.of].count(named.value) == 2:
                yield named.key.partition(".")[0], f"'{named.value}' is given twice"
    refs = [(key, mark, value) for key, mark, value in found if isinstance(mark, Ref)]
    for key, ref, value in refs:
        if value not in ref.besides and (fault := _fault(config, ref, value, own)):
            yield key, fault


def _fault(config: Config, ref: Ref, name: str, own: Mapping[str, list[str]]) -> str | None:
    """Return what is wrong with a name; one of the same file is looked for where there are such."""
    folder = config.folder
    if ref.to == "measure":
        return measures.fault(name, ref.kinds, ref.use == "tuning")
    if ref.to == "dataset/split":
        return _split_fault(config, *name.split("/"))
    if ref.to in config.entries():
        return _entry_fault(config, ref, name)
    if ref.to in BOUND:
        known = {bound for scale in config.scales for bound in getattr(scale, f"{ref.to}s")}
        add = f"{ref.to}s: of a {folder}/scales/*.yaml"
        return None if name in known else unknown(BOUND[ref.to], name, known, add)
    if ref.to == "paper":
        papers = {path.parent.name for path in (folder / "papers").glob("*/*.yaml")}
        add = f"{folder}/papers/{name}/<table>.yaml"
        return None if name in papers else unknown("paper", name, papers, add)
    here = own.get(ref.to, [name])
    return None if name in here else unknown(ref.to, name, here)


def _entry_fault(config: Config, ref: Ref, name: str) -> str | None:
    """Return what is wrong with an entry's name; one whose file has faults of its own passes."""
    entries = config.entries()[ref.to]
    kinds = {n: str(getattr(entry, "kind", "")) for n, entry in entries.items()}
    fitting = [n for n, k in kinds.items() if k not in ref.but and k in (ref.kinds or (k,))]
    file = config.file(ref.to, name)
    if name in fitting or (name not in entries and Path(file).exists()):
        return None
    if name not in entries:
        return unknown(ref.to, name, fitting, file)
    listed = ", ".join(fitting) or "none"
    return f"{ref.to} '{name}' is of kind {kinds[name]}; fitting: {listed}"


def _split_fault(config: Config, dataset: str, split: str) -> str | None:
    entry = config.registry.datasets.get(dataset)
    if entry is None:
        return _entry_fault(config, Ref("dataset"), dataset)
    add = config.file("dataset", dataset)
    return None if split in entry.splits else unknown("split", split, entry.splits, add)


def _rules(registry: Registry, entry: BaseModel) -> Iterator[Fault]:
    """Yield what contradicts within an entry, or between it and what it names."""
    if isinstance(entry, ConfigSchema):
        yield from _replaced_encoder(registry)
    elif isinstance(entry, FusionSystem):
        yield from _true_scores(registry, entry)
    elif isinstance(entry, Table):
        yield from [*_markers(entry), *_compared(registry, entry)]
    elif isinstance(entry, Characteristics):
        yield from _markers(entry)
    elif isinstance(entry, Figure):
        yield from _figure_tests(registry, entry)
    elif negatives := getattr(entry, "negatives", None):
        yield from _tuples(registry, entry, negatives)


def _replaced_encoder(registry: Registry) -> Iterator[Fault]:
    config, bindings = registry.config, registry.scale.backbones.values()
    if config.encoder and all(isinstance(bound, FromModel) for bound in bindings):
        yield (
            "encoder",
            f"{config.encoder} would replace nothing: scale {config.scale} makes its backbones "
            "itself. Leave it out, or take a scale with backbones of a hub or a path, as nfcorpus",
        )


def _true_scores(registry: Registry, system: FusionSystem) -> Iterator[Fault]:
    for part in dict.fromkeys(part for part, _ in system.true_scores()):
        entry = registry.systems.get(part)
        plain = isinstance(entry, LexicalSystem) and not entry.expands
        if entry and not plain and not isinstance(entry, DenseSystem):
            yield (
                "unretrieved",
                "true_score is computed for dense systems and plain BM25 only, and "
                f"'{part}' is neither; write {part}: minimum",
            )


def _tuples(registry: Registry, model: BaseModel, negatives: Negatives) -> Iterator[Fault]:
    """Yield what is wrong with whose scores, or whose tuples, a model learns from."""
    if (name := negatives.same_as) in registry.models:
        own: Negatives | None = getattr(registry.models[name], "negatives", None)
        pairs_do = isinstance(model, TermWeights)  # pairs alone are all that it needs
        if own is None or own.same_as or not (own.pools or pairs_do):
            yield "negatives.same_as", f"'{name}' has no tuples of its own"
        on = [getattr(entry, "train_on", None) for entry in (model, registry.models[name])]
        if OWN in on and on[0] != on[1]:
            text = f"'{name}' is trained on {on[1]}, not on {on[0]}, whose tuples would be needed"
            yield "negatives.same_as", text
    lexical = registry.systems.get(negatives.scores or "")
    if isinstance(lexical, LexicalSystem) and (lexical.expands or lexical.term_weights):
        text = f"'{negatives.scores}' is not plain BM25, and its scores are stored"
        yield "negatives.scores", text


def _markers(page: Table | Characteristics) -> Iterator[Fault]:
    """Yield markers of reported cells that no row of the page explains."""
    below = {row.id for row in page.rows if getattr(row, "below", None)}
    known = {getattr(row, "index", None) for row in page.rows}
    for row, column, cell in page.cells():
        if cell.below and row not in below:
            yield f"reported.{row}.{column}", "an arrow, but the row has no `below:`"
        for index in sorted(set(cell.beats) - known):
            yield f"reported.{row}.{column}", f"no row has the index {index}"


def _compared(registry: Registry, table: Table) -> Iterator[Fault]:
    """Yield what is wrong with which rows a table's tests compare, and with claims about others."""
    if table.tests not in registry.tests:
        return
    some = registry.tests[table.tests].compare == "with_baselines"
    if some != bool(table.baselines):
        need = "name rows in `baselines:`" if some else "compare all pairs; drop `baselines:`"
        yield "tests", f"{table.tests}: its tests {need}"
    names = {row.index: row.id for row in table.rows}
    below = {row.id: row.below for row in table.rows}
    for row, column, cell in table.cells() if some and table.baselines else ():
        for other in [*map(names.get, cell.beats), below.get(row) if cell.below else None]:
            if other and not {row, other} & set(table.baselines):
                text = f"a marker about {other}, which is not in `baselines:`"
                yield f"reported.{row}.{column}", text


def _figure_tests(registry: Registry, figure: Figure) -> Iterator[Fault]:
    tests = registry.tests.get(figure.tests)
    if tests and (tests.compare != "with_baselines" or tests.family == "paper"):
        yield (
            "tests",
            "a figure compares with its first series only, and is not in its paper's family; "
            f"config/tests/{figure.tests}.yaml needs `compare: with_baselines` and "
            "`family: column` or `table`",
        )


def _cycles(config: Config) -> Iterator[str]:
    """Yield the models and systems that, at this scale, would be made from themselves."""
    registry, scale = config.registry, config.registry.config.scale
    steps: dict[str, Callable[[str], list[str]]] = {
        "model": lambda name: _made_from(registry, name),
        "system": registry.parts,
    }
    for kind, step in steps.items():
        for name in config.entries()[kind]:
            reached = step(name)
            for other in reached:
                reached += [further for further in step(other) if further not in reached]
            if name in reached:
                file = config.file(kind, name)
                yield f"{file}: at scale {scale} the {kind} would be made from itself"


def _made_from(registry: Registry, name: str) -> list[str]:
    """Return the models behind a model: what it starts from, and whose errors it learns from."""
    if name not in registry.models:
        return []
    bindings = registry.scale.backbones
    starts = [bindings.get(role) for _, role in references(registry.models[name], "backbone")]
    made = [bound.model for bound in starts if isinstance(bound, FromModel)]
    return [*made, *registry.mined_models(name)]


def _seedless(config: Config) -> Iterator[str]:
    for name in config.registry.systems:
        if not config.registry.seeds_of(name):
            models = ", ".join(config.registry.trained_behind(name))
            yield f"{config.file('system', name)}: its models have no seed in common: {models}"


def _unjudged(config: Config) -> Iterator[str]:
    """Yield the measures of splits without the judgements, or the answers, that they read."""
    for dataset, entry in config.registry.datasets.items():
        for split in entry.splits:
            given = {"answers": entry.answered(split), "judgements": entry.judged(split)}
            for measure in config.registry.measures(Place(dataset, split)):
                if not given[read := measures.reads(measure)]:
                    lacking = "answers" if read == "answers" else "public judgements"
                    yield (
                        f"{config.file('dataset', dataset)}: splits.{split} has no {lacking}, but "
                        f"its measures or a table's column ask for {measure}"
                    )
