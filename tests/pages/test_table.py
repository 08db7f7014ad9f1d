"""From metrics files to rendered tables: values, markers and notes follow from the data."""

import json
import re

import polars as pl
import pytest

from bounds_fixture import bounds_of
from residuum import ledger, significance
from residuum.artefacts import manifest, trec
from residuum.cli.errors import ResiduumError
from residuum.pages import layout
from residuum.pages.entries import UNPRINTED, prefix_of
from residuum.pages.table import make as tables
from tables_fixture import TABLE, job, spec, write_metrics, write_verdict


@pytest.fixture
def made(tmp_path):
    """Render the toy table and return (tsv frame, markdown, latex, significance frame)."""
    metrics = write_metrics(tmp_path / "metrics")
    text = spec(job())
    significance.compare(text, metrics, tmp_path / "s.tsv", bounds_of(metrics))
    tables.render(text, metrics, tmp_path / "s.tsv", tmp_path / "t.tsv", [])
    tests = pl.read_csv(tmp_path / "s.tsv", separator="\t")
    tsv = pl.read_csv(tmp_path / "t.tsv", separator="\t")
    return tsv, (tmp_path / "t.md").read_text(), (tmp_path / "t.tex").read_text(), tests


def cell(tsv, row, column="rr"):
    return tsv.filter(row=row, column=column).row(0, named=True)


def test_significance_file_by_hand(made):
    tests = made[3]
    assert tests.height == 3, "three rows with runs in one bound column"
    pair = tests.filter(a="base", b="ours").row(0, named=True)
    assert pair["difference"] == pytest.approx(0.3 - (0.5 + 0.4) / 2)
    assert (pair["wins"], pair["ties"], pair["losses"], pair["n"]) == (0, 0, 40, 40)
    assert pair["p"] == 1 / 10_000  # all queries agree: only the identity of 9,999 flips counts
    assert pair["significant"] is True
    other = tests.filter(a="ours", b="ablation").row(0, named=True)
    assert (other["wins"], other["ties"], other["losses"]) == (2, 38, 0)
    assert other["p"] == 0.5, "2 of 4 sign patterns are as extreme"
    assert other["method"] == "exact, 2^2 sign flips"
    assert other["significant"] is False


def test_tidy_cells(made):
    ours = cell(made[0], "ours")
    assert (ours["n"], ours["seeds"]) == (40, 2)
    assert ours["measured"] == pytest.approx(0.45)
    assert (ours["lowest"], ours["highest"]) == (pytest.approx(0.4), pytest.approx(0.5))
    assert ours["std"] == pytest.approx(0.1 / 2**0.5)
    assert (str(ours["beats"]), ours["reported"], ours["reported_beats"]) == ("1", 0.4, "1,3")
    assert cell(made[0], "base")["beats"] == ""
    assert cell(made[0], "ablation")["below"] is False


def test_a_missing_run_is_never_a_zero(made):
    later, far = cell(made[0], "later"), cell(made[0], "base", "far")
    assert (later["measured"], later["not_run"]) == (None, "not built yet")
    assert (far["measured"], far["not_run"]) == (None, "scale toy binds nothing to covid")
    assert "| not run" in made[1]


def test_the_grid_has_what_the_scale_makes_and_the_notes_name_the_rest(tmp_path):
    """No split plays the role of `far`, and the scale leaves `ablation` out; both keep their cells.

    The row `later` stands: no scale makes it yet.
    """
    why = "scale toy leaves it out (left_out)"
    more = {"left_out": ["ablation"], "absent": {"ablation": {"rr": why, "far": why}}}
    tsv, markdown, _ = render(tmp_path, {}, job().model_copy(update=more))
    latex = (tmp_path / "t.tex").read_text()
    grid = [line for line in markdown.splitlines() if line.startswith("|")]
    assert (
        len(grid) == 2 + 3 and "covid" not in grid[0] and not re.search("Ablation", "".join(grid))
    )
    assert "Ablation" not in latex.partition(r"\end{tabular}")[0]
    assert cell(tsv, "ablation")["not_run"] == why and tsv.height == 4 * 2
    assert f"Not run: ablation: {why}." in markdown
    assert "covid P@5: no split has this role at this scale." in markdown


