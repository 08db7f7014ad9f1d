"""The recomputation of tests/recompute.py: by hand, and it finds what is changed in a page."""

import ast
import gzip
import json
import math

import numpy as np
import pytest
from scipy import stats

import recompute
from conftest import ROOT

QUERIES = [f"q{n}" for n in range(1, 7)]
CELL = {
    "table": "tiny-table", "column": "rr", "measure": "RR@10", "split_ref": "tiny/dev", "n": "6",
    "seeds": "1", "std": "", "below": "false", "not_run": "", "not_learned": "false",
}  # fmt: skip
TEST = {
    "column": "rr", "measure": "RR@10", "a": "a", "b": "b", "n": "6", "seeds": "1",
    "mean_a": "1.0", "mean_b": "0.5", "difference": "0.5", "ci_low": "0.5", "ci_high": "0.5",
    "seed_low": "", "seed_high": "", "effect": "", "wins": "6", "ties": "0", "losses": "0",
    "p": "0.03125", "p_adjusted": "0.03125", "significant": "true", "direction": "1",
    "p_mixed_effects": "", "p_over_seeds": "", "holds_over_seeds": "", "seeds_agreeing": "",
    "family": "tiny-table/rr", "min_detectable": "", "test": "permutation",
}  # fmt: skip
VERDICT = {
    "table": "tiny-table", "column": "rr", "claim": "", "p_adjusted": "", "p_over_seeds": "",
    "effect_ratio": "", "delta_ri": "", "seeds_agreeing": "",
}  # fmt: skip


def write_rows(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = ["\t".join(rows[0]), *("\t".join(map(str, row.values())) for row in rows)]
    path.write_text("\n".join(lines) + "\n")


def write_run(path, relevant_rank, queries=QUERIES):
    """Write lists of three docs with the relevant one, d9, at a rank."""
    lines = []
    for query in queries:
        docs = ["d1", "d2"]
        docs.insert(relevant_rank - 1, "d9")
        lines += [f"{query} Q0 {doc} {n} {9 - n} tiny\n" for n, doc in enumerate(docs, 1)]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress("".join(lines).encode()))


def page_spec():
    column = {"id": "rr", "measure": "RR@10", "compared": True}
    column |= dict.fromkeys(["over", "within", "derived", "than", "change_from", "tick"])
    rows = [
        {"id": name, "index": n, "not_run": None, "below": None, "control": False}
        for n, name in enumerate("ab", 1)
    ]
    table = {
        "kind": "table", "columns": [column], "rows": rows, "baselines": [], "last_digits": False,
        "reported": {"a": {"rr": "0.4 ^2"}, "b": {"rr": "0.3"}}, "tolerance": {"default": 0.005},
    }  # fmt: skip
    tests = {"test": "permutation", "alpha": 0.05, "resamples": 9999, "compare": "all_pairs"}
    return {
        "id": "tiny-table", "entry": table, "comparable": False, "models": {}, "derived": {},
        "tests": {**tests, "correction": "none", "family": "column"},
        "splits": {"rr": "tiny/dev"}, "runs": {"a": ["a"], "b": ["b"]},
        "systems": {"a": {"kind": "lexical"}, "b": {"kind": "lexical"}}, "absent": {},
    }  # fmt: skip


