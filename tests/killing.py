"""Run a stage's command, kill it with SIGKILL in the middle, as a machine that dies would."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path

import psutil
import pytest

import forking
from residuum.code import tables

WORKFLOW = Path(__file__).resolve().parents[1] / "workflow"


def run_and_kill(arguments: Sequence[str], when: Callable[[], bool], limit: float = 60) -> None:
    """Start `python -m ...` and kill its process group once `when()` holds.

    Fails if the command ends before, because then nothing was interrupted.
    """
    module, *words = arguments
    environment = {**os.environ, "PYTHONPATH": str(WORKFLOW)}
    if module.startswith("residuum."):
        command = forking.Command(module, words, environment, neural=True)
        _kill(command.process, when, limit)
        done = command.finish()
        assert done.returncode == -signal.SIGKILL, f"not interrupted: {done.stderr}"
        return
    process = subprocess.Popen(
        [sys.executable, "-m", *arguments],
        env=environment,
        start_new_session=True,
        stderr=subprocess.PIPE,
        text=True,
    )
    _kill(process.pid, when, limit)
    errors = process.communicate()[1]
    assert process.returncode == -signal.SIGKILL, f"not interrupted: {errors}"


def _kill(number: int, when: Callable[[], bool], limit: float) -> None:
    """Kill a process group once `when()` holds, the limit has passed or its leader has ended."""
    give_up, leader = time.monotonic() + limit, psutil.Process(number)
    while not when() and time.monotonic() < give_up:
        if leader.status() == psutil.STATUS_ZOMBIE:
            return
        time.sleep(0.005)
    in_time = when()
    os.killpg(number, signal.SIGKILL)
    assert in_time, f"not within {limit} seconds"


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
