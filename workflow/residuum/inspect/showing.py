"""Show a config/ entry at a scale: each value, its origin, and who names the entry.

Command: `residuum show model clear --scale mini`. Loading config/ records the file and line of
every key (`residuum.config.origins`), so this module reads no file again.
"""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel

from residuum.artefacts import yamls
from residuum.artefacts.yamls import Keys, Spot, spots_of
from residuum.cli.errors import ResiduumError, not_bound, unknown
from residuum.config import entries, loading, origins
from residuum.config.origins import Node
from residuum.config.registry import FOLDERS, Registry
from residuum.config.schema.base import OWN, Ref, walk
from residuum.config.schema.models import OnPairs, ReleasedEncoder
from residuum.config.schema.scales import ByDataset, FromHub, FromPath
from residuum.config.schema.training import RateGrid, StepRule
from residuum.config.specs import FixedId
from residuum.inspect.text import by_reason
from residuum.pages.entries import page_id, parts_of
from residuum.wiring.availability import all_available, why_no_export, why_no_model, why_unavailable
from residuum.wiring.pages import gaps

KINDS = ["config", "scale", "dataset", "model", "system", "page"]
KINDS += ["tests", "grouping", "fidelity", "sweep"]
ENTRIES = FOLDERS | {"config": "config", "page": "pages"}  # by kind, as a registry calls them
BOUND = {"role": "roles", "backbone": "backbones", "reranker": "rerankers", "budget": "budgets"}
LABELS = ("label", "title", "description", "test")  # the first that an entry has is its label
MOST = 40  # characters; the origins of longer values are not aligned
LONGEST = 100  # characters shown of a label in a list


class Line(NamedTuple):
    """A line of the page: a key, its value, and the value's origin."""

    key: str
    value: str
    origin: str


def show(
    config: Path, scale: str | None, settings: Sequence[str], kind: str, name: str | None
) -> str:
    """Return the page of an entry, role or budget; without a name, the list of a kind.

    `settings` are keys of config.yaml, as `encoder=org/name`. An unknown kind or id, and a fault in
    config/, raise ResiduumError.
    """
    if kind not in (*KINDS, *BOUND):
        raise ResiduumError(unknown("kind of entry", kind, [*KINDS, *BOUND]))
    shown = Shown(loading.load(config, chosen(config, scale, settings)))
    if kind == "config":
        name = "config"
    return shown.page(kind, name) if name else shown.listing(kind)


def chosen(config: Path, scale: str | None, settings: Sequence[str]) -> Keys:
    """Return config.yaml overridden by options of the command line, with the origin of each key."""
    file = config / "config.yaml"
    if not file.is_file():
        raise ResiduumError(f"no {file} in {Path.cwd()}. Run this in the project's folder.")
    try:
        held, form = entries.Folder(config), dict[str, object]
        base = held.stated("config", form)
        held.checked("config", base, form)
    except ValueError as error:
        raise ResiduumError(str(error)) from None
    for text in settings:
        key, equals, value = text.partition("=")
        if not equals:
            raise ResiduumError(f"--set {text}: write KEY=VALUE, with a key of {file}")
        try:
            base = entries.merge(base, _from(f"--set {key}", {key: yamls.load(value)}))
        except ValueError as error:
            raise ResiduumError(f"--set {text}: {error}") from None
    return entries.merge(base, _from("--scale", {"scale": scale} if scale else {}))


def _from(option: str, values: Mapping[str, object]) -> Keys:
    """Return values of a command-line option, whose origin is the option."""
    located: Keys = origins.located(values, None, Spot(option, 0))
    return located


