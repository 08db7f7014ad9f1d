"""A figure over groups by hand: means, shares of queries won, changes, and what the ledger says."""

import json

import polars as pl
import pytest

from residuum import ledger, paired
from residuum.artefacts import groupings, trec
from residuum.cli.errors import ResiduumError
from residuum.config.schema.tests import Tests
from residuum.config.specs import canonical_json
from residuum.pages import grids
from residuum.pages.figure import make as figures
from residuum.pages.figure.job import BoundFigure
from residuum.pages.verdicts import LedgerRow
from tables_fixture import write_verdict

TESTS = {"test": "t-test", "alpha": 0.05, "correction": "bonferroni", "family": "column",
         "compare": "with_baselines"}  # fmt: skip
IDS = [f"q{i}" for i in range(10)]
GROUPS = {"0-40": IDS[:4], "40-80": IDS[4:]}
# RR@10 of ten queries. Of the last six, dpr is above bm25 on one, clear on two, ours on 3 or 4.
VALUES = {
    "bm25": [1.0, 0.5, 0.0, 0.5, 0.25, 0.5, 0.0, 0.0, 0.2, 1.0],
    "dpr": [1.0, 0.5, 0.5, 0.5, 0.5, 0.5, 0.0, 0.0, 0.1, 0.5],
    "clear": [1.0, 0.5, 0.5, 1.0, 0.5, 0.5, 0.1, 0.0, 0.2, 1.0],
    "ours.seed1": [0.0, 0.5, 1.0, 1.0, 0.5, 1.0, 0.1, 0.0, 0.2, 1.0],
    "ours.seed2": [1.0, 0.0, 1.0, 1.0, 0.5, 1.0, 0.1, 0.1, 0.2, 1.0],
}
FIGURE = {
    "kind": "figure",
    "title": "Toy groups",
    "printed_in": "Toy, Figure 4",
    "role": "dev",
    "over": "lengths",
    "series": [{"id": n, "label": n.title(), "system": n} for n in ("dpr", "clear", "ours")],
    "panels": [
        {"id": "mean", "shows": "measure", "measure": "RR@10", "header": "MRR"},
        {"id": "share", "shows": "better", "measure": "RR@10", "than": "bm25", "header": "ratio"},
        {"id": "gain", "shows": "better", "measure": "RR@10", "than": "bm25", "header": "gain",
         "change_from": "dpr"},
    ],
    "tests": "toy",
    "tolerance": {"default": 0.01},
    "reported": {"clear": {"gain/40-80": "0.16"}, "ours": {"gain/40-80": "0.50"}},
}  # fmt: skip
RUNS = {"dpr": ["dpr"], "clear": ["clear"], "ours": ["ours.seed1", "ours.seed2"],
        "share/than": ["bm25"], "gain/than": ["bm25"]}  # fmt: skip


def job(figure=None, **changes):
    made = {
        "id": "toy-figure4", "entry": {**FIGURE, **(figure or {})}, "tests": TESTS, "runs": RUNS,
        "splits": dict.fromkeys(("dpr", "clear", "ours"), "data/dev"), "scale": "toy",
        "comparable": True, "reason": "a toy.",
    }  # fmt: skip
    return BoundFigure.model_validate({**made, **changes})


def sources(folder, groups=GROUPS, values=VALUES):
    for run, own in values.items():
        rows = [(q, "RR@10", value) for q, value in zip(IDS, own, strict=True)]
        frame = pl.DataFrame(rows, schema=trec.METRICS, orient="row")
        trec.write_metrics(folder / "metrics" / "data" / "dev" / f"{run}.tsv", frame)
    path = folder / "groups" / "data" / "dev" / "lengths.tsv"
    groupings.write(path, ((group, q, 7.0) for group, queries in groups.items() for q in queries))
    return path


def draw(folder, made=None, groups=GROUPS, learning=None):
    path, output = sources(folder, groups), folder / "toy-figure4.tsv"
    spec = canonical_json((made or job()).model_dump(mode="json"))
    figures.draw(spec, output, folder / "metrics", groups=[path], learning=learning)
    table = pl.read_csv(output, separator="\t", infer_schema_length=None)
    return {(row["row"], row["column"]): row for row in table.iter_rows(named=True)}


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    folder = tmp_path_factory.mktemp("grouped")
    return draw(folder), folder


def test_sizes_add_up_and_their_weighted_mean_is_that_of_all_queries(drawn):
    for run in ("dpr", "clear"):
        own = [drawn[0][run, f"mean/{group}"] for group in GROUPS]
        assert [point["n"] for point in own] == [4, 6]
        weighted = sum(point["n"] * point["measured"] for point in own) / 10
        assert weighted == pytest.approx(sum(VALUES[run]) / 10, abs=1e-12)


