"""A figure from a small depth curve: drawn data by hand, tests as a direct call, equal bytes."""

import json
import re
import struct
import warnings

import numpy as np
import polars as pl
import pytest

from residuum import paired
from residuum.cli.errors import ResiduumError
from residuum.config.schema.sweeps import Sweep
from residuum.config.schema.tests import Tests
from residuum.config.specs import canonical_json
from residuum.pages.figure import make as figures
from residuum.paired import comparisons
from tables_fixture import write_verdict

QUERIES = [f"q{i:02d}" for i in range(20)]
FIGURE = {
    "kind": "figure",
    "title": "Toy depths",
    "notes": ["A choice."],
    "printed_in": "Toy, Figure 1",
    "role": "dev",
    "series": [
        {"id": "ours", "label": "Ours", "system": "ours-reranked"},
        {"id": "base", "label": "Base", "system": "base-reranked"},
    ],
    "panels": [
        {"id": "recall", "shows": "recall", "header": "Recall"},
        {"id": "accuracy", "shows": "reranked", "measure": "RR@10", "header": "MRR@10"},
    ],
    "tests": "toy",
}
TESTS = {"test": "permutation", "alpha": 0.05, "correction": "holm", "family": "column"}
# At depth 10 ours beats base on every query, at 100 the signs of the differences alternate.
OURS = {0: [0.3] * 20, 10: [0.6] * 20, 100: [0.7, 0.5] * 10}
BASE = {0: [0.2] * 20, 10: [0.4] * 20, 100: [0.6] * 20}


def curve_text(recall=0.5):
    """Write the curve by hand: two seeds of ours, 0.1 below and above its values, one base."""
    lines = ["run\tdepth\tquery_id\tmeasure\tvalue"]
    runs = [("ours.seed1", OURS, -0.1), ("ours.seed2", OURS, 0.1), ("base", BASE, 0.0)]
    for run, values, shift in runs:
        for depth, at in values.items():
            for query_id, value in zip(QUERIES, at, strict=True):
                lines.append(f"{run}\t{depth}\t{query_id}\tRR@10\t{value + shift}")
                lines.append(f"{run}\t{depth}\t{query_id}\trecall\t{recall if depth else 0.0}")
    return "\n".join(lines) + "\n"


def job(tests=None, **changes):
    runs = {"ours": ["ours.seed1", "ours.seed2"], "base": ["base"]}
    return figures.BoundFigure.model_validate(
        {"id": "toy-figure1", "entry": {**FIGURE, **changes}, "runs": runs,
         "splits": dict.fromkeys(runs, "data/dev"),
         "tests": {**TESTS, **(tests or {})}, "scale": "toy", "reason": "a toy."}
    )  # fmt: skip


def draw(folder, made=None, text=None, learning=None):
    (folder / "toy-reranker").mkdir(parents=True, exist_ok=True)
    (folder / "depths.tsv").write_text(text or curve_text())
    scored = folder / "toy-reranker" / "shard-00000.trec.gz.manifest.json"
    pairs = {"ours.seed1": 2000, "ours.seed2": 2000, "base": 2000}
    facts = {"pairs": 4500, "pairs_without_sharing": 6000, "pairs_per_run": pairs}
    scored.write_text(json.dumps({"artefact": facts}))
    spec = canonical_json((made or job()).model_dump(mode="json"))
    output, curve = folder / "toy-figure1.tsv", folder / "depths.tsv"
    figures.draw(spec, output, folder, [curve], [scored], learning=learning)
    return pl.read_csv(folder / "toy-figure1.tsv", separator="\t", infer_schema_length=None)


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    folder = tmp_path_factory.mktemp("figure") / "one"
    return draw(folder), folder


def point(table, panel, series, depth):
    return table.filter(panel=panel, series=series, depth=depth).row(0, named=True)


def test_drawn_data_by_hand(drawn):
    table = drawn[0]
    assert table.height == 2 * 2 + 2 * 3, "recall has no depth 0"
    ours = point(table, "accuracy", "ours", 10)
    assert (ours["n"], ours["seeds"], ours["measure"]) == (20, 2, "RR@10")
    assert (ours["mean"], ours["lowest"], ours["highest"]) == pytest.approx((0.6, 0.5, 0.7))
    assert (ours["difference"], ours["p"], ours["significant"]) == (None, None, None)
    base = point(table, "accuracy", "base", 10)
    assert base["difference"] == pytest.approx(0.4 - 0.6)
    assert (base["significant"], point(table, "accuracy", "base", 0)["p"]) == (True, None)
    assert point(table, "accuracy", "base", 100)["significant"] is False
    assert point(table, "recall", "base", 10)["p_adjusted"] == 1.0


