"""Claims of prose on hand-made values: every relation, one verdict of many tests, the page."""

import json

import polars as pl
import pytest

from bounds_fixture import bounds_of, unmeasured
from residuum import ledger, significance
from residuum.artefacts import trec
from residuum.config.schema.tests import Tests
from residuum.config.specs import canonical_json
from residuum.pages import grids
from residuum.pages.claims import make as claims
from residuum.pages.claims.entry import Claims
from residuum.pages.claims.job import BoundClaims
from residuum.pages.figure.entry import Figure
from residuum.pages.figure.job import BoundFigure
from residuum.pages.grids import GridCell
from residuum.pages.table import make as tables
from residuum.pages.verdicts import LedgerRow
from residuum.paired import Comparison
from tables_fixture import job, spec, write_metrics, write_verdict

TESTS = {"test": "permutation", "alpha": 0.05, "correction": "holm", "family": "column"}
FIGURE = {
    "kind": "figure",
    "title": "Toy depths",
    "printed_in": "Toy, Figure 1",
    "role": "dev",
    "series": [{"id": name, "label": name, "system": name} for name in ("up", "falls", "flat")],
    "panels": [
        {"id": "recall", "shows": "recall", "header": "Recall"},
        {"id": "after", "shows": "reranked", "measure": "RR@10", "header": "MRR@10"},
    ],
    "tests": "toy",
}
# RR@10 of each of 40 queries at depth 0, 10, 20 and 50; recall is the depth over 100.
CURVE = {
    "up": {0: 0.9, 10: 0.2, 20: 0.2, 50: 0.4},
    "falls": {0: 0.9, 10: 0.5, 20: 0.7, 50: 0.6},
    "flat": {0: 0.9, 10: 0.3, 20: 0.3, 50: 0.3},
}


def curve(path, of_runs=CURVE):
    rows = [
        (run, depth, f"q{i:02d}", measure, value)
        for run, of in of_runs.items()
        for depth, mean in of.items()
        for i in range(40)
        for measure, value in (("RR@10", mean), ("recall", depth / 100))
    ]
    columns = ["run", "depth", "query_id", "measure", "value"]
    path.parent.mkdir(parents=True)
    trec.write_curve(path, pl.DataFrame(rows, schema=columns, orient="row"))
    return path


def bound(*made, absent=None, table=None):
    """Bind claims: each is what its sentence holds, with its id, or why there is no test."""
    entries = [
        {"id": f"c{i}", "section": "5", "says": f"Sentence {i}.",
         **({"no_test": holds} if isinstance(holds, str) else {"holds": holds})}
        for i, holds in enumerate(made)
    ]  # fmt: skip
    page = {"kind": "claims", "title": "What Toy says", "printed_in": "Toy, prose", "tests": "t"}
    page["notes"] = ["A choice."]
    figure = BoundFigure(
        id="toy-figure1", entry=Figure.model_validate(FIGURE), tests=Tests(**TESTS),
        splits=dict.fromkeys(CURVE, "data/dev"), absent=absent or {},
        runs={n: [n] for n in CURVE if n not in (absent or {})}, scale="toy", reason="a toy.",
    )  # fmt: skip
    return BoundClaims(
        id="toy-claims",
        entry=Claims.model_validate({**page, "claims": entries}),
        tests=Tests(**TESTS),
        tables={"table1": table or job()},
        figures={"figure1": figure},
        scale="toy",
        reason="a toy.",
    )


def judged(folder, made, depths=(), splits=None, learning=None):
    """Run the stage; return its rows by claim, its tests and its page."""
    folder.mkdir(exist_ok=True)
    cells = [
        GridCell("toy-table1", row, column, "depth", "data/dev").measured_as([depth], 40)
        for row, depth in depths
        for column in ("rr", "far")
    ]
    grids.frame(cells, GridCell).write_csv(folder / "toy-table1.tsv", separator="\t")
    text = canonical_json(made.model_dump(mode="json"))
    metrics, output = write_metrics(folder / "metrics"), folder / "claims" / "toy-claims.tsv"
    tests = folder / "significance" / "toy-claims.tsv"
    read = (
        [folder / "toy-table1.tsv"],
        [
            curve(folder / "rerank" / "data" / split / "toy.depths.tsv", of_runs)
            for split, of_runs in (splits or {"dev": CURVE}).items()
        ],
    )
    claims.judge(text, metrics, tests, output, *unmeasured(metrics), *read, learning=learning)
    rows = {row.row: row for row in grids.rows(output, LedgerRow)}
    page = output.with_suffix(".md").read_text()
    assert "\n- A choice.\n" in page, "a note of the entry"
    return rows, grids.rows(tests, Comparison), page


