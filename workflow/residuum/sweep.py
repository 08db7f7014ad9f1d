"""What an approximate search finds, compares and takes as its effort grows, and an exact search.

Command: `python -m residuum.sweep measure ...`. No model is loaded. Every machine finds and
compares the same. Times differ, and have a file of their own.
"""

import json
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Annotated

import polars as pl
import typer

from residuum.artefacts import contracts, files, machine, manifest, shards, trec
from residuum.cli import command
from residuum.cli.progress import track
from residuum.config.schema.sweeps import Sweep
from residuum.tuning.evaluation import evaluate
from residuum.vectors.nearest import Index, use_threads, with_ids
from residuum.vectors.scores import Shard, distinct

app = command.app(__doc__)
EXACT = 0  # stands for the exact search


class Searches:
    """The hits, compared vectors and seconds of searches so far, by effort, over all shards."""

    def __init__(self) -> None:
        self.hits: dict[int, list[pl.DataFrame]] = defaultdict(list)
        self.compared: dict[int, int] = defaultdict(int)
        self.seconds: dict[int, list[float]] = {}

    def search(self, index: Index, queries: Shard, k: int, effort: int, repeats: int) -> None:
        """Search a shard `repeats` times with the same result, and add hits, counts and seconds."""
        index.compared()
        took, found = [], list[pl.DataFrame]()
        for _ in range(repeats):
            start = time.perf_counter()
            found = list(index.search(queries, k, effort or None))
            took.append(time.perf_counter() - start)
        self.compared[effort] += index.compared() // repeats
        before = self.seconds.get(effort, [0.0] * repeats)
        self.seconds[effort] = [a + b for a, b in zip(before, took, strict=True)]
        hits = [*self.hits[effort], with_ids(pl.concat(found), queries[0])]
        self.hits[effort] = [trec.rank(pl.concat(hits), k).select(*trec.HITS)]

    def run(self, effort: int) -> pl.DataFrame:
        """Return the hits at an effort, as a run."""
        [hits] = self.hits[effort]
        return trec.rank(hits)


@app.command("measure")
def measure(
    embeddings: Annotated[list[Path], typer.Option(help="folder of encoded docs; all shards")],
    queries: Annotated[Path, typer.Option(help="folder of a split's encoded queries")],
    qrels: command.Qrels,
    measure: command.Measures,
    spec: Annotated[str, typer.Option(help="Sweep as JSON")],
    tag: command.Tag,
    output: Annotated[Path, command.written("TSV of run, effort, query_id, measure, value")],
    timing: Annotated[Path, command.written("JSON of the seconds that each search took")],
    threads: command.Threads = 1,
) -> None:
    """Write measures of each query, and the recall of the exact search's hits, by effort.

    Effort 0 is the exact search. The manifest has the mean number of vectors compared for a query,
    centres included. Indexes are built one shard at a time.
    """
    use_threads(threads)
    job, asked = command.parse_spec(Sweep, spec), contracts.read_vectors(queries)
    shards.check(embeddings, shards.facts_of([*embeddings, queries.parent])[:-1])
    searches, built, vectors = Searches(), 0.0, 0
    for folder in track(embeddings, "search", len(embeddings), "shards"):
        docs = contracts.read_vectors(folder)
        start = time.perf_counter()
        index = Index(docs, job.search, device="cpu")
        built += time.perf_counter() - start
        searches.search(Index(docs, None, device="cpu"), asked, job.k, EXACT, job.repeats)
        for effort in job.efforts():
            searches.search(index, asked, job.k, effort, job.repeats)
        vectors += len(docs[1])
    judged = trec.read_qrels(qrels)
    curve = pl.concat(
        _values(searches.run(effort), searches.run(EXACT), judged, measure).select(
            pl.lit(tag).alias("run"), pl.lit(effort, pl.Int64).alias("effort"), *trec.METRICS
        )
        for effort in (EXACT, *job.efforts())
    )
    trec.write_curve(output, curve, "effort")
    number = len(distinct(asked[0]))
    compared = {str(n): count / number for n, count in searches.compared.items()}
    facts = {
        "indexes": len(embeddings),
        "vectors": vectors,
        "dimensions": asked[1].shape[1],
        "vectors_compared": compared,
    }
    inputs = [*(path / "manifest.json" for path in (*embeddings, queries.parent)), qrels]
    setting = {**job.model_dump(mode="json"), "measures": sorted(measure)}
    manifest.write(output, facts, setting, inputs, "residuum.sweep")
    _write_timing(timing, searches, number, built, threads)


def _values(
    run: pl.DataFrame, exact: pl.DataFrame, judged: pl.DataFrame, names: Sequence[str]
) -> pl.DataFrame:
    """Return query_id, measure, value: the run's measures, and its recall of the exact search."""
    values = evaluate(run, judged, names)
    found = exact.join(run, on=trec.PAIR, how="left", coalesce=False)
    share = pl.col("doc_id_right").is_not_null().mean().alias("value")
    recall = found.group_by("query_id").agg(share).with_columns(measure=pl.lit(trec.RECALL))
    asked = recall.join(values, on="query_id", how="semi")
    return pl.concat([values, asked.select(values.columns)])


def _write_timing(path: Path, searches: Searches, queries: int, built: float, threads: int) -> None:
    seconds = {str(n): [took / queries for took in all_] for n, all_ in searches.seconds.items()}
    facts = {
        "cpu": str(machine.cpu()),
        "threads": threads,
        "queries": queries,
        "seconds_of_the_index": built,
        "seconds_per_query": seconds,
        "median": {effort: median(took) for effort, took in seconds.items()},
    }
    files.write_text(path, json.dumps(facts, indent=1) + "\n")


if __name__ == "__main__":
    command.main(app)
