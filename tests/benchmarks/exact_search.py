"""How much faster torch searches exactly on a card than FAISS on CPU cores, with the same hits.

    python tests/benchmarks/exact_search.py [--device cuda] [--docs 1000000] [--queries 6980]

Random vectors, by default of the size of MS MARCO's dev queries and a shard of its passages. First
both search some docs, and their runs must be equal. Then the seconds of a search are taken, from
vectors in memory to hits with scores of float64. So are those of its parts: the top k on the card,
and their scores in float64. `faiss.knn` gives the top k alone, of `--faiss-docs` of the docs on
`--threads` cores; its seconds are scaled to all docs. `--tiny` shows on a CPU that the script runs;
its numbers say nothing. `--json` prints them on one line.
"""

import argparse
import json
import time
from collections.abc import Callable, Iterable
from statistics import median
from typing import Any

import faiss
import numpy as np
import polars as pl
import torch

from residuum.artefacts import trec
from residuum.vectors import exact, nearest

ROUNDS = 3
SIZES = {"docs": 1_000_000, "dimensions": 768, "queries": 6980, "k": 1064, "faiss_docs": 100_000}
TINY = {"docs": 3000, "dimensions": 32, "queries": 40, "k": 20, "faiss_docs": 1000}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in SIZES:
        parser.add_argument(f"--{name.replace('_', '-')}", type=int)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--threads", type=int, default=8, help="of FAISS")
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    sizes = TINY if given.tiny else SIZES
    figures = measured(
        given.device, given.threads, **{n: getattr(given, n) or sizes[n] for n in sizes}
    )
    if given.json:
        print(json.dumps(figures))
        return
    for name, value in figures.items():
        print(f"{name:22} {value:,.3f}" if isinstance(value, float) else f"{name:22} {value}")


def measured(
    device: str, threads: int, docs: int, dimensions: int, queries: int, k: int, faiss_docs: int
) -> dict[str, Any]:
    """Return sizes, seconds and ratios, once both sides have found the same."""
    nearest.use_threads(threads)
    vectors, query_vectors = normal(docs, dimensions, device), normal(queries, dimensions, device)
    ids, some = [f"d{row}" for row in range(docs)], slice(0, min(faiss_docs, docs))
    few = query_vectors[:100]
    expected = run(nearest.Index((ids[some], vectors[some]), None, "cpu").search(([], few), k), k)
    own = nearest._Dense(ids[some], vectors[some], exact.Card(vectors[some], device).index())
    if not run(own.search(few, k, None), k).equals(expected):
        raise SystemExit("the two sides found different hits")
    start = time.perf_counter()
    card = exact.Card(vectors, device)
    load_seconds = time.perf_counter() - start
    whole = nearest._Dense(ids, vectors, card.index())
    depth = min(k + nearest.SPARE, docs)
    _, rows = card.search(query_vectors, depth, 1)
    query = np.repeat(np.arange(queries), depth)
    search_seconds = seconds(lambda: list(whole.search(query_vectors, k, None)))
    top_k_seconds = seconds(lambda: card.search(query_vectors, depth, 1))
    rescoring_seconds = seconds(lambda: card.products(query_vectors, query, rows.ravel()))
    metric, part = faiss.METRIC_INNER_PRODUCT, vectors[some]
    faiss_seconds = seconds(
        lambda: faiss.knn(query_vectors, part, min(depth, len(part)), metric), 1
    )
    faiss_seconds *= docs / len(part)
    sizes = {"docs": docs, "dimensions": dimensions, "queries": queries, "k": k}
    return {
        "device": torch.cuda.get_device_name() if device == "cuda" else device,
        **sizes,
        "seconds_to_load": load_seconds,
        "seconds": search_seconds,
        "seconds_top_k": top_k_seconds,
        "seconds_rescoring": rescoring_seconds,
        "tflops_top_k": 2 * docs * queries * dimensions / top_k_seconds / 1e12,
        "faiss_threads": threads,
        "faiss_docs": len(part),
        "faiss_seconds_scaled": faiss_seconds,
        "times_faiss": faiss_seconds / search_seconds,
        "times_faiss_top_k": faiss_seconds / top_k_seconds,
    }


def normal(count: int, dimensions: int, device: str) -> np.ndarray:
    """Return random vectors, made on the device: a CPU takes ten seconds for a million."""
    generator = torch.Generator(device).manual_seed(count)
    made = torch.randn(count, dimensions, device=device, generator=generator)
    return made.cpu().numpy()


def run(frames: Iterable[pl.DataFrame], k: int) -> pl.DataFrame:
    hits = pl.concat(frames)
    return trec.rank(hits.with_columns(query_id=pl.col("query").cast(pl.String)), k)


def seconds(work: Callable[[], object], rounds: int = ROUNDS) -> float:
    """Return the median seconds of some work; all of it ends with arrays on the host."""
    took = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        took.append(time.perf_counter() - start)
    return median(took)


if __name__ == "__main__":
    main()
