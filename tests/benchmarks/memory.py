"""How memory grows with the lines of runs, from a dense search to a fused and reranked run.

python tests/benchmarks/memory.py [--lines 1200000 4000000 12000000] [--work FOLDER]

The collection is that of growth.py, with 10,000 docs in four shards. Each query has 200 lines, so
that 12 million lines are of 60,000 queries. Each command is a process of its own. `own` is what it
held without mapped files (Linux only), and an exponent of 0 says that more lines take no more.
`--package` measures another checkout's workflow folder. Exit status 1 if a stage holds more than
4 GB of its own.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

import growth

DOCS, K, SHARDS = 10_000, 200, 4
PAIRS = ["pairs.0", "pairs.1", "pairs.2", "pairs.3"]  # shards of a reranker's scores
MOST = 4000  # MB
ENDING = ".trec.gz"


def commands(folder: Path, count: int) -> dict[str, list[str]]:
    """Return the command line of each stage, in the order in which they need each other."""
    lexical, dense = {**growth.LEXICAL, "k": K}, {"kind": "dense", "model": "random", "k": K}
    pool = {"kind": "hits", "system": "dense", "top": K}
    negatives = {"pools": {"errors": pool}, "scores": "bm25", "per_pair": 4}
    fusion = {"kind": "fusion", "parts": ["bm25", "dense"], "unretrieved": "true_score", "k": K}
    fusion |= {"interpolation": {"weighted": "bm25", "value": 0.5}}
    given = growth.commands(folder, DOCS, count, threads=1)
    index, queries = ["--index", f"{folder}/index"], ["--queries", f"{folder}/queries.{count}.tsv"]
    qrels = ["--qrels", f"{folder}/qrels.{count}.trec"]
    shards = [f"{folder}/shards/{number}" for number in range(SHARDS)]
    hits = [f"{folder}/hits/{number}" for number in range(SHARDS)]
    vectors = [word for shard in shards for word in ("--embeddings", shard)]

    def ending(spec: dict, tag: str, output: str) -> list[str]:
        return ["--spec", json.dumps(spec), "--tag", tag, "--output", f"{folder}/{output}{ENDING}"]

    def run(name: str) -> str:
        return f"{folder}/{name}{ENDING}"

    mining = json.dumps({"negatives": negatives, "system": lexical})
    mine = [*given["mine lexical errors"][:-4], "--run", f"dense={run('dense')}"]
    parts = ["--run", f"bm25={run('bm25')}", "--run", f"dense={run('dense')}"]
    parts += ["--scores", f"bm25={run('bm25.on.dense')}"]
    parts += ["--scores", f"dense={run('dense.on.bm25')}"]
    pairs = [word for name in PAIRS for word in ("--scores", run(name))]
    reranked = {"kind": "rerank", "first_stage": "both", "reranker": "r", "depth": {"value": K}}
    scored = [*vectors, "--queries", f"{folder}/queries/dev"]
    return {
        "export": given["export"],
        "index": given["index"],
        "lexical search": ["lexical", "search", *index, *queries, *ending(lexical, "bm25", "bm25")],
        **{
            f"dense search, shard {number}": [
                *["dense", "search", "--embeddings", shard, "--queries", f"{folder}/queries"],
                *["--k", str(K), "--device", "cpu", "--output", hits[number]],
            ]
            for number, shard in enumerate(shards)
        },
        "gather": [
            *["dense", "gather", *(word for path in hits for word in ("--hits", path))],
            *["--split", "dev", *ending(dense, "dense", "dense")],
        ],
        "mine": [*mine, "--spec", mining, "--output", f"{folder}/tuples.jsonl.gz"],
        "evaluate": [
            *["evaluate", "run", "--run", run("dense"), *qrels, "--output", f"{folder}/m.tsv"],
            *["--measure", "RR@10", "--measure", "R@100"],
        ],
        "lexical score": [
            *["lexical", "score", *index, *queries, "--run", run("dense")],
            *ending(lexical, "bm25", "bm25.on.dense"),
        ],
        "dense score": [
            *["dense", "score", *scored, "--run", run("bm25")],
            *ending(dense, "dense", "dense.on.bm25"),
        ],
        "fuse": ["fusion", "fuse", *parts, *ending(fusion, "both", "both")],
        "rerank depths": [
            *["rerank", "depths", "--run", f"both={run('both')}", *pairs, *qrels],
            *["--spec", json.dumps({"depths": {"both": [K // 2, K]}, "measures": ["RR@10"]})],
            *["--output", f"{folder}/depths.tsv"],
        ],
        "rerank cut": [
            *["rerank", "cut", "--run", run("both"), *pairs, "--name", "both"],
            *["--record", f"{folder}/depth.json", *ending(reranked, "reranked", "reranked")],
        ],
    }


def cut(folder: Path) -> None:
    """Cut the embeddings into shards."""
    from residuum.artefacts import contracts

    ids, vectors = contracts.read_vectors(folder / "embeddings")
    record = json.loads((folder / "embeddings" / "manifest.json").read_text())
    for number in range(SHARDS):
        some = slice(number * DOCS // SHARDS, (number + 1) * DOCS // SHARDS)
        contracts.write_vectors(folder / "shards" / str(number), ids[some], vectors[some])
        shard = {"number": number, "of": SHARDS, "docs": DOCS // SHARDS}
        made = {**record, "artefact": {**record["artefact"], "shard": shard}}
        (folder / "shards" / str(number) / "manifest.json").write_text(json.dumps(made))


def score(folder: Path) -> None:
    """Write scores of the fused run's pairs in shards; numbers without a meaning."""
    import polars as pl

    from residuum.artefacts import trec

    ids = sorted(trec.read_queries(next(folder.glob("queries.*.tsv"))))
    some = pl.col("doc_id").hash(1) % 1_000_000 / 1e4
    for number, name in enumerate(PAIRS):
        first, end = (len(ids) * n // len(PAIRS) for n in (number, number + 1))
        mine = pl.col("query_id").is_between(pl.lit(ids[first]), pl.lit(ids[end - 1]))
        lists = trec.read_lists(folder / f"both{ENDING}")
        parts = (trec.rank(part.filter(mine).with_columns(score=some)) for part in lists)
        trec.write_run(folder / f"{name}{ENDING}", parts, "scores")


def main() -> None:
    """Measure every size and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    sizes = [1_200_000, 4_000_000, 12_000_000]
    parser.add_argument("--lines", type=int, nargs="+", default=sizes)
    parser.add_argument("--work", type=Path, help="folder to keep; a temporary one without")
    parser.add_argument("--package", type=Path, default=growth.PACKAGE, help="holds residuum")
    options = parser.parse_args()
    costs: dict[str, list[growth.Cost | None]] = {}
    with tempfile.TemporaryDirectory() as temporary:
        for lines in options.lines:
            folder, queries = (options.work or Path(temporary)) / str(lines), lines // K
            if not folder.exists():
                folder.mkdir(parents=True)
                counts = ["--make", str(folder), "--docs", str(DOCS), "--queries", str(queries)]
                command = [sys.executable, growth.__file__, *counts, "--dense"]
                growth.measure(command, options.package, folder)
                cut(folder)
            for stage, (module, *words) in commands(folder, queries).items():
                if stage == "rerank depths":
                    score(folder)
                command = [sys.executable, "-m", f"residuum.{module}", *words]
                cost = growth.measure(command, options.package, folder)
                costs.setdefault(stage, []).append(cost)
                print(f"{stage}, {lines:,} lines: {cost}", file=sys.stderr, flush=True)
    heads = [f"{lines:,} lines: s, peak, own MB" for lines in options.lines]
    rows = [["stage", *heads, "exponent of time", "of peak", "of own"]]
    rows.append(["---"] * len(rows[0]))
    for stage, measured in costs.items():
        slopes = growth.exponents(options.lines, measured)
        rows.append([stage, *map(growth.cell, measured), *slopes])
    print("\n".join(f"| {' | '.join(row)} |" for row in rows))
    sys.exit(any(cost and cost.own > MOST for made in costs.values() for cost in made))


if __name__ == "__main__":
    main()
