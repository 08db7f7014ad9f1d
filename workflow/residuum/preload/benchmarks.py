"""Have Snakemake's benchmark files count forked jobs, which are no children of a job's shell.

Usage: `benchmarks.adopt()`, after `server.start()`. A parent leaves a file <shell>.<job> for each
job, empty while it runs, then with what it took. Must not know how jobs are forked.
"""

import math
import os
import time
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
from snakemake import benchmark  # type: ignore[import-untyped]

from residuum.preload.server import FOLDER

BETWEEN_LOOKS = 10.0  # seconds


class Job(psutil.Process):
    """A forked job, whose own and shared memory is looked up seldom.

    The kernel counts each page for it, and keeps the job waiting: twice a second it took a
    twentieth of all cores.
    """

    _known, _looked = (0, 0), -math.inf

    def memory_full_info(self) -> Any:
        """Return memory in bytes: rss and vms as they are, uss and pss of the last look."""
        if time.monotonic() - self._looked > BETWEEN_LOOKS:
            full = super().memory_full_info()
            self._known, self._looked = (full.uss, full.pss), time.monotonic()
            return full
        uss, pss = self._known
        return SimpleNamespace(**self.memory_info()._asdict(), uss=uss, pss=pss)


class Shell(psutil.Process):
    """A job's shell, whose children are also what was forked for it."""

    def children(self, recursive: bool = False) -> list[psutil.Process]:
        """Return the children, the forked jobs that run, and theirs."""
        processes = super().children(recursive)
        for path in _records(self.pid):
            with suppress(psutil.NoSuchProcess, OSError):  # it has ended, or its record is read
                if not path.stat().st_size:
                    job = Job(int(path.suffix[1:]))
                    processes += [job, *job.children(recursive=True)]
        return processes


def _records(shell: int) -> list[Path]:
    return list(Path(os.environ[FOLDER]).glob(f"{shell}.*"))


def adopt() -> None:
    """Let every benchmark from now on watch a Shell, and end with what the system counted.

    Snakemake looks twice a second, after a while every 30 seconds, and never sees a job's last
    moments. Tried with Snakemake 9.27.
    """
    timer = benchmark.BenchmarkTimer
    first, last = timer.__init__, timer.cancel

    def start(own: Any, pid: int, *arguments: Any) -> None:
        first(own, pid, *arguments)
        own.main = Shell(pid)

    def cancel(own: Any) -> None:
        last(own)
        record, seconds = own.bench_record, 0.0
        for path in _records(own.pid):
            used = path.read_text().split()
            path.unlink()
            if used:
                seconds += float(used[0])
                record.max_rss = max(record.max_rss or 0, float(used[1]) / 1024)
        record.cpu_time = max(record.cpu_time or 0, seconds)

    timer.__init__, timer.cancel = start, cancel
