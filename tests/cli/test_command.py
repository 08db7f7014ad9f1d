"""How a stage fails and reports: one message, exit status 1, progress named by its output."""

import re
import subprocess
import sys

from conftest import ROOT
from residuum.cli import progress
from residuum.pages.kinds import ENTRIES


def run(*arguments):
    return subprocess.run(
        [sys.executable, "-m", *arguments],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(ROOT / "workflow")},
    )


def test_a_fault_is_one_message_without_a_traceback(tmp_path):
    run_file, qrels = tmp_path / "run", tmp_path / "qrels"
    run_file.write_text("q Q0 d 1 nan t\n")
    qrels.write_text("q 0 d 1\n")
    inputs = ["--run", str(run_file), "--qrels", str(qrels), "--measure", "RR@10"]
    done = run("residuum.evaluate", "run", *inputs, "--output", str(tmp_path / "out.tsv"))
    assert done.returncode == 1
    assert done.stderr == (
        f"error: {run_file}, line 1: score must be finite; "
        "found query_id q, doc_id d, rank 1, score nan\n"
    )
    assert sorted(p.name for p in tmp_path.iterdir()) == ["qrels", "run"]


def test_a_bad_spec_names_its_keys():
    done = run(
        "residuum.data", "corpus", "--dataset", "d", "--output", "nowhere", "--spec",
        '{"access": "", "source": {"kind": "files"}, "splits": {}, "extra": 1}',
    )  # fmt: skip
    assert done.returncode == 1
    assert "source.files.corpus: missing key" in done.stderr
    assert "extra: unknown key; valid: access, editions, source, splits." in done.stderr


# Each stage in a process of its own, forked from one that has loaded what all of them load.
HELP = """
import os, runpy, sys
import ir_measures, numpy, polars, pydantic, scipy.stats, typer, yaml
early, heavy = set(sys.modules), {"torch", "transformers", "faiss", "matplotlib", "jnius"}
assert not heavy & early
for stage in sys.argv[1:]:
    if not os.fork():
        sys.argv = [stage, "--help"]
        try:
            runpy.run_module(f"residuum.{stage}", run_name="__main__", alter_sys=True)
        except SystemExit as end:
            print("left:", stage, end.code, sorted(heavy & set(sys.modules)), flush=True)
            os._exit(0)
        os._exit(1)
    os.wait()
"""


def test_every_stage_has_help_without_loading_what_is_heavy():
    rules = sorted((ROOT / "rules").glob("*.smk"))
    named = [path.stem for path in rules if re.search(r"^rule ", path.read_text(), re.M)]
    stages = [f"pages.{name}.make" if name in ENTRIES else name for name in named]
    done = subprocess.run(
        [sys.executable, "-c", HELP, *stages],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(ROOT / "workflow")},
    )
    for stage, page in zip(stages, done.stdout.split("left: ")[:-1], strict=True):
        assert f"Usage: python -m residuum.{stage} " in page, (stage, page, done.stderr)
    ends = re.findall(r"^left: (.*)$", done.stdout, re.M)
    assert ends == [f"{stage} 0 []" for stage in stages]


def test_progress_in_a_log_names_the_work_counts_and_estimates(capsys, monkeypatch):
    monkeypatch.setattr(progress, "_subject", "out.tsv: ")
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.0)
    assert list(progress.track([1, 2, 3, 4], "search", total=4, unit="queries")) == [1, 2, 3, 4]
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("out.tsv: search: 1/4 queries, ")
    assert lines[0].endswith(" s left")
    assert lines[-1].startswith("out.tsv: search: 4 queries in ")
