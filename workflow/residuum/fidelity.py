"""How many dimensions keep a lexical ranking: margins, turned pairs and recall under projection.

Command: `python -m residuum.fidelity measure ...`. Source: Luan et al. 2021 (ME-BERT), section 2.1.
It reads vectors of docs and queries with a dimension for each term.
"""

import math
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from residuum.artefacts import fidelities, files, manifest, shards, termvectors
from residuum.artefacts.fidelities import ALL
from residuum.cli import command
from residuum.cli.errors import ResiduumError
from residuum.cli.progress import track
from residuum.config.schema.fidelities import Fidelity
from residuum.vectors import bounds
from residuum.vectors.rankings import Competitors, Pairs, Rankings, smallest

app = command.app(__doc__)
Row = dict[str, object]  # of a table, or the facts of a manifest


@app.command("measure")
def measure(
    docs: Annotated[list[Path], typer.Option(help="folder of a shard of docs' vectors; repeat")],
    queries: Annotated[Path, typer.Option(help="folder of a split's queries' vectors")],
    spec: Annotated[str, typer.Option(help="Fidelity as JSON")],
    output: command.Folder,
    threads: command.Threads = 1,
) -> None:
    """Write turned pairs by bin, dimensions and draw, margins by length, recall by length.

    All docs are ranked for every query that shares a term with one. Memory holds their vectors and,
    for each thread, the projected queries, their products with some thousand docs and the columns
    of these docs' terms: a byte for each term and dimension.
    """
    job = command.parse_spec(Fidelity, spec)
    shards.check(docs, shards.facts_of([*docs, queries.parent])[:-1])
    ranked = Rankings(termvectors.read(queries), map(termvectors.read, docs), job.present)
    if len(ranked.doc_ids) < 2:
        raise ResiduumError(f"{docs[0].parent}: one doc alone; a ranking has two or more")
    rows = {ALL: np.arange(len(ranked.doc_ids)), **by_length(job, ranked.lengths, ranked.doc_ids)}
    every = {name: ranked.pool(docs_of_length) for name, docs_of_length in rows.items()}
    pools = {name: pool for name, pool in every.items() if (pool.first >= 0).any()}
    pairs = Pairs(job.dimensions.values(), job.error, job.bins)
    for _, margins in ranked.margins(pools[ALL]):
        pairs.add(margins)
    by_query, by_bin = _turned(job, ranked, pools, pairs, threads)
    binned = _binned(job, pairs, by_bin)
    drawn = _drawn(job, pairs, by_bin)
    least = chain.from_iterable(_margins(job, ranked, *item) for item in pools.items())
    recalled = chain.from_iterable(_recalled(job, *item, by_query) for item in pools.items())
    with files.whole_directory(output) as folder:
        fidelities.write(folder, pairs=binned, draws=drawn, margins=least, recall=recalled)
        facts = _facts(job, ranked, pairs, pools)
        inputs = [*(path / "manifest.json" for path in docs), queries.parent / "manifest.json"]
        manifest.write(folder, facts, job, inputs, "residuum.fidelity")


def by_length(job: Fidelity, lengths: np.ndarray, doc_ids: np.ndarray) -> dict[str, np.ndarray]:
    """Return {name: rows} of `job.groups` groups of docs, from the shortest to the longest.

    Groups differ by one doc at most: the r-th smallest margin of a query depends on the number of
    docs, which would otherwise be mistaken for an effect of length. The doc_id decides between
    docs of equal length at a bound, so that a name such as 34-38 may share a bound with the next
    group. Groups with the same bounds are one group. A group needs more docs than `job.depth`. Docs
    without terms are in no group.
    """
    order = np.lexsort((doc_ids, lengths))
    made: dict[str, np.ndarray] = {}
    for rows in np.array_split(order[lengths[order] > 0], job.groups):
        if len(rows):
            name = f"{lengths[rows[0]]}-{lengths[rows[-1]]}"
            made[name] = np.concatenate([made.get(name, rows[:0]), rows])
    return {name: rows for name, rows in made.items() if len(rows) > job.depth}