def test_tests_are_those_of_significance(drawn):
    differences = np.array([[b - a for a, b in zip(OURS[d], BASE[d], strict=True)]
                            for d in (10, 100)]).T  # fmt: skip
    a, b = differences.T
    ids = [f"d{i}" for i in (0, 1)]
    both = {
        (name, ""): paired.ScoreMatrix(QUERIES, d[:, None])
        for name, d in zip(ids, (a, b), strict=True)
    }
    both["zero", ""] = paired.ScoreMatrix(QUERIES, np.zeros((20, 1)))
    tests = Tests.model_validate(TESTS)
    expected = paired.compare(both, [paired.Pair(name, "zero") for name in ids], tests)
    result = [point(drawn[0], "accuracy", "base", depth) for depth in (10, 100)]
    p = [row.p for row in expected]
    assert [f["p"] for f in result] == p
    assert [f["p_adjusted"] for f in result] == pytest.approx(comparisons.holm(p))
    for key in ("ci_low", "ci_high", "boot_low", "boot_high"):
        assert [f[key] for f in result] == pytest.approx([getattr(row, key) for row in expected])


def test_the_family_table_spans_the_panels(tmp_path):
    tests = {"correction": "bonferroni", "family": "table"}
    table = draw(tmp_path / "t", job(tests=tests))
    base = point(table, "accuracy", "base", 10)
    assert base["p_adjusted"] == pytest.approx(4 * base["p"]), "two depths in each of two panels"


def test_equal_data_is_equal_bytes(drawn, tmp_path):
    draw(tmp_path / "two")
    for name in ("toy-figure1.pdf", "toy-figure1.png", "toy-figure1.md", "toy-figure1.tsv"):
        assert (drawn[1] / name).read_bytes() == (tmp_path / "two" / name).read_bytes(), name


def test_the_drawing_is_a_picture_without_dates_and_with_its_fonts(drawn):
    png = (drawn[1] / "toy-figure1.png").read_bytes()
    assert png.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", png[16:24])
    assert width > 1000 and height > 400
    assert b"Software" not in png
    pdf = (drawn[1] / "toy-figure1.pdf").read_bytes()
    assert pdf.startswith(b"%PDF") and b"CreationDate" not in pdf
    assert b"/Type0" in pdf and b"/Type3" not in pdf, "fonts are embedded as Type 42"


def test_the_caption_says_what_is_seen(drawn):
    text = (drawn[1] / "toy-figure1.md").read_text()
    assert "\n- A choice.\n" in text, "a note of the entry"
    assert "![Toy depths](toy-figure1.png)" in text
    assert "Reciprocal rank at 10 (RR@10) (the paper's MRR@10): data/dev in the role of dev" in text
    assert "correction holm, family: each panel" in text
    assert "lowest to highest seed" in text
    assert "scored by toy-reranker: 4,500, each once for all depths of 3 first-stage runs" in text
    assert "6,000 if every run were scored alone at its largest depth (25% saved)" in text
    row = next(line for line in text.splitlines() if line.startswith("| 10 "))
    assert [c.strip() for c in row.split("|")[1:-1]] == [
        "10", "0.500", "0.500", "0.600 (0.500\N{EN DASH}0.700)", "0.400\\*"
    ]  # fmt: skip
    assert (drawn[1] / "toy-figure1.tsv.manifest.json").is_file()


def test_a_series_without_runs_is_named_and_not_drawn(tmp_path):
    made = job().model_copy(update={"runs": {"base": ["base"]}})
    table = draw(tmp_path / "alone", made)
    assert set(table["series"]) == {"base"}
    text = (tmp_path / "alone" / "toy-figure1.md").read_text()
    assert "Not drawn, because they have no runs at this scale: Ours." in text
    assert "Test:" not in text


