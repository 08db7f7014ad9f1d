"""RM3's whole grid at once, beside a search at each setting: ours, and Anserini's own program.

python tests/benchmarks/rm3_grid.py [--docs 200000] [--queries 500] [--work FOLDER]

The collection is that of growth.py. A query is six words of a doc, which is its positive. All sides
are processes of their own, measured by the CPU seconds of user and system. `rm3 tune` chooses from
CLEAR's 900 settings by RR@10, and writes the run. The others are measured at eight settings, and
told for one, their start spread over eight. Exit status 1 unless our own lists, measured by
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
    """Write queries of words of their positives, and the judgements."""
    rng, texts = random.Random(7), (folder / "corpus.tsv").read_text().splitlines()
    positives = rng.sample(range(docs), number)
    asked = [(f"q{n}", rng.sample(texts[doc].split("\t")[1].split(), WORDS))
             for n, doc in enumerate(positives)]  # fmt: skip
    trec.write_queries(folder / "asked.tsv", [(q, " ".join(words)) for q, words in asked])
    trec.write_qrels(folder / "asked.trec", [(f"q{n}", str(d), 1) for n, d in enumerate(positives)])


def tuned(folder: Path, grid: dict) -> tuple[float, dict]:
    """Return the CPU seconds of `rm3 tune` over a grid, and its record."""
    rm3 = {"grid": grid, "folds": 2, "seed": 1, "measures": {"dev": MEASURE}}
    spec = {
        "kind": "lexical",
        "label": "",
        "bm25": BM25,
        "k": 1000,
        "analysis": ANALYSIS,
        "rm3": rm3,
    }
    made = ["--output", str(folder / "tuned.trec.gz"), "--record", str(folder / "tuned.json")]
    asked = ["--queries", str(folder / "asked.tsv"), "--qrels", str(folder / "asked.trec")]
    command = [
        sys.executable,
        "-m",
        "residuum.rm3",
        "tune",
        "--index",
        str(folder / "index"),
        *asked,
    ]
    command += ["--spec", json.dumps(spec), "--measure", MEASURE, "--tag", "x", *made]
    return measure(command, folder).cpu, json.loads((folder / "tuned.json").read_text())


def searched(folder: Path, setting: dict, run: Path) -> float:
    """Return the CPU seconds of a search at one setting."""
    spec = {"kind": "lexical", "label": "", "bm25": BM25, "k": 10, "analysis": ANALYSIS,
            "rm3": {"value": setting}}  # fmt: skip
    command = [sys.executable, "-m", "residuum.lexical", "search", "--index", str(folder / "index")]
    command += ["--queries", str(folder / "asked.tsv"), "--spec", json.dumps(spec), "--tag", "x"]
    return measure([*command, "--output", str(run)], folder).cpu


def theirs(folder: Path) -> float:
    """Return the CPU seconds of Anserini's program over the searched settings, in one process."""
    options = ["-index", folder / "index" / "lucene", "-topics", folder / "asked.tsv"]
    options += ["-topicReader", "TsvString", "-output", folder / "theirs", "-hits", 10, "-bm25"]
    options += [
        "-bm25.k1",
        BM25["k1"],
        "-bm25.b",
        BM25["b"],
        "-stemmer",
        ANALYSIS["stemmer"],
        "-rm3",
    ]
    names = {"feedback_docs": "fbDocs", "feedback_terms": "fbTerms",
             "original_query_weight": "originalQueryWeight"}  # fmt: skip
    for key, name in names.items():
        options += [f"-rm3.{name}", *SEARCHED[key]]
    return measure(anserini("search.SearchCollection", *options, "-threads", 1), folder).cpu


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
                measure(
                    [sys.executable, "-m", f"residuum.{stages[stage][0]}", *stages[stage][1:]],
                    folder,
                )
        write_queries(folder, options.docs, options.queries)
        whole, record = tuned(folder, GRID)
        judged, alone, agree = trec.read_qrels(folder / "asked.trec"), 0.0, True
        settings = [
            dict(zip(SEARCHED, values, strict=True)) for values in product(*SEARCHED.values())
        ]
        for setting in settings:
            alone += searched(folder, setting, folder / "one.trec.gz")
            found = evaluate(trec.read_run(folder / "one.trec.gz"), judged, [MEASURE])
            [tried] = [row for row in record["tried"] if row["setting"] == setting]
            for fold, mean in enumerate(tried["means"]):
                mine = [v for q, v in found.select("query_id", "value").iter_rows()
                        if record["fold_of"][q] == fold]  # fmt: skip
                agree &= abs(sum(mine) / len(mine) - mean) < 1e-12
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
