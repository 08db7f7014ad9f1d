"""Faults between the entries of config/: undefined names and contradictions.

Usage: `between(registry)`. The schemas check single entries; these rules need several entries.
"""

from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter

from pydantic import BaseModel

from residuum.cli.errors import unknown
from residuum.config import measures
from residuum.config.registry import Registry, SplitId, on_queries
from residuum.config.schema.backbones import Backbone
from residuum.config.schema.base import (
    OWN,
    Name,
    Ref,
    dangling,
    named_for,
    references,
    repeated,
    walk,
)
from residuum.config.schema.datasets import Dataset
from residuum.config.schema.fidelities import Fidelity
from residuum.config.schema.models import (
    Contrastive,
    DualEncoder,
    LexicalVectors,
    OnPairs,
    PairsAlone,
    QuestionGenerator,
    ReleasedEncoder,
)
from residuum.config.schema.pairs import Pairs
from residuum.config.schema.questions import Synthetic
from residuum.config.schema.scales import Config, FromModel, Scale
from residuum.config.schema.systems import (
    CandidatesSystem,
    DenseSystem,
    FunctionSystem,
    FusionSystem,
    HybridSystem,
    LexicalSystem,
    RerankSystem,
)
from residuum.config.schema.training import Rule, StepRule
from residuum.pages.entries import Printed, parts_of
from residuum.pages.kinds import FAULTS

Fault = tuple[str, str]  # key, what is wrong
OF_QUERIES = {"function": "tuned", "rerank": "depth"}  # keys of what is chosen on queries
WITH_NUMBERS = ("row", "column", "series", "panel")  # the parts of a page that hold numbers


def between(registry: Registry) -> list[str]:
    """Return one line for each undefined name and for each contradiction between entries."""
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
    names = list(walk(entry))
    yield from repeated(names)
    for key, mark, value in names:
        if isinstance(mark, Ref) and value not in mark.besides:
            for text in reference_faults(registry, mark, value):
                yield key, text
    yield from ((d.key, unknown(d.kind, d.name, d.known)) for d in dangling(names))


def reference_faults(registry: Registry, ref: Ref, name: str) -> Iterator[str]:
    """Yield the fault of a reference to `name` outside the entry's own file, if it has a fault."""
    kind, folder = ref.to, registry.folder
    if kind == "measure":
        if text := measures.fault(name, ref.kinds):
            yield text
    elif kind == "dataset/split":
        dataset, split = name.split("/")
        if entry := registry.datasets.get(dataset):
            if split not in entry.splits:
                yield unknown("split", split, entry.splits, registry.file("dataset", dataset))
        else:
            yield from reference_faults(registry, Ref("dataset"), dataset)
    elif kind in registry.entries:
        yield from _entry_faults(registry, ref, name)
    elif kind in ("role", "backbone", "reranker", "budget"):
        scales = registry.scales.values()  # a role that only another scale binds is no fault
        if not any(name in getattr(scale, f"{kind}s") for scale in scales):
            known = {bound for scale in scales for bound in getattr(scale, f"{kind}s")}
            named = f"{kind} role" if kind in ("backbone", "reranker") else kind
            yield unknown(named, name, known, f"{kind}s: of a {folder}/scales/*.yaml")
    elif kind == "paper":
        known = {path.parent.name for path in (folder / "papers").glob("*/*.yaml")}
        if name not in known:
            yield unknown(kind, name, known, f"{folder}/papers/{name}/<table>.yaml")


def _entry_faults(registry: Registry, ref: Ref, name: str) -> Iterator[str]:
    """Yield the fault of a reference to an entry that is missing or of an unfitting kind."""
    entries = registry.entries[ref.to]

    def fits(entry: BaseModel) -> bool:
        kind = str(getattr(entry, "kind", ""))
        return kind not in ref.but and kind in (ref.kinds or (kind,))

    if name in entries and fits(entries[name]):
        return
    known = [other for other, entry in entries.items() if fits(entry)]
    if name in entries:
        kind, fitting = getattr(entries[name], "kind", ""), ", ".join(known) or "none"
        yield f"{ref.to} '{name}' is of kind {kind}; fitting: {fitting}"
    elif not registry.may_hold(ref.to, name):  # a faulty entry has its own message
        yield unknown(ref.to, name, known, registry.file(ref.to, name))


