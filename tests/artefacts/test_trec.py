"""Runs, qrels, queries and metrics survive a round trip and bad ones are refused by name."""

import gzip
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest

from residuum.artefacts import trec
from residuum.cli.errors import NotRun, ResiduumError


def scores(rows):
    return pl.DataFrame(
        rows, schema={"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64}, orient="row"
    )


def test_rank_orders_by_score_then_doc_id_and_cuts():
    ranked = trec.rank(scores([("q", "b", 1.0), ("q", "a", 1.0), ("q", "c", 2.0)]), k=2)
    assert ranked.rows() == [("q", "c", 1, 2.0), ("q", "a", 2, 1.0)]


def test_scores_equal_after_rounding_are_ties():
    # The two differ in the ninth decimal only, which a run file does not keep.
    ranked = trec.rank(scores([("q", "b", 1.000000002), ("q", "a", 1.000000001)]))
    assert ranked["doc_id"].to_list() == ["a", "b"]


def test_ids_are_strings_always(tmp_path):
    run = trec.rank(scores([("007", "NA", 2.5), ("007", "null", 1.5), ("1e3", "nan", -0.25)]))
    trec.write_run(tmp_path / "run.gz", run, "t")
    assert trec.read_run(tmp_path / "run.gz").equals(run)
    trec.write_qrels(tmp_path / "qrels", [("007", "NA", 1), ("1e3", "0012", 0)])
    assert trec.read_qrels(tmp_path / "qrels").rows() == [("007", "NA", 1), ("1e3", "0012", 0)]


def test_run_file_is_trec_and_its_bytes_do_not_depend_on_the_clock(tmp_path):
    run = trec.rank(scores([("q", "d1", 2.5), ("q", "d2", -1.0)]))
    trec.write_run(tmp_path / "a.gz", run, "bm25")
    trec.write_run(tmp_path / "b.gz", run, "bm25")
    text = gzip.decompress((tmp_path / "a.gz").read_bytes()).decode()
    assert text == "q Q0 d1 1 2.5 bm25\nq Q0 d2 2 -1.0 bm25\n"
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()
    assert (tmp_path / "a.gz").read_bytes()[4:8] == b"\0\0\0\0"  # gzip's mtime


def test_written_scores_fall_strictly_and_the_exact_ones_are_read_again(tmp_path):
    run = trec.rank(scores([("q", "d1", 2), ("q", "d2", 2), ("q", "d3", 0.5), ("r", "d1", 2)]))
    trec.write_run(tmp_path / "run.trec", run, "t")
    assert (tmp_path / "run.trec").read_text() == (
        "q Q0 d1 1 2.0 t\nq Q0=2.0 d2 2 1.9999999 t\nq Q0 d3 3 0.5 t\nr Q0 d1 1 2.0 t\n"
    )  # 2 - 2^-23 is the float32 below 2
    for read in (trec.read_run(tmp_path / "run.trec"), trec.read_any_run(tmp_path / "run.trec")[0]):
        assert read.equals(run)


@pytest.mark.parametrize("column", ["0", "Q0=", "Q0=two", "q0=3"])
def test_another_second_column_says_nothing_of_the_score(tmp_path, column):
    (tmp_path / "run.trec").write_text(f"q {column} d 1 1.5 theirs\n")
    assert trec.read_run(tmp_path / "run.trec")["score"].to_list() == [1.5]


def test_a_run_in_parts_is_the_whole_run(tmp_path, monkeypatch):
    rows = [(f"q{query}", f"d{doc}", doc / 7) for query in range(5) for doc in range(query + 1)]
    run = trec.rank(scores(rows))
    trec.write_run(tmp_path / "whole.gz", run, "t")
    monkeypatch.setattr(trec, "LINES_AT_ONCE", 2)
    parts = run.partition_by("query_id", maintain_order=True)
    trec.write_run(tmp_path / "parts.gz", iter([run.clear(), *parts]), "t")
    assert (tmp_path / "parts.gz").read_bytes() == (tmp_path / "whole.gz").read_bytes()
    assert trec.read_run(tmp_path / "parts.gz").equals(run)


def test_a_run_whose_later_part_is_wrong_is_not_written(tmp_path):
    good, other = (trec.rank(scores([(query, "d", 1.0)])) for query in ("a", "b"))
    with pytest.raises(ResiduumError, match="score must be finite"):
        bad = other.with_columns(pl.lit(float("nan")).alias("score"))
        trec.write_run(tmp_path / "run.gz", [good, bad], "t")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("q Q0 d 1 nan t\n", "line 1: score must be finite"),
        ("q Q0 d 1 inf t\n", "line 1: score must be finite"),
        ("q Q0 d 1 2 t\nq Q0 d 2 1 t\n", "line 2: duplicate document in a query"),
        ("q Q0 d 1 1 t\nq Q0 e 2 2 t\n", "line 2: scores must not rise"),
        ("q Q0 d 0 1 t\n", "line 1: ranks must count 1, 2, 3"),
        ("q Q0 d 1 2 t\nq Q0 e 3 1 t\n", "line 2: ranks must count 1, 2, 3"),
        ("q Q0 a 1 2 t\nr Q0 a 1 2 t\nq Q0 b 1 1 t\n", "line 3: ranks must count 1, 2, 3"),
        ("q Q0 d 1 2 t\nq Q0 e 2 1\n", "line 2: expected 6 columns"),
        ("q Q0 d 1 high t\n", "line 1: score must be a number, found 'high'"),
        ("q Q0 d 1\n", "expected 6 columns (query_id, q0, doc_id, rank, score, tag), found 4"),
        ("", "the file is empty"),
    ],
)
def test_bad_runs_are_refused_with_line_and_value(tmp_path, text, says):
    path = tmp_path / "run.trec"
    path.write_text(text)
    with pytest.raises(ResiduumError, match=r"run\.trec") as caught:
        trec.read_run(path)
    assert says in str(caught.value)


