"""Estimate what a run needs before it starts: downloads, jobs, disk, memory, hours, and gaps.

Command: `residuum plan --scale full --paper clear`. Jobs, and what each takes, come from
Snakemake's own dry run. Files are looked for by name and size. With `--docs` it plans sizes that
nobody has, and says which limits they break.
"""

import os
import shlex
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from pydantic import BaseModel

from residuum.cli.errors import ResiduumError, unknown
from residuum.config import entries, loading, roots
from residuum.config.registry import Registry, Reranker, SplitId
from residuum.config.schema.base import references
from residuum.config.schema.models import Program
from residuum.config.schema.scales import FromHub, Start
from residuum.inspect import limits
from residuum.inspect.datasets import File, needed
from residuum.inspect.dryrun import ALL, Job, dry_runs, plans, sums
from residuum.inspect.text import amount, by_reason, line, wrapped
from residuum.pages import layout
from residuum.wiring import sizes
from residuum.wiring.availability import all_available, why_no_export
from residuum.wiring.corpora import encoded_splits
from residuum.wiring.models import start_of
from residuum.wiring.pages import gaps
from residuum.wiring.paths import results_of
from residuum.wiring.rerankers import player_of

HUB = "hub"
BYTES_PER_PARAMETER = 4  # float32, the usual type of these checkpoints
HEAP = "2g"  # as in residuum.lucene.jvm, which needs packages that may be missing here
HEADER = ["rule", "jobs to run", "disk", "RAM", "card", "core hours", "GPU hours", "longest job"]


def sizes_of(docs: Iterable[str], folder: Path, base: object) -> dict[str, int]:
    """Return {dataset: docs} of `--docs` over config.yaml's; bad texts raise ResiduumError."""
    known = [*entries.Folder(folder / "datasets").locations]
    sized: dict[str, int] = dict(base) if isinstance(base, dict) else {}
    named: set[str] = set()
    for text in docs:
        name, given, number = text.partition("=")
        if name not in known:
            raise ResiduumError(f"--docs {text}: {unknown('dataset', name, known)}")
        if not given:
            raise ResiduumError(f"--docs {text}: write DATASET=DOCS, as {name}=1e9")
        if name in named:
            raise ResiduumError(f"--docs {text}: {name} is given twice; give it once")
        named.add(name)
        try:
            value = float(number.replace(",", ""))
        except ValueError:
            value = 0
        if not (1 <= value < 1e15 and value.is_integer()):
            raise ResiduumError(
                f"--docs {text}: '{number}' is no number of docs; write {name}=1e9, "
                f"{name}=138_364_198 or any other whole number from 1 to below 1e15"
            )
        sized[name] = int(value)
    return sized


def named_by(registry: Registry) -> set[str]:
    """Return the datasets that the chosen pages name, directly or through other entries.

    A plan uses no other datasets. It may use fewer; finding these takes a dry run of seconds.
    """
    scale = registry.scale
    known = {**registry.entries, "backbone": scale.backbones, "reranker": scale.rerankers}
    waiting: list[BaseModel] = [registry.pages[page] for page in registry.chosen()]
    waiting += [scale.learning] if scale.learning else []
    seen = set[tuple[str, str]]()
    while waiting:
        for ref, named in references(waiting.pop(), *known, "role"):
            kind, name = ref.to, named
            if kind == "role":
                kind, name = "dataset", scale.roles.get(named, "").partition("/")[0]
            elif kind == "system":
                name = scale.systems.get(named, named)
            if name in known[kind] and (kind, name) not in seen:
                seen.add((kind, name))
                waiting.append(known[kind][name])
    return {name for kind, name in seen if kind == "dataset"}


def refuse_unused(docs: Iterable[str], used: Iterable[str]) -> None:
    """Raise ResiduumError if docs were given for a dataset that is not used."""
    used = sorted(filter(None, {*used}))
    if unused := [name for name in docs if name not in used]:
        raise ResiduumError(
            f"docs of {unused[0]}: no planned job uses it; planned jobs use {', '.join(used)}. "
            "Give docs of these, or choose other papers or another scale"
        )


