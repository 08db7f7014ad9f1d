"""Inputs and options of jobs that make models: starts, pairs, negatives, folds, learning checks.

Usage: `Models(registry, paths, hub).tuples(wildcards)`.
"""

from collections.abc import Callable, Iterable, Iterator
from shlex import quote

from residuum.cli.errors import ResiduumError
from residuum.config import specs
from residuum.config.registry import Registry, SplitId
from residuum.config.schema.base import OWN, references
from residuum.config.schema.models import OnPairs, Reads, ReleasedEncoder
from residuum.config.schema.scales import FromModel, Learning, Start
from residuum.config.schema.systems import DenseSystem
from residuum.config.schema.training import RateGrid, StepRule
from residuum.config.specs import FixedId, RunId
from residuum.pages.jobs import Bound, Trained
from residuum.wiring.availability import why_no_export
from residuum.wiring.base import Part, Wildcards
from residuum.wiring.corpora import shards_of
from residuum.wiring.memo import memoised
from residuum.wiring.paths import Paths, Template, folder_of


@memoised
def start_of(registry: Registry, model: str) -> Start:
    """Return the start that a model's training begins from. Raises ResiduumError if none is bound.

    `model` is a model id.
    """
    entry = registry.model(model)
    [(_, role)] = references(entry, "backbone")
    unbound = getattr(entry, "train_on", None) == OWN and not FixedId.parse(model).by
    if start := registry.backbone(role, None if unbound else corpora_of(registry, model)[0]):
        return start
    raise ResiduumError(f"{registry.scale_file}: backbones: nothing plays {role}")


def corpora_of(registry: Registry, model: str) -> list[str]:
    """Return the datasets whose texts or pairs a model is trained on, each once."""
    if isinstance(registry.model(model), OnPairs):
        return [registry.train_split(model).dataset]
    return list(dict.fromkeys(_by_role(registry, model)))


def _by_role(registry: Registry, model: str) -> list[str]:
    """Return the dataset of each role that the entry of a model trained on texts names."""
    named = references(registry.model(model), "role")
    return [registry.bound_split(role).dataset for _, role in named]


def told_by_answers(registry: Registry, split_id: SplitId) -> bool:
    """Say whether a training split has answers but no qrels, so that answers decide positives."""
    dataset = registry.datasets[split_id.dataset]
    return dataset.source_of(split_id.split).answered and not dataset.judged(split_id.split)


def answers_read(registry: Registry, model: str) -> SplitId | None:
    """Return a model's training split if its answers decide positives or exclude negatives.

    Otherwise return None.
    """
    split_id = registry.train_split(model)
    answered = registry.datasets[split_id.dataset].source_of(split_id.split).answered
    left_out = answered and registry.negatives(model).without_answers
    return split_id if left_out or told_by_answers(registry, split_id) else None


def rule_records(registry: Registry, paths: Paths, model: str) -> dict[str, str]:
    """Return the records of what rules choose for a model, by the key of `training`."""
    records: dict[str, str] = {}
    for key, rule in registry.rules(model).items():
        judged = registry.bound_split(rule.role)._asdict()
        if isinstance(rule, StepRule):
            records[key] = paths.steps.fill(**judged, model=rule.curve)
        else:
            records[key] = paths.rate.fill(**judged, model=rule.of)
    return records