def test_truncated_gzip_is_named_with_the_remedy(tmp_path):
    path = tmp_path / "run.trec.gz"
    trec.write_run(path, trec.rank(scores([("q", f"d{i}", i) for i in range(999)])), "t")
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(
        ResiduumError, match=r"run\.trec\.gz: the compressed data is cut short.*again"
    ):
        trec.read_run(path)


def test_writing_refuses_what_reading_would(tmp_path):
    bad = pl.DataFrame({"query_id": ["q"], "doc_id": ["d"], "rank": [1], "score": [float("nan")]})
    with pytest.raises(ResiduumError, match="finite"):
        trec.write_run(tmp_path / "run.gz", bad, "t")
    assert list(tmp_path.iterdir()) == []


def test_queries_keep_order_and_lose_only_white_space(tmp_path):
    trec.write_queries(tmp_path / "q.tsv", [("2", "a\tb\nc  d 🙂"), ("01", "x")])
    assert trec.read_queries(tmp_path / "q.tsv") == {"2": "a b c d 🙂", "01": "x"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("1 no tab\n", "line 1: expected query_id TAB text"),
        ("1\ta\n1\tb\n", "line 2: duplicate query_id 1"),
    ],
)
def test_bad_queries(tmp_path, text, says):
    (tmp_path / "q.tsv").write_text(text)
    with pytest.raises(ResiduumError, match=says):
        trec.read_queries(tmp_path / "q.tsv")


def test_qrels_take_tabs_and_refuse_a_pair_judged_twice(tmp_path):
    (tmp_path / "qrels").write_text("q\t0\td1  2\nq 0 d2 0\n")
    assert trec.read_qrels(tmp_path / "qrels").rows() == [("q", "d1", 2), ("q", "d2", 0)]
    (tmp_path / "qrels").write_text("q 0 d1 2\nq 0 d1 1\n")
    with pytest.raises(ResiduumError, match="line 2: duplicate judgement of a pair"):
        trec.read_qrels(tmp_path / "qrels")


