"""RoC's figures: bound at mini, what they read, what is at fault."""

import json
import shlex
from dataclasses import replace

import pytest
import yaml

from conftest import ROOT
from entry_files import unlined
from plan_fixture import named
from residuum.cli.errors import ResiduumError
from residuum.config import loading
from residuum.config.registry import SplitId
from residuum.pages.figure.bind import FigureInputs, bind_figure
from residuum.pages.table.bind import TableInputs
from residuum.pages.venn.bind import VennInputs, bind_venn
from residuum.wiring.availability import all_available
from residuum.wiring.base import Constraints
from residuum.wiring.pages import Pages, gaps
from residuum.wiring.paths import Paths
from residuum.wiring.runs import Groups

EFFORT = {  # a figure over effort, as far as it differs from one over snapshots
    **{"over": "effort", "sweep": "luan2021"},
    "series": [{"id": "d", "label": "D", "system": "dpr-sum"}],
    "panels": [{"id": "p", "shows": "measure", "measure": "RR@10", "header": "x"}],
}
QUERIED = [{"id": one, "label": one, "system": one} for one in ("bm25-default", "dpr-sum")]
BASE = yaml.safe_load((ROOT / "config" / "config.yaml").read_text())
PAPER = ROOT / "config" / "papers" / "roc"
PATHS = Paths("r")
ON, QUESTIONS = (f"r/metrics/generated-{name}" for name in ("mini", "questions-mini/questions"))


def load(config, unbound=(), scale="mini", **changes):
    """Load a copy of config/ without some roles; `changes` are laid over RoC's pages."""
    for name, over in changes.items():
        path = config / "papers" / "roc" / f"{name}.yaml"
        path.write_text(yaml.safe_dump({**yaml.safe_load(path.read_text()), **over}))
    path = config / "scales" / f"{scale}.yaml"
    made = yaml.safe_load(path.read_text())
    made["roles"] = {role: at for role, at in made["roles"].items() if role not in unbound}
    path.write_text(yaml.safe_dump(made))
    return loading.load(config, {**BASE, "scale": scale, "papers": ["roc"], "seeds": [1]})


@pytest.fixture(scope="module")
def roc():
    return loading.load(ROOT / "config", {**BASE, "scale": "mini", "papers": ["roc"], "seeds": [1]})


def test_groups_and_metrics_are_what_a_figure_reads(roc):
    figures = FigureInputs(roc, PATHS, all_available)
    lengths, hard = named(page="roc-figure6"), named(page="roc-figure4")
    assert figures.groups(lengths) == ["r/groups/generated-questions-mini/questions/lengths.tsv"]
    assert figures.groups(hard) == ["r/groups/generated-mini/dev/bm25-halves.tsv"]
    runs = ("bm25-default", "clear-dpr.seed1", "dpr-ei.seed1", "dpr-sum.seed1", "dpr-tuned.seed1")
    assert figures.metrics(hard) == [f"{ON}/dev/{run}.tsv" for run in runs], (
        "BM25, and no run of it"
    )
    assert (figures.curves(hard), figures.costs(hard)) == ([], [])
    old = load_old()
    sweep = FigureInputs(old, PATHS, all_available)
    assert sweep.groups(named(page="clear-figure1")) == sweep.metrics(named(page="clear-figure1"))


def load_old():
    return loading.load(ROOT / "config", {**BASE, "scale": "mini"})


def test_circles_read_the_parts_and_never_the_hybrid(roc):
    metrics = VennInputs(roc, PATHS, all_available).metrics(named(page="roc-figure1"))
    runs = ("bm25-default", "clear-dpr-embedding.seed1", "dpr-embedding.seed1")
    assert metrics == [f"{QUESTIONS}/{run}.tsv" for run in runs]


def test_a_hybrid_is_no_side_of_a_circle(config):
    rows = yaml.safe_load((PAPER / "figure1.yaml").read_text())["rows"][:1]
    rows[0]["dense"] = "dpr-sum"
    with pytest.raises(ResiduumError, match=r"rows\.a\.dense: .*dpr-sum.*dense"):
        load(config, figure1={"rows": rows, "reported": {}})


def seeded(made, **seeds):
    """Return RoC's pages with models that have seeds of their own."""
    models = {
        name: made.models[name].model_copy(update={"seeds": own})
        for name, own in ((name.replace("_", "-"), own) for name, own in seeds.items())
    }
    config = made.config.model_copy(update={"seeds": None})
    return replace(made, config=config, models={**made.models, **models})


def test_what_is_shown_together_has_the_seeds_that_all_have(roc):
    made = seeded(roc, dpr=[1, 2], clear_dpr=[2, 3], dpr_ei=[2])
    circles = bind_venn(made, "roc-figure1", all_available)
    assert circles.runs["a/dense"] == ["dpr-embedding.seed1", "dpr-embedding.seed2"]
    assert circles.runs["a/lexical"] == ["bm25-default"]
    shares = bind_figure(made, "roc-figure4", all_available)
    assert shares.runs["dpr"] == ["dpr-sum.seed2"] and shares.runs["clear"] == ["clear-dpr.seed2"]
    apart = seeded(roc, dpr=[1], clear_dpr=[2], dpr_ei=[4])
    shares = bind_figure(apart, "roc-figure4", all_available)
    why = "no seed in common: dpr-sum, clear-dpr, dpr-ei, dpr-tuned, bm25-default"
    assert shares.runs == {}
    assert shares.absent == dict.fromkeys(("dpr", "clear", "ours", "dpr-tuned"), why)


