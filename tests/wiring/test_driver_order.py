"""Which jobs go first, in a run of Snakemake's own."""

import subprocess
import sys
from types import SimpleNamespace

from residuum.wiring.driver import Order

# By itself Snakemake would train the model of `late` first, because its input is the larger one.
SNAKEFILE = """
from residuum.wiring.driver import Order

rule all:
    input: "late.md", "early.md"

rule page:
    input: "{name}.model"
    output: "{name}.md"
    shell: "echo page {wildcards.name} >> order; touch {output}"

rule train:
    input: "start", "{name}.data"
    output: "{name}.model"
    shell: "echo train {wildcards.name} >> order; touch {output}"

rule begin:
    output: "start"
    shell: "echo begin >> order; touch {output}"

Order(workflow, lambda: ["early.md", "late.md", "never.md"]).apply()
"""


def test_all_that_the_first_page_needs_runs_before_what_the_next_one_needs(tmp_path):
    (tmp_path / "Snakefile").write_text(SNAKEFILE)
    (tmp_path / "early.data").write_text("x")
    (tmp_path / "late.data").write_text("x" * 1000)
    command = [sys.executable, "-m", "snakemake", "--cores", "1", "--scheduler", "greedy"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    order = (tmp_path / "order").read_text().splitlines()
    assert order == ["begin", "train early", "page early", "train late", "page late"]


def test_a_snakemake_whose_priorities_are_numbers_alone_is_left_alone():
    rule = SimpleNamespace(name="page", priority=0)
    Order(SimpleNamespace(rules=[rule]), list).apply()
    assert rule.priority == 0
