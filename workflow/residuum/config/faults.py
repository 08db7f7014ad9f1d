"""Faults between the entries of config/: names that nothing defines, entries that contradict.

What a key may name is said in the schemas; these are the few rules that no single key can say.
"""

from collections.abc import Iterable, Iterator, Mapping

from pydantic import BaseModel

from residuum.cli.errors import unknown
from residuum.config import measures
from residuum.config.bindings import SplitId
from residuum.config.cycles import cycles
from residuum.config.generators import generator_faults
from residuum.config.mixes import mix_faults
from residuum.config.registry import Registry
from residuum.config.schema.base import OWN, Name, Ref, named_for, repeated, walk
from residuum.config.schema.fidelities import Fidelity
from residuum.config.schema.models import LexicalVectors, OnPairs, PairsAlone
from residuum.config.schema.scales import Config, FromModel
from residuum.config.schema.systems import FusionSystem, HybridSystem, LexicalSystem
from residuum.config.schema.training import RateGrid
from residuum.config.systems import system_faults
from residuum.pages.entries import Printed, parts_of
from residuum.pages.kinds import FAULTS

Fault = tuple[str, str]  # key, what is wrong


def between(registry: Registry) -> list[str]:
    """Return one line per name that nothing defines, and per contradiction between entries."""
    written: list[tuple[str, str, BaseModel]] = [("config", "", registry.config)]
    for kind, entries in registry.entries.items():
        written += [(kind, name, entry) for name, entry in entries.items()]
    for name, page in registry.pages.items():
        written.append(("paper", "/".join(parts_of(name)), page))
    faults = [
        f"{registry.at(kind, name, key) if name else kind}: {key}: {text}"
        for kind, name, entry in written
        for rules in (_names, _rules, _page_rules)
        for key, text in rules(registry, entry)
    ]
    whole = (cycles, _seedless, _unjudged, _trained_on_residual)
    return [*faults, *(text for rule in whole for text in rule(registry))]


def _names(registry: Registry, entry: BaseModel) -> Iterator[Fault]:
    """Yield the key and the fault of each reference, and of each name that is given twice."""
    yield from repeated(entry)
    named = list(walk(entry))
    own: dict[str, list[str]] = {}
    for _, mark, value in named:
        if isinstance(mark, Name):
            own.setdefault(mark.of, []).append(value)
    for key, mark, value in named:
        if isinstance(mark, Ref) and value not in mark.besides:
            for text in reference_faults(registry, mark, value, own):
                yield key, text


def reference_faults(
    registry: Registry, ref: Ref, name: str, own: Mapping[str, list[str]]
) -> Iterator[str]:
    """Yield what is wrong with a name; one of its own file may be any if the file names none."""
    kind, folder, add = ref.to, registry.folder, ""
    known: Iterable[str]
    if kind == "measure":
        if text := measures.fault(name, ref.kinds):
            yield text
        return
    if kind == "dataset/split":
        dataset, name = name.split("/")
        if dataset not in registry.datasets:
            yield from reference_faults(registry, Ref("dataset"), dataset, {})
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
        if name in entries or registry.may_hold(kind, name):  # a broken one has its own faults
            return
    elif kind in ("role", "backbone", "reranker", "budget"):
        scales = registry.scales.values()  # all of them: a role of another scale is no fault
        known = {bound for scale in scales for bound in getattr(scale, f"{kind}s")}
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
        scale = registry.scale
        made = [isinstance(s, FromModel) for role in scale.backbones for s in scale.starts(role)]
        if entry.encoder and all(made):
            cause = f"scale {entry.scale} makes its backbones itself"
            cure = "leave it out, or take a scale with backbones of a hub or a path, as nfcorpus"
            yield "encoder", f"{entry.encoder} would replace nothing: {cause}; {cure}"
    yield from system_faults(registry, entry)
    yield from generator_faults(registry, entry)
    if isinstance(entry, Fidelity):
        vectors = registry.models.get(entry.model)
        if isinstance(vectors, LexicalVectors) and vectors.dimensions:
            text = f"'{entry.model}' is projected already; name a model without dimensions"
            yield "model", text
    if isinstance(entry, OnPairs):
        yield from mix_faults(registry, entry)
        if (name := entry.negatives.same_as) in registry.models:
            shared = getattr(registry.models[name], "negatives", None)
            pairs_do = isinstance(entry, PairsAlone)  # pairs alone are all that it needs
            if shared is None or shared.same_as or not (shared.pools or shared.triples or pairs_do):
                yield "negatives.same_as", f"'{name}' has no tuples of its own"
            on = getattr(registry.models[name], "train_on", None)
            if (isinstance(on, dict) or OWN in (on, entry.train_on)) and on != entry.train_on:
                of = ", ".join(on) if isinstance(on, dict) else on
                text = f"'{name}' is trained on {of}, so its tuples are not of {entry.train_on}"
                yield "negatives.same_as", text
        on = getattr(
            registry.models.get(named_for(entry, "gate") or ""), "train_on", entry.train_on
        )
        if OWN in (on, entry.train_on) and on != entry.train_on:
            text = f"it is trained on {on}, and what it gates on {entry.train_on}"
            yield "encoder.pooling.gate", text
        if isinstance(grid := entry.training.learning_rate, RateGrid):
            tried = registry.models.get(grid.of)
            if registry.scale.learning is None:
                text = "a grid is tried on the candidates of `learning:`"
                yield "training.learning_rate", f"{text}, which {registry.scale_file} lacks"
            if isinstance(tried, OnPairs) and OWN in (tried.train_on, entry.train_on):
                yield "training.learning_rate", "a grid is tried on a role's pairs, not on own"
            others = [g for g, _ in registry.trials.values() if g.of == grid.of and g != grid]
            if others:
                yield "training.learning_rate", f"another model has '{grid.of}' try another grid"
        lexical = registry.systems.get(entry.negatives.scores or "")
        if isinstance(lexical, LexicalSystem) and (lexical.rm3 or lexical.term_weights):
            text = f"'{entry.negatives.scores}' is not plain BM25, and its scores are stored"
            yield "negatives.scores", text


