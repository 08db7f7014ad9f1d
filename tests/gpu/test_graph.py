"""The script that runs pages on a card: what it asks of Snakemake, what it keeps, how it ends."""

import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from conftest import ROOT

SNAKEMAKE = """#!/bin/sh
echo "$@" > words
mkdir -p results/mine/tables results/mine/runs results/mine/metrics
echo cells > results/mine/tables/clear-table1.md
echo list > results/mine/runs/bm25.trec.gz
echo 0.5 > results/mine/metrics/bm25.tsv
{end}
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return a folder with the script, and an interpreter that stands for Snakemake."""
    (tmp_path / "tests" / "gpu").mkdir(parents=True)
    for name in ("graph.sh", "interpreter.sh"):
        shutil.copy(ROOT / "tests" / "gpu" / name, tmp_path / "tests" / "gpu")
    return tmp_path


def run(checkout: Path, end: str, *words: str, **more: str) -> "subprocess.CompletedProcess[str]":
    stand_in = checkout / "python"
    stand_in.write_text(SNAKEMAKE.format(end=end))
    stand_in.chmod(0o755)
    own = {**os.environ, "PYTHON": str(stand_in), "OUT": str(checkout / "out"), **more}
    script = checkout / "tests" / "gpu" / "graph.sh"
    return subprocess.run(["bash", script, *words], env=own, capture_output=True, text=True)


def test_pages_and_numbers_are_kept_and_no_lists(checkout: Path) -> None:
    done = run(checkout, "exit 3", "scale=mine", "papers=[clear]", CORES="12")
    words = (checkout / "words").read_text().split()
    assert words == ["-m", "snakemake", "--cores", "12", "--config", "scale=mine", "papers=[clear]"]
    assert done.returncode == 3 and "status 3; results: " in done.stderr
    with tarfile.open(checkout / "out" / "results.tar.xz") as made:
        names = [member.name for member in made.getmembers() if member.isfile()]
    assert names == ["results/mine/tables/clear-table1.md", "results/mine/metrics/bm25.tsv"]


def test_what_stands_when_the_time_ends_is_kept(checkout: Path) -> None:
    done = run(checkout, "exec sleep 60", "scale=mine", MINUTES="0.02")
    assert done.returncode == 124
    assert (checkout / "out" / "results.tar.xz").stat().st_size > 0


def test_without_a_scale_it_says_how_it_is_called(checkout: Path) -> None:
    done = run(checkout, "", "papers=[clear]")
    assert done.returncode == 2 and "give scale=NAME first" in done.stderr
    assert "bash tests/gpu/graph.sh --pack" in done.stderr
