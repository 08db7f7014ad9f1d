"""What a run needs before its first byte: downloads, jobs, disk, memory, hours, and gaps.

Command: `residuum plan --scale full --paper clear`. The jobs and what they take are those of
Snakemake's own dry run. Must not know how a job is estimated.
"""

import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from residuum.cli.errors import ResiduumError
from residuum.config import entries, loading
from residuum.config.registry import Registry
from residuum.inspect import downloads, dryrun
from residuum.inspect.dryrun import Job
from residuum.inspect.local_files import File, amount
from residuum.inspect.text import line, wrapped
from residuum.pages import layout
from residuum.wiring import assumptions, sizes
from residuum.wiring.availability import all_available
from residuum.wiring.pages import gaps
from residuum.wiring.paths import results_of

HEAP = "2g"  # residuum.lucene.jvm's, which this command, installed with few packages, leaves alone
HEADER = ["rule", "jobs to run", "disk", "RAM", "card", "core hours", "GPU hours", "longest job"]
STAGES = [
    *("data", "lexical", "rm3", "negatives", "pretrain", "train", "termweights", "encode", "dense"),
    *("fusion", "rerank", "external", "evaluate", "significance", "tables", "characteristics"),
    *("cases", "figures", "ledger"),
]


def plan(
    scale: str | None, papers: Sequence[str], tflops: float | None, utilisation: float | None
) -> str:
    """Return the page for a scale, papers and a card, config.yaml's where None or none is given.

    Raises ResiduumError where config/ is at fault or Snakemake cannot plan.
    """
    chosen = {"scale": scale, "papers": [*papers], "tflops": tflops, "utilisation": utilisation}
    chosen = {key: value for key, value in chosen.items() if value not in (None, [])}
    file = Path("config/config.yaml")
    if not file.is_file():
        raise ResiduumError(f"no {file} in {Path.cwd()}. Run this in the project's folder.")
    registry = loading.load(file.parent, {**entries.parse(file, dict[str, object]), **chosen})
    results = Path(results_of(registry.config.scale))
    written = {"papers": f"[{','.join(papers)}]"} if papers else {}
    config = [f"{key}={value}" for key, value in {**chosen, **written}.items()]
    todo, every = dryrun.plans(config, results)
    files, needs = downloads.required(registry, todo), {results: _sum(todo, "disk_mb") * 1e6}
    parts = [
        _head(registry, len(todo), len(every)),
        "\n".join(_downloads(registry, files)),
        "\n".join(_rules(todo, every)),
        "\n".join(_gaps(registry)),
        "\n".join(disks({**needs, **downloads.homes(registry, files)})),
        "\n".join(_assumptions(registry, todo)),
    ]
    return "\n\n".join(part for part in parts if part)


def _sum(jobs: list[Job], resource: str) -> int:
    return sum(job.takes(resource) for job in jobs)


def _head(registry: Registry, todo: int, every: int) -> str:
    papers = ", ".join(registry.config.papers)
    jobs = f"{todo} of {every} jobs have to run" if todo else f"all {every} jobs are finished"
    estimates = "Sizes, memory and hours are estimates; their assumptions are listed at the end."
    return wrapped(f"Scale {registry.config.scale}, papers {papers}: {jobs}. {estimates}", "", 0)


def _downloads(registry: Registry, files: dict[str, list[File]]) -> Iterator[str]:
    if not files:
        yield "Downloads: none."
        return
    absent = downloads.absent(file for of in files.values() for file in of)
    yield f"Downloads: {amount(absent)} to come" if absent else "Downloads: all available"
    rows = [_download(name, file) for name, of in files.items() for file in of]
    yield layout.grid(["of", "file", "size", "local", "from"], rows)
    for name in files:
        yield name
        if name == downloads.HUB:
            yield line("licence", "each model's own, on its page at its address")
        else:
            yield line("licence", registry.datasets[name].licence)
            yield line("access", registry.datasets[name].access)


def _download(name: str, file: File) -> list[str]:
    size = amount(file.bytes) if file.bytes else "unknown"
    about = "about " * (name == downloads.HUB)
    return [name, file.name, about + size, file.state, file.url or "see access"]


