"""Runs of any origin compared: values by hand, p-values as SciPy's, refusals of what cannot be."""

import json
import math

import numpy as np
import polars as pl
import pytest
from scipy import stats

from residuum.__main__ import app, compare
from residuum.artefacts import trec
from residuum.cli.errors import ResiduumError
from residuum.config.schema.tests import Tests
from residuum.inspect import comparing

QUERIES = [f"q{i:02d}" for i in range(24)]
TESTS = {"test": "permutation", "alpha": 0.05, "correction": "holm", "family": "column"}


def requested(**changes):
    return Tests.model_validate({**TESTS, "resamples": 9999, **changes})


def write_run(path, ranks, length=10, first=1, queries=QUERIES):
    """Write a run whose one relevant doc, `right`, stands at the given rank of each query."""
    lines = []
    for query, rank in zip(queries, ranks, strict=True):
        docs = [f"d{i}" for i in range(length)]
        if rank <= length:
            docs[rank - 1] = "right"
        lines += [f"{query} Q0 {d} {i + first} {length - i} x" for i, d in enumerate(docs)]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def files(tmp_path):
    """Three runs: `best` and `good` find the doc early, `poor` at rank 5 or not at all."""
    qrels = tmp_path / "qrels.txt"
    qrels.write_text("".join(f"{q} 0 right 1\n" for q in QUERIES))
    best = write_run(tmp_path / "best.trec", [1] * 24)
    good = write_run(tmp_path / "good.run", [1, 2] * 12)
    poor = write_run(tmp_path / "poor.txt", [5, 99] * 12)
    return qrels, best, good, poor


def command(qrels, *runs, measure=("RR@10",), **changes):
    plain = {"test": "permutation", "correction": "holm", "family": "column", "alpha": 0.05}
    plain |= {"resamples": 9999, "seed": 1, "baseline": None, "original": None, "missing": "refuse"}
    plain |= {"form": "markdown", "output": None, "workers": 1}
    compare(qrels, list(map(str, runs)), list(measure), **plain | changes)


def test_a_run_of_json_is_the_run_of_trec(files, tmp_path):
    """BEIR's form, whose lists fall by score."""
    qrels, best, good, _ = files
    lists: dict[str, dict[str, float]] = {}
    for line in good.read_text().splitlines():
        query, _, doc, _, score, _ = line.split()
        lists.setdefault(query, {})[doc] = float(score)
    (tmp_path / "json").mkdir()
    packed = tmp_path / "json" / "good.json"
    packed.write_text(json.dumps(lists))
    expected, _ = comparing.read([best, good], comparing.read_qrels(qrels), "refuse")
    read, _ = comparing.read([best, packed], comparing.read_qrels(qrels), "refuse")
    assert [*read] == [*expected] and all(read[name].equals(expected[name]) for name in read)


def test_a_path_with_a_comma_is_one_run(files):
    qrels, best, good, _ = files
    odd = good.with_name("k1=0.9,b=0.4.trec")
    good.rename(odd)
    read, _ = comparing.read([best, odd], comparing.read_qrels(qrels), "refuse")
    assert [*read] == ["best", "k1=0.9,b=0.4"]


@pytest.mark.parametrize("which", [0, 1, 2])
def test_the_output_is_none_of_the_inputs(files, which):
    link = files[0].parent / "link.tsv"
    link.symlink_to(files[which])
    before = [path.read_bytes() for path in files]
    for output in (files[which], link):
        with pytest.raises(ResiduumError, match="is one of the files that are read; name another"):
            words = ["compare", *files[:3], "--measures", "RR@10", "--output", output]
            app(list(map(str, words)), standalone_mode=False)
    assert [path.read_bytes() for path in files] == before