def between(relation, rows, columns=("rr",), page="table1"):
    return {"relation": relation, "page": page, "rows": rows, "columns": list(columns)}


def one_seed():
    """Return the toy table whose rows have a seed each."""
    made = job()
    return made.model_copy(update={"runs": {**made.runs, "ours": ["ours.seed1"]}})


@pytest.mark.parametrize(
    ("relation", "rows", "verdict"),
    [
        ("above", {"ours": ["base"]}, "holds"),
        ("below", {"ours": ["base"]}, "reversed"),
        ("below", {"base": ["ours"]}, "holds"),
        ("apart", {"base": ["ours"], "ablation": ["ours"]}, "holds"),
        ("above", {"base": ["base"]}, "not judged"),
        ("above", {"ours": ["base"], "base": ["ablation"]}, "reversed"),
        ("above", {"ours": ["base", "ours"]}, "not judged"),
        ("above", {"ours": ["base", "later"]}, "not run"),
    ],
)
def test_rows_of_a_table_and_the_verdict_of_several(tmp_path, relation, rows, verdict):
    result, _, _ = judged(tmp_path, bound(between(relation, rows), table=one_seed()))
    assert result["c0"].verdict == verdict


def test_a_claim_that_turns_with_the_seeds_is_of_these_models_only(tmp_path):
    # Two seeds, 0.2 and 0.1 above: t 3 with one degree of freedom, p 0.2.
    result, _, _ = judged(tmp_path, bound(between("above", {"ours": ["base"]})))
    row = result["c0"]
    assert (row.verdict, row.kind, row.printed_in) == ("these models only", "claim", "Toy, prose")
    assert row.p_over_seeds == pytest.approx(0.2048, abs=1e-4) and row.seeds_agreeing == "2/2"


def test_a_claim_is_a_family_of_its_own(tmp_path):
    # Every flip of 40 equal differences but two is smaller: p is 1 of 10,000, doubled by Holm in
    # the claim of two comparisons and not in the claim of one.
    two = between("above", {"ours": ["base"], "ablation": ["base"]})
    one = between("above", {"ours": ["base"]})
    _, tests, _ = judged(tmp_path, bound(two, one, table=one_seed()))
    shown = [(test.family, test.a, test.p, test.p_adjusted) for test in tests]
    assert shown == [
        ("c0", "ablation", 0.0001, 0.0002), ("c0", "ours", 0.0001, 0.0002),
        ("c1", "ours", 0.0001, 0.0001),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("relation", "series", "verdict"),
    [
        ("rises", "up", "holds"),
        ("rises", "falls", "reversed"),
        ("rises", "flat", "not judged"),
        ("needs_largest", "up", "holds"),
        ("needs_largest", "falls", "reversed"),
        ("needs_largest", "flat", "not judged"),
    ],
)
def test_a_series_over_its_depths(tmp_path, relation, series, verdict):
    # The first stage alone, at depth 0, is no rerank depth: it would decide all of these.
    claim = {"relation": relation, "page": "figure1", "rows": [series], "columns": ["after"]}
    result, tests, _ = judged(tmp_path, bound(claim))
    assert result["c0"].verdict == verdict
    pairs = [(test.a, test.b) for test in tests]
    ends = [(f"{series} at K 50", f"{series} at K 10")]
    steps = [(f"{series} at K 20", f"{series} at K 10"), (f"{series} at K 50", f"{series} at K 20")]
    assert pairs == (ends + steps if relation == "rises" else [ends[0], steps[1]])


def test_series_are_compared_at_every_depth(tmp_path):
    above = between("above", {"falls": ["up", "flat"]}, ["after"], "figure1")
    equal = between("above", {"falls": ["up"]}, ["recall"], "figure1")
    result, tests, _ = judged(tmp_path, bound(above, equal))
    assert (result["c0"].verdict, result["c1"].verdict) == ("holds", "not judged")
    assert [test.column for test in tests if test.family == "c0"] == [
        f"after/{depth}" for of in ("up", "flat") for depth in (10, 20, 50)
    ]


def test_a_series_without_runs_is_not_run_with_its_reason(tmp_path):
    claim = between("above", {"falls": ["up"]}, ["after"], "figure1")
    result, _, _ = judged(tmp_path, bound(claim, absent={"up": "no such model."}))
    assert (result["c0"].verdict, result["c0"].reason) == ("not run", "no such model")