def _rules(todo: list[Job], every: list[Job]) -> Iterator[str]:
    yield layout.grid(HEADER, table(todo, every))
    heap = os.environ.get("RESIDUUM_JVM_HEAP", HEAP)
    yield (
        "disk: what stays below results/. RAM, card: of the largest job; RAM is what its rule "
        "requests.\ncore hours: without the cores that feed a card. longest job: hours, with the "
        f"threads of its rule.\nJVM heap in jobs of lexical and negatives: {heap} "
        "(RESIDUUM_JVM_HEAP)."
    )
    if gflop := _sum(todo, "gflop"):
        instead = hours(gflop / assumptions.CORE_GFLOPS)
        yield f"Without a card: {instead} core hours in place of the GPU hours."


def table(todo: list[Job], every: list[Job]) -> list[list[str]]:
    """Return the cells of a row for each rule, in the order of the stages, and of their total."""
    rows = []
    for rule in [*sorted({job.rule for job in every}, key=_order), "total"]:
        own, total = ([j for j in jobs if rule in (j.rule, "total")] for jobs in (todo, every))
        rows.append([rule, f"{len(own)} of {len(total)}", *_numbers(own)])
    return rows


def _order(rule: str) -> tuple[int, str]:
    stage = rule.partition("_")[0]
    return STAGES.index(stage) if stage in STAGES else len(STAGES), rule


def _numbers(jobs: list[Job]) -> list[str]:
    if not jobs:
        return [""] * 6
    return [
        _size(_sum(jobs, "disk_mb")),
        _size(max(job.takes("mem_mb") for job in jobs)),
        _size(max(job.takes("gpu_mb") for job in jobs)),
        hours(_sum(jobs, "core_s")),
        hours(_sum(jobs, "gpu_s")),
        hours(max(job.seconds for job in jobs)),
    ]


def _size(mb: float) -> str:
    return amount(1e6 * mb) if mb else ""


def hours(seconds: float) -> str:
    """Write seconds as hours, with no more digits than an estimate bears; nothing of none."""
    if seconds == 0:
        return ""
    value = seconds / 3600
    if value < 0.1:
        return "<0.1"
    return f"{value:.1f}" if value < 10 else f"{value:,.0f}"


def _gaps(registry: Registry) -> Iterator[str]:
    """Yield each reason why something is not run at this scale, with its pages and rows."""
    reasons: dict[str, dict[str, None]] = {}
    for gap in gaps(registry, all_available):
        cell = f"{gap.page}/{gap.row}" if gap.row else gap.page
        reasons.setdefault(gap.why, {})[cell] = None
    if reasons:
        yield "Not run at this scale:"
        for why, where in reasons.items():
            yield wrapped(f"{why} ({', '.join(where)})", "- ", 2)


def disks(needs: dict[Path, float]) -> Iterator[str]:
    """Yield what each folder needs and what is free on its disk, and what is not enough.

    Folders on one file system share what is free.
    """
    rows: list[list[str]] = []
    free: dict[int, int] = {}  # by file system, as are the sizes by folder
    required: dict[int, dict[Path, float]] = {}
    for folder, size in needs.items():
        parents = [folder.absolute(), *folder.absolute().parents]
        existing = next(path for path in parents if path.exists())
        device = existing.stat().st_dev
        free[device] = shutil.disk_usage(existing).free
        required.setdefault(device, {})[folder] = size
        rows.append([str(folder), amount(size) if size else "nothing", amount(free[device])])
    yield layout.grid(["folder", "needs", "free"], rows)
    for device, folders in required.items():
        if (size := sum(folders.values())) > free[device]:
            names = ", ".join(map(str, folders))
            text = f"not enough disk: {amount(size)} needed, {amount(free[device])} free: {names}"
            yield wrapped(text, "warning: ", 9)


def _assumptions(registry: Registry, todo: list[Job]) -> Iterator[str]:
    if not todo:
        return
    yield "Estimates rest on:"
    for name in sorted({job.wildcards.get("dataset", "") for job in todo} & {*registry.datasets}):
        docs = f"{sizes.docs(registry, name):,} docs of {sizes.doc_bytes(name):,} bytes"
        yield wrapped(f"{name} has {docs} on average", "- ", 2)
    card = (
        f"{registry.config.tflops:g} TFLOPS, of which {registry.config.utilisation:.0%} are reached"
    )
    source = "--tflops, --utilisation; 312 is an A100's in bf16"
    yield wrapped(f"a card of {card} ({source}); a hub model is as large as its name says", "- ", 2)
    for number in assumptions.ALL:
        yield wrapped(number.text, "- ", 2)
