"""Inputs and options of jobs on collections: exports, indexes, embeddings, hits by shard.

Usage: `Corpora(registry, paths, hub).index_behind(wildcards)`.
"""

import sys
from collections.abc import Callable
from itertools import product
from shlex import quote

from residuum.cli.errors import ResiduumError, unknown
from residuum.config import roots, specs
from residuum.config.registry import Registry, SplitId
from residuum.config.schema.analyses import IndexForm
from residuum.config.schema.base import references
from residuum.config.schema.datasets import Dataset, local
from residuum.config.schema.models import (
    LexicalVectors,
    OnPairs,
    ReleasedEncoder,
    ReleasedVectors,
    VectorFile,
)
from residuum.config.schema.questions import Synthetic
from residuum.config.schema.scales import Start
from residuum.config.schema.sources import Containing, Segmented
from residuum.config.schema.systems import DenseSystem, LexicalSystem
from residuum.config.specs import FixedId, RunId, Seed, Snapshot, seed_of, trained_with
from residuum.wiring.availability import (
    paths_of,
    program_files,
    released_files,
    rm3_measure,
    role_of,
    why_no_export,
)
from residuum.wiring.base import Part, Wildcards, run_of, split_id_of
from residuum.wiring.memo import memoised
from residuum.wiring.paths import Template, folder_of


@memoised
def searched(registry: Registry, dataset: str) -> list[str]:
    """Return the splits of a dataset that systems search.

    Runs on them are measured, tuned on or submitted, or a page of dimensions compares their ranks.
    """
    roles = dict.fromkeys(filter(None, map(registry.tuned_on, registry.systems)))
    splits, pages = registry.datasets[dataset].splits, registry.pages.values()
    both = product(roles, splits)
    asked = {role_of(registry, role, "tune", dataset, searched=at)[0] for role, at in both}
    asked |= {registry.binding(role) for page in pages for role in page.searched_for()}
    return [
        name
        for name, split in splits.items()
        if split.unjudged or (at := SplitId(dataset, name)) in asked or registry.measures(at)
    ]


@memoised
def encoded_splits(
    registry: Registry, dataset: str, model: str, seed: int, hits: str | None = None
) -> list[str]:
    """Return the splits of a dataset whose queries a model encodes, for runs and for trainings.

    A training split is encoded if other models mine its negatives with this model, or hold its
    vectors fixed beside theirs. A training for a fold encodes only that fold. `hits`, a
    `DenseSystem.hits_id`, keeps only the splits that are searched for these hits: training splits
    have many queries, so only systems that mine negatives search them. Released vectors are of the
    splits that their entry names.
    """
    if fold := registry.fold_of(model):
        return [fold]
    splits = [s for s in searched(registry, dataset) if not why_no_export(registry, dataset, s)]
    for name in _models_named(registry):
        searches = [(registry.systems[s.system], s.seed) for s in registry.negatives(name).runs]
        mined = [
            (system.model, registry.vectors_seed(system.model, seed))
            for system, seed in searches
            if isinstance(system, DenseSystem) and hits in (None, system.hits_id)
        ]
        entry = FixedId.parse(model).name
        if (entry, seed) in mined or (hits is None and entry == registry.fixed_by(name)):
            for role in registry.entry(name, OnPairs).shares:
                split_id, _ = role_of(registry, role, "train", dataset)
                if split_id and split_id.dataset == dataset and split_id.split not in splits:
                    splits.append(split_id.split)
    if not isinstance(registry.model(model), ReleasedVectors):
        return splits
    return [s for s in splits if registry.vector_files(model, SplitId(dataset, s)) is not None]


@memoised
def _models_named(registry: Registry) -> list[str]:
    """Return the models that the scale or a system names."""
    entries = [registry.scale, *registry.systems.values()]
    return sorted({name for entry in entries for _, name in references(entry, "model")})


