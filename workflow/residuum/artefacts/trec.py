"""Queries, qrels, runs, metrics and depth curves: one writer and one validating reader for each.

Usage: `trec.write_run(path, trec.rank(frame, k=1000), tag="bm25")`. Ids are strings, always.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import polars as pl
import polars.selectors as cs

from residuum.artefacts import falling, files, intact
from residuum.artefacts.columns import (
    MOST_SHOWN,
    REFUSED,
    Columns,
    csv,
    read,
    read_parts,
    refuse,
    repeats,
)
from residuum.cli.errors import ResiduumError

RUN: Columns = {
    **{"query_id": pl.String, "q0": pl.String, "doc_id": pl.String},
    **{"rank": pl.Int64, "score": pl.Float64, "tag": pl.String},
}
QRELS: Columns = dict.fromkeys(["query_id", "q0", "doc_id"], pl.String) | {"relevance": pl.Int64}
METRICS: Columns = {"query_id": pl.String, "measure": pl.String, "value": pl.Float64}
BOUNDS: Columns = {
    "query_id": pl.String,
    "measure": pl.String,
    "chance": pl.Float64,
    "ceiling": pl.Float64,
}
# Beside measures in curves: the recall of candidates, or of an exact search; the docs reranked.
RECALL, DOCS_RERANKED = "recall", "docs_reranked"
PAIR = ["query_id", "doc_id"]
OTHER = "other"  # of hits: whether another of a text's vectors than the first wins
READ = [*PAIR, "rank", "score"]  # columns of a run that is read
HITS = {"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64}
MOST_RELEVANCE = 10_000  # evaluators count the docs of every grade up to the highest
EXACT = "Q0="  # before the exact score of a line whose written score was lowered
LINES_AT_ONCE = 100_000  # of a run that is written: some megabytes
BYTES_AT_ONCE = 1 << 25  # of a run that is read in parts: some 700,000 lines
BYTES_TO_SEE = 1 << 12  # whether a file has lines
SCORE_DECIMALS = 6  # float32 carries seven digits; rounding comes before ranking
ROUNDING = 2 * 10.0**-SCORE_DECIMALS  # two scores this near may be equal in a run file
POSITION = pl.int_range(pl.len()).over("query_id") + 1
RISES = pl.col("score") > pl.col("score").shift(1).over("query_id")


def rank(
    scores: pl.DataFrame, k: int | None = None, decimals: int = SCORE_DECIMALS
) -> pl.DataFrame:
    """Rank query_id, doc_id, score: by score descending, then doc_id; `k` hits per query.

    Scores are first rounded to the decimals of a run file, which never contradicts its own order.
    Returns query_id, doc_id, rank (from 1), score, sorted by query_id and rank.
    """
    rounded = pl.col("score").cast(pl.Float64).round(decimals) + 0.0
    ranked = by_score(scores.select(pl.col(PAIR).cast(pl.String), rounded))
    kept = ranked if k is None else cut(ranked, k)
    return kept.select(READ)


def by_score(scores: pl.DataFrame, last: bool = False) -> pl.DataFrame:
    """Rank lists by scores as they are; equal scores by doc_id, from the first or the last."""
    ordered = scores.sort("query_id", "score", "doc_id", descending=[False, True, last])
    return ordered.with_columns(POSITION.alias("rank"))


def cut(run: pl.DataFrame, depth: int | pl.Expr) -> pl.DataFrame:
    """Return the docs of a run down to a rank, or down to that of each line."""
    return run.filter(pl.col("rank") <= depth)


def lists_of(pairs: pl.DataFrame) -> pl.DataFrame:
    """Return the docs of each query in one row, query_id and a list of doc_id, in their order."""
    return pairs.group_by("query_id", maintain_order=True).agg("doc_id")


class Written(NamedTuple):
    """How many queries and lines a run has that was written."""

    queries: int
    hits: int


def write_run(
    path: Path, run: pl.DataFrame | Iterable[pl.DataFrame], tag: str, empty: str = ""
) -> Written:
    """Check and write a TREC run, whole or in parts: lists of some queries, then others.

    Written scores fall strictly, as float32 too: evaluators rank by score and get the run's ranks.
    A score that was lowered for this stands exactly in the second column, as `Q0=1.5`. The file is
    gzipped if it is named `.gz`. If no query has a line, the message `empty`, where it is given, is
    raised as a ResiduumError.
    """
    met, hits = set[str](), 0

    def blocks() -> Iterator[bytes]:
        nonlocal hits
        for part in [run] if isinstance(run, pl.DataFrame) else run:
            _check_run(path, part)
            query_ids = {*part["query_id"].unique()}
            if twice := met & query_ids:
                raise ResiduumError(f"{path}: the list of query {min(twice)} comes in two parts")
            met.update(query_ids)
            hits += part.height
            if part.select((pl.col("score").abs() > falling.MOST).any()).item():
                raise ResiduumError(
                    f"{path}: a score is beyond {falling.MOST:g}, the largest float32"
                )
            lines = part.with_columns(low=falling.strictly(part)["score"], tag=pl.lit(tag))
            for some in lines.iter_slices(LINES_AT_ONCE):
                same = pl.col("low") == pl.col("score")
                exact = (
                    pl.when(same).then(pl.lit("Q0")).otherwise(pl.format(f"{EXACT}{{}}", "score"))
                )
                yield csv(some.with_columns(q0=exact, score="low").select(*RUN), " ").encode()

        if empty and not hits:
            raise ResiduumError(empty)

    files.write_blocks(path, blocks())
    return Written(len(met), hits)


def read_run(path: Path) -> pl.DataFrame:
    """Read and check a TREC run, gzipped or plain: query_id, doc_id, rank, score, in its order.

    Of a run that `write_run` wrote, these are the scores before it lowered any.
    """
    run = _exact(read(path, RUN))
    _check_run(path, run)
    return run


def read_lists(path: Path, at_once: int = BYTES_AT_ONCE) -> Iterator[pl.DataFrame]:
    """Yield a run as `read_run` reads it, in parts of whole queries, with two parts in memory.

    A run of one part is sorted by query. In a larger one, lines of a query that are apart raise
    ResiduumError.
    """
    parts, met = read_parts(path, RUN, at_once), set[str]()
    first, second = next(parts), next(parts, None)
    held = _exact(first)
    if second is None:
        _check_run(path, held)
        yield held if held["query_id"].is_sorted() else held.sort("query_id", maintain_order=True)
        return
    held, begun = held.clear(), chain([first, second], parts)
    del first, second  # else both stay in memory to the end
    for lines in begun:
        run = pl.concat([held, _exact(lines)])
        follows = pl.col("query_id") == pl.col("query_id").shift(1)
        last = run.select((~follows).arg_true().last()).item() or 0  # it may go on in a next part
        ready, held = run.head(last), run.slice(last)
        if ready.height:
            yield _new_lists(path, ready, met)
    yield _new_lists(path, held, met)


def read_together(
    paths: Sequence[Path],
    at_once: int = BYTES_AT_ONCE,
    joined: int = 0,
    shards: Sequence[Path] | None = None,
) -> Iterator[list[pl.DataFrame]]:
    """Yield the lists of some queries, a table for each run, then of others with larger ids.

    `shards` are one more run, the last table, whose files follow each other in the order of query
    ids, and may be empty. Memory holds two parts of each run. Raises ResiduumError where the query
    ids of a large run fall, and at the end if the first `joined` runs are of two splits
    (`refuse_apart`).
    """
    met = {path: set[str]() for path in paths[:joined]}
    streams = [_rising([path], at_once) for path in paths]
    if shards is not None:
        filled = [path for path in shards if any(files.read_blocks(path, BYTES_TO_SEE))]
        streams.append(_rising(filled, at_once))
    held = [pl.DataFrame(schema={**HITS, "rank": pl.Int64}).select(READ) for _ in streams]
    left = dict(enumerate(streams))  # those that are not read to their end
    while True:
        for number in [number for number in left if held[number].is_empty()]:
            part = next(left[number], None)
            if part is None:
                del left[number]
            else:
                held[number] = part
        if all(table.is_empty() for table in held):
            break
        ends = [str(held[number]["query_id"].last()) for number in left]
        known = pl.col("query_id") <= min(ends) if ends else pl.lit(value=True)
        tables = [table.filter(known) for table in held]
        for path, table in zip(paths[:joined], tables, strict=False):
            met[path] |= {*table["query_id"].unique()}
        yield tables
        held = [table.filter(~known) for table in held]
    refuse_apart(met)


def owned(table: pl.DataFrame) -> pl.DataFrame:
    """Return a table with texts of its own: those of a filtered one keep the whole part alive."""
    return table.with_columns(pl.col(pl.String) + "")


def _rising(paths: Sequence[Path], at_once: int) -> Iterator[pl.DataFrame]:
    """Yield the parts of a run, in one file or several, whose query ids rise."""
    last = ""
    for path in paths:
        for part in read_lists(path, at_once):
            ids = part["query_id"]
            if not ids.is_sorted() or str(ids.first()) <= last:
                raise ResiduumError(
                    f"{path}: query ids fall from one list to the next. Sort its unpacked lines by "
                    "them, as by LC_ALL=C sort -s -k1,1"
                )
            last = str(ids.last())
            yield part


def _new_lists(path: Path, run: pl.DataFrame, met: set[str]) -> pl.DataFrame:
    """Check a part of a run, whose queries are in no part before it: those that were `met`."""
    ids = run["query_id"]
    query_ids = set(ids.unique())
    if met & query_ids or ids.rle_id().n_unique() > len(query_ids):
        read_run(path)  # raises the error of the first bad line, if there is one
        raise ResiduumError(
            f"{path}: the lines of a query are apart. Sort its unpacked lines by query and rank, "
            "as by LC_ALL=C sort -s -k1,1 -k4,4n"
        )
    try:
        _check_run(path, run)
    except ResiduumError:
        read_run(path)  # counts lines from the first of the file
        raise
    met |= query_ids
    return run


def _exact(run: pl.DataFrame) -> pl.DataFrame:
    """Return query_id, doc_id, rank and score, exact where the second column has it."""
    noted = pl.col("q0").str.starts_with(EXACT)
    if run.select(noted.any()).item():
        given = (
            pl.when(noted).then(pl.col("q0").str.strip_prefix(EXACT)).cast(pl.Float64, strict=False)
        )
        run = run.with_columns(score=pl.coalesce(given, "score"))
    return run.drop("q0", "tag")


def read_any_run(path: Path) -> tuple[pl.DataFrame, str]:
    """Read a TREC run of any origin, and describe what was made of its ranks, if anything.

    If scores fall along the ranks, their order stands and is counted from 1. Else docs are ranked
    by score. A score that is not a number and a duplicate document are errors in both cases.
    """
    return ordered(path, _exact(read(path, RUN)))


def ordered(path: Path, run: pl.DataFrame) -> tuple[pl.DataFrame, str]:
    """Order a run of any origin, and describe it, as `read_any_run` does; `path` names the run."""
    _check_run(path, run, ranked=False)
    ordered = run.sort("query_id", "rank", maintain_order=True)
    if ordered.select(RISES.any()).item():
        return by_score(run), "scores rise along its ranks: ranked anew by score, then doc_id"
    counts = ordered.select((pl.col("rank") == POSITION).all()).item()
    message = "" if counts else "its ranks do not count 1, 2, 3: counted anew, in their order"
    return ordered.with_columns(POSITION.alias("rank")), message


def refuse_apart(queries: Mapping[Path, Set[str]]) -> None:
    """Raise ResiduumError for a run that shares no query with any of the other runs.

    A run may lack queries for which it found nothing, and even all of them. A run of another split
    shares none.
    """
    runs_with = Counter(chain.from_iterable(queries.values()))
    for path, ids in queries.items():
        if ids and len(queries) > 1 and all(runs_with[query_id] == 1 for query_id in ids):
            named = ", ".join(str(other) for other in queries if other != path)
            raise ResiduumError(
                f"{path}: none of its {len(ids):,} queries, such as {min(ids)}, is in {named}. "
                "Give runs of one split"
            )


def write_hits(path: Path, hits: pl.DataFrame) -> None:
    """Write ranked docs of a shard as Parquet, which is read in a tenth of a run's time.

    Columns are those of HITS, and OTHER if the table has it.
    """
    with files.whole(path) as temporary:
        hits.select(*HITS, cs.by_name(OTHER, require_all=False)).write_parquet(temporary)


def read_hits(path: Path) -> pl.DataFrame:
    """Read what `write_hits` wrote: query_id, doc_id, the very scores, and OTHER if it is there."""
    return read_parquet(path, HITS, {OTHER: pl.Boolean})


def read_parquet(path: Path, columns: Columns, optional: Columns | None = None) -> pl.DataFrame:
    """Read a Parquet file of these columns, and perhaps the optional ones, and no others.

    Another file raises ResiduumError.
    """
    try:
        table = pl.read_parquet(intact.checked(path))
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise ResiduumError(f"{path}: cannot be read as Parquet ({error})") from None
    if dict(table.schema) not in (columns, columns | (optional or {})):
        names = ", ".join(columns)
        raise ResiduumError(f"{path}: expected columns {names}, found {table.schema}")
    return table


def read_pairs(paths: Sequence[Path], at_once: int = BYTES_AT_ONCE) -> Iterator[pl.DataFrame]:
    """Yield query_id and doc_id of several runs, each pair once, with its first run.

    They come for some queries, then for others with larger ids.
    """
    for tables in read_together(paths, at_once):
        named = [
            table.select(*PAIR, run=pl.lit(str(path)))
            for path, table in zip(paths, tables, strict=True)
        ]
        yield pl.concat(named).unique(PAIR, keep="first", maintain_order=True)


def _check_run(path: Path, run: pl.DataFrame, ranked: bool = True) -> None:
    refuse(path, run, ~pl.col("score").is_finite(), "score must be finite")
    hashes = pl.col("query_id").hash(1) ^ pl.col("doc_id").hash(2)  # quicker than to compare pairs
    if run.select(hashes.n_unique()).item() < run.height:
        refuse(
            path,
            run,
            repeats(*PAIR),
            "duplicate document in a query's ranking; keep one of its lines",
        )
    if ranked and not _in_order(run):
        refuse(path, run, RISES, "scores must not rise from one rank to the next")
        refuse(path, run, pl.col("rank") != POSITION, "ranks must count 1, 2, 3 ... within a query")


def _in_order(run: pl.DataFrame) -> bool:
    """Say whether each query's lines are together, in order: cheaper than to look per query."""
    follows = (pl.col("query_id") == pl.col("query_id").shift(1)).fill_null(False)
    rank, score = pl.col("rank"), pl.col("score")
    falls = (rank == rank.shift(1) + 1) & (score <= score.shift(1))
    right = pl.when(follows).then(falls).otherwise(rank == 1).all()
    together = (~follows).sum() == pl.col("query_id").n_unique()
    return bool(run.select(right & together).item())


