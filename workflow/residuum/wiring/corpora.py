"""What is made of collections: exports, indexes, negatives and models, embeddings, hits by shard.

Usage: `Corpora(registry, paths, hub).index_behind(wildcards)`, `Models(registry, paths,
hub).tuples(wildcards)`. Must not know BM25, encoders, or how anything is trained.
"""

import sys
from collections.abc import Callable
from shlex import quote

from residuum.cli.errors import ResiduumError
from residuum.config import roots, specs
from residuum.config.registry import Place, Registry
from residuum.config.schema.base import OWN, references
from residuum.config.schema.models import LexicalVectors, OnPairs
from residuum.config.schema.scales import Learning, Start
from residuum.config.schema.systems import DenseSystem, LexicalSystem
from residuum.config.specs import FixedId, RunId, Seed, Snapshot, seed_of, trained_with
from residuum.wiring.answers import kept
from residuum.wiring.availability import released_files, rm3_measure, role_of, why_no_export
from residuum.wiring.part import Part, Wildcards, place_of, run_of
from residuum.wiring.paths import Paths, Template, folder_of


def searched(registry: Registry, dataset: str) -> list[str]:
    """Return the splits of a dataset that runs are made for: measured, tuned on, sent in."""
    roles = filter(None, map(registry.tuned_on, registry.systems))
    tuned = {role_of(registry, role, "tune", dataset)[0] for role in dict.fromkeys(roles)}
    return [
        name
        for name, split in registry.datasets[dataset].splits.items()
        if split.unjudged or (at := Place(dataset, name)) in tuned or registry.measures(at)
    ]


@kept
def encoded_splits(registry: Registry, dataset: str, model: str, seed: int) -> list[str]:
    """Return the splits of a dataset whose queries a model encodes: for runs, and trainings.

    Those of a training split are for its negatives, or to stand beside what is trained: of models
    that play a role at this scale, or that a system names. A training for a fold has that alone.
    """
    if fold := registry.fold_of(model):
        return [fold]
    splits = [s for s in searched(registry, dataset) if not why_no_export(registry, dataset, s)]
    entries = [registry.scale, *registry.systems.values()]
    for name in sorted({name for entry in entries for _, name in references(entry, "model")}):
        mined = [(registry.trained_for(s.system), s.seed) for s in registry.negatives(name).runs]
        own = FixedId.parse(model).name
        if (own, seed) in mined or own == registry.fixed_by(name):
            place, _ = role_of(registry, registry.entry(name, OnPairs).train_on, "train", dataset)
            if place and place.dataset == dataset and place.split not in splits:
                splits.append(place.split)
    return splits


@kept
def start_of(registry: Registry, model: str) -> Start:
    """Return what plays the backbone of a model, by its id; nothing at all is an error."""
    entry = registry.model(model)
    [(_, role)] = references(entry, "backbone")
    own = getattr(entry, "train_on", None) == OWN and not FixedId.parse(model).by
    if start := registry.backbone(role, None if own else corpora_of(registry, model)[0]):
        return start
    raise ResiduumError(f"{registry.scale_file}: backbones: nothing plays {role}")


def corpora_of(registry: Registry, model: str) -> list[str]:
    """Return the datasets whose texts or pairs a model is made from, adapted to or trained on."""
    entry = registry.model(model)
    if isinstance(entry, OnPairs):
        return [registry.train_place(model).dataset]
    return [registry.place(role).dataset for _, role in references(entry, "role")]


def answers_left_out(registry: Registry, model: str) -> Place | None:
    """Return the split whose answers no negative of a model may hold; None without such."""
    place = registry.train_place(model)
    answered = registry.datasets[place.dataset].source_of(place.split).answered
    return place if answered and registry.negatives(model).without_answers else None


