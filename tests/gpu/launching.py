"""Processes under a time limit: a step of the measurement, or a command of the package in a step.

Usage: `status = launch(["-m", "residuum.encode", "docs", ...], log).wait(40)`. Where a process is
stopped, so are those that it started, unless they lead a group of their own. Must not know what is
measured.
"""

import os
import runpy
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

BETWEEN_LOOKS = 0.02  # seconds
STOPPED = None  # the status of a process that did not end by itself


class Launched(NamedTuple):
    """A process that runs; whether it leads a group of all that it starts."""

    pid: int
    leads: bool

    def wait(self, seconds: float, enough: Callable[[], bool] = lambda: False) -> int | None:
        """Return the exit status, negative for a signal; None if it was stopped.

        It is stopped by SIGKILL when the time is up, or as soon as it is `enough`.
        """
        until = time.monotonic() + seconds
        try:
            while time.monotonic() < until and not enough():
                done, status = os.waitpid(self.pid, os.WNOHANG)
                if done:
                    return os.waitstatus_to_exitcode(status)
                time.sleep(BETWEEN_LOOKS)
        except BaseException:
            self._stop()
            raise
        self._stop()
        return STOPPED

    def _stop(self) -> None:
        (os.killpg if self.leads else os.kill)(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


def launch(words: Sequence[str], log: Path, forked: bool = False, leads: bool = False) -> Launched:
    """Start `python WORDS`, whose output is appended to a log.

    Forked from this process it has what is imported here already, and does the same: `words` are
    then `-m MODULE ...`. That saves seconds of CPU a process. A process that has used a card cannot
    be forked.
    """
    with log.open("ab") as stream:
        if forked:
            return Launched(_fork(words, stream.fileno(), leads), leads)
        group = 0 if leads else None
        command = [sys.executable, *words]
        process = subprocess.Popen(command, stdout=stream, stderr=stream, process_group=group)
        process.returncode = 0  # `wait` is who waits for it
        return Launched(process.pid, leads)


def _fork(words: Sequence[str], stream: int, leads: bool) -> int:
    _, module, *rest = words
    sys.stdout.flush()
    sys.stderr.flush()
    if pid := os.fork():
        if leads:
            os.setpgid(pid, pid)
        return pid
    status = 1
    try:
        if leads:
            os.setpgid(0, 0)
        os.dup2(stream, 1)
        os.dup2(stream, 2)
        sys.argv = [module, *rest]
        runpy.run_module(module, run_name="__main__", alter_sys=True)
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