def test_values_differences_and_wins_by_hand(files):
    runs = {path.stem: trec.read_run(path) for path in files[1:]}
    scores, result = comparing.compare(trec.read_qrels(files[0]), runs, ["RR@10"], requested())
    means = {name: matrix.values.mean() for (name, _), matrix in scores.items()}
    assert means == pytest.approx({"best": 1.0, "good": 0.75, "poor": 0.1})
    rows = {(test.a, test.b): test for test in result}
    assert set(rows) == {("best", "good"), ("best", "poor"), ("good", "poor")}
    row = rows["best", "good"]
    assert row.difference == pytest.approx(0.25)
    assert (row.wins, row.ties, row.losses) == (12, 12, 0)
    assert row.p == pytest.approx(2 / 2**12), "twelve equal wins: all flips up, or all down"
    assert row.p_adjusted == pytest.approx(row.p), "the largest p of three, Holm: times 1"


def test_a_geometric_mean_is_shown_and_not_tested(files, capsys):
    judged = trec.read_qrels(files[0])
    runs = {path.stem: trec.read_run(path) for path in files[1:]}
    names = ["BioASQ_AP@10", "BioASQ_GMAP@10"]
    _, rows = comparing.compare(judged, runs, names, requested())
    assert {row.measure for row in rows} == {"BioASQ_AP@10"} and len(rows) == 3
    command(*files, measure=names)
    page = capsys.readouterr().out
    poor = math.exp((math.log(1 / 5 + 1e-5) + math.log(1e-5)) / 2)  # 1/5 and 0, half each
    good = math.exp((math.log(1 + 1e-5) + math.log(1 / 2 + 1e-5)) / 2)
    lines = {line.split("|")[1].split()[-1]: line for line in page.splitlines() if "|" in line}
    assert f"{good:.4f}" in lines["good"] and f"{poor:.4f}" in lines["poor"]
    command(*files, measure=["BioASQ_GMAP@10"])
    assert f"{good:.4f}" in capsys.readouterr().out


@pytest.mark.parametrize("test", ["t-test", "wilcoxon"])
def test_p_values_are_those_of_scipy(files, test):
    random = np.random.default_rng(7)
    one = write_run(files[0].parent / "one.trec", random.integers(1, 12, 24))
    two = write_run(files[0].parent / "two.trec", random.integers(1, 12, 24))
    runs = {path.stem: trec.read_run(path) for path in (one, two)}
    made = requested(test=test, correction="none")
    scores, result = comparing.compare(trec.read_qrels(files[0]), runs, ["RR@10", "nDCG@10"], made)
    for measure in ("RR@10", "nDCG@10"):
        a, b = (scores[name, measure].values[:, 0] for name in ("one", "two"))
        theirs = stats.ttest_rel(a, b) if test == "t-test" else stats.wilcoxon(a - b)
        (own,) = (test.p for test in result if test.measure == measure)
        assert own == pytest.approx(theirs.pvalue)


def test_the_pages_print_and_the_file_holds_every_comparison(files, capsys, tmp_path):
    command(*files, measure=["RR@10", "P@1"], output=tmp_path / "tests.tsv")
    text = capsys.readouterr().out
    lines = [[c.strip() for c in line.split("|")[1:-1]] for line in text.splitlines()]
    assert ["1 best", "1.0000 ²³", "1.0000 ²³"] in lines
    assert ["3 poor", "0.1000", "0.0000"] in lines
    assert "correction holm, family: each measure" in text
    assert "24 judged queries." in text
    table = pl.read_csv(tmp_path / "tests.tsv", separator="\t")
    assert table.select("measure", "a", "b").n_unique() == table.height == 6


@pytest.mark.parametrize("name", ["test.tsv", "test.jsonl", "test.csv"])
def test_qrels_may_have_beirs_form_or_named_columns(files, capsys, name):
    qrels, *runs = files
    command(qrels, *runs)
    plain, rows = capsys.readouterr().out, [(query, "right", 1) for query in QUERIES]
    given, columns = qrels.parent / name, ["query-id", "corpus-id", "score"]
    if name.endswith(".jsonl"):
        lines = [json.dumps(dict(zip(columns, row, strict=True))) for row in rows]
    else:
        tab = "," if name.endswith(".csv") else "\t"
        lines = [tab.join(map(str, row)) for row in [columns, *rows]]
    given.write_text("\n".join(lines) + "\n")
    command(given, *runs)
    assert capsys.readouterr().out == plain
    given.write_text("\n".join([*lines, lines[-1]]) + "\n")
    with pytest.raises(ResiduumError, match=rf"{name}, line {len(lines) + 1}: duplicate judgement"):
        command(given, *runs)