def _rules(registry: Registry, entry: BaseModel) -> Iterator[Fault]:
    """Yield the contradictions in an entry, or between it and the entries that it names."""
    if isinstance(entry, Config):
        scale = registry.scale
        made = [isinstance(s, FromModel) for role in scale.backbones for s in scale.starts(role)]
        if entry.encoder and all(made):
            cause = f"scale {entry.scale} makes its backbones itself"
            cure = "leave it out, or take a scale with backbones of a hub or a path, as nfcorpus"
            yield "encoder", f"{entry.encoder} would replace nothing: {cause}; {cure}"
    if isinstance(entry, Scale):
        yield from comparability_faults(registry, entry)
        for role, bound in entry.rerankers.items():
            yield from _seed_faults(registry, f"rerankers.{role}", bound)
    yield from system_faults(registry, entry)
    yield from generator_faults(registry, entry)
    if isinstance(entry, Fidelity):
        vectors = registry.models.get(entry.model)
        if isinstance(vectors, LexicalVectors) and vectors.dimensions:
            text = f"'{entry.model}' is projected already; name a model without dimensions"
            yield "model", text
    if isinstance(entry, ReleasedEncoder) and entry.queries:
        reader = registry.models.get(entry.queries)
        if isinstance(reader, ReleasedEncoder) and reader.queries:
            yield "queries", f"{entry.queries!r} leaves queries to another model; name that one"
        if isinstance(reader, ReleasedEncoder) and (reader.sparse, reader.late) != (
            entry.sparse,
            entry.late,
        ):
            yield "queries", f"{entry.queries!r} has another pooling; give both alike"
        if isinstance(reader, ReleasedEncoder) and reader.precision != entry.precision:
            yield "queries", f"{entry.queries!r} has another precision; give both alike"
    if isinstance(entry, OnPairs):
        yield from mix_faults(registry, entry)
        if (name := entry.negatives.same_as) in registry.models:
            shared = getattr(registry.models[name], "negatives", None)
            pairs_do = isinstance(entry, PairsAlone)  # such a model needs pairs without negatives
            if shared is None or shared.same_as or not (shared.pools or shared.triples or pairs_do):
                yield "negatives.same_as", f"'{name}' has no tuples of its own"
            on = getattr(registry.models[name], "train_on", None)
            if (isinstance(on, dict) or OWN in (on, entry.train_on)) and on != entry.train_on:
                roles = ", ".join(on) if isinstance(on, dict) else on
                text = f"'{name}' is trained on {roles}, so its tuples are not of {entry.train_on}"
                yield "negatives.same_as", text
        on = getattr(
            registry.models.get(named_for(entry, "gate") or ""), "train_on", entry.train_on
        )
        if OWN in (on, entry.train_on) and on != entry.train_on:
            text = f"the gate is trained on {on}, and this model on {entry.train_on}; name one"
            yield "encoder.pooling.gate", text
        for key, rule in entry.training.rules.items():
            yield from ((f"training.{key}", text) for text in _rule_faults(registry, entry, rule))
        lexical = registry.systems.get(entry.negatives.scores or "")
        if isinstance(lexical, LexicalSystem) and (lexical.rm3 or lexical.term_weights):
            text = f"'{entry.negatives.scores}' is not plain BM25, and its scores are stored"
            yield "negatives.scores", text


def _rule_faults(registry: Registry, entry: OnPairs, rule: Rule) -> Iterator[str]:
    """Yield the faults of a rule that chooses a model's learning rate or steps."""
    tried = registry.models.get(rule.of)
    if registry.scale.learning is None:
        text = "trials are judged on the candidates of `learning:`"
        yield f"{text}, which {registry.scale_file} lacks"
    if isinstance(tried, OnPairs) and OWN in (tried.train_on, entry.train_on):
        yield "trials need a role in train_on, not own"
    if isinstance(rule, StepRule) and not isinstance(tried, Contrastive):
        yield f"'{rule.of}' ranks no candidates, so that no curve is drawn of it"
    if isinstance(tried, OnPairs):
        chosen = [key for key, other in tried.training.rules.items() if other != rule]
        if chosen:
            yield f"training.{chosen[0]} of '{rule.of}' has another rule; give it a number"
        elif isinstance(rule, StepRule) and (why := tried.training.why_no_curve()):
            yield f"'{rule.of}': {why}"
    others = {type(r): r for r in registry.trials.values() if r.of == rule.of and r != rule}
    if type(rule) in others:
        yield f"another model tries another rule with '{rule.of}'; give both one rule"