def write_refusal(path: Path, reason: str) -> None:
    """Write why there is no run or no metrics; readers raise the reason as NotRun."""
    files.write_text(path, f"{REFUSED}{' '.join(reason.split())}\n")


def write_queries(path: Path, queries: Iterable[tuple[str, str]]) -> None:
    """Write `query_id TAB text`; runs of white space in a query become one space."""
    lines = (f"{query_id}\t{' '.join(text.split())}\n" for query_id, text in queries)
    files.write_lines(path, lines)


def read_queries(path: Path) -> dict[str, str]:
    """Read queries.tsv into {query_id: text}, in file order; ids must be unique."""
    queries: dict[str, str] = {}
    for number, line in enumerate(files.read_lines(intact.checked(path)), start=1):
        query_id, tab, text = line.partition("\t")
        if not tab or not query_id or "\t" in text:
            rule = "expected query_id TAB text"
            raise ResiduumError(f"{path}, line {number}: {rule}, found {line[:MOST_SHOWN]!r}")
        if query_id.split() != [query_id]:
            text = f"the id {query_id!r} holds white space, which parts the columns of a run"
            raise ResiduumError(f"{path}, line {number}: {text}. Give it another one")
        if query_id in queries:
            raise ResiduumError(f"{path}, line {number}: duplicate query_id {query_id}")
        queries[query_id] = text
    return queries