def test_latex(files, capsys):
    command(*files, form="latex")
    text = capsys.readouterr().out
    assert text.count(r"\begin{table*}") == text.count(r"\end{table*}") == 2
    assert r"\label{tab:runs}" in text and r"\label{tab:comparisons}" in text
    assert text.count(r"\residuumnotes{%") == 2, "each below its float"
    assert r"2 good & 0.7500$^{3}$ \\" in text


def test_with_baselines_only_they_are_compared_and_corrected(files):
    runs = {path.stem: trec.read_run(path) for path in files[1:]}
    judged = trec.read_qrels(files[0])
    made = requested(correction="bonferroni")
    _, result = comparing.compare(judged, runs, ["RR@10"], made, baselines=["poor"])
    assert [(test.a, test.b) for test in result] == [("best", "poor"), ("good", "poor")]
    expected = [2 * test.p for test in result]
    assert [test.p_adjusted for test in result] == pytest.approx(expected)


def test_the_family_table_spans_the_measures(files):
    runs = {path.stem: trec.read_run(path) for path in files[1:]}
    made = requested(correction="bonferroni", family="table")
    _, result = comparing.compare(trec.read_qrels(files[0]), runs, ["RR@10", "P@5"], made)
    expected = [min(1.0, 6 * test.p) for test in result]
    assert [test.p_adjusted for test in result] == pytest.approx(expected)


@pytest.mark.parametrize("step", [1.0, 1e-8])
def test_ranks_from_zero_and_unsorted_lines_keep_their_order(files, capsys, step):
    zero = write_run(files[0].parent / "zero.trec", [1, 2] * 12, first=0)
    lines = [line.split() for line in zero.read_text().splitlines()]
    printed = [
        f"{q} Q0\t{d}  {r} {float(s) * step} {tag}" for q, _, d, r, s, tag in reversed(lines)
    ]
    zero.write_text("\n".join(printed) + "\n\n")
    command(files[0], files[2], zero)
    text = capsys.readouterr().out
    assert "zero: its ranks do not count 1, 2, 3: counted anew, in their order." in text
    assert text.count("0.7500") == 2, "as `good`, which has the same lists"


def test_scores_that_rise_along_the_ranks_rank_anew(files, capsys):
    up = write_run(files[0].parent / "up.trec", [1] * 24)
    lines = [line.split() for line in up.read_text().splitlines()]
    up.write_text("".join(f"{q} Q0 {d} {r} {-float(s)} x\n" for q, _, d, r, s, _ in lines))
    command(files[0], files[2], up)
    text = capsys.readouterr().out
    assert "up: scores rise along its ranks: ranked anew by score, then doc_id." in text
    assert "| 2 up   | 0.1000" in text, "`right`, the first of ten, has the lowest score"


def test_p_near_alpha_is_said(files, capsys):
    command(*files[:3], resamples=200, alpha=1 / 201)
    assert "within two Monte-Carlo standard errors of alpha" in capsys.readouterr().out


def test_missing_queries_are_refused_or_count_zero(files, capsys):
    part = write_run(files[0].parent / "part.trec", [1] * 20, queries=QUERIES[:20])
    with pytest.raises(ResiduumError, match=r"part: no line for query q20.*4 of 24.*missing zero"):
        command(files[0], files[1], part)
    command(files[0], files[1], part, missing="zero")
    text = capsys.readouterr().out
    assert "part: 4 judged queries without a list count 0." in text
    assert f"{20 / 24:.4f}" in text


