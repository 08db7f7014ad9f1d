"""CPU seconds of jobs as Snakemake's shells have them, beside those of the same jobs without.

PYTHONPATH=workflow python tests/benchmarks/cheap_jobs.py [--rounds 5]

Three comparisons, each in turns. Starts: a process with a parent's packages forks a child that
imports a stage and writes a manifest, and one that finds the stage's modules imported and what
manifests share looked up. Tokens: the ids of 8,000 texts by `neural.tokens`, and by the call that
transformers documents, which must be the same. Tables: `residuum.evaluate` and
`residuum.rrf` on runs of 500 queries and 1,000 hits, with memory kept (`cli/memory.py`) and one
thread of Polars, and without either (a thread a core), the start of Python among them. A ratio
below 1 means that it is cheaper now; it is of the medians. Both sides of a table job must write the
same bytes.
"""

import argparse
import gzip
import importlib
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from residuum.preload import jobs, server
from residuum.preload.ahead import Ahead

STAGES = {"evaluate": "tables", "tables": "tables", "train": "neural", "encode": "neural"}
QUERIES, DOCS, HITS = 500, 8000, 1000
THREADS = "POLARS_MAX_THREADS"
WITHOUT = (
    "import sys, runpy; from residuum.cli import memory; memory.keep = lambda largest: None;"
    "sys.argv[:] = sys.argv[1:]; runpy.run_module(sys.argv[0], run_name='__main__', alter_sys=True)"
)


def starts(stage: str, folder: Path, rounds: int) -> tuple[float, float]:
    """Return the median CPU seconds of forks that find a stage prepared, and that prepare it."""
    for package in server.PACKAGES[STAGES[stage]]:
        importlib.import_module(package)
    module = f"residuum.{stage}"
    taken: dict[bool, list[float]] = {True: [], False: []}
    for _ in range(rounds):
        for imported in taken:
            jobs.forget()
            if imported:
                Ahead().prepare(module, os.getcwd())
            taken[imported].append(_forked(lambda: _job(module, folder)))
    return statistics.median(taken[True]), statistics.median(taken[False])


def _job(module: str, folder: Path) -> None:
    """Do what each job of a stage does beside its work."""
    importlib.import_module(module)
    made = folder / "made"
    made.touch()
    importlib.import_module("residuum.artefacts.manifest").write(made, {}, {}, [], module)


def tokens(rounds: int) -> tuple[float, float]:
    """Return the median CPU seconds that tokenising takes here, and by transformers' own call."""
    from tokenizers import BertWordPieceTokenizer
    from transformers import BertTokenizer

    from residuum.neural.tokens import tokenise

    draw = random.Random(1)
    words = ["".join(draw.choices("abcdefghij", k=draw.randint(2, 9))) for _ in range(20_000)]
    texts = [" ".join(draw.choices(words, k=draw.randint(20, 60))) for _ in range(DOCS)]
    trained = BertWordPieceTokenizer()
    trained.train_from_iterator(texts, vocab_size=4000, show_progress=False)
    tokenizer = BertTokenizer(vocab=trained.get_vocab())
    taken: dict[bool, list[float]] = {True: [], False: []}
    for _ in range(rounds):
        before = _seconds()
        ids = [row.tolist() for row in tokenise(tokenizer, texts, 96)]
        between = _seconds()
        peers = tokenizer(texts, truncation=True, max_length=96)["input_ids"]
        taken[True].append(between - before)
        taken[False].append(_seconds() - between)
        if ids != peers:
            raise SystemExit("tokens: the sides differ")
    return statistics.median(taken[True]), statistics.median(taken[False])


def _forked(work: Callable[[], object]) -> float:
    before = _seconds()
    process = os.fork()
    if not process:
        try:
            work()
            os._exit(0)
        finally:
            os._exit(1)
    if os.waitpid(process, 0)[1]:
        raise SystemExit("a fork failed")
    return _seconds() - before


def _seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def write_inputs(folder: Path) -> None:
    """Write two runs, whose queries share an eighth of their docs by chance, and judgements."""
    draw = random.Random(1)
    for name in ("left", "right"):
        with gzip.open(folder / f"{name}.trec.gz", "wt", compresslevel=1) as file:
            for query in range(QUERIES):
                docs = draw.sample(range(DOCS), HITS)
                for rank, doc in enumerate(docs, 1):
                    file.write(f"q{query:03} Q0 d{doc:04} {rank} {HITS - rank + 0.5} {name}\n")
    lines = [f"q{query:03} 0 d{draw.randrange(DOCS):04} 1\n" for query in range(QUERIES)]
    (folder / "qrels.trec").write_text("".join(lines))


def commands(folder: Path) -> dict[str, list[str]]:
    """Return the words of each table job after `python -m`, without its output."""
    left, right = (f"{folder}/{name}.trec.gz" for name in ("left", "right"))
    measures = [word for name in ("AP@1000", "R@1000", "RR@10") for word in ("--measure", name)]
    spec = '{"kind": "rrf", "parts": ["left", "right"], "rank_constant": 60, "k": 1000}'
    evaluated = ["--run", left, "--qrels", f"{folder}/qrels.trec", *measures]
    fused = ["--spec", spec, "--run", f"left={left}", "--run", f"right={right}", "--tag", "both"]
    return {
        "evaluate": ["residuum.evaluate", "run", *evaluated],
        "rrf": ["residuum.rrf", "fuse", *fused],
    }


def table_job(words: list[str], folder: Path, rounds: int) -> tuple[float, float]:
    """Return the median CPU seconds of a job as shells have it, and without what they add."""
    taken: dict[bool, list[float]] = {True: [], False: []}
    made = set()
    for _ in range(rounds):
        for cheap in taken:
            output = folder / ("cheap" if cheap else "plain") / "out.trec.gz"
            output.parent.mkdir(exist_ok=True)
            code = ["-m"] if cheap else ["-c", WITHOUT]
            env = {name: word for name, word in os.environ.items() if name != THREADS}
            before = _seconds()
            subprocess.run(
                [sys.executable, *code, *words, "--output", str(output)],
                env={**env, THREADS: "1"} if cheap else env,
                stdout=subprocess.DEVNULL,
                check=True,
            )
            taken[cheap].append(_seconds() - before)
            made.add(output.read_bytes())
    if len(made) != 1:
        raise SystemExit(f"{words[0]}: the sides differ")
    return statistics.median(taken[True]), statistics.median(taken[False])


def main() -> None:
    """Print a line for each comparison."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_inputs(folder)
        for job, words in commands(folder).items():
            _print(f"job {job}", *table_job(words, folder, rounds))
        for stage in STAGES:
            _print(f"start {stage}", *starts(stage, folder, rounds))
    _print("tokens", *tokens(rounds))


def _print(what: str, now: float, without: float) -> None:
    print(f"{what}: {now:.3f} CPU s, without {without:.3f}, ratio {now / without:.2f}", flush=True)


if __name__ == "__main__":
    main()
