"""The numbers of plots of fidelity by hand, what is absent, and their ledger rows."""

import json
import math

import numpy as np
import polars as pl
import pytest
from pydantic import ValidationError

from residuum import ledger
from residuum.artefacts import fidelities, files, manifest
from residuum.config.specs import canonical_json
from residuum.pages import grids
from residuum.pages.dimensions import make as dimensions
from residuum.pages.dimensions.entry import Dimensions
from residuum.pages.dimensions.job import BoundDimensions
from residuum.pages.grids import GridCell
from residuum.pages.verdicts import LedgerRow
from residuum.vectors import bounds

PAGE = {
    "kind": "dimensions",
    "title": "Toy dimensions",
    "notes": ["A choice."],
    "printed_in": "Toy, Figure 2",
    "role": "car",
    "recalls": [0.5, 0.9],
    "rows": [
        {"id": "two", "label": "pairs", "fidelity": "luan", "shows": "pairs"},
        {"id": "a", "label": "margins", "fidelity": "luan", "shows": "margins"},
        {"id": "b", "label": "recall", "fidelity": "luan", "shows": "recall"},
        {"id": "t", "label": "theory", "fidelity": "luan", "shows": "bounds"},
    ],
    "tolerance": {"default": 0.005, "least-margin": 0.0001},
    "reported": {"two": {"constant": "8.76", "least-margin": "0.0000068"}},
}
# Bins of pairs: x, exact dimensions, error at 10, 20 and 40 dimensions; the last is never reached.
BINS = [(5.0, 7, (0.05, 0.02, 0.0)), (12.0, 15, (0.2, 0.05, 0.01)), (30.0, 38, (0.3, 0.2, 0.06))]
DRAWS = [(10, 20, None), (10, 40, None), (20, 20, 40)]  # least dimensions of each draw, by bin
MARGINS = {"all": (0.1, 0.3), "1-50": (0.4, 0.2, 0.6), "51-100": (0.1, 0.2)}
RECALLS = {"all": (0.4, 0.6, 0.7), "1-50": (0.5, 0.9, 1.0)}


def measured(folder):
    pairs = [
        {"from": x - 1, "to": x + 1, "pairs": 10, "margin": 0.5, "x": x, "exact": exact,
         "guaranteed": 999, "dimensions": k, "error": error, "error_least": error,
         "error_most": error}
        for x, exact, errors in BINS
        for k, error in zip((10, 20, 40), errors, strict=True)
    ]  # fmt: skip
    margins = [
        {"length": length, "query_id": f"q{n}", "nearest": 10, "margin": value}
        for length, values in MARGINS.items()
        for n, value in enumerate(values)
    ]
    recall = [
        {"length": length, "docs": 20, "queries": 4, "dimensions": k, "recall": value,
         "recall_least": value, "recall_most": value}
        for length, values in RECALLS.items()
        for k, value in zip((10, 20, 40), values, strict=True)
    ]  # fmt: skip
    facts = {"error": 0.05, "distribution": "rademacher", "draws": 3, "queries": 4, "docs": 20,
             "terms": 9, "least_margin": 0.0123, "pairs": 40, "beyond_bins": 10,
             "in_small_bins": 3, "depth": 10, "lengths": {"1-50": 11, "51-100": 1200},
             "boolean_dimensions": 5000.0}  # fmt: skip
    with files.whole_directory(folder) as path:
        draws = [
            {"x": x, "draw": draw, "dimensions": k}
            for draw, least in enumerate(DRAWS, 1)
            for (x, _, _), k in zip(BINS, least, strict=False)
        ]
        fidelities.write(path, pairs=pairs, draws=draws, margins=margins, recall=recall)
        manifest.write(path, facts, {}, [], "residuum.fidelity")


def draw(folder, **changes):
    measured(folder / "fidelity" / "car" / "test" / "luan")
    made = {"id": "toy-figure2", "entry": PAGE, "split": "car/test", "scale": "toy",
            "comparable": True, "reason": "a toy."} | changes  # fmt: skip
    spec = canonical_json(BoundDimensions.model_validate(made).model_dump(mode="json"))
    output = folder / "toy-figure2.tsv"
    dimensions.draw(spec, folder / "fidelity", output)
    cells = {(c.row, c.column): c for c in grids.rows(output, GridCell, grids.OPTIONAL)}
    return spec, output, cells