def plan(
    scale: str | None,
    papers: Sequence[str],
    tflops: float | None,
    utilisation: float | None,
    docs: Sequence[str] = (),
    node_gb: float = 256.0,
) -> str:
    """Return the page of a plan; config.yaml gives the options that are None or empty.

    `docs` replace pinned sizes, as `msmarco-passage=1e9`; then `node_gb` limits a job's memory. A
    fault in config/, or a failure of Snakemake to plan, raises ResiduumError.
    """
    file = Path("config/config.yaml")
    for name in (file, Path("Snakefile")):
        if not name.is_file():
            raise ResiduumError(f"no {name} in {Path.cwd()}. Run this in the project's folder.")
    base = entries.parse(file, dict[str, object])
    keys = ("scale", "papers", "tflops", "utilisation", "docs")
    sized = sizes_of(docs, file.parent, base.get("docs"))
    given = zip(keys, (scale, [*papers], tflops, utilisation, sized), strict=True)
    chosen = {key: value for key, value in given if value not in (None, [], {})}
    registry = loading.load(file.parent, {**base, **chosen})
    results = Path(results_of(registry.config.scale))
    if registry.config.docs:
        pending, parts = _imagined(registry, chosen, results, 1000 * node_gb)
    else:
        pending, parts = _real(registry, chosen, results)
    parts += [_assumptions(registry, pending)] if pending else []
    return "\n\n".join(text for part in parts if (text := "\n".join(part)))


def _real(
    registry: Registry, chosen: Mapping[str, object], results: Path
) -> tuple[list[Job], list[Iterable[str]]]:
    """Return the unfinished jobs of a real plan, and the parts of its page."""
    pending, every = plans(_pairs(chosen), results)
    files = required(registry, pending)
    jobs = f"{len(pending)} of {len(every)} jobs have to run"
    head = _head(registry, f": {jobs if pending else f'all {len(every)} jobs are finished'}. ")
    room = {results: 1e6 * sums(pending)["disk_mb"], **homes(registry, files)}
    parts = [head, _downloads(registry, files), _programs(registry, pending)]
    parts += [_rules(pending, every), _gaps(registry)]
    return pending, [*parts, disks(room)]