@pytest.mark.parametrize(
    ("page", "key", "value", "message"),
    [
        ("figure4", "groups", ["hrad"],
         "groups: 'hrad' is no group of bm25-halves: write hard or easy"),
        ("figure4", "reported", {"ours": {"gain/hrad": "+0.102"}},
         "reported.ours.gain/hrad: 'hrad' is no group of bm25-halves"),
        ("figure6", "groups", ["40-"], "groups: '40-' is no group of lengths: write two bounds"),
        ("figure6", "groups", ["80-40"], "groups: '80-40' is no group of lengths"),
    ],
)  # fmt: skip
def test_a_group_that_none_can_be_is_a_fault_of_its_page(config, page, key, value, message):
    with pytest.raises(ResiduumError) as error:
        load(config, **{page: {key: value}})
    assert f"{page}.yaml: {message}" in unlined(error.value)


def test_a_claim_leaves_out_groups_that_there_are(config):
    claims = yaml.safe_load((PAPER / "claims.yaml").read_text())["claims"]
    grouped = next(c for c in claims if c.get("holds", {}).get("page") == "figure6")
    grouped["holds"]["but"] = ["0-4O"]
    with pytest.raises(ResiduumError, match=r"holds\.but: '0-4O' is no group of lengths"):
        load(config, claims={"claims": claims})


def test_what_is_shown_is_evaluated_where_it_is_shown(roc):
    shown = {
        ("generated-mini", "dev"): {"RR@10"},
        ("generated-questions-mini", "questions"): {"AP@1000", "AnswerAccuracy@10"},
        ("generated-mini", "dev-adverse"): {"RR@10"},
    }
    for split, measures in shown.items():
        assert measures <= {*roc.measures(SplitId(*split))}


def test_a_grouping_reads_its_system_and_takes_a_scales_width(roc):
    groups, split = Groups(roc, PATHS, all_available), {"dataset": "generated-mini", "split": "dev"}
    assert groups.metrics(named(grouping="bm25-halves", **split)) == [f"{ON}/dev/bm25-default.tsv"]
    spec = json.loads(groups.spec(named(grouping="lengths", **split)))
    assert spec == {"kind": "lengths", "width": 10}
    assert roc.groupings["lengths"].width == 10
    full = loading.load(ROOT / "config", {**BASE, "scale": "full"})
    assert full.groupings["lengths"].width == 40, "the paper's"
    only = Constraints(roc).groupings(PATHS.groups, "halves")
    assert only.endswith("{grouping,bm25-halves}.tsv")


def test_pages_that_report_are_made_and_judged_even_where_no_split_has_their_role(roc, config):
    judged = [json.loads(s)["id"] for s in shlex.split(Pages(roc, PATHS, all_available)
              .judged_specs(None))[1::2]]  # fmt: skip
    drawn = [page for page in judged if page.startswith("roc-figure")]
    assert drawn == ["roc-figure4", "roc-figure1", "roc-figure3"], "figure6 reports nothing"
    empty = load(config, unbound=("nq-test",))
    pages = Pages(empty, PATHS, all_available)
    made = pages.all(None)
    assert "r/venn/roc-figure1.md" in made and "r/figures/roc-figure6.md" not in made
    bound = bind_venn(empty, "roc-figure1", all_available)
    assert (bound.split, bound.runs, {*bound.absent}) == (None, {}, {"a", "b", "c"})
    lacking = {gap.row for gap in gaps(empty, all_available) if gap.page == "roc-figure1"}
    assert lacking == {"a", "b", "c"}


def test_a_series_may_have_a_role_of_its_own(config):
    series = yaml.safe_load((PAPER / "figure6.yaml").read_text())["series"]
    series[1]["role"] = "msmarco-tune"
    made = load(config, figure6={"role": "msmarco-dev", "series": series})
    bound = bind_figure(made, "roc-figure6", all_available)
    on = {"ours": "dev", "clear": "tune", "dpr": "dev", "bm25": "dev"}
    assert bound.splits == {name: f"generated-mini/{split}" for name, split in on.items()}
    groups = FigureInputs(made, PATHS, all_available).groups(named(page="roc-figure6"))
    assert groups == [f"r/groups/generated-mini/{split}/lengths.tsv" for split in ("dev", "tune")]
    assert "AP@1000" in made.measures(SplitId("generated-mini", "tune"))


