"""What the parts of the wiring share: registry, paths, hub, and the reading of a job's wildcards.

A method takes the wildcards of a rule and returns inputs or options. No method takes a rule's
inputs: Snakemake notices a changed parameter only if wildcards alone decide it. Options that
depend on inputs are in `residuum.wiring.options`.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from shlex import quote
from typing import Any, Protocol

from residuum.cli.errors import unknown
from residuum.code import closure
from residuum.config.registry import Registry, SplitId
from residuum.config.schema.models import ReleasedEncoder
from residuum.config.schema.scales import FromHub, FromModel, FromPath, ReleasedReranker, Start
from residuum.config.schema.systems import LexicalSystem
from residuum.config.specs import ONE_SEED, SEED, SNAPSHOT, FixedId, RunId, Seed
from residuum.wiring.availability import Hub
from residuum.wiring.paths import Paths, Template, folder_of

RELEASED = "released-encoder"


class Wildcards(Protocol):
    """The wildcards of a job, which have the names of wildcards in `paths.Paths`."""

    def __getattr__(self, name: str, /) -> str: ...


Params = Callable[[Wildcards], str]
Workflow = Any  # Snakemake's, which has no types


def split_id_of(wildcards: Wildcards) -> SplitId:
    """Return the split that a job is about."""
    return SplitId(wildcards.dataset, wildcards.split)


def unknown_split(registry: Registry, dataset: str, split: str | None) -> str | None:
    """Return what no file of config/ has, a dataset or its split, with the nearest; or None."""
    if dataset not in registry.datasets:
        return unknown("dataset", dataset, registry.datasets)
    splits = registry.datasets[dataset].splits
    if split and split not in splits:
        return unknown(f"split of {dataset}", split, splits)
    return None


def run_of(wildcards: Wildcards) -> RunId:
    """Return the run that a job makes or reads."""
    return RunId.parse(wildcards.run)


def decided_by(module: str, verb: str, spec: Params | None = None) -> dict[str, Params]:
    """Return the params that decide a result: the job's spec and the hash of its code.

    The hash covers the definitions that the verb reaches for the kinds that the spec names.
    """

    def code(wildcards: Wildcards) -> str:
        return closure.sha256(module, verb, closure.kinds_of(spec(wildcards)) if spec else None)

    return {"code": code, "spec": spec} if spec else {"code": code}


def residual_of(registry: Registry, split_ids: Iterable[SplitId | None]) -> dict[str, list[str]]:
    """Return the earlier rounds of each residual split; all splits as <dataset>/<split>.

    A split whose lists lose the query itself is among its own rounds.
    """
    rounds: dict[str, list[str]] = {}
    for dataset, split in filter(None, split_ids):
        entry = registry.datasets[dataset]
        earlier = [*entry.judged_before(split), *([split] if entry.removes_query(split) else [])]
        if earlier:
            rounds[f"{dataset}/{split}"] = [f"{dataset}/{name}" for name in earlier]
    return rounds


class Part:
    """The base class of the parts: it holds the registry, the paths and the hub."""

    def __init__(self, registry: Registry, paths: Paths, hub: Hub) -> None:
        self.registry, self.paths, self.hub = registry, paths, hub

    def fill(self, template: Template, split_id: SplitId, **wildcards: object) -> str:
        """Fill in a template for a split, or for its corpus."""
        return template.fill(dataset=split_id.dataset, split=split_id.split, **wildcards)

    def removed(self, split_id: SplitId) -> list[str]:
        """Return the files whose pairs of query and doc are in no run of a split.

        These are the qrels of its earlier rounds. If a list loses the query itself, its queries
        are among them.
        """
        itself = self.registry.datasets[split_id.dataset].removes_query(split_id.split)
        queries = [self.fill(self.paths.queries, split_id)] if itself else []
        return [*self.judged_before(split_id), *queries]

    def judged_before(self, split_id: SplitId) -> list[str]:
        """Return the qrels of the earlier rounds of a residual split."""
        splits = self.registry.datasets[split_id.dataset].judged_before(split_id.split)
        return [self.fill(self.paths.qrels, SplitId(split_id.dataset, split)) for split in splits]

    def run(self, system: str, seed: Seed | None, split_id: SplitId) -> str:
        """Return the path of a system's run on a split. Unseeded systems ignore the seed."""
        return self.fill(self.paths.run, split_id, run=self.registry.run(system, seed))

    def index(self, dataset: str, run: RunId) -> str:
        """Return the manifest of the index that a lexical run searches."""
        system = self.registry.entry(run.system, LexicalSystem)
        name = system.term_weights
        weights = str(RunId(self.registry.model_for(name, dataset), run.seed)) if name else ""
        index = FixedId(system.index().index_id(), weights)
        return self.paths.index.fill(dataset=dataset, index=index)

    def model_files(
        self, model: Start | ReleasedReranker, dataset: str, fold: str | None = None
    ) -> list[str]:
        """Return the local files of a model, or the manifest that the graph makes for it.

        With a fold, the model is the training that has not seen this fold.
        """
        if isinstance(model, FromPath):
            return sorted(str(p) for p in Path(model.path).rglob("*") if p.is_file())
        if isinstance(model, FromHub):
            return []
        return [self._made(model, dataset, fold)]

    def model_argument(
        self, model: Start | ReleasedReranker, dataset: str, fold: str | None = None
    ) -> str:
        """Return the arguments that name a model, with --pickled if its weights may be a pickle."""
        pickled = " --pickled" if isinstance(model, FromHub) and model.pickled else ""
        return self.source(model, dataset, fold) + pickled

    def source(self, model: Start | ReleasedReranker, dataset: str, fold: str | None = None) -> str:
        """Return a model's folder, or its hub id with `--revision`."""
        if isinstance(model, FromModel | ReleasedReranker):
            return folder_of(self._made(model, dataset, fold))
        if isinstance(model, FromPath):
            return quote(model.path)
        return f"{quote(model.hub)} --revision {quote(model.revision)}"

    def tokenizer_files(self, role: str | None, dataset: str) -> list[str]:
        """Return the files of the model whose tokenizer `role` names; none without a role."""
        start = self.registry.tokenizer(role, dataset) if role else None
        return self.model_files(start, dataset) if start else []

    def vocabulary_option(self, role: str | None, dataset: str) -> str:
        """Return `--vocabulary MODEL` for the backbone role of a tokenizer; "" without a role."""
        start = self.registry.tokenizer(role, dataset) if role else None
        return f"--vocabulary {self.source(start, dataset)}" if start else ""

    def answered_texts(self, split_id: SplitId) -> list[str]:
        """Return a split's answers and its corpus, where a measure looks for the answers."""
        return [self.fill(path, split_id) for path in (self.paths.answers, self.paths.corpus)]

    def taken(self, model: str) -> str:
        """Return the manifest of the checkpoint of a released encoder."""
        return self.paths.checkpoint.fill(model=model, seed=ReleasedEncoder.seed)

    def _made(self, model: FromModel | ReleasedReranker, dataset: str, fold: str | None) -> str:
        """Return the manifest of a model that the graph makes: taken in, or by a training."""
        if isinstance(model, ReleasedReranker):
            return self.taken(model.model)
        if hasattr(self.registry.models[model.model], "corpora"):
            return self.paths.backbone.fill(model=model.model)
        name = self.registry.model_for(model.model, dataset, fold)
        return self.paths.checkpoint.fill(model=name, seed=model.seed)


