"""What runs are made from and measured by: searches, fusions, rerankers, sweeps, groups of queries.

Usage: `Runs(registry, paths, hub).fused(wildcards)`, `Evaluations(...).ranked(wildcards)`.
"""

from collections.abc import Iterable, Iterator
from shlex import quote

from residuum.cli.errors import ResiduumError, unknown
from residuum.config import specs
from residuum.config.measures import level, of_first, reads
from residuum.config.registry import READERS, Registry, SplitId
from residuum.config.schema.groupings import Halves
from residuum.config.schema.models import CrossEncoder
from residuum.config.schema.scales import FromModel
from residuum.config.schema.systems import (
    CandidatesSystem,
    DenseSystem,
    ExternalSystem,
    FunctionSystem,
    FusionSystem,
    HybridSystem,
    LexicalSystem,
    RerankSystem,
)
from residuum.config.specs import OrderId, RunId, Seed, Snapshot, trained_with
from residuum.pages.figure.entry import DEPTH, Figure
from residuum.wiring import sizes
from residuum.wiring.availability import external_files, role_of
from residuum.wiring.base import Part, Wildcards, run_of, split_id_of, unknown_split
from residuum.wiring.corpora import Corpora, shards_of
from residuum.wiring.paths import Template, folder_of
from residuum.wiring.rerankers import (
    Reranked,
    asking_of,
    candidates,
    datasets_of,
    encoder_of,
    pair_files,
    pair_shards,
    player_of,
    rerank_systems,
    reranked,
)


def _file_number(seed: Seed | None) -> int:
    """Return the number of a seed's file among those of an external run, counted from 0."""
    return trained_with(seed) - 1 if seed else 0


def tuning_split(registry: Registry, system: str, split_id: SplitId) -> SplitId | None:
    """Return the split whose tuning file records what was chosen for a run on a split.

    Lambda and a function's parameter are recorded on the tuning split. A rerank depth and RM3's
    parameters are recorded on the run's own split. Return None if nothing is chosen.
    """
    entry = registry.systems[system]
    if entry.kind == "rerank" or (isinstance(entry, LexicalSystem) and entry.tunes_rm3):
        return split_id
    return registry.tune_split(system, split_id) if registry.on_queries(system) else None