class Models(Part):
    """Inputs and options of the stages pretrain, negatives and train."""

    def spec(self, wildcards: Wildcards) -> str:
        """Return the spec of a model."""
        return specs.of_entry(self.registry.model(wildcards.model))

    def start_files(self, wildcards: Wildcards) -> list[str]:
        """Return the files of the backbone that a training starts from."""
        return self.model_files(*self._start(wildcards))

    def start(self, wildcards: Wildcards) -> str:
        """Return the value of --start, and --revision for a hub model."""
        return self.model_argument(*self._start(wildcards))

    def _start(self, wildcards: Wildcards) -> tuple[Start, str, str | None]:
        """Return a training's start, with the collection and the fold that it trains for."""
        model, registry = wildcards.model, self.registry
        return start_of(registry, model), corpora_of(registry, model)[0], registry.fold_of(model)

    def released_files(self, wildcards: Wildcards) -> list[str]:
        """Return the files of a released encoder's folder; none for a model of the hub."""
        return self.model_files(self._released(wildcards), "")

    def released(self, wildcards: Wildcards) -> str:
        """Return the value of --start, and --revision for a model of the hub."""
        return self.model_argument(self._released(wildcards), "")

    def reads(self, wildcards: Wildcards) -> str:
        """Return how a released encoder is read, as its entry says, as JSON."""
        entry = self.registry.entry(wildcards.model, ReleasedEncoder)
        return specs.canonical_json(
            entry.model_dump(mode="json", include={*Reads.model_fields}, exclude_none=True)
        )

    def _released(self, wildcards: Wildcards) -> Start:
        return self.registry.released(wildcards.model)

    def corpora(self, wildcards: Wildcards) -> list[str]:
        """Return the corpora that a backbone is trained on, one for each role that it names."""
        datasets = _by_role(self.registry, wildcards.model)
        return [self.paths.corpus.fill(dataset=dataset) for dataset in datasets]

    def trained_on(self, template: Template) -> Callable[[Wildcards], str]:
        """Return an input function that gives a file of a model's training split."""
        return lambda wildcards: self.fill(template, self._pairs(wildcards))

    def _pairs(self, wildcards: Wildcards) -> SplitId:
        return self.registry.train_split(wildcards.model)

    def folds(self, wildcards: Wildcards) -> list[str]:
        """Return the queries of all folds for a training that holds out a fold; none for most.

        Raises ResiduumError for a model that is trained for each fold, if no fold is named.
        """
        model, (dataset, _) = wildcards.model, self._pairs(wildcards)
        folds = self.registry.folds(model)
        if folds and self.registry.fold_of(model) is None:
            ids = ", ".join(self.registry.trainings(model))
            raise ResiduumError(
                f"{model} is trained for each fold on the others; name one of {ids}"
            )
        return [self.fill(self.paths.queries, SplitId(dataset, fold)) for fold in folds]

    def held_out(self, wildcards: Wildcards) -> str:
        """Return `--held-out FOLD` for a training that holds out a fold; "" for others."""
        fold = self.registry.fold_of(wildcards.model)
        return f"--held-out {fold}" if fold else ""

    def spans(self, wildcards: Wildcards) -> list[str]:
        """Return the corpora whose spans a question generator learns to write; none for most."""
        how = getattr(self.registry.model(wildcards.model), "spans", None)
        split_ids = [self.registry.bound_split(role) for role in how.corpora] if how else []
        return [self.paths.corpus.fill(dataset=split_id.dataset) for split_id in split_ids]

    def tuples(self, wildcards: Wildcards) -> list[str]:
        """Return the training tuples of a model: its own, or those of a model that it names.

        A mix has a file for each split.
        """
        return [*self._tuples(wildcards).values()]

    def _tuples(self, wildcards: Wildcards) -> dict[str, str]:
        ids = self.registry.tuples_by_role(wildcards.model).items()
        return {role: self.paths.tuples.fill(model=tuples_id) for role, tuples_id in ids}

    def queries(self, wildcards: Wildcards) -> list[str]:
        """Return the queries that a model is trained on; a mix has a file for each split."""
        return [*self._queries(wildcards).values()]

    def _queries(self, wildcards: Wildcards) -> dict[str, str]:
        split_ids = self.registry.train_splits(wildcards.model).items()
        return {role: self.fill(self.paths.queries, split_id) for role, split_id in split_ids}

    def pairs(self, wildcards: Wildcards) -> str:
        """Return `--tuples FILE` and `--queries FILE`, or `ROLE=FILE` for each split of a mix."""
        named = {"tuples": self._tuples(wildcards), "queries": self._queries(wildcards)}
        return " ".join(
            f"--{option} {f'{role}=' * (len(paths) > 1)}{path}"
            for option, paths in named.items()
            for role, path in paths.items()
        )

    def windows(self, wildcards: Wildcards) -> str:
        """Return `--windows SPEC` if a training reads passages of its collection's docs."""
        return self._windows(wildcards, self.registry.train_split(wildcards.model))

    def judged_windows(self, wildcards: Wildcards) -> str:
        """Return `--windows SPEC` if the test whether a model learned reads passages."""
        return self._windows(wildcards, self._judged(wildcards)[0])

    def _windows(self, wildcards: Wildcards, split_id: SplitId) -> str:
        windows = self.registry.windows_read(wildcards.model, split_id.dataset)
        return f"--windows {quote(specs.of_entry(windows))}" if windows else ""

    def passage_answers(self, wildcards: Wildcards) -> list[str]:
        """Return the answers by which a training chooses passages; none for most models."""
        if not self.windows(wildcards) or len(self.registry.train_splits(wildcards.model)) > 1:
            return []
        split_id = self._pairs(wildcards)
        answered = self.registry.datasets[split_id.dataset].source_of(split_id.split).answered
        return [self.fill(self.paths.answers, split_id)] if answered else []

    def learned_on(self, template: Template) -> Callable[[Wildcards], str]:
        """Return an input function: a file of the split that tests whether a model learned."""
        return lambda wildcards: self.fill(template, self._judged(wildcards)[0])

    def _judged(self, wildcards: Wildcards) -> tuple[SplitId, Learning]:
        split_id, how = self.registry.learned_on(wildcards.model), self.registry.scale.learning
        if split_id is None or how is None:
            raise ResiduumError(
                f"{wildcards.model}: no split of this scale tests whether it learned"
            )
        return split_id, how

    def candidates(self, wildcards: Wildcards) -> str:
        """Return the run whose first docs are candidates for the test whether a model learned.

        A training for a fold takes the run of the whole training split.
        """
        split_id, how = self._judged(wildcards)
        if self.registry.fold_of(wildcards.model):
            split_id = self._pairs(wildcards)
        return self.run(how.candidates, None, split_id)

    def trainings(self, template: Template) -> Callable[[Wildcards], list[str]]:
        """Return an input function that gives a file of each training of a model."""

        def files(wildcards: Wildcards) -> list[str]:
            trainings = self.registry.trainings(wildcards.model)
            return [template.fill(model=model, seed=wildcards.seed) for model in trainings]

        return files

    def top(self, wildcards: Wildcards) -> str:
        """Return the number of candidates for each query that test whether a model learned."""
        return str(self._judged(wildcards)[1].top)

    def learned_by(self, wildcards: Wildcards) -> str:
        """Return the measure that tests whether a model learned, quoted for the shell."""
        rule = self.registry.trials.get(wildcards.model)
        return quote(rule.measure if rule else self._judged(wildcards)[1].measure)

    def trials(self, wildcards: Wildcards) -> list[str]:
        """Return the verdicts on a model's trainings at each learning rate."""
        return list(self._trials(wildcards))

    def _trials(self, wildcards: Wildcards) -> dict[str, float]:
        rules, fill = self.registry.trials.items(), self.paths.learning.fill
        mine = {n: rule for n, rule in rules if rule.of == wildcards.model}
        trained = {fill(model=n, seed=mine[n].seed): self.registry.model(n) for n in mine}
        return {
            path: model.training.rate
            for (path, model), rule in zip(trained.items(), mine.values(), strict=True)
            if isinstance(rule, RateGrid) and isinstance(model, OnPairs)
        }

    def trial_options(self, wildcards: Wildcards) -> str:
        """Return `--trial RATE=FILE` for the verdict at each learning rate."""
        return " ".join(f"--trial {r!r}={path}" for path, r in self._trials(wildcards).items())

    def curve(self, template: Template) -> Callable[[Wildcards], str]:
        """Return an input function: a file of the training whose learning curve is drawn."""
        rules = self.registry.trials
        return lambda w: template.fill(model=w.model, seed=rules[w.model].seed)

    def kept(self, wildcards: Wildcards) -> str:
        """Return `--kept` for the training of a learning curve, which keeps its models."""
        rule = self.registry.trials.get(wildcards.model)
        return "--kept" if isinstance(rule, StepRule) else ""

    def within(self, wildcards: Wildcards) -> str:
        """Return how many standard errors below the best point of a curve are as good."""
        rule = self.registry.trials[wildcards.model]
        assert isinstance(rule, StepRule), "the rule of a learning curve"
        return repr(rule.within)

    def chosen(self, key: str) -> Callable[[Wildcards], list[str]]:
        """Return an input function: the record of the rule for a key of `training`, if any."""

        def path(wildcards: Wildcards) -> list[str]:
            records = rule_records(self.registry, self.paths, wildcards.model)
            return [records[key]] if key in records else []

        return path

    def mined_spec(self, wildcards: Wildcards) -> str:
        """Return the spec of training tuples as JSON: negatives, their system, positives."""
        model = self.registry.entry(wildcards.model, OnPairs)
        split_id, name = self._pairs(wildcards), model.negatives.scores
        system = name and self.registry.systems[name]
        split = self.registry.datasets[split_id.dataset].splits[split_id.split]
        return specs.canonical_json(
            {
                "negatives": model.negatives.model_dump(mode="json"),
                "system": system and system.model_dump(mode="json", exclude=specs.FOR_READERS),
                "positive_level": split.positive_level,
                **({"by_answers": True} if told_by_answers(self.registry, split_id) else {}),
            }
        )

    def mined_index(self, wildcards: Wildcards) -> list[str]:
        """Return the index that gives negatives their scores; none without such a system."""
        system = self.registry.entry(wildcards.model, OnPairs).negatives.scores
        return [self.index(self._pairs(wildcards).dataset, RunId(system))] if system else []

    def docpairs(self, wildcards: Wildcards) -> list[str]:
        """Return the training triples of a model's training split, if the model uses triples."""
        taken = self.registry.entry(wildcards.model, OnPairs).negatives.triples
        return [self.fill(self.paths.docpairs, self._pairs(wildcards))] if taken else []

    def mined_answers(self, wildcards: Wildcards) -> list[str]:
        """Return the answers that decide positives or exclude negatives; none for most models."""
        split_id = answers_read(self.registry, wildcards.model)
        return [self.fill(self.paths.answers, split_id)] if split_id else []

    def mined_runs(self, wildcards: Wildcards) -> list[str]:
        """Return the runs that negatives are mined from."""
        split_id, sources = self._pairs(wildcards), self.registry.negatives(wildcards.model).runs
        return [self.run(source.system, source.seed, split_id) for source in sources]

    def gate(self, wildcards: Wildcards) -> list[str]:
        """Return the checkpoint of a training's fixed gate, of the same seed; none for most."""
        name = self.registry.gate_of(wildcards.model)
        if name is None:
            return []
        fold = self.registry.fold_of(wildcards.model)
        model = self.registry.model_for(name, self._pairs(wildcards).dataset, fold)
        return [self.paths.checkpoint.fill(model=model, seed=wildcards.seed)]

    def fixed(self, template: Template) -> Callable[[Wildcards], list[str]]:
        """Return an input function: the fixed vectors beside a training; none for most."""

        def files(wildcards: Wildcards) -> list[str]:
            model = self.registry.fixed_by(wildcards.model)
            if model is None:
                return []
            dataset = self.registry.train_split(wildcards.model).dataset
            return shards_of(self.registry, template, dataset, model, None)

        return files

    def fixed_queries(self, wildcards: Wildcards) -> str:
        """Return `--fixed-queries FOLDER` for the training queries, or `ROLE=FOLDER` for a mix."""
        folders = self.fixed(self.paths.query_embeddings)(wildcards)
        split_ids = self.registry.train_splits(wildcards.model)
        return " ".join(
            f"--fixed-queries {f'{role}=' * (len(split_ids) > 1)}{folder_of(path)}/{split_id.split}"
            for path in folders
            for role, split_id in split_ids.items()
        )