def either(names: Iterable[str]) -> str:
    """Return the regular expression of the names; without names it matches nothing."""
    return "|".join(names) or "(?!)"


def either_id(ids: Iterable[str]) -> str:
    """Return a short regular expression of ids, many of which differ only after the @.

    Names with equal endings after the @ share one alternative. Snakemake compiles the expression
    for each rule: written out, the ids of `mini` cost two seconds a start.
    """
    behind: dict[str, list[str]] = {}
    for name, by in map(FixedId.parse, ids):
        behind.setdefault(name, []).append(f"@{by}" if by else "")
    alike: dict[tuple[str, ...], list[str]] = {}
    for name, every in behind.items():
        alike.setdefault(tuple(every), []).append(name)
    forms = (f"({either(names)})({'|'.join(every)})" for every, names in alike.items())
    return either(forms).replace(".", r"\.")


class Constraints:
    """The wildcard constraints of rules: regular expressions of the ids of a scale."""

    run = rf"[a-z0-9_-]+({SEED})?"  # of any system, seeded or not
    released = str(ReleasedEncoder.seed)
    seed = ONE_SEED

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self.dataset = either(registry.datasets)
        self._synthetic = either(
            f"{name}/{split}"
            for name, entry in registry.datasets.items()
            for split, form in entry.splits.items()
            if form.synthetic
        )
        self.model = either_id(registry.model_ids())
        self.page = either(registry.pages)
        self.other = f"({either(registry.systems)})({SNAPSHOT})?"  # of all its seeds, or one

    def synthetic(self, path: Template) -> Template:
        """Return the path, constrained to splits that a generator writes."""
        return path.only("dataset", rf"(?=({self._synthetic})/)({self.dataset})")

    def exported(self, path: Template) -> Template:
        """Return the path, constrained to splits that no generator writes."""
        return path.only("dataset", rf"(?!({self._synthetic})/)({self.dataset})")

    def models(self, path: Template, *kinds: str) -> Template:
        """Return the path, constrained to models of these kinds."""
        names = {name for kind in kinds for name in self._registry.of_kind(kind)}
        ids = (id_ for id_ in self._registry.model_ids() if FixedId.parse(id_).name in names)
        return path.only("model", either_id(ids))

    def finished(self, path: Template) -> Template:
        """Return the path, constrained to trained and finished models: no snapshots."""
        kinds = {str(getattr(entry, "kind", "")) for entry in self._registry.models.values()}
        return self.models(path, *(kinds - {RELEASED})).only("seed", r"\d+")

    def tuples(self, path: Template) -> Template:
        """Return the path of training tuples, constrained to models and to the splits of mixes."""
        return path.only("model", either_id(self._registry.tuples_ids()))

    def orders(self, path: Template) -> Template:
        """Return the path, constrained to runs and to scores of candidates."""
        over = either(self._registry.of_kind("candidates"))
        return path.only("run", rf"{self.run}(\.on\.({over}))?")

    def pages(self, path: Template, kind: str) -> Template:
        """Return the path, constrained to the chosen papers' pages of a kind."""
        return path.only("page", either(self._registry.chosen(kind)))

    def groupings(self, path: Template, kind: str) -> Template:
        """Return the path, constrained to groupings of a kind."""
        named = self._registry.groupings.items()
        return path.only("grouping", either(name for name, entry in named if entry.kind == kind))

    def runs(self, path: Template, kind: str, tunes_rm3: bool | None = None) -> Template:
        """Return the path, constrained to the runs of a kind of system.

        `tunes_rm3` keeps only lexical systems that tune RM3 (True) or do not (False).
        """
        names = self._registry.of_kind(kind)
        if tunes_rm3 is not None:
            systems = {name: self._registry.entry(name, LexicalSystem) for name in names}
            names = [n for n, s in systems.items() if s.tunes_rm3 == tunes_rm3]
        return path.only("run", either(name + SEED * self._registry.seeded(name) for name in names))
