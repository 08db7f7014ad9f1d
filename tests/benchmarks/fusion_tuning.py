"""The choice of a fusion's weight beside ranx's grid search: seconds, CPU and peak memory.

PYTHONPATH=workflow python tests/benchmarks/fusion_tuning.py [--threads 1] [--ranx-python PYTHON]

2,000 queries, two runs of 1,000 docs that share 400, 11 weights, RR@10. Both sides get the
same .trec.gz files, each in a process of its own that is measured from its start to its end. ranx
is no dependency; name an interpreter that has it. It runs once before on a few queries, so that
Numba's compiled code is on disk. Its weights are (w, 1 - w), that is lambda = w / (1 - w); it gives
0 to a doc that a list lacks, which is the lowest score of each list here. A ratio above 1 means
that residuum is better. Exit status 1 if a weight's mean differs or an aim is missed.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

QUERIES, HITS, SHARED, DOCS = 2000, 1000, 400, 100_000
WEIGHTS = [round(0.1 * step, 1) for step in range(11)]
LAMBDAS = [weight / (1 - weight) if weight < 1 else 1e6 for weight in WEIGHTS]
FASTER, SMALLER = 10, 2  # aims: seconds and CPU seconds, peak memory
RUNS = ("lexical", "dense")


class Side(NamedTuple):
    """What one side took, and the mean of each weight."""

    seconds: float
    cpu: float
    megabytes: float
    means: list[float]


def make(folder: Path, queries: int) -> Path:
    """Write two runs and qrels of a relevant doc per query, which both runs hold and rank high."""
    import polars as pl

    from residuum.artefacts import trec

    generator = np.random.default_rng(1)
    tables: dict[str, list[pl.DataFrame]] = {name: [] for name in RUNS}
    relevant = []
    for query in range(queries):
        docs = generator.choice(DOCS, 2 * HITS - SHARED, replace=False)
        gold = generator.choice(docs[HITS - SHARED : HITS])
        relevant.append((f"q{query}", f"d{gold}", 1))
        for name, own in zip(RUNS, (docs[:HITS], docs[HITS - SHARED :]), strict=True):
            score = generator.normal(size=HITS) + 1.5 * (own == gold)
            ids = [f"d{doc}" for doc in own]
            table = pl.DataFrame({"doc_id": ids, "score": score - score.min()})
            tables[name].append(table.with_columns(query_id=pl.lit(f"q{query}")))
    for name, parts in tables.items():
        trec.write_run(folder / f"{name}.trec.gz", trec.rank(pl.concat(parts)), name)
    trec.write_qrels(folder / "qrels.trec", relevant)
    return folder


def residuum(folder: Path) -> list[str]:
    """Return the command that chooses lambda."""
    from residuum.config.schema.systems import FusionSystem

    tuned = {"grid": LAMBDAS, "tune_on": "tune", "measure": "RR@10"}
    system = FusionSystem.model_validate(
        {
            "kind": "fusion",
            "parts": RUNS,
            "interpolation": {"weighted": RUNS[0], **tuned},
            "unretrieved": "minimum",
            "k": HITS,
        }
    )
    runs = [word for name in RUNS for word in ("--run", f"{name}={folder}/{name}.trec.gz")]
    files = ["--qrels", f"{folder}/qrels.trec", "--output", f"{folder}/residuum.json"]
    spec = system.model_dump_json()
    return [sys.executable, "-m", "residuum.fusion", "tune", "--spec", spec, *runs, *files]


def ranx(folder: Path) -> None:
    """Search ranx's grid of weights in this process, and write the mean of each weight."""
    from ranx import Qrels, Run, optimize_fusion

    runs = [Run.from_file(f"{folder}/{name}.trec.gz") for name in RUNS]
    qrels = Qrels.from_file(f"{folder}/qrels.trec")
    _, report = optimize_fusion(
        qrels, runs, norm=None, method="wsum", metric="mrr@10", step=0.1,
        return_optimization_report=True, show_progress=False,
    )  # fmt: skip
    assert len(report.results) == len(WEIGHTS), "its grid rises with the first run's weight"
    (folder / "ranx.json").write_text(json.dumps(list(map(float, report.results))))


def measured(command: list[str], threads: int) -> tuple[float, float, float]:
    """Run a command; return seconds, CPU seconds and peak memory in MB."""
    limits = {f"{name}_NUM_THREADS": str(threads) for name in ("NUMBA", "OMP", "OPENBLAS")}
    env = {**os.environ, **limits, "POLARS_MAX_THREADS": str(threads)}
    start = time.perf_counter()
    process = subprocess.Popen(command, env=env)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{command[:4]} failed")
    unit = 1e6 if sys.platform == "darwin" else 1e3
    return time.perf_counter() - start, used.ru_utime + used.ru_stime, used.ru_maxrss / unit


def compare(folder: Path, threads: int, python: str | None) -> bool:
    """Measure both sides and print a table; say whether the aims are met."""
    spent = measured(residuum(make(folder, QUERIES)), threads)
    record = json.loads((folder / "residuum.json").read_text())
    ours = Side(*spent, [tried["means"][0] for tried in record["tried"]])
    print("| side | seconds | CPU seconds | peak MB |\n|---|---|---|---|")
    print(f"| residuum | {ours.seconds:.1f} | {ours.cpu:.1f} | {ours.megabytes:.0f} |")
    if python is None:
        print("| ranx | not measured: no interpreter named | | |")
        return True
    with tempfile.TemporaryDirectory() as few:
        measured([python, __file__, "--ranx-on", str(make(Path(few), 3))], threads)
    spent = measured([python, __file__, "--ranx-on", str(folder)], threads)
    theirs = Side(*spent, json.loads((folder / "ranx.json").read_text()))
    print(f"| ranx | {theirs.seconds:.1f} | {theirs.cpu:.1f} | {theirs.megabytes:.0f} |")
    ratios = [theirs[column] / ours[column] for column in range(3)]
    print("| ratio | " + " | ".join(f"{ratio:.1f}" for ratio in ratios) + " |")
    equal = np.allclose(ours.means, theirs.means, rtol=0, atol=1e-9)
    print("means of all weights agree" if equal else f"means differ: {ours.means}, {theirs.means}")
    return equal and min(ratios[:2]) >= FASTER and ratios[2] >= SMALLER


def main() -> int:
    """Measure both sides, or be one of them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--threads", type=int, default=1, help="of each side")
    parser.add_argument("--ranx-python", help="interpreter that has ranx; left out without")
    parser.add_argument("--ranx-on", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.ranx_on:
        ranx(options.ranx_on)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        return int(not compare(Path(folder), options.threads, options.ranx_python))


if __name__ == "__main__":
    sys.exit(main())
