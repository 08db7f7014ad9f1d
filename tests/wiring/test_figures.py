"""RoC's figures: bound at mini, what they read, what is at fault."""

import json
import shlex
import shutil

import pytest
import yaml

from conftest import ROOT
from plan_fixture import named
from residuum.cli.errors import ResiduumError
from residuum.config import loading
from residuum.config.registry import Place
from residuum.wiring.availability import all_available
from residuum.wiring.figures import Figures, bind_figure, bind_venn
from residuum.wiring.gaps import gaps
from residuum.wiring.groups import Groups
from residuum.wiring.pages import Pages
from residuum.wiring.part import Constraints
from residuum.wiring.paths import Paths

BASE = yaml.safe_load((ROOT / "config" / "config.yaml").read_text())
PAPER = ROOT / "config" / "papers" / "roc"
LATER = ROOT / "tests" / "papers" / "roc" / "figure6.yaml"  # where relevance is by answers
HITS = {"measure": "Success@10"}  # by judgements, as the split here has them
PATHS = Paths("r")
ON = "r/metrics/generated-mini/dev"


def load(folder, nq="generated-mini/dev", **changes):
    """Load config/ with nq-test bound at mini; `changes` are laid over the keys of its figures."""
    config = folder / "config"
    shutil.copytree(ROOT / "config", config, dirs_exist_ok=True)
    for path in [*PAPER.glob("figure*.yaml"), LATER]:
        over = changes.get(path.stem, HITS if path.stem in ("figure1", "figure3") else {})
        page = {**yaml.safe_load(path.read_text()), **over}
        (config / "papers" / "roc" / path.name).write_text(yaml.safe_dump(page))
    path = config / "scales" / "mini.yaml"
    made = yaml.safe_load(path.read_text())
    made["roles"] = {**made["roles"], "nq-test": nq}
    made["roles"] = {role: at for role, at in made["roles"].items() if at}
    path.write_text(yaml.safe_dump(made))
    return loading.load(config, {**BASE, "scale": "mini", "papers": ["roc"], "seeds": [1]})


@pytest.fixture(scope="module")
def roc(tmp_path_factory):
    return load(tmp_path_factory.mktemp("roc"))


def test_groups_and_metrics_are_what_a_figure_reads(roc):
    figures = Figures(roc, PATHS, all_available)
    lengths, hard = named(page="roc-figure6"), named(page="roc-figure4")
    assert figures.groups(lengths) == ["r/groups/generated-mini/dev/lengths.tsv"]
    assert figures.groups(hard) == ["r/groups/generated-mini/dev/bm25-halves.tsv"]
    runs = ("bm25-default", "clear-dpr.seed1", "dpr-ei.seed1", "dpr-sum.seed1")
    assert figures.metrics(hard) == [f"{ON}/{run}.tsv" for run in runs], "BM25, and no run of it"
    assert (figures.depths(hard), figures.scored(hard)) == ([], [])
    old = load_old()
    sweep = Figures(old, PATHS, all_available)
    assert sweep.groups(named(page="clear-figure1")) == sweep.metrics(named(page="clear-figure1"))


def load_old():
    return loading.load(ROOT / "config", {**BASE, "scale": "mini"})


def test_circles_read_the_parts_and_never_the_hybrid(roc):
    metrics = Figures(roc, PATHS, all_available).circles(named(page="roc-figure1"))
    runs = ("bm25-default", "clear-dpr-embedding.seed1", "dpr-embedding.seed1")
    assert metrics == [f"{ON}/{run}.tsv" for run in runs]


def test_what_is_shown_is_evaluated_where_it_is_shown(roc):
    measures = roc.measures(Place("generated-mini", "dev"))
    assert {"AP@1000", "Success@10", "RR@10"} <= {*measures}


