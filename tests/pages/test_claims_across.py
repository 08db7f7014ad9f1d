"""Claims across the columns of a table, and on pages of dimensions, on hand-made values."""

import numpy as np
import polars as pl
import pytest

from bounds_fixture import bounds_of
from residuum.artefacts import fidelities, files, manifest, trec
from residuum.config.schema.tests import Tests
from residuum.config.specs import canonical_json
from residuum.pages import grids
from residuum.pages.claims import make as claims
from residuum.pages.claims.entry import Claims
from residuum.pages.claims.job import BoundClaims
from residuum.pages.dimensions import make as dimensions
from residuum.pages.dimensions.entry import Dimensions
from residuum.pages.dimensions.job import BoundDimensions
from residuum.pages.table.entry import Table
from residuum.pages.table.job import BoundTable
from residuum.pages.verdicts import LedgerRow
from residuum.paired import Comparison

TESTS = Tests(test="permutation", alpha=0.05, correction="holm", family="column")
COLUMNS = ["short", "middle", "long"]
# The mean of 40 queries per row and column. A query's value is 0.01 below or above it: of `cross`
# the other way in the last column, so that its queries differ and its means do not.
MEANS = {
    "sparse": {"short": 0.9, "middle": 0.85, "long": 0.8},
    "dense": {"short": 0.8, "middle": 0.82, "long": 0.5},
    "cross": {"short": 0.9, "middle": 0.9, "long": 0.9},
}


def table(splits):
    columns = [{"id": n, "role": n, "measure": "RR@10", "header": n} for n in COLUMNS]
    rows = [{"id": name, "label": name, "system": name} for name in MEANS]
    entry = {"kind": "table", "title": "Lengths", "printed_in": "Toy", "columns": columns}
    return BoundTable(
        id="toy-table1",
        entry=Table.model_validate({**entry, "rows": rows, "tests": "toy"}),
        tests=TESTS,
        splits=splits,
        runs={name: [name] for name in MEANS},
        systems={},
        scale="toy",
        comparable=True,
        reason="a toy.",
    )


def page(*held):
    sentences = [
        {"id": f"c{n}", "section": "5", "says": "So.", "holds": h} for n, h in enumerate(held)
    ]
    made = {"kind": "claims", "title": "Toy", "printed_in": "Toy, prose", "tests": "t"}
    return Claims.model_validate({**made, "claims": sentences})


def judged(folder, made, tables=(), measured=None):
    output, tests = folder / "claims" / "toy-claims.tsv", folder / "significance" / "toy-claims.tsv"
    text = canonical_json(made.model_dump(mode="json"))
    metrics = folder / "metrics"
    read = {
        "bounds": bounds_of(metrics),
        "table": list(tables),
        "measured": measured or folder / "fidelity",
    }
    claims.judge(text, metrics, tests, output, **read)
    rows = [(row.verdict, row.reason) for row in grids.rows(output, LedgerRow)]
    return rows, grids.rows(tests, Comparison), output.with_suffix(".md").read_text()


def across(folder, *held, lacking=(), other_queries=()):
    """Judge claims on the table; `lacking` columns have no split, others hold other queries."""
    splits = {name: None if name in lacking else f"{name}/test" for name in COLUMNS}
    for column, split in splits.items():
        for row, means in MEANS.items() if split else ():
            mark = "r" if column in other_queries else "q"
            step = -0.01 if (row, column) == ("cross", "long") else 0.01
            lines = [
                (f"{mark}{n:02d}", "RR@10", means[column] + step * (-1) ** n) for n in range(40)
            ]
            frame = pl.DataFrame(lines, schema=trec.METRICS, orient="row")
            trec.write_metrics(folder / "metrics" / split / f"{row}.tsv", frame)
    # The table's cells, which only a factor reads.
    grids.write(folder / "toy-table1.tsv", [], grids.GridCell)
    made = BoundClaims(
        id="toy-claims", entry=page(*held), tests=TESTS, tables={"table1": table(splits)},
        figures={}, scale="toy", reason="a toy.",
    )  # fmt: skip
    return judged(folder, made, [folder / "toy-table1.tsv"])


def held(relation, rows, columns=COLUMNS, page="table1"):
    return {"relation": relation, "page": page, "rows": rows, "columns": columns}