def test_metrics_round_trip_exactly(tmp_path):
    rows = [("007", "RR@10", 1 / 3), ("NA", "RR@10", 0.1 + 0.2)]
    metrics = pl.DataFrame(rows, schema=trec.METRICS, orient="row")
    trec.write_metrics(tmp_path / "m.tsv", metrics)
    assert trec.read_metrics(tmp_path / "m.tsv").rows() == rows
    with pytest.raises(ResiduumError, match="finite"):
        trec.write_metrics(tmp_path / "m.tsv", metrics.with_columns(value=float("nan")))


def test_hits_survive_to_the_last_bit_and_damage_is_named(tmp_path):
    path = tmp_path / "dev.parquet"
    rows = [("007", "NA", 0.1 + 0.2), ("007", "d", -1e-300), ("b", "NA", 123456789.000001)]
    hits = pl.DataFrame(rows, schema=["query_id", "doc_id", "score"], orient="row")
    trec.write_hits(path, hits)
    assert trec.read_hits(path).rows() == rows
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(ResiduumError, match=r"dev\.parquet: cannot be read as Parquet"):
        trec.read_hits(path)
    hits.select("query_id", "score").write_parquet(path)
    with pytest.raises(ResiduumError, match=r"dev\.parquet: expected columns query_id, doc_id, sc"):
        trec.read_hits(path)
    with pytest.raises(ResiduumError, match=r"no\.parquet: cannot be read"):
        trec.read_hits(tmp_path / "no.parquet")


def long_run(path: Path, queries: int = 40, docs: int = 25) -> pl.DataFrame:
    """Return a run of many lists, the last hits of each tied, after writing the run."""
    rows = [
        (f"q{query:02d}", f"d{doc}", float(max(0, query + docs - doc - 3)))
        for query in range(queries)
        for doc in range(docs - query % 7)
    ]
    run = trec.rank(pl.DataFrame(rows, schema=trec.HITS, orient="row"))
    trec.write_run(path, run, "long")
    return run


@pytest.mark.parametrize("at_once", [1, 60, 700, 10**9])
@pytest.mark.parametrize("name", ["run.trec", "run.trec.gz"])
def test_the_parts_of_a_run_are_the_run(tmp_path: Path, name: str, at_once: int) -> None:
    run = long_run(tmp_path / name)
    parts = list(trec.read_lists(tmp_path / name, at_once))
    assert pl.concat(parts).equals(run) and trec.read_run(tmp_path / name).equals(run)
    ids = [query_id for part in parts for query_id in part["query_id"].unique()]
    assert len(ids) == 40, "no query is in two parts"
    if name == "run.trec" and at_once == 700:  # bytes: 40 lines, and the rest of a list
        assert max(part.height for part in parts) <= 40 + 25
    assert (len(parts) == 1) == (at_once == 10**9)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (("q30 Q0 d4 5", "q30 Q0 d4 x"), r"run\.trec, line 670: rank must be a number, found 'x'"),
        (("q30 Q0 d4 5", "q30 Q0 d3 5"), r"run\.trec, line 670: duplicate document in a query's"),
        (("q30 Q0 d4 5", "q30 Q0 d4 7"), r"run\.trec, line 670: ranks must count 1, 2, 3"),
        (("q30 ", "q02 "), r"run\.trec, line 666: duplicate document in a query's ranking"),
    ],
)
def test_a_fault_in_a_later_part_names_the_line_of_the_file(
    tmp_path: Path, change: tuple[str, str], fault: str
) -> None:
    path = tmp_path / "run.trec"
    long_run(path)
    path.write_text(path.read_text().replace(*change))
    with pytest.raises(ResiduumError, match=fault):
        list(trec.read_lists(path, 700))
    with pytest.raises(ResiduumError, match=fault):
        trec.read_run(path)