def test_a_figure_without_any_series_is_an_error(tmp_path):
    with pytest.raises(ResiduumError, match="no series has runs at scale toy"):
        draw(tmp_path / "none", job().model_copy(update={"runs": {}}))


def test_list_lengths_are_kept_where_the_curve_has_them(tmp_path):
    lines = [f"base\t10\t{q}\tdocs_reranked\t{8 if i else 28}" for i, q in enumerate(QUERIES)]
    table = draw(tmp_path / "lengths", text=curve_text() + "\n".join(lines) + "\n")
    assert point(table, "accuracy", "base", 10)["docs_reranked"] == 9.0
    assert point(table, "accuracy", "ours", 10)["docs_reranked"] is None


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda t: t.replace("base\t", "other\t"),
         r"curve lacks run base; it has other, ours\.seed1"),
        (lambda t: t.replace("base\t10\tq03\tRR@10\t0.4\n", ""),
         r"ours in .* and base in accuracy/10 hold different queries \(1 of them, such as q03"),
        (lambda t: t.replace("q03", "q99").replace("ours.seed1\t10\tq99", "ours.seed1\t10\tq03"),
         r"depth 10: ours\.seed1 and ours\.seed2 hold different queries \(2 of them, such as q03"),
        (lambda t: re.sub(r"ours\.seed1\t10\t\w+\tRR@10.*\n", "", t),
         r"depth 10: ours\.seed1: no values of RR@10; it holds recall"),
        (lambda t: t.replace("RR@10", "RR@5"),
         r"toy-figure1: no values of RR@10; the depth curve holds RR@5, recall"),
        (lambda t: t + "base\t10\tq03\tRR@10\t0.1\n", r"depths\.tsv, line 362: duplicate line"),
        (lambda t: t + "base\t10\tq99\tRR@10\tNaN\n", r"line 362: not a finite number"),
        (lambda t: t.replace("run\tdepth", "depth\trun", 1), "line 1: expected run, depth,"),
        (lambda t: t + "base\tdeep\tq99\tRR@10\t1\n",
         r"depths\.tsv, line 362: depth must be a number"),
    ],
)  # fmt: skip
def test_a_faulty_depth_curve_is_refused(tmp_path, edit, message):
    with pytest.raises(ResiduumError, match=message):
        draw(tmp_path / "bad", text=edit(curve_text()))
    assert not (tmp_path / "bad" / "toy-figure1.tsv").exists()


def test_different_queries_of_two_series_are_an_error():
    sides = {"recall/ours": QUERIES, "recall/base": [*QUERIES[1:], "q99"]}
    with pytest.raises(ResiduumError, match=r"ours and .* different queries \(2 .* such as q00"):
        paired.same_queries(sides, "toy-figure1: ")


