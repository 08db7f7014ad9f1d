"""How time and memory of the whole graph grow with a collection: five papers through Snakemake.

PYTHONPATH=workflow:tests python tests/benchmarks/growth_graph.py --docs 10000 100000 1000000

A copy of the project gets, for each number of docs, a generated collection and a scale, and runs
its pages from the export to the ledger and the report. Of each paper there are the systems that
take a road of their own:
- CLEAR and DualRM: BM25, RM3, DeepCT, the embedding, CLEAR, CLEAR reranked.
- RoC: DPR against BM25's vectors, SparTerm, circles.
- ME-BERT: several vectors a doc, the exact hybrid, an approximate search, random projections.
- BioASQ: questions of a generator, the encoder that learns from them, the exact hybrid.
Docs alone grow: queries, training pairs, judgements and steps of training stay the same. So does
`--shard-docs`, so that there are more shards to encode, to search and to gather. All docs are read
for the backbones, their starts, negatives and what tells if a model learned.
Of each rule: seconds and CPU seconds, summed over its jobs, and the most memory that one of them
held, from Snakemake's benchmark files; beside it what the rule declares at the last number of
docs, above which a cluster ends a job. Jobs are forked, as by default: then the kernel says what a
job held at its most, where Snakemake would look now and then ("Cheap starts" in
docs/performance.md). What it shares with the process that forked it counts, as it would else have
loaded it itself; a job of Lucene below 100,000 docs may have its process from another.
Of the whole: seconds of Snakemake by the clock, CPU seconds of it and all its jobs, and the most
memory of any process. Exponents as in growth.py, of each two sizes; where starting a job is most of
its time, they are near 0.
"""

import argparse
import ast
import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import growth
import yaml

import projects
from conftest import ROOT

MB = growth.MB
MIB = 1024**2  # Snakemake's benchmark files and the kernel count so
DOCS_A_PLACE = 16  # a place has a listing page, a stub and 14 passages about it
TUNE, DEV, PAIRS, STEPS = 150, 500, 2000, 50
WRITTEN = 500  # docs for which a generator writes a question
LEAST = 0.01  # seconds or MB, of what was too little to be seen: it has no logarithm
UNSEEN = ("NA", "-")  # in benchmark files, of what Snakemake did not count
WHOLE = "the whole"


class Cost(NamedTuple):
    """What a rule's jobs or the whole took: seconds, CPU seconds, most memory in MB."""

    seconds: float
    cpu: float
    peak: float


class Job(NamedTuple):
    """A line of a benchmark file: the rule, what the job took, what it declared in MB."""

    rule: str
    cost: Cost
    declared: int


class Measured(NamedTuple):
    """What one number of docs took: every job, the whole, and the load before the run."""

    jobs: list[Job]
    whole: Cost
    load: float

    def of_rules(self) -> dict[str, Cost]:
        """Return what the jobs of each rule took together, in the order in which they ended."""
        jobs = defaultdict[str, list[Cost]](list)
        for job in self.jobs:
            jobs[job.rule].append(job.cost)
        return {rule: together(costs) for rule, costs in jobs.items()} | {WHOLE: self.whole}


def together(costs: Iterable[Cost]) -> Cost:
    """Return the sum of seconds, and the largest memory."""
    seconds, cpu, peaks = zip(*costs, strict=True)
    return Cost(sum(seconds), sum(cpu), max(peaks))


def entries(docs: int, shard_docs: int) -> dict[str, dict[str, Any]]:
    """Return the files of config/ by path, for a number of docs; JSON is YAML."""
    name, places = f"growth-{docs}", docs // DOCS_A_PLACE
    source = {
        **{"kind": "generated", "seed": 1, "entities": places, "shift": 0.75},
        **{"passages": docs - 2 * places, "listings": places, "stubs": places},
        **{"train_pairs": PAIRS, "train_share": 0.6, "tune": TUNE, "dev": DEV, "judged": 1},
    }
    splits = {
        "train": {"queries": PAIRS, "qrels": PAIRS},
        "tune": {"queries": TUNE, "qrels": TUNE},
        "dev": {"queries": DEV, "qrels": DEV},
    }
    writes = {"generator": "question-generator", "per_doc": 1, "docs": WRITTEN}
    dataset = {
        "source": source,
        "splits": {
            "train": {},
            "tune": {"measures": ["RR@10"]},
            "dev": {"measures": ["RR@10", "R@1000"]},
            "synthetic": {"synthetic": {**writes, **SAMPLED}},
        },
        "own": {"train": "train", "tune": "tune"},
        "editions": [{"name": "growth", "docs": docs, "splits": splits}],
    }
    scale = {
        "base": "mini",
        "reason": "a generated collection, to see what grows with it",
        "seeds": [1],
        "roles": {role: f"{name}/{split}" for role, split in ROLES.items()},
        "budgets": short(ROOT / "config" / "scales" / "mini.yaml"),
        "shard_docs": shard_docs,
    }
    pages = {f"papers/growth/{page}": entry for page, entry in PAGES.items()}
    return {f"datasets/{name}": dataset, f"scales/{name}": scale, **pages}