class Runs(Part):
    """Inputs and options of the stages fusion, rerank and external, and of all runs."""

    def spec(self, wildcards: Wildcards) -> str:
        """Return the spec of the system that makes a run."""
        return specs.of_entry(self.registry.systems[run_of(wildcards).system])

    def others(self, wildcards: Wildcards) -> list[str]:
        """Return the runs whose docs are scored: of all seeds of a system, or of one snapshot."""
        (system, snapshot), split_id = RunId.parse(wildcards.other), split_id_of(wildcards)
        runs = [wildcards.other] if snapshot else self.registry.runs(system)
        return [self.fill(self.paths.run, split_id, run=run) for run in runs]

    def folds(self, wildcards: Wildcards) -> list[str]:
        """Return the queries of the folds that a split names."""
        return self._folds(split_id_of(wildcards))

    def _folds(self, split_id: SplitId) -> list[str]:
        split = self.registry.datasets[split_id.dataset].splits[split_id.split]
        split_ids = [SplitId(split_id.dataset, fold) for fold in split.folds]
        return [self.fill(self.paths.queries, split_id) for split_id in split_ids]

    def residual_of(self, wildcards: Wildcards) -> list[str]:
        """Return the files whose pairs of query and doc leave the runs of a split."""
        return self.removed(split_id_of(wildcards))

    def earlier_rounds(self, wildcards: Wildcards) -> list[str]:
        """Return the qrels of the earlier rounds of a residual split; none for other splits."""
        return self.judged_before(split_id_of(wildcards))

    def fused(self, wildcards: Wildcards) -> list[str]:
        """Return the runs of a fusion's parts on a split."""
        (system, seed), split_id = run_of(wildcards), split_id_of(wildcards)
        return [self.run(part, seed, split_id) for part in self.registry.parts(system)]

    def true_scores(self, wildcards: Wildcards) -> list[str]:
        """Return the scores by a fusion's parts of the docs that other parts retrieved."""
        (system, seed), split_id = run_of(wildcards), split_id_of(wildcards)
        pairs = self.registry.entry(system, FusionSystem).true_scores()
        runs = [(self.registry.run(part, seed), self._other(other, seed)) for part, other in pairs]
        return [self.fill(self.paths.scores, split_id, run=run, other=other) for run, other in runs]

    def _other(self, system: str, seed: Seed | None) -> str:
        """Return the name of the runs whose docs are scored: a system, or one of its snapshots."""
        run = RunId.parse(self.registry.run(system, seed))
        return str(run) if isinstance(run.seed, Snapshot) else system

    def tuning(self, wildcards: Wildcards) -> list[str]:
        """Return the tuning file of a fused run; none if lambda is fixed."""
        split_id = tuning_split(self.registry, run_of(wildcards).system, split_id_of(wildcards))
        run = run_of(wildcards).finished
        return [self.fill(self.paths.tuning, split_id, run=run)] if split_id else []

    def tuned_by(self, wildcards: Wildcards) -> list[str]:
        """Return the qrels by which lambda is chosen; none if the measure reads answers."""
        split_id, told = split_id_of(wildcards), self._told_by_answers(wildcards)
        return [] if told else [self.fill(self.paths.qrels, split_id)]

    def tuned_by_texts(self, wildcards: Wildcards) -> list[str]:
        """Return the answers and the corpus by which lambda is chosen, if they are needed."""
        told = self._told_by_answers(wildcards)
        return self.answered_texts(split_id_of(wildcards)) if told else []

    def _told_by_answers(self, wildcards: Wildcards) -> bool:
        system = self.registry.entry(run_of(wildcards).system, FusionSystem)
        return reads(str(system.interpolation.measure)) == "answers"

    def function(self, wildcards: Wildcards) -> str:
        """Return the user's file whose function fuses."""
        return self.registry.entry(run_of(wildcards).system, FunctionSystem).function.file

    def external(self, wildcards: Wildcards) -> str:
        """Return the file of an external run, of its seed if it has one."""
        (system, seed), split_id = run_of(wildcards), split_id_of(wildcards)
        if paths := external_files(self.registry, system, split_id):
            return str(paths[_file_number(seed)])
        raise ResiduumError(f"{wildcards.run} has no file for {'/'.join(split_id)}")

    def external_md5(self, wildcards: Wildcards) -> str:
        """Return `--md5 SUM` for an external run whose MD5 is published."""
        (system, seed), split_id = run_of(wildcards), split_id_of(wildcards)
        entry = self.registry.entry(system, ExternalSystem)
        roles = [role for role in entry.md5 if self.registry.binding(role) == split_id]
        sums = entry.sums(roles[0]) if roles else []
        return f"--md5 {sums[_file_number(seed)]}" if sums else ""

    def reranker_files(self, wildcards: Wildcards) -> list[str]:
        """Return the files of a reranker, of each training if it is trained for each fold."""
        player = player_of(self.registry, wildcards.reranker)
        folds, asking = self._reranked_folds(wildcards), asking_of(self.registry, player)
        files = [file for f in folds for file in self.model_files(player, wildcards.dataset, f)]
        return [*files, *([self.taken(asking)] if asking else [])]

    def _reranked_folds(self, wildcards: Wildcards) -> list[str | None]:
        """Return the folds that a reranker's trainings answer; [None] is the whole split."""
        player, (dataset, split) = (
            player_of(self.registry, wildcards.reranker),
            split_id_of(wildcards),
        )
        if not isinstance(player, FromModel):
            return [None]
        model = self.registry.model_for(player.model, dataset)
        return [*map(self.registry.fold_of, self.registry.answering(model, split))]

    def reranked_folds(self, wildcards: Wildcards) -> list[str]:
        """Return the queries of each fold that a training of the reranker answers."""
        folds = filter(None, self._reranked_folds(wildcards))
        split_ids = (SplitId(wildcards.dataset, fold) for fold in folds)
        return [self.fill(self.paths.queries, split_id) for split_id in split_ids]

    def reranker(self, wildcards: Wildcards) -> str:
        """Return a `--model` option for each training, and how a released reranker is read.

        `--reading` is of a cross-encoder, `--asking` names an encoder of queries alone.
        """
        player = player_of(self.registry, wildcards.reranker)
        reading = getattr(player, "reading", None)
        read = f" --reading {quote(specs.of_entry(reading))}" if reading else ""
        folds = self._reranked_folds(wildcards)
        models = [self.model_argument(player, wildcards.dataset, fold) for fold in folds]
        asking = asking_of(self.registry, player)
        asks = f" --asking {folder_of(self.taken(asking))}" if asking else ""
        return " ".join(f"--model {model}" for model in models) + read + asks

    def pairs_spec(self, wildcards: Wildcards) -> str:
        """Return the spec of the job that scores pairs."""
        scale = self.registry.scale
        if encoder_of(self.registry, player_of(self.registry, wildcards.reranker)):
            return specs.canonical_json({"batch_size": scale.batch_size})
        spec = {"kind": "cross-encoder", "batch_size": scale.pair_batch_size}
        return specs.canonical_json(spec)

    def shard(self, wildcards: Wildcards) -> str:
        """Return `--shard N --of SHARDS` for a shard of the queries whose pairs are scored."""
        shards = pair_shards(self.registry, wildcards.reranker, split_id_of(wildcards))
        return f"--shard {int(wildcards.shard)} --of {shards}"

    def pairs(self, wildcards: Wildcards) -> list[str]:
        """Return the scores of a reranker's pairs on a split, of each shard."""
        split_id = split_id_of(wildcards)
        return pair_files(self.registry, self.paths.pairs, wildcards.reranker, split_id)

    def _candidates(self, wildcards: Wildcards) -> dict[str, int]:
        split_id = split_id_of(wildcards)
        deepest = candidates(self.registry, wildcards.reranker, split_id, self.hub)
        return {self.fill(self.paths.run, split_id, run=run): k for run, k in deepest.items()}

    def candidates(self, wildcards: Wildcards) -> list[str]:
        """Return the first stages' runs whose docs a reranker scores."""
        return list(self._candidates(wildcards))

    def depths(self, wildcards: Wildcards) -> str:
        """Return `--run FILE --depth N` for each first stage's run and its largest depth."""
        runs = self._candidates(wildcards).items()
        return " ".join(f"--run {path} --depth {depth}" for path, depth in runs)

    def _reranked(self, wildcards: Wildcards) -> dict[str, Reranked]:
        return reranked(self.registry, wildcards.reranker, split_id_of(wildcards), self.hub)

    def curves(self, wildcards: Wildcards) -> str:
        """Return `--run RUN=FIRST` for each reranked run and its first stage's run."""
        split_id, runs = split_id_of(wildcards), self._reranked(wildcards)
        firsts = {
            name: self.fill(self.paths.run, split_id, run=run.first) for name, run in runs.items()
        }
        return " ".join(f"--run {name}={first}" for name, first in firsts.items())

    def curves_spec(self, wildcards: Wildcards) -> str:
        """Return the depths of each run and the measures of depth curves on a split, as JSON."""
        registry, split_id, runs = self.registry, split_id_of(wildcards), self._reranked(wildcards)
        measures = {run.system.depth.measure for run in runs.values()}
        for page in (registry.entry(name, Figure) for name in registry.chosen("figure")):
            if page.over == DEPTH and registry.binding(page.role) == split_id:
                measures |= {panel.measure for panel in page.panels}
        grids = {name: sorted(run.grid) for name, run in runs.items()}
        return specs.canonical_json({"depths": grids, "measures": sorted(filter(None, measures))})

    def cut(self, wildcards: Wildcards) -> dict[str, str | list[str]]:
        """Return the inputs of a reranked run: first stage's run, scores, depth curve, folds.

        Raises ResiduumError if no chosen paper shows the system on the dataset.
        """
        (name, seed), split_id = run_of(wildcards), split_id_of(wildcards)
        reranker = self.registry.reranker(name)
        tune = self.registry.tune_split(name, split_id)
        if name not in rerank_systems(self.registry, reranker):
            raise ResiduumError(
                f"{name}: only papers that `papers:` leaves out name it; choose one of them"
            )
        if split_id.dataset not in (shown := datasets_of(self.registry, name)):
            text = f"the chosen papers show it on {', '.join(sorted(shown)) or 'no dataset'} alone"
            raise ResiduumError(f"{name}: {text}; add a column of {split_id.dataset}")
        first = self.registry.entry(name, RerankSystem).first_stage
        inputs: dict[str, str | list[str]] = {
            "first": self.run(first, seed, split_id),
            "scores": pair_files(self.registry, self.paths.pairs, reranker, split_id),
        }
        if tune:
            inputs["curve"] = self.fill(self.paths.depth_curve, tune, reranker=reranker)
            inputs |= {"folds": folds} if (folds := self._folds(tune)) else {}
        return inputs