def test_markdown_prints_values_markers_and_what_they_rest_on(made):
    markdown = made[1]
    assert "2 Ours" in markdown
    assert "0.450 ¹ ±0.071" in markdown
    assert "dev RR@10: data/dev in the role of dev (the paper's MRR@10), 40 queries." in markdown
    assert "9999 sign flips, seed 1" in markdown
    assert "correction none, family: each column" in markdown
    assert "base: lexical; bm25 b 0.4, k1 0.9." in markdown
    assert "means over 2 training seeds" in markdown


def test_a_page_of_ones_own_has_no_words_of_a_paper(tmp_path):
    own = job(reported={}, tolerance={}, printed_in=UNPRINTED)
    metrics = write_metrics(tmp_path / "metrics")
    significance.compare(spec(own), metrics, tmp_path / "s.tsv", bounds_of(metrics))
    tables.render(spec(own), metrics, tmp_path / "s.tsv", tmp_path / "t.tsv", [])
    markdown = (tmp_path / "t.md").read_text()
    assert "- dev RR@10: data/dev in the role of dev, 40 queries." in markdown
    assert "(not printed in a paper)" in markdown and "the paper's MRR@10" not in markdown
    assert (prefix_of(UNPRINTED), prefix_of("Toy, Table 1")) == ("", "Toy, Table 1: ")


def test_the_index_stands_beside_the_numbers_where_the_table_states_one(tmp_path):
    def record(metrics):
        for run in ("base", "ours.seed1", "ours.seed2", "ablation"):
            path = manifest.beside(metrics / "data" / "dev" / f"{run}.tsv")
            index = {"documents": 3204, "total_terms": 5, "lucene": "9.9.1"}
            path.write_text(json.dumps({"artefact": {"index": index}}))

    made = job(columns=[*TABLE["columns"], DEPTH_COLUMN], index={"documents": 3205})
    tsv, markdown, _ = render(tmp_path, DEPTHS, made, record)
    described = "documents 3,204, non-empty documents unknown, unique terms unknown, total terms 5"
    assert cell(tsv, "base")["index"] == f"{described}, lucene 9.9.1"
    assert cell(tsv, "base")["other_index"] == ("another index: documents 3,204, stated 3,205")
    assert cell(tsv, "base", "far")["index"] is None
    assert markdown.count(f"- Index searched on data/dev: {described}, lucene 9.9.1.\n") == 1
    assert "- Index of the published numbers: documents 3,205." in markdown
    assert "Scale toy" not in markdown, "the scale decides nothing here"
    read = json.loads((tmp_path / "t.tsv.manifest.json").read_text())["inputs"]
    assert str(tmp_path / "metrics/data/dev/base.tsv.manifest.json") in read


def test_as_many_digits_are_shown_as_the_paper_prints(tmp_path):
    reported = {"base": {"rr": "0.3000 ^2"}, "ours": {"rr": "0.4"}}
    markdown = render(tmp_path, {}, job(reported=reported))[1]
    assert shown(markdown, "1 Base", 2) == "0.3000"
    assert shown(markdown, "2 Ours", 2) == "0.4500 ¹ ±0.0707"


def test_latex_is_booktabs_with_raised_markers(made):
    latex = made[2]
    assert r"0.450$^{1}_{\pm 0.071}$" in latex
    assert r"\caption{Toy \& table}" in latex
    assert latex.count(r" \\") == 2 + 2 + 4, "two lines of header, two groups, four rows"
    assert "Superscripts" in latex.partition(r"\end{table*}")[2], "notes stand below the float"
    assert all(rule in latex for rule in (r"\toprule", r"\midrule", r"\bottomrule"))


@pytest.mark.parametrize(
    ("indices", "text", "shown"),
    [([1, 2, 3, 4], "1-4", "1-4"), ([1, 3], "1,3", "13"), ([2, 1], "1,2", "12"),
     ([1, 3, 4, 5, 11], "1,3-5,11", "1,3-5,11"), ([], "", "")],
)  # fmt: skip
def test_indices_are_written_as_the_papers_do(indices, text, shown):
    assert layout.span(indices) == text
    assert layout.raised(text) == shown


def test_different_query_sets_are_an_error(tmp_path):
    metrics = write_metrics(tmp_path / "metrics")
    path = metrics / "data" / "dev" / "base.tsv"
    path.write_text("\n".join(path.read_text().splitlines()[:-1]) + "\n")
    with pytest.raises(ResiduumError, match="rows base and ours hold different queries"):
        significance.compare(spec(job()), metrics, tmp_path / "s.tsv", bounds_of(metrics))
    assert not (tmp_path / "s.tsv").exists()