def test_a_figure_without_a_split_or_with_one_depth_is_not_run(tmp_path):
    why = "scale toy binds nothing to dev"
    above = between("above", {"falls": ["up"]}, ["after"], "figure1")
    along = [
        {"relation": relation, "page": "figure1", "rows": ["up"], "columns": ["after"]}
        for relation in ("rises", "needs_largest")
    ]
    made = bound(above, *along, absent=dict.fromkeys(CURVE, why))
    unbound = dict.fromkeys(CURVE)
    for places in (made.figures["figure1"].splits, unbound):
        figure = made.figures["figure1"].model_copy(update={"splits": places})
        rows, tests, _ = judged(
            tmp_path / str(places is unbound),
            made.model_copy(update={"figures": {"figure1": figure}}),
        )
        assert {(row.verdict, row.reason) for row in rows.values()} == {("not run", why)}
        assert tests == []
    alone = {run: {0: 0.9, 10: of[10]} for run, of in CURVE.items()}
    rows, tests, _ = judged(tmp_path / "alone", bound(above, *along), splits={"dev": alone})
    assert [row.verdict for row in rows.values()] == ["holds", "not run", "not run"]
    assert "fewer than two points" in rows["c1"].reason
    assert [(test.family, test.column) for test in tests] == [("c0", "after/10")]


def test_a_figure_reads_the_depth_curve_of_its_own_split(tmp_path):
    claim = {"relation": "rises", "page": "figure1", "rows": ["up"], "columns": ["after"]}
    other = {run: {depth: 0.5 for depth in of} for run, of in CURVE.items()}
    rows, _, _ = judged(tmp_path, bound(claim), splits={"judged": other, "dev": CURVE})
    assert rows["c0"].verdict == "holds"


def test_sentences_about_models_that_did_not_learn_rest_on_different_rows(tmp_path):
    models = {"ours.seed1": ["dual/seed1"]}
    table = one_seed().model_copy(update={"models": {"data": models}})
    made = bound(
        between("above", {"ours": ["base"]}),
        between("above", {"ours": ["ablation"]}),
        between("below", {"base": ["ours"]}),
        table=table,
    )
    learning = [write_verdict(tmp_path / "dual" / "seed1.json")]
    rows, tests, _ = judged(tmp_path, made, learning=learning)
    assert {row.verdict for row in rows.values()} == {"not learned"} and tests == []
    assert len({row.rests_on for row in rows.values()}) == 3


def test_what_a_sentence_rests_on_is_its_rows_whether_they_learned_or_not(tmp_path):
    models = {"ours.seed1": ["dual/seed1"]}
    made = bound(between("above", {"ours": ["base"]}), table=one_seed())
    learned, _, _ = judged(tmp_path / "a", made)
    faulty = one_seed().model_copy(update={"models": {"data": models}})
    made = bound(between("above", {"ours": ["base"]}), table=faulty)
    learning = [write_verdict(tmp_path / "dual" / "seed1.json")]
    other, _, _ = judged(tmp_path / "b", made, learning=learning)
    assert learned["c0"].rests_on == other["c0"].rests_on
    stricter = made.model_copy(update={"tests": Tests(**{**TESTS, "alpha": 0.01})})
    again, _, _ = judged(tmp_path / "c", stricter, learning=learning)
    assert again["c0"].rests_on != other["c0"].rests_on, "tested otherwise, it is another verdict"


def test_a_sentence_that_rests_on_what_another_rests_on_is_counted_there(tmp_path):
    # The series `twin` is of the run of `up`, as another paper may call it.
    series = [*FIGURE["series"], {"id": "twin", "label": "twin", "system": "up"}]
    made = bound(
        between("above", {"falls": ["up"]}, ["after"], "figure1"),
        between("above", {"falls": ["twin"]}, ["after"], "figure1"),
        between("above", {"falls": ["up"]}, ["recall"], "figure1"),
        between("below", {"falls": ["up"]}, ["after"], "figure1"),
        "no margin is named",
    )
    figure = made.figures["figure1"]
    renamed = figure.model_copy(
        update={
            "entry": Figure.model_validate({**FIGURE, "series": series}),
            "runs": {**figure.runs, "twin": ["up"]},
            "splits": {**figure.splits, "twin": "data/dev"},
        }
    )
    made = made.model_copy(update={"figures": {"figure1": renamed}})
    rows, _, _ = judged(tmp_path, made)
    assert rows["c0"].verdict == rows["c1"].verdict
    rows_of, table = tmp_path / "claims" / "toy-claims.tsv", tmp_path / "t.tsv"
    significance.compare(
        spec(job()),
        tmp_path / "metrics",
        tmp_path / "toy-table1.tsv",
        bounds_of(tmp_path / "metrics"),
    )
    tests = tmp_path / "toy-table1.tsv"
    tables.render(spec(job()), tmp_path / "metrics", tests, table, [])
    ledger.write([spec(job())], [table], tmp_path / "l.tsv", [tests], [rows_of])
    listed = [row for row in grids.rows(tmp_path / "l.tsv", LedgerRow) if row.kind == "claim"]
    assert [row.same_as for row in listed] == [None, "toy/claims/c0", None, None, None]


