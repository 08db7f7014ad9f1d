"""Run a stage's command, kill it with SIGKILL in the middle, as a machine that dies would."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from residuum.code import tables

WORKFLOW = Path(__file__).resolve().parents[1] / "workflow"


def run_and_kill(arguments: Sequence[str], when: Callable[[], bool], limit: float = 60) -> None:
    """Start `python -m ...` and kill its process group once `when()` holds.

    Fails if the command ends before, because then nothing was interrupted.
    """
    process = subprocess.Popen(
        [sys.executable, "-m", *arguments],
        env={**os.environ, "PYTHONPATH": str(WORKFLOW)},
        start_new_session=True,
        stderr=subprocess.PIPE,
        text=True,
    )
    give_up = time.monotonic() + limit
    while not when():
        ended = process.poll() is not None
        if ended or time.monotonic() > give_up:
            os.killpg(process.pid, signal.SIGKILL) if not ended else None
            raise AssertionError(f"not interrupted: {process.communicate()[1]}")
        time.sleep(0.005)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL


def leave_half(path: Path) -> None:
    """Leave beside a file what a kill within its writing leaves."""
    half = path.with_name(f".{path.name}.part")
    half.touch()
    half.with_name(f"{half.name}.lock").write_text("process 1 on a machine")


def as_command(monkeypatch: pytest.MonkeyPatch, module: str, verb: str, spec: str) -> None:
    """Let a stage that is called as a function go on from what its command left.

    Both then rest on the code of the verb and of the kinds in the spec, not on all of the module.
    """
    monkeypatch.setattr(sys, "argv", [module, verb, "--spec", spec])
    monkeypatch.setattr(sys.modules["__main__"], "__spec__", ModuleSpec(module, None))
    monkeypatch.setattr(tables, "USED", set())