def test_a_run_without_the_measure_says_which_it_has(tmp_path):
    metrics = write_metrics(tmp_path / "metrics")
    path = metrics / "data" / "dev" / "base.tsv"
    path.write_text(path.read_text().replace("RR@10", "P@10"))
    with pytest.raises(ResiduumError, match=r"base\.tsv: no values of RR@10; it holds P@10"):
        significance.compare(spec(job()), metrics, tmp_path / "s.tsv", bounds_of(metrics))


DEPTH_COLUMN = {"id": "k", "role": "dev", "measure": "depth", "header": "K"}
DEPTH = {"choices": [{"setting": {"depth": 50}}], "measure": "RR@10", "queries": 500}
DEPTHS = {"data/dev/ours.seed1": DEPTH, "data/dev/ours.seed2": DEPTH}
FOLDS = {
    "measure": "RR@10",
    "choices": [
        {"setting": {"feedback_docs": 5, "feedback_terms": 10}, "queries": 20,
         "mean": 0.25, "held_out": 0.2, "at_edge": ["feedback_docs"]},
        {"setting": {"feedback_docs": 10, "feedback_terms": 10}, "queries": 21,
         "mean": 0.3, "held_out": 0.1},
    ],
    "fold_of": {"q1": 0, "q2": 1},
}  # fmt: skip


def depth(value, **more):
    return {**DEPTH, "choices": [{"setting": {"depth": value}, **more}]}


def render(folder, records, made=None, edit=None):
    """Render the table with a depth column and tuning files {"dataset/split/run": record}."""
    metrics = write_metrics(folder / "metrics")
    if edit:
        edit(metrics)
    made = made or job(columns=[*TABLE["columns"], DEPTH_COLUMN])
    made.splits["k"] = "data/dev"
    paths = [folder / "tuning" / f"{name}.json" for name in records]
    for path, record in zip(paths, records.values(), strict=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(record))
    significance.compare(spec(made), metrics, folder / "s.tsv", bounds_of(metrics))
    tables.render(spec(made), metrics, folder / "s.tsv", folder / "t.tsv", paths)
    tsv = pl.read_csv(folder / "t.tsv", separator="\t", infer_schema_length=None)
    return tsv, (folder / "t.md").read_text(), pl.read_csv(folder / "s.tsv", separator="\t")


def shown(markdown, label, column=-1):
    line = next(line for line in markdown.splitlines() if f" {label} " in line)
    return [cell.strip() for cell in line.split("|")[1:-1]][column]


def test_a_depth_column_shows_what_was_chosen(tmp_path):
    records = {
        "data/dev/ours.seed1": depth(20),
        "data/dev/ours.seed2": DEPTH,
        "data/judged/ours.seed2": depth(1000),
        "data/tune/ablation": depth(10, at_edge=["depth"]),
    }
    tsv, markdown, tests = render(tmp_path, records)
    ours = cell(tsv, "ours", "k")
    assert (ours["measured"], ours["per_seed"], ours["seeds"]) == (35.0, "20.0 50.0", 2)
    assert (ours["lowest"], ours["highest"], ours["n"]) == (20.0, 50.0, 500)
    assert cell(tsv, "ablation", "k")["measured"] == 10, "its only record, whatever its split"
    base = cell(tsv, "base", "k")
    assert (base["measured"], base["not_run"]) == (None, "no depth: not a rerank system")
    assert cell(tsv, "later", "k")["not_run"] == "not built yet"
    assert "Rerank depth K" in markdown.splitlines()[4]
    assert [shown(markdown, row) for row in ("1 Base", "2 Ours", "- w/o it", "3 Later")] == [
        layout.DASH, f"35 (20{layout.DASH}50)", "10", "not run"
    ]  # fmt: skip
    assert set(tests["column"]) == {"rr"}, "a depth is chosen, not tested"