class Corpora(Part):
    """Inputs and options of the stages lexical, encode and dense."""

    def index_behind(self, wildcards: Wildcards) -> str:
        """Return the manifest of the index that a lexical run searches."""
        return self.index(wildcards.dataset, run_of(wildcards))

    def index_form(self, wildcards: Wildcards) -> str:
        """Return the form of the index that an index id names, as JSON."""
        return specs.of_entry(self._form(wildcards))

    def _form(self, wildcards: Wildcards) -> IndexForm:
        names, form = self.registry.of_kind("lexical"), FixedId.parse(wildcards.index).name
        forms = (self.registry.entry(name, LexicalSystem).index() for name in names)
        return next(index for index in forms if index.index_id() == form)

    def vocabulary(self, wildcards: Wildcards) -> list[str]:
        """Return the files of the model whose tokenizer an index uses; none for Lucene's."""
        return self.tokenizer_files(self._form(wildcards).vocabulary, wildcards.dataset)

    def index_vocabulary(self, wildcards: Wildcards) -> str:
        """Return `--vocabulary MODEL` for the tokenizer of an index; "" for Lucene's."""
        return self.vocabulary_option(self._form(wildcards).vocabulary, wildcards.dataset)

    def term_weights(self, wildcards: Wildcards) -> list[str]:
        """Return the term weights that an index is made of; none for an index of texts."""
        model, seed = RunId.parse(FixedId.parse(wildcards.index).by)
        made = {"dataset": wildcards.dataset, "model": model, "seed": seed}
        template = self.paths.released_weights if seed is None else self.paths.term_weights
        return [template.fill(**made)] if model else []

    def released(self, wildcards: Wildcards) -> list[str]:
        """Return the files of released term weights."""
        return list(map(str, released_files(self.registry, wildcards.model)))

    def rm3_measure(self, wildcards: Wildcards) -> str:
        """Return the measure by which RM3 is tuned on a split."""
        system, split_id = run_of(wildcards).system, split_id_of(wildcards)
        if measure := rm3_measure(self.registry, system, split_id):
            return measure
        text = f"rm3.measures names no role that this scale binds to {'/'.join(split_id)}; add one"
        raise ResiduumError(f"{system}: {text}")

    def queries(self, wildcards: Wildcards) -> list[str]:
        """Return the query files that a dense model encodes."""
        dataset = wildcards.dataset
        splits = self._splits(wildcards)
        return [self.paths.queries.fill(dataset=dataset, split=split) for split in splits]

    def _splits(self, wildcards: Wildcards, hits: str | None = None) -> list[str]:
        seed = trained_with(seed_of(wildcards.seed))
        return encoded_splits(self.registry, wildcards.dataset, wildcards.model, seed, hits)

    def searched_options(self, wildcards: Wildcards) -> str:
        """Return a `--split` option for each split that is searched for hits of a depth."""
        return " ".join(f"--split {split}" for split in self._splits(wildcards, wildcards.k))

    def checkpoint(self, wildcards: Wildcards) -> str:
        """Return the checkpoint of a model, which also holds its snapshots."""
        seed = trained_with(seed_of(wildcards.seed))
        return self.paths.checkpoint.fill(model=wildcards.model, seed=seed)

    def asking(self, wildcards: Wildcards) -> list[str]:
        """Return the checkpoint of the model that reads queries, if it is not that of docs."""
        entry = self.registry.models.get(wildcards.model)
        if not isinstance(entry, ReleasedEncoder) or entry.queries is None:
            return []
        return [self.taken(entry.queries)]

    def snapshot(self, wildcards: Wildcards) -> str:
        """Return `--snapshot N` for a snapshot of a checkpoint; "" for the finished model."""
        seed = seed_of(wildcards.seed)
        return f"--snapshot {seed.number}" if isinstance(seed, Snapshot) else ""

    def residual_of(self, wildcards: Wildcards) -> list[str]:
        """Return the files whose pairs leave the runs of all splits that are searched."""
        return list(dict.fromkeys(path for _, path in self._residual_of(wildcards)))

    def residual_options(self, wildcards: Wildcards) -> str:
        """Return `--judged-before SPLIT=FILE` for each file whose pairs leave a split's runs."""
        named = self._residual_of(wildcards)
        return " ".join(f"--judged-before {split}={path}" for split, path in named)

    def _residual_of(self, wildcards: Wildcards) -> list[tuple[str, str]]:
        dataset, splits = wildcards.dataset, self._splits(wildcards, wildcards.k)
        earlier = {split: self.removed(SplitId(dataset, split)) for split in splits}
        return [(split, path) for split, paths in earlier.items() for path in paths]

    def shard(self, wildcards: Wildcards) -> str:
        """Return the options that name a shard of a corpus."""
        shards = self.registry.shards(wildcards.dataset, wildcards.model)
        return f"--shard {int(wildcards.shard)} --of {shards}"

    def search(self, wildcards: Wildcards) -> str:
        """Return the approximate search of a dense system as JSON; null for an exact search."""
        names = self.registry.of_kind("dense")
        systems = [self.registry.entry(name, DenseSystem) for name in names]
        searches = {system.hits_id: system.search for system in systems}
        if wildcards.k not in searches:
            raise ResiduumError(unknown("depth of a dense system", wildcards.k, searches))
        search = searches[wildcards.k]
        return specs.canonical_json(search and search.model_dump(mode="json"))

    def first_passages(self, wildcards: Wildcards) -> str:
        """Return `--first-passages` if only the first passage of each doc is searched."""
        return "--first-passages" if wildcards.k.endswith("-first") else ""

    def depth(self, wildcards: Wildcards) -> str:
        """Return `--k N`, the number of hits of a shard for each query."""
        return f"--k {depth_of(wildcards.k)}"

    def windows(self, wildcards: Wildcards) -> str:
        """Return `--windows SPEC` if the dataset's docs are read in windows."""
        windows = self.registry.datasets[wildcards.dataset].windows
        return f"--windows {quote(specs.of_entry(windows))}" if windows else ""

    def shards(self, template: Template) -> Callable[[Wildcards], list[str]]:
        """Return an input function: the files of all shards of a dense run's model.

        A model that is trained for each fold gives its trainings' files one training at a time.
        """

        def files(wildcards: Wildcards) -> list[str]:
            (system, seed), dataset = run_of(wildcards), wildcards.dataset
            more = {"k": self.registry.entry(system, DenseSystem).hits_id}
            by_training = (
                shards_of(self.registry, template, dataset, model, seed, **more)
                for model in self._answering(wildcards)
            )
            return [path for paths in by_training for path in paths]

        return files

    def _answering(self, wildcards: Wildcards) -> dict[str, str]:
        """Return the trainings that answer a dense run's queries, each with its split or fold."""
        (system, seed), (dataset, split) = run_of(wildcards), split_id_of(wildcards)
        model = self.registry.model_for(self.registry.entry(system, DenseSystem).model, dataset)
        answering = self.registry.answering(model, split)
        if isinstance(seed, Snapshot) and [*answering] != [model]:
            text = f"{model} is trained for each fold, which keeps no snapshots"
            raise ResiduumError(f"{wildcards.run}: {text}; ask for {run_of(wildcards).finished}")
        return answering

    def answered(self, wildcards: Wildcards) -> str:
        """Return a `--split` option for the split of a dense run, or for each of its folds."""
        return " ".join(f"--split {split}" for split in self._answering(wildcards).values())

    def asked(self, wildcards: Wildcards) -> str:
        """Return a `--queries` option for each folder of a dense run's encoded queries."""
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

    def doc_vectors(self, wildcards: Wildcards) -> list[str]:
        """Return the files of the released vectors of a dataset's docs."""
        return _files(self._of_docs(wildcards))

    def query_vectors(self, wildcards: Wildcards) -> list[str]:
        """Return the files of the released vectors of docs and of the queries that are searched."""
        of_queries = [file for files in self._of_queries(wildcards).values() for file in files]
        return _files([*self._of_docs(wildcards), *of_queries])

    def doc_vectors_spec(self, wildcards: Wildcards) -> str:
        """Return the spec of the released vectors of a dataset's docs."""
        entry = self.registry.entry(wildcards.model, ReleasedVectors)
        docs = [_written(file) for file in self._of_docs(wildcards)]
        return specs.canonical_json({"docs": docs, "similarity": entry.similarity})

    def query_vectors_spec(self, wildcards: Wildcards) -> str:
        """Return the spec of the released vectors of a dataset's queries, by split."""
        entry = self.registry.entry(wildcards.model, ReleasedVectors)
        return specs.canonical_json(
            {
                "docs": [_written(file) for file in self._of_docs(wildcards)],
                "queries": {
                    split: [_written(file) for file in files]
                    for split, files in self._of_queries(wildcards).items()
                },
                "similarity": entry.similarity,
                "others": entry.others,
                "source": entry.source,
            }
        )

    def _of_docs(self, wildcards: Wildcards) -> list[VectorFile]:
        entry = self.registry.entry(wildcards.model, ReleasedVectors)
        return entry.of_docs(wildcards.dataset)

    def _of_queries(self, wildcards: Wildcards) -> dict[str, list[VectorFile]]:
        model, dataset = wildcards.model, wildcards.dataset
        given = ((s, SplitId(dataset, s)) for s in self._splits(wildcards))
        files = {split: self.registry.vector_files(model, split_id) for split, split_id in given}
        return {split: named for split, named in files.items() if named is not None}

    def program_files(self, wildcards: Wildcards) -> list[str]:
        """Return the files that a program's answers depend on."""
        return program_files(self.registry, wildcards.model)

    def vectors_index(self, wildcards: Wildcards) -> str:
        """Return the manifest of the index whose BM25 weights make lexical vectors."""
        model = self.registry.entry(wildcards.model, LexicalVectors)
        return self.index(wildcards.dataset, RunId(model.system))