def _page_rules(registry: Registry, page: BaseModel) -> Iterator[Fault]:
    """Yield the faults between a page and other entries, by the rules of the page's kind."""
    if isinstance(page, Printed) and page.kind in FAULTS:
        yield from FAULTS[page.kind](registry, page)


def _seedless(registry: Registry) -> Iterator[str]:
    """Yield systems without a seed that all models and external runs behind them have."""
    for name in registry.systems:
        if not registry.seeds_of(name):
            trained, external = registry.trained_behind(name), registry.external_behind(name)
            behind = [*trained, *(f"{n} has {', '.join(map(str, s))}" for n, s in external.items())]
            text = f"its models and external runs have no seed in common: {'; '.join(behind)}"
            asked = registry.config.seeds
            more = f". `seeds` of the configuration asks for {', '.join(map(str, asked or []))}"
            yield f"{registry.at('system', name)}: {text}{more if asked else ''}"


def _trained_on_residual(registry: Registry) -> Iterator[str]:
    """Yield the models trained on residual splits: docs judged before could become negatives."""
    before = {
        SplitId(name, split): entry.judged_before(split)
        for name, entry in registry.datasets.items()
        for split in entry.splits
    }
    own_splits = [SplitId(name, entry.own.train or "") for name, entry in registry.datasets.items()]
    for name, model in registry.models.items():
        roles = [*model.shares] if isinstance(model, OnPairs) else []
        bound = [split_id for role in roles if (split_id := registry.binding(role))]
        for split_id in own_splits if OWN in roles else bound:
            if earlier := before.get(split_id):
                at = registry.at("model", name, "train_on")
                where = f"{at}: train_on: {'/'.join(split_id)} is residual"
                text = f"docs judged in {', '.join(earlier)} could be its negatives"
                yield f"{where}: {text}. Train on a split that has all judgements"


def _unjudged(registry: Registry) -> Iterator[str]:
    """Yield measures of splits, and of tuning on splits, that lack judgements or answers."""
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
        setting = registry.on_queries(name)
        chosen = setting and setting.measure
        known = on and on.split in getattr(registry.datasets.get(on.dataset), "splits", ())
        if on and known and chosen and (lacking := registry.lacks(on, chosen)):
            text = f"{'/'.join(on)} has no {lacking}, but {chosen} reads them"
            key = f"{OF_QUERIES.get(system.kind, 'interpolation')}.measure"
            yield f"{registry.at('system', name, key)}: {key}: {text}"


def comparability_faults(registry: Registry, scale: Scale) -> Iterator[Fault]:
    """Yield the papers, pages, rows and columns in a scale's `pages` that are not there."""
    pages = {"/".join(parts_of(name)): page for name, page in registry.pages.items()}
    papers = {name.partition("/")[0] for name in pages}
    for name, compares in scale.pages.items():
        key, page = f"pages.{name}", pages.get(name)
        paper, _, short = name.partition("/")
        if name not in papers and page is None and not registry.may_hold("paper", name):
            yield key, unknown("page", name, pages) if short else unknown("paper", paper, papers)
        marks = list(walk(page)) if page else []
        known = {
            part for _, mark, part in marks if isinstance(mark, Name) and mark.kind in WITH_NUMBERS
        }
        for part in compares.but:
            if not page:
                yield f"{key}.but", f"'{part}': only a page has rows and columns"
            elif part not in known:
                yield f"{key}.but", unknown("row or column", part, known)