def test_a_depth_of_folds_is_their_mean_over_queries(tmp_path):
    """Three queries at 20 and one at 60 have 30."""
    means = {"mean": 0.3, "held_out": 0.2}
    choices = [
        {"setting": {"depth": depth}, "queries": number, **means}
        for depth, number in ((20, 3), (60, 1))
    ]
    folds = {**DEPTH, "choices": choices, "fold_of": {"q1": 0, "q2": 0, "q3": 0, "q4": 1}}
    ours = {f"data/dev/ours.seed{seed}": folds for seed in (1, 2)}
    tsv, markdown, _ = render(tmp_path, {**ours, "data/dev/ablation": depth(10)})
    assert (cell(tsv, "ours", "k")["measured"], cell(tsv, "ours", "k")["seeds"]) == (30.0, 2)
    assert shown(markdown, "2 Ours") == "30"


def test_what_a_reranker_is_and_the_precision_behind_a_table_stand_under_it(tmp_path):
    made = job().model_copy(update={"rerankers": {"large": "org/net at 1234abcd: it saw dev."}})
    metrics, tests = write_metrics(tmp_path / "metrics"), tmp_path / "s.tsv"
    significance.compare(spec(made), metrics, tests, bounds_of(metrics))
    model = tmp_path / "models" / "net" / "seed1" / "manifest.json"
    model.parent.mkdir(parents=True)
    model.write_text(json.dumps({"artefact": {}, "spec": {"device": "cuda", "precision": "bf16"}}))
    tables.render(spec(made), metrics, tests, tmp_path / "t.tsv", [], [model])
    page = (tmp_path / "t.md").read_text()
    assert "- large: org/net at 1234abcd: it saw dev.\n" in page
    assert "- Matrix products in bf16 on cuda: training of net." in page
    kept = json.loads((tmp_path / "t.tsv.manifest.json").read_text())
    assert str(model) in kept["inputs"]


def test_a_reranked_run_without_its_record_is_an_error(tmp_path):
    with pytest.raises(ResiduumError, match=r"row ours: no tuning .* depth of ours\.seed2"):
        render(tmp_path, {"data/dev/ours.seed1": DEPTH})


def test_tuning_notes_are_sorted_by_run_and_said_once(tmp_path):
    records = {
        "data/dev/rm3": FOLDS,
        "data/tune/fused": {
            "choices": [{"setting": {"lambda": 0.5}, "at_edge": ["lambda"]}],
            "measure": "RR@10",
            "queries": 500,
        },
        "data/dev/fixed": {"choices": [{"setting": {"depth": 10}}]},
        "data/judged/base": DEPTH,
        "data/dev/base": DEPTH,
    }
    markdown = render(tmp_path, records)[1]
    notes = [
        x for x in markdown.splitlines() if x.startswith("- ") and ("RR@10" in x or "fixed" in x)
    ][1:]
    assert notes == [
        "- base: depth K 50, chosen on 500 tuning queries by RR@10.",
        "- fixed: depth K 10, fixed.",
        "- fused: lambda 0.5 (at an edge of its grid), chosen on 500 tuning queries by RR@10.",
        "- rm3 on data/dev: RM3 chosen for each fold of the queries by RR@10 on the other folds: "
        "fold 1 (20 queries) feedback_docs 5, feedback_terms 10 (feedback_docs at an edge of its "
        "grid), 0.250 on the others and 0.200 held out; fold 2 (21 queries) feedback_docs 10, "
        "feedback_terms 10, 0.300 on the others and 0.100 held out.",
    ]


def test_a_note_says_that_a_curve_took_the_fewest_steps_and_which_were_best(tmp_path):
    points = {0: 0.1, 300: 0.41, 600: 0.5, 900: 0.52, 1200: 0.49}
    record = {
        "choices": [{"setting": {"steps": 600}}],
        "measure": "RR@10",
        "queries": 300,
        "tried": [{"setting": {"steps": n}, "means": [mean]} for n, mean in points.items()],
        "within": 2.0,
    }
    ended = {**record, "choices": [{"setting": {"steps": 1200}, "at_edge": ["steps"]}]}
    lines = render(tmp_path, {"one/tune/a@steps-1200": record, "one/tune/b@steps-1200": ended})
    assert [line for line in lines[1].splitlines() if "steps" in line] == [
        "- a@steps-1200: steps 600, the fewest within 2 standard errors of the best (900) on 300 "
        "tuning queries by RR@10.",
        "- b@steps-1200: steps 1200, the end of the curve, the fewest within 2 standard errors of "
        "the best (900) on 300 tuning queries by RR@10.",
    ]


