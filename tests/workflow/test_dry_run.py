"""The whole graph as Snakemake plans it at scale smoke: what jobs declare, and what they use."""

import os
import re

import pytest

import forking
from conftest import ROOT
from projects import arguments
from residuum.config import entries, loading
from residuum.inspect import dryrun, planning

pytestmark = pytest.mark.workflow


@pytest.fixture(scope="module")
def printed():
    """Return what a dry run of all papers prints."""
    words = arguments("all", options=("--dry-run", "--quiet", "host", "--forceall"))
    done = forking.run("snakemake", words, os.environ, merged=True)
    assert done.returncode == 0, done.stdout[-2000:]
    return done.stdout


def test_each_job_has_a_benchmark_named_as_its_log(printed):
    pairs = re.findall(r"    log: (.*)\n(?:    jobid: .*\n)?    benchmark: (.*)\n", printed)
    jobs = re.findall(r"^rule (?!all:)\w+:$", printed, re.M)
    assert len(pairs) == len(jobs) > 900
    for log, benchmark in pairs:
        assert log.replace("/logs/", "/benchmarks/").replace(".log", ".tsv") == benchmark


def test_what_a_plan_uses_is_named_by_its_pages(printed):
    base = entries.parse(ROOT / "config" / "config.yaml", dict[str, object])
    registry = loading.load(ROOT / "config", {**base, "scale": "smoke"})
    jobs = dryrun.read(printed)
    used = {job.wildcards["dataset"] for job in jobs if "dataset" in job.wildcards}
    assert len(used) > 5 and used <= planning.named_by(registry)