def write_qrels(path: Path, qrels: Iterable[tuple[str, str, int]]) -> None:
    """Write TREC qrels: `query_id 0 doc_id relevance`."""
    files.write_lines(path, (f"{q} 0 {d} {r}\n" for q, d, r in qrels))


def read_qrels(path: Path) -> pl.DataFrame:
    """Read TREC qrels into query_id, doc_id, relevance (integer); a pair is judged once."""
    return checked_qrels(path, read(path, QRELS).drop("q0"))


def checked_qrels(path: Path, qrels: pl.DataFrame, header: bool = False) -> pl.DataFrame:
    """Return query_id, doc_id, relevance as they are, a line each; refuse what no evaluator reads.

    `header` says whether the file's first line names its columns.
    """
    refuse(path, qrels, repeats(*PAIR), "duplicate judgement of a pair", header)
    most = f"relevance must lie between -{MOST_RELEVANCE} and {MOST_RELEVANCE}"
    refuse(path, qrels, pl.col("relevance").abs() > MOST_RELEVANCE, most, header)
    return qrels


def write_metrics(path: Path, metrics: pl.DataFrame) -> None:
    """Write per-query values, sorted by measure and query_id; NaN is refused."""
    _write_values(path, metrics.select(*METRICS).sort("measure", "query_id"))