def system_faults(registry: Registry, entry: BaseModel) -> Iterator[Fault]:
    """Yield the contradictions between a system and its parts; nothing for other entries."""
    if isinstance(entry, FusionSystem):
        for part in dict.fromkeys(part for part, _ in entry.true_scores()):
            system = registry.systems.get(part)
            plain = isinstance(system, LexicalSystem) and not system.rm3
            if system and not plain and not isinstance(system, DenseSystem):
                text = "true_score is computed for dense systems and plain BM25 only, and"
                yield "unretrieved", f"{text} '{part}' is neither; write {part}: minimum"
        measure = entry.interpolation.measure
        if entry.interpolation.grid == "exact" and measure:
            known = not measures.fault(measure, ("judgements", "answers"))
            if known and not measures.of_first(measure):
                have = "as RR@k, Success@k and AnswerAccuracy@k have"
                yield "interpolation.grid", f"{measure} has no exact grid, {have}; list weights"
    if isinstance(entry, RerankSystem):
        yield from _seed_faults(registry, "reranker", entry.reranker)
    if isinstance(entry, CandidatesSystem):
        for first in entry.parts:
            if first.system in registry.systems and registry.external_behind(first.system):
                text = f"'{first.system}' has a run for each seed, and candidates are one list"
                yield "parts", f"{text}; name an external system with one file"
    if isinstance(entry, FusionSystem | FunctionSystem | RerankSystem):
        yield from _nested_folds(registry, entry)
    if isinstance(entry, DenseSystem) and entry.first:
        model = registry.models.get(entry.model)
        if model and not (isinstance(model, DualEncoder | ReleasedEncoder) and model.most == 1):
            text = f"{entry.model} makes no vector for each passage of a doc, or several"
            yield "passages", f"{text}; leave it out"
    if isinstance(entry, HybridSystem):
        for part in entry.parts:
            searched = registry.systems.get(part)
            if isinstance(searched, DenseSystem) and searched.search:
                text = f"'{part}' has a search of its own, and a hybrid compares all docs"
                yield "parts", f"{text}: name one without `search`"
        measure = entry.interpolation.measure
        if measure and measures.reads(measure) == "answers":
            yield (
                "interpolation.measure",
                f"{measure} reads answers, which a hybrid search does not; write Success@k",
            )


def _seed_faults(registry: Registry, key: str, reranker: object) -> Iterator[Fault]:
    """Yield the fault of a seed that is given for a released encoder, which has none."""
    given = isinstance(reranker, FromModel) and "seed" in reranker.model_fields_set
    name = reranker.model if isinstance(reranker, FromModel) else ""
    if given and isinstance(registry.models.get(name), ReleasedEncoder):
        yield key, f"seed: {name} is not trained here; leave it out"


def _nested_folds(
    registry: Registry, entry: FusionSystem | FunctionSystem | RerankSystem
) -> Iterator[Fault]:
    """Yield parts that choose by folds of the searched split below a choice by drawn folds."""
    setting = on_queries(entry)
    if setting is None or not setting.drawn:
        return
    key = f"{OF_QUERIES.get(entry.kind, 'interpolation')}.folds"
    parts = [entry.first_stage] if isinstance(entry, RerankSystem) else entry.parts
    for part in (name for name in parts if name in registry.systems):
        for name in registry.made_from(part):
            if _chooses_by_folds(registry, name):
                text = f"'{name}' chooses by folds of the searched split, too: its scores of the "
                text += "other folds have seen the fold held out. Fix its value, or give tune_on"
                yield key, text


def _chooses_by_folds(registry: Registry, system: str) -> bool:
    """Say whether a system itself chooses a value by drawn folds of the split that it searches."""
    entry, setting = registry.systems[system], registry.on_queries(system)
    if isinstance(entry, LexicalSystem):
        return entry.tunes_rm3
    return bool(setting and setting.drawn)


def generator_faults(registry: Registry, entry: BaseModel) -> Iterator[Fault]:
    """Yield the backbone roles that are bound to a model of the wrong kind for an entry."""
    for key, mark, role in walk(entry):
        if not (isinstance(mark, Ref) and mark.to == "backbone"):
            continue
        writes = mark.use == "generator"
        for start in (s for s in registry.scale.starts(role) if isinstance(s, FromModel)):
            model = registry.models.get(start.model)
            if model and isinstance(model, QuestionGenerator) != writes:
                need = "a question-generator" if writes else "an encoder"
                text = f"which is of kind {model.kind}, and {need} is needed"
                yield key, f"{registry.scale_file} has {start.model} play {role}, {text}"
    if isinstance(entry, QuestionGenerator):
        yield from _too_large(registry, entry, entry)
    if isinstance(entry, Dataset):
        yield from _too_long(registry, entry)


