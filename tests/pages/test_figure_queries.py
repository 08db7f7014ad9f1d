"""A figure over queries by hand: its pairs of values, data, drawing, caption and chart."""

import polars as pl
import pytest
from pydantic import ValidationError

from figures_fixture import SERIES, bound, draw
from residuum.pages import drawing
from residuum.pages.figure import make as figures
from residuum.pages.figure import queries
from residuum.pages.figure.entry import Figure
from residuum.site import charts
from tables_fixture import write_verdict

IDS = [f"q{i}" for i in range(8)]
VALUES = {
    "bm25": [0.0, 0.0, 0.0, 0.5, 1.0, 0.2, 0.25, 0.0],
    "dense.seed1": [1.0, 1.0, 0.5, 0.5, 0.5, 1.0, 1.0, 0.0],
    "start.seed1": [0.1] * 8,
    "dense.seed2": [0.0, 0.0, 0.5, 0.5, 0.5, 1.0, 1.0, 0.0],
}
FIGURE = {
    "kind": "figure", "title": "Toy queries", "role": "dev", "over": "query",
    "series": SERIES,
    "panels": [{"id": "mrr", "shows": "measure", "measure": "RR@10", "header": "MRR"}],
    "tests": "toy",
}  # fmt: skip


def job(**changes):
    return bound({**FIGURE, **changes})


@pytest.fixture
def drawn(tmp_path):
    """Draw the figure from metrics; return the path of its data."""
    return made_of(tmp_path, job())


def made_of(folder, figure, **options):
    values = {
        run: [(query, "RR@10", value) for query, value in zip(IDS, values, strict=True)]
        for run, values in VALUES.items()
    }
    return draw(folder, figure, values, **options)


def test_the_data_has_both_values_of_each_query(drawn):
    data = pl.read_csv(drawn, separator="\t")
    assert data.columns == ["panel", "series", "against", "query_id", "first", "value"]
    assert {*data["against"]} == {"bm25"}
    assert data["query_id"].to_list() == IDS
    assert data["first"].to_list() == VALUES["bm25"]
    assert data["value"].to_list() == [0.5, 0.5, 0.5, 0.5, 0.5, 1.0, 1.0, 0.0], "means over seeds"
    assert drawn.with_suffix(".pdf").stat().st_size > 1000


def test_the_caption_counts_queries_and_tests_the_difference(drawn):
    """Differences: five of .5, .5, .5, .8, .75 up, one of .5 down, two of 0; their mean .31875.

    Of the 2^6 patterns of signs, those whose |sum| is 2.55 or more: all six up 3.55; one of the
    four of .5 down 2.55; and the same with all signs turned. 10 of 64.
    """
    text = drawn.with_suffix(".md").read_text()
    (line,) = [one for one in text.splitlines() if one.startswith("| DENSE ")]
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells[:6] == ["DENSE", "0.562", "5", "2", "1", "+0.3187"]
    assert cells[7] == "0.1562"  # 10 / 64
    assert "| BM25 " in text and "Reciprocal rank at 10 (RR@10)" in text
    assert "at that point" not in text


def test_equal_pairs_of_values_are_one_spot_with_their_number(drawn):
    data, (panel,) = pl.read_csv(drawn, separator="\t"), job().entry.panels
    spots = queries.spots(data, panel, "dense")
    assert dict(zip(spots.select("first", "value").rows(), spots["queries"], strict=True)) == {
        (0.0, 0.0): 1, (0.0, 0.5): 3, (0.2, 1.0): 1, (0.25, 1.0): 1, (0.5, 0.5): 1, (1.0, 0.5): 1,
    }  # fmt: skip


def test_the_report_draws_the_same_spots(drawn):
    (chart,) = charts.of_queries(job(), pl.read_csv(drawn, separator="\t"))
    dense, equal = chart["series"]
    assert {"x": 0.0, "y": 0.5, "n": 3} in dense["points"] and dense["mark"] == "sizes"
    assert [(point["x"], point["y"]) for point in equal["points"]] == [(0.0, 0.0), (1.0, 1.0)]
    assert chart["x"]["label"] == "MRR of BM25" and chart["y"]["label"] == "MRR of DENSE"


def test_without_a_first_series_that_learned_the_next_one_stands_on_the_axis(tmp_path):
    """The chart says so, too, and shows no series that did not learn."""
    first = {"id": "start", "label": "START", "system": "start"}
    plain = job(series=[first, *FIGURE["series"]])
    changes = {
        "runs": {**plain.runs, "start": ["start.seed1"]},
        "splits": {**plain.splits, "start": "data/dev"},
        "models": {"data": {"start.seed1": ["start/seed1"]}},
    }
    made = plain.model_copy(update=changes)
    verdict = write_verdict(tmp_path / "start" / "seed1.json")
    data = pl.read_csv(made_of(tmp_path, made, learning=[verdict]), separator="\t")
    assert {*data["against"]} == {"bm25"} and {*data["series"]} == {"dense"}
    (chart,) = charts.of_queries(made, data)
    assert chart["x"]["label"] == "MRR of BM25" and chart["y"]["label"] == "MRR of DENSE"


def test_names_are_wrapped_and_begin_no_formula(tmp_path):
    long = "BM25 $x$, reranked by ms-marco-MiniLM-L-12-v2"
    figure, made = job(series=[SERIES[0], SERIES[1] | {"label": long}]), []
    data = pl.read_csv(made_of(tmp_path, figure), separator="\t")
    values = figures.of_runs(figure, tmp_path / "metrics", {})
    points = figures.compare(figure, ["bm25", "dense"], values)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(queries.drawing, "save_plots", lambda output, plots: made.extend(plots))
        queries.save(figure, points, data, tmp_path / "any")
    with drawing.styled():
        (ax,) = drawing.figure_of(made).axes
    assert ax.get_ylabel().count("\n") == 1 and r"\$x\$" in ax.get_ylabel()


@pytest.mark.parametrize(
    "changes",
    [
        {"series": FIGURE["series"][:1]},
        {"panels": [FIGURE["panels"][0] | {"series": ["dense"]}]},
        {"series": [FIGURE["series"][0], FIGURE["series"][1] | {"role": "other"}]},
    ],
)
def test_a_figure_without_two_series_in_each_panel_is_refused(changes):
    with pytest.raises(ValidationError, match="over query"):
        Figure.model_validate(FIGURE | changes)