class Shown:
    """The entries of a registry, the names within them, and the origin of each value."""

    def __init__(self, registry: Registry) -> None:
        self.registry = registry
        self.scale = registry.config.scale
        self._nodes: dict[tuple[str, str], list[Node]] = {}

    def ids(self, kind: str) -> list[str]:
        """Return the ids of a kind; for roles and budgets, the ids of any scale."""
        if kind in BOUND:
            scales = self.registry.scales.values()
            return list(dict.fromkeys(n for s in scales for n in getattr(s, BOUND[kind])))
        return list(self.entries(kind))

    def entries(self, kind: str) -> Mapping[str, BaseModel]:
        """Return the entries of a kind by the ids that the command line takes."""
        if kind == "config":
            return {"config": self.registry.config}
        entries: Mapping[str, BaseModel] = getattr(self.registry, ENTRIES[kind])
        return {_id(kind, name): entry for name, entry in entries.items()}

    def nodes(self, kind: str, name: str) -> list[Node]:
        """Return all keys of an entry; for a role or budget, its keys in the scale's entry."""
        if (kind, name) not in self._nodes:
            self._nodes[kind, name] = list(self._keys(kind, name))
        return self._nodes[kind, name]

    def _keys(self, kind: str, name: str) -> Iterator[Node]:
        if kind in BOUND:
            prefix = f"{BOUND[kind]}.{name}."
            bound = [n for n in self.nodes("scale", self.scale) if f"{n.key}.".startswith(prefix)]
            yield from self._started(name, bound) if kind == "backbone" else bound
        elif kind == "model" and name not in self.registry.models:
            yield from self._trained(name)
        else:
            yield from origins.nodes(self.entries(kind)[name], self._given(kind, name))

    def _given(self, kind: str, name: str) -> object:
        key = page_id(*name.rsplit("/", 1)) if kind == "page" else name
        return self.registry.given[ENTRIES[kind]].get(key)

    def _started(self, role: str, bound: Iterable[Node]) -> Iterator[Node]:
        """Yield the keys of a role's backbone; config's `encoder` replaces models of the hub."""
        replaced: list[str] = []
        for node in bound:
            _, by_dataset, dataset = node.key.partition(f".{role}.datasets.")
            start = self.registry.backbone(role, dataset if by_dataset else None)
            if isinstance(node.value, FromHub | FromPath) and node.value != start:
                replaced.append(f"{node.key}.")
                yield from origins.nodes(start, None, node.key, self._encoder)
            elif not node.key.startswith((*replaced,)):
                yield node

    @cached_property
    def _encoder(self) -> Spot | None:
        nodes = self.nodes("config", "config")
        return next((node.spot for node in nodes if node.key == "encoder"), None)

    def _trained(self, name: str) -> Iterator[Node]:
        """Yield the keys of a model that is trained for a fold, at a rate, or for its curve."""
        model_id = FixedId.parse(name).name
        before = {node.key: node.value for node in self.nodes("model", model_id)}
        spot = self._rule(name) or Spot("a training for one fold", 0)
        for node in origins.nodes(self.registry.model(name), self._given("model", model_id)):
            same = node.key in before and before[node.key] == node.value
            yield node if same else node._replace(spot=spot, removed=False)

    def _rule(self, trial: str) -> Spot | None:
        """Return the origin of the rule that a trial serves, or None if it is no trial."""
        served = self.registry.trials.get(trial)
        for name, model in self.registry.models.items():
            for key, rule in model.training.rules.items() if isinstance(model, OnPairs) else ():
                if rule == served:
                    first = f"training.{key}.{'grid' if isinstance(rule, RateGrid) else 'most'}"
                    at = next(n.spot for n in self.nodes("model", name) if n.key == first)
                    return at and at._replace(by=f"rule of {name} for training.{key}")
        return None

    def page(self, kind: str, name: str) -> str:
        """Return an entry's page: its values, reasons not to run, and its users."""
        known = self.ids(kind)
        trained = kind == "model" and name in self.registry.model_ids()
        if name not in known and not trained:
            others = [other for other in (*KINDS, *BOUND) if name in self.ids(other)]
            more = (f" Of another kind: residuum show {other} {name}." for other in others)
            raise ResiduumError(
                "".join([unknown(kind, name, known, self._file(kind, name)), *more])
            )
        parts = [[f"{_titled(kind, name)} at scale {self.scale}: {self._file(kind, name)}"]]
        parts.append(list(_aligned(self.values(kind, name))))
        if kind == "model" and isinstance(entry := self.registry.model(name), ReleasedEncoder):
            parts.append([_reading(entry)])
        if reasons := list(self.reasons(kind, name)):
            parts.append([f"Not run at scale {self.scale}:", *(f"- {why}" for why in reasons)])
        if uses := list(self.uses(kind, FixedId.parse(name).name)):
            parts.append(["Named by:", *_aligned(uses)])
        return "\n\n".join("\n".join(part) for part in parts if part)

    def _file(self, kind: str, name: str) -> str:
        registry = self.registry
        if kind in BOUND:
            return f"{BOUND[kind]} of {registry.scale_file}"
        if kind == "config":
            return f"{registry.folder}/config.yaml"
        return registry.file("paper" if kind == "page" else kind, FixedId.parse(name).name)

    def listing(self, kind: str) -> str:
        """Return the ids of a kind, a line each, with a label."""
        labels = [(name, self._label(kind, name)) for name in self.ids(kind)]
        width = max((len(name) for name, _ in labels), default=0)
        return "\n".join(f"{name:<{width}}  {_cut(label)}".rstrip() for name, label in labels)

    def _label(self, kind: str, name: str) -> str:
        if kind == "budget":
            over = [line.key for line in self.uses(kind, name) if not line.key.startswith("scale ")]
            return f"laid over {', '.join(over)}" if over else "no entry names it"
        if kind in BOUND:
            bound = getattr(self.registry.scale, BOUND[kind]).get(name)
            return _written(bound) if bound else self._unbound(kind, name)
        entry = self.entries(kind)[name]
        labels = (str(getattr(entry, key, "")) for key in LABELS)
        return next(filter(None, labels), str(getattr(entry, "kind", "")))

    def values(self, kind: str, name: str) -> Iterator[Line]:
        """Yield each value of an entry; below it, what the names in it stand for at the scale.

        The lines of such names are indented, and have the name as key.
        """
        marks: dict[str, dict[tuple[Ref, str], None]] = {}
        if kind not in BOUND:
            trained = kind == "model"  # with the settings of its training
            entry = self.registry.model(name) if trained else self.entries(kind)[name]
            for key, mark, value in walk(entry):
                if isinstance(mark, Ref):
                    marks.setdefault(key, {})[mark, value] = None
        for node in self.nodes(kind, name):
            if node.leaf:
                yield Line(node.key, _written(node.value), _origin(node))
            for mark, value in marks.get(node.key, ()):
                yield from self._stands_for(kind, name, mark, value)
            if node.key == "seeds" and kind == "model":
                yield from self._seeds(bool(node.value))

    def _seeds(self, stated: bool) -> Iterator[Line]:
        """Yield the seeds of config or scale that replace a model's; `stated`: it has seeds."""
        if seeds := self.registry.config.seeds:
            yield Line("  seeds of config", _written(seeds), self._at("config", "config", "seeds"))
        elif not stated:
            seeds, at = self.registry.scale.seeds, self._at("scale", self.scale, "seeds")
            yield Line(f"  seeds of {self.scale}", _written(seeds), at)

    def _stands_for(self, kind: str, name: str, mark: Ref, value: str) -> Iterator[Line]:
        """Yield what a name in an entry stands for at the scale; most names yield nothing."""
        registry, scale = self.registry, self.registry.scale
        if mark.to == "role" and value == OWN:
            yield from self._own(name, "tune" if mark.use == "tuning" else "train")
        elif mark.to in ("role", "reranker") or (mark.to == "backbone" and kind != "model"):
            yield self._bound(mark.to, value)
        elif mark.to == "backbone":
            yield self._bound(mark.to, value, self._trained_on(name))
        elif mark.to == "budget":
            laid = "laid over this" if scale.budgets.get(value) else f"none in scale {self.scale}"
            at = self._at("scale", self.scale, f"budgets.{value}")
            yield Line(f"  {value}", laid, at or self._removal("budget", value))
        elif mark.to == "system" and kind != "scale":
            if kind == "page" and value in scale.systems:
                at = self._at("scale", self.scale, f"systems.{value}")
                yield Line(f"  {value}", f"played by {scale.systems[value]}", at)
            elif value in scale.left_out:
                at = self._at("scale", self.scale, "left_out")
                yield Line(f"  {value}", "left out", at)
        elif mark.use == "tuples":
            yield from self._tuples(registry.tuples_of(name))
        elif mark.use in ("rate", "curve"):
            form = RateGrid if mark.use == "rate" else StepRule
            rules = registry.trials.items()
            trials = [id_ for id_, rule in rules if rule.of == value and isinstance(rule, form)]
            yield Line("  tried by", _written(trials), "")

    def _at(self, kind: str, name: str, key: str) -> str:
        return next((_origin(n) for n in self.nodes(kind, name) if n.key == key), "")

    def _own(self, name: str, use: str) -> Iterator[Line]:
        """Yield the split that each bound collection names as its own for a use.

        For a training's id, only the split of its collection is yielded.
        """
        bound = {split.partition("/")[0] for split in self.registry.scale.roles.values()}
        if by := FixedId.parse(name).by.partition(".")[0]:
            bound = {by}
        for dataset, entry in self.registry.datasets.items():
            if (split := getattr(entry.own, use)) and dataset in bound:
                at = self._at("dataset", dataset, f"own.{use}")
                yield Line(f"  own of {dataset}", f"{dataset}/{split}", at)

    def _trained_on(self, model: str) -> str | None:
        """Return the dataset by which a model's backbone is chosen; None if each has its own."""
        marks = walk(self.registry.model(model))
        roles = [name for _, mark, name in marks if isinstance(mark, Ref) and mark.to == "role"]
        if by := FixedId.parse(model).by.partition(".")[0]:
            return by if by in self.registry.datasets else None
        split_id = self.registry.binding(roles[0]) if roles and roles[0] != OWN else None
        return split_id and split_id.dataset

    def _bound(self, kind: str, role: str, dataset: str | None = None) -> Line:
        """Return the line of what is bound to a role, for models of `dataset` if it is given."""
        bound, key = getattr(self.registry.scale, BOUND[kind]).get(role), f"{BOUND[kind]}.{role}"
        if bound is None:
            return Line(f"  {role}", "not bound", self._removal(kind, role))
        kind_of_entry, entry = "scale", self.scale
        if kind == "backbone":
            if isinstance(bound, ByDataset) and dataset:
                named = dataset in bound.datasets
                key += f".datasets.{dataset}" if named else ".otherwise"
                bound = bound.datasets.get(dataset, bound.otherwise)
            start = self.registry.backbone(role, dataset)
            if not isinstance(bound, ByDataset) and start != bound:
                bound, kind_of_entry, entry, key = start, "config", "config", "encoder"
        return Line(f"  {role}", _written(bound), self._at(kind_of_entry, entry, key))

    def _tuples(self, model: str) -> Iterator[Line]:
        """Yield how the shared tuples of a model are drawn: the `negatives` keys of their owner."""
        owner = FixedId.parse(model).name
        for node in self.nodes("model", owner):
            if node.leaf and node.key.startswith("negatives.") and node.spot:
                key = node.key.removeprefix("negatives.")
                yield Line(f"  {owner}: {key}", _written(node.value), _origin(node))

    def reasons(self, kind: str, name: str) -> Iterator[str]:
        """Yield why an entry is not run at the scale, in the words of `residuum plan`."""
        registry = self.registry
        why: str | None = None
        if kind == "system":
            yield from self._not_run(name)
        elif kind == "page":
            paper = name.rpartition("/")[0]
            if paper not in registry.config.papers:
                at = self._at("config", "config", "papers")
                yield f"its paper is none of `papers` ({at})"
            config = registry.config.model_copy(update={"papers": [paper]})
            chosen_paper = dataclasses.replace(registry, config=config)
            found = [
                gap for gap in gaps(chosen_paper, all_available) if _id("page", gap.page) == name
            ]
            yield from by_reason((gap.why, gap.row) for gap in found)
        elif kind == "model":
            why = why_no_model(registry, FixedId.parse(name).name, all_available)
        elif kind == "dataset":
            why = why_no_export(registry, name, None, *registry.datasets[name].splits)
        elif kind in BOUND and name not in getattr(registry.scale, BOUND[kind]):
            why = self._unbound(kind, name)
        yield from [why] if why else []

    def _unbound(self, kind: str, name: str) -> str:
        """Say that the scale lacks a role or budget, and which file removed it, if any did."""
        lacks = f"scale {self.scale} has no budget {name}"
        why = lacks if kind == "budget" else not_bound(self.scale, name)
        removal = self._removal(kind, name)
        return f"{why}: {removal}" if removal else why

    def _removal(self, kind: str, name: str) -> str:
        """Say where the scale removes a role or budget of its base; "" if it does not."""
        held = self.registry.given["scales"][self.scale].get(BOUND[kind])
        removed = isinstance(held, Mapping) and name not in held
        at = spots_of(held).get(name) if removed else None
        return f"null in {at}" if at else ""

    def _not_run(self, system: str) -> Iterator[str]:
        """Yield why a system has no run: on any split, or in rows of pages."""
        registry = self.registry
        anywhere = why_unavailable(registry, system, None, all_available)
        found = [(anywhere, "")] if anywhere else []
        for name, page in registry.pages.items():
            played = registry.players(page)
            for part, role in page.shown():
                if played.get(part) == system:
                    split_id, row = registry.binding(role), f"{_id('page', name)}/{part}"
                    if split_id is None:
                        found.append((not_bound(self.scale, role), row))
                    elif why := why_unavailable(registry, system, split_id, all_available):
                        found.append((why, row))
        yield from by_reason(found)

    def uses(self, kind: str, name: str) -> Iterator[Line]:
        """Yield every entry that names this entry at the scale, with the naming key.

        Every scale's entry is included. For a system that plays another on pages, those pages are
        included.
        """
        for by in KINDS:
            for other, entry in self.entries(by).items():
                keys = dict.fromkeys(_keys_that_name(entry, kind, name))
                for key in keys if (by, other) != (kind, name) else ():
                    at = self._at(by, other, key)
                    left_out = by == "system" and other in self.registry.scale.left_out
                    remark = f" (left out at scale {self.scale})" if left_out else ""
                    yield Line(_titled(by, other), f"{key}{remark}", at)
                if by == "scale" and kind in BOUND and name in getattr(entry, BOUND[kind]):
                    yield from self._binds(other, f"{BOUND[kind]}.{name}")
        if kind == "system":
            yield from self._plays(name)

    def _binds(self, scale: str, key: str) -> Iterator[Line]:
        """Yield the line of a scale that binds a role or has a budget."""
        node = next(node for node in self.nodes("scale", scale) if node.key == key)
        bound = "" if key.startswith("budgets.") else f": {_written(node.value)}"
        yield Line(f"scale {scale}", f"{key}{bound}", _origin(node))

    def _plays(self, system: str) -> Iterator[Line]:
        """Yield the keys of pages whose system this system plays at the scale."""
        for other, name in self.registry.scale.systems.items():
            for page, entry in self.entries("page").items() if name == system != other else ():
                for key in dict.fromkeys(_keys_that_name(entry, "system", other)):
                    at = self._at("scale", self.scale, f"systems.{other}")
                    yield Line(f"page {page}", f"{key} (plays {other} at scale {self.scale})", at)