def _turned(
    job: Fidelity, ranked: Rankings, pools: Mapping[str, Competitors], pairs: Pairs, threads: int
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return the numbers of pairs that each draw turns: per pool and query, and per bin of pairs.

    Per pool: int64 (draws, dimensions, queries). For all docs: int64 (draws, dimensions, bins).
    """
    from threadpoolctl import threadpool_limits

    tasks = [(name, draw) for name in pools for draw in range(job.draws)]

    def count(task: tuple[str, int]) -> tuple[np.ndarray, np.ndarray]:
        name, draw = task
        tried, seed = job.dimensions.values(), job.seed + draw
        return ranked.turned(pools[name], tried, seed, job.distribution, pairs)

    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(threads) as workers:
        made = list(track(workers.map(count, tasks), "project", len(tasks), "draws"))
    turned = dict(zip(tasks, made, strict=True))
    by_query = {n: np.stack([turned[n, draw][0] for draw in range(job.draws)]) for n in pools}
    return by_query, np.stack([turned[ALL, draw][1] for draw in range(job.draws)])


def _binned(job: Fidelity, pairs: Pairs, turned: np.ndarray) -> Iterator[Row]:
    """Yield the share of turned pairs per bin and dimensions: mean, least and most of the draws.

    Bins with few pairs are skipped.
    """
    for n in np.flatnonzero(pairs.count >= job.fewest):
        count, (margin, x) = int(pairs.count[n]), pairs.means(n)
        same = {"from": pairs.edges[n], "to": pairs.edges[n + 1], "pairs": count}
        exact, guaranteed = pairs.needed(n, job.error)
        same |= {"margin": margin, "x": x, "exact": exact, "guaranteed": guaranteed}
        for number, dimensions in enumerate(job.dimensions.values()):
            spread = _spread("error", turned[:, number, n], count)
            yield same | {"dimensions": dimensions} | spread


def _drawn(job: Fidelity, pairs: Pairs, turned: np.ndarray) -> Iterator[Row]:
    """Yield, per bin and draw, the least dimensions that turn at most the allowed share of pairs.

    The number is None if no number of dimensions that was tried is enough.
    """
    tried = job.dimensions.values()
    for n in np.flatnonzero(pairs.count >= job.fewest):
        _, x = pairs.means(n)
        for number, shares in enumerate(turned[:, :, n] / pairs.count[n]):
            enough = (k for k, share in zip(tried, shares, strict=True) if share <= job.error)
            yield {"x": x, "draw": number + 1, "dimensions": next(enough, None)}


def _margins(job: Fidelity, ranked: Rankings, name: str, pool: Competitors) -> Iterator[Row]:
    """Yield the n-th smallest margins of each query with at least n margins."""
    least = smallest((margins for _, margins in ranked.margins(pool)), job.nearest[-1])
    for query_id, margins in zip(ranked.query_ids, least, strict=True):
        for nearest in job.nearest:
            if not np.isnan(margin := margins[nearest - 1]):
                line = {"length": name, "query_id": query_id, "nearest": nearest}
                yield line | {"margin": margin}


def _recalled(
    job: Fidelity, name: str, pool: Competitors, turned: Mapping[str, np.ndarray]
) -> Iterator[Row]:
    """Yield, by dimensions, the share of queries whose first doc stays among the first docs."""
    with_first = pool.first >= 0
    for number, dimensions in enumerate(job.dimensions.values()):
        kept = (turned[name][:, number, with_first] < job.depth).sum(axis=1)
        queries = int(with_first.sum())
        line = {"length": name, "docs": len(pool.rows), "queries": queries}
        yield line | {"dimensions": dimensions} | _spread("recall", kept, queries)


def _spread(name: str, counts: np.ndarray, total: int) -> dict[str, float]:
    """Return a share: over all draws together, and the least and most of a single draw."""
    shares = {name: int(counts.sum()) / (len(counts) * total)}
    return shares | {f"{name}_least": counts.min() / total, f"{name}_most": counts.max() / total}


def _facts(job: Fidelity, ranked: Rankings, pairs: Pairs, pools: Mapping[str, Competitors]) -> Row:
    """Return the facts for the manifest: sizes, the least margin, Corollary 2's dimensions."""
    queries, docs = ranked.most_terms
    facts = {
        "error": job.error,
        "depth": job.depth,
        "distribution": job.distribution,
        "draws": job.draws,
        "queries": len(ranked.query_ids),
        "docs": len(ranked.doc_ids),
        "terms": len(ranked.terms),
        "most_terms": {"query": queries, "doc": docs},
        "pairs": int(pairs.count.sum() + pairs.beyond),
        "beyond_bins": int(pairs.beyond),
        "in_small_bins": int(pairs.count[pairs.count < job.fewest].sum()),
        "least_margin": pairs.least if math.isfinite(pairs.least) else None,
        "lengths": {name: len(pool.rows) for name, pool in pools.items() if name != ALL},
    }
    if job.present:
        facts["boolean_dimensions"] = bounds.boolean_dimensions(queries, docs, job.error)
    return facts


if __name__ == "__main__":
    command.main(app)
