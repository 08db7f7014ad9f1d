"""Runs as others read them, whose evaluators go by scores: in TREC's form, BEIR's, as Parquet.

Usage: `write_trec(path, strictly(trec.read_run(run)), "bm25")`. Order by score is then the order by
rank, which is what counts in this project.
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import polars as pl

from residuum.artefacts import files


def strictly(run: pl.DataFrame) -> pl.DataFrame:
    """Return a run whose scores fall from rank to rank, in single precision too.

    trec_eval, pytrec_eval and ranx order by score, and break ties in ways of their own; trec_eval
    reads float32. A score that ties with the one before it, or has been passed by it, is lowered to
    the next float32 below; all others stay. `run` is query_id, doc_id, rank, score, in its order.
    """
    given = run["score"].to_numpy()
    keys = _keys(given.astype(np.float32))
    starts = (run["rank"] == 1).to_numpy()
    place = np.arange(len(keys), dtype=np.int64)
    first = np.maximum.accumulate(np.where(starts, place, 0))
    steps = place - first
    # The largest keys that fall by one at least: key[i] <= key[j] - (i - j) for each j before i.
    lowered = _least_so_far(keys + steps, starts) - steps
    scores = np.where(lowered == keys, given, _floats(lowered))
    return run.with_columns(pl.Series("score", scores))


def _least_so_far(values: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Return the least value of a query up to each place; queries begin at `starts`."""
    frame = pl.DataFrame({"value": values, "query": starts.cumsum()})
    return frame.select(pl.col("value").cum_min().over("query")).to_series().to_numpy()


def _keys(values: np.ndarray) -> np.ndarray:
    """Number float32 values in their order: neighbours differ by one, and both zeros are 0."""
    bits = values.view(np.int32).astype(np.int64)
    return np.where(bits >= 0, bits, -(bits & 0x7FFFFFFF))


def _floats(keys: np.ndarray) -> np.ndarray:
    """Return the values that `_keys` numbered, each as the shortest decimal that reads back."""
    bits = np.where(keys >= 0, keys, (-keys) | 0x80000000).astype(np.uint32)
    return np.array([float(str(value)) for value in bits.view(np.float32)], dtype=np.float64)


def write_trec(path: Path, run: pl.DataFrame, tag: str, header: str = "") -> None:
    """Write `query_id Q0 doc_id rank score tag`, plain, below a header whose lines begin with #."""
    rows = run.select("query_id", "doc_id", "rank", "score").iter_rows()
    lines = (f"{query} Q0 {doc} {rank} {score!r} {tag}\n" for query, doc, rank, score in rows)
    files.write_lines(path, _after(header, lines))


def _after(header: str, lines: Iterable[str]) -> Iterator[str]:
    yield header
    yield from lines


def write_beir(path: Path, run: pl.DataFrame) -> None:
    """Write `{query_id: {doc_id: score}}` as JSON, which is what BEIR evaluates."""
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