@pytest.fixture
def results(tmp_path):
    """Return a results folder of one table: a finds the relevant doc first, b second.

    All six queries differ, so p is 2 / 2^6. The numbers are written here by hand.
    """
    split = tmp_path / "data" / "tiny" / "dev"
    split.mkdir(parents=True)
    (split / "qrels.trec").write_text("".join(f"{query} 0 d9 1\n" for query in QUERIES))
    (split / "queries.tsv").write_text("".join(f"{query}\twords\n" for query in QUERIES))
    for rank, name in enumerate("ab", 1):
        write_run(tmp_path / "runs" / "tiny" / "dev" / f"{name}.trec.gz", rank)
    cells = []
    for row, value, beats in (("a", "1.0", "2"), ("b", "0.5", "")):
        values = dict.fromkeys(["measured", "per_seed", "lowest", "highest"], value)
        cells.append({"row": row, **values, "beats": beats, **CELL})
    write_rows(tmp_path / "tables" / "tiny-table.tsv", cells)
    manifest = tmp_path / "tables" / "tiny-table.tsv.manifest.json"
    manifest.write_text(json.dumps({"spec": page_spec()}))
    write_rows(tmp_path / "significance" / "tiny-table.tsv", [TEST])
    numbers = [("a", "0.4", "1.0", "0.6"), ("b", "0.3", "0.5", "0.2")]
    rows = []
    for row, reported, measured, delta in numbers:
        fields = {"reported": reported, "measured": measured, "delta": delta, "tolerance": "0.005"}
        verdict = {"kind": "number", "verdict": "not comparable", "under_holm": ""}
        rows.append({"row": row, **VERDICT, **fields, **verdict})
    fields = {"reported": "0.1", "measured": "0.5", "delta": "0.4", "tolerance": ""}
    effect = {"p_adjusted": "0.03125", "effect_ratio": "5.0", "delta_ri": "-0.666666666667"}
    verdict = {"kind": "comparison", "verdict": "holds", "under_holm": "holds"}
    claim = {"claim": "a significantly above b"}
    rows.append({"row": "a", **VERDICT, **fields, **verdict, **effect, **claim})
    write_rows(tmp_path / "ledger.tsv", rows)
    return tmp_path


def differences(results):
    return [one for report in recompute.recompute(results) for one in report.differences]


def test_it_counts_what_it_compares_and_finds_pages_as_they_are_equal(results, capsys):
    report, ledger = recompute.recompute(results)
    assert report.differences == ledger.differences == []
    assert (report.cells, report.tests, report.verdicts) == (2, 1, 3)
    assert recompute.main([str(results)]) == 0
    assert "cells 2, markers 2, tests 1, verdicts 3, differences 0" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("file", "old", "new", "says"),
    [
        ("tables", "b\t0.5\t", "b\t0.500001\t", "b/rr: mean: recomputed 0.5, found 0.500001"),
        ("tables", "\t2\ttiny", "\t\ttiny", "a/rr: superscripts: recomputed [2], found []"),
        ("significance", "0.03125\t0.03125", "0.03225\t0.03225", "p: recomputed 0.03125, found"),
        ("significance", "\ttrue\t", "\tfalse\t", "significant: recomputed True, found false"),
        ("significance", "\t6\t0\t0\t", "\t5\t1\t0\t", "wins: recomputed 6, found 5.0"),
        ("ledger.tsv", "\tholds", "\treversed", "verdict: recomputed holds, found reversed"),
        ("ledger.tsv", "not comparable", "reproduced", "recomputed not comparable, found repro"),
        ("ledger.tsv", "a significantly above", "b significantly above", "found absent"),
    ],
)
def test_what_is_changed_is_found_with_both_values(results, capsys, file, old, new, says):
    path = results / file
    path = path if path.is_file() else path / "tiny-table.tsv"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    assert any(says in one for one in differences(results)), differences(results)
    assert recompute.main([str(results)]) == 1
    assert says in capsys.readouterr().out


def test_a_cell_that_is_absent_and_a_measure_that_nobody_computes_are_told(results):
    path = results / "tables" / "tiny-table.tsv"
    whole = path.read_text()
    path.write_text("".join(line for line in whole.splitlines(True) if line[:2] != "b\t"))
    assert any("b/rr: cell: recomputed there, found absent" in one for one in differences(results))
    path.write_text(whole)
    spec = page_spec()
    spec["entry"]["columns"][0]["measure"] = "F1@10"
    manifest = results / "tables" / "tiny-table.tsv.manifest.json"
    manifest.write_text(json.dumps({"spec": spec}))
    report, _ = recompute.recompute(results)
    assert report.differences == [] and report.taken_over == {"page: measure F1@10": 1}


def test_a_refused_run_and_an_empty_one_are_read(results):
    runs = results / "runs" / "tiny" / "dev"
    (runs / "b.trec.gz").write_bytes(gzip.compress(b"# refused: no licence\n"))
    table = recompute.Table(recompute.Results(results), page_spec())
    assert table.plain("b", "rr").state == recompute.NOT_RUN
    (runs / "a.trec.gz").write_bytes(gzip.compress(b""))
    assert recompute.Table(recompute.Results(results), page_spec()).plain("a", "rr").mean == 0.0