def models_behind(
    registry: Registry, cells: Iterable[tuple[str, SplitId | None]]
) -> dict[str, dict[str, list[str]]]:
    """Return the models behind systems whose learning is judged, by dataset and run.

    A cell is a system and the split that it is measured on.
    """
    behind: dict[str, dict[str, list[str]]] = {}
    for system, split_id in cells:
        for seed in registry.seeds_of(system) if split_id else []:
            run, dataset = registry.run(system, seed), str(split_id and split_id.dataset)
            if models := models_judged(registry, system, seed, dataset):
                behind.setdefault(dataset, {})[run] = models
    return behind


def trained_runs(
    registry: Registry, cells: Iterable[tuple[str, SplitId | None]]
) -> dict[str, dict[str, Trained]]:
    """Return the runs with a neural model behind them, by split, each with what is trained.

    A cell is a system and the split that it is measured on.
    """
    behind: dict[str, dict[str, Trained]] = {}
    for system, split_id in dict.fromkeys(cells):
        if split_id is None:
            continue
        for seed in registry.seeds_of(system):
            ids = _models(registry, system, seed, split_id.dataset)
            models = [f"{name}/seed{number}" for name, number in ids]
            dense = [registry.run(part, seed) for part in _dense(registry, system)]
            if models or dense:
                made = Trained(dense=dense, models=list(dict.fromkeys(models)))
                behind.setdefault("/".join(split_id), {})[registry.run(system, seed)] = made
    return behind