def test_a_grouping_reads_its_system_and_takes_a_scales_width(roc):
    groups, split = Groups(roc, PATHS, all_available), {"dataset": "generated-mini", "split": "dev"}
    assert groups.metrics(named(grouping="bm25-halves", **split)) == [f"{ON}/bm25-default.tsv"]
    spec = json.loads(groups.spec(named(grouping="lengths", **split)))
    assert spec == {"kind": "lengths", "width": 10}
    assert roc.groupings["lengths"].width == 10
    full = loading.load(ROOT / "config", {**BASE, "scale": "full"})
    assert full.groupings["lengths"].width == 40, "the paper's"
    only = Constraints(roc).groupings(PATHS.groups, "halves")
    assert only.endswith("{grouping,bm25-halves}.tsv")


def test_pages_that_report_are_made_and_judged_even_where_no_split_has_their_role(roc, tmp_path):
    judged = [json.loads(s)["id"] for s in shlex.split(Pages(roc, PATHS, all_available)
              .judged_specs(None))[1::2]]  # fmt: skip
    drawn = [page for page in judged if page.startswith("roc-figure")]
    assert drawn == ["roc-figure4", "roc-figure1", "roc-figure3"], "figure6 reports nothing"
    empty = load(tmp_path, nq=None)
    pages = Pages(empty, PATHS, all_available)
    made = pages.all(None)
    assert "r/venn/roc-figure1.md" in made and "r/figures/roc-figure6.md" not in made
    bound = bind_venn(empty, "roc-figure1", all_available)
    assert (bound.place, bound.runs, {*bound.absent}) == (None, {}, {"a", "b", "c"})
    told = {gap.row for gap in gaps(empty, all_available) if gap.page == "roc-figure1"}
    assert told == {"a", "b", "c"}


def test_a_series_may_have_a_role_of_its_own(tmp_path):
    series = [{"id": "dev", "label": "D", "system": "bm25-default"},
              {"id": "tune", "label": "T", "system": "bm25-default",
               "role": "msmarco-tune"}]  # fmt: skip
    made = load(tmp_path, figure6={"series": series})
    bound = bind_figure(made, "roc-figure6", all_available)
    assert bound.places == {"dev": "generated-mini/dev", "tune": "generated-mini/tune"}
    groups = Figures(made, PATHS, all_available).groups(named(page="roc-figure6"))
    assert groups == [f"r/groups/generated-mini/{split}/lengths.tsv" for split in ("dev", "tune")]
    assert "AP@1000" in made.measures(Place("generated-mini", "tune"))


@pytest.mark.parametrize(
    ("page", "changes", "says"),
    [
        ("figure6", {"over": "lenghts"}, "no grouping 'lenghts'; known: bm25-halves, lengths"),
        ("figure6", {"over": "depth"}, "over depth panels show recall or reranked"),
        ("figure6", {"tests": "clear"}, "compares with its first series only"),
        ("figure4", {"reported": {"ours": {"win/hard": "0.1"}}}, "write <panel>/<group>"),
        ("figure4", {"reported": {"ours": {"gain/hard": "0.1 ^1"}}}, "and a number alone"),
        ("figure4", {"reported": {"outs": {"gain/hard": "0.1"}}}, "no series 'outs'; known: clear"),
        ("figure4", {"tolerance": {}}, "`tolerance:` has neither its column nor a default"),
        ("figure4", {"panels": [{"id": "p", "shows": "better", "measure": "RR@10", "header": "x"}]},
         "give than for better, and only for it"),
        ("figure1", {"measure": "RR@10"}, "RR@10 is no measure of hits, 0 or 1"),
        ("figure1", {**HITS, "reported": {"a": {"precision": "0.1"}}}, "no quantity 'precision'"),
        ("figure1", {**HITS, "reported": {"d": {"dense": "0.1"}}}, "no row 'd'; known: a, b, c"),
    ],
)  # fmt: skip
def test_faults_of_figures_name_the_key(tmp_path, page, changes, says):
    with pytest.raises(ResiduumError) as caught:
        load(tmp_path, **{page: changes})
    assert says in str(caught.value)