def test_a_figure_over_snapshots_reads_the_runs_of_all_models_that_a_training_keeps(roc):
    """Of mini's two the last is the finished one, whose run is the table's."""
    page, figures = named(page="roc-figure5"), FigureInputs(roc, PATHS, all_available)
    expected = [
        f"{ON}/{split}/{system}.{seed}.tsv"
        for split in ("dev-adverse", "dev")
        for system in ("clear-dpr", "dpr-ei")
        for seed in ("seed1", "seed1@1")
    ]
    assert figures.metrics(page) == expected
    assert (figures.groups(page), figures.curves(page)) == ([], [])
    assert f"{ON}/dev/dpr-ei.seed1.tsv" in TableInputs(roc, PATHS, all_available).metrics(
        named(page="roc-table3")
    )
    full = loading.load(ROOT / "config", {**BASE, "scale": "full"})
    assert bind_figure(full, "roc-figure5", all_available).snapshots["ours-original"] == 10
    learned = figures.learning(page)
    of = "generated-mini.train/seed1"
    assert learned == [f"r/learning/{model}@{of}.json" for model in ("clear-dpr", "dpr-ei")]


def test_a_series_over_snapshots_without_its_split_is_absent(config):
    made = load(config, unbound=("msmarco-adverse",))
    bound = bind_figure(made, "roc-figure5", all_available)
    assert {*bound.absent} == {"clear-adverse", "ours-adverse"}
    assert {*bound.snapshots} == {"clear-original", "ours-original"}
    gapped = {
        (gap.row, gap.unbound) for gap in gaps(made, all_available) if gap.page == "roc-figure5"
    }
    assert gapped == {("clear-adverse", True), ("ours-adverse", True)}
    assert [(panel.id, series.id) for panel, series in bound.plotted()] == [
        ("clear", "clear-original"), ("ours", "ours-original"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("page", "changes", "says"),
    [
        ("figure6", {"over": "lenghts"}, "no grouping 'lenghts'; known: batches, bm25-halves"),
        ("figure6", {"over": "depth"}, "over depth panels show recall or reranked"),
        ("figure6", {"tests": "clear"}, "compares with its first series only"),
        ("figure4", {"reported": {"ours": {"win/hard": "0.1"}}}, "write <panel>/<group>"),
        ("figure4", {"reported": {"ours": {"gain/hard": "0.1 ^1"}}}, "and a number alone"),
        ("figure4", {"reported": {"outs": {"gain/hard": "0.1"}}}, "no series 'outs'; known: clear"),
        ("figure4", {"tolerance": {}}, "`tolerance:` has neither its column nor a default"),
        ("figure4", {"panels": [{"id": "p", "shows": "better", "measure": "RR@10", "header": "x"}]},
         "give than for better, and only for it"),
        ("figure5", {"groups": ["1"]}, "over snapshot there are no groups and no reported numbers"),
        ("figure5", {"over": "lengths"}, "narrows reads a figure over depths, snapshots or"),
        ("figure5", {"over": "query", "series": QUERIED, "panels": EFFORT["panels"]},
         "narrows reads a figure over depths, snapshots or"),
        ("figure5", {"series": [{"id": "d", "label": "D", "system": "dpr-sum"}]},
         "series.d.system: 'dpr-sum' has no snapshots (behind it: dpr); dense systems"),
        ("figure5", {"series": [{"id": "b", "label": "B", "system": "bm25-default"}]},
         "'bm25-default' has no snapshots (behind it: no model)"),
        ("figure5", {"series": [{"id": "r", "label": "R", "system": "clear-bert-base"}]},
         "'clear-bert-base' has no snapshots"),
        ("figure5", {"panels": [{"id": "ours", "shows": "better", "than": "bm25-default",
                                 "measure": "RR@10", "header": "x"}]},
         "over snapshot panels show measure"),
        ("figure5", {"over": "effort"}, "give sweep over effort, and over nothing else"),
        ("figure5", {"sweep": "luan2021"}, "give sweep over effort, and over nothing else"),
        ("figure5", {**EFFORT, "sweep": "luan2020"}, "sweep: no sweep 'luan2020'; known: luan2021"),
        ("figure5", EFFORT, "narrows reads no figure over effort"),
        ("figure5", {**EFFORT, "series": [{"id": "b", "label": "B", "system": "bm25-default"}]},
         "series.b.system: system 'bm25-default' is of kind lexical; fitting: "),
        ("figure5", {"panels": [{"id": "ours", "shows": "measure", "measure": "RR@10",
                                 "series": ["our-original"], "header": "x"}]},
         "no series 'our-original'"),
        ("figure5", {"panels": [{"id": "ours", "shows": "measure", "measure": "RR@10",
                                 "series": ["ours-original"], "header": "x"}]},
         "no series of ours 'ours-adverse'"),
        ("figure1", {"measure": "RR@10"}, "RR@10 is no measure of hits, 0 or 1"),
        ("figure1", {"reported": {"a": {"precision": "0.1"}}}, "no quantity 'precision'"),
        ("figure1", {"reported": {"d": {"dense": "0.1"}}}, "no row 'd'; known: a, b, c"),
    ],
)  # fmt: skip
def test_faults_of_figures_name_the_key(config, page, changes, says):
    with pytest.raises(ResiduumError) as caught:
        load(config, **{page: changes})
    assert says in str(caught.value)
