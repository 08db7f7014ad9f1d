"""A figure over the efforts of a search: bound, what it reads, where there is none."""

from pathlib import Path

import pytest

from plan_fixture import named
from residuum.config.registry import Registry
from residuum.pages.figure.bind import FigureInputs, bind_figure
from residuum.pages.figure.job import BoundFigure
from residuum.wiring import sizes
from residuum.wiring.availability import all_available
from residuum.wiring.estimates import Estimates
from residuum.wiring.runs import Sweeps
from wiring.test_figures import EFFORT, PATHS, load

CLAIMS = [{"id": "c", "section": "1", "says": "x", "no_test": "none is about a search"}]
PAGE = named(page="roc-figure5")


def bound(
    config: Path, system: str, role: str = "msmarco-dev", scale: str = "mini"
) -> tuple[BoundFigure, Registry]:
    """Bind a figure over effort that stands in for one of RoC's."""
    series = [{"id": "d", "label": "D", "system": system}]
    pages = {"figure5": {**EFFORT, "role": role, "series": series}, "claims": {"claims": CLAIMS}}
    registry = load(config, scale=scale, **pages)
    return bind_figure(registry, "roc-figure5", all_available), registry


def test_a_curve_of_each_run_is_read(config: Path) -> None:
    made, registry = bound(config, "dpr-ei-embedding")
    assert (made.runs, made.absent) == ({"d": ["dpr-ei-embedding.seed1"]}, {})
    assert made.sweep == registry.sweeps["luan2021"] and made.metrics() == []
    figures = FigureInputs(registry, PATHS, all_available)
    swept = "generated-mini/dev/luan2021/dpr-ei-embedding.seed1"
    assert figures.curves(PAGE) == [f"r/sweeps/{swept}.tsv"]
    assert figures.costs(PAGE) == [f"r/sweeps/{swept}.tsv.manifest.json"]
    assert figures.timings(PAGE) == [f"r/timings/{swept}.json"]
    assert figures.timed(None) == ["r/timings/roc-figure5.tsv"]
    assert figures.timings(named(page="roc-figure6")) == []
    of = {"dataset": "generated-mini", "split": "dev", "sweep": "luan2021"}
    measures = Sweeps(registry, PATHS, all_available).measures
    assert measures(named(**of)) == "--measure 'RR@10'"
    assert measures(named(**of | {"split": "tune"})) == "", "shown nowhere"
    estimate = Estimates(registry).sweep(named(**of, run="dpr-ei-embedding.seed1"))
    # 300 queries, 8,200 vectors of 64 numbers, 5 times; 6 searches at half the exact one's cost
    products = 2 * 64 * 8200 * 300 * 5 * (1 + 6 / 2)
    assert estimate.core_s >= products / 1e9 / sizes.PRODUCT_GFLOPS > 0


@pytest.mark.parametrize(
    ("scale", "role", "system", "says"),
    [
        (
            *("mini", "trec-covid-round2", "clear-embedding"),
            "a sweep leaves no docs out, as those judged in earlier would have to",
        ),
        (
            *("full", "robust04-cv", "dpr-ei-embedding"),
            "a sweep searches for one model, not for those of mcdonald1, mcdonald2, mcdonald3",
        ),
    ],
)
def test_a_search_is_not_tried_where_it_would_show_other_docs(
    config: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    scale: str,
    role: str,
    system: str,
    says: str,
) -> None:
    (tmp_path / "disks45" / "corpus").mkdir(parents=True)
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path))
    made, registry = bound(config, system, role, scale)
    assert made.runs == {} and made.absent["d"].startswith(says)
    assert FigureInputs(registry, PATHS, all_available).timed(None) == []