class Corpora(Part):
    """Inputs and options of the stages data, lexical, encode and dense."""

    def files(self, wildcards: Wildcards) -> list[str]:
        """Return the user's own files behind a corpus or a split, so that edits export it again.

        The pages leave out what has none; if a target asks for it all the same, the run stops here.
        It exits, because Snakemake takes an exception for a rule that does not fit, and would go on
        with what was made of other files before.
        """
        name, split = wildcards.dataset, getattr(wildcards, "split", None)
        root = roots.data()
        if why := why_no_export(self.registry, name, split):
            where = f"Paths start at {root.resolve()} (set RESIDUUM_DATA to change that)."
            sys.exit(f"error: dataset {name}: {why}\n{where}")
        return [str(root / path) for path in self.registry.datasets[name].source_files(split)]

    def spec(self, wildcards: Wildcards) -> str:
        """Return what decides which corpus is written, or which queries and qrels a split has."""
        dataset = self.registry.datasets[wildcards.dataset]
        split = getattr(wildcards, "split", None)
        return specs.canonical_json(dataset.for_split(split) if split else dataset.for_corpus())

    def judged_by(self, wildcards: Wildcards) -> list[str]:
        """Return the corpus whose docs judge a split by its answers; none for another split."""
        made = self.registry.datasets[wildcards.dataset].source_of(wildcards.split).relevant_by
        return [self.paths.corpus.fill(dataset=wildcards.dataset)] if made else []

    def docpairs_files(self, wildcards: Wildcards) -> list[str]:
        """Return the user's own file of a split's training triples, if it is one."""
        dataset = self.registry.datasets[wildcards.dataset]
        return [str(roots.data() / path) for path in dataset.docpairs_file(wildcards.split)]

    def docpairs_spec(self, wildcards: Wildcards) -> str:
        """Return what decides which training triples a split has."""
        dataset = self.registry.datasets[wildcards.dataset]
        return specs.canonical_json(dataset.for_docpairs(wildcards.split))

    def index_behind(self, wildcards: Wildcards) -> str:
        """Return the index behind a lexical run."""
        return self.index(wildcards.dataset, run_of(wildcards))

    def index_form(self, wildcards: Wildcards) -> str:
        """Return the form of the index that an index id names, as JSON."""
        names, form = self.registry.of_kind("lexical"), FixedId.parse(wildcards.index).name
        forms = (self.registry.entry(name, LexicalSystem).index() for name in names)
        return specs.of_entry(next(index for index in forms if index.index_id() == form))

    def term_weights(self, wildcards: Wildcards) -> list[str]:
        """Return the term weights that an index is made of; none for one of texts."""
        model, seed = RunId.parse(FixedId.parse(wildcards.index).by)
        made = {"dataset": wildcards.dataset, "model": model, "seed": seed}
        template = self.paths.released_weights if seed is None else self.paths.term_weights
        return [template.fill(**made)] if model else []

    def released(self, wildcards: Wildcards) -> list[str]:
        """Return the files of term weights that somebody else predicted."""
        return list(map(str, released_files(self.registry, wildcards.model)))

    def released_options(self, wildcards: Wildcards) -> str:
        """Return the options that name them."""
        return " ".join(f"--file {quote(path)}" for path in self.released(wildcards))

    def rm3_measure(self, wildcards: Wildcards) -> str:
        """Return the measure by which RM3 is tuned on a split."""
        system, place = run_of(wildcards).system, place_of(wildcards)
        if measure := rm3_measure(self.registry, system, place):
            return measure
        text = f"rm3.measures names no role that {'/'.join(place)} plays at this scale; add one"
        raise ResiduumError(f"{system}: {text}")

    def queries(self, wildcards: Wildcards) -> list[str]:
        """Return the queries that a dense model searches a dataset for."""
        dataset = wildcards.dataset
        splits = self._splits(wildcards)
        return [self.paths.queries.fill(dataset=dataset, split=split) for split in splits]

    def _splits(self, wildcards: Wildcards) -> list[str]:
        seed = trained_with(seed_of(wildcards.seed))
        return encoded_splits(self.registry, wildcards.dataset, wildcards.model, seed)

    def checkpoint(self, wildcards: Wildcards) -> str:
        """Return the checkpoint of a model, which holds it on its way too."""
        seed = trained_with(seed_of(wildcards.seed))
        return self.paths.checkpoint.fill(model=wildcards.model, seed=seed)

    def snapshot(self, wildcards: Wildcards) -> str:
        """Return the option that names a model of a checkpoint, if not the finished one."""
        seed = seed_of(wildcards.seed)
        return f"--snapshot {seed.number}" if isinstance(seed, Snapshot) else ""

    def residual_of(self, wildcards: Wildcards) -> list[str]:
        """Return the qrels of the earlier rounds of all splits that a dense model searches."""
        return list(dict.fromkeys(path for _, path in self._residual_of(wildcards)))

    def residual_options(self, wildcards: Wildcards) -> str:
        """Return the options that name those, each with the residual split."""
        named = self._residual_of(wildcards)
        return " ".join(f"--judged-before {split}={path}" for split, path in named)

    def _residual_of(self, wildcards: Wildcards) -> list[tuple[str, str]]:
        dataset, splits = wildcards.dataset, self._splits(wildcards)
        earlier = {split: self.judged_before(Place(dataset, split)) for split in splits}
        return [(split, path) for split, paths in earlier.items() for path in paths]

    def shard(self, wildcards: Wildcards) -> str:
        """Return the options that name a shard of a corpus."""
        return f"--shard {int(wildcards.shard)} --of {self.registry.shards(wildcards.dataset)}"

    def windows(self, wildcards: Wildcards) -> str:
        """Return the option that has a dataset's docs read in passages, if it says so."""
        windows = self.registry.datasets[wildcards.dataset].windows
        return f"--windows {quote(specs.of_entry(windows))}" if windows else ""

    def shards(self, template: Template) -> Callable[[Wildcards], list[str]]:
        """Return an input function: what the model of a dense run made, each shard of it once.

        Of several trainings, each for a fold, those of one come after those of another.
        """

        def of(wildcards: Wildcards) -> list[str]:
            (system, seed), dataset = run_of(wildcards), wildcards.dataset
            more = {"k": self.registry.entry(system, DenseSystem).k}
            of_each = (
                shards_of(self.registry, template, dataset, model, seed, **more)
                for model in self._answering(wildcards)
            )
            return [path for paths in of_each for path in paths]

        return of

    def _answering(self, wildcards: Wildcards) -> dict[str, str]:
        """Return the trainings that answer the queries of a dense run, each with its split."""
        (system, seed), (dataset, split) = run_of(wildcards), place_of(wildcards)
        model = self.registry.model_for(self.registry.entry(system, DenseSystem).model, dataset)
        answering = self.registry.answering(model, split)
        if isinstance(seed, Snapshot) and [*answering] != [model]:
            text = f"{model} is trained for each fold, which keeps no snapshots"
            raise ResiduumError(f"{wildcards.run}: {text}; ask for {run_of(wildcards).finished}")
        return answering

    def answered(self, wildcards: Wildcards) -> str:
        """Return the options that name the splits whose hits make a dense run: one, or folds."""
        return " ".join(f"--split {split}" for split in self._answering(wildcards).values())

    def asked(self, wildcards: Wildcards) -> str:
        """Return the options that name the folders of those splits' encoded queries."""
        folders = map(folder_of, self.shards(self.paths.query_embeddings)(wildcards))
        splits = self._answering(wildcards).values()
        named = zip(folders, splits, strict=True)
        return " ".join(f"--queries {folder}/{split}" for folder, split in named)

    def vectors_spec(self, wildcards: Wildcards) -> str:
        """Return the spec of a model of lexical vectors, with the system that it names."""
        model = self.registry.entry(wildcards.model, LexicalVectors)
        system = self.registry.systems[model.system]
        spec = model.model_dump(mode="json", exclude=specs.FOR_READERS)
        return specs.canonical_json(
            {**spec, "system": system.model_dump(mode="json", exclude=specs.FOR_READERS)}
        )

    def vectors_index(self, wildcards: Wildcards) -> str:
        """Return the index whose BM25 gives lexical vectors."""
        model = self.registry.entry(wildcards.model, LexicalVectors)
        return self.index(wildcards.dataset, RunId(model.system))


