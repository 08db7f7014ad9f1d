"""Index and search beside Anserini's own programs, on the same docs, queries and Lucene.

python tests/benchmarks/lucene.py [--docs 200000] [--queries 1000] [--rounds 3] [--work FOLDER]

The collection is that of growth.py. Both sides are processes of their own, take turns, and are
measured by the CPU seconds of user and system, of which what else the machine does takes few.
Residuum indexes the exported corpus; Anserini's IndexCollection, with Java's and its own defaults,
the same docs written as its JSON beforehand. Both search the last index that residuum made. A
ratio above 1 means that residuum takes less. Exit status 1 if the runs' scores differ.
"""

import argparse
import gzip
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import NamedTuple

import growth

sys.path.insert(0, str(growth.PACKAGE))

from residuum.artefacts import contracts
from residuum.lucene import jvm

ANALYSIS = growth.ANALYSIS["analysis"]
BM25 = growth.LEXICAL["bm25"]


class Cost(NamedTuple):
    """What one process took: CPU seconds, seconds by the clock, most memory in MB."""

    cpu: float
    clock: float
    peak: float


def measure(command: list[str], folder: Path) -> Cost:
    """Run one command to its end; what it says goes to the folder's log."""
    env = {**os.environ, "PYTHONPATH": str(growth.PACKAGE), "RESIDUUM_DATA": str(folder)}
    start = time.perf_counter()
    with open(folder / "log.txt", "a") as log:
        process = subprocess.Popen(command, env=env, stdout=log, stderr=log)
        _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"failed: {' '.join(command)}\n{(folder / 'log.txt').read_text()[-2000:]}")
    seconds = time.perf_counter() - start
    return Cost(usage.ru_utime + usage.ru_stime, seconds, usage.ru_maxrss * 1024 / growth.MB)


def anserini(program: str, *options: object) -> list[str]:
    """Return the command line of one of Anserini's programs, as its documentation gives it."""
    java = jvm.find_java() / "bin" / "java"
    return [str(java), "-cp", str(jvm.anserini_jar()), f"io.anserini.{program}", *map(str, options)]


def commands(folder: Path, docs: int, requested: int) -> dict[str, tuple[list[str], list[str]]]:
    """Return the two command lines of each work: residuum's and Anserini's."""
    own = growth.commands(folder, docs, requested, threads=1)
    ours = {key: [sys.executable, "-m", f"residuum.{own[key][0]}", *own[key][1:]] for key in own}
    stemming = ["-stemmer", ANALYSIS["stemmer"], "-threads", 1]
    making = ["-collection", "JsonCollection", "-input", folder / "json", "-storeDocvectors"]
    making += ["-optimize", "-index", folder / "theirs", *stemming]
    asking = ["-index", folder / "index" / "lucene", "-topics", folder / f"queries.{requested}.tsv"]
    asking += ["-topicReader", "TsvString", "-output", folder / "theirs.trec", *stemming]
    asking += ["-bm25", "-bm25.k1", BM25["k1"], "-bm25.b", BM25["b"], "-hits", growth.HITS]
    return {
        "index": (ours["index"], anserini("index.IndexCollection", *making)),
        "lexical search": (ours["lexical search"], anserini("search.SearchCollection", *asking)),
    }


def write_json(folder: Path) -> None:
    """Write the exported corpus as Anserini reads it."""
    (folder / "json").mkdir()
    with open(folder / "json" / "docs.jsonl", "w", encoding="ascii") as file:
        for doc_id, text in contracts.read_corpus(folder / "corpus"):
            file.write(json.dumps({"id": doc_id, "contents": text}) + "\n")


def row(work: str, pairs: list[tuple[Cost, Cost]]) -> str:
    """Return a row of a Markdown table: medians over the rounds."""
    cells = [work]
    for field in ("cpu", "clock", "peak"):
        sides = zip(
            *((getattr(one, field), getattr(two, field)) for one, two in pairs), strict=True
        )
        cells += [
            f"{median(side):.1f}" if field != "peak" else f"{max(side):.0f}" for side in sides
        ]
        if field == "cpu":
            cells.append(f"{median(two.cpu / one.cpu for one, two in pairs):.2f}")
    return f"| {' | '.join(cells)} |"


def scores(path: Path) -> dict[str, list[float]]:
    """Return the scores of each query's list."""
    lists: dict[str, list[float]] = {}
    with gzip.open(path, "rt") if path.suffix == ".gz" else open(path) as lines:
        for line in lines:
            query_id, _, _, _, score, _ = line.split()
            lists.setdefault(query_id, []).append(float(score))
    return lists


def same_scores(ours: Path, theirs: Path) -> bool:
    """Say whether two runs give each query equal scores, as far as Anserini prints them."""
    one, other = scores(ours), scores(theirs)
    return one.keys() == other.keys() and all(
        len(one[q]) == len(other[q])
        and all(abs(a - b) < 1e-3 for a, b in zip(one[q], other[q], strict=True))
        for q in one
    )


def main() -> int:
    """Measure both works and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--docs", type=int, default=200_000)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--work", type=Path, help="folder to use; a temporary one without")
    parsed = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = parsed.work or Path(temporary)
        folder.mkdir(exist_ok=True)
        growth.make(folder, parsed.docs, [parsed.queries], dense=False)
        export = growth.commands(folder, parsed.docs, parsed.queries, 1)["export"]
        measure([sys.executable, "-m", f"residuum.{export[0]}", *export[1:]], folder)
        write_json(folder)
        heads = [
            "work",
            "residuum, CPU s",
            "Anserini, CPU s",
            "ratio",
            "residuum, s",
            "Anserini, s",
        ]
        heads += ["residuum, peak MB", "Anserini, peak MB"]
        print(f"| {' | '.join(heads)} |\n|{' --- |' * len(heads)}", flush=True)
        for work, sides in commands(folder, parsed.docs, parsed.queries).items():
            pairs = [tuple(measure(side, folder) for side in sides) for _ in range(parsed.rounds)]
            print(row(work, pairs), flush=True)
        same = same_scores(folder / f"bm25.{parsed.queries}.trec.gz", folder / "theirs.trec")
    print(f"scores {'agree' if same else 'differ'}", file=sys.stderr)
    return int(not same)


if __name__ == "__main__":
    sys.exit(main())
