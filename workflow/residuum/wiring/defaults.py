"""What every rule has unless it says otherwise: a benchmark file, and the environment of its jobs.

Usage: `complete(workflow, paths, "envs/base.yaml")` once all rules are read, since Snakemake has no
default for either. A rule's benchmark lies where its log does, below benchmarks/.
"""

from typing import Any

from residuum.wiring.paths import Paths

Workflow = Any  # Snakemake's, which has no types


def complete(workflow: Workflow, paths: Paths, environment: str) -> None:
    """Give each rule that runs something the benchmark of its log, and the environment it lacks."""
    for rule in workflow.rules:
        if not rule.norun:
            rule.benchmark_modifier = rule.log_modifier
            rule.benchmark = paths.time_of(str(rule.log[0]))
            rule.conda_env = rule.conda_env or environment
