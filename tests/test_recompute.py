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


def write_run(path, relevant_rank):
    """Write lists of three docs with the relevant one, d9, at a rank."""
    lines = []
    for query in QUERIES:
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


def test_it_rests_on_nothing_that_the_results_rest_on_but_numpy_and_scipy():
    tree = ast.parse((ROOT / "tests" / "recompute.py").read_text())
    imported = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported |= {alias.name.partition(".")[0] for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            imported.add(node.module.partition(".")[0])
    assert imported == {
        "argparse", "collections", "csv", "dataclasses", "functools", "gzip", "json", "math",
        "numpy", "pathlib", "re", "scipy", "sys", "time", "unicodedata",
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
