"""Runs in the forms of other evaluators, which rank by score: TREC's, BEIR's, Parquet.

Usage: `write_trec(path, falling.strictly(trec.read_run(run)), "bm25")`, `read_beir(path)`.
"""

import json
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import polars as pl

from residuum.artefacts import files, trec
from residuum.cli.errors import ResiduumError


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


def read_beir(path: Path) -> pl.DataFrame:
    """Read `{query_id: {doc_id: score}}`, ranked by score, then doc_id; it has no ranks."""
    try:
        lists = json.loads(files.read_bytes(path))
        lines = [(q, d, float(s)) for q, docs in lists.items() for d, s in docs.items()]
    except (ValueError, AttributeError, TypeError, RecursionError):
        raise ResiduumError(f"{path}: no run of JSON, which is {{query: {{doc: score}}}}") from None
    table = pl.DataFrame(lines, schema=trec.HITS, orient="row")
    return trec.ordered(path, trec.by_score(table).select(trec.READ))[0]


def write_parquet(path: Path, run: pl.DataFrame) -> None:
    """Write query_id, doc_id, rank, score as Parquet."""
    with files.whole(path) as temporary:
        run.select("query_id", "doc_id", "rank", "score").write_parquet(temporary)