QUOTE = "'\\''"  # a single quote inside single quotes, for the shell


def needs_answers(registry: Registry, split_id: SplitId) -> bool:
    """Say whether a measure of a split reads answers and texts instead of qrels."""
    return any(reads(name) == "answers" for name in registry.measures(split_id))


def measure_options(names: Iterable[str]) -> str:
    """Return a `--measure` option for each measure."""
    return " ".join(f"""--measure '{name.replace("'", QUOTE)}'""" for name in names)


def _counts_first(measure: str) -> bool:
    """Say whether the first relevant doc of any level decides a measure, as for RR@k."""
    return of_first(measure) and level(measure) == 1


class Evaluations(Part):
    """Inputs and options of the stage evaluate."""

    def ranked(self, wildcards: Wildcards) -> str:
        """Return the file that is measured: a run, or a run's scores of candidates."""
        (run, over), split_id = OrderId.parse(wildcards.run), split_id_of(wildcards)
        self._check_named(split_id, run)
        template = self.paths.scores if over else self.paths.run
        return self.fill(template, split_id, run=run, other=over)

    def _check_named(self, split_id: SplitId, run: str) -> None:
        """Raise ResiduumError for a split or a system that no file of config/ has."""
        name, seed = RunId.parse(run)
        if why := unknown_split(self.registry, split_id.dataset, split_id.split):
            raise ResiduumError(why)
        if name not in self.registry.systems:
            raise ResiduumError(unknown("system", name, self.registry.systems))
        if self.registry.seeded(name) and seed is None:
            runs = " or ".join(self.registry.runs(name))
            raise ResiduumError(f"{name} has a run for each training seed: name {runs}")

    def record(self, wildcards: Wildcards) -> str:
        """Return the manifest of the file that is measured."""
        return Template(self.ranked(wildcards)).manifest

    def depth_curves(self, wildcards: Wildcards) -> list[str]:
        """Return the depth curves of the rerankers that a model plays, on the split that tests it.

        A reranker is judged on the candidates that it will see, where its depth is chosen there. A
        dual encoder that reranks, too, is judged as a dual encoder alone.
        """
        registry, curves = self.registry, dict[str, None]()
        split_id, how = registry.learned_on(wildcards.model), registry.scale.learning
        reranks = isinstance(registry.model(wildcards.model), CrossEncoder)
        if split_id is None or how is None or not reranks:
            return []
        for name in registry.of_kind("rerank") if _counts_first(how.measure) else ():
            reranker, role = registry.reranker(name), registry.tuned_on(name)
            player = registry.reranker_binding(reranker)
            if not isinstance(player, FromModel) or role is None:
                continue
            tune, _ = role_of(registry, role, "tune", split_id.dataset, self.hub)
            model = registry.model_for(player.model, split_id.dataset)
            played = (model, str(player.seed)) == (wildcards.model, str(wildcards.seed))
            if played and tune == split_id and reranked(registry, reranker, split_id, self.hub):
                curves[self.fill(self.paths.depth_curve, split_id, reranker=reranker)] = None
        return list(curves)

    def candidates(self, wildcards: Wildcards) -> str:
        """Return the run whose docs are candidates on a split."""
        return self.fill(self.paths.run, split_id_of(wildcards), run=wildcards.other)

    def measures(self, wildcards: Wildcards) -> str:
        """Return a `--measure` option for each measure of a split."""
        return measure_options(self.registry.measures(split_id_of(wildcards)))

    def texts(self, wildcards: Wildcards) -> list[str]:
        """Return the answers and the corpus if a measure of the split reads answers."""
        split_id = split_id_of(wildcards)
        return self.answered_texts(split_id) if needs_answers(self.registry, split_id) else []


