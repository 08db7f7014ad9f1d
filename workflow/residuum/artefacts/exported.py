"""Write runs for other evaluators, which rank by score: TREC's form, BEIR's, Parquet.

Usage: `write_trec(path, strictly(trec.read_run(run)), "bm25")`. `strictly` makes the order by score
equal the order by rank, by which this project evaluates.
"""

import json
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import numpy as np
import polars as pl

from residuum.artefacts import files


def strictly(run: pl.DataFrame) -> pl.DataFrame:
    """Return a run whose scores decrease from rank to rank, also as float32.

    trec_eval, pytrec_eval and ranx rank by score, and each breaks ties in its own way. trec_eval
    reads float32. A score that is not below the score before it is lowered to the next smaller
    float32. Other scores are unchanged. `run` has query_id, doc_id, rank, score, in order.
    """
    given = run["score"].to_numpy()
    keys = _keys(given.astype(np.float32))
    starts = (run["rank"] == 1).to_numpy()
    rows = np.arange(len(keys), dtype=np.int64)
    first = np.maximum.accumulate(np.where(starts, rows, 0))
    steps = rows - first
    # The largest decreasing keys: key[i] <= key[j] - (i - j) for each j before i.
    lowered = _least_so_far(keys + steps, starts) - steps
    scores = np.where(lowered == keys, given, _floats(lowered))
    return run.with_columns(pl.Series("score", scores))


def _least_so_far(values: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Return the running minimum of values within each query; `starts` marks first rows."""
    frame = pl.DataFrame({"value": values, "query": starts.cumsum()})
    return frame.select(pl.col("value").cum_min().over("query")).to_series().to_numpy()


def _keys(values: np.ndarray) -> np.ndarray:
    """Return an integer per float32 value, in order; neighbours differ by 1, both zeros are 0."""
    bits = values.view(np.int32).astype(np.int64)
    return np.where(bits >= 0, bits, -(bits & 0x7FFFFFFF))


def _floats(keys: np.ndarray) -> np.ndarray:
    """Return the values of `_keys`' integers, as the shortest decimals that read back equal."""
    bits = np.where(keys >= 0, keys, (-keys) | 0x80000000).astype(np.uint32)
    return np.array([float(str(value)) for value in bits.view(np.float32)], dtype=np.float64)


def write_trec(path: Path, run: pl.DataFrame, tag: str, header: str = "") -> None:
    """Write `query_id Q0 doc_id rank score tag` below the header's # lines; gzip if named .gz."""
    rows = run.select("query_id", "doc_id", "rank", "score").iter_rows()
    lines = (f"{query} Q0 {doc} {rank} {score!r} {tag}\n" for query, doc, rank, score in rows)
    files.write_lines(path, chain([header], lines))


def write_beir(path: Path, run: pl.DataFrame) -> None:
    """Write `{query_id: {doc_id: score}}` as JSON, the form that BEIR evaluates."""
    lists = run.group_by("query_id", maintain_order=True).agg("doc_id", "score")

    def parts() -> Iterator[str]:
        for number, (query, docs, scores) in enumerate(lists.iter_rows()):
            hits = json.dumps(dict(zip(docs, scores, strict=True)), ensure_ascii=False)
            yield f"{',' if number else '{'}\n{json.dumps(query, ensure_ascii=False)}: {hits}"
        yield "\n}\n" if lists.height else "{}\n"

    files.write_lines(path, parts())


def write_parquet(path: Path, run: pl.DataFrame) -> None:
    """Write query_id, doc_id, rank, score as Parquet."""
    with files.whole(path) as temporary:
        run.select("query_id", "doc_id", "rank", "score").write_parquet(temporary)
