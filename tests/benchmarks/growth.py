"""How time and memory grow with a collection: export, index, search, mining, dense search.

python tests/benchmarks/growth.py --docs 10000 100000 [--queries 200 2000] [--work FOLDER]

Collections of random words are made for it: Zipf's law over 100,000 words, now and then a word that
stands nowhere else, 56 words a doc as in MS MARCO. Each command is a process of its own, with the
JVM inside.
Two tables: more docs at the first number of queries, and more queries at the first number of docs
(mining asks as many training queries). `peak` is the most memory that the process held, the pages
of mapped files (index, vectors) among it, which the system takes back when others need them; `own`
is what it held without those, sampled (Linux only). An exponent of 1 means that ten times as much
takes ten times as long, or as much memory; 0 that it takes the same. `--package` measures another
checkout's workflow folder.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np

VOCABULARY, WORDS_PER_DOC, WORDS_PER_QUERY = 100_000, 56, 6
RARE = 0.02  # share of words that stand in one doc alone: names, numbers, typing errors
DOCS_AT_ONCE = 1000
DIMENSIONS = 128
HITS, POOL, PER_PAIR = 1000, 1000, 8
SECONDS_BETWEEN_LOOKS = 0.02
MB = 1_000_000
PACKAGE = Path(__file__).parents[2] / "workflow"

ANALYSIS = {"analysis": {"stemmer": "porter", "stopwords": "lucene"}}
LEXICAL = {"kind": "lexical", "bm25": {"k1": 0.9, "b": 0.4}, "k": HITS, **ANALYSIS}
RANKED = {"kind": "hits", "system": "bm25", "top": POOL}
ERRORS = {"pools": {"errors": RANKED}, "scores": "bm25", "per_pair": PER_PAIR}
ANYWHERE = {"pools": {"anywhere": "corpus"}, "scores": "bm25", "per_pair": PER_PAIR}


class Cost(NamedTuple):
    """What one process took: seconds, most memory in MB, and most without mapped files."""

    seconds: float
    peak: float
    own: float


def make(folder: Path, docs: int, requested: list[int], dense: bool) -> None:
    """Write a corpus, queries with a positive each for every number asked, and vectors."""
    import numpy as np

    random = np.random.default_rng(1)
    draw = zipf(random)
    with open(folder / "corpus.tsv", "w", encoding="ascii") as corpus:
        for first in range(0, docs, DOCS_AT_ONCE):
            numbers = range(first, min(docs, first + DOCS_AT_ONCE))
            texts = draw(len(numbers), WORDS_PER_DOC)
            corpus.writelines(f"{i}\t{text}\n" for i, text in zip(numbers, texts, strict=True))
    for count in requested:
        texts = draw(count, WORDS_PER_QUERY)
        lines = [f"q{number}\t{text}\n" for number, text in enumerate(texts)]
        (folder / f"queries.{count}.tsv").write_text("".join(lines))
        positives = random.integers(docs, size=count)
        judged = [f"q{number} 0 {doc} 1\n" for number, doc in enumerate(positives)]
        (folder / f"qrels.{count}.trec").write_text("".join(judged))
    if dense:
        _write_vectors(folder, docs, requested[0])


def zipf(random: "np.random.Generator") -> Callable[[int, int], Iterator[str]]:
    """Return a function of (texts, words) that draws texts."""
    import numpy as np

    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    words = ["".join(random.choice(letters, random.integers(3, 10))) for _ in range(VOCABULARY)]
    vocabulary = np.array(words, dtype=object)
    shares = np.cumsum(1 / np.arange(1, VOCABULARY + 1))

    def draw(texts: int, length: int) -> Iterator[str]:
        places = np.searchsorted(shares, random.random((texts, length)) * shares[-1])
        drawn = vocabulary[places]
        rare = random.random((texts, length)) < RARE
        drawn[rare] = [f"x{number:x}" for number in random.integers(2**40, size=rare.sum())]
        return map(" ".join, drawn.tolist())

    return draw


def _write_vectors(folder: Path, docs: int, queries: int) -> None:
    """Write random embeddings of docs, as one shard, and of queries by the package's own writer."""
    import numpy as np

    from residuum.artefacts import contracts

    random = np.random.default_rng(1)
    parts = {
        "embeddings": (docs, "", {"shard": {"number": 0, "of": 1, "docs": docs}}),
        "queries/dev": (queries, "q", {"queries": {"dev": queries}}),
    }
    for name, (count, letter, facts) in parts.items():
        ids = [f"{letter}{number}" for number in range(count)]
        vectors = random.standard_normal((count, DIMENSIONS), dtype=np.float32)
        contracts.write_vectors(folder / name, ids, vectors)
        record = {"artefact": {"weights": "random", "dimensions": DIMENSIONS, **facts}}
        (folder / name.partition("/")[0] / "manifest.json").write_text(json.dumps(record))