def test_choices_of_a_run_that_differ_name_their_splits(tmp_path):
    record = {"choices": [{"setting": {"lambda": 0.5}}], "measure": "RR@10", "queries": 500}
    other = {**record, "choices": [{"setting": {"lambda": 0.2}}], "queries": 40}
    lines = render(tmp_path, {"one/tune/fused": record, "two/tune/fused": other})[1].splitlines()
    assert [line for line in lines if "lambda" in line] == [
        "- fused on one/tune: lambda 0.5, chosen on 500 tuning queries by RR@10.",
        "- fused on two/tune: lambda 0.2, chosen on 40 tuning queries by RR@10.",
    ]


def test_each_reason_stands_once_under_the_table(made, tmp_path):
    assert made[1].count("not built yet") == 1
    assert "- Not run: later: not built yet." in made[1]
    assert "binds nothing" not in made[1], "the column's own note says it"
    partly = job().model_copy(update={"absent": {"base": {"rr": "no file. Get it."}}})
    markdown = render(tmp_path, {}, partly)[1]
    assert "- Not run: base: no file. Get it.\n" in markdown


def test_a_row_that_is_partly_run_names_its_columns(tmp_path):
    far = {"id": "far", "role": "dev", "measure": "RR@10", "header": "again"}
    made = job(columns=[TABLE["columns"][0], far])
    made.splits["far"] = "data/dev"
    absent = {"base": {"far": "no run"}, "ablation": {"far": "no run"}}
    markdown = render(tmp_path, {}, made.model_copy(update={"absent": absent}))[1]
    assert "- Not run: base (dev RR@10); ablation (dev RR@10): no run." in markdown


def test_metrics_that_were_refused_leave_a_cell_not_run(tmp_path):
    def refuse(metrics):
        trec.write_refusal(metrics / "data" / "dev" / "base.tsv", "x.trec, line 3: no such doc")

    made = job(columns=[*TABLE["columns"], DEPTH_COLUMN])
    tsv, markdown, tests = render(tmp_path, {}, made, refuse)
    assert cell(tsv, "base")["not_run"] == "x.trec, line 3: no such doc"
    assert cell(tsv, "base")["measured"] is None
    assert "- Not run: later: not built yet." in markdown
    assert "- Not run: base: x.trec, line 3: no such doc." in markdown
    assert tests.height == 1, "only ours and the ablation are left"


def test_notes_say_who_is_compared_and_how_seeds_agree(tmp_path):
    metrics = write_metrics(tmp_path / "metrics")
    tests = {"compare": "with_baselines", "correction": "bonferroni"}
    text = spec(job(tests=tests, baselines=["base"]))
    significance.compare(text, metrics, tmp_path / "s.tsv", bounds_of(metrics))
    tables.render(text, metrics, tmp_path / "s.tsv", tmp_path / "t.tsv", [])
    page = (tmp_path / "t.md").read_text()
    note = "9999 sign flips, seed 1), alpha 0.05, compared with base only, correction bonferroni"
    assert note in page
    assert "0 of 1 significant comparisons between rows with seeds hold" in page
    assert "Seeds that agree when tested alone: 2 of 2 for 1." in page


def test_notes_name_a_p_near_alpha_and_count_exact_ones(made, tmp_path):
    tests = pl.read_csv(tmp_path / "s.tsv", separator="\t").with_columns(
        p=pl.when(a="base", b="ours").then(0.049).otherwise("p"),
        p_adjusted=pl.when(a="base", b="ours").then(0.049).otherwise("p_adjusted"),
        p_error=pl.when(a="base", b="ours").then(0.002).otherwise("p_error"),
    )
    tests.write_csv(tmp_path / "near.tsv", separator="\t")
    tables.render(spec(job()), tmp_path / "metrics", tmp_path / "near.tsv", tmp_path / "n.tsv", [])
    page = (tmp_path / "n.md").read_text()
    assert "other resamples could decide otherwise: rr, base and ours (p 0.0490 ± 0.0020)." in page
    assert "Exact p in 1 of 3 comparisons" in page
    assert "could decide otherwise" not in made[1]


FACTS = {
    **{"examples": 1000, "loss": 2.35, "loss_of_equal_scores": 1.21, "gap": -0.762},
    **{"gap_where_active": -0.762, "gap_where_active_at_most": -0.597},
    **{"negatives_above": 0.627, "gap_sd": 2.61, "margin": 1.2},
}
VERDICT = {
    "reason": "RR@10 0.1 is no better than 0.2, that of the start",
    "means": {"trained": 0.1, "start": 0.2, "random order": 0.05},
    **{"examples": 40, "better": 3, "worse": 9, "preflight": FACTS},
}