def test_shares_and_changes_by_hand(drawn):
    """Equal values are not better: clear is above bm25 on q4 and q6 of the longer docs."""
    shown = {key: own["measured"] for key, own in drawn[0].items()}
    assert shown["dpr", "share/40-80"] == pytest.approx(1 / 6)
    assert shown["clear", "share/40-80"] == pytest.approx(2 / 6)
    assert shown["clear", "gain/40-80"] == pytest.approx(1 / 6)
    ours = drawn[0]["ours", "gain/40-80"]
    per_seed = [float(each) for each in ours["per_seed"].split()]
    assert per_seed == pytest.approx([2 / 6, 3 / 6]) and ours["seeds"] == 2
    assert ours["measured"] == pytest.approx(2.5 / 6)
    assert [shown["dpr", f"gain/{group}"] for group in GROUPS] == [0, 0]


def test_series_of_splits_with_other_groups_stand_in_the_rows_of_their_own_groups(tmp_path):
    """One split has both groups, the other has the longer docs alone, with four queries."""
    first, four = sources(tmp_path), dict(zip(IDS[:4], (0.2, 0.2, 0.2, 0.2), strict=True))
    other = tmp_path / "metrics" / "data" / "test" / "clear.tsv"
    rows = [(query, "RR@10", value) for query, value in four.items()]
    trec.write_metrics(other, pl.DataFrame(rows, schema=trec.METRICS, orient="row"))
    second = tmp_path / "groups" / "data" / "test" / "lengths.tsv"
    groupings.write(second, (("40-80", query, 50.0) for query in four))
    series = [FIGURE["series"][0], {**FIGURE["series"][1], "role": "test"}]
    entry = {"series": series, "panels": FIGURE["panels"][:1], "reported": {}}
    runs = {name: RUNS[name] for name in ("dpr", "clear")}
    made = job(entry, runs=runs, splits={"dpr": "data/dev", "clear": "data/test"})
    output, spec = tmp_path / "f.tsv", canonical_json(made.model_dump(mode="json"))
    figures.draw(spec, output, tmp_path / "metrics", groups=[first, second])
    lines = output.with_suffix(".md").read_text().splitlines()
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line[:1] == "|"]
    mean = [
        f"{sum(VALUES['dpr'][part]) / size:.3f}"
        for part, size in ((slice(4), 4), (slice(4, 10), 6))
    ]
    assert cells[2:] == [
        ["0-40 (4 queries)", mean[0], "\N{EN DASH}"],
        ["40-80 (4 or 6 queries)", mean[1], "0.200"],
    ]


def test_tests_are_those_of_the_queries_of_a_group(drawn):
    sides = {
        (run, ""): paired.ScoreMatrix(IDS[4:], _column(VALUES[run][4:])) for run in ("dpr", "clear")
    }
    expected = paired.compare(sides, [paired.Pair("clear", "dpr")], Tests(**TESTS))[0]
    own = drawn[0]["clear", "mean/40-80"]
    assert own["p"] == pytest.approx(expected.p)
    assert own["p_adjusted"] == pytest.approx(min(1, 4 * expected.p)), "two series, two groups"
    assert drawn[0]["dpr", "mean/40-80"]["p"] is None


def _column(values):
    return pl.Series(values).to_numpy()[:, None]


def written(folder, made, page):
    spec = canonical_json(made.model_dump(mode="json"))
    ledger.write([spec], [page], folder / "ledger.tsv")
    return {row.row: row for row in grids.rows(folder / "ledger.tsv", LedgerRow)}


def test_reported_numbers_reach_the_ledger(drawn, tmp_path):
    rows = written(tmp_path, job(), drawn[1] / "toy-figure4.tsv")
    assert {name: row.verdict for name, row in rows.items()} == {
        "clear": "reproduced", "ours": "close"
    }  # fmt: skip
    assert rows["clear"].delta == pytest.approx(1 / 6 - 0.16) and rows["clear"].tolerance == 0.01
    assert rows["ours"].printed_in == "Toy, Figure 4" and rows["ours"].column == "gain/40-80"
    elsewhere = written(tmp_path, job(comparable=False), drawn[1] / "toy-figure4.tsv")
    assert elsewhere["clear"].verdict == "not comparable"