FEW = 0.1  # share of a corpus; above it, a second set of vectors costs more than it saves


def shards_alone(registry: Registry, split_id: SplitId, model: str, other: str) -> int:
    """Return the number of shards of a split's candidates if a model encodes only them, else 0.

    0 means that the whole corpus is encoded: `other` makes no candidates, or more than a share
    `FEW` of the corpus. Pinned counts decide this, so it is the same before and after any job.
    """
    of_candidates = isinstance(registry.systems[RunId.parse(other).system], CandidatesSystem)
    if not (of_candidates and isinstance(registry.model(model), READERS)):
        return 0
    listed = sizes.listed(registry, split_id, other)
    if listed > FEW * sizes.docs(registry, split_id.dataset):
        return 0
    vectors = listed * registry.vectors_each(split_id.dataset, model)
    return min(-(-vectors // registry.scale.shard_docs), listed)


class Listed(Corpora):
    """Inputs and options of jobs that encode candidates, or score them by their vectors."""

    def scoring(self, wildcards: Wildcards) -> list[str]:
        """Return the doc vectors by which a dense run scores another system's docs."""
        system, split_id = run_of(wildcards).system, split_id_of(wildcards)
        named = self.registry.entry(system, DenseSystem).model
        model = self.registry.model_for(named, split_id.dataset)
        count = shards_alone(self.registry, split_id, model, wildcards.other)
        if not count:
            return self.shards(self.paths.embeddings)(wildcards)
        seed = self.registry.vectors_seed(model, run_of(wildcards).seed)
        return [
            self.fill(
                self.paths.listed_embeddings,
                split_id,
                **{"other": wildcards.other, "model": name, "seed": seed, "shard": f"{n:05d}"},
            )
            for name in self._answering(wildcards)
            for n in self.registry.numbered(count)
        ]

    def lists(self, wildcards: Wildcards) -> str:
        """Return the run whose docs are the candidates to encode."""
        return self.fill(self.paths.run, split_id_of(wildcards), run=wildcards.other)

    def shard(self, wildcards: Wildcards) -> str:
        """Return `--shard N --of SHARDS` for a shard of candidates."""
        split_id = split_id_of(wildcards)
        shards = shards_alone(self.registry, split_id, wildcards.model, wildcards.other)
        return f"--shard {int(wildcards.shard)} --of {shards}"


class Unions(Part):
    """Options of the stage fusion."""

    def requested(self, wildcards: Wildcards) -> str:
        """Return `--requested PART=K` for all parts of a fusion, or "" if a part is not exact.

        A part is exact if it gives true scores and its k hits are its k best docs. RM3 and
        approximate searches are not exact.
        """
        system = self.registry.entry(run_of(wildcards).system, FusionSystem)
        counts = {part: self._exactly(system, part) for part in system.parts}
        if None in counts.values():
            return ""
        return " ".join(f"--requested {part}={k}" for part, k in counts.items())

    def _exactly(self, system: FusionSystem, part: str) -> int | None:
        """Return the hits requested of a part, or None if they may not be its best docs."""
        searched = self.registry.systems[part]
        if system.rule(part) != "true_score" or not isinstance(
            searched, LexicalSystem | DenseSystem
        ):
            return None
        approximate = isinstance(searched, DenseSystem) and searched.search
        return None if approximate else searched.k


class Hybrids(Part):
    """Inputs and options of the stage hybrid."""

    def _of_parts(self, wildcards: Wildcards, template: Template) -> Iterator[tuple[str, str]]:
        """Yield each part of a hybrid run with each file of its vectors of docs or queries."""
        (system, seed), dataset = run_of(wildcards), wildcards.dataset
        for part in self.registry.entry(system, HybridSystem).parts:
            named = self.registry.entry(part, DenseSystem).model
            model = self.registry.model_for(named, dataset)
            for path in shards_of(self.registry, template, dataset, model, seed):
                yield part, path

    def embeddings(self, wildcards: Wildcards) -> list[str]:
        """Return the vectors of docs, by part and shard."""
        return [path for _, path in self._of_parts(wildcards, self.paths.embeddings)]

    def embeddings_options(self, wildcards: Wildcards) -> str:
        """Return `--embeddings PART=FOLDER` for the doc vectors of each part and shard."""
        named = self._of_parts(wildcards, self.paths.embeddings)
        return " ".join(f"--embeddings {part}={folder_of(path)}" for part, path in named)

    def first_passages(self, wildcards: Wildcards) -> str:
        """Return `--first-passages PART` for each part that searches docs' first passages alone."""
        parts = self.registry.entry(run_of(wildcards).system, HybridSystem).parts
        first = [part for part in parts if self.registry.entry(part, DenseSystem).first]
        return " ".join(f"--first-passages {part}" for part in first)

    def queries(self, wildcards: Wildcards) -> list[str]:
        """Return the vectors of queries, by part."""
        return [path for _, path in self._of_parts(wildcards, self.paths.query_embeddings)]

    def queries_options(self, wildcards: Wildcards) -> str:
        """Return `--queries PART=FOLDER` for each part's query vectors of a split."""
        named, split = self._of_parts(wildcards, self.paths.query_embeddings), wildcards.split
        return " ".join(f"--queries {part}={folder_of(path)}/{split}" for part, path in named)


class Sweeps(Part):
    """Options of the stage sweep."""

    def spec(self, wildcards: Wildcards) -> str:
        """Return the spec of a sweep."""
        return specs.of_entry(self.registry.sweeps[wildcards.sweep])

    def measures(self, wildcards: Wildcards) -> str:
        """Return a `--measure` option for each measure of a sweep that figures show on a split."""
        registry, split_id = self.registry, split_id_of(wildcards)
        figures = [registry.entry(name, Figure) for name in registry.chosen("figure")]
        of_sweep = [page for page in figures if page.sweep == wildcards.sweep]
        of_split = [page for page in of_sweep if registry.binding(page.role) == split_id]
        names = {panel.measure for page in of_split for panel in page.panels}
        return measure_options(sorted(filter(None, names)))


class Groups(Part):
    """Inputs and options of the stage groups."""

    def spec(self, wildcards: Wildcards) -> str:
        """Return the spec of a grouping."""
        return specs.of_entry(self.registry.groupings[wildcards.grouping])

    def metrics(self, wildcards: Wildcards) -> list[str]:
        """Return the metrics, of all seeds' runs, that divide queries into groups."""
        grouping, split_id = self.registry.groupings[wildcards.grouping], split_id_of(wildcards)
        assert isinstance(grouping, Halves), "the rule's wildcard has no other kind"
        runs = self.registry.runs(grouping.system)
        return [self.fill(self.paths.metrics, split_id, run=run) for run in runs]