def short(mini: Path) -> dict[str, dict[str, dict[str, int]]]:
    """Return the budgets of a scale that train by steps, each with few."""
    budgets = yaml.safe_load(mini.read_text())["budgets"]
    trained = (name for name, keys in budgets.items() if keys.get("training", {}).get("steps"))
    return {name: {"training": {"steps": STEPS}} for name in trained}


SAMPLED = {"top_k": 25, "doc_length": 64, "question_length": 24}
ROLES = {
    **{f"msmarco-{split}": split for split in ("train", "tune", "dev")},
    **{"bioasq-train": "train", "bioasq-dev": "tune", "bioasq-test": "dev"},
    **{"bioasq-synthetic": "synthetic", "community-qa": "train", "trec-car": "dev"},
}
ROWS = {
    **{"bm25": "BM25", "bm25-default-rm3": "RM3", "deepct": "DeepCT"},
    **{"clear-embedding": "Embedding", "clear": "CLEAR", "clear-bert-base": "CLEAR, reranked"},
    **{"dpr-ei": "RoC", "sparterm": "SparTerm", "me-bert": "ME-BERT", "me-hybrid": "ME-HYBRID"},
    **{"bioasq-de": "BioASQ's DE", "bioasq-hybrid": "BioASQ's hybrid"},
}
PAGES: dict[str, dict[str, Any]] = {
    "table1": {
        **{"kind": "table", "title": "Systems of five papers on a collection that grows"},
        "columns": [
            {"id": "rr", "role": "msmarco-dev", "measure": "RR@10", "header": "MRR@10"},
            {"id": "recall", "role": "msmarco-dev", "measure": "R@1000", "header": "R@1k"},
        ],
        "rows": [
            {"id": system, "index": index, "label": label, "system": system}
            for index, (system, label) in enumerate(ROWS.items(), 1)
        ],
        "tests": "clear",
    },
    "venn": {
        **{"kind": "venn", "title": "What DPR and BM25 answer", "role": "msmarco-dev"},
        "measure": "Success@10",
        "rows": [{"id": "dpr", "label": "DPR", "dense": "dpr-embedding", "lexical": "bm25"}],
    },
    "effort": {
        **{"kind": "figure", "title": "Approximate search", "role": "msmarco-dev"},
        **{"over": "effort", "sweep": "luan2021", "tests": "depths"},
        "series": [{"id": "me-bert", "label": "ME-BERT", "system": "me-bert"}],
        "panels": [{"id": "rr", "shows": "measure", "measure": "RR@10", "header": "MRR@10"}],
    },
    "dimensions": {
        **{"kind": "dimensions", "title": "Margins by length", "role": "trec-car"},
        "rows": [{"id": "margins", "label": "margins", "fidelity": "luan2021", "shows": "margins"}],
    },
}


