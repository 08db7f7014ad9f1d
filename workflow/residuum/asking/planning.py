"""What a scale will take before its first byte: downloads, jobs, disk, memory, hours, and gaps.

Command: `residuum plan --scale full --paper clear`. The jobs are those of Snakemake's own dry run;
what they take are estimates, each with its assumption below. Must not know how a job is costed.
"""

import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from residuum.asking import costing, dryrun, fetching, sizing
from residuum.asking.assumptions import ASSUMED, Cost, assumed
from residuum.asking.costing import Card
from residuum.asking.descent import line, wrapped
from residuum.asking.dryrun import Job
from residuum.asking.holdings import File, amount
from residuum.core import entries, loading
from residuum.core.errors import ResiduumError
from residuum.core.registry import Registry
from residuum.pages import layout
from residuum.wiring import binding
from residuum.wiring.availability import all_available
from residuum.wiring.paths import results_of

HEAP = "2g"  # residuum.lucene.jvm's, which this command, installed with few packages, leaves alone
HEADER = ["rule", "jobs to run", "disk", "RAM", "card", "core hours", "GPU hours", "longest job"]


class Row(NamedTuple):
    """A rule, its jobs to run out of all, and what those take."""

    rule: str
    todo: list[tuple[Job, Cost]]
    every: int


def plan(scale: str | None, papers: Sequence[str], card: Card) -> str:
    """Return the page for a scale and papers, config.yaml's where none are named.

    Raises ResiduumError where config/ is at fault or Snakemake cannot plan.
    """
    if card.tflops <= 0 or not 0 < card.utilisation <= 1:
        raise ResiduumError("--tflops is above 0, and --utilisation above 0 and at most 1")
    registry = _registry(scale, papers)
    todo, every = dryrun.plans(registry.config.scale, registry.config.papers)
    rows = tally(registry, todo, every)
    files, models = fetching.dataset_files(registry, todo), fetching.hub_models(registry, todo)
    needs = {Path(results_of(registry.config.scale)): total(rows).disk}
    parts = [
        _head(registry, len(todo), len(every)),
        "\n".join(_downloads(registry, files, models)),
        "\n".join(_stages(rows, card)),
        "\n".join(_gaps(registry)),
        "\n".join(disks({**needs, **fetching.homes(registry, files, models)})),
        "\n".join(_assumptions(registry, rows, card)),
    ]
    return "\n\n".join(part for part in parts if part)


def _registry(scale: str | None, papers: Sequence[str]) -> Registry:
    file = Path("config/config.yaml")
    if not file.is_file():
        raise ResiduumError(f"no {file} in {Path.cwd()}. Run this in the project's folder.")
    asked = {"scale": scale, "papers": list(papers)}
    chosen = {key: value for key, value in asked.items() if value}
    return loading.load(file.parent, {**entries.parse(file, dict[str, Any]), **chosen})


def tally(registry: Registry, todo: list[Job], every: list[Job]) -> list[Row]:
    """Return a row for each rule, in the order of the stages."""
    costs: dict[str, list[tuple[Job, Cost]]] = {}
    for job in todo:
        costs.setdefault(job.rule, []).append((job, costing.cost(registry, job) or Cost()))
    rules = [job.rule for job in every]
    ordered = sorted(set(rules), key=lambda rule: (costing.place(rule), rule))
    return [Row(rule, costs.get(rule, []), rules.count(rule)) for rule in ordered]


def total(rows: Iterable[Row]) -> Cost:
    """Return the sums over all jobs to run; of the card's memory, the most that one needs."""
    found = [cost for row in rows for _, cost in row.todo]
    sums = (sum(values) for values in list(zip(*found, strict=True))[:-1])
    return Cost(*sums, card=max((cost.card for cost in found), default=0)) if found else Cost()


def _head(registry: Registry, todo: int, every: int) -> str:
    papers = ", ".join(registry.config.papers)
    jobs = f"{todo} of {every} jobs have to run" if todo else f"all {every} jobs are done"
    estimates = "Sizes, memory and hours are estimates; what they rest on stands at the end."
    return wrapped(f"Scale {registry.config.scale}, papers {papers}: {jobs}. {estimates}", "", 0)


def _downloads(
    registry: Registry, files: dict[str, list[File]], models: list[fetching.Model]
) -> Iterator[str]:
    rows = [_file_row(name, file) for name, of in files.items() for file in of]
    rows += [_model_row(model) for model in models]
    if not rows:
        yield "Downloads: none."
        return
    absent = [file.bytes or 0 for of in files.values() for file in of if not file.here]
    absent += [model.bytes for model in models if not model.here]
    yield f"Downloads: {amount(sum(absent))} to come" if absent else "Downloads: all here"
    yield layout.grid(["of", "file", "size", "here", "from"], rows)
    for name in files:
        dataset = registry.datasets[name]
        yield name
        yield line("licence", dataset.licence)
        yield line("access", dataset.access)
    if models:
        yield "hub"
        yield line("licence", "each model's own, on its page at its address")


def _file_row(name: str, file: File) -> list[str]:
    size = amount(file.bytes) if file.bytes else "unknown"
    return [name, file.name, size, file.state, file.url or "see access"]


