"""The whole graph at scale smoke: it runs, repeats, resumes, and reruns only what it must.

The tests of this file share one copy of the project and run in order.
"""

import hashlib
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import polars as pl
import pytest

from projects import PARTS, command, copy_project, snakemake

pytestmark = pytest.mark.workflow
RESULTS = ["runs", "metrics", "tables", "significance", "tuning", "training", "ledger.tsv"]


def planned(project):
    """Return the output files that a dry run would make."""
    done = subprocess.run(
        [*command()[:-1], "--dry-run", "--quiet", "progress"],
        cwd=project,
        capture_output=True,
        text=True,
        check=True,
    )
    made = re.findall(r"^    output: (.*)$", done.stdout + done.stderr, re.M)
    return {name for line in made for name in line.split(", ")}


def hashes(project):
    root = project / "results" / "smoke"
    files = [p for name in RESULTS for p in ([root / name] if "." in name else root.rglob("*"))]
    kept = [p for p in files if p.is_file() and p.relative_to(root).parts[0] in RESULTS]
    return {
        str(p.relative_to(root)): hashlib.sha256(p.read_bytes()).hexdigest()
        for p in kept
        if not p.name.endswith("manifest.json")
    }


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """Return a copy of the project in which scale smoke has been run."""
    folder = tmp_path_factory.mktemp("project")
    copy_project(folder)
    (folder / "said.txt").write_text(snakemake(folder))
    return folder


@pytest.fixture
def edited(project):
    """Return an editor of files of the project that puts them back afterwards."""
    before = {}

    def edit(name, old, new):
        path = project / name
        before[path] = path.read_text()
        assert old in before[path]
        path.write_text(before[path].replace(old, new))

    yield edit
    for path, text in before.items():
        path.write_text(text)


def test_it_ends_with_the_table_and_the_ledger(project):
    said = (project / "said.txt").read_text()
    assert "results/smoke/tables/clear-table1.md" in said
    assert "| Lexical" in said and "w/ Constant Margin" in said
    assert "## Ledger" in said


def test_the_table_rests_on_the_metrics_and_the_ledger_is_whole(project):
    results = project / "results" / "smoke"
    table = pl.read_csv(results / "tables" / "clear-table1.tsv", separator="\t")
    assert table.height == 8 * 5
    measured = table.filter(pl.col("measured").is_not_null())
    assert set(table["row"]) - set(measured["row"]) == {"deepct", "deepct-rm3"}
    runs = {"bm25": "bm25", "clear": "clear.seed1", "bert-siamese": "bert-siamese.seed1"}
    for row, run in runs.items():
        path = results / "metrics" / "generated-smoke" / "dev" / f"{run}.tsv"
        values = pl.read_csv(path, separator="\t").filter(measure="RR@10")
        assert values.height == 60
        cell = table.filter(row=row, column="dev-rr")["measured"].item()
        assert cell == pytest.approx(values["value"].mean(), abs=1e-12)
    ledger = pl.read_csv(results / "ledger.tsv", separator="\t")
    kinds = dict(ledger.group_by("kind").len().iter_rows())
    # Table 1 prints 8 x 5 numbers and, counted in the paper, 64 superscripts and 9 arrows.
    assert kinds == {"number": 40, "comparison": 73}
    assert set(ledger.filter(kind="number")["verdict"]) == {"not comparable", "not run"}


def test_every_artefact_of_a_run_has_its_log_time_and_manifest(project):
    results = project / "results" / "smoke"
    for run in (results / "runs").rglob("*.trec.gz"):
        assert run.with_name(run.name + ".manifest.json").is_file()
    assert len(list((results / "logs").rglob("*.log"))) == len(
        list((results / "benchmarks").rglob("*.tsv"))
    )


def test_a_second_run_does_nothing(project):
    assert "Nothing to be done" in snakemake(project)


def test_touching_every_file_reruns_nothing(project):
    for part in [*PARTS, "results"]:
        for path in [project / part, *(project / part).rglob("*")]:
            if path.is_file() and "__pycache__" not in path.parts:
                path.touch()
    assert planned(project) == set()


def test_editing_bm25_reruns_its_descendants_only(project, edited):
    edited("config/systems/bm25.yaml", "k1: 0.82", "k1: 0.9")
    made = planned(project)
    names = {name.removeprefix("results/smoke/") for name in made}
    assert "runs/generated-smoke/dev/bm25.trec.gz" in names
    assert "training/clear/tuples.jsonl.gz" in names, "its negatives are BM25's errors"
    assert "tables/clear-table1.tsv" in names
    assert not {n for n in names if n.startswith(("data/", "index/", "backbones/"))}
    assert not {n for n in names if "bm25-rm3" in n or "warm-start" in n}


def test_editing_fusion_reruns_fusion_and_what_follows_only(project, edited):
    edited("workflow/residuum/fusion.py", "PAIR = [", "PAIR: list[str] = [")
    made = {name.removeprefix("results/smoke/") for name in planned(project)}
    assert "tuning/generated-smoke/clear.seed1.json" in made
    assert "runs/generated-smoke/dev/clear.seed1.trec.gz" in made
    assert "ledger.tsv" in made
    first = {name.split("/")[0] for name in made}
    assert first == {
        "tuning", "runs", "metrics", "significance", "tables", "ledger.tsv", "ledger.md",
        "ledger.tsv.manifest.json",
    }  # fmt: skip
    assert not {n for n in made if n.startswith("runs/") and "embedding" in n}
    assert not {n for n in made if n.startswith("runs/") and "/bm25" in n}


def test_two_faults_come_in_one_message_and_nothing_is_lost(project, edited):
    before = hashes(project)
    edited("config/systems/clear.yaml", "lexical: bm25", "lexical: bm52")
    edited("config/models/clear.yaml", "xi: 1.0", "xii: 1.0")
    done = subprocess.run(command(), cwd=project, capture_output=True, text=True)
    said = done.stdout + done.stderr
    assert done.returncode != 0
    assert "no system 'bm52'" in said and "Did you mean bm25?" in said
    assert "loss.xii: unknown key; valid: kind, lambda_train, xi" in said
    assert hashes(project) == before


def kill_when(project, pattern, cores=1):
    """Start the job, kill its whole process group once a path matches, and say which it was."""
    process = subprocess.Popen(
        command(cores=cores),
        cwd=project,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        for _ in range(3000):
            found = sorted(Path(project).glob(pattern))
            if found:
                return found[0]
            assert process.poll() is None, f"ended before {pattern} appeared"
            time.sleep(0.05)
        raise AssertionError(f"{pattern} did not appear in time")
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def test_killed_twice_and_on_one_core_it_resumes_to_the_same_bytes(project):
    before = hashes(project)
    assert len(before) > 40
    shutil.rmtree(project / "results" / "smoke")
    kill_when(project, "results/smoke/work/*/*")
    kill_when(project, "results/smoke/embeddings/*/*/shard-*")
    snakemake(project, cores=1)
    assert hashes(project) == before