def _dense(registry: Registry, system: str) -> list[str]:
    """Return the dense systems, trained or released, of a system and all that it is made from."""
    made = registry.made_from(system)
    dense = [name for name in made if isinstance(registry.systems[name], DenseSystem)]
    return [name for name in dense if registry.trained_for(name) or registry.given_behind(name)]


def models_judged(registry: Registry, system: str, seed: int, dataset: str) -> list[str]:
    """Return the models behind a run whose learning is judged, as `<model>/seed<n>`."""
    ids = _models(registry, system, seed, dataset)
    return list(
        dict.fromkeys(f"{name}/seed{number}" for name, number in ids if is_judged(registry, name))
    )


def models_made(registry: Registry, system: str, dataset: str) -> Iterator[str]:
    """Yield the id of each model that the graph makes behind a run on a dataset."""
    yield from (name for name, _ in _models(registry, system, 1, dataset))


def _models(
    registry: Registry, system: str, seed: int, dataset: str
) -> Iterator[tuple[str, int | None]]:
    """Yield the id and the seed of each model behind a run on a dataset.

    They include rerankers, and the generators that wrote the questions of a training.
    """
    made = [(registry.model_for(name, dataset), seed) for name in registry.trained_behind(system)]
    for name in registry.made_from(system):
        if registry.systems[name].kind == "rerank":
            player = registry.reranker_binding(registry.reranker(name))
            if isinstance(player, FromModel):
                made.append((registry.model_for(player.model, dataset), player.seed))
    yield from made
    for model, _ in made:
        for writer in writers_of(registry, model):
            yield writer.model, writer.seed