def _model_row(model: fetching.Model) -> list[str]:
    state = "here" if model.here else "absent: downloaded when needed"
    return ["hub", model.name, f"about {amount(model.bytes)}", state, model.url]


def _stages(rows: list[Row], card: Card) -> Iterator[str]:
    yield layout.grid(HEADER, [*(_row(row, card) for row in rows), _sums(rows, card)])
    heap = os.environ.get("RESIDUUM_JVM_HEAP", HEAP)
    yield (
        "disk: what stays below results/. RAM, card: of the largest job; RAM is what its rule asks "
        "for.\ncore hours: without the cores that feed a card. longest job: hours, with the "
        f"threads of its rule.\nJVM heap in jobs of lexical and negatives: {heap} "
        "(RESIDUUM_JVM_HEAP)."
    )
    if operations := total(rows).operations:
        instead = operations / assumed("core") / 3600
        yield f"Without a card: {hours(instead)} core hours in place of the GPU hours."
    if unknown := [row.rule for row in rows if costing.model_of(row.rule) is None]:
        yield f"No estimate is known for: {', '.join(unknown)}."


def _row(row: Row, card: Card) -> list[str]:
    return [row.rule, f"{len(row.todo)} of {row.every}", *_numbers(row.todo, card)]


def _sums(rows: list[Row], card: Card) -> list[str]:
    jobs = [pair for row in rows for pair in row.todo]
    return ["total", f"{len(jobs)} of {sum(row.every for row in rows)}", *_numbers(jobs, card)]


def _numbers(jobs: list[tuple[Job, Cost]], card: Card) -> list[str]:
    if not jobs:
        return [""] * 6
    most = max(cost.card for _, cost in jobs)
    longest = max(max(card.seconds(c), c.core_s / job.threads) for job, c in jobs)
    return [
        _size(sum(cost.disk for _, cost in jobs)),
        _size(max(job.memory for job, _ in jobs)),
        _size(most),
        hours(sum(cost.core_s for _, cost in jobs) / 3600),
        hours(sum(card.seconds(cost) for _, cost in jobs) / 3600),
        hours(longest / 3600),
    ]


def _size(size: float) -> str:
    return amount(size) if size >= 1000 else ""


def hours(value: float) -> str:
    """Write hours with no more digits than an estimate bears; nothing of none."""
    if value == 0:
        return ""
    if value < 0.1:
        return "<0.1"
    return f"{value:.1f}" if value < 10 else f"{value:,.0f}"


def gaps(registry: Registry) -> dict[str, list[str]]:
    """Return each reason why something is not run at this scale, with what: pages, their rows."""
    found: dict[str, dict[str, None]] = {}
    for gap in binding.gaps(registry, all_available):
        found.setdefault(gap.why, {})[gap.where] = None
    return {why: list(what) for why, what in found.items()}


def _gaps(registry: Registry) -> Iterator[str]:
    if reasons := gaps(registry):
        yield "Not run at this scale:"
        for why, what in reasons.items():
            yield wrapped(f"{why} ({', '.join(what)})", "- ", 2)


def disks(needs: dict[Path, float]) -> Iterator[str]:
    """Yield what each folder needs and what is free there, and what is not enough.

    Folders on one file system share what is free.
    """
    shared: dict[int, list[Path]] = {}
    rows = []
    for folder, size in needs.items():
        there = _existing(folder)
        free = shutil.disk_usage(there).free
        rows.append([str(folder), _size(size) or "nothing", amount(free)])
        shared.setdefault(there.stat().st_dev, []).append(folder)
    yield layout.grid(["folder", "needs", "free"], rows)
    for folders in shared.values():
        size, free = sum(needs[f] for f in folders), shutil.disk_usage(_existing(folders[0])).free
        if size > free:
            names = ", ".join(map(str, folders))
            said = f"not enough disk: {amount(size)} needed, {amount(free)} free: {names}"
            yield wrapped(said, "warning: ", 9)


def _existing(folder: Path) -> Path:
    """Return the folder, or the nearest one above it that is there."""
    whole = folder.absolute()
    return next(path for path in [whole, *whole.parents] if path.exists())


def _assumptions(registry: Registry, rows: list[Row], card: Card) -> Iterator[str]:
    models = [costing.model_of(row.rule) for row in rows if row.todo]
    used = {name for model in models if model for name in model.rests_on}
    if not used:
        return
    yield "Estimates rest on:"
    named = {job.wildcards.get("dataset") for row in rows for job, _ in row.todo}
    for name in sorted(named & set(registry.datasets)):
        size = f"{sizing.docs(registry, name):,} docs of {sizing.doc_bytes(name):,} bytes"
        yield wrapped(f"{name} has {size} on average", "- ", 2)
    if "length" in used:
        rate = f"a card of {card.tflops:g} TFLOPS of which {card.utilisation:.0%} are reached"
        source = "--tflops, --utilisation; 312 is an A100's in bf16"
        yield wrapped(f"{rate} ({source}); a hub model is as large as its name says", "- ", 2)
    for name, assumption in ASSUMED.items():
        if name in used | {"start"}:
            yield wrapped(assumption.told(), "- ", 2)