def _too_large(
    registry: Registry, generator: QuestionGenerator, asks: QuestionGenerator | Synthetic
) -> Iterator[Fault]:
    """Yield the lengths and layers of a generator that exceed those of its backbone.

    Only a backbone that the graph makes is checked.
    """
    for start in registry.scale.starts(generator.backbone):
        shape = registry.models.get(start.model) if isinstance(start, FromModel) else None
        if not (isinstance(start, FromModel) and isinstance(shape, Backbone)):
            continue
        limits = {"doc_length": shape.max_length, "question_length": shape.max_length}
        for key, limit in {**limits, "layers": shape.layers}.items():
            if (given := getattr(asks, key, 0)) > limit:
                has = f"max_length {limit}" if key in limits else f"{limit} layers"
                yield key, f"{given}, but {start.model}, the start at this scale, has {has}"


def _too_long(registry: Registry, dataset: Dataset) -> Iterator[Fault]:
    """Yield the lengths of bound synthetic splits that exceed those of the generator's backbone.

    A split is bound if a role of the scale names it.
    """
    name = next(name for name, entry in registry.datasets.items() if entry is dataset)
    for split, entry in dataset.splits.items():
        how = entry.synthetic
        if how is None or f"{name}/{split}" not in registry.scale.roles.values():
            continue
        for start in registry.scale.starts(how.generator):
            writer = registry.models.get(start.model) if isinstance(start, FromModel) else None
            if isinstance(writer, QuestionGenerator):
                for key, text in _too_large(registry, writer, how):
                    yield f"splits.{split}.synthetic.{key}", text


def mix_faults(registry: Registry, model: Pairs) -> Iterator[tuple[str, str]]:
    """Yield the fault of a mix whose roles are bound to two collections or twice to one split.

    All docs of a batch are negatives of its queries, so they come from one corpus. A role that the
    scale leaves unbound is no fault.
    """
    bound = {role: split_id for role in model.shares if (split_id := registry.binding(role))}
    named = ", ".join(f"{role} is {'/'.join(split_id)}" for role, split_id in bound.items())
    cure = f"bind them to splits of one, each to its own: {registry.scale_file}: roles"
    if len({split_id.dataset for split_id in bound.values()}) > 1:
        yield "train_on", f"a mix is of one collection, but {named}; {cure}"
    elif len({*bound.values()}) < len(bound):
        yield "train_on", f"a mix has a split once, but {named}; {cure}"


def cycles(registry: Registry) -> Iterator[str]:
    """Yield the datasets, models and systems that depend on themselves at this scale."""
    behind = {name: registry.mined_models(name) for name in registry.models}
    for name, model in registry.models.items():
        roles = [role for _, role in references(model, "backbone")]
        starts = [start for role in roles for start in registry.scale.starts(role)]
        behind[name] += [start.model for start in starts if isinstance(start, FromModel)]
        behind[name] += filter(None, [named_for(model, "gate")])
        behind[name] += _writers(registry, name)
    parts = {name: registry.parts(name) for name in registry.systems}
    sources = {name: _sources(registry, name) for name in registry.datasets}
    for kind, graph in (("dataset", sources), ("model", behind), ("system", parts)):
        try:
            TopologicalSorter(graph).prepare()
        except CycleError as error:
            name, *others = error.args[1]
            text = f"at scale {registry.config.scale} the {kind} would be made from itself"
            yield f"{registry.at(kind, name)}: {text}: {' -> '.join([name, *others])}"


def _writers(registry: Registry, model: str) -> list[str]:
    """Return the question generators that write a model's training splits."""
    entry = registry.models[model]
    roles = entry.shares if isinstance(entry, OnPairs) else {}
    own_splits = [SplitId(name, entry.own.train or "") for name, entry in registry.datasets.items()]
    split_ids = own_splits if OWN in roles else filter(None, map(registry.binding, roles))
    splits = {name: entry.splits for name, entry in registry.datasets.items()}
    known = (
        split_id for split_id in split_ids if split_id.split in splits.get(split_id.dataset, ())
    )
    starts = map(registry.generator, known)
    return [start.model for start in starts if isinstance(start, FromModel)]


def _sources(registry: Registry, name: str) -> list[str]:
    """Return the datasets that `name` depends on: its source, and its tokenizer's corpora."""
    dataset = registry.datasets[name]
    tokenizers = (role for _, role in references(dataset.source, "backbone"))
    starts = (start for role in tokenizers for start in registry.scale.starts(role))
    models = [registry.models.get(s.model) for s in starts if isinstance(s, FromModel)]
    entries = [dataset, *(model for model in models if model is not None)]
    roles = (role for entry in entries for _, role in references(entry, "role"))
    return [split_id.dataset for role in roles if (split_id := registry.binding(role))]