def _files(named: list[VectorFile]) -> list[str]:
    """Return the files of released vectors, those of a folder one by one, each once."""
    within = (file for path in paths_of(named) for file in roots.files_of(path))
    return list(dict.fromkeys(map(str, within)))


def _written(file: VectorFile) -> object:
    return file if isinstance(file, str) else file.model_dump(mode="json")


def depth_of(hits_id: str) -> int:
    """Return the number of hits that a `DenseSystem.hits_id` names."""
    return int(hits_id.partition("-")[0])


def shards_of(
    registry: Registry,
    template: Template,
    dataset: str,
    model: str,
    seed: Seed | None,
    **more: object,
) -> list[str]:
    """Return the file of each shard of a corpus that a model has encoded, without duplicates."""
    made = {"dataset": dataset, "model": model, "seed": registry.vectors_seed(model, seed), **more}
    shards = registry.numbered(registry.shards(dataset, model))
    return list(dict.fromkeys(template.fill(shard=f"{n:05d}", **made) for n in shards))


class Exports(Part):
    """Inputs and options of the stage data."""

    def files(self, wildcards: Wildcards) -> list[str]:
        """Return the user's files behind a corpus or a split, so that an edit exports it again.

        If files are missing, the process exits. Snakemake would take an exception for a rule that
        does not fit, and would go on with an older export. Pages do not request such data.
        """
        name, split = wildcards.dataset, getattr(wildcards, "split", None)
        root = roots.data()
        if why := why_no_export(self.registry, name, split):
            where = f"Paths start at {root.resolve()} (set RESIDUUM_DATA to change that)."
            sys.exit(f"error: dataset {name}: {why}\n{where}")
        dataset = self.registry.datasets[name]
        return _as_they_lie(dataset, dataset.source_files(split))

    def spec(self, wildcards: Wildcards) -> str:
        """Return the spec of a corpus, or of a split's queries and qrels, as JSON."""
        dataset = self.registry.datasets[wildcards.dataset]
        split = getattr(wildcards, "split", None)
        return specs.canonical_json(dataset.for_split(split) if split else dataset.for_corpus())

    def segmented_from(self, wildcards: Wildcards) -> list[str]:
        """Return the corpus that a dataset's docs are cut from; none for most datasets."""
        split_id = self.registry.segmented_from(wildcards.dataset)
        return [self.paths.corpus.fill(dataset=split_id.dataset)] if split_id else []

    def tokenizer(self, wildcards: Wildcards) -> list[str]:
        """Return the files of the model whose tokenizer segments a dataset; none for most."""
        return self.tokenizer_files(self._tokenizer_role(wildcards), wildcards.dataset)

    def tokenizer_option(self, wildcards: Wildcards) -> str:
        """Return `--vocabulary MODEL` for the tokenizer that segments a dataset; "" for most."""
        return self.vocabulary_option(self._tokenizer_role(wildcards), wildcards.dataset)

    def _tokenizer_role(self, wildcards: Wildcards) -> str | None:
        source = self.registry.datasets[wildcards.dataset].source
        return source.tokenizer if isinstance(source, Segmented) else None

    def questions(self, wildcards: Wildcards) -> list[str]:
        """Return the queries and answers that a split takes from another dataset; none for most."""
        split_id = self.registry.questions_of(split_id_of(wildcards))
        templates = (self.paths.queries, self.paths.answers)
        return [self.fill(template, split_id) for template in templates] if split_id else []

    def judged_by(self, wildcards: Wildcards) -> list[str]:
        """Return the corpus that the qrels of a split are made from; none for published qrels."""
        dataset = self.registry.datasets[wildcards.dataset]
        by_answers = dataset.source_of(wildcards.split).relevant_by
        made = by_answers or isinstance(dataset.source, Containing)
        return [self.paths.corpus.fill(dataset=wildcards.dataset)] if made else []

    def docpairs_files(self, wildcards: Wildcards) -> list[str]:
        """Return the user's files of a split's training triples, and of the texts they refer to."""
        dataset = self.registry.datasets[wildcards.dataset]
        return _as_they_lie(dataset, local(dataset.behind_docpairs(wildcards.split)))

    def docpairs_spec(self, wildcards: Wildcards) -> str:
        """Return the spec of a split's training triples, as JSON."""
        dataset = self.registry.datasets[wildcards.dataset]
        return specs.canonical_json(dataset.for_docpairs(wildcards.split))