def test_a_drawing_without_a_significant_depth_keeps_its_axes(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # matplotlib warns where it cannot lay the axes out
        table = draw(tmp_path / "none", job(tests={"alpha": 1e-6}))
    assert not any(table["significant"].drop_nulls())


def test_a_series_whose_model_did_not_learn_is_labelled_and_not_tested(tmp_path):
    path = write_verdict(tmp_path / "cross" / "seed1.json")
    made = job().model_copy(update={"models": {"data": {"ours.seed1": ["cross/seed1"]}}})
    table = draw(tmp_path / "one", made, learning=[path])
    assert table["p"].null_count() == table.height
    page = (tmp_path / "one" / "toy-figure1.md").read_text()
    assert " (not learned)" in page and "cross seed1: not learned; RR@10 over 4" in page


SEARCH = {"kind": "ivf", "nlist": 8, "nprobe": 1}
EFFORTS = {0: 0.6, 1: 0.2, 4: 0.5}  # of ours, by effort; base has 0.1 less


def over_efforts(folder):
    """Draw two searched systems, and the time that they took; return both tables, the caption."""
    folder.mkdir()
    curves, costs, timings = [], [], []
    for run, less, each in (("ours.seed1", 0.0, 3), ("base", 0.1, 1)):
        at = folder / "sweeps" / "data" / "dev" / "toy"
        at.mkdir(parents=True, exist_ok=True)
        lines = ["run\teffort\tquery_id\tmeasure\tvalue"]
        for effort, mean in EFFORTS.items():
            lines += [f"{run}\t{effort}\t{q}\tRR@10\t{mean - less}" for q in QUERIES]
            lines += [f"{run}\t{effort}\t{q}\trecall\t{1 - (effort == 1) / 2}" for q in QUERIES]
        compared = {"0": 100.0 * each, "1": 20.0 * each, "4": 60.5 * each}
        facts = {"vectors": 100 * each, "dimensions": 250, "indexes": 2}
        curves.append(at / f"{run}.tsv")
        curves[-1].write_text("\n".join(lines) + "\n")
        costs.append(at / f"{run}.tsv.manifest.json")
        costs[-1].write_text(json.dumps({"artefact": {**facts, "vectors_compared": compared}}))
        timings.append(at / f"{run}.json")
        timings[-1].write_text(json.dumps({"median": {"0": 4e-3, "1": 1e-3 * each, "4": 2e-3}}))
    panels = [
        {"id": "recall", "shows": "recall", "header": "Recall"},
        {"id": "accuracy", "shows": "measure", "measure": "RR@10", "header": "MRR@10"},
    ]
    made = job(over="effort", sweep="toy", panels=panels)
    sweep = Sweep.model_validate({"search": SEARCH, "then": [4], "k": 10, "description": "Lists."})
    runs = {"ours": ["ours.seed1"], "base": ["base"]}
    spec = made.model_copy(update={"sweep": sweep, "runs": runs}).model_dump(mode="json")
    output, apart = folder / "toy-figure1.tsv", folder / "timings" / "toy-figure1.tsv"
    figures.draw(canonical_json(spec), output, folder, curves, costs)
    figures.draw_times(canonical_json(spec), apart, curves, timings)
    tables = [
        pl.read_csv(path, separator="\t", infer_schema_length=None) for path in (output, apart)
    ]
    return *tables, output.with_suffix(".md").read_text()


def test_a_figure_over_efforts_by_what_is_compared(tmp_path):
    table, _, text = over_efforts(tmp_path / "one")
    assert table.height == 2 * 2 + 2 * 3, "an exact search has no recall: it is what is recalled"

    def at(panel, series, effort):
        return table.filter(panel=panel, series=series, effort=effort).row(0, named=True)

    assert at("accuracy", "base", 4)["mean"] == pytest.approx(0.4)
    assert at("recall", "base", 1)["mean"] == 0.5
    assert at("accuracy", "ours", 4)["vectors_compared"] == 181.5
    assert at("accuracy", "base", 0)["vectors_compared"] == 100
    assert at("accuracy", "base", 4)["difference"] == pytest.approx(-0.1)
    assert at("accuracy", "base", 4)["significant"] and at("accuracy", "base", 0)["p"] is None
    row = next(line for line in text.splitlines() if line.startswith("| 4 "))
    assert [c.strip() for c in row.split("|")[1:-1]] == [
        "4", "1.000", "1.000", "0.500", "0.400\\*", "182", "60"
    ]  # fmt: skip
    assert "Search: ivf of FAISS, nlist 8, code flat, 10 docs a query; effort is nprobe." in text
    # two indexes of 8 lists: 16 centres of 60 vectors compared at effort 1, of 181.5 at effort 4
    assert (
        "ours.seed1: 300 vectors of 250 floats, 0.0003 GB; shards, each with an index: 2. Of the "
        "vectors compared, 16 are centres of lists at any effort: 27% at the least effort, 9% at "
        "the most. Effort is per shard, so that 2 times as many lists are read; one index of all "
        "vectors would have 8 centres." in text
    )
    assert "Recall of what the exact search finds" in text and "at that effort" in text


def test_seconds_are_drawn_apart_and_leave_no_manifest(tmp_path):
    table, times, text = over_efforts(tmp_path / "one")
    shared = ["panel", "series", "effort", "mean"]
    assert times.select(shared).equals(table.select(shared))
    took = {(s, n): ms for s, n, ms in times.select("series", "effort", "ms_per_query").rows()}
    assert took["ours", 1] == pytest.approx(3) and took["base", 4] == pytest.approx(2)
    made = sorted(path.name for path in (tmp_path / "one" / "timings").iterdir())
    assert made == ["toy-figure1.pdf", "toy-figure1.png", "toy-figure1.tsv"]
    assert "timings/toy-figure1.pdf" in text and "ms" not in table.columns