def _reading(entry: ReleasedEncoder) -> str:
    """Say how a released encoder is read, by its files and by the entry's keys over theirs."""
    if not entry.path:
        return "Where a key is null, the model's files on the hub say how it is read."
    if not Path(entry.path).is_dir():
        return f"Where a key is null, its files say how it is read: no folder {entry.path} is here."
    from residuum.neural import release  # it imports torch
    from residuum.neural.pretrained import Source

    try:
        reading = release.summary(release.read(Source(entry.path), entry))
    except ResiduumError as error:
        return f"It cannot be read: {error}"
    return f"Read by the files of {entry.path} and these keys: {reading}."


def _id(kind: str, name: str) -> str:
    """Return an entry's id as the command line takes it; a page's is `clear/table1`."""
    return "/".join(parts_of(name)) if kind == "page" else name


def _titled(kind: str, name: str) -> str:
    return kind if kind == "config" else f"{kind} {name}"


def _keys_that_name(entry: BaseModel, kind: str, name: str) -> Iterator[str]:
    """Yield the keys of an entry whose values name another entry, or a split of that dataset."""
    for key, mark, value in walk(entry):
        if isinstance(mark, Ref):
            split = kind == "dataset" and mark.to == "dataset/split"
            if (mark.to == kind and value == name) or (split and value.split("/")[0] == name):
                yield key


def _origin(node: Node) -> str:
    """Return a value's origin: `budget triplet (config/scales/mini.yaml:83)`, or `default`."""
    if node.removed and node.spot:
        return f"default; null in {node.spot}"
    return str(node.spot) if node.spot else "default"


def _written(value: object) -> str:
    return yamls.dump(_plain(value), one_line=True)


def _plain(value: object) -> object:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", exclude_defaults=True)
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def _cut(label: str) -> str:
    return label if len(label) <= LONGEST else f"{label[: LONGEST - 3]}..."


def _aligned(lines: Iterable[Line]) -> Iterator[str]:
    """Yield lines in columns; a long value shifts its origin to the right."""
    rows = list(lines)
    key = max((len(row.key) for row in rows), default=0)
    value = max((len(row.value) for row in rows if len(row.value) <= MOST), default=0)
    for row in rows:
        yield f"{row.key:<{key}}  {row.value:<{value}}  {row.origin}".rstrip()
