"""No benchmark rots: each one can be imported, and those that have `--tiny` run."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT

FILES = sorted(p for p in Path(__file__).parent.glob("*.py") if not p.name.startswith("test_"))
TINY = [path for path in FILES if '"--tiny"' in path.read_text()]
# All in one process, because what they import takes longer than what they do.
PROGRAM = """
import contextlib, importlib, io, json, runpy, sys, traceback
from pathlib import Path
files, tiny = json.loads(sys.argv[1])
sys.path.insert(0, str(Path(files[0]).parent))
def outcome(work):
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said):
            work()
    except SystemExit as end:
        return [f"status {end.code}" if end.code else "", said.getvalue()]
    except BaseException:
        return [traceback.format_exc(), said.getvalue()]
    return ["", said.getvalue()]
def run(path):
    sys.argv = [path, "--tiny"]
    runpy.run_path(path, run_name="__main__")
found = {path: outcome(lambda: importlib.import_module(Path(path).stem)) for path in files}
ran = {path: outcome(lambda: run(path)) for path in tiny}
print(json.dumps([found, ran]))
"""


@pytest.fixture(scope="module")
def outcomes() -> list[dict[str, list[str]]]:
    """Return what went wrong, and what was said, at each file's import and at each tiny run."""
    words = [[str(path) for path in paths] for paths in (FILES, TINY)]
    paths = os.pathsep.join(str(ROOT / name) for name in ("workflow", "tests"))
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(words)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    made: list[dict[str, list[str]]] = json.loads(done.stdout.splitlines()[-1])
    return made


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_benchmark_can_be_imported(path: Path, outcomes: list[dict[str, list[str]]]) -> None:
    error, _ = outcomes[0][str(path)]
    assert not error


@pytest.mark.parametrize("path", TINY, ids=lambda path: path.stem)
def test_a_benchmark_runs_on_little(path: Path, outcomes: list[dict[str, list[str]]]) -> None:
    error, said = outcomes[1][str(path)]
    assert not error
    assert said.strip(), "it prints what it measured"


def test_there_are_benchmarks_that_run() -> None:
    assert {"approximate", "hashing", "neural_throughput", "training_steps"} <= {
        path.stem for path in TINY
    }
