"""What it costs to hash files where jobs write and read them: seconds, and the share of the jobs.

PYTHONPATH=workflow python tests/benchmarks/hashing.py --results results/mini
PYTHONPATH=workflow python tests/benchmarks/hashing.py --docs 200000 --dimensions 768

With `--results` all files are hashed anew that the jobs of a finished folder hash because their
manifests record them: what a job writes, and what it reads out of folders (its other inputs were
hashed before, too). The jobs' CPU seconds are those of Snakemake's benchmark files. Without it, a
shard of random embeddings is searched for 1,000 queries, and opened with a manifest and without.
"""

import argparse
import hashlib
import tempfile
import time
from collections import defaultdict
from pathlib import Path

import numpy as np
import polars as pl

from residuum.artefacts import contracts, manifest
from residuum.inspect import provenance
from residuum.vectors import nearest


def hashed(paths: list[Path]) -> tuple[float, int]:
    """Return the CPU seconds of hashing files, and their bytes."""
    start, size = time.process_time(), 0
    for path in paths:
        with open(path, "rb") as handle:
            hashlib.file_digest(handle, "sha256")
        size += path.stat().st_size
    return time.process_time() - start, size


def of_results(results: Path) -> None:
    """Print what hashing took in each stage of a finished folder."""
    graph, jobs = provenance.read(results), defaultdict(list)
    for artefact in graph.values():
        if artefact.manifest:
            read = [graph[path] for path in artefact.parents if (results / path).is_dir()]
            files = [*artefact.files, *(name for each in read for name in each.files)]
            jobs[artefact.manifest.module.rpartition(".")[2]] += files
    print("| stage | jobs' CPU s | MB hashed | hashing, CPU s | share |\n|---|---|---|---|---|")
    total = np.zeros(3)
    for stage, names in sorted(jobs.items()):
        seconds, size = hashed([results / name for name in names])
        logs = (results / "benchmarks" / stage).rglob("*.tsv")
        spent = sum(pl.read_csv(log, separator="\t")["cpu_time"].sum() for log in logs)
        total += (spent, size, seconds)
        show(stage, spent, size, seconds)
    show("all", *total)


def show(stage: str, spent: float, size: float, seconds: float) -> None:
    """Print a line of the table."""
    share = seconds / spent if spent else float("nan")
    print(f"| {stage} | {spent:.1f} | {size / 1e6:.1f} | {seconds:.3f} | {share:.2%} |")


def of_a_shard(docs: int, dimensions: int) -> None:
    """Print what opening a shard takes with its hash and without, and searching it."""
    random = np.random.default_rng(1)
    vectors = random.standard_normal((docs, dimensions), dtype=np.float32)
    queries = random.standard_normal((1000, dimensions), dtype=np.float32)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        contracts.write_vectors(folder, [f"d{i}" for i in range(docs)], vectors)
        plain = timed(lambda: contracts.read_vectors(folder))
        manifest.write(folder, {}, {}, [], "residuum.encode")
        manifest.files._sha256.cache_clear()
        checked = timed(lambda: contracts.read_vectors(folder))
        ids, rows = contracts.read_vectors(folder)
        search = timed(
            lambda: list(nearest.Index((ids, rows), None, device="cpu").search(([], queries), 1000))
        )
    size = vectors.nbytes / 1e6
    print(f"{size:.0f} MB: opened in {plain:.2f} s, with its hash in {checked:.2f} s;", end=" ")
    print(f"searched in {search:.2f} s; share {(checked - plain) / (search + checked):.2%}")


def timed(work: object) -> float:
    """Return the CPU seconds of a call."""
    start = time.process_time()
    work()
    return time.process_time() - start


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path)
    parser.add_argument("--docs", type=int, default=200_000)
    parser.add_argument("--dimensions", type=int, default=768)
    parser.add_argument("--tiny", action="store_true", help="little of all, to show that it runs")
    options = parser.parse_args()
    if options.results:
        of_results(options.results)
    elif options.tiny:
        of_a_shard(2000, 8)
    else:
        of_a_shard(options.docs, options.dimensions)
