"""Circles from hits by hand: the paper's own counts, areas integrated apart, ledger rows."""

import json
import math
import struct

import numpy as np
import polars as pl
import pytest

from residuum import ledger
from residuum.artefacts import trec
from residuum.config.specs import canonical_json
from residuum.pages import drawing, grids
from residuum.pages.grids import GridCell
from residuum.pages.venn import circles
from residuum.pages.venn import make as venn
from residuum.pages.venn.job import BoundVenn
from residuum.pages.verdicts import LedgerRow
from residuum.paired import ScoreMatrix
from residuum.paired.coverage import coverage
from tables_fixture import write_verdict

# Of 1,000 questions: D alone, both, S alone, neither (RoC, Figure 1, per cent with one decimal).
PAPER = {"a": (152, 324, 59, 465), "b": (200, 340, 42, 418)}
VENN = {
    "kind": "venn",
    "title": "Toy circles",
    "notes": ["A choice."],
    "printed_in": "Toy, Figure 1",
    "role": "nq",
    "measure": "Success@10",
    "rows": [
        {"id": "a", "label": "BM25+DPR", "dense": "dpr", "lexical": "bm25"},
        {"id": "b", "label": "CLEAR", "dense": "clear", "lexical": "bm25-too"},
        {"id": "c", "label": "hypothetical", "dense": "dpr", "lexical": "bm25", "disjoint": True},
    ],
    "tolerance": {"default": 0.0005},
    "reported": {
        "a": {"dense": "0.476", "residual": "0.152", "failure": "0.465"},
        "b": {"dense": "0.54", "residual": "0.200", "failure": "0.418"},
        "c": {"failure": "0.141"},
    },
}
RUNS = {
    "a/dense": ["dpr"], "a/lexical": ["bm25"],
    "b/dense": ["clear"], "b/lexical": ["bm25-too"],
    "c/dense": ["dpr"], "c/lexical": ["bm25"],
}  # fmt: skip


def hits(counts):
    """Return the hits of the dense and of the lexical part for such counts of queries."""
    only, both, other, neither = counts
    dense = [1.0] * (only + both) + [0.0] * (other + neither)
    return dense, [0.0] * only + [1.0] * (both + other) + [0.0] * neither


def write(root, run, values):
    rows = [(f"q{i:04d}", "Success@10", value) for i, value in enumerate(values)]
    frame = pl.DataFrame(rows, schema=trec.METRICS, orient="row")
    trec.write_metrics(root / "data" / "dev" / f"{run}.tsv", frame)


def job(**changes):
    made = {
        "id": "toy-figure1", "entry": VENN, "split": "data/dev", "runs": RUNS, "scale": "toy",
        "comparable": True, "reason": "a toy.",
    }  # fmt: skip
    return BoundVenn.model_validate({**made, **changes})


def draw(folder, made=None, learning=None):
    metrics = folder / "metrics"
    for name, runs in (("a", ("dpr", "bm25")), ("b", ("clear", "bm25-too"))):
        for run, values in zip(runs, hits(PAPER[name]), strict=True):
            write(metrics, run, values)
    output = folder / "toy-figure1.tsv"
    spec = canonical_json((made or job()).model_dump(mode="json"))
    venn.draw(spec, metrics, output, learning)
    return {(c.row, c.column): c for c in grids.rows(output, GridCell, grids.OPTIONAL)}


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    folder = tmp_path_factory.mktemp("venn")
    return draw(folder), folder


def test_the_papers_circles(drawn):
    shown = {key: cell.measured for key, cell in drawn[0].items()}
    for name, (only, both, other, neither) in PAPER.items():
        assert shown[name, "dense"] == pytest.approx((only + both) / 1000, abs=1e-12)
        assert shown[name, "lexical"] == pytest.approx((other + both) / 1000, abs=1e-12)
        assert shown[name, "residual"] == pytest.approx(only / 1000, abs=1e-12)
        assert shown[name, "overlap"] == pytest.approx(both / 1000, abs=1e-12)
        assert shown[name, "failure"] == pytest.approx(neither / 1000, abs=1e-12)
    assert round(shown["a", "RoC"], 3) == 0.319 and round(shown["b", "RoC"], 3) == 0.370
    assert shown["c", "failure"] == pytest.approx(0.141, abs=1e-12)
    assert (shown["c", "RoC"], shown["c", "overlap"]) == (1.0, 0.0)
    assert shown["c", "residual"] == shown["c", "dense"] == shown["a", "dense"]