def _imagined(
    registry: Registry, chosen: Mapping[str, object], results: Path, node_mb: float
) -> tuple[list[Job], list[Iterable[str]]]:
    """Return all jobs of a plan of other sizes, and the parts of its page."""
    docs = registry.config.docs
    refuse_unused(docs, named_by(registry))
    for name in docs:
        if why := why_no_export(registry, name, None):
            raise ResiduumError(f"docs of {name}: no planned job can use it: {why}")
    half = {name: max(1, size // 2) for name, size in docs.items()}
    configs = [_pairs({**chosen, "docs": sized}) for sized in (docs, half)]
    every, halved = dry_runs((config, [ALL]) for config in configs)
    refuse_unused(docs, [job.wildcards.get("dataset", "") for job in every])
    given = ", ".join(f"{size:,} docs of {name}" for name, size in docs.items())
    total = sum(job.alike for job in every)
    head = _head(registry, f", as if there were {given}: {total:,} jobs, none of them finished. ")
    broken = limits.rows(docs, every, halved, node_mb)
    room = disks({results: 1e6 * sums(every)["disk_mb"]})
    programs = _programs(registry, every)
    return every, [head, programs, _rules(every, every), room, limits.page(broken)]


def _pairs(chosen: Mapping[str, object]) -> list[str]:
    return [f"{key}={value}" for key, value in chosen.items()]


def _head(registry: Registry, jobs: str) -> list[str]:
    chosen = f"Scale {registry.config.scale}, papers {', '.join(registry.config.papers)}"
    text = "Sizes, memory and hours are estimates; their assumptions are listed at the end."
    return [wrapped(f"{chosen}{jobs}{text}")]


def required(registry: Registry, jobs: Iterable[Job]) -> dict[str, list[File]]:
    """Return {dataset: files that its jobs read}, with the hub's models under `HUB`."""
    files: dict[str, dict[str, File]] = {}
    for job in jobs:
        if job.rule.startswith("data_"):
            name = job.wildcards["dataset"]
            triples = job.rule == "data_docpairs"
            read = needed(registry.datasets[name], job.wildcards.get("split"), triples)
            files.setdefault(name, {}).update({file.name: file for file in read})
        start: Start | Reranker | None = None
        if "reranker" in job.wildcards:
            start = player_of(registry, job.wildcards["reranker"])
        elif job.rule == "questions_generate":
            start = registry.generator(SplitId(job.wildcards["dataset"], job.wildcards["split"]))
        elif job.rule in ("train_train", "pretrain_adapt"):
            start = start_of(registry, job.wildcards["model"])
        elif job.rule == "release_encoder":
            start = registry.released(job.wildcards["model"])
        if isinstance(start, FromHub):
            files.setdefault(HUB, {})[f"{start.hub}@{start.revision}"] = _hub_file(start)
    return {n: [*files[n].values()] for n in sorted(files, key=lambda n: n == HUB) if files[n]}


def _hub_file(model: FromHub) -> File:
    """Return a hub model as a file; its size is estimated from the shape that its name states."""
    url = f"https://huggingface.co/{model.hub}/tree/{model.revision}"
    size = BYTES_PER_PARAMETER * sizes.shape_of_hub(model.hub).parameters
    made = [roots.snapshot("models", model.hub, model.revision) / "config.json"]
    return File(model.hub, url=url, bytes=size, makes=made)


def homes(registry: Registry, files: dict[str, list[File]]) -> dict[Path, float]:
    """Return {folder outside the project: bytes still to be written there, unpacked}."""
    needs: dict[Path, float] = {}
    counted: set[str] = set()  # files that several datasets share count once
    for name, listed in files.items():
        if all(file.available for file in listed):
            continue
        local = sum(file.bytes or 0 for file in listed if file.available or file.name in counted)
        counted |= {file.name for file in listed}
        unpacked = 0 if name == HUB else 1e9 * registry.datasets[name].disk_gb
        size = max(sum(file.bytes or 0 for file in listed), unpacked) - local
        of_hub = name == HUB or any(roots.HUB.fullmatch(f.name) for f in listed if not f.available)
        home = roots.hub() if of_hub else roots.irds()
        needs[home] = needs.get(home, 0) + size
    return {home: size for home, size in needs.items() if size}


def _downloads(registry: Registry, files: dict[str, list[File]]) -> Iterator[str]:
    if not files:
        yield "Downloads: none."
        return
    by_name = {file.name: file for listed in files.values() for file in listed}  # shared ones once
    missing = sum(file.bytes or 0 for file in by_name.values() if not file.available)
    yield f"Downloads: {amount(missing)} to come" if missing else "Downloads: all available"
    rows = []
    for name, listed in files.items():
        dataset = registry.datasets.get(name)
        by_hand = "see access" if dataset and dataset.access else "yours"
        for file in listed:
            size = "about " * (name == HUB) + (amount(file.bytes) if file.bytes else "unknown")
            rows.append([name, file.name, size, file.state, file.url or by_hand])
    yield layout.grid(["of", "file", "size", "local", "from"], rows)
    for name in files:
        yield name
        dataset = registry.datasets.get(name)
        if dataset is None:
            yield line("licence", "each model's own, on its page at its address")
            continue
        stated = {"licence": dataset.licence, "access": dataset.access}
        yield from (line(key, text) for key, text in stated.items() if text)


def _programs(registry: Registry, jobs: Iterable[Job]) -> Iterator[str]:
    """Yield which programs jobs run, and how many texts each is asked for at most."""
    texts = Counter[tuple[str, str]]()
    for job in jobs:
        if job.rule in ("program_docs", "program_queries"):
            model, dataset = job.wildcards["model"], job.wildcards["dataset"]
            if job.rule == "program_docs":
                docs = sizes.docs(registry, dataset) / registry.shards(dataset, model)
                texts[model, dataset] += round(docs * job.alike)
                continue
            splits = encoded_splits(registry, dataset, model, Program.seed)
            queries = (sizes.queries(registry, SplitId(dataset, split)) for split in splits)
            texts[model, dataset] += sum(queries)
    if texts:
        yield "Programs that run, with the texts of a collection that are asked for at most:"
    for (model, dataset), number in texts.items():
        command = shlex.join(registry.entry(model, Program).command)
        yield wrapped(f"{model}, `{command}`: {number:,} texts of {dataset}", "- ")


def _rules(pending: list[Job], every: list[Job]) -> Iterator[str]:
    yield layout.grid(HEADER, table(pending, every))
    heap = os.environ.get("RESIDUUM_JVM_HEAP", HEAP)
    yield (
        "disk: what stays below results/. RAM, card: of the largest job; RAM is what its rule "
        "requests. A\ncard computes a batch that is too large for it in parts, for some losses in "
        "4/3 of the time.\ncore hours: without the cores that feed a card. longest job: hours, "
        f"with the threads of its rule.\nJVM heap in jobs of lexical and negatives: {heap} "
        "(RESIDUUM_JVM_HEAP)."
    )
    if gflop := sums(pending)["gflop"]:
        instead = hours(gflop / sizes.CORE_GFLOPS)
        yield f"Without a card: {instead} core hours in place of the GPU hours."


def table(pending: list[Job], every: list[Job]) -> list[list[str]]:
    """Return the cells of a row per rule, in the order in which rules can run, and of a total."""
    read = {path: job.inputs for job in every for path in job.outputs}
    level = cache(lambda path: 1 + max(map(level, read[path]), default=0) if path in read else 0)
    last = {rule: row for row, rule in sorted((level(j.outputs[0]), j.rule) for j in every)}
    rows = []
    for rule in [*sorted(last, key=lambda rule: (last[rule], rule)), "total"]:
        waiting = [job for job in pending if rule in (job.rule, "total")]
        count = sum(job.alike for job in every if rule in (job.rule, "total"))
        took, largest = sums(waiting), Counter[str]()
        for job in waiting:
            largest |= job.resources
        megabytes = (took["disk_mb"], largest["mem_mb"], largest["gpu_mb"])
        row = [rule, f"{sum(job.alike for job in waiting):,} of {count:,}"]
        row += [amount(1e6 * mb) if mb else "" for mb in megabytes]
        longest = max((job.seconds for job in waiting), default=0)
        row += map(hours, (took["core_s"], took["gpu_s"], longest))
        rows.append(row)
    return rows


def hours(seconds: float) -> str:
    """Write seconds as hours, rounded as an estimate deserves; "" for 0."""
    value = seconds / 3600
    if value < 0.1:
        return "<0.1" if seconds else ""
    return f"{value:.1f}" if value < 10 else f"{value:,.0f}"


def _gaps(registry: Registry) -> Iterator[str]:
    every = gaps(registry, all_available)
    found = [(gap.why, f"{gap.page}/{gap.row}".removesuffix("/")) for gap in every]
    if found:
        yield "Not run at this scale:"
        yield from (wrapped(text, "- ") for text in by_reason(found))


def disks(needs: dict[Path, float]) -> Iterator[str]:
    """Yield a grid of needed and free bytes per folder, then warnings of disks too small."""
    rows: list[list[str]] = []
    disks: dict[int, tuple[int, dict[Path, float]]] = {}  # device: free bytes, needs of its folders
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
        count, each = sizes.docs(registry, name), sizes.doc_bytes(registry, name)
        docs = f"{count:,} docs of {each:,} bytes on average"
        editions = registry.datasets[name].editions
        if not any(one.doc_bytes for one in editions):
            of_bytes = " of the bytes" if editions else ""
            docs += f", a guess{of_bytes}: `residuum datasets pin {name}` counts them"
        yield wrapped(f"{name} has {docs}", "- ")
    speed, reached = registry.config.tflops, registry.config.utilisation
    source = "--tflops, --utilisation; 312 is an A100's in bf16"
    card = f"a card of {speed:g} TFLOPS, of which {reached:.0%} are reached ({source})"
    yield wrapped(f"{card}; a hub model is as large as its name says", "- ")
    for number in sizes.ALL:
        yield wrapped(number.text, "- ")
