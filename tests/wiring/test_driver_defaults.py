"""What rules have that do not say it: benchmarks, environments, parameters that are read once."""

from types import SimpleNamespace

from snakemake import common, rules

from residuum.wiring.driver import complete, read_parameters_once
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


def test_parameters_of_a_rule_s_function_are_read_once(monkeypatch):
    """Both modules ask through one cache, even if two starts of this process set the cache."""
    plain, read = common.get_function_params, []
    plain = getattr(plain, "__wrapped__", plain)

    def counted(function):
        read.append(function)
        return plain(function)

    monkeypatch.setattr(common, "get_function_params", counted)
    monkeypatch.setattr(rules, "get_function_params", counted)
    read_parameters_once()
    read_parameters_once()

    def given(wildcards, input):
        """Take what Snakemake may give."""

    known = {"input": 1, "output": 2}
    for _ in range(3):
        assert [*rules.get_function_params(given)] == ["wildcards", "input"]
        assert common.get_input_function_aux_params(given, known) == {"input": 1}
    assert read == [given]
