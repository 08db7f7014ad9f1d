"""RM3's whole grid at once, beside a search at each setting: ours, and Anserini's own program.

python tests/benchmarks/rm3_grid.py [--docs 200000] [--queries 500] [--work FOLDER]

The collection is that of growth.py. A query is six words of a doc, which is its positive. All sides
are processes of their own, measured by the CPU seconds of user and system. `rm3 tune` chooses from
CLEAR's 900 settings by RR@10, and writes the run. The others are measured at eight settings: a row
gives an eighth of their seconds, start included. Exit status 1 unless our own lists, measured by
ir_measures, have the values that `rm3 tune` recorded.
"""

import argparse
import json
import random
import sys
import tempfile
from itertools import product
from pathlib import Path

import growth

from lucene import ANALYSIS, BM25, anserini, measure

sys.path.insert(0, str(growth.PACKAGE))

from residuum.artefacts import trec
from residuum.tuning.evaluation import evaluate

GRID = {
    "feedback_docs": [*range(5, 55, 5)],
    "feedback_terms": [*range(5, 55, 5)],
    "original_query_weight": [round(0.1 * tenth, 1) for tenth in range(1, 10)],
}
SEARCHED = {
    "feedback_docs": [5, 50],
    "feedback_terms": [10, 50],
    "original_query_weight": [0.3, 0.8],
}
MEASURE, WORDS = "RR@10", 6


def write_queries(folder: Path, docs: int, number: int) -> None:
    """Write queries, each of six words of its positive, and the judgements."""
    rng, texts = random.Random(7), (folder / "corpus.tsv").read_text().splitlines()
    positives = {f"q{n}": doc for n, doc in enumerate(rng.sample(range(docs), number))}
    words = {q: rng.sample(texts[d].split("\t")[1].split(), WORDS) for q, d in positives.items()}
    trec.write_queries(folder / "queries.tsv", [(q, " ".join(six)) for q, six in words.items()])
    trec.write_qrels(folder / "qrels.trec", [(q, str(doc), 1) for q, doc in positives.items()])


def run(folder: Path, stage: str, verb: str, rm3: dict, k: int, *words: object) -> float:
    """Return the CPU seconds of a stage of residuum with a system of these settings."""
    spec = {"kind": "lexical", "label": "", "bm25": BM25, "k": k, "analysis": ANALYSIS, "rm3": rm3}
    line = [sys.executable, "-m", f"residuum.{stage}", verb, "--index", folder / "index"]
    line += ["--queries", folder / "queries.tsv", "--spec", json.dumps(spec), "--tag", "x", *words]
    return measure([*map(str, line)], folder).cpu


def tuned(folder: Path) -> tuple[float, dict]:
    """Return the CPU seconds of `rm3 tune` over the grid, and its record."""
    rm3 = {"grid": GRID, "folds": 2, "seed": 1, "measures": {"dev": MEASURE}}
    record = folder / "tuned.json"
    words = ["--qrels", folder / "qrels.trec", "--measure", MEASURE, "--record", record]
    words += ["--output", folder / "tuned.trec.gz"]
    return run(folder, "rm3", "tune", rm3, 1000, *words), json.loads(record.read_text())


def theirs(folder: Path) -> float:
    """Return the CPU seconds of Anserini's program over the searched settings, in one process."""
    options = ["-index", folder / "index" / "lucene", "-topics", folder / "queries.tsv"]
    options += ["-topicReader", "TsvString", "-output", folder / "theirs", "-hits", 10, "-bm25"]
    options += ["-bm25.k1", BM25["k1"], "-bm25.b", BM25["b"], "-threads", 1]
    options += ["-stemmer", ANALYSIS["stemmer"], "-rm3"]
    names = ["fbDocs", "fbTerms", "originalQueryWeight"]
    for name, values in zip(names, SEARCHED.values(), strict=True):
        options += [f"-rm3.{name}", *values]
    return measure(anserini("search.SearchCollection", *options), folder).cpu


def means(folder: Path, fold_of: dict[str, int]) -> list[float]:
    """Return the mean of the measure over each fold's queries, of the run of one setting."""
    judged = trec.read_qrels(folder / "qrels.trec")
    metrics = evaluate(trec.read_run(folder / "one.trec.gz"), judged, [MEASURE])
    by_fold: dict[int, list[float]] = {}
    for query_id, value in metrics.select("query_id", "value").iter_rows():
        by_fold.setdefault(fold_of[query_id], []).append(value)
    return [sum(values) / len(values) for _, values in sorted(by_fold.items())]


def main() -> int:
    """Print a row for each side; return 0 if the values agree."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--docs", type=int, default=200_000)
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--work", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.work or Path(temporary)
        if not (folder / "index").is_dir():
            folder.mkdir(parents=True, exist_ok=True)
            growth.make(folder, options.docs, [1], dense=False)
            stages = growth.commands(folder, options.docs, 1, threads=1)
            for stage in ("export", "index"):
                name, *words = stages[stage]
                measure([sys.executable, "-m", f"residuum.{name}", *words], folder)
        write_queries(folder, options.docs, options.queries)
        (whole, record), alone, agree = tuned(folder), 0.0, True
        tried = {tuple(row["setting"].values()): row["means"] for row in record["tried"]}
        settings = [*product(*SEARCHED.values())]
        for values in settings:
            rm3 = {"value": dict(zip(SEARCHED, values, strict=True))}
            one = ["--output", folder / "one.trec.gz"]
            alone += run(folder, "lexical", "search", rm3, 10, *one)
            pairs = zip(means(folder, record["fold_of"]), tried[values], strict=True)
            agree &= all(abs(mine - recorded) < 1e-12 for mine, recorded in pairs)
        every = len(record["tried"])
        rows = {"`rm3 tune`": whole / every, "a search at each": alone / len(settings),
                "Anserini's SearchCollection": theirs(folder) / len(settings)}  # fmt: skip
        print(f"{options.docs:,} docs, {options.queries} queries, {every} settings\n")
        print("| | CPU s a setting | of all settings | times `rm3 tune` |\n|---|---|---|---|")
        for name, seconds in rows.items():
            times = seconds * every / whole
            print(f"| {name} | {seconds:.3f} | {seconds * every:,.0f} | {times:.1f} |")
        print(f"\nvalues agree at {len(settings)} settings: {agree}")
        return not agree


if __name__ == "__main__":
    sys.exit(main())