@pytest.mark.parametrize(
    ("depths", "comparable", "verdict"),
    [
        ([("base", 1000.0), ("ours", 20.0)], True, "holds"),
        ([("base", 1000.0), ("ours", 200.0)], True, "differs"),
        ([("base", 1000.0), ("ours", 20.0)], False, "not comparable"),
    ],
)
def test_a_factor_is_read_of_the_chosen_depths(tmp_path, depths, comparable, verdict):
    claim = {"relation": "factor", "page": "table1", "rows": {"base": "ours"},
             "columns": ["rr"], "between": [10, 50]}  # fmt: skip
    result, tests, _ = judged(tmp_path, bound(claim, table=job(comparable)), depths)
    assert (result["c0"].verdict, tests) == (verdict, [])
    assert f"base / ours = {depths[0][1] / depths[1][1]:g}" in result["c0"].reason


def test_a_reason_has_one_full_stop_before_a_remark(tmp_path):
    claim = between("above", {"falls": ["up"]}, ["after"], "figure1")
    made = bound(claim, absent={"up": "no such file."})
    (own,) = made.entry.claims
    of = made.entry.model_copy(update={"claims": [own.model_copy(update={"remark": "In part"})]})
    rows, _, _ = judged(tmp_path, made.model_copy(update={"entry": of}))
    assert rows["c0"].reason == "no such file. In part"


def test_a_sentence_without_a_test_says_why_and_the_page_shows_all(tmp_path):
    made = bound("no margin is named", between("above", {"ours": ["base"]}), table=one_seed())
    result, _, page = judged(tmp_path, made)
    assert (result["c0"].verdict, result["c0"].reason) == ("no test", "no margin is named")
    assert "| 5       | Sentence 0. " in page and "ours above base in rr (table1)" in page
    assert "correction holm, family: each claim." in page
    kept = json.loads((tmp_path / "claims" / "toy-claims.tsv.manifest.json").read_text())
    assert kept["artefact"] == {"claims": 2}


def test_a_gap_narrows_by_its_own_per_query_values(tmp_path):
    """Of 0.3 and 0.1 the second is the narrower gap; nothing is said of one depth."""
    curve = {"up": {10: 0.8, 100: 0.6}, "flat": {10: 0.5, 100: 0.5}, "falls": {10: 0.4, 100: 0.3}}
    narrows = {"relation": "narrows", "page": "figure1", "columns": ["after"]}
    made = bound({**narrows, "rows": {"up": ["flat"]}}, {**narrows, "rows": {"flat": ["falls"]}})
    rows, tests, page = judged(tmp_path, made, splits={"dev": curve})
    assert [row.verdict for row in rows.values()] == ["holds", "reversed"]
    assert [test.difference for test in tests] == pytest.approx([-0.2, 0.1])
    assert (tests[0].a, tests[0].b) == ("up - flat at K 100", "up - flat at K 10")
    assert rows["c0"].rests_on != rows["c1"].rests_on
    assert "the gap of up less flat narrows with K in after (figure1)" in page
    alone = {run: {10: of[10]} for run, of in curve.items()}
    rows, _, _ = judged(tmp_path / "one", made, splits={"dev": alone})
    assert {row.verdict for row in rows.values()} == {"not run"}


def test_a_claim_leaves_out_the_points_that_it_names(tmp_path):
    claim = {**between("above", {"falls": ["up"]}, ["after"], "figure1"), "but": ["10", "50"]}
    _, tests, page = judged(tmp_path, bound(claim))
    every = between("above", {"falls": ["up"]}, ["after"], "figure1")
    _, all_of, _ = judged(tmp_path / "all", bound(every))
    left = {test.column for test in all_of} - {"after/10", "after/50"}
    assert {test.column for test in tests} == left and len(left) < len(all_of)
    assert "falls above up in after (figure1) but 10, 50" in page
