"""Scores that fall strictly, so that the order by score is the order by rank.

Usage: `strictly(run)`. This project evaluates by rank. trec_eval, ir_measures and ranx rank by
score, and each breaks ties in its own way. trec_eval reads float32.
"""

import numpy as np
import polars as pl

MOST = 3.4e38  # about the largest float32
SUBNORMAL = 0x007FFFFF  # as bits of a float32, the largest number that is subnormal


def strictly(run: pl.DataFrame) -> pl.DataFrame:
    """Return a run whose scores decrease from rank to rank, also as float32.

    A score that is not below the score before it is lowered to the next smaller
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
    scores, changed = given.copy(), lowered != keys
    scores[changed] = _floats(lowered[changed])
    return run.with_columns(pl.Series("score", scores))


def _least_so_far(values: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Return the running minimum of values within each query; `starts` marks first rows."""
    frame = pl.DataFrame({"value": values, "query": starts.cumsum()})
    return frame.select(pl.col("value").cum_min().over("query")).to_series().to_numpy()


def _keys(values: np.ndarray) -> np.ndarray:
    """Return an integer per float32 value, in order; neighbours differ by 1, both zeros are 0.

    Subnormal numbers count as 0: many programs compute with them as if they were.
    """
    bits = values.view(np.int32).astype(np.int64)
    size = np.maximum((bits & 0x7FFFFFFF) - SUBNORMAL, 0)
    keys: np.ndarray = np.where(bits >= 0, size, -size)
    return keys


def _floats(keys: np.ndarray) -> np.ndarray:
    """Return the values of `_keys`' integers, as the shortest decimals that read back equal."""
    size = np.abs(keys) + np.where(keys == 0, 0, SUBNORMAL)
    bits = np.where(keys >= 0, size, size | 0x80000000).astype(np.uint32)
    return pl.Series(bits.view(np.float32)).cast(pl.String).cast(pl.Float64).to_numpy()