def writers_of(registry: Registry, model: str) -> list[FromModel]:
    """Return the generators, made by the graph, that write a model's training questions."""
    if not isinstance(registry.model(model), OnPairs):
        return []
    starts = map(registry.generator, registry.train_splits(model).values())
    return [start for start in starts if isinstance(start, FromModel)]


def trained_by_folds(
    registry: Registry, cells: Iterable[tuple[str, SplitId | None]]
) -> dict[str, list[str]]:
    """Return the models behind systems that are trained for each fold, with the folds.

    A cell is a system and the split that it is measured on.
    """
    ids = (
        name
        for system, split_id in cells
        if split_id
        for name, _ in _models(registry, system, 1, split_id.dataset)
    )
    return {name: folds for name in ids if (folds := registry.folds(name))}


def is_judged(registry: Registry, model: str) -> bool:
    """Say whether there is an available split that tests whether a model learned."""
    split_id = registry.learned_on(model)
    return split_id is not None and not why_no_export(
        registry, split_id.dataset, None, split_id.split
    )


def verdicts(pages: Iterable[Bound]) -> Iterator[dict[str, str]]:
    """Yield the wildcards of the verdicts that pages read."""
    by_dataset = (runs for page in pages for runs in page.models.values())
    for name in (name for runs in by_dataset for names in runs.values() for name in names):
        model, _, seed = name.partition("/seed")
        yield {"model": model, "seed": seed}
