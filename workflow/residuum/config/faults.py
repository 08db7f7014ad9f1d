"""Faults between the entries of config/: names that nothing defines, entries that contradict.

Called by `residuum.config.loading`. What a key may name is said in the schemas; here are the few
rules that no single key can say. Must not know paths below results/ or any stage.
"""

from collections.abc import Iterable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from pydantic import BaseModel

from residuum.cli.errors import unknown
from residuum.config import measures
from residuum.config.registry import Place, Registry
from residuum.config.schema.base import Name, Ref, references, walk
from residuum.config.schema.models import Negatives, TermWeights
from residuum.config.schema.papers import Characteristics, Figure, Table, parts_of
from residuum.config.schema.scales import Config, FromModel
from residuum.config.schema.systems import DenseSystem, FusionSystem, LexicalSystem

Fault = tuple[str, str]  # key, what is wrong
BOUND = ("role", "backbone", "reranker", "budget")  # names that scales bind


def between(registry: Registry) -> list[str]:
    """Return one line per name that nothing defines, and per contradiction between entries."""
    faults = [
        f"{file}: {key}: {text}"
        for file, entry in _files(registry)
        for key, text in [*_names(registry, entry), *_rules(registry, entry)]
    ]
    return [*faults, *_cycles(registry), *_seedless(registry), *_unjudged(registry)]


def _files(registry: Registry) -> Iterator[tuple[str, BaseModel]]:
    """Yield every entry that takes part in this scale, under the name of its file."""
    yield "config", registry.config
    yield registry.file("scale", registry.config.scale), registry.scale
    for kind, entries in registry.entries.items():
        yield from ((registry.file(kind, name), entry) for name, entry in entries.items())
    for page, entry in registry.pages.items():
        yield registry.file("paper", "/".join(parts_of(page))), entry


def _names(registry: Registry, entry: BaseModel) -> Iterator[Fault]:
    """Yield the key and the fault of each reference, and of each name that is given twice."""
    named = list(walk(entry))
    own: dict[str, list[str]] = {}
    for key, mark, value in named:
        if isinstance(mark, Name):
            own.setdefault(mark.of, []).append(value)
            if own[mark.of].count(value) == 2:
                yield key.partition(".")[0], f"'{value}' is given twice"
    for key, mark, value in named:
        if isinstance(mark, Ref) and value not in mark.besides:
            for text in _reference_faults(registry, mark, value, own):
                yield key, text


def _reference_faults(
    registry: Registry, ref: Ref, name: str, own: Mapping[str, list[str]]
) -> Iterator[str]:
    """Yield what is wrong with a name; one of its own file may be any if the file names none."""
    kind, folder, add = ref.to, registry.folder, ""
    known: Iterable[str]
    if kind == "measure":
        if text := measures.fault(name, ref.kinds, ref.use == "tuning"):
            yield text
        return
    if kind == "dataset/split":
        dataset, name = name.split("/")
        if dataset not in registry.datasets:
            yield from _reference_faults(registry, Ref("dataset"), dataset, {})
            return
        kind, known = "split", registry.datasets[dataset].splits
        add = registry.file("dataset", dataset)
    elif kind in registry.entries:
        entries, add = registry.entries[kind], registry.file(kind, name)
        kinds = {n: str(getattr(entry, "kind", "")) for n, entry in entries.items()}
        known = [n for n, k in kinds.items() if k not in ref.but and k in (ref.kinds or (k,))]
        if name in entries and name not in known:
            fitting = ", ".join(known) or "none"
            yield f"{kind} '{name}' is of kind {kinds[name]}; fitting: {fitting}"
        if name in entries or Path(add).exists():  # a broken file has faults of its own
            return
    elif kind in BOUND:
        known = {
            bound for scale in registry.scales.values() for bound in getattr(scale, f"{kind}s")
        }
        add = f"{kind}s: of a {folder}/scales/*.yaml"
        kind = f"{kind} role" if kind in ("backbone", "reranker") else kind
    elif kind == "paper":
        known = {path.parent.name for path in (folder / "papers").glob("*/*.yaml")}
        add = f"{folder}/papers/{name}/<table>.yaml"
    else:
        known = own.get(kind, [name])
    if name not in known:
        yield unknown(kind, name, known, add)