@pytest.mark.parametrize(
    ("relation", "rows", "verdict"),
    [
        ("falls", ["sparse"], "holds"),
        ("rises", ["sparse"], "reversed"),
        ("falls", ["dense"], "reversed"),  # it ends below its start, but rises on its way
        ("falls", ["cross"], "inconclusive"),
        ("keeps", ["cross"], "inconclusive"),  # finding no difference shows none
        ("keeps", ["sparse"], "reversed"),
        ("widens", {"sparse": ["dense"]}, "holds"),  # 0.1, then 0.3
        ("widest", {"sparse": ["dense"]}, "holds"),
        ("narrows", {"sparse": ["dense"]}, "reversed"),
        ("widens", {"cross": ["sparse", "dense"]}, "holds"),
        ("widens", {"dense": ["sparse", "cross"]}, "reversed"),
    ],
)
def test_a_row_and_a_lead_across_columns(tmp_path, relation, rows, verdict):
    [(found, reason)], _, _ = across(tmp_path, held(relation, rows))
    assert found == verdict, reason


def test_the_compared_columns_and_gaps_are_those_of_the_same_queries(tmp_path):
    falls, widest = held("falls", ["sparse"]), held("widest", {"sparse": ["dense"]})
    _, tests, text = across(tmp_path, falls, widest)
    ends = ("sparse in short", "sparse in long")
    steps = [("sparse in middle", "sparse in long"), ("sparse in short", "sparse in middle")]
    pairs = [(t.a, t.b, t.column, round(t.difference, 10)) for t in tests if t.family == "c0"]
    assert pairs == [(*ends, "table1", 0.1), *((*step, "table1", 0.05) for step in steps)]
    gaps = {(t.a, t.b): (t.difference, t.n) for t in tests if t.family == "c1"}
    last = "sparse - dense in long"
    assert gaps[last, "sparse - dense in short"] == (pytest.approx(0.2), 40)
    assert gaps[last, "sparse - dense in middle"] == (pytest.approx(0.27), 40)
    assert "sparse falls with the order of columns in short, middle, long (table1)" in text


def test_a_column_without_a_split_is_left_out_and_named(tmp_path):
    falls = held("falls", ["dense"])
    [(verdict, reason)], tests, _ = across(tmp_path, falls, lacking=["middle"])
    assert verdict == "holds" and len(tests) == 1, "the ends are the one step"
    assert reason.endswith("without middle, to which scale toy binds nothing")
    [(verdict, reason)], tests, _ = across(tmp_path / "one", falls, lacking=["middle", "long"])
    assert verdict == "not run" and not tests and "binds nothing to" in reason


def test_columns_of_other_queries_are_not_compared(tmp_path):
    [(verdict, reason)], tests, _ = across(
        tmp_path, held("falls", ["sparse"]), other_queries=["long"]
    )
    assert (verdict, reason) == ("no test", "short and long hold different queries")
    assert tests == []


# Least dimensions of bins at x 10, 20, 40: 20, 30 and 60. Shares of 2 ln(80) x: 2, 1.5 and 1.5
# over 2 ln(80).
LEAST = {10.0: 20, 20.0: 30, 40.0: 60}
MARGINS = {"all": [0.1] * 12, "1-9": [0.4] * 12, "10-19": [0.3] * 11, "20-29": [0.2] * 11}
RECALL = {"all": 20, "1-9": 20, "10-19": 20, "20-29": 60}  # dimensions that keep nine in ten


def write_measured(folder, least_margin):
    tried = (20, 30, 60)
    spread = dict.fromkeys(("error_least", "error_most"), 0.0)
    pairs = [
        {"from": x, "to": x, "pairs": 9, "margin": 0.5, "x": x, "exact": 1, "guaranteed": 9,
         "dimensions": k, "error": 0.05 if k >= least else 0.5, **spread}
        for x, least in LEAST.items()
        for k in tried
    ]  # fmt: skip
    margins = [
        {"length": length, "query_id": f"q{n}", "nearest": 10, "margin": value + 0.001 * n}
        for length, values in MARGINS.items()
        for n, value in enumerate(values)
    ]
    recall = [
        {"length": length, "docs": 20, "queries": 4, "dimensions": k,
         "recall": 0.9 if k >= least else 0.0, "recall_least": 0.0, "recall_most": 1.0}
        for length, least in RECALL.items()
        for k in tried
    ]  # fmt: skip
    facts = {"error": 0.05, "distribution": "rademacher", "draws": 1, "queries": 12, "docs": 40,
             "terms": 9, "least_margin": least_margin, "pairs": 27, "beyond_bins": 0,
             "in_small_bins": 0, "depth": 10, "lengths": {"1-9": 20}}  # fmt: skip
    with files.whole_directory(folder) as path:
        draws = [{"x": x, "draw": 1, "dimensions": least} for x, least in LEAST.items()]
        fidelities.write(path, pairs=pairs, draws=draws, margins=margins, recall=recall)
        manifest.write(path, facts, {}, [], "residuum.fidelity")


