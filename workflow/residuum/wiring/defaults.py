"""Defaults of every rule: a benchmark file and a conda environment.

Usage: `complete(workflow, paths, "envs/base.yaml")` once all rules are read: Snakemake itself has
no such defaults. The path of a rule's benchmark is that of its log, below benchmarks/.
"""

from typing import Any

from residuum.wiring.paths import Paths

Workflow = Any  # Snakemake's, which has no types


def complete(workflow: Workflow, paths: Paths, environment: str) -> None:
    """Give each rule that runs a command a benchmark file, and an environment if it names none."""
    for rule in workflow.rules:
        if not rule.norun:
            rule.benchmark_modifier = rule.log_modifier
            rule.benchmark = paths.time_of(str(rule.log[0]))
            rule.conda_env = rule.conda_env or environment