def test_folds_joined_by_commas_are_one_run(files, capsys):
    folder = files[0].parent
    first = write_run(folder / "cv1.trec", [1] * 10, queries=QUERIES[:10])
    second = write_run(folder / "cv2.trec", [2] * 14, queries=QUERIES[10:])
    command(files[0], files[1], f"{second},{first}")
    text = capsys.readouterr().out
    assert "cv2 + cv1: 2 folds, pooled." in text
    assert f"{(10 + 14 / 2) / 24:.4f}" in text
    with pytest.raises(
        ResiduumError, match=r"best\.trec: holds query q00, which .*cv1\.trec holds"
    ):
        command(files[0], files[2], f"{first},{files[1]}")


def test_queries_without_a_relevant_doc_are_counted_and_said(files, capsys):
    text = files[0].read_text().replace("q00 0 right 1", "q00 0 right 0")
    files[0].write_text(text)
    command(*files[:3])
    assert (
        "Judged queries without a relevant doc, which count 0 for all: 1."
        in capsys.readouterr().out
    )


@pytest.mark.parametrize(
    ("case", "message"),
    [
        ("alone", "give two runs or more"),
        ("twice", r"two runs are named best \(.*best\.run\)"),
        ("empty", r"empty\.trec: the file is empty"),
        ("strangers", r"strangers: no line for any judged query, such as q00; it ranks docs for x"),
        ("irrelevant", "the qrels hold no relevant doc"),
        ("measure", r"cannot read the measure 'nDGC@10': .*Close: nDCG"),
        ("answers", r"AnswerAccuracy@20: by answers, which .*; elsewhere take Success@k on qrels"),
        ("resamples", r"options: resamples: .*greater than 0 \(found 0\)"),
        ("test", r"options: test: .*'permutation'.*\(found \"t\"\)"),
        ("baseline", r"--baseline: no run 'bets'; known: best, good\. Did you mean best\?"),
        ("original", r"--original: no run 'bets'; known: best, good\. Did you mean best\?"),
        ("both", "--original compares all runs with the original run: leave out --baseline"),
        ("columns", r"columns\.trec, line 1: expected 6 columns"),
        ("many", r"many\.trec, line 2: expected 6 columns .*, found 7"),
        ("folder", r"folder\.trec: cannot be read \(Is a directory\)"),
        ("refused", r"refused\.trec: not a run, it was refused: for a reason"),
        ("blank", "--measures is empty"),
        ("level", r"cannot read the measure 'AP\(rel=0\)': its rel must lie between 1 and"),
        ("score", r"score\.trec, line 2: score must be a number, found 'high'"),
        ("doc", r"doc\.trec, line 2: duplicate document in a query"),
    ],
)
def test_what_cannot_be_compared_is_refused(files, case, message, capsys):
    qrels, best, good, _ = files
    folder = qrels.parent
    runs, changes = [best, good], {}
    made = folder / f"{case}.trec"
    if case == "alone":
        runs = [best]
    elif case == "twice":
        runs = [best, folder / "best.run"]
        runs[1].write_text(best.read_text())
    elif case == "strangers":
        runs = [best, write_run(made, [1] * 2, queries=["x1", "x2"])]
    elif case == "irrelevant":
        qrels.write_text(qrels.read_text().replace(" 1\n", " 0\n"))
    elif case == "folder":
        made.mkdir()
        runs = [best, made]
    elif case in (
        "measure",
        "answers",
        "resamples",
        "test",
        "baseline",
        "blank",
        "level",
        "original",
        "both",
    ):
        changes = {
            "measure": {"measure": ["nDGC@10"]},
            "answers": {"measure": ["RR@10 AnswerAccuracy@20"]},
            "resamples": {"resamples": 0},
            "test": {"test": "t"},
            "baseline": {"baseline": ["bets"]},
            "original": {"original": "bets"},
            "both": {"original": "best", "baseline": ["best"]},
            "blank": {"measure": [" "]},
            "level": {"measure": ["AP(rel=0)"]},
        }[case]
    else:
        texts = {
            "empty": "",
            "columns": "q00 Q0 d1 1 1\n",
            "score": "q00 Q0 d1 1 2 x\nq00 Q0 d2 2 high x\n",
            "many": "q00 Q0 d1 1 2 x\nq00 Q0 d2 2 1 x y\n",
            "refused": "# not run: for a reason\n",
            "doc": "q00 Q0 d1 1 2 x\nq00 Q0 d1 2 1 x\n",
        }
        made.write_text(texts[case])
        runs = [best, made]
    with pytest.raises(ResiduumError, match=message):
        command(qrels, *runs, **changes)
    assert capsys.readouterr().out == "", "nothing is printed before all is checked"


