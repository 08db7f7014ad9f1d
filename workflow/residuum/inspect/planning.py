"""What a run needs before its first byte: downloads, jobs, disk, memory, hours, and gaps.

Command: `residuum plan --scale full --paper clear`. Jobs and what they take are those of
Snakemake's own dry run (`residuum.inspect.dryrun`); files are looked for by name and size. Given
`--docs` it is a plan of sizes that nobody has. Must not know how a job is estimated.
"""

import os
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, reduce
from operator import or_
from pathlib import Path

from residuum.cli.errors import ResiduumError
from residuum.config import entries, loading, roots
from residuum.config.bindings import Place
from residuum.config.registry import Registry
from residuum.config.schema.scales import FromHub, Start
from residuum.inspect import limits, simulated
from residuum.inspect.datasets import File, needed
from residuum.inspect.dryrun import ALL, Job, dry_runs, plans, sums
from residuum.inspect.simulated import Cluster
from residuum.inspect.text import amount, line, wrapped
from residuum.pages import layout
from residuum.wiring import sizes
from residuum.wiring.availability import all_available, why_no_export
from residuum.wiring.models import start_of
from residuum.wiring.pages import gaps
from residuum.wiring.paths import results_of
from residuum.wiring.runs import player_of

HUB = "hub"
BYTES_PER_PARAMETER = 4  # float32, as nearly all of these checkpoints are stored
HEAP = "2g"  # residuum.lucene.jvm's, which this command, installed with few packages, leaves alone
NO_CLUSTER = Cluster()
HEADER = ["rule", "jobs to run", "disk", "RAM", "card", "core hours", "GPU hours", "longest job"]


def plan(
    scale: str | None,
    papers: Sequence[str],
    tflops: float | None,
    utilisation: float | None,
    docs: Sequence[str] = (),
    cluster: Cluster = NO_CLUSTER,
) -> str:
    """Return the page for a scale, papers and a card, config.yaml's where None or none is given.

    `docs` are sizes in place of pins, as `msmarco-passage=1e9`; a cluster with numbers of nodes has
    the jobs scheduled on them. Raises ResiduumError where config/ is at fault or Snakemake cannot
    plan.
    """
    file = Path("config/config.yaml")
    for name in (file, Path("Snakefile")):
        if not name.is_file():
            raise ResiduumError(f"no {name} in {Path.cwd()}. Run this in the project's folder.")
    base = entries.parse(file, dict[str, object])
    keys = ("scale", "papers", "tflops", "utilisation", "docs")
    sized = limits.sizes_of(docs, file.parent, base.get("docs"))
    given = zip(keys, (scale, [*papers], tflops, utilisation, sized), strict=True)
    chosen = {key: value for key, value in given if value not in (None, [], {})}
    registry = loading.load(file.parent, {**base, **chosen})
    results = Path(results_of(registry.config.scale))
    if registry.config.docs:
        pending, parts = _imagined(registry, chosen, results, cluster)
    else:
        pending, parts = _real(registry, chosen, results)
    parts += [simulated.page(registry, pending, cluster)] if pending and cluster.nodes else []
    parts += [_assumptions(registry, pending)] if pending else []
    return "\n\n".join(text for part in parts if (text := "\n".join(part)))


def _real(
    registry: Registry, chosen: Mapping[str, object], results: Path
) -> tuple[list[Job], list[Iterable[str]]]:
    """Return the jobs that have to run, and the parts of their page."""
    pending, every = plans(_pairs(chosen), results)
    files = required(registry, pending)
    jobs = f"{len(pending)} of {len(every)} jobs have to run"
    head = _head(registry, f": {jobs if pending else f'all {len(every)} jobs are finished'}. ")
    room = {results: 1e6 * sums(pending)["disk_mb"], **homes(registry, files)}
    parts = [head, _downloads(registry, files), _rules(pending, every), _gaps(registry)]
    return pending, [*parts, disks(room)]