def test_a_row_whose_model_did_not_learn_is_no_result(tmp_path):
    """One seed of two is enough; the other rows are tested and marked as ever."""
    models = {"ours.seed1": ["dual/seed1"], "ours.seed2": ["dual/seed2"]}
    learning = [
        write_verdict(tmp_path / "dual" / f"seed{n}.json", learned=n == 1, **VERDICT)
        for n in (1, 2)
    ]
    metrics = write_metrics(tmp_path / "metrics")
    bound = job().model_copy(update={"models": {"data": models}})
    tests, table = tmp_path / f"{bound.id}.tsv", tmp_path / "t.tsv"
    significance.compare(spec(bound), metrics, tests, bounds_of(metrics), learning=learning)
    tables.render(spec(bound), metrics, tests, table, [], learning=learning)
    compared = pl.read_csv(tests, separator="\t")
    assert compared.select("a", "b").rows() == [("base", "ablation")]
    ours = cell(pl.read_csv(table, separator="\t"), "ours")
    assert (ours["measured"], ours["not_learned"], ours["beats"]) == (None, True, "")
    assert ours["not_run"] == "dual seed2: RR@10 0.1 is no better than 0.2, that of the start"
    page = (tmp_path / "t.md").read_text()
    assert re.search(r"2 Ours +\| not learned +\|", page)
    assert "- Not learned: ours: dual seed2: RR@10 0.1 is no better" in page
    assert "dual seed1: learned; RR@10 over 40 held-out examples of data/tune: trained 0.1" in page
    assert "better on 3, worse on 9. First 1,000 examples at step 0: gap -0.762" in page
    assert "63% of the negatives above their positive, loss 2.35, of equal scores 1.21." in page
    assert "Active triplets have no gap to widen" in page
    ledger.write([spec(bound)], [table], tmp_path / "l.tsv", [tests])
    rows = pl.read_csv(tmp_path / "l.tsv", separator="\t")
    verdicts = dict(rows.select("claim", "verdict").iter_rows())
    assert verdicts["RR@10 = 0.4"] == "not learned"
    assert verdicts["ours significantly above base"] == "not learned"
    assert verdicts["ablation significantly below ours"] == "not learned"
    assert verdicts["RR@10 = 0.35"] == "differs"
    assert "Not learned: 4." in (tmp_path / "l.md").read_text()


def test_a_control_is_shown_and_compared_with_none(tmp_path):
    rows = [{**row, "control": row["id"] == "base", "index": None} for row in TABLE["rows"]]
    bound = job(rows=rows, reported={})
    metrics, tests = write_metrics(tmp_path / "metrics"), tmp_path / "s.tsv"
    significance.compare(spec(bound), metrics, tests, bounds_of(metrics))
    tables.render(spec(bound), metrics, tests, tmp_path / "t.tsv", [])
    assert pl.read_csv(tests, separator="\t").select("a", "b").rows() == [("ours", "ablation")]
    assert cell(pl.read_csv(tmp_path / "t.tsv", separator="\t"), "base")["measured"] == 0.3


def test_a_row_without_a_number_shows_whom_it_beats_and_one_training_is_said(tmp_path):
    metrics = write_metrics(tmp_path / "metrics")
    rows = [{**row, "index": row.get("index") if row["id"] == "base" else None}
            for row in TABLE["rows"][:2]]  # fmt: skip
    made = job(rows=rows, reported={}, baselines=["base"], tests={"compare": "with_baselines"})
    text = spec(made.model_copy(update={"runs": {"base": ["base"], "ours": ["ours.seed1"]}}))
    significance.compare(text, metrics, tmp_path / "s.tsv", bounds_of(metrics))
    tables.render(text, metrics, tmp_path / "s.tsv", tmp_path / "t.tsv", [])
    tsv = pl.read_csv(tmp_path / "t.tsv", separator="\t")
    assert str(cell(tsv, "ours")["beats"]) == "1"
    page = (tmp_path / "t.md").read_text()
    assert "0.500 ¹" in page
    assert "Trained once: ours. Their comparisons hold for these models" in page