def commands(folder: Path, docs: int, requested: int, threads: int) -> dict[str, list[str]]:
    """Return the command line of each stage, in the order in which they need each other."""
    edition = {"name": "growth", "docs": docs}
    source = {"kind": "files", "corpus": "corpus.tsv"}
    corpus, index = ["--corpus", f"{folder}/corpus"], ["--index", f"{folder}/index"]
    queries = ["--queries", f"{folder}/queries.{requested}.tsv"]
    shared = ["--threads", str(threads)]
    mine = ["negatives", "mine", *corpus, *index, *queries, *shared]
    mine += ["--qrels", f"{folder}/qrels.{requested}.trec"]

    def ending(spec: dict, output: str) -> list[str]:
        return ["--spec", json.dumps(spec), "--output", f"{folder}/{output}"]

    def mining(negatives: dict) -> dict:
        return {"negatives": negatives, "system": LEXICAL}

    exported = {"source": source, "editions": [edition]}
    vectors = ["--embeddings", f"{folder}/embeddings", "--queries", f"{folder}/queries"]
    return {
        "export": ["data", "corpus", "--dataset", "growth", *ending(exported, "corpus")],
        "index": ["lexical", "index", *corpus, *shared, *ending(ANALYSIS, "index")],
        "lexical search": [
            *["lexical", "search", *index, *queries, *shared, "--tag", "bm25"],
            *ending(LEXICAL, f"bm25.{requested}.trec.gz"),
        ],
        "mine lexical errors": [*mine, *ending(mining(ERRORS), f"errors.{requested}.jsonl.gz")],
        "mine random docs": [*mine, *ending(mining(ANYWHERE), f"random.{requested}.jsonl.gz")],
        "dense search": [
            *["dense", "search", *vectors, *shared, "--k", str(HITS), "--device", "cpu"],
            *["--output", f"{folder}/hits.{requested}"],
        ],
    }


def measure(command: list[str], package: Path, folder: Path) -> Cost:
    """Run one command to its end; what it says goes to the folder's log."""
    env = {**os.environ, "PYTHONPATH": str(package), "RESIDUUM_DATA": str(folder)}
    start, own = time.perf_counter(), []
    with open(folder / "log.txt", "a") as log:
        process = subprocess.Popen(command, env=env, stdout=log, stderr=log)
        while True:
            ended, status, usage = os.wait4(process.pid, os.WNOHANG)
            if ended:
                break
            own += _own(process.pid)
            time.sleep(SECONDS_BETWEEN_LOOKS)
    if status:
        raise SystemExit(f"failed: {' '.join(command)}\n{(folder / 'log.txt').read_text()[-2000:]}")
    unit = 1 if sys.platform == "darwin" else 1024  # macOS counts bytes, Linux KiB
    seconds, peak = time.perf_counter() - start, usage.ru_maxrss * unit / MB
    return Cost(seconds, peak, max(own, default=math.nan))