def test_a_decision_by_their_p_near_alpha_is_counted():
    pair = recompute.Pair("rr", "a", "b", np.ones((1, 9)), np.zeros((1, 9)), "family")
    pair.p, pair.exact, tests = 0.0502, False, {"alpha": 0.05, "resamples": 9999}
    report = recompute.Report("page")
    decided = [recompute.decide(p, 0.049, pair, tests, report) for p in (0.0502, 0.2)]
    assert decided == [True, False] and report.near_alpha == 1


def test_a_drawn_p_may_lie_off_by_monte_carlo_error_alone():
    random = np.random.default_rng(5)
    gaps = random.normal(0.15, 1, size=(1, 200))
    pair = recompute.Pair("rr", "a", "b", gaps, np.zeros_like(gaps), "family")
    tests = {"test": "permutation", "resamples": 9999}
    recompute.run_tests([pair], tests)
    expected = stats.permutation_test(
        (gaps[0],), np.sum, permutation_type="samples", n_resamples=9999, rng=6
    ).pvalue
    for theirs, found in ((expected, 0), (expected + 0.04, 1), (expected / 2, 1)):
        report = recompute.Report("page")
        recompute.compare_p("rr", pair, theirs, tests, report)
        assert not pair.exact and len(report.differences) == found, (pair.p, theirs)


# A row's RR@10 of each query in the columns short and long: 1 over the ranks of `RANKS`.
RANKS = {"a": (1, 2), "b": (2, 3), "c": (3, 3)}
BOTH = ["short", "long"]
FALL = [("tiny", "a in short", "a in long", 1, 1 / 2)]  # the ends are the one step
RISE = [("tiny", "a in long", "a in short", 1 / 2, 1)]
GAPS = [
    ("tiny", "a - b in long", "a - b in short", 1 / 6, 1 / 2),
    ("tiny", "a - c in long", "a - c in short", 1 / 6, 2 / 3),
]
TO_SHORT = [("tiny", *one[2:0:-1], *one[:2:-1]) for one in GAPS]
TABLE = {"page": "tiny", "rows": ["a"], "columns": BOTH}
GAP = {**TABLE, "rows": {"a": ["b", "c"]}}
SNAPSHOTS = {"page": "drawn", "rows": ["s"], "columns": ["rr"]}
LAST = ("rr", "s at snapshot 3", "s at snapshot 1", 1, 1 / 3)
STEPS = [
    ("rr", "s at snapshot 3", "s at snapshot 2", 1, 1 / 2),
    ("rr", "s at snapshot 2", "s at snapshot 1", 1 / 2, 1 / 3),
]
LEAD = [
    ("rr", "s - t at snapshot 3", f"s - t at snapshot {n}", 2 / 3, at)
    for n, at in ((1, 0), (2, 1 / 6))
]
THEORY = {"page": "theory", "rows": ["bm25"]}
MARGINS = [("10th", "margins at length 1-20", "margins at length 21-40", 0.75, 0.25)]


def claims_spec(holds):
    """Return a page with one sentence, on a table, a figure of snapshots and a page of margins."""
    table = page_spec()
    [column] = table["entry"]["columns"]
    names = ["short", "long", "unbound", "others"]
    table["entry"]["columns"] = [{**column, "id": name} for name in names]
    table["entry"]["rows"] = [{**table["entry"]["rows"][0], "id": row} for row in RANKS]
    splits = {"short": "tiny/dev", "long": "tiny/long", "unbound": None, "others": "tiny/others"}
    table |= {"id": "tiny", "splits": splits, "runs": {row: [row] for row in RANKS}}
    table |= {"systems": {row: {"kind": "lexical"} for row in RANKS}, "comparable": True}
    panel = {"id": "rr", "measure": "RR@10", "shows": "measure"}
    figure = {
        "entry": {"over": "snapshot", "panels": [panel]}, "absent": {}, "models": {},
        "splits": dict.fromkeys("st", "tiny/dev"), "runs": {"s": ["s"], "t": ["t"]},
        "snapshots": {"s": 3, "t": 3},
    }  # fmt: skip
    plots = [("bm25", "pairs"), ("boolean", "pairs"), ("margins", "margins"), ("recall", "recall")]
    rows = [{"id": row, "fidelity": f"of-{row}", "shows": shows} for row, shows in plots]
    theory = {"id": "tiny-theory", "entry": {"rows": rows}, "split": "tiny/dev", "absent": {}}
    claim = {"id": "says", "section": "5", "holds": holds}
    return {
        "entry": {"kind": "claims", "claims": [claim]}, "tests": table["tests"],
        "tables": {"tiny": table}, "figures": {"drawn": figure}, "dimensions": {"theory": theory},
    }  # fmt: skip