def test_lists_whose_lines_are_apart_are_sorted_in_a_small_run_alone(tmp_path: Path) -> None:
    path = tmp_path / "run.trec"
    run = long_run(path)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[1::2] + lines[::2]))  # each list's lines in two places
    with pytest.raises(ResiduumError, match="scores must not rise from one rank"):
        list(trec.read_lists(path))
    ranks = sorted(lines, key=lambda line: int(line.split()[3]))  # all first hits, then the second
    path.write_text("".join(ranks))
    assert pl.concat(trec.read_lists(path)).equals(run)
    with pytest.raises(ResiduumError, match=r"lines of a query are apart. Sort its .*sort -s -k1"):
        list(trec.read_lists(path, 700))


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        ("a.trec.gz", b"q Q0 d 1 2.0 t\n", "named .gz, and holds no gzip data. Name it without"),
        (
            "a.trec",
            gzip.compress(b"q Q0 d 1 2.0 t\n", mtime=0),
            "gzip data in a file that is not named .gz",
        ),
        ("a.trec", b"# not run: 5 5 docs\n", "5 5 docs"),
        ("a.trec", b"", "the file is empty"),
        ("b.trec", None, "no such file"),
    ],
)
def test_what_is_no_run_is_refused_in_parts_as_a_whole(tmp_path, name, text, fault):
    if text is not None:
        (tmp_path / name).write_bytes(text)
    for read in (trec.read_run, lambda path: list(trec.read_lists(path, 9))):
        with pytest.raises((ResiduumError, NotRun), match=fault):
            read(tmp_path / name)


def test_a_character_whose_bytes_begin_as_a_byte_order_mark_is_read(tmp_path):
    run = long_run(tmp_path / "run.trec")
    text = (tmp_path / "run.trec").read_text().replace(" d3 ", " d\uff0c3 ")
    (tmp_path / "run.trec").write_text(text)
    parts = list(trec.read_lists(tmp_path / "run.trec", 700))
    assert len(parts) > 10 and pl.concat(parts).height == run.height
    assert "d\uff0c3" in pl.concat(parts)["doc_id"]


def test_a_list_that_is_written_in_two_parts_is_refused(tmp_path):
    part = trec.rank(scores([("q", "a", 1.0)]))
    with pytest.raises(ResiduumError, match="the list of query q comes in two parts"):
        trec.write_run(tmp_path / "run.gz", [part, part], "t")
    assert not (tmp_path / "run.gz").exists()


def test_runs_are_read_together_query_by_query(tmp_path: Path) -> None:
    long_run(tmp_path / "a.trec.gz")
    kept = pl.col("query_id").is_in(["q03", "q04", "q39"])
    some = trec.read_run(tmp_path / "a.trec.gz").filter(kept)
    trec.write_run(tmp_path / "b.trec.gz", some, "b")
    paths = [tmp_path / "a.trec.gz", tmp_path / "b.trec.gz"]
    for at_once in (1, 700, 10**9):
        blocks = list(trec.read_together(paths, at_once))
        for path, tables in zip(paths, zip(*blocks, strict=True), strict=True):
            assert pl.concat(tables).equals(trec.read_run(path))
        ids = [{*a["query_id"], *b["query_id"]} for a, b in blocks]
        assert all(max(one) < min(other) for one, other in pairwise(ids))
    falling = trec.read_run(paths[0]).sort("query_id", descending=True, maintain_order=True)
    trec.write_run(tmp_path / "c.trec.gz", falling, "c")
    assert pl.concat(t for [t] in trec.read_together([tmp_path / "c.trec.gz"])).height == 885
    with pytest.raises(
        ResiduumError, match=r"c\.trec\.gz: query ids fall from one list to the next"
    ):
        list(trec.read_together([tmp_path / "c.trec.gz"], 700))


def test_pairs_of_several_runs_come_once_with_the_first_run_that_has_them(tmp_path: Path) -> None:
    rows = {"a": [("q1", "x"), ("q1", "y"), ("q3", "z")], "b": [("q1", "y"), ("q2", "x")]}
    for name, pairs in rows.items():
        hits = pl.DataFrame([(*pair, 1.0) for pair in pairs], schema=trec.HITS, orient="row")
        trec.write_run(tmp_path / name, trec.rank(hits), name)
    paths = [tmp_path / "a", tmp_path / "b"]
    pairs = [row for part in trec.read_pairs(paths, 1) for row in part.rows()]
    a, b = map(str, paths)
    assert pairs == [("q1", "x", a), ("q1", "y", a), ("q2", "x", b), ("q3", "z", a)]
