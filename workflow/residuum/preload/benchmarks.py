"""Have Snakemake's benchmark files count forked jobs, which are no children of a job's shell.

Usage: `benchmarks.adopt()`, after `server.start()`. Must not know how jobs are forked.
"""

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]
from snakemake import benchmark  # type: ignore[import-untyped]


class Shell(psutil.Process):  # type: ignore[misc]
    """A job's shell, whose children are also what was forked for them."""

    def children(self, recursive: bool = False) -> list[psutil.Process]:
        """Return the children, and the forked jobs of those that stand in for Python."""
        processes = super().children(recursive)
        for client in list(processes):
            with suppress(OSError, ValueError, KeyError, psutil.NoSuchProcess):
                note = Path(os.environ["RESIDUUM_PRELOAD"], str(client.pid))
                job = psutil.Process(int(note.read_text()))
                processes += [job, *job.children(True)]
        return processes


def adopt() -> None:
    """Let every benchmark that starts from now on watch a Shell (tried with Snakemake 9.27)."""
    first = benchmark.BenchmarkTimer.__init__

    def watch(timer: Any, pid: int, *arguments: Any) -> None:
        first(timer, pid, *arguments)
        timer.main = Shell(pid)

    benchmark.BenchmarkTimer.__init__ = watch
