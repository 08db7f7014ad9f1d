"""Queries, qrels, runs and metrics: one writer and one validating reader for each.

Usage: `trec.write_run(path, trec.rank(frame, k=1000), tag="bm25")`. Ids are strings, always.
Must not know where a file comes from or who reads it.
"""

import io
from collections.abc import Iterable, Iterator
from pathlib import Path

import polars as pl

from residuum.core import files
from residuum.core.errors import NotRun, ResiduumError

RUN_COLUMNS = ["query_id", "q0", "doc_id", "rank", "score", "tag"]
QREL_COLUMNS = ["query_id", "q0", "doc_id", "relevance"]
METRIC_COLUMNS = ["query_id", "measure", "value"]
PAIR = ["query_id", "doc_id"]
HITS = {"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64}
REFUSED = "# not run: "
LINES_AT_ONCE = 100_000  # of a run that is written: some megabytes
SCORE_DECIMALS = 6  # float32 carries seven digits; rounding comes before ranking


def rank(scores: pl.DataFrame, k: int | None = None) -> pl.DataFrame:
    """Rank scored docs: score descending, then doc_id; cut at `k` hits per query.

    `scores` has query_id, doc_id, score. Scores are rounded to the decimals a run file
    keeps before they are compared, so that a file never contradicts its own order.
    Returns query_id, doc_id, rank (from 1), score, sorted by query_id and rank.
    """
    ranked = (
        scores.select(
            pl.col("query_id").cast(pl.String),
            pl.col("doc_id").cast(pl.String),
            pl.col("score").cast(pl.Float64).round(SCORE_DECIMALS) + 0.0,
        )
        .sort(["query_id", "score", "doc_id"], descending=[False, True, False])
        .with_columns(_place().alias("rank"))
    )
    kept = ranked if k is None else ranked.filter(pl.col("rank") <= k)
    return kept.select("query_id", "doc_id", "rank", "score")


def write_run(path: Path, run: pl.DataFrame, tag: str) -> None:
    """Write a ranked frame as a gzipped TREC run after checking its contract."""
    write_run_parts(path, [run], tag)


def write_run_parts(path: Path, parts: Iterable[pl.DataFrame], tag: str) -> None:
    """Write a run that comes as the ranked lists of some queries after those of others."""
    with files.whole(path) as temporary:
        files.write_gzip(temporary, (lines for run in parts for lines in _blocks(path, run, tag)))


def _blocks(path: Path, run: pl.DataFrame, tag: str) -> Iterator[bytes]:
    _check_run(path, run)
    fixed = pl.lit("Q0").alias("q0"), pl.lit(tag).alias("tag")
    for some in run.iter_slices(LINES_AT_ONCE):
        yield _csv(some.with_columns(*fixed).select(RUN_COLUMNS), " ").encode()


def read_run(path: Path) -> pl.DataFrame:
    """Read and check a TREC run (gzipped or plain); errors name the file, line and value.

    Returns query_id, doc_id, rank, score, in the file's order of ranks within each query.
    """
    run = _run_of(path)
    _check_run(path, run)
    return run


def read_any_run(path: Path) -> tuple[pl.DataFrame, str]:
    """Read a TREC run of any origin, and say what was made of its ranks, if anything.

    Where scores fall along the ranks, their order stands and they are counted from 1. Else docs are
    ranked by score, ties by doc_id. A score that is no number and a doc that stands twice in a list
    are errors all the same.
    """
    run = _run_of(path)
    _check_lists(path, run)
    ordered = run.sort("query_id", "rank", maintain_order=True)
    said = ""
    if ordered.select((pl.col("score") > _before()).any()).item():
        by = ["query_id", "score", "doc_id"]
        ordered = run.sort(by, descending=[False, True, False])
        said = "scores rise along its ranks: ranked anew by score, then doc_id"
    elif (ordered["rank"] != ordered.select(_place()).to_series()).any():
        said = "its ranks do not count 1, 2, 3: counted anew, in their order"
    return ordered.with_columns(_place().alias("rank")), said


def _before() -> pl.Expr:
    return pl.col("score").shift(1).over("query_id")


def _place() -> pl.Expr:
    return pl.int_range(pl.len()).over("query_id") + 1


def _run_of(path: Path) -> pl.DataFrame:
    table = _read(path, RUN_COLUMNS, " ")
    score = _number(path, table, "score", pl.Float64)
    position = _number(path, table, "rank", pl.Int64)
    return table.select("query_id", "doc_id").with_columns(position, score)


def write_hits(path: Path, hits: pl.DataFrame) -> None:
    """Write ranked docs of a shard as Parquet, which is read in a tenth of a run's time."""
    with files.whole(path) as temporary:
        hits.select(*HITS).write_parquet(temporary)


def read_hits(path: Path) -> pl.DataFrame:
    """Read what `write_hits` wrote: query_id, doc_id and the very scores."""
    try:
        hits = pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise ResiduumError(f"{path}: cannot be read as Parquet ({error})") from None
    if dict(hits.schema) != HITS:
        raise ResiduumError(f"{path}: expected columns {', '.join(HITS)}, found {hits.schema}")
    return hits


def read_pairs(paths: Iterable[Path]) -> pl.DataFrame:
    """Read several runs and return each query_id, doc_id once, with the first run that has it."""
    runs = (read_run(path).with_columns(pl.lit(str(path)).alias("run")) for path in paths)
    pairs = pl.concat(runs).select("query_id", "doc_id", "run")
    return pairs.unique(["query_id", "doc_id"], keep="first", maintain_order=True)


def _check_run(path: Path, run: pl.DataFrame) -> None:
    _check_lists(path, run)
    _check_order(path, run)


def _check_lists(path: Path, run: pl.DataFrame) -> None:
    bad = run.with_row_index("line", 1).filter(~pl.col("score").is_finite())
    _refuse(path, bad, "score must be finite")
    twice = run.with_row_index("line", 1).filter(
        ~pl.struct("query_id", "doc_id").is_first_distinct()
    )
    _refuse(path, twice, "the doc stands twice in the list of one query")


def _check_order(path: Path, run: pl.DataFrame) -> None:
    rising = run.with_row_index("line", 1).filter(pl.col("score") > _before())
    _refuse(path, rising, "scores must not rise from one rank to the next")
    gaps = run.with_row_index("line", 1).filter(pl.col("rank") != _place())
    _refuse(path, gaps, "ranks must count 1, 2, 3 ... within a query")


def _refuse(path: Path, bad: pl.DataFrame, rule: str) -> None:
    if bad.height:
        row = bad.row(0, named=True)
        line = row.pop("line")
        found = ", ".join(f"{key} {value}" for key, value in row.items())
        more = f" ({bad.height} such lines)" if bad.height > 1 else ""
        raise ResiduumError(f"{path}, line {line}: {rule}; found {found}{more}")


def write_refusal(path: Path, reason: str) -> None:
    """Write, in place of a run or of metrics, why there is none; readers raise it as NotRun."""
    text = f"{REFUSED}{' '.join(reason.split())}\n".encode()
    with files.whole(path) as temporary:
        temporary.write_bytes(files.gzip_bytes(text) if path.suffix == ".gz" else text)


def write_queries(path: Path, queries: Iterable[tuple[str, str]]) -> None:
    """Write `query_id TAB text`; runs of white space in a query become one space."""
    lines = (f"{query_id}\t{' '.join(text.split())}\n" for query_id, text in queries)
    files.write_text(path, "".join(lines))


def read_queries(path: Path) -> dict[str, str]:
    """Read queries.tsv into {query_id: text}, in file order; ids must be unique."""
    queries: dict[str, str] = {}
    for number, line in enumerate(files.read_lines(path), start=1):
        query_id, tab, text = line.partition("\t")
        if not tab or not query_id:
            want = "expected query_id TAB text"
            raise ResiduumError(f"{path}, line {number}: {want}, found {line!r}")
        if query_id in queries:
            raise ResiduumError(f"{path}, line {number}: query_id {query_id} stands twice")
        queries[query_id] = text
    return queries


def write_qrels(path: Path, qrels: Iterable[tuple[str, str, int]]) -> None:
    """Write TREC qrels: `query_id 0 doc_id relevance`."""
    files.write_text(path, "".join(f"{q} 0 {d} {r}\n" for q, d, r in qrels))


def read_qrels(path: Path) -> pl.DataFrame:
    """Read TREC qrels into query_id, doc_id, relevance (integer); a pair is judged once."""
    table = _read(path, QREL_COLUMNS, " ")
    relevance = _number(path, table, "relevance", pl.Int64)
    qrels = table.select("query_id", "doc_id").with_columns(relevance)
    twice = qrels.with_row_index("line", 1).filter(
        ~pl.struct("query_id", "doc_id").is_first_distinct()
    )
    _refuse(path, twice, "the pair is judged twice")
    return qrels


def write_metrics(path: Path, metrics: pl.DataFrame) -> None:
    """Write per-query values, sorted by measure and query_id; NaN is refused."""
    bad = metrics.with_row_index("line", 1).filter(~pl.col("value").is_finite())
    _refuse(path, bad, "a metric must be finite")
    table = metrics.select(METRIC_COLUMNS).sort("measure", "query_id")
    files.write_text(path, "\t".join(METRIC_COLUMNS) + "\n" + _csv(table, "\t"))


def read_metrics(path: Path) -> pl.DataFrame:
    """Read per-query values: query_id, measure, value."""
    table = _read(path, METRIC_COLUMNS, "\t", header=True)
    once = pl.struct("query_id", "measure").is_first_distinct()
    twice = table.with_row_index("line", 2).filter(~once)
    _refuse(path, twice, "the query stands twice for one measure")
    return table.with_columns(_number(path, table, "value", pl.Float64))


def _csv(table: pl.DataFrame, separator: str) -> str:
    return table.write_csv(None, separator=separator, include_header=False, quote_style="never")


def _read(path: Path, columns: list[str], separator: str, header: bool = False) -> pl.DataFrame:
    text = files.read_bytes(path)
    if text.startswith(REFUSED.encode()):
        raise NotRun(text.decode().removeprefix(REFUSED).strip())
    if not text.strip():
        raise ResiduumError(f"{path}: the file is empty; expected columns {', '.join(columns)}")
    text = _one_space(text) if separator == " " else text
    _check_columns(path, text, columns, separator)
    try:
        table = pl.read_csv(
            io.BytesIO(text),
            separator=separator,
            has_header=header,
            schema=dict.fromkeys(columns, pl.String),
            quote_char=None,
        )
    except pl.exceptions.PolarsError as error:
        want = separator.join(columns).replace("\t", " TAB ")
        where = _odd_line(text, len(columns), separator) or f"; {error}"
        raise ResiduumError(f"{path}{where}: expected lines of `{want}`") from None
    lines = table.with_row_index("line", 2 if header else 1)
    empty = lines.filter(pl.any_horizontal(pl.col(columns).is_null()))
    _refuse(path, empty, f"every line has {len(columns)} columns")
    return table


def _odd_line(text: bytes, columns: int, separator: str) -> str:
    """Name the first line that has too many columns, the fault that polars cannot place."""
    for number, line in enumerate(text.splitlines(), start=1):
        found = line.count(separator.encode()) + 1
        if found > columns:
            return f", line {number}: {found} columns"
    return ""


def _check_columns(path: Path, text: bytes, columns: list[str], separator: str) -> None:
    line = text.split(b"\n", 1)[0].decode(errors="replace")
    found = len(line.split(separator))
    if found != len(columns):
        raise ResiduumError(
            f"{path}, line 1: expected {len(columns)} columns ({', '.join(columns)}), found "
            f"{found}: {line!r}"
        )


def _one_space(text: bytes) -> bytes:
    """Let any white space separate the columns of a TREC file, and end it, as trec_eval does."""
    text = text.rstrip() + b"\n"
    odd = (b"\t", b"  ", b"\r", b" \n", b"\n ")
    if not text.startswith(b" ") and not any(found in text for found in odd):
        return text
    return b"\n".join(b" ".join(line.split()) for line in text.splitlines()) + b"\n"


def _has_header(table: pl.DataFrame) -> bool:
    """TREC files have no header line, ours of metrics do."""
    return table.columns == METRIC_COLUMNS


def _number(path: Path, table: pl.DataFrame, column: str, dtype: type[pl.DataType]) -> pl.Series:
    values = table[column].cast(dtype, strict=False)
    if values.null_count():
        row = int(values.is_null().arg_max() or 0)
        line = row + (2 if _has_header(table) else 1)
        found = table[column][row]
        raise ResiduumError(f"{path}, line {line}: {column} must be a number, found {found!r}")
    return values
