"""What a results folder cost: time and memory of each stage, disk, pairs scored and saved.

Usage: `stages(folder)`, `rerankings(folder)`. Reads Snakemake's benchmarks, which no manifest
names: no two runs share seconds. Must not know HTML.
"""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from residuum.inspect.addressing import PATHS
from residuum.site.folder import Folder
from residuum.wiring.paths import folder_of

REPORT = folder_of(PATHS.report)


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


def stages(folder: Folder) -> list[Stage]:
    """Return the stages by their time; those of jobs whose benchmarks lie in the folder."""
    root = folder.results / "benchmarks"
    made = (_stage(path, root) for path in sorted(root.glob("*")) if path.is_dir())
    return sorted((stage for stage in made if stage.jobs), key=lambda stage: -stage.seconds)


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
    with path.open(encoding="utf-8", newline="") as lines:
        return next(csv.DictReader(lines, delimiter="\t"), {})


def _number(text: str | None) -> float:
    """Return a number of a benchmark; 0 where Snakemake measured none."""
    try:
        return float(text or 0)
    except ValueError:
        return 0.0


def rerankings(folder: Folder) -> Iterator[Reranking]:
    """Yield what each reranker scored."""
    for path, artefact in folder.graph.items():
        at, made = PATHS.pairs.parse(path), artefact.manifest
        if at and made and "pairs_without_sharing" in made.artefact:
            facts, split = made.artefact, f"{at['dataset']}/{at['split']}"
            alone, runs = int(facts["pairs_without_sharing"]), len(facts.get("pairs_per_run", {}))
            yield Reranking(at["reranker"], split, int(facts["pairs"]), alone, runs)


def disk(folder: Folder) -> list[tuple[str, int, int]]:
    """Return name, files and bytes of each part of the results folder, largest first."""
    made = []
    for part in folder.results.iterdir():
        if part.is_dir() and not part.name.startswith(".") and part.name != REPORT:
            sizes = [file.stat().st_size for file in part.rglob("*") if file.is_file()]
            made.append((part.name, len(sizes), sum(sizes)))
    return sorted(made, key=lambda each: -each[2])