def _rules(registry: Registry, entry: BaseModel) -> Iterator[Fault]:
    """Yield what contradicts within an entry, or between it and what it names."""
    if isinstance(entry, Config):
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
        cause = f"scale {config.scale} makes its backbones itself"
        cure = "leave it out, or take a scale with backbones of a hub or a path, as nfcorpus"
        yield "encoder", f"{config.encoder} would replace nothing: {cause}; {cure}"


def _true_scores(registry: Registry, system: FusionSystem) -> Iterator[Fault]:
    for part in dict.fromkeys(part for part, _ in system.true_scores()):
        entry = registry.systems.get(part)
        plain = isinstance(entry, LexicalSystem) and not entry.expands
        if entry and not plain and not isinstance(entry, DenseSystem):
            text = "true_score is computed for dense systems and plain BM25 only, and "
            yield "unretrieved", f"{text}'{part}' is neither; write {part}: minimum"


def _tuples(registry: Registry, model: BaseModel, negatives: Negatives) -> Iterator[Fault]:
    """Yield what is wrong with whose scores, or whose tuples, a model learns from."""
    if (name := negatives.same_as) in registry.models:
        own: Negatives | None = getattr(registry.models[name], "negatives", None)
        pairs_do = isinstance(model, TermWeights)  # pairs alone are all that it needs
        if own is None or own.same_as or not (own.pools or pairs_do):
            yield "negatives.same_as", f"'{name}' has no tuples of its own"
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
        cause = "a figure compares with its first series only, and is not in its paper's family"
        cure = "needs `compare: with_baselines` and `family: column` or `table`"
        yield "tests", f"{cause}; {registry.file('tests', figure.tests)} {cure}"


def _cycles(registry: Registry) -> Iterator[str]:
    """Yield the models and systems that, at this scale, would be made from themselves."""
    graphs = {
        "model": {name: _made_from(registry, name) for name in registry.models},
        "system": {name: registry.parts(name) for name in registry.systems},
    }
    for kind, graph in graphs.items():
        try:
            TopologicalSorter(graph).prepare()
        except CycleError as error:
            name, *others = error.args[1]
            text = f"at scale {registry.config.scale} the {kind} would be made from itself"
            yield f"{registry.file(kind, name)}: {text}: {' from '.join([name, *others])}"


def _made_from(registry: Registry, name: str) -> list[str]:
    """Return the models behind a model: what it starts from, and whose errors it learns from."""
    bindings = registry.scale.backbones
    starts = [bindings.get(role) for _, role in references(registry.models[name], "backbone")]
    made = [bound.model for bound in starts if isinstance(bound, FromModel)]
    return [*made, *registry.mined_models(name)]


def _seedless(registry: Registry) -> Iterator[str]:
    for name in registry.systems:
        if not registry.seeds_of(name):
            models = ", ".join(registry.trained_behind(name))
            yield f"{registry.file('system', name)}: its models have no seed in common: {models}"


def _unjudged(registry: Registry) -> Iterator[str]:
    """Yield the measures of splits without the judgements, or the answers, that they read."""
    for dataset, entry in registry.datasets.items():
        for split in entry.splits:
            given = {"answers": entry.answered(split), "judgements": entry.judged(split)}
            for measure in registry.measures(Place(dataset, split)):
                if not given[read := measures.reads(measure)]:
                    lacking = "answers" if read == "answers" else "public judgements"
                    text = f"but its measures or a table's column ask for {measure}"
                    file = registry.file("dataset", dataset)
                    yield f"{file}: splits.{split} has no {lacking}, {text}"