def run(project: Path, docs: int, options: argparse.Namespace) -> Measured:
    """Make everything of a number of docs, and return what it took."""
    shutil.rmtree(project / "config" / "papers")  # their pages ask for more than this collection
    for name, entry in entries(docs, options.shard_docs).items():
        path = project / "config" / f"{name}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(entry, indent=1) + "\n")
    words = ["--cores", str(options.cores), "--benchmark-extended", "--config"]
    words += [f"scale=growth-{docs}", "papers=[growth]"]
    load, start = os.getloadavg()[0], time.perf_counter()
    with open(project / f"growth-{docs}.log", "w") as log:
        command = [sys.executable, "-m", "snakemake", *words]
        env = {**os.environ, "PYTHONPATH": str(project / "workflow")}
        process = subprocess.Popen(command, cwd=project, env=env, stdout=log, stderr=log)
        _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    if status:
        raise SystemExit(f"failed: {' '.join(command)}\n{Path(log.name).read_text()[-4000:]}")
    unit = 1 if sys.platform == "darwin" else 1024  # macOS counts bytes, Linux KiB
    peak = usage.ru_maxrss * unit / MB
    jobs = sorted(read(project / f"results/growth-{docs}/benchmarks"))
    return Measured([job for _, job in jobs], Cost(seconds, cpu_of(usage), peak), load)


def cpu_of(usage: Any) -> float:
    """Return the seconds of the CPU, of user and system."""
    return usage.ru_utime + usage.ru_stime


def read(folder: Path) -> Iterator[tuple[float, Job]]:
    """Yield each job with the time of its benchmark file."""
    for path in folder.rglob("*.tsv"):
        with open(path, newline="") as file:
            for row in csv.DictReader(file, delimiter="\t"):
                if row["max_rss"] in UNSEEN:
                    print(f"{path}: memory not counted", file=sys.stderr)
                cost = Cost(float(row["s"]), number(row["cpu_time"]), number(row["max_rss"]))
                cost = cost._replace(peak=cost.peak * MIB / MB)
                declared = ast.literal_eval(row["resources"])["mem_mb"]
                yield path.stat().st_mtime, Job(row["rule_name"], cost, declared)


def number(text: str) -> float:
    """Return a number of a benchmark file; Snakemake has none of a job that it did not see."""
    return float(text) if text not in UNSEEN else 0.0


def table(measured: dict[int, Measured]) -> str:
    """Return a Markdown table of all rules at all sizes, (docs), and of the whole."""
    sizes, of_rules = list(measured), {docs: own.of_rules() for docs, own in measured.items()}
    heads = [f"{docs:,} docs: s, CPU s, MB" for docs in sizes]
    lines = [["rule", *heads, "declared MB", "exponent of s", "of CPU s", "of MB"]]
    lines.append(["---"] * len(lines[0]))
    most = {job.rule: job.declared for own in measured.values() for job in own.jobs}
    for rule in of_rules[sizes[-1]]:
        costs = [own.get(rule) for own in of_rules.values()]
        slopes = growth.exponents(sizes, [cost and visible(cost) for cost in costs])
        declared = f"{most[rule]:,}" if rule in most else ""
        lines.append([rule, *map(cell, costs), declared, *slopes])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def visible(cost: Cost) -> Cost:
    """Return a cost that has logarithms."""
    return Cost(*(max(value, LEAST) for value in cost))


def cell(cost: Cost | None) -> str:
    """Return what stands in a table for what a rule took."""
    return f"{cost.seconds:,.1f}, {cost.cpu:,.1f}, {cost.peak:,.0f}" if cost else ""


def findings(measured: dict[int, Measured]) -> Iterator[str]:
    """Yield a line for each rule whose largest job held more than it declared."""
    for docs, own in measured.items():
        above = {job.rule: job for job in sorted(own.jobs, key=lambda job: job.cost.peak)}
        for rule, job in above.items():
            if job.cost.peak > job.declared:
                held = f"{job.cost.peak:,.0f} MB, declared {job.declared:,}"
                yield f"above its declared memory at {docs:,} docs: {rule}: {held}"


def main() -> None:
    """Measure every number of docs and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--docs", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--shard-docs", type=int, default=50_000)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--work", type=Path, help="folder to keep; a temporary one without")
    options = parser.parse_args()
    measured: dict[int, Measured] = {}
    with tempfile.TemporaryDirectory() as temporary:
        work = (options.work or Path(temporary)).resolve()
        for docs in options.docs:
            project = work / str(docs)
            project.mkdir(parents=True)
            projects.copy_project(project)
            measured[docs] = own = run(project, docs, options)
            jobs = f"{len(own.jobs)} jobs, load before {own.load:.2f}"
            print(f"{docs:,} docs: {cell(own.whole)}; {jobs}", file=sys.stderr, flush=True)
    print(table(measured))
    for line in findings(measured):
        print(line)


if __name__ == "__main__":
    main()