def test_a_reported_number_without_a_point_is_not_run_or_not_learned(tmp_path):
    wide = {"0-400": IDS}
    draw(tmp_path / "wide", groups=wide)
    rows = written(tmp_path, job(), tmp_path / "wide" / "toy-figure4.tsv")
    assert {row.verdict for row in rows.values()} == {"not run"}
    assert "no query is in the group 40-80" in rows["clear"].reason
    path = write_verdict(tmp_path / "dpr" / "seed1.json")
    made = job(models={"data": {"dpr": ["dpr/seed1"]}})
    shown = draw(tmp_path / "not", made, learning=[path])
    assert ("dpr", "mean/40-80") not in shown, "no result"
    assert shown["clear", "gain/40-80"]["measured"] is None, "a change from what is no result"
    measured = {row for (row, _), cell in shown.items() if cell["measured"] is not None}
    assert made.first(measured).id == "clear" and made.first(RUNS).id == "dpr"
    assert made.first(()) is None
    rows = written(tmp_path, made, tmp_path / "not" / "toy-figure4.tsv")
    assert rows["clear"].reason.startswith("dpr: dpr seed1: no better")
    assert "Not drawn, not learned: Dpr" in (tmp_path / "not" / "toy-figure4.md").read_text()
    runs = {name: own for name, own in RUNS.items() if name != "clear"}
    made = job(runs=runs, absent={"clear": "no such model."})
    draw(tmp_path / "absent", made)
    rows = written(tmp_path, made, tmp_path / "absent" / "toy-figure4.tsv")
    assert (rows["clear"].verdict, rows["clear"].reason) == ("not run", "no such model.")


def test_a_figure_of_an_empty_role_is_a_page_without_points(tmp_path):
    absent = dict.fromkeys(("dpr", "clear", "ours"), "scale toy binds nothing to dev")
    made = job(runs={}, absent=absent, splits=dict.fromkeys(absent))
    spec = canonical_json(made.model_dump(mode="json"))
    figures.draw(spec, tmp_path / "toy-figure4.tsv", tmp_path / "metrics")
    rows = written(tmp_path, made, tmp_path / "toy-figure4.tsv")
    assert {row.verdict for row in rows.values()} == {"not run"}
    assert (tmp_path / "toy-figure4.png").is_file()


def test_the_caption_says_what_each_group_holds_and_what_its_bound_cuts(drawn):
    text = (drawn[1] / "toy-figure4.md").read_text()
    assert "| 0-40 (4 queries)" in text and "| 40-80 (6 queries)" in text
    cut = "data/dev: 10 queries have the value 7 at their bound: by a hash of their ids, 4 are 0-40"
    assert cut in text
    assert "Share of queries of which RR@10 is above that of bm25, change from dpr" in text
    assert "data/dev in the role of dev, 10 queries" in text
    kept = json.loads((drawn[1] / "toy-figure4.tsv.manifest.json").read_text())
    assert sum(name.endswith(".tsv") for name in kept["inputs"]) == len(VALUES) + 1


def test_one_group_alone_is_drawn_as_bars_and_equal_data_is_equal_bytes(tmp_path):
    hard = job({"groups": ["40-80"]})
    for name in ("one", "two"):
        assert {column.partition("/")[2] for _, column in draw(tmp_path / name, hard)} == {"40-80"}
    for form in ("pdf", "png", "md", "tsv"):
        one, two = (tmp_path / name / f"toy-figure4.{form}" for name in ("one", "two"))
        assert one.read_bytes() == two.read_bytes(), form


@pytest.mark.parametrize(
    ("groups", "figure", "message"),
    [
        ({"0-40": IDS[:4]}, {}, "dpr and lengths hold different queries .6 of them, such as q4"),
        (GROUPS, {"groups": ["hard"]}, "toy-figure4: no group 'hard'; known: 0-40, 40-80"),
    ],
)
def test_groups_that_do_not_fit_are_refused(tmp_path, groups, figure, message):
    with pytest.raises(ResiduumError, match=message):
        draw(tmp_path, job(figure), groups=groups)


def test_series_of_different_splits_are_not_tested_against_each_other(tmp_path):
    places = {"dpr": "data/dev", "clear": "data/other", "ours": "data/dev"}
    panels = FIGURE["panels"][:1]
    made = job({"panels": panels, "reported": {}}, splits=places)
    sources(tmp_path)
    (tmp_path / "metrics" / "data" / "dev" / "clear.tsv").rename(tmp_path / "clear.tsv")
    other = tmp_path / "metrics" / "data" / "other"
    other.mkdir()
    (tmp_path / "clear.tsv").rename(other / "clear.tsv")
    paths = [tmp_path / "groups" / "data" / split / "lengths.tsv" for split in ("dev", "other")]
    groupings.write(paths[1], ((group, q, None) for group, qs in GROUPS.items() for q in qs))
    spec = canonical_json(made.model_dump(mode="json"))
    figures.draw(spec, tmp_path / "f.tsv", tmp_path / "metrics", groups=paths)
    table = pl.read_csv(tmp_path / "f.tsv", separator="\t", infer_schema_length=None)
    tested = table.filter(pl.col("p").is_not_null())
    assert set(tested["row"]) == {"ours"} and set(table["row"]) == {"dpr", "clear", "ours"}