def write_pages(root):
    """Write the runs of `RANKS`, three snapshots of s and t, and measurements of fidelity."""
    for split, queries in (("long", QUERIES), ("others", [f"o{query}" for query in QUERIES])):
        folder = root / "data" / "tiny" / split
        folder.mkdir(exist_ok=True)
        (folder / "qrels.trec").write_text("".join(f"{query} 0 d9 1\n" for query in queries))
        (folder / "queries.tsv").write_text("".join(f"{query}\twords\n" for query in queries))
    for row, ranks in RANKS.items():
        for split, rank in zip(("dev", "long", "others"), (*ranks, 1), strict=True):
            write_run(root / "runs" / "tiny" / split / f"{row}.trec.gz", rank)
    for name, rank in (("s@1", 3), ("s@2", 2), ("s", 1), ("t@1", 3), ("t@2", 3), ("t", 3)):
        write_run(root / "runs" / "tiny" / "dev" / f"{name}.trec.gz", rank)
    shown = []
    for row, least in (("bm25", 0.001), ("boolean", 0.01), ("margins", 0.1), ("recall", 0.1)):
        folder = root / "fidelity" / "tiny" / "dev" / f"of-{row}"
        # Of the bin at x = 10, 64 dimensions are the least with at most 5% turned; at 40, 128.
        pairs = [(10, 32, 0.06), (10, 64, 0.05), (10, 128, 0), (40, 64, 0.2), (40, 128, 0.01)]
        pairs = [(*one, {10: 20, 40: 70}[one[0]]) for one in pairs]
        draws = [(10, 1, 64), (40, 1, 128), (10, 2, 128), (40, 2, "")]
        rows = [dict(zip(("x", "draw", "dimensions"), one, strict=True)) for one in draws]
        write_rows(folder / "draws.tsv", rows)
        fields = ("x", "dimensions", "error", "exact")
        write_rows(folder / "pairs.tsv", [dict(zip(fields, one, strict=True)) for one in pairs])
        facts = {"artefact": {"error": 0.05, "least_margin": least}}
        (folder / "manifest.json").write_text(json.dumps(facts))
        margins = [("1-20", query, 10, 0.75) for query in [*QUERIES, "alone"]]
        margins += [("21-40", query, 10, 0.25) for query in QUERIES]
        margins += [("all", query, 10, 0.1) for query in QUERIES]
        fields = ("length", "query_id", "nearest", "margin")
        write_rows(folder / "margins.tsv", [dict(zip(fields, one, strict=True)) for one in margins])
        kept = [("1-20", 32, 0.4), ("1-20", 64, 0.8), ("21-40", 64, 0.7), ("21-40", 128, 0.9)]
        kept += [("all", 32, 1), ("41-60", 128, 0.85)]
        fields = ("length", "dimensions", "recall")
        write_rows(folder / "recall.tsv", [dict(zip(fields, one, strict=True)) for one in kept])
        shown += [{"row": row, "column": "least-margin", "measured": least}]
    # The most of both shares is 64 / (2 ln(4 / 0.05) 10); ln(128 / 64) / ln(40 / 10) = 1/2.
    numbers = {"most-share": 6.4 / (2 * math.log(80)), "share-ratio": 2, "exponent": 0.5}
    # Slopes through the origin: sum of x y over sum of x x. The second draw has one bin.
    numbers |= {"slope": (640 + 5120) / 1700, "exact-slope": (200 + 2800) / 1700}
    numbers |= {"slope-least": (640 + 5120) / 1700, "slope-most": 12.8}
    numbers |= {"constant": 2 * math.log(80)}
    shown += [{"row": "bm25", "column": name, "measured": n} for name, n in numbers.items()]
    least = {"0.75/1-20": 64, "0.75/21-40": 128, "0.75/41-60": 128}
    least |= {"0.9/1-20": "", "0.9/21-40": 128, "0.9/41-60": ""}
    shown += [{"row": "recall", "column": name, "measured": n} for name, n in least.items()]
    write_rows(root / "dimensions" / "tiny-theory.tsv", shown)