def shards_of(
    registry: Registry,
    template: Template,
    dataset: str,
    model: str,
    seed: Seed | None,
    **more: object,
) -> list[str]:
    """Return a file of each shard of what a model makes of a corpus, each once."""
    made = {"dataset": dataset, "model": model, "seed": registry.vectors_seed(model, seed), **more}
    shards = range(registry.shards(dataset))
    return list(dict.fromkeys(template.fill(shard=f"{n:05d}", **made) for n in shards))


def rate_record(registry: Registry, paths: Paths, model: str) -> list[str]:
    """Return the record of the learning rate that is chosen for a model; none of a given one."""
    if grid := registry.rate_grid(model):
        return [paths.rate.fill(**registry.place(grid.role)._asdict(), model=grid.of)]
    return []


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
        """Return what a training starts from, the collection and the fold that it would be of."""
        model, registry = wildcards.model, self.registry
        return start_of(registry, model), corpora_of(registry, model)[0], registry.fold_of(model)

    def corpora(self, wildcards: Wildcards) -> list[str]:
        """Return the corpora that a backbone is made from or adapted to."""
        datasets = corpora_of(self.registry, wildcards.model)
        return [self.paths.corpus.fill(dataset=dataset) for dataset in datasets]

    def trained_on(self, template: Template) -> Callable[[Wildcards], str]:
        """Return an input function: a file of the split that a model is trained on."""
        return lambda wildcards: self.fill(template, self._pairs(wildcards))

    def _pairs(self, wildcards: Wildcards) -> Place:
        return self.registry.train_place(wildcards.model)

    def folds(self, wildcards: Wildcards) -> list[str]:
        """Return the queries of the folds of a training that holds one out; none for most.

        A model that is trained for each of them is not trained on all.
        """
        model, (dataset, _) = wildcards.model, self._pairs(wildcards)
        folds = self.registry.folds(model)
        if folds and self.registry.fold_of(model) is None:
            each = ", ".join(self.registry.trainings(model))
            raise ResiduumError(f"{model}: it is trained for each fold on the others: {each}")
        return [self.fill(self.paths.queries, Place(dataset, fold)) for fold in folds]

    def held_out(self, wildcards: Wildcards) -> str:
        """Return the option that names the fold that a training holds out, if it is for one."""
        fold = self.registry.fold_of(wildcards.model)
        return f"--held-out {fold}" if fold else ""

    def tuples(self, wildcards: Wildcards) -> str:
        """Return the training tuples of a model, its own or those of the one that it names."""
        return self.paths.tuples.fill(model=self.registry.tuples_of(wildcards.model))

    def learned_on(self, template: Template) -> Callable[[Wildcards], str]:
        """Return an input function: a file of the split that tells whether a model learned."""
        return lambda wildcards: self.fill(template, self._judged(wildcards)[0])

    def _judged(self, wildcards: Wildcards) -> tuple[Place, Learning]:
        place, how = self.registry.learned_on(wildcards.model), self.registry.scale.learning
        if place is None or how is None:
            raise ResiduumError(f"{wildcards.model}: no split tells at this scale if it learned")
        return place, how

    def candidates(self, wildcards: Wildcards) -> str:
        """Return the run whose docs tell whether a model learned; a fold's are in that of all."""
        place, how = self._judged(wildcards)
        if self.registry.fold_of(wildcards.model):
            place = self._pairs(wildcards)
        return self.run(how.candidates, None, place)

    def trainings(self, template: Template) -> Callable[[Wildcards], list[str]]:
        """Return an input function: a file of each training that makes a model."""

        def of(wildcards: Wildcards) -> list[str]:
            trainings = self.registry.trainings(wildcards.model)
            return [template.fill(model=model, seed=wildcards.seed) for model in trainings]

        return of

    def top(self, wildcards: Wildcards) -> str:
        """Return how many of its docs are candidates."""
        return str(self._judged(wildcards)[1].top)

    def learned_by(self, wildcards: Wildcards) -> str:
        """Return the measure that tells it, quoted."""
        grid, _ = self.registry.trials.get(wildcards.model, (None, 0))
        return quote(grid.measure if grid else self._judged(wildcards)[1].measure)

    def trials(self, wildcards: Wildcards) -> list[str]:
        """Return the verdicts on a model's trainings at each rate."""
        return list(self._trials(wildcards))

    def _trials(self, wildcards: Wildcards) -> dict[str, float]:
        every, fill = self.registry.trials.items(), self.paths.learning.fill
        mine = {n: of for n, of in every if FixedId.parse(n).name == wildcards.model}
        return {fill(model=n, seed=grid.seed): rate for n, (grid, rate) in mine.items()}

    def trial_options(self, wildcards: Wildcards) -> str:
        """Return the options that name those by their rates."""
        return " ".join(f"--trial {r!r}={path}" for path, r in self._trials(wildcards).items())

    def rate(self, wildcards: Wildcards) -> list[str]:
        """Return the record of the learning rate that is chosen for a model; none of a given."""
        return rate_record(self.registry, self.paths, wildcards.model)

    def mined_spec(self, wildcards: Wildcards) -> str:
        """Return how negatives are drawn, by which system, and what is positive."""
        model = self.registry.entry(wildcards.model, OnPairs)
        place, name = self._pairs(wildcards), model.negatives.scores
        system = name and self.registry.systems[name]
        split = self.registry.datasets[place.dataset].splits[place.split]
        return specs.canonical_json(
            {
                "negatives": model.negatives.model_dump(mode="json"),
                "system": system and system.model_dump(mode="json", exclude=specs.FOR_READERS),
                "positive_level": split.positive_level,
            }
        )

    def mined_index(self, wildcards: Wildcards) -> list[str]:
        """Return the index that negatives are mined from; none for a model without pools."""
        system = self.registry.entry(wildcards.model, OnPairs).negatives.scores
        return [self.index(self._pairs(wildcards).dataset, RunId(system))] if system else []

    def docpairs(self, wildcards: Wildcards) -> list[str]:
        """Return the training triples of the split that a model is trained on, if it takes them."""
        taken = self.registry.entry(wildcards.model, OnPairs).negatives.triples
        return [self.fill(self.paths.docpairs, self._pairs(wildcards))] if taken else []

    def mined_answers(self, wildcards: Wildcards) -> list[str]:
        """Return the answers that negatives must not hold, if a model and its split have such."""
        place = answers_left_out(self.registry, wildcards.model)
        return [self.fill(self.paths.answers, place)] if place else []

    def mined_runs(self, wildcards: Wildcards) -> list[str]:
        """Return the runs of the other systems that negatives are mined from."""
        place, sources = self._pairs(wildcards), self.registry.negatives(wildcards.model).runs
        return [self.run(source.system, source.seed, place) for source in sources]

    def gate(self, wildcards: Wildcards) -> list[str]:
        """Return the checkpoint that is a training's fixed gate, of its seed; none for most."""
        name = self.registry.gate_of(wildcards.model)
        if name is None:
            return []
        fold = self.registry.fold_of(wildcards.model)
        model = self.registry.model_for(name, self._pairs(wildcards).dataset, fold)
        return [self.paths.checkpoint.fill(model=model, seed=wildcards.seed)]

    def fixed(self, template: Template) -> Callable[[Wildcards], list[str]]:
        """Return an input function: what stands fixed beside a training; nothing for most."""

        def of(wildcards: Wildcards) -> list[str]:
            model = self.registry.fixed_by(wildcards.model)
            if model is None:
                return []
            dataset = self.registry.train_place(wildcards.model).dataset
            return shards_of(self.registry, template, dataset, model, None)

        return of

    def fixed_queries(self, wildcards: Wildcards) -> str:
        """Return the option that names the folder of those of the queries trained on."""
        folders = self.fixed(self.paths.query_embeddings)(wildcards)
        split = self._pairs(wildcards).split
        return " ".join(f"--fixed-queries {folder_of(path)}/{split}" for path in folders)