def test_runs_against_an_original_by_hand(files, capsys, tmp_path):
    # `poor` has the doc at rank 5 of ten in every other query, else other docs are in its place:
    # RR 0.2 and 0 against 1 (best); the other nine keep their order.
    qrels, best, good, poor = files
    output = tmp_path / "o.tsv"
    command(qrels, good, best, poor, original="best", output=output, test="t-test")
    text = capsys.readouterr().out
    assert "## Reproduction" in text and "Original: best." in text
    rows = {row["a"]: row for row in pl.read_csv(output, separator="\t").iter_rows(named=True)}
    assert {(row["a"], row["b"]) for row in rows.values()} == {("good", "best"), ("poor", "best")}
    assert rows["good"]["rmse"] == pytest.approx((0.5**2 / 2) ** 0.5)
    assert rows["poor"]["rmse"] == pytest.approx(((0.8**2 + 1) / 2) ** 0.5)
    assert rows["good"]["depth"] == 10
    # In half of the queries `good` has d0 and `right` where `best` has `right` and d1. Behind the
    # ten docs of `best`, d0 is the eleventh of the union, so that 9 of 45 pairs turn: tau 0.6.
    assert rows["good"]["tau_union"] == pytest.approx((1 + 0.6) / 2)
    lines = [[c.strip() for c in line.split("|")[1:-1]] for line in text.splitlines()]
    (shown,) = [line for line in lines if line[:3] == ["RR@10", "good", "1.0000"]]
    assert shown[3:5] == ["0.7500", "-0.2500"] and shown[-1] == "10"


def test_a_query_that_a_reproduction_lacks_has_no_overlap(files, capsys, tmp_path):
    part = write_run(files[0].parent / "part.trec", [1] * 18, queries=QUERIES[:18])
    output = tmp_path / "o.tsv"
    changes = {"original": "best", "missing": "zero", "output": output, "measure": ["nDCG"]}
    command(files[0], files[1], part, **changes)
    (row,) = pl.read_csv(output, separator="\t").iter_rows(named=True)
    assert row["rbo"] == pytest.approx(18 / 24), "equal lists, and six that are absent"
    assert (row["tau_union"], row["depth"]) == (1.0, None)
    assert "| last " in capsys.readouterr().out


def test_measures_of_hits_show_what_each_run_finds_alone(files, capsys):
    """Ten lines over the runs' texts: `poor` finds every second doc, `good` ranks it first."""
    qrels, _, good, poor = files

    def answered(path, depth):
        lines = (line.split() for line in path.read_text().splitlines())
        return {query for query, _, doc, rank, *_ in lines if doc == "right" and int(rank) <= depth}

    command(qrels, good, poor, measure=("Success@1 Success@5 RR@10",))
    out = capsys.readouterr().out
    page = out[out.index("# Complementarity") :]
    for depth in (1, 5):
        one, other = answered(good, depth), answered(poor, depth)
        for names, (d, s) in (("good | poor", (one, other)), ("poor | good", (other, one))):
            counts = map(len, (d, s, d - s, d & s, {*QUERIES} - d - s))
            row = next(x for x in page.splitlines() if f"Success@{depth} | {names} " in squeezed(x))
            assert f"{names} | {' | '.join(map(str, counts))} |" in squeezed(row)
            ratio = f"| {len(d - s) / len(d):.4f} | [" if d else "| | |"
            assert ratio in squeezed(row)
    assert "RR@10" not in page
    command(qrels, good, poor, measure=("Success@5",), baseline=["good"])
    page = capsys.readouterr().out
    assert squeezed(page[page.index("# Complementarity") :]).count("Success@5 |") == 1


def squeezed(text):
    return " ".join(text.replace("\\[", "[").split())