def row_of_test(column, a, b, mean_a, mean_b):
    """Return a test of six queries that all have the same difference: p is 2 / 2^6."""
    gap = mean_a - mean_b
    row = {**TEST, "column": column, "a": a, "b": b, "mean_a": mean_a, "mean_b": mean_b}
    row |= {"difference": gap, "ci_low": gap, "ci_high": gap, "family": "says"}
    if gap < 0:
        row |= {"wins": 0, "losses": 6, "direction": -1}
    if gap == 0:
        row |= {"wins": 0, "ties": 6, "p": 1, "p_adjusted": 1, "significant": "false"}
        row |= {"direction": 0}
    return row


def check_claim(root, holds, verdict, tests, **table):
    """Return the report of a page with one sentence, whose tests and verdict are written here."""
    write_pages(root)
    spec = claims_spec(holds)
    spec["tables"]["tiny"] |= table
    row = {"row": "says", "verdict": verdict, "measured": "", "p_adjusted": ""}
    write_rows(root / "claims" / "tiny-claims.tsv", [row])
    manifest = root / "claims" / "tiny-claims.tsv.manifest.json"
    manifest.write_text(json.dumps({"spec": spec}))
    path = root / "significance" / "tiny-claims.tsv"
    write_rows(path, [row_of_test(*one) for one in tests] or [TEST])
    if not tests:
        path.write_text("\t".join(TEST) + "\n")
    [report] = recompute.recompute(root, ["tiny-claims"], verdicts=False)
    return report


@pytest.mark.parametrize(
    ("holds", "verdict", "tests"),
    [
        ({**TABLE, "relation": "falls"}, "holds", FALL),
        ({**TABLE, "relation": "rises"}, "reversed", RISE),
        ({**TABLE, "relation": "falls", "columns": ["short", "unbound", "long"]}, "holds", FALL),
        ({**TABLE, "relation": "falls", "columns": ["short", "unbound"]}, "not run", []),
        ({**TABLE, "relation": "falls", "columns": ["short", "others"]}, "no test", []),
        ({**TABLE, "relation": "keeps"}, "reversed", RISE),
        ({**TABLE, "relation": "keeps", "columns": BOTH[::-1]}, "holds", FALL),
        (
            {**TABLE, "relation": "keeps", "rows": ["c"]},
            "not judged",  # c has 1/3 for all queries in both, so none differs
            [("tiny", "c in long", "c in short", 1 / 3, 1 / 3)],
        ),
        ({**TABLE, "relation": "needs_largest", "columns": BOTH[::-1]}, "holds", FALL),
        ({**GAP, "relation": "narrows"}, "holds", GAPS),
        ({**GAP, "relation": "widens"}, "reversed", GAPS),
        ({**GAP, "relation": "widest", "columns": BOTH[::-1]}, "holds", TO_SHORT),
        ({**GAP, "relation": "stays"}, "reversed", GAPS),
        ({**SNAPSHOTS, "relation": "rises"}, "holds", [LAST, *STEPS]),
        ({**SNAPSHOTS, "relation": "needs_largest"}, "holds", [LAST, STEPS[0]]),
        ({**SNAPSHOTS, "relation": "keeps"}, "holds", [LAST]),
        ({**SNAPSHOTS, "relation": "widest", "rows": {"s": ["t"]}}, "holds", LEAD),
        ({**SNAPSHOTS, "relation": "narrows", "rows": {"s": ["t"]}}, "reversed", LEAD[:1]),
        (
            {**SNAPSHOTS, "relation": "above", "rows": {"s": ["t"]}, "but": ["1", "2"]},
            "holds",
            [("rr/3", "s", "t", 1, 1 / 3)],
        ),
        ({**TABLE, "page": "theory", "relation": "falls", "rows": ["margins"],
          "columns": ["10th", "100th"]}, "holds", MARGINS),
    ],
)  # fmt: skip
def test_sentences_are_judged_by_their_comparisons(results, holds, verdict, tests):
    report = check_claim(results, holds, verdict, tests)
    assert report.differences == []
    assert (report.tests, report.verdicts) == (len(tests), 1)
    other = "inconclusive" if verdict != "inconclusive" else "holds"
    report = check_changed(results, verdict, other)
    assert report.differences == [
        f"tiny-claims: says, on the page: verdict: recomputed {verdict}, found {other}"
    ]