def test_quantities_by_hand(tmp_path):
    _, output, cells = draw(tmp_path)
    shown = {key: cell.measured for key, cell in cells.items()}
    # least k 10 and 20 at x 5 and 12: (5*10 + 12*20) / (25 + 144); the bin that k 40 fails is out
    assert shown == pytest.approx({
        ("two", "least-margin"): 0.0123, ("two", "constant"): 2 * np.log(80),
        ("two", "slope"): 290 / 169, ("two", "exact-slope"): (5 * 7 + 12 * 15) / 169,
        # shares 10/5 and 20/12 of 2 ln(80) x; of two points the slope is of their line
        ("two", "most-share"): 2 / (2 * np.log(80)), ("two", "share-ratio"): 1.2,
        ("two", "exponent"): math.log(20 / 10) / math.log(12 / 5),
        # of the draws: 290/169, (50 + 480)/169, and (100 + 240 + 1200)/(169 + 900)
        ("two", "slope-least"): 1540 / 1069, ("two", "slope-most"): 530 / 169,
        ("a", "least-margin"): 0.0123, ("a", "10th/1-50"): 0.4, ("a", "10th/51-100"): 0.15,
        ("b", "least-margin"): 0.0123, ("b", "0.5/all"): 20, ("b", "0.5/1-50"): 10,
        ("b", "0.9/all"): None, ("b", "0.9/1-50"): 20,
        # of the middle query; that 67 dimensions keep such a pair stands in test_bounds
        ("t", "least-margin"): 0.0123, ("t", "margin"): 0.2, ("t", "pair/exact"): 67,
        ("t", "pair/lemma-1"): math.ceil(2 * math.log(80) / (0.02 - 0.008 / 3)),
        ("t", "pair/corollary-1"): 300 * math.log(80),
        ("t", "recall/lemma-2"): bounds.guaranteed_recall(np.array([0.1, 0.3]), 0.05, 19, 10),
        ("t", "recall/measured"): None, ("t", "every-pair/corollary-2"): 5000,
    })  # fmt: skip
    slopes = [cells["two", name].measured for name in ("slope", "exact-slope")]
    assert slopes == [float(f"{slope:.12g}") for slope in slopes], "what all summations agree on"
    assert cells["b", "0.9/all"].not_run == dimensions.NOT_REACHED
    assert (cells["a", "10th/1-50"].n, cells["a", "10th/51-100"].n) == (3, 2), "margins there"
    text = output.with_suffix(".md").read_text()
    assert "\n- A choice.\n" in text, "a note of the entry"
    assert "of 40 pairs, 10 lie beyond the last bin and 3 in bins with too few" in text
    assert "20 docs" in text
    groups = "(margins, recall): 11 with 1-50 terms, 1,200 with 51-100 terms.\n"
    assert f"- Docs of each group {groups}" in text
    record = json.loads((tmp_path / "toy-figure2.tsv.manifest.json").read_text())
    endings = ("tsv", "pdf", "png", "md")
    assert {*record["files"]} == {f"toy-figure2.{ending}" for ending in endings}
    assert len(record["inputs"]) == 1
    assert (tmp_path / "toy-figure2.png").read_bytes().startswith(b"\x89PNG")


def test_the_same_measurement_is_the_same_bytes(tmp_path):
    _, output, _ = draw(tmp_path / "one")
    _, again, _ = draw(tmp_path / "other")
    for ending in (".tsv", ".md", ".pdf", ".png"):
        assert output.with_suffix(ending).read_bytes() == again.with_suffix(ending).read_bytes()


def test_the_ledger_judges_what_is_printed(tmp_path):
    spec, output, _ = draw(tmp_path)
    ledger.write([spec], [output], tmp_path / "ledger.tsv", [], [])
    rows = {(r.row, r.column): r for r in grids.rows(tmp_path / "ledger.tsv", LedgerRow)}
    assert rows["two", "constant"].verdict == "reproduced"
    assert rows["two", "least-margin"].verdict == "differs"
    assert len(rows) == 2


def test_a_page_without_a_split_says_why(tmp_path):
    absent = dict.fromkeys(("two", "a", "b", "t"), "scale toy binds no role car")
    _, output, cells = draw(tmp_path, split=None, absent=absent)
    assert {cell.not_run for cell in cells.values()} == {"scale toy binds no role car"}
    assert cells["two", "constant"].reported == 8.76
    frame = pl.read_csv(output, separator="\t")
    assert frame["measured"].null_count() == frame.height
    assert "Not run: pairs: scale toy binds no role car." in output.with_suffix(".md").read_text()


def test_a_measurement_without_a_bin_of_enough_pairs_is_drawn(tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), "BINS", [])
    _, output, cells = draw(tmp_path)
    unknown = {cells["two", name].measured for name in ("slope", "slope-least", "slope-most")}
    assert unknown == {None} and cells["two", "constant"].measured
    assert output.with_suffix(".png").is_file()


def test_a_quantity_that_no_plot_has_is_refused():
    wrong = {**PAGE, "reported": {"two": {"slop": "1.3"}}}
    with pytest.raises(ValidationError, match=r"no quantity 'slop'; known: .*Did you mean slope"):
        Dimensions.model_validate(wrong)
