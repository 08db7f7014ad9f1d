"""Plans of sizes that nobody has: their page, the real plan's at its own sizes, and no real run."""

import re
from collections import Counter

import pytest
from typer.testing import CliRunner

from conftest import ROOT
from projects import copy_project, invoke
from residuum.__main__ import app
from residuum.cli.errors import ResiduumError
from residuum.config.schema.scales import Config
from residuum.inspect import dryrun, planning
from residuum.inspect.dryrun import Job
from residuum.wiring import driver

PINNED = 8_841_823
FULL = ["scale=full", "papers=[clear]"]


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    return copy_project(tmp_path_factory.mktemp("project"))


def shown(*options):
    done = CliRunner().invoke(app, ["plan", *options])
    assert done.exit_code == 0, done.output
    return done.output


def test_docs_in_place_of_pins_are_no_collection_to_run_on():
    config = Config(scale="full", papers=["clear"], docs={"msmarco-passage": 10**9})
    with pytest.raises(ResiduumError, match=r"docs: \{msmarco-passage: 1000000000\} is for plans"):
        driver.refuse_planned(config)
    driver.refuse_planned(config.model_copy(update={"docs": {}}))


@pytest.mark.parametrize(("options", "limit"), [
    ((), None), (("--node-gb", "8"), "| data_corpus | 8 GB | 16 GB | 2 | 500 M |"),
    (("--node-gb", "64"), "| data_corpus | 64 GB | 16 GB | 0.25 | 4 G |"),
])  # fmt: skip
def test_the_memory_of_a_node_is_what_the_command_is_given(monkeypatch, options, limit):
    """A job of 16 GB, as one at half the docs of 8: it fits a node of 256 GB, unless told."""

    def jobs(mem_mb):
        takes = Counter(mem_mb=mem_mb)
        return [Job("data_corpus", {"dataset": "generated-mini"}, [], ["corpus"], 1, takes)]

    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(planning, "dry_runs", lambda requests: [jobs(16_000), jobs(8000)])
    docs = ["--docs", "generated-mini=1e9"]
    text = re.sub(r"\s+", " ", shown("--scale", "mini", "--paper", "clear", *docs, *options))
    memory = "| memory of a job "
    assert f"{memory}{limit}" in text if limit else memory not in text


@pytest.mark.workflow
@pytest.mark.usefixtures("forked_plans")
def test_at_the_pinned_size_both_plans_have_the_same_table(monkeypatch, project):
    """One shard that stands for 18 of docs or 21 of pairs, and each by itself: the same sums."""
    monkeypatch.chdir(project)
    one = f"docs={{'msmarco-passage': {PINNED}}}"
    whole, standing = dryrun.dry_runs([(FULL, []), ([*FULL, one], [dryrun.ALL])])
    assert len(whole) == 690 > 2 * len(standing)
    table = planning.table(whole, whole)
    assert planning.table(standing, standing) == table
    assert ["encode_docs", "180 of 180"] in [row[:2] for row in table]
    assert ["rerank_score", "46 of 46"] in [row[:2] for row in table]


@pytest.mark.workflow
@pytest.mark.usefixtures("forked_plans")
def test_the_page_of_a_larger_size(monkeypatch, project):
    monkeypatch.chdir(project)
    docs = ["--docs", "msmarco-passage=3e9"]
    page = shown("--scale", "full", "--paper", "clear", *docs)
    text = re.sub(r"\s+", " ", page)
    assert "as if there were 3,000,000,000 docs of msmarco-passage: 120,330 jobs" in text
    assert "| encode_docs | 60,000 of 60,000 |" in text, "6,000 shards of 10 models"
    index = "| docs of an index | msmarco-passage | 2,147,483,519 | 3,000,000,000 | 1.4 | 2.15 G |"
    assert index in text
    assert "Downloads" not in page


@pytest.mark.workflow
def test_a_real_run_with_other_docs_is_refused_before_its_first_job(project):
    status, output = invoke(project, config='docs={"generated-smoke":5000} papers=[clear]')
    assert status != 0
    assert "docs: {generated-smoke: 5000} is for plans alone" in output
    assert "Traceback" not in output
    assert not (project / "results" / "smoke" / "data").exists()


@pytest.mark.parametrize(("options", "fault"), [
    (["--docs", "nobody=5"], "--docs nobody=5: no dataset 'nobody'"),
    (["--docs", "nfcorpus=few"], "--docs nfcorpus=few: 'few' is no number of docs"),
])  # fmt: skip
def test_faults_of_options_are_one_error(monkeypatch, options, fault):
    monkeypatch.chdir(planning.roots.ROOT)
    done = CliRunner().invoke(app, ["plan", "--scale", "smoke", *options])
    assert isinstance(done.exception, ResiduumError)
    assert str(done.exception).startswith(fault)