def check_changed(root, old, new):
    path = root / "claims" / "tiny-claims.tsv"
    path.write_text(path.read_text().replace(old, new))
    [report] = recompute.recompute(root, ["tiny-claims"], verdicts=False)
    return report


@pytest.mark.parametrize(
    ("holds", "verdict"),
    [
        ({"relation": "within", "columns": ["most-share"], "between": [0.73, 0.74]}, "holds"),
        ({"relation": "within", "columns": ["most-share"], "between": [0, 0.5]}, "differs"),
        ({"relation": "within", "columns": ["share-ratio"], "between": [1, 2]}, "holds"),
        ({"relation": "within", "columns": ["exponent"], "between": [0.75, 1]}, "differs"),
        ({"relation": "within", "columns": ["slope", "exact-slope", "slope-least", "slope-most"],
          "between": [1, 13]}, "holds"),
        ({"relation": "within", "columns": ["constant"], "between": [8.76, 8.77]}, "holds"),
        ({"relation": "below", "rows": {"bm25": ["boolean"]}, "columns": ["least-margin"],
          "but": []}, "holds"),
        ({"relation": "apart", "rows": {"margins": ["recall"]}, "columns": ["least-margin"],
          "but": []}, "differs"),
        ({"relation": "rises", "rows": ["recall"], "columns": ["0.75"]}, "holds"),
        ({"relation": "falls", "rows": ["recall"], "columns": ["0.75"]}, "differs"),
        ({"relation": "needs_largest", "rows": ["recall"], "columns": ["0.75"]}, "not judged"),
        ({"relation": "rises", "rows": ["recall"], "columns": ["0.9"]}, "not run"),
    ],
)  # fmt: skip
def test_numbers_of_dimensions_are_computed_from_measurements(results, holds, verdict):
    report = check_claim(results, {**THEORY, **holds}, verdict, [])
    assert report.differences == [] and report.verdicts == 1


def test_a_changed_number_of_dimensions_is_found(results):
    holds = {**THEORY, "relation": "within", "columns": ["share-ratio"], "between": [1, 2]}
    assert check_claim(results, holds, "holds", []).differences == []
    path = results / "dimensions" / "tiny-theory.tsv"
    path.write_text(path.read_text().replace("share-ratio\t2", "share-ratio\t3"))
    [report] = recompute.recompute(results, ["tiny-claims"], verdicts=False)
    what = "says, bm25/share-ratio of tiny-theory: number: recomputed 2.0, found 3.0"
    assert report.differences == [f"tiny-claims: {what}"]


@pytest.mark.parametrize(
    ("between", "table", "verdict"),
    [
        ([1, 3], {}, "holds"),
        ([3, 4], {}, "differs"),
        ([1, 3], {"comparable": False}, "not comparable"),
        ([1, 3], {"but": {"b": "another model"}}, "not comparable"),
        ([1, 3], {"but": {"short": "other queries"}}, "not comparable"),
        ([1, 3], {"but": {"c": "another model"}}, "holds"),
    ],
)
def test_factors_are_of_numbers_that_compare(results, between, table, verdict):
    holds = {"relation": "factor", "page": "tiny", "rows": {"a": "b"}, "columns": ["short"]}
    report = check_claim(results, {**holds, "between": between}, verdict, [], **table)
    assert report.differences == []


