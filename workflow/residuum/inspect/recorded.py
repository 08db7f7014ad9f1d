"""What a results folder records of its data, models, seeds, environments and cost: rows for tables.

Usage: `Recorded.read(results, config)`, then its methods. A value that no file has is UNKNOWN.
Reads manifests, tuning records, benchmark files and config/datasets.
"""

import csv
from collections import Counter
from collections.abc import Iterator
from pathlib import Path, PurePath, PurePosixPath
from typing import NamedTuple, Self

from residuum.artefacts.manifest import FOLDER
from residuum.config.schema.datasets import Dataset
from residuum.config.specs import RunId
from residuum.inspect import checkpoints, citing, provenance
from residuum.inspect.checkpoints import PATHS, Checkpoint
from residuum.inspect.citing import UNKNOWN
from residuum.inspect.provenance import Artefact, Graph, Manifest
from residuum.inspect.text import duration, flat, listed
from residuum.tuning.choosing import Record
from residuum.wiring.paths import Template, folder_of

Row = list[str]
ANSWERS = PurePosixPath(PATHS.answers).name
REPORT, TIMES = folder_of(PATHS.report), PurePath(PATHS.time("")).parts[0]
Manifests = dict[str, Manifest]  # by the artefact's path


class Recorded(NamedTuple):
    """The manifests of a results folder, and the entries of its collections in config/."""

    results: Path
    graph: Graph
    known: dict[str, Dataset]

    @classmethod
    def read(cls, results: Path, config: Path) -> Self:
        """Read all manifests and the collections' entries.

        A folder without manifests and a faulty entry raise ResiduumError. Without config/, the
        facts of entries are UNKNOWN.
        """
        graph = provenance.read(results)
        names = [corpus.name for corpus in corpora(graph)]
        return cls(results, graph, citing.known(config, names))

    def manifests(self, form: Template) -> Manifests:
        """Return the manifests of all artefacts whose path fits a template, by path."""
        return {
            path: artefact.manifest
            for path, artefact in self.graph.items()
            if artefact.manifest and form.parse(path)
        }

    @property
    def all(self) -> list[Manifest]:
        """All manifests, in the order of their paths."""
        return [artefact.manifest for artefact in self.graph.values() if artefact.manifest]

    def collections(self) -> list[Row]:
        """Return name, title, docs, edition, source, licence, access, citation of each corpus."""
        rows = []
        for corpus in corpora(self.graph):
            title, *others = citing.stated_of(corpus.name, self.known.get(corpus.name))
            rows.append([corpus.name, title, corpus.docs, corpus.edition, corpus.source, *others])
        return rows

    def splits(self) -> list[Row]:
        """Return, per split, the number of queries, of judgements (or "answers"), and its uses."""
        used: dict[str, set[str]] = {}
        for checkpoint in self.checkpoints():
            for trained in checkpoints.trained_on(checkpoint):
                used.setdefault(trained, set()).add("training")
        for path in self.manifests(PATHS.metrics):
            used.setdefault(_place(path), set()).add("evaluation")
        for path in [path for form in PATHS.choices for path in self.manifests(form)]:
            record = Record.read(self.results / path)
            use = "tuning of each fold on the others" if record.fold_of else "tuning"
            if record.tried:
                used.setdefault(self._tuned_on(path), set()).add(use)
        rows = []
        for path, made in self.graph.items():
            facts = made.manifest.artefact if made.manifest else {}
            if "queries" in facts and "qrels" in facts:  # it is a split
                place = "/".join(PurePosixPath(path).parts[1:])
                uses = ", ".join(sorted(used.get(place, {"none of these"})))
                judged = f"{facts['qrels']:,}"
                if not facts["qrels"] and self.graph[f"{path}/{ANSWERS}"].manifest:
                    judged = "answers"
                rows.append([place, f"{facts['queries']:,}", judged, uses])
        return rows

    def checkpoints(self) -> list[Checkpoint]:
        """Return all checkpoints, in the order of their paths."""
        return [
            Checkpoint(self.results, self.graph, path, artefact.manifest)
            for path, artefact in self.graph.items()
            if artefact.manifest and checkpoints.named(path)
        ]

    def trained(self) -> list[Checkpoint]:
        """Return the checkpoints that were trained for a step or more."""
        return [c for c in self.checkpoints() if c.trained]

    def models(self) -> list[Row]:
        """Return kind, start, training and verdict of each trained model."""
        rows = []
        for checkpoint in self.trained():
            spec, training = checkpoint.made.spec, dict(checkpoint.settings.get("training") or {})
            shown = ("optimizer", "learning_rate", "batch_size", "epochs")
            losses = checkpoint.settings.get("losses") or [checkpoint.settings.get("loss") or {}]
            loss_of = " and ".join(filter(None, (str(one.get("kind", "")) for one in losses)))
            text = listed({"loss": loss_of, **{key: training.get(key) for key in shown}})
            steps, loss = (str(checkpoint.made.artefact.get(k, "")) for k in ("steps", "loss"))
            row = [checkpoint.name, checkpoint.kind, str(spec.get("seed", UNKNOWN))]
            row += [str(spec.get("start") or UNKNOWN), text, steps, loss[:8], _learned(checkpoint)]
            rows.append(row)
        return rows

    def systems(self) -> list[Row]:
        """Return the spec of each system that made a run; runs that differ by seed count once."""
        made: dict[str, str] = {}
        for path, record in self.manifests(PATHS.run).items():
            run = (PATHS.run.parse(path) or {})["run"]
            made.setdefault(RunId.parse(run).system, listed(record.spec))
        return [list(pair) for pair in sorted(made.items())]

    def scale(self) -> str:
        """Return the scale in the pages' specs; the folder may have been renamed."""
        return checkpoints.scale_of(self.results, self.graph)

    def tunings(self) -> list[Row]:
        """Return a row per tuned value: split, measure, tried range, choice, whether at an edge."""
        rows = []
        for form in PATHS.choices:
            for path in self.manifests(form):
                place, record = form.parse(path) or {}, Record.read(self.results / path)
                if not record.tried:
                    continue
                tuned = place.get("run") or place.get("model") or ""
                queries = self._tuned_on(path)
                queries += ", each fold on the others" if record.fold_of else ""
                chosen = "; ".join(dict.fromkeys(listed(dict(c.setting)) for c in record.choices))
                edges = sorted({name for choice in record.choices for name in choice.at_edge})
                by = f"{record.measure} of {record.queries} queries"
                tried = f"{len(record.tried)}: {_ranges(record)}"
                rows.append((tuned, queries, by, tried, chosen, ", ".join(edges) or "no"))
        return [list(row) for row in dict.fromkeys(rows)]  # a depth occurs once per reranked split

    def _tuned_on(self, path: str) -> str:
        """Return the split a value was tuned on; a depth curve names it, else the path."""
        curves = [p for p in self.graph[path].parents if PATHS.depth_curve.parse(p)]
        return _place([*curves, path][0])

    def tests(self) -> list[Row]:
        """Return, per page, how its comparisons are tested, and their number."""
        rows = []
        for path, made in self.manifests(PATHS.significance).items():
            how = made.spec.get("tests")
            text = listed(how) if isinstance(how, dict) else UNKNOWN
            count = str(made.artefact.get("comparisons", UNKNOWN))
            rows.append([PurePosixPath(path).stem, text, count])
        return rows

    def measures(self) -> list[Row]:
        """Return each measure with the splits on which it is computed."""
        on: dict[str, set[str]] = {}
        for path, made in self.manifests(PATHS.metrics).items():
            place = PATHS.metrics.parse(path) or {}
            for name in made.artefact["means"]:
                on.setdefault(name, set()).add(f"{place['dataset']}/{place['split']}")
        return [[name, ", ".join(sorted(places))] for name, places in sorted(on.items())]

    def counted(self, *keys: str) -> list[Row]:
        """Return the values of keys of the manifests' environments, with their counts."""
        counts = Counter(tuple(_text(made.environment.get(k)) for k in keys) for made in self.all)
        return [[*values, str(count)] for values, count in counts.most_common()]

    def packages(self) -> dict[str, set[str]]:
        """Return the versions of each package that any manifest records."""
        mark = "packages."
        return {
            key.removeprefix(mark): {*versions}
            for key, versions in environments(self.graph).items()
            if key.startswith(mark)
        }

    def spent(self) -> list[Row]:
        """Return, per stage, its jobs, wall time, CPU time and largest memory."""
        spent = stages(self.results)
        rows = []
        for stage in [*spent, sum_of(spent)] if spent else []:
            times = [duration(stage.seconds), duration(stage.core_seconds)]
            rows.append([stage.name, str(stage.jobs), *times, f"{stage.memory:,.0f}"])
        return rows


