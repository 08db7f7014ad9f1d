"""A figure over queries by hand: its pairs of values, data, drawing, caption and chart."""

import polars as pl
import pytest
from pydantic import ValidationError

from residuum.artefacts import trec
from residuum.config.specs import canonical_json
from residuum.pages.figure import make as figures
from residuum.pages.figure import queries
from residuum.pages.figure.entry import Figure
from residuum.pages.figure.job import BoundFigure
from residuum.site import charts

TESTS = {"test": "permutation", "alpha": 0.05, "correction": "holm", "family": "column",
         "compare": "with_baselines"}  # fmt: skip
IDS = [f"q{i}" for i in range(8)]
VALUES = {
    "bm25": [0.0, 0.0, 0.0, 0.5, 1.0, 0.2, 0.25, 0.0],
    "dense.seed1": [1.0, 1.0, 0.5, 0.5, 0.5, 1.0, 1.0, 0.0],
    "dense.seed2": [0.0, 0.0, 0.5, 0.5, 0.5, 1.0, 1.0, 0.0],
}
FIGURE = {
    "kind": "figure", "title": "Toy queries", "role": "dev", "over": "query",
    "series": [{"id": one, "label": one.upper(), "system": one} for one in ("bm25", "dense")],
    "panels": [{"id": "mrr", "shows": "measure", "measure": "RR@10", "header": "MRR"}],
    "tests": "toy",
}  # fmt: skip


def job(**changes):
    return BoundFigure.model_validate(
        {"id": "toy-figure1", "entry": {**FIGURE, **changes}, "tests": TESTS,
         "splits": dict.fromkeys(("bm25", "dense"), "data/dev"),
         "runs": {"bm25": ["bm25"], "dense": ["dense.seed1", "dense.seed2"]},
         "scale": "toy", "reason": "a toy."}
    )  # fmt: skip


@pytest.fixture
def drawn(tmp_path):
    """Draw the figure from metrics; return the path of its data."""
    for run, values in VALUES.items():
        rows = [(query, "RR@10", value) for query, value in zip(IDS, values, strict=True)]
        path = tmp_path / "metrics" / "data" / "dev" / f"{run}.tsv"
        path.parent.mkdir(parents=True, exist_ok=True)
        trec.write_metrics(path, pl.DataFrame(rows, schema=trec.METRICS, orient="row"))
    output = tmp_path / "toy-figure1.tsv"
    figures.draw(canonical_json(job().model_dump(mode="json")), output, tmp_path / "metrics")
    return output


def test_the_data_has_both_values_of_each_query(drawn):
    data = pl.read_csv(drawn, separator="\t")
    assert data.columns == ["panel", "series", "query_id", "first", "value"]
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
