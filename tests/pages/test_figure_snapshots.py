"""A figure over the snapshots of trainings by hand: its numbers, its caption, and claims on it."""

import polars as pl
import pytest

from bounds_fixture import unmeasured
from residuum.artefacts import trec
from residuum.cli.errors import ResiduumError
from residuum.config.specs import RunId, canonical_json
from residuum.pages import grids
from residuum.pages.claims import make as claims
from residuum.pages.claims.job import BoundClaims
from residuum.pages.figure import make as figures
from residuum.pages.figure.job import BoundFigure
from residuum.pages.verdicts import LedgerRow
from residuum.paired import Comparison
from tables_fixture import write_verdict

TESTS = {"test": "permutation", "alpha": 0.05, "correction": "holm", "family": "column",
         "compare": "with_baselines"}  # fmt: skip
IDS = [f"q{i:02d}" for i in range(40)]
# RR@10 of even and of odd queries, which differ by 0.2, so that means are those between them.
MEANS = {
    "clear.seed1": {"dev": [0.3, 0.5, 0.6], "dev-adverse": [0.2, 0.4, 0.5]},
    "ours.seed1": {"dev": [0.3, 0.6, 0.7], "dev-adverse": [0.1, 0.4, 0.6]},
    "ours.seed2": {"dev": [0.4, 0.6, 0.7], "dev-adverse": [0.2, 0.5, 0.7]},
}
SERIES = [
    {"id": f"{name}-{role}", "label": f"{name.title()}, {role}", "system": name, "role": role}
    for name in ("clear", "ours")
    for role in ("dev", "adverse")
]
FIGURE = {
    "kind": "figure",
    "title": "Toy snapshots",
    "printed_in": "Toy, Figure 5",
    "role": "dev",
    "over": "snapshot",
    "series": SERIES,
    "panels": [
        {"id": name, "shows": "measure", "measure": "RR@10", "header": "MRR",
         "series": [f"{name}-dev", f"{name}-adverse"]}
        for name in ("clear", "ours")
    ],
    "tests": "toy",
}  # fmt: skip
RUNS = {"clear": ["clear.seed1"], "ours": ["ours.seed1", "ours.seed2"]}


def job(figure=None, **changes):
    made = {
        "id": "toy-figure5", "entry": {**FIGURE, **(figure or {})}, "tests": TESTS,
        "runs": {one["id"]: RUNS[one["system"]] for one in SERIES},
        "snapshots": {one["id"]: 3 for one in SERIES},
        "splits": {one["id"]: "data/dev" + "-adverse" * (one["role"] == "adverse")
                   for one in SERIES},
        "scale": "toy", "reason": "a toy.",
    }  # fmt: skip
    return BoundFigure.model_validate({**made, **changes})


def sources(folder, means=MEANS):
    """Write the metrics of every run: the third of a seed is the finished model's."""
    for run, of in means.items():
        for split, values in of.items():
            for name, mean in zip((f"{run}@1", f"{run}@2", run), values, strict=True):
                rows = [(q, "RR@10", mean + 0.1 * (-1) ** i) for i, q in enumerate(IDS)]
                frame = pl.DataFrame(rows, schema=trec.METRICS, orient="row")
                trec.write_metrics(folder / "metrics" / "data" / split / f"{name}.tsv", frame)
    return folder / "metrics"


def draw(folder, made=None, means=MEANS, learning=None):
    metrics, output = sources(folder, means), folder / "toy-figure5.tsv"
    spec = canonical_json((made or job()).model_dump(mode="json"))
    figures.draw(spec, output, metrics, learning=learning)
    table = pl.read_csv(output, separator="\t", infer_schema_length=None)
    return {(r["panel"], r["series"], r["snapshot"]): r for r in table.iter_rows(named=True)}


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    folder = tmp_path_factory.mktemp("snapshots")
    return draw(folder), folder


def test_the_run_of_a_snapshot_is_named_after_its_number_and_the_last_after_none():
    assert str(RunId.parse("ours.seed2").kept(1)) == "ours.seed2@1"
    assert job().at_snapshots("ours-dev") == {
        "1": ["ours.seed1@1", "ours.seed2@1"],
        "2": ["ours.seed1@2", "ours.seed2@2"],
        "3": ["ours.seed1", "ours.seed2"],
    }


def test_means_of_each_snapshot_by_hand(drawn):
    shown = {key: row["mean"] for key, row in drawn[0].items()}
    expected = {
        ("clear", "clear-dev"): [0.3, 0.5, 0.6],
        ("clear", "clear-adverse"): [0.2, 0.4, 0.5],
        ("ours", "ours-dev"): [0.35, 0.6, 0.7],
        ("ours", "ours-adverse"): [0.15, 0.45, 0.65],
    }
    by_hand = {(*k, n): v for k, of in expected.items() for n, v in enumerate(of, start=1)}
    assert shown == pytest.approx(by_hand), "each panel shows its own series"
    first = drawn[0]["ours", "ours-adverse", 1]
    assert [float(each) for each in first["per_seed"].split()] == pytest.approx([0.1, 0.2])
    assert (first["n"], first["seeds"], first["p"]) == (40, 2, None), "other splits, no test"