def read_metrics(path: Path) -> pl.DataFrame:
    """Read per-query values: query_id, measure, value."""
    return _read_values(path, METRICS)


def write_bounds(path: Path, bounds: pl.DataFrame) -> None:
    """Write what a random order and the best order reach per query, sorted as metrics are."""
    ordered = bounds.select(*BOUNDS).sort("measure", "query_id")
    files.write_text(path, "\t".join(BOUNDS) + "\n" + csv(ordered, "\t"))


def read_bounds(path: Path) -> pl.DataFrame:
    """Read per query and measure: query_id, measure, chance, ceiling."""
    return read(path, BOUNDS, header=True)


def curve(over: str = "depth") -> Columns:
    """Return the columns of metrics of runs at several depths, or efforts of a search.

    At 0 stands the first stage as it was, or the exact search.
    """
    return {"run": pl.String, over: pl.Int64, **METRICS}


def write_curve(path: Path, values: pl.DataFrame, over: str = "depth") -> None:
    """Write per-query values of runs and depths or efforts, sorted; NaN is refused."""
    _write_values(path, values.select(*curve(over)).sort("run", over, "query_id", "measure"))


def read_curve(path: Path, over: str = "depth") -> pl.DataFrame:
    """Read per-query values: run, depth or effort, query_id, measure, value."""
    return _read_values(path, curve(over))


def _write_values(path: Path, table: pl.DataFrame) -> None:
    refuse(path, table, ~pl.col("value").is_finite(), "not a finite number")
    files.write_text(path, "\t".join(table.columns) + "\n" + csv(table, "\t"))


def _read_values(path: Path, columns: Columns) -> pl.DataFrame:
    table = read(path, columns, header=True)
    refuse(path, table, ~pl.col("value").is_finite(), "not a finite number", header=True)
    keys = [name for name in columns if name != "value"]
    refuse(path, table, repeats(*keys), "duplicate line", header=True)
    return table