def _learned(checkpoint: Checkpoint) -> str:
    made = checkpoints.verdict(checkpoint)
    return UNKNOWN if made is None else "yes" if made.learned else "no"


def _place(path: str) -> str:
    """Return <dataset>/<split> from the path of a file in a split's folder."""
    return "/".join(PurePosixPath(path).parts[-3:-1])


def _text(value: object) -> str:
    if isinstance(value, dict):
        return listed(value, full=True)
    return UNKNOWN if value is None else str(value)


def _ranges(record: Record) -> str:
    """Return the least and the largest tried value of each parameter."""
    values: dict[str, list[float]] = {}
    for tried in record.tried:
        for name, value in tried.setting.items():
            values.setdefault(name, []).append(value)
    return "; ".join(
        f"{name} {min(numbers):.6g} to {max(numbers):.6g}" for name, numbers in values.items()
    )


class Corpus(NamedTuple):
    """A corpus of the results; a fact that its manifest lacks is UNKNOWN."""

    name: str
    docs: str
    edition: str
    source: str


def corpora(graph: Graph) -> Iterator[Corpus]:
    """Yield the corpora in the order of their paths."""
    for path, artefact in graph.items():
        at, made = PATHS.corpus.parse(f"{path}/{FOLDER}"), artefact.manifest
        if at and made:
            docs, source = made.artefact.get("docs"), made.spec.get("source")
            yield Corpus(
                name=at["dataset"],
                docs=f"{docs:,}" if isinstance(docs, int) else UNKNOWN,
                edition=str(made.artefact.get("edition") or UNKNOWN),
                source=listed(source) if isinstance(source, dict) else UNKNOWN,
            )


