"""A figure over the cutoffs of a measure by hand: its points, data, caption, basis and faults."""

import polars as pl
import pytest
from pydantic import ValidationError

from figures_fixture import SERIES, bound, draw
from residuum.pages import drawing
from residuum.pages.figure.entry import Figure
from residuum.site import charts

IDS = [f"q{i:02d}" for i in range(10)]
FOUND = {  # rank of each query's only relevant doc, 0 if it is not in the list
    "bm25": [1, 1, 2, 3, 4, 6, 20, 30, 0, 0],
    "dense.seed1": [2, 2, 2, 2, 2, 2, 2, 2, 2, 2],
    "dense.seed2": [1, 2, 2, 2, 2, 2, 2, 2, 2, 0],
}
FIGURE = {
    "kind": "figure", "title": "Toy recall", "role": "dev", "over": "cutoff",
    "printed_in": "Toy, Figure 1", "notes": ["A choice."],
    "series": SERIES,
    "panels": [{"id": "recall", "shows": "measure", "measure": "R@25", "header": "Recall"}],
    "tests": "toy",
}  # fmt: skip
CUTOFFS = [1, 2, 5, 10, 20, 25]


def job(**changes):
    return bound({**FIGURE, **changes})


@pytest.fixture
def drawn(tmp_path):
    """Draw the figure from metrics at its cutoffs; return the data and the caption."""
    values = {
        run: [
            (query, f"R@{cutoff}", float(0 < rank <= cutoff))
            for query, rank in zip(IDS, ranks, strict=True)
            for cutoff in CUTOFFS
        ]
        for run, ranks in FOUND.items()
    }
    output = draw(tmp_path, job(), values)
    return pl.read_csv(output, separator="\t"), output.with_suffix(".md").read_text()


def test_each_cutoff_is_a_point_with_its_own_measure(drawn):
    data, _ = drawn
    bm25, dense = (data.filter(series=one).sort("cutoff") for one in ("bm25", "dense"))
    assert bm25["cutoff"].to_list() == CUTOFFS
    assert bm25["measure"].to_list() == [f"R@{cutoff}" for cutoff in CUTOFFS]
    assert bm25["mean"].to_list() == [0.2, 0.3, 0.5, 0.6, 0.7, 0.7]
    assert dense["mean"].to_list() == pytest.approx([0.05, *[0.95] * 5])
    assert dense["lowest"].to_list() == [0.0, *[0.9] * 5]
    # By hand at 2: seven queries at 1 or 0.5 gain 6.5; of 2^7 flips two are as extreme.
    (two,) = dense.filter(cutoff=2).iter_rows(named=True)
    assert (two["difference"], two["p"]) == (pytest.approx(0.65), 2 / 2**7)


def test_the_caption_names_the_measure_and_lists_the_cutoffs(drawn):
    _, text = drawn
    assert "Recall at k (R@k)" in text
    assert "reads the first k docs of each list" in text
    shown = [line for line in text.splitlines() if line.startswith("| 25 ")]
    assert len(shown) == 1 and "0.700" in shown[0] and "0.950" in shown[0]


def test_a_point_is_weighed_by_its_own_measure():
    assert job().basis("dense", "recall/10").measure == "R@10"


@pytest.mark.parametrize(
    ("measure", "cutoffs"),
    [
        ("R@1", [1]),
        ("R@10", [1, 2, 5, 10]),
        ("nDCG@12", [1, 2, 5, 10, 12]),
        ("R(rel=2)@100", [1, 2, 5, 10, 20, 50, 100]),
    ],
)
def test_cutoffs_go_up_to_that_of_the_measure(measure, cutoffs):
    entry = Figure.model_validate(FIGURE | {"panels": [FIGURE["panels"][0] | {"measure": measure}]})
    (panel,) = entry.panels
    assert entry.cutoffs(panel) == cutoffs
    shown = [measure.rpartition("@")[0] + f"@{cutoff}" for cutoff in cutoffs]
    assert [*entry.measured()] == [("dev", one) for one in shown]


@pytest.mark.parametrize("measure", ["AP", "R(rel=2)"])
def test_a_measure_without_a_cutoff_is_refused(measure):
    with pytest.raises(ValidationError, match="has no cutoff; write such as R@1000"):
        Figure.model_validate(FIGURE | {"panels": [FIGURE["panels"][0] | {"measure": measure}]})


def test_each_chart_has_the_cutoffs_and_the_scale_of_its_own_panel(tmp_path):
    """`R@25` up to 25 and `RR@5` up to 5."""
    panels = [*FIGURE["panels"], {**FIGURE["panels"][0], "id": "rr", "measure": "RR@5"}]
    made = job(panels=panels)
    rows = [
        {"panel": panel.id, "series": series.id, "cutoff": cutoff, "mean": 0.5, "n": 10,
         "seeds": 1, "p": None}
        for panel, series in made.plotted()
        for cutoff in made.entry.cutoffs(panel)
    ]  # fmt: skip
    recall, rr = charts.curves(made, pl.DataFrame(rows))
    assert recall["x"] == {"label": "Cutoff k", "scale": "log", "ticks": CUTOFFS}
    assert rr["x"] == {"label": "Cutoff k", "scale": "linear", "ticks": [1, 2, 5]}


def test_a_long_legend_leaves_the_plots_their_size():
    def plot(ax):
        return {f"line {n}": ax.plot([0, 1], [0, n])[0] for n in range(20)}

    with drawing.styled():
        for plots in ([plot], [plot, plot], [plot] * 3):
            figure = drawing.figure_of(plots)
            figure.canvas.draw()
            heights = [ax.get_position().height * figure.get_figheight() for ax in figure.axes]
            assert min(heights) > 0.8 * drawing.COLUMN, heights
