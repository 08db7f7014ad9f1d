"""Snakemake's dry run as it is printed, and as it is made of a copy of the project."""

import importlib.util
from pathlib import Path

import pytest

from projects import copy_project, snakemake
from residuum.cli.errors import ResiduumError
from residuum.inspect import dryrun, planning

SAID = """Building DAG of jobs...
Job stats:
job            count
-----------  -------
data_corpus        1


[Sat Nov 21 06:02:23 2026]
rule data_corpus:
    input: workflow/residuum/data.py, workflow/residuum/artefacts/files.py
    output: results/full/data/toy/corpus/manifest.json
    log: results/full/logs/data/toy.corpus.log
    jobid: 5
    reason: Missing output files: results/full/data/toy/corpus/manifest.json
    wildcards: dataset=toy
    resources: tmpdir=/tmp, gpu=0, mem_mb=2000, mem=2 GB, mem_mib=1908
[Sat Nov 21 06:02:23 2026]
rule lexical_search:
    input: results/full/index/toy/en/manifest.json
    output: results/full/runs/toy/dev/bm25.trec.gz, results/full/runs/toy/dev/bm25.json
    wildcards: dataset=toy, split=dev, run=bm25.seed1
    threads: 8
    resources: tmpdir=/tmp, gpu=0, mem_mb=4000, mem=4 GB, mem_mib=3815
[Sat Nov 21 06:02:23 2026]
rule all:
    input: results/full/runs/toy/dev/bm25.trec.gz
    jobid: 0
    reason: Rules with a run or shell declaration but no output are always executed.
    resources: tmpdir=/tmp
"""


def test_jobs_are_read_with_wildcards_threads_and_resources():
    corpus, search = dryrun.read(SAID)
    assert corpus.rule == "data_corpus"
    assert (corpus.wildcards, corpus.threads) == ({"dataset": "toy"}, 1)
    assert corpus.resources == {"gpu": 0, "mem_mb": 2000, "mem_mib": 1908}
    assert search.wildcards == {"dataset": "toy", "split": "dev", "run": "bm25.seed1"}
    assert search.outputs[1] == "results/full/runs/toy/dev/bm25.json"
    assert (search.threads, search.resources["mem_mb"], search.resources["gpu_s"]) == (8, 4000, 0)


def test_nothing_to_do_is_no_job():
    assert dryrun.read("Building DAG of jobs...\nNothing to be done.\n") == []


def test_without_snakemake_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ResiduumError, match="no Snakemake in this environment"):
        dryrun.plans(["scale=smoke", "papers=[clear]"], Path("results/smoke"))


def test_elsewhere_than_in_the_project_the_error_says_so(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.yaml").touch()
    with pytest.raises(ResiduumError, match=r"no Snakefile in .*project's folder"):
        planning.plan("smoke", [], None, None)


def by_output(jobs):
    return sorted(jobs, key=lambda job: job.outputs)


@pytest.mark.workflow
@pytest.mark.usefixtures("forked_plans")
def test_what_is_made_is_not_planned_again(monkeypatch, tmp_path):
    project = copy_project(tmp_path)
    monkeypatch.chdir(project)
    pending, every = dryrun.plans(["scale=smoke", "papers=[clear]"], Path("results/smoke"))
    assert pending == every
    corpus = "results/smoke/data/generated-smoke/corpus/manifest.json"
    assert corpus in [path for job in pending for path in job.outputs]
    snakemake(project, corpus)
    left, all_still = dryrun.plans(["scale=smoke", "papers=[clear]"], Path("results/smoke"))
    assert by_output(all_still) == by_output(every)
    done = [job for job in every if job not in left]
    assert [(job.rule, job.outputs) for job in done] == [("data_corpus", [corpus])]
    assert [job.resources["mem_mb"] for job in done] == [2000]  # rules/data.smk
    assert not (project / "results/smoke/index").exists(), "a plan makes nothing"


@pytest.mark.workflow
def test_what_snakemake_cannot_plan_is_told_in_its_words(monkeypatch, tmp_path):
    monkeypatch.chdir(copy_project(tmp_path))
    with pytest.raises(
        ResiduumError, match=r"cannot plan scale=smoke papers=.nobody.:\nWorkflowError(.|\n)*nobody"
    ):
        dryrun.plans(["scale=smoke", "papers=[nobody]"], Path("results/smoke"))