@pytest.mark.parametrize("counts", [*PAPER.values(), (476, 0, 383, 141), (0, 100, 300, 600),
                                    (10, 300, 1, 0), (200, 200, 0, 0)])  # fmt: skip
def test_areas_are_those_of_the_counts_when_integrated_apart(counts):
    """A grid of points stands for an integral; it knows no formula of a lens."""
    pair = (ScoreMatrix([str(i) for i in range(sum(counts))], np.array(h)[:, None])
            for h in hits(counts))  # fmt: skip
    of = coverage(*pair)
    dense, lexical, apart = venn.placed(of)
    ends = (min(-dense, apart - lexical), max(dense, apart + lexical))
    x, step = np.linspace(*ends, 1500, retstep=True)
    y = np.arange(-max(dense, lexical), max(dense, lexical) + step, step)[None, :]
    in_d, in_s = x[:, None] ** 2 + y**2 <= dense**2, (x[:, None] - apart) ** 2 + y**2 <= lexical**2
    found = np.array([in_d.sum(), in_s.sum(), (in_d & in_s).sum()]) * step**2
    expected = np.array([of.first, of.second, of.overlap]) / sum(counts)
    assert np.allclose(found, expected, atol=1e-3)


def test_circles_apart_touching_and_within():
    assert circles.distance(2, 1, 0.0) == 3 and circles.lens(2, 1, 3) == 0
    assert circles.distance(2, 1, math.pi) == 1 and circles.lens(2, 1, 1) == math.pi
    # two unit circles whose centres are 1 apart: 2 pi / 3 - sqrt(3) / 2
    area = 2 * math.pi / 3 - math.sqrt(3) / 2
    assert circles.lens(1, 1, 1) == pytest.approx(area)
    assert circles.distance(1, 1, area) == pytest.approx(1)


def test_reported_numbers_reach_the_ledger(drawn, tmp_path):
    spec = canonical_json(job().model_dump(mode="json"))
    page = drawn[1] / "toy-figure1.tsv"
    ledger.write([spec], [page], tmp_path / "ledger.tsv")
    rows = grids.rows(tmp_path / "ledger.tsv", LedgerRow)
    assert {(r.row, r.column): r.reported for r in rows} == {
        ("a", "dense"): 0.476, ("a", "residual"): 0.152, ("a", "failure"): 0.465,
        ("b", "dense"): 0.54, ("b", "residual"): 0.2, ("b", "failure"): 0.418,
        ("c", "failure"): 0.141,
    }  # fmt: skip
    assert len(rows) == 7 and {row.verdict for row in rows} == {"reproduced"}
    assert {row.kind for row in rows} == {"number"} and not any(row.same_as for row in rows)
    other = [{**VENN, "reported": {"a": {"dense": "0.400"}}}]
    spec = canonical_json(job(entry=other[0]).model_dump(mode="json"))
    ledger.write([spec], [page], tmp_path / "ledger.tsv")
    (row,) = grids.rows(tmp_path / "ledger.tsv", LedgerRow)
    assert row.verdict == "differs" and row.delta == pytest.approx(0.076)


def test_the_caption_and_the_drawing(drawn):
    folder = drawn[1]
    text = (folder / "toy-figure1.md").read_text()
    assert "\n- A choice.\n" in text, "a note of the entry"
    row = next(line for line in text.splitlines() if line.startswith("| BM25+DPR"))
    assert [c.strip() for c in row.split("|")[2:8]] == [
        "0.476", "0.383", "0.152", "0.324", "0.465", "0.319"
    ]  # fmt: skip
    assert "Success at 10 (Success@10): data/dev in the role of nq, 1000 queries." in text
    assert "hypothetical: dense dpr, lexical bm25, as large and without an overlap" in text
    png = (folder / "toy-figure1.png").read_bytes()
    width, height = struct.unpack(">II", png[16:24])
    assert width == height == round(2 * drawing.COLUMN * 200), "three diagrams, two by two"
    assert b"CreationDate" not in (folder / "toy-figure1.pdf").read_bytes()