def environments(graph: Graph) -> dict[str, Counter[str]]:
    """Return {key of the environment: counts of its values}; packages are keyed packages.NAME."""
    counted: dict[str, Counter[str]] = {}
    for artefact in graph.values():
        for key, value in flat(artefact.manifest.environment if artefact.manifest else {}):
            if key not in ("", "path", "command") and value not in (None, {}):
                counted.setdefault(key, Counter())[str(value)] += 1
    return counted


def seeds(graph: Graph) -> list[str]:
    """Return the training seeds of the checkpoints."""
    places = (PATHS.checkpoint.parse(f"{path}/{FOLDER}") for path in graph)
    return sorted({at["seed"] for at in places if at})


class Stage(NamedTuple):
    """A stage's jobs: their number, summed wall and core seconds, and the largest memory in MB."""

    name: str
    jobs: int
    seconds: float
    core_seconds: float
    memory: float
    longest: str  # the longest job
    longest_seconds: float


class Reranking(NamedTuple):
    """The pairs that a reranker scored on a split, and the pairs it would score without sharing."""

    reranker: str
    split: str
    pairs: int
    alone: int
    runs: int


def stages(results: Path) -> list[Stage]:
    """Return the stages that have benchmark files, the longest first."""
    root = results / TIMES
    made = (_stage(path, root) for path in sorted(root.glob("*")) if path.is_dir())
    return sorted((stage for stage in made if stage.jobs), key=lambda stage: -stage.seconds)


def sum_of(stages: list[Stage]) -> Stage:
    """Return the sum of stages, with the largest memory and the longest job of any stage."""
    longest = max(stages, key=lambda stage: stage.longest_seconds)
    return Stage(
        "all",
        sum(stage.jobs for stage in stages),
        sum(stage.seconds for stage in stages),
        sum(stage.core_seconds for stage in stages),
        max(stage.memory for stage in stages),
        longest.longest,
        longest.longest_seconds,
    )


def _stage(path: Path, root: Path) -> Stage:
    jobs = [(_job(file), file.relative_to(root).with_suffix("")) for file in path.rglob("*.tsv")]
    times = [(record, name.as_posix()) for record, name in jobs if record]
    wall, core, memory = (
        [_number(record.get(column)) for record, _ in times]
        for column in ("s", "cpu_time", "max_rss")
    )
    longest = max(zip(wall, (name for _, name in times), strict=True), default=(0.0, ""))
    most = max(memory, default=0.0)
    return Stage(path.name, len(times), sum(wall), sum(core), most, longest[1], longest[0])


def _job(path: Path) -> dict[str, str]:
    with path.open(encoding="utf-8", errors="replace", newline="") as lines:
        return next(csv.DictReader(lines, delimiter="\t"), {})


def _number(text: str | None) -> float:
    """Return a number of a benchmark file, or 0 for `-` and NA, which mean "not measured"."""
    try:
        return float(text or 0)
    except ValueError:
        return 0.0


def rerankings(graph: Graph) -> Iterator[Reranking]:
    """Yield the numbers of scored pairs of each reranker and split, over its shards.

    Shards of another number of shards than the first one's are of an earlier division.
    """
    made = dict[tuple[str, str], Reranking]()
    for path, artefact in graph.items():
        at, record = PATHS.pairs.parse(path), artefact.manifest
        if at and record and "pairs_without_sharing" in record.artefact:
            first = graph.get(PATHS.pairs.fill(**{**at, "shard": f"{0:05d}"}), artefact)
            if _shards(first) != _shards(artefact):
                continue
            facts, key = record.artefact, (at["reranker"], f"{at['dataset']}/{at['split']}")
            alone, runs = int(facts["pairs_without_sharing"]), len(facts.get("pairs_per_run", {}))
            before = made.get(key, Reranking(*key, 0, 0, runs))
            pairs = before.pairs + int(facts["pairs"])
            made[key] = before._replace(pairs=pairs, alone=before.alone + alone)
    yield from made.values()


def _shards(artefact: Artefact) -> int:
    """Return of how many shards an artefact is one."""
    shard = artefact.manifest.artefact.get("shard", {}) if artefact.manifest else {}
    return int(shard.get("of", 1))


def disk(results: Path) -> list[tuple[str, int, int]]:
    """Return name, files and bytes of each part of the results folder, largest first."""
    made = []
    for part in results.iterdir():
        if part.is_dir() and not part.name.startswith(".") and part.name != REPORT:
            sizes = [file.stat().st_size for file in part.rglob("*") if file.is_file()]
            made.append((part.name, len(sizes), sum(sizes)))
    return sorted(made, key=lambda each: -each[2])