@pytest.mark.parametrize("part", ["rr", "b"])
def test_numbers_of_a_part_that_the_scale_names_do_not_compare(results, part):
    spec = {**page_spec(), "comparable": True, "but": {part: "another edition"}}
    manifest = results / "tables" / "tiny-table.tsv.manifest.json"
    manifest.write_text(json.dumps({"spec": spec}))
    found = differences(results)
    assert not any("b/rr" in one for one in found)
    number = "a/rr, number: verdict: recomputed differs, found not comparable"
    assert any(number in one for one in found) == (part == "b")


def test_a_sentence_that_is_not_computed_is_taken_over_by_its_relation(results):
    report = check_claim(results, {**TABLE, "relation": "wanders"}, "holds", RISE)
    assert (report.differences, report.tests, report.verdicts) == ([], 0, 0)
    assert report.taken_over == {"sentences (wanders): no rule here": 1}
    holds = {"relation": "within", "page": "theory", "rows": ["bm25"], "between": [0, 1]}
    report = check_claim(results, {**holds, "columns": ["slope-of-slopes"]}, "holds", [])
    assert report.differences == []
    what = "sentences (within): slope-of-slopes of a page of dimensions"
    assert report.taken_over == {what: 1}


def test_it_rests_on_nothing_that_the_results_rest_on_but_numpy_and_scipy():
    tree = ast.parse((ROOT / "tests" / "recompute.py").read_text())
    imported = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported |= {alias.name.partition(".")[0] for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            imported.add(node.module.partition(".")[0])
    assert imported == {
        "argparse", "collections", "csv", "dataclasses", "functools", "gzip", "itertools", "json",
        "math", "numpy", "pathlib", "re", "scipy", "sys", "time", "unicodedata",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("measure", "value"),
    [
        ("RR@10", 1 / 2), ("RR", 1 / 2), ("P@5", 2 / 5), ("R@2", 1 / 3), ("R(rel=2)@2", 0.0),
        ("Success@1", 0.0), ("AP@10", (1 / 2 + 2 / 4) / 3), ("AP(rel=2)@10", (1 / 4) / 1),
        ("BioASQ_AP@2", (1 / 2) / 2), ("Holes@3", 1 / 3),
        ("nDCG@10", (1 / math.log2(3) + 3 / math.log2(5)) / (3 + 1 / math.log2(3) + 1 / 2)),
    ],
)  # fmt: skip
def test_measures_by_hand(measure, value):
    levels = {"x": 0, "y": 1, "z": 3, "lost": 1}
    hits, docs = [(2, 1), (4, 3)], ["x", "y", "hole", "z"]
    assert recompute.measure_of(measure, levels, hits, docs, 4) == pytest.approx(value, abs=1e-15)


def test_tests_and_corrections_are_those_of_scipy():
    random = np.random.default_rng(3)
    for count in (10, 40, 80):
        gaps = np.round(random.normal(0.2, 1, count), 1)
        some = gaps[gaps != 0]
        for values in (gaps, some, random.normal(0.2, 1, count)):
            expected = stats.wilcoxon(values, correction=False).pvalue
            assert recompute.wilcoxon(values) == pytest.approx(expected, rel=1e-9)
            expected = stats.ttest_1samp(values, 0).pvalue
            assert recompute.t_test(values) == pytest.approx(expected, rel=1e-9)
    assert recompute.corrected([0.03, 0.01, 0.04], "holm") == pytest.approx([0.06, 0.03, 0.06])
    assert recompute.corrected([0.4, 0.01], "bonferroni") == pytest.approx([0.8, 0.02])


def test_sizes_that_rounding_tells_apart_share_their_rank():
    gaps = np.array([1 / 2 - 1 / 3, 1 / 6 - 1 / 3, 0.0, 1 / 2])
    assert recompute.signed_ranks(gaps).tolist() == [1.5, -1.5, 3.0]


def test_answers_are_matched_by_tokens_in_a_row():
    passage = recompute.joined("The café of New-York (1901) opened.")
    found = {"Cafe\u0301", "new - york", "1901", ") opened"}
    assert all(recompute.joined(answer) in passage for answer in found)
    assert not any(recompute.joined(answer) in passage for answer in ("cafe", "new york", "190"))