def _imagined(
    registry: Registry, chosen: Mapping[str, object], results: Path, cluster: Cluster
) -> tuple[list[Job], list[Iterable[str]]]:
    """Return all jobs of a plan of sizes that nobody has, and the parts of their page."""
    docs = registry.config.docs
    limits.refuse_unused(docs, limits.named_by(registry))
    for name in docs:
        if why := why_no_export(registry, name, None):
            raise ResiduumError(f"docs of {name}: nothing that is planned can use it: {why}")
    half = {name: max(1, size // 2) for name, size in docs.items()}
    configs = [_pairs({**chosen, "docs": sized}) for sized in (docs, half)]
    every, halved = dry_runs((config, [ALL]) for config in configs)
    limits.refuse_unused(docs, [job.wildcards.get("dataset", "") for job in every])
    given = ", ".join(f"{size:,} docs of {name}" for name, size in docs.items())
    total = sum(job.alike for job in every)
    head = _head(registry, f", as if there were {given}: {total:,} jobs, none of them finished. ")
    broken = limits.Limits(docs, every, halved, cluster.node.memory).rows()
    room = disks({results: 1e6 * sums(every)["disk_mb"]})
    return every, [head, _rules(every, every), room, limits.page(broken)]


def _pairs(chosen: Mapping[str, object]) -> list[str]:
    return [f"{key}={value}" for key, value in chosen.items()]


def _head(registry: Registry, jobs: str) -> list[str]:
    of = f"Scale {registry.config.scale}, papers {', '.join(registry.config.papers)}"
    text = "Sizes, memory and hours are estimates; their assumptions are listed at the end."
    return [wrapped(f"{of}{jobs}{text}")]


def required(registry: Registry, jobs: Iterable[Job]) -> dict[str, list[File]]:
    """Return the files that jobs export each dataset from, and `HUB`'s models, each once."""
    files: dict[str, dict[str, File]] = {}
    for job in jobs:
        if job.rule.startswith("data_"):
            name = job.wildcards["dataset"]
            triples = job.rule == "data_docpairs"
            read = needed(registry.datasets[name], job.wildcards.get("split"), triples)
            files.setdefault(name, {}).update({file.name: file for file in read})
        start: Start | None = None
        if "reranker" in job.wildcards:
            start = player_of(registry, job.wildcards["reranker"])
        elif job.rule == "questions_generate":
            start = registry.generator(Place(job.wildcards["dataset"], job.wildcards["split"]))
        elif job.rule in ("train_train", "pretrain_adapt"):
            start = start_of(registry, job.wildcards["model"])
        if isinstance(start, FromHub):
            files.setdefault(HUB, {})[f"{start.hub}@{start.revision}"] = _hub_file(start)
    return {n: [*files[n].values()] for n in sorted(files, key=lambda n: n == HUB) if files[n]}


def _hub_file(model: FromHub) -> File:
    """Return a model as a file whose size follows from the shape that its name states."""
    url = f"https://huggingface.co/{model.hub}/tree/{model.revision}"
    size = BYTES_PER_PARAMETER * sizes.shape_of_hub(model.hub).parameters
    made = [roots.snapshot("models", model.hub, model.revision) / "config.json"]
    return File(model.hub, None, url, size, None, [], made, by_hand=False)


def homes(registry: Registry, files: dict[str, list[File]]) -> dict[Path, float]:
    """Return the bytes still to be written, unpacked, into each folder outside the project."""
    needs: dict[Path, float] = {}
    counted: set[str] = set()  # with another dataset that is read from the same file
    for name, of in files.items():
        if all(file.available for file in of):
            continue
        local = sum(file.bytes or 0 for file in of if file.available or file.name in counted)
        counted |= {file.name for file in of}
        unpacked = 0 if name == HUB else 1e9 * registry.datasets[name].disk_gb
        size = max(sum(file.bytes or 0 for file in of), unpacked) - local
        of_hub = name == HUB or any(roots.HUB.fullmatch(f.name) for f in of if not f.available)
        home = roots.hub() if of_hub else roots.irds()
        needs[home] = needs.get(home, 0) + size
    return {home: size for home, size in needs.items() if size}


def _downloads(registry: Registry, files: dict[str, list[File]]) -> Iterator[str]:
    if not files:
        yield "Downloads: none."
        return
    each = {file.name: file for of in files.values() for file in of}  # datasets may share one
    missing = sum(file.bytes or 0 for file in each.values() if not file.available)
    yield f"Downloads: {amount(missing)} to come" if missing else "Downloads: all available"
    rows = []
    for name, of in files.items():
        for file in of:
            size = "about " * (name == HUB) + (amount(file.bytes) if file.bytes else "unknown")
            rows.append([name, file.name, size, file.state, file.url or _hand(registry, name)])
    yield layout.grid(["of", "file", "size", "local", "from"], rows)
    for name in files:
        yield name
        dataset = registry.datasets.get(name)
        own = "each model's own, on its page at its address"
        stated = [("licence", dataset.licence if dataset else own)]
        stated += [("access", dataset.access)] if dataset else []
        yield from (line(key, text) for key, text in stated if text)


def _hand(registry: Registry, name: str) -> str:
    """Say where a file without an address comes from."""
    dataset = registry.datasets.get(name)
    return "see access" if dataset and dataset.access else "yours"


def _rules(pending: list[Job], every: list[Job]) -> Iterator[str]:
    yield layout.grid(HEADER, table(pending, every))
    heap = os.environ.get("RESIDUUM_JVM_HEAP", HEAP)
    yield (
        "disk: what stays below results/. RAM, card: of the largest job; RAM is what its rule "
        "requests.\ncore hours: without the cores that feed a card. longest job: hours, with the "
        f"threads of its rule.\nJVM heap in jobs of lexical and negatives: {heap} "
        "(RESIDUUM_JVM_HEAP)."
    )
    if gflop := sums(pending)["gflop"]:
        instead = hours(gflop / sizes.CORE_GFLOPS)
        yield f"Without a card: {instead} core hours in place of the GPU hours."


def table(pending: list[Job], every: list[Job]) -> list[list[str]]:
    """Return the cells of a row for each rule, first those that wait for few, and of their sum."""
    read = {path: job.inputs for job in every for path in job.outputs}
    level = cache(lambda path: 1 + max(map(level, read[path]), default=0) if path in read else 0)
    last = {rule: row for row, rule in sorted((level(j.outputs[0]), j.rule) for j in every)}
    rows = []
    for rule in [*sorted(last, key=lambda rule: (last[rule], rule)), "total"]:
        own, total = ([j for j in jobs if rule in (j.rule, "total")] for jobs in (pending, every))
        took, largest = sums(own), reduce(or_, (job.resources for job in own), Counter[str]())
        seconds = (job.seconds for job in own)
        megabytes = (took["disk_mb"], largest["mem_mb"], largest["gpu_mb"])
        row = [amount(1e6 * mb) if mb else "" for mb in megabytes]
        row += map(hours, (took["core_s"], took["gpu_s"], max(seconds, default=0)))
        counts = (sum(job.alike for job in jobs) for jobs in (own, total))
        rows.append([rule, " of ".join(f"{number:,}" for number in counts), *row])
    return rows


def hours(seconds: float) -> str:
    """Write seconds as hours, with no more digits than an estimate bears; nothing of none."""
    value = seconds / 3600
    if value < 0.1:
        return "<0.1" if seconds else ""
    return f"{value:.1f}" if value < 10 else f"{value:,.0f}"


def _gaps(registry: Registry) -> Iterator[str]:
    """Yield each reason why something is not run at this scale, with its pages and rows."""
    reasons: dict[str, dict[str, None]] = {}
    for gap in gaps(registry, all_available):
        reasons.setdefault(gap.why, {})[f"{gap.page}/{gap.row}".removesuffix("/")] = None
    if reasons:
        yield "Not run at this scale:"
        for why, where in reasons.items():
            yield wrapped(f"{why} ({', '.join(where)})", "- ")


def disks(needs: dict[Path, float]) -> Iterator[str]:
    """Yield what each folder needs, what is free on its disk, and which disk is too small."""
    rows: list[list[str]] = []
    disks: dict[int, tuple[int, dict[Path, float]]] = {}  # free bytes and needs of a file system
    for folder, size in needs.items():
        existing = next(p for p in (folder.absolute(), *folder.absolute().parents) if p.exists())
        free = shutil.disk_usage(existing).free
        disks.setdefault(existing.stat().st_dev, (free, {}))[1][folder] = size
        rows.append([str(folder), amount(size) if size else "nothing", amount(free)])
    yield layout.grid(["folder", "needs", "free"], rows)
    for free, folders in disks.values():
        if (size := sum(folders.values())) > free:
            names = ", ".join(map(str, folders))
            text = f"not enough disk: {amount(size)} needed, {amount(free)} free: {names}"
            yield wrapped(text, "warning: ")


def _assumptions(registry: Registry, pending: list[Job]) -> Iterator[str]:
    yield "Estimates rest on:"
    names = {job.wildcards.get("dataset", "") for job in pending}
    for name in sorted(names & registry.datasets.keys()):
        docs = f"{sizes.docs(registry, name):,} docs of {sizes.doc_bytes(name):,} bytes on average"
        guess = f", a guess: `residuum datasets pin {name}` counts them"
        pinned = registry.datasets[name].editions
        yield wrapped(f"{name} has {docs}{'' if pinned else guess}", "- ")
    speed, reached = registry.config.tflops, registry.config.utilisation
    source = "--tflops, --utilisation; 312 is an A100's in bf16"
    card = f"a card of {speed:g} TFLOPS, of which {reached:.0%} are reached ({source})"
    yield wrapped(f"{card}; a hub model is as large as its name says", "- ")
    for number in sizes.ALL:
        yield wrapped(number.text, "- ")