def test_the_caption_names_splits_snapshots_and_no_test(drawn):
    text = (drawn[1] / "toy-figure5.md").read_text()
    where = "data/dev in the role of dev, 40 queries; data/dev-adverse in the role of adverse, 40"
    assert where in text and "The last is the finished model" in text
    assert "differs significantly" not in text
    rows = [[c.strip() for c in x.split("|")[1:-1]] for x in text.splitlines() if x[:1] == "|"]
    header = [f"MRR {one['label']}" for one in SERIES]
    assert rows[0] == ["snapshot", *header]
    assert rows[2][:3] == ["1", "0.300", "0.200"]


def test_equal_data_is_equal_bytes(drawn, tmp_path):
    draw(tmp_path)
    for form in ("pdf", "png", "md", "tsv"):
        one, two = (folder / f"toy-figure5.{form}" for folder in (drawn[1], tmp_path))
        assert one.read_bytes() == two.read_bytes(), form


def test_series_of_one_split_in_one_panel_are_tested(tmp_path):
    panel = {**FIGURE["panels"][0], "series": ["clear-dev", "ours-dev"]}
    shown = draw(tmp_path, job({"panels": [panel]}))
    assert shown["clear", "ours-dev", 3]["difference"] == pytest.approx(0.1)
    assert shown["clear", "ours-dev", 3]["significant"] is True
    text = (tmp_path / "toy-figure5.md").read_text()
    assert "differs significantly from Clear, dev at that point" in text


def test_a_series_whose_finished_model_did_not_learn_is_not_drawn(tmp_path):
    path = write_verdict(tmp_path / "dual" / "seed1.json")
    models = {"data": {"ours.seed1": ["dual/seed1"]}}
    shown = draw(tmp_path / "one", job(models=models), learning=[path])
    assert {series for _, series, _ in shown} == {"clear-dev", "clear-adverse"}
    page = (tmp_path / "one" / "toy-figure5.md").read_text()
    assert "Not drawn, not learned: Ours, dev" in page
    every = {"data": {run: ["dual/seed1"] for runs in RUNS.values() for run in runs}}
    assert draw(tmp_path / "none", job(models=every), learning=[path]) == {}


def test_metrics_without_the_measure_are_refused(tmp_path):
    panels = [{**panel, "measure": "AP@1000"} for panel in FIGURE["panels"]]
    with pytest.raises(ResiduumError, match=r"clear-dev at snapshot 1: .* no values of AP@1000"):
        draw(tmp_path, job({"panels": panels}))


def judged(folder, holds, means=MEANS):
    entries = [
        {"id": f"c{i}", "section": "4", "says": f"Sentence {i}.", "holds": {**own, "page": "f"}}
        for i, own in enumerate(holds)
    ]
    page = {"kind": "claims", "title": "Words", "printed_in": "Toy, prose", "tests": "t"}
    made = BoundClaims.model_validate(
        {"id": "toy-claims", "entry": {**page, "claims": entries}, "tables": {},
         "tests": {**TESTS, "compare": "all_pairs"}, "figures": {"f": job().model_dump()},
         "scale": "toy", "reason": "a toy."}
    )  # fmt: skip
    output, tests = folder / "toy-claims.tsv", folder / "tests" / "toy-claims.tsv"
    spec = canonical_json(made.model_dump(mode="json"))
    metrics = sources(folder, means)
    claims.judge(spec, metrics, tests, output, *unmeasured(metrics))
    rows = {row.row: row for row in grids.rows(output, LedgerRow)}
    return rows, grids.rows(tests, Comparison), output.with_suffix(".md").read_text()


def test_a_gap_narrows_or_stays_from_the_first_snapshot_to_the_last(tmp_path):
    """Ours: 0.2 at first, 0.05 at last. CLEAR: 0.1 at both, which shows nothing."""
    ours = {"rows": {"ours-dev": ["ours-adverse"]}, "columns": ["ours"]}
    clear = {"rows": {"clear-dev": ["clear-adverse"]}, "columns": ["clear"]}
    rises = {"relation": "rises", "rows": ["ours-dev"], "columns": ["ours"]}
    holds = [{"relation": r, **of} for of in (ours, clear) for r in ("narrows", "stays")]
    rows, tests, page = judged(tmp_path, [*holds, rises])
    verdicts = [row.verdict for row in rows.values()]
    # over two seeds, 0.2 - 0.1 and 0.2 - 0.0: t 3 with one degree of freedom
    assert verdicts[:4] == ["these models only"] * 2 + ["not judged", "inconclusive"]
    assert verdicts[4] in ("holds", "these models only")
    assert tests[0].difference == pytest.approx(0.05 - 0.2)
    names = ("ours-dev - ours-adverse at snapshot 3", "ours-dev - ours-adverse at snapshot 1")
    assert (tests[0].a, tests[0].b) == names
    assert "the gap of ours-dev less ours-adverse narrows with snapshot in ours (f)" in page
    assert (
        "the gap of clear-dev less clear-adverse stays the same with snapshot in clear (f)" in page
    )
    assert len({row.rests_on for row in rows.values()}) == 5


def test_a_gap_that_is_said_to_stay_and_changes_contradicts(tmp_path):
    means = {**MEANS, "clear.seed1": {"dev": [0.3, 0.5, 0.6], "dev-adverse": [0.2, 0.4, 0.3]}}
    clear = {"rows": {"clear-dev": ["clear-adverse"]}, "columns": ["clear"]}
    rows, _, _ = judged(tmp_path, [{"relation": r, **clear} for r in ("stays", "narrows")], means)
    assert [row.verdict for row in rows.values()] == ["reversed", "reversed"]