def _page_rules(registry: Registry, page: BaseModel) -> Iterator[Fault]:
    """Yield what is wrong between a page and other entries, as its kind tells."""
    if isinstance(page, Printed) and page.kind in FAULTS:
        yield from FAULTS[page.kind](registry, page)


def _seedless(registry: Registry) -> Iterator[str]:
    for name in registry.systems:
        if not registry.seeds_of(name):
            models = ", ".join(registry.trained_behind(name))
            yield f"{registry.at('system', name)}: its models have no seed in common: {models}"


def _trained_on_residual(registry: Registry) -> Iterator[str]:
    """Yield the models trained on residual splits, whose relevant docs could become negatives."""
    before = {
        SplitId(name, split): entry.judged_before(split)
        for name, entry in registry.datasets.items()
        for split in entry.splits
    }
    own = [SplitId(name, entry.own.train or "") for name, entry in registry.datasets.items()]
    for name, model in registry.models.items():
        roles = [*model.shares] if isinstance(model, OnPairs) else []
        bound = [split_id for role in roles if (split_id := registry.binding(role))]
        for split_id in own if OWN in roles else bound:
            if earlier := before.get(split_id):
                at = registry.at("model", name, "train_on")
                where = f"{at}: train_on: {'/'.join(split_id)} is residual"
                text = f"docs judged in {', '.join(earlier)} could be its negatives"
                yield f"{where}: {text}. Train on a split that has all judgements"


def _unjudged(registry: Registry) -> Iterator[str]:
    """Yield measures of splits, and of what is tuned on them, without what they read."""
    for dataset, entry in registry.datasets.items():
        for split in entry.splits:
            for measure in registry.measures(split_id := SplitId(dataset, split)):
                if lacking := registry.lacks(split_id, measure):
                    text = f"but its measures or a table's column ask for {measure}"
                    at = registry.at("dataset", dataset, f"splits.{split}")
                    yield f"{at}: splits.{split} has no {lacking}, {text}"
    for name, system in registry.systems.items():
        role = registry.tuned_on(name)
        on = registry.binding(role) if role and role != OWN else None
        chosen = isinstance(system, FusionSystem | HybridSystem) and system.interpolation.measure
        known = on and on.split in getattr(registry.datasets.get(on.dataset), "splits", ())
        if on and known and chosen and (lacking := registry.lacks(on, chosen)):
            text = f"{'/'.join(on)} has no {lacking}, but {chosen} reads them"
            at = registry.at("system", name, "interpolation.measure")
            yield f"{at}: interpolation.measure: {text}"
