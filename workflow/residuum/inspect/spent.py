"""What a results folder cost: time and memory of each stage, disk, pairs scored and saved.

Usage: `stages(results)`, `rerankings(graph)`. Reads Snakemake's benchmarks, which no manifest
names: no two runs share seconds. Must not know how any of it is shown.
"""

import csv
from collections.abc import Iterator
from pathlib import Path, PurePath
from typing import NamedTuple

from residuum.inspect.provenance import Graph
from residuum.wiring.paths import Paths, folder_of

PATHS = Paths()
REPORT = folder_of(PATHS.report)
TIMES = PurePath(PATHS.time("")).parts[0]


class Stage(NamedTuple):
    """A stage's jobs: how many, wall and core seconds of all, the largest memory of one in MB."""

    name: str
    jobs: int
    seconds: float
    core_seconds: float
    memory: float
    longest: str  # the job that took longest
    longest_seconds: float


class Reranking(NamedTuple):
    """Pairs that a reranker scored on a split, and how many without sharing between runs."""

    reranker: str
    split: str
    pairs: int
    alone: int
    runs: int


def stages(results: Path) -> list[Stage]:
    """Return the stages by their time; those of jobs whose benchmarks lie in the folder."""
    root = results / TIMES
    made = (_stage(path, root) for path in sorted(root.glob("*")) if path.is_dir())
    return sorted((stage for stage in made if stage.jobs), key=lambda stage: -stage.seconds)


def together(stages: list[Stage]) -> Stage:
    """Return all stages as one: sums, and the largest memory and the longest job of any."""
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
    times = [(own, name.as_posix()) for own, name in jobs if own]
    wall, core, memory = (
        [_number(own.get(column)) for own, _ in times] for column in ("s", "cpu_time", "max_rss")
    )
    longest = max(zip(wall, (name for _, name in times), strict=True), default=(0.0, ""))
    most = max(memory, default=0.0)
    return Stage(path.name, len(times), sum(wall), sum(core), most, longest[1], longest[0])


def _job(path: Path) -> dict[str, str]:
    with path.open(encoding="utf-8", errors="replace", newline="") as lines:
        return next(csv.DictReader(lines, delimiter="\t"), {})


def _number(text: str | None) -> float:
    """Return a number of a benchmark; 0 for `-` and NA, where Snakemake measured none."""
    try:
        return float(text or 0)
    except ValueError:
        return 0.0


def rerankings(graph: Graph) -> Iterator[Reranking]:
    """Yield what each reranker scored."""
    for path, artefact in graph.items():
        at, made = PATHS.pairs.parse(path), artefact.manifest
        if at and made and "pairs_without_sharing" in made.artefact:
            facts, split = made.artefact, f"{at['dataset']}/{at['split']}"
            alone, runs = int(facts["pairs_without_sharing"]), len(facts.get("pairs_per_run", {}))
            yield Reranking(at["reranker"], split, int(facts["pairs"]), alone, runs)


def disk(results: Path) -> list[tuple[str, int, int]]:
    """Return name, files and bytes of each part of the results folder, largest first."""
    made = []
    for part in results.iterdir():
        if part.is_dir() and not part.name.startswith(".") and part.name != REPORT:
            sizes = [file.stat().st_size for file in part.rglob("*") if file.is_file()]
            made.append((part.name, len(sizes), sum(sizes)))
    return sorted(made, key=lambda each: -each[2])
