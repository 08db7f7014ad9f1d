"""What a results folder records of its data, models, tuning, tests and cost: rows for tables.

Usage: `Recorded.read(results, config)`, then its methods; a value that no file has is UNKNOWN.
Reads manifests, tuning records, benchmark files and config/datasets. Must not know which questions
are put to it.
"""

import csv
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple, Self

from residuum.artefacts import manifest
from residuum.cli.errors import ResiduumError
from residuum.config.schema.datasets import Dataset
from residuum.config.specs import RunId
from residuum.inspect import checkpoints, datasets, provenance, stated
from residuum.inspect.checkpoints import PATHS, Checkpoint
from residuum.inspect.provenance import Graph, Manifest
from residuum.inspect.stated import UNKNOWN
from residuum.inspect.text import listed
from residuum.tuning.choosing import Record
from residuum.tuning.learned import Learned
from residuum.wiring.paths import Template

Row = list[str]
ANSWERS = PurePosixPath(PATHS.answers).name
Manifests = dict[str, Manifest]  # by the path of their artefact


class Recorded(NamedTuple):
    """A results folder's manifests, and what config/ says of its collections."""

    results: Path
    graph: Graph
    known: dict[str, Dataset]

    @classmethod
    def read(cls, results: Path, config: Path) -> Self:
        """Read all manifests; a folder without any is a ResiduumError."""
        try:
            known = datasets.load(config)
        except ResiduumError:
            known = {}  # what it would say is then not recorded
        return cls(results, provenance.read(results), known)

    def of(self, form: Template) -> Manifests:
        """Return the manifests of all artefacts of a form, by path."""
        made = {path: one.manifest for path, one in self.graph.items() if form.parse(path)}
        return {path: record for path, record in made.items() if record}

    @property
    def all(self) -> list[Manifest]:
        """All manifests."""
        return [artefact.manifest for artefact in self.graph.values() if artefact.manifest]

    def collections(self) -> list[Row]:
        """Return dataset, title, docs, source, licence, access and citation of each corpus."""
        rows = []
        for path, made in self.of(Template(str(PurePosixPath(PATHS.corpus).parent))).items():
            name, source = PurePosixPath(path).parts[1], made.spec.get("source")
            kind = listed(source) if isinstance(source, dict) else UNKNOWN
            title, *others = stated.of(name, self.known.get(name))
            rows.append([name, title, f"{made.artefact['docs']:,}", kind, *others])
        return rows

    def splits(self) -> list[Row]:
        """Return the queries and judgements, or that it has answers, of each split, and its use."""
        used: dict[str, set[str]] = {}
        for checkpoint in self.checkpoints():
            for trained in checkpoints.trained_on(checkpoint):
                used.setdefault(trained, set()).add("training")
        for path in self.of(PATHS.metrics):
            used.setdefault(_place(path), set()).add("evaluation")
        for path in [path for form in (PATHS.tuning, PATHS.rate) for path in self.of(form)]:
            record = Record.read(self.results / path)
            use = "tuning of each fold on the others" if record.fold_of else "tuning"
            if record.tried:
                used.setdefault(self._tuned_on(path), set()).add(use)
        rows = []
        for path, made in self.graph.items():
            facts = made.manifest.artefact if made.manifest else {}
            if "queries" in facts and "qrels" in facts:  # a split, in the folder of all data
                place = "/".join(PurePosixPath(path).parts[1:])
                uses = ", ".join(sorted(used.get(place, {"none of these"})))
                judged = f"{facts['qrels']:,}"
                if not facts["qrels"] and self.graph[f"{path}/{ANSWERS}"].manifest:
                    judged = "answers"
                rows.append([place, f"{facts['queries']:,}", judged, uses])
        return rows

    def checkpoints(self) -> list[Checkpoint]:
        """Return all checkpoints, in the order of their paths."""
        made = [
            path for path in self.graph if checkpoints.named(path) and self.graph[path].manifest
        ]
        return [Checkpoint(self.results, self.graph, p, self.graph.manifest(p)) for p in made]

    def trained(self) -> list[Checkpoint]:
        """Return the checkpoints that a training took at least a step of."""
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
            seed, start = str(spec.get("seed", UNKNOWN)), str(spec.get("start") or UNKNOWN)
            rows.append(
                [
                    checkpoint.name,
                    checkpoint.kind,
                    seed,
                    start,
                    text,
                    steps,
                    loss[:8],
                    self._learned(checkpoint),
                ]
            )
        return rows

    def _learned(self, checkpoint: Checkpoint) -> str:
        place = PATHS.checkpoint.parse(f"{checkpoint.path}/{manifest.FOLDER}")
        path = self.results / PATHS.learning.fill(**place) if place else None
        if path is None or not path.is_file():
            return UNKNOWN
        return "yes" if Learned.read(path).learned else "no"

    def systems(self) -> list[Row]:
        """Return the settings of each system that made a run, whatever its seeds."""
        made: dict[str, str] = {}
        for path, record in self.of(PATHS.run).items():
            run = (PATHS.run.parse(path) or {})["run"]
            made.setdefault(RunId.parse(run).system, listed(record.spec))
        return [list(pair) for pair in sorted(made.items())]

    def scale(self) -> str:
        """Return the scale that pages name, whatever the folder is called now."""
        return checkpoints.scale_of(self.results, self.graph)

    def tunings(self) -> list[Row]:
        """Return what was tuned: on which split and by what, its ranges, what was chosen."""
        rows = []
        for form in (PATHS.tuning, PATHS.rate):
            for path in self.of(form):
                place, record = form.parse(path) or {}, Record.read(self.results / path)
                if not record.tried:
                    continue
                what = place.get("run") or place.get("model") or ""
                of = self._tuned_on(path)
                chosen = "; ".join(dict.fromkeys(listed(dict(c.setting)) for c in record.choices))
                edges = sorted({name for choice in record.choices for name in choice.at_edge})
                ranges, by = _ranges(record), f"{record.measure} of {record.queries} queries"
                tried, at_edge = f"{len(record.tried)}: {ranges}", ", ".join(edges) or "no"
                of += ", each fold on the others" if record.fold_of else ""
                rows.append((what, of, by, tried, chosen, at_edge))
        return [list(row) for row in dict.fromkeys(rows)]  # a depth is once for each split reranked

    def _tuned_on(self, path: str) -> str:
        """Return the split whose queries chose: of a depth it is not the one that is reranked."""
        curves = [p for p in self.graph[path].parents if PATHS.depth_curve.parse(p)]
        return _place([*curves, path][0])

    def tests(self) -> list[Row]:
        """Return how each page's comparisons are tested, and how many they are."""
        rows = []
        for path, made in self.of(PATHS.significance).items():
            how = made.spec.get("tests")
            text = listed(how) if isinstance(how, dict) else UNKNOWN
            count = str(made.artefact.get("comparisons", UNKNOWN))
            rows.append([PurePosixPath(path).stem, text, count])
        return rows

    def measures(self) -> list[Row]:
        """Return each measure with the splits that it is computed on."""
        on: dict[str, set[str]] = {}
        for path, made in self.of(PATHS.metrics).items():
            place = PATHS.metrics.parse(path) or {}
            for name in made.artefact["means"]:
                on.setdefault(name, set()).add(f"{place['dataset']}/{place['split']}")
        return [[name, ", ".join(sorted(places))] for name, places in sorted(on.items())]

    def counted(self, *keys: str) -> list[Row]:
        """Return the values of some keys of the manifests' environment, and how many have each."""
        counts = Counter(tuple(_text(made.environment.get(k)) for k in keys) for made in self.all)
        return [[*values, str(count)] for values, count in counts.most_common()]

    def packages(self) -> dict[str, set[str]]:
        """Return the versions of each package that any manifest records."""
        versions: dict[str, set[str]] = {}
        for made in self.all:
            packages = made.environment.get("packages")
            for name, version in packages.items() if isinstance(packages, dict) else ():
                versions.setdefault(str(name), set()).add(str(version))
        return versions

    def spent(self) -> list[Row]:
        """Return jobs, hours and the largest memory of each stage, from benchmark files."""
        rows: dict[str, list[dict[str, str]]] = {}
        root = self.results / PurePosixPath(PATHS.time("")).parts[0]
        for path in sorted(root.rglob("*.tsv")):
            with open(path, encoding="utf-8", newline="") as handle:
                rows.setdefault(path.relative_to(root).parts[0], []).extend(
                    csv.DictReader(handle, delimiter="\t")
                )
        made = [[stage, *_cost(jobs)] for stage, jobs in rows.items()]
        every = [job for jobs in rows.values() for job in jobs]
        return [*made, ["all", *_cost(every)]] if every else []


