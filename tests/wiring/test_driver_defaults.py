"""What rules have that do not say it: each benchmark beside its log, each job an environment."""

from types import SimpleNamespace

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