def _own(pid: int) -> list[float]:
    """Return the MB that a process holds now without mapped files; nothing where nobody says."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return []
    return [int(line.split()[1]) * 1024 / MB for line in lines if line.startswith("RssAnon:")]


class Bench:
    """The collections made so far and what each stage took on them."""

    def __init__(self, options: argparse.Namespace, work: Path) -> None:
        self.options, self.work = options, work
        self.costs: dict[tuple[str, int, int], Cost] = {}

    def collect(self, docs: int, requested: int) -> None:
        """Measure the stages of one size that are wanted and not yet measured."""
        folder = self.work / str(docs)
        dense = "dense search" in self.options.stages and docs <= self.options.dense_docs
        if not folder.exists():
            folder.mkdir(parents=True)
            self._make(folder, docs, dense)
        for stage, command in commands(folder, docs, requested, self.options.threads).items():
            if stage not in self.options.stages or (stage == "dense search" and not dense):
                continue
            if stage not in ASKING and any(key[:2] == (stage, docs) for key in self.costs):
                continue
            line = [sys.executable, "-m", f"residuum.{command[0]}", *command[1:]]
            self.costs[stage, docs, requested] = cost = measure(line, self.options.package, folder)
            print(
                f"{stage}, {docs:,} docs, {requested:,} queries: {cost}",
                file=sys.stderr,
                flush=True,
            )

    def _make(self, folder: Path, docs: int, dense: bool) -> None:
        """Make a collection in a process of its own: a child is charged for its parent's size."""
        counts = ["--docs", str(docs), "--queries", *map(str, self.options.queries)]
        command = [sys.executable, __file__, "--make", str(folder), *counts]
        measure([*command, *["--dense"] * dense], self.options.package, folder)

    def table(self, sizes: list[tuple[int, int]], varied: int) -> str:
        """Return a Markdown table of the stages at the sizes, (docs, queries); one is varied."""
        unit = ("docs", "queries")[varied]
        heads = [f"{size[varied]:,} {unit}: s, peak, own MB" for size in sizes]
        lines = [["stage", *heads, "exponent of time", "of peak", "of own"]]
        lines.append(["---"] * len(lines[0]))
        for stage in self.options.stages:
            result = [self.costs.get((stage, *size)) for size in sizes]
            if any(result):
                slopes = exponents([size[varied] for size in sizes], result)
                lines.append([stage, *map(cell, result), *slopes])
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def cell(cost: Cost | None) -> str:
    return f"{cost.seconds:.1f}, {cost.peak:.0f}, {cost.own:.0f}" if cost else ""


def exponents(sizes: list[int], costs: list[Cost | None]) -> list[str]:
    """Return the slope between neighbouring sizes on logarithmic axes, of each cost."""
    available = [(size, cost) for size, cost in zip(sizes, costs, strict=True) if cost]
    steps = list(pairwise(available))

    def slope(one: tuple[int, Cost], other: tuple[int, Cost], field: int) -> str:
        return f"{math.log(other[1][field] / one[1][field]) / math.log(other[0] / one[0]):.2f}"

    return [", ".join(slope(one, other, field) for one, other in steps) for field in range(3)]


STAGES = list(commands(Path(), 1, 1, 1))
ASKING = ("lexical search", "mine lexical errors", "mine random docs")


def main() -> None:
    """Measure every size and print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--docs", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--queries", type=int, nargs="+", default=[200])
    parser.add_argument("--stages", nargs="+", choices=STAGES, default=STAGES)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--dense-docs", type=int, default=100_000, help="no dense search above")
    parser.add_argument("--work", type=Path, help="folder to keep; a temporary one without")
    parser.add_argument("--package", type=Path, default=PACKAGE, help="folder that holds residuum")
    parser.add_argument("--make", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--dense", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.make:
        make(options.make, options.docs[0], options.queries, options.dense)
        return
    with tempfile.TemporaryDirectory() as temporary:
        bench = Bench(options, options.work or Path(temporary))
        of_docs = [(docs, options.queries[0]) for docs in options.docs]
        of_queries = [(options.docs[0], requested) for requested in options.queries]
        for docs, requested in dict.fromkeys([*of_docs, *of_queries]):
            bench.collect(docs, requested)
    print(bench.table(of_docs, 0))
    if len(of_queries) > 1:
        options.stages = [stage for stage in options.stages if stage in ASKING]
        print(f"\n{bench.table(of_queries, 1)}")


if __name__ == "__main__":
    main()
