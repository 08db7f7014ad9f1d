"""What rules have that do not say it: each benchmark beside its log, each job an environment."""

import os
import re
from types import SimpleNamespace

import pytest

import forking
from projects import arguments
from residuum.wiring.driver import complete
from residuum.wiring.paths import Paths

PATHS = Paths("results/toy")


def rule(log: str, environment: str | None = None, norun: bool = False) -> SimpleNamespace:
    """Return a stand-in of Snakemake's rule."""
    made = {"log": [log] if log else [], "log_modifier": "modifier", "norun": norun}
    return SimpleNamespace(**made, conda_env=environment, benchmark=None, benchmark_modifier=None)


def test_a_rule_gets_what_it_does_not_say_and_keeps_what_it_says():
    plain, own = (rule(PATHS.log("a.b/{x}.c"), e) for e in (None, "envs/neural.yaml"))
    target = rule("", norun=True)
    complete(SimpleNamespace(rules=[plain, own, target]), PATHS, "envs/base.yaml")
    assert plain.benchmark == own.benchmark == "results/toy/benchmarks/a.b/{x}.c.tsv"
    assert plain.benchmark == PATHS.time("a.b/{x}.c") and plain.benchmark_modifier == "modifier"
    assert (plain.conda_env, own.conda_env) == ("envs/base.yaml", "envs/neural.yaml")
    assert (target.conda_env, target.benchmark) == (None, None), "`all` runs nothing"


@pytest.mark.workflow
def test_each_job_has_a_benchmark_named_as_its_log():
    options = ("--dry-run", "--quiet", "host", "--forceall")
    words = arguments("all", options=options)
    done = forking.run("snakemake", words, os.environ, merged=True)
    assert done.returncode == 0, done.stdout[-2000:]
    pairs = re.findall(r"    log: (.*)\n(?:    jobid: .*\n)?    benchmark: (.*)\n", done.stdout)
    jobs = re.findall(r"^rule (?!all:)\w+:$", done.stdout, re.M)
    assert len(pairs) == len(jobs) > 900
    for log, benchmark in pairs:
        assert log.replace("/logs/", "/benchmarks/").replace(".log", ".tsv") == benchmark
