"""How much faster than an exact search an approximate one is, beside what FAISS alone gives.

    python tests/benchmarks/approximate.py [--docs 200000] [--queries 500] [--k 100] [--spread 0.7]

Vectors of length 1 lie around centres, as those of texts do; the wider they are spread, the more
lists hold a query's hits. Of each kind of search the least effort is taken that finds 95% of the
exact hits; then exact and approximate searches take turns, by the project's code and by FAISS
alone, on one thread. A ratio is the median of the pairs'.
"""

import argparse
import time
from collections.abc import Callable
from statistics import median

import faiss
import numpy as np

from residuum.vectors.approximate import SEARCHES, Approximate
from residuum.vectors.nearest import SPARE, Index

DIMENSIONS, RECALL, ROUNDS = 128, 0.95, 5
TRIED = {
    "ivf": [{"kind": "ivf", "nlist": 512, "nprobe": n} for n in (1, 2, 4, 8, 16, 32, 64, 128, 256)],
    "hnsw": [{"kind": "hnsw", "m": 32, "ef_search": n} for n in (32, 64, 128, 256, 512, 1024)],
}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    for name, value in (("docs", 200_000), ("queries", 500), ("k", 100)):
        options.add_argument(f"--{name}", type=int, default=value)
    options.add_argument("--spread", type=float, default=0.7, help="deviation; a centre's is 1")
    options.add_argument("--kinds", nargs="+", default=[*TRIED], choices=[*TRIED])
    options.add_argument("--tiny", action="store_true", help="little of all, to show that it runs")
    given = options.parse_args()
    if given.tiny:
        given.docs, given.queries, given.k = 2000, 10, 10
    faiss.omp_set_num_threads(1)
    random = np.random.default_rng(1)
    centres = random.normal(size=(given.docs // 1000, DIMENSIONS)).astype(np.float32)

    def around(count: int) -> np.ndarray:
        near = centres[random.integers(len(centres), size=count)]
        rows = near + given.spread * random.normal(size=near.shape).astype(np.float32)
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))

    docs, queries = around(given.docs), around(given.queries)
    ids = [f"d{number}" for number in range(len(docs))]
    depth = given.k + SPARE

    def flat(deep: int) -> np.ndarray:
        """Search as FAISS does without an index, which is faster than its flat index."""
        _, rows = faiss.knn(queries, docs, deep, faiss.METRIC_INNER_PRODUCT)
        return np.asarray(rows)

    exact = flat(given.k)
    for kind in given.kinds:
        setting, index, recall = least(kind, TRIED[kind], docs, queries, exact)
        ours, plainly = Index((ids, docs), None, "cpu"), Index((ids, docs), setting, "cpu")
        own = pairs(
            lambda c=ours: hits(c, queries, given.k), lambda c=plainly: hits(c, queries, given.k)
        )
        alone = pairs(lambda: flat(depth), lambda f=index: f.search(queries, depth, f.effort))
        print(
            f"{setting.named}: recall {recall:.3f}; faster than exact: {median(own):.1f} times, "
            f"FAISS alone {median(alone):.1f} times; ratio {median(own) / median(alone):.2f}"
        )


def least(
    kind: str,
    tried: list[dict[str, object]],
    docs: np.ndarray,
    queries: np.ndarray,
    exact: np.ndarray,
) -> tuple[Approximate, object, float]:
    """Return the first setting that finds enough, its index, and its recall."""
    for search in tried:
        setting = SEARCHES[kind].model_validate(search)
        index = setting.build(docs, "cpu")
        _, rows = index.search(queries, exact.shape[1] + SPARE, index.effort)
        same = [len({*a} & {*b[: len(a)]}) / len(a) for a, b in zip(exact, rows, strict=True)]
        if (recall := float(np.mean(same))) >= RECALL:
            return setting, index, recall
    raise SystemExit(f"{kind}: none of {len(tried)} settings finds {RECALL:.0%}")


def hits(docs: Index, queries: np.ndarray, k: int) -> int:
    """Search as the stage does, and count the hits."""
    return sum(len(frame) for frame in docs.search(([], queries), k))


def pairs(exact: Callable[[], object], other: Callable[[], object]) -> list[float]:
    """Return setting many times as long the first takes as the second, in turns."""
    ratios = []
    for _ in range(ROUNDS):
        seconds = []
        for search in (exact, other):
            start = time.perf_counter()
            search()
            seconds.append(time.perf_counter() - start)
        ratios.append(seconds[0] / seconds[1])
    return ratios


if __name__ == "__main__":
    main()