def _as_they_lie(dataset: Dataset, names: list[str]) -> list[str]:
    """Return the paths of the user's files and folders, with `.gz` where a file is gzipped."""
    read = (roots.files_of(roots.data() / name, dataset.within(name)) for name in names)
    return [str(path) for paths in read for path in paths]


class Questions(Part):
    """Inputs and options of the stage questions."""

    def spec(self, wildcards: Wildcards) -> str:
        """Return the spec of generated questions, without the role of the generator."""
        form = self._synthetic(wildcards)
        return specs.canonical_json(form.model_dump(mode="json", exclude={"generator"}))

    def _synthetic(self, wildcards: Wildcards) -> Synthetic:
        form = self.registry.datasets[wildcards.dataset].splits[wildcards.split].synthetic
        assert form, "the rule's wildcards are those of such splits"
        return form

    def generator_files(self, wildcards: Wildcards) -> list[str]:
        """Return the generator's local files, or the manifest that the graph makes for it."""
        return self.model_files(self._generator(wildcards), wildcards.dataset)

    def generator(self, wildcards: Wildcards) -> str:
        """Return the value of --model, and --revision for a hub model."""
        return self.model_argument(self._generator(wildcards), wildcards.dataset)

    def _generator(self, wildcards: Wildcards) -> Start:
        """Return the generator's start. Exit if none is bound, as `Exports.files` does."""
        if start := self.registry.generator(split_id_of(wildcards)):
            return start
        why = why_no_export(self.registry, wildcards.dataset, wildcards.split)
        sys.exit(f"error: dataset {wildcards.dataset}: {why}")


class Fidelities(Part):
    """Inputs and options of the stage fidelity."""

    def spec(self, wildcards: Wildcards) -> str:
        """Return the spec of a fidelity measurement."""
        return specs.of_entry(self.registry.fidelities[wildcards.fidelity])

    def docs(self, wildcards: Wildcards) -> list[str]:
        """Return the vectors of all shards of a corpus."""
        return self._vectors(self.paths.embeddings, wildcards)

    def queries(self, wildcards: Wildcards) -> list[str]:
        """Return the query vectors of all splits that are searched."""
        return self._vectors(self.paths.query_embeddings, wildcards)

    def asked(self, wildcards: Wildcards) -> str:
        """Return `--queries FOLDER` for the query vectors of one split."""
        [path] = self.queries(wildcards)
        return f"--queries {folder_of(path)}/{wildcards.split}"

    def _vectors(self, template: Template, wildcards: Wildcards) -> list[str]:
        model = self.registry.fidelities[wildcards.fidelity].model
        return shards_of(self.registry, template, wildcards.dataset, model, None)