def theory(folder, *held, absent=None):
    root = folder / "fidelity"
    write_measured(root / "car" / "test" / "bm25", 0.001)
    write_measured(root / "car" / "test" / "boolean", 0.02)
    rows = [("bm25", "bm25", "pairs"), ("boolean", "boolean", "pairs"),
            ("margins", "bm25", "margins"), ("recall", "bm25", "recall")]  # fmt: skip
    entry = {
        "kind": "dimensions", "title": "Toy", "printed_in": "Toy", "role": "car", "recalls": [0.9],
        "rows": [{"id": i, "label": i, "fidelity": f, "shows": s} for i, f, s in rows],
    }  # fmt: skip
    bound = BoundDimensions(
        id="toy-figure2", entry=Dimensions.model_validate(entry), split="car/test",
        absent=absent or {}, scale="toy", comparable=False, reason="a toy.",
    )  # fmt: skip
    spec, output = canonical_json(bound.model_dump(mode="json")), folder / "toy-figure2.tsv"
    dimensions.draw(spec, root, output)
    made = BoundClaims(
        id="toy-claims", entry=page(*held), tests=TESTS, tables={}, figures={},
        dimensions={"figure2": bound}, scale="toy", reason="a toy.",
    )  # fmt: skip
    return judged(folder, made, [output], root), grids.by_place(grids.read_cells(output))


def within(row, column, between):
    return {**held("within", [row], [column], "figure2"), "between": between}


def test_shares_of_the_bound_and_the_exponent_by_hand(tmp_path):
    _, cells = theory(tmp_path, within("bm25", "exponent", [0, 1]))
    shown = {name: cells["bm25", name].measured for name in ("most-share", "share-ratio")}
    assert shown == pytest.approx({"most-share": 2 / (2 * np.log(80)), "share-ratio": 2 / 1.5})
    # log2 x is -1, 0, 1 about its mean: the slope is half of log2(60 / 20).
    assert cells["bm25", "exponent"].measured == pytest.approx(np.log2(3) / 2)


@pytest.mark.parametrize(
    ("holds", "verdict"),
    [
        (within("bm25", "share-ratio", [1, 1.4]), "holds"),
        (within("bm25", "share-ratio", [1, 1.3]), "differs"),
        (held("below", {"bm25": ["boolean"]}, ["least-margin"], "figure2"), "holds"),
        (held("above", {"bm25": ["boolean"]}, ["least-margin"], "figure2"), "differs"),
        (held("rises", ["recall"], ["0.9"], "figure2"), "holds"),
        (held("falls", ["recall"], ["0.9"], "figure2"), "differs"),
    ],
)
def test_numbers_of_a_page_of_dimensions_are_computed_and_not_tested(tmp_path, holds, verdict):
    ([(found, reason)], tests, _), _ = theory(tmp_path, holds)
    assert found == verdict and reason.startswith("computed, not tested: ")
    assert tests == []


def test_equal_numbers_of_dimensions_are_no_evidence(tmp_path, monkeypatch):
    """The true numbers may differ by less than a step of what was tried."""
    rises = held("rises", ["recall"], ["0.9"], "figure2")
    monkeypatch.setitem(RECALL, "20-29", 20)
    ([(verdict, reason)], _, _), _ = theory(tmp_path / "a", rises)
    assert verdict == "not judged"
    assert reason.startswith(
        "the data could not show it: recall 0.9/20-29 and recall 0.9/1-9 are both 20, "
        "and smaller steps were not tried. computed, not tested: "
    )
    monkeypatch.setitem(RECALL, "10-19", 30)  # then the longest docs need fewer than those before
    ([(verdict, _)], _, _), _ = theory(tmp_path / "b", rises)
    assert verdict == "differs"


def test_margins_are_tested_on_queries_that_have_one_at_every_length(tmp_path):
    falls = held("falls", ["margins"], ["10th"], "figure2")
    rises = held("rises", ["margins"], ["10th"], "figure2")
    (rows, tests, text), _ = theory(tmp_path, falls, rises)
    assert [verdict for verdict, _ in rows] == ["holds", "reversed"]
    assert {test.n for test in tests} == {11}
    assert (tests[0].a, tests[0].b) == ("margins at length 1-9", "margins at length 20-29")
    assert tests[0].difference == pytest.approx(0.2)
    assert "margins falls with length in 10th (figure2)" in text


def test_a_page_of_dimensions_without_a_measurement_is_not_run(tmp_path):
    absent = dict.fromkeys(("bm25", "margins"), "no such collection")
    held_of = [within("bm25", "exponent", [0, 1]), held("falls", ["margins"], ["10th"], "figure2")]
    (rows, tests, _), _ = theory(tmp_path, *held_of, absent=absent)
    assert rows == [("not run", "no such collection")] * 2 and tests == []