def _place(path: str) -> str:
    """Return <dataset>/<split> of a file that lies in the folder of its split."""
    return "/".join(PurePosixPath(path).parts[-3:-1])


def _text(value: object) -> str:
    if isinstance(value, dict):
        return listed(value, full=True)
    return UNKNOWN if value is None else str(value)


def _cost(jobs: Iterable[dict[str, str]]) -> Iterator[str]:
    """Yield the number of jobs, their hours by clock and processor, and the largest memory."""
    kept = list(jobs)
    yield str(len(kept))
    for key in ("s", "cpu_time"):
        yield f"{sum(_number(job.get(key)) for job in kept) / 3600:.3f}"
    yield f"{max(_number(job.get('max_rss')) for job in kept):,.0f}"


def _number(text: str | None) -> float:
    """Return a value of a benchmark file, where `-` and NA stand for none."""
    try:
        return float(text or 0)
    except ValueError:
        return 0.0


def _ranges(record: Record) -> str:
    """Return least and largest value of each parameter that was tried."""
    values: dict[str, list[Any]] = {}
    for tried in record.tried:
        for name, value in tried.setting.items():
            values.setdefault(name, []).append(value)
    return "; ".join(f"{name} {min(of):.6g} to {max(of):.6g}" for name, of in values.items())