def test_equal_data_is_equal_bytes(drawn, tmp_path):
    draw(tmp_path)
    for name in ("pdf", "png", "md", "tsv"):
        path = f"toy-figure1.{name}"
        assert (drawn[1] / path).read_bytes() == (tmp_path / path).read_bytes(), name


def test_the_value_is_a_ratio_of_sums_in_each_seed_then_their_mean(tmp_path):
    """1 of 4 in one seed and 1 of 1 in the other: 0.625, where the pooled ratio is 0.4."""
    metrics = tmp_path / "metrics"
    write(metrics, "d.seed1", [1, 1, 1, 1, 0])
    write(metrics, "d.seed2", [0, 0, 0, 0, 1])
    write(metrics, "s", [0, 1, 1, 1, 0])
    rows = [{"id": "x", "label": "X", "dense": "d", "lexical": "s"}]
    table = {**VENN, "rows": rows, "reported": {}}
    made = job(entry=table, runs={"x/dense": ["d.seed1", "d.seed2"], "x/lexical": ["s"]})
    cell = draw(tmp_path, made)["x", "RoC"]
    assert (cell.measured, cell.per_seed, cell.seeds) == (0.625, "0.25 1.0", 2)


def test_what_is_not_run_not_learned_or_without_hits_is_no_number(tmp_path):
    path = write_verdict(tmp_path / "clear" / "seed1.json")
    runs = {name: own for name, own in RUNS.items() if name[0] != "a"}
    models = {"data": {"clear": ["clear/seed1"]}}
    made = job(runs=runs, absent={"a": "no such model."}, models=models)
    cells = draw(tmp_path, made, [path])
    absence = {name: (cells[name, "dense"].measured, cells[name, "dense"].absence) for name in "ab"}
    assert absence == {"a": (None, "not run"), "b": (None, "not learned")}
    assert cells["a", "dense"].reported == 0.476 and cells["a", "dense"].not_run == "no such model."
    text = (tmp_path / "toy-figure1.md").read_text()
    assert "Not run: BM25+DPR: no such model." in text and "Not learned: CLEAR:" in text
    write(tmp_path / "metrics", "none", [0, 0, 0])
    write(tmp_path / "metrics", "some", [0, 1, 0])
    table = {**VENN, "rows": VENN["rows"][:1], "reported": {}}
    empty = job(entry=table, runs={"a/dense": ["none"], "a/lexical": ["some"]})
    cells = draw(tmp_path, empty)
    assert cells["a", "dense"].measured == 0 and cells["a", "RoC"].measured is None
    assert "answers no query" in cells["a", "RoC"].not_run


def test_without_any_run_the_page_says_so(tmp_path):
    absent = dict.fromkeys("abc", "no role.")
    cells = draw(tmp_path, job(runs={}, split=None, absent=absent))
    assert {cell.not_run for cell in cells.values()} == {"no role."}
    assert (tmp_path / "toy-figure1.pdf").is_file()
    kept = json.loads((tmp_path / "toy-figure1.tsv.manifest.json").read_text())
    assert (kept["artefact"], kept["inputs"]) == ({"diagrams": 0}, {})


def test_circles_that_no_queries_could_hold_without_an_overlap_are_said_to_be_impossible(tmp_path):
    write(tmp_path / "metrics", "much", [1, 1, 0])
    write(tmp_path / "metrics", "most", [0, 1, 1])
    rows = [{**VENN["rows"][0], "disjoint": True}]
    runs = {"a/dense": ["much"], "a/lexical": ["most"]}
    draw(tmp_path, job(entry={**VENN, "rows": rows, "reported": {}}, runs=runs))
    text = (tmp_path / "toy-figure1.md").read_text()
    assert "hypothetical, and impossible, since D and S together are more than the queries" in text


def test_circles_that_fit_are_hypothetical_alone(drawn):
    text = (drawn[1] / "toy-figure1.md").read_text()
    assert "hypothetical" in text and "impossible" not in text
