"""Make Snakemake's benchmarks measure forked jobs, which are no children of a job's shell.

Usage: `benchmarks.adopt()`, after `server.start()`. For each job, a parent writes a file
<shell>.<process>.<n>. Its first line holds what the process had used before (jobs.Counts). Its last
line holds the job's CPU seconds and KB of memory.
"""

import math
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
from snakemake import benchmark

from residuum.preload import jobs
from residuum.preload.server import FOLDER

if TYPE_CHECKING:
    from psutil._ntuples import pcputimes, pfullmem, pio

BETWEEN_LOOKS = 10.0  # seconds
CHILDREN = "children"  # proc(5); Linux 4.2 and later, depending on its build


class Job(psutil.Process):
    """A forked job, whose private and shared memory is measured seldom.

    The kernel has to count each page, and stops the job meanwhile: two measurements a second took a
    twentieth of all cores. What the process had used before this job is subtracted.
    """

    _full: "pfullmem | None" = None
    _looked = -math.inf

    def __init__(self, process: int, before: jobs.Counts = jobs.NOTHING) -> None:
        super().__init__(process)
        self._before = before

    def cpu_times(self) -> "pcputimes":
        """Return the job's CPU seconds."""
        times = super().cpu_times()
        return times._replace(user=times.user - self._before[0])

    def io_counters(self) -> "pio":
        """Return the bytes that the job has read and written."""
        io, (_, read, written) = super().io_counters(), self._before
        return io._replace(read_bytes=io.read_bytes - read, write_bytes=io.write_bytes - written)

    def memory_full_info(self) -> "pfullmem":
        """Return memory in bytes: current rss and vms, and uss and pss of the last measurement."""
        if self._full and time.monotonic() - self._looked <= BETWEEN_LOOKS:
            return self._full._replace(**self.memory_info()._asdict())
        self._full, self._looked = super().memory_full_info(), time.monotonic()
        return self._full


class Shell(psutil.Process):
    """A job's shell, whose children include its forked jobs."""

    def children(self, recursive: bool = False) -> list[psutil.Process]:
        """Return all descendants, the running forked jobs, and the descendants of these jobs."""
        processes = [*below(self)]
        for path in _records(self.pid):
            with suppress(psutil.NoSuchProcess, OSError, ValueError):  # ended, or being written
                before, *ended = path.read_text().splitlines()
                if not ended:
                    seconds, read, written = before.split()
                    counts = (float(seconds), int(read), int(written))
                    job = Job(int(path.name.split(".")[1]), counts)
                    processes += [job, *below(job)]
        return processes


def below(process: psutil.Process) -> Iterator[psutil.Process]:
    """Yield a process's descendants; psutil.NoSuchProcess if the process has ended.

    Linux lists the children of each thread. psutil instead reads every process of the machine for
    each measurement of each job. It is used only where the kernel lacks these lists.
    """
    tasks = f"/proc/{process.pid}/task"
    try:
        lists = [Path(f"{tasks}/{task}/{CHILDREN}").read_text() for task in os.listdir(tasks)]
    except (FileNotFoundError, ProcessLookupError):  # the process or a thread ended, or no lists
        yield from psutil.Process(process.pid).children(recursive=True)
        return
    for child in " ".join(lists).split():
        with suppress(psutil.NoSuchProcess):
            descendant = psutil.Process(int(child))
            yield descendant
            yield from below(descendant)


def _records(shell: int) -> list[Path]:
    return list(Path(os.environ[FOLDER]).glob(f"{shell}.*"))


def adopt() -> None:
    """Make every later benchmark watch a Shell, and take final values from the system's counts.

    Snakemake measures twice a second, later every 30 seconds, and misses a job's last moments.
    Tried with Snakemake 9.27.
    """
    timer = benchmark.BenchmarkTimer
    first, last = timer.__init__, timer.cancel

    def start(job: benchmark.BenchmarkTimer, pid: int, *arguments: object) -> None:
        first(job, pid, *arguments)
        job.main = Shell(pid)

    def cancel(job: benchmark.BenchmarkTimer) -> None:
        last(job)
        record, seconds = job.bench_record, 0.0
        for path in _records(job.pid):
            ended = path.read_text().splitlines()[1:]
            path.unlink()
            for line in ended:
                used, rss = map(float, line.split())
                seconds += used
                record.max_rss = max(record.max_rss or 0, rss / 1024)
                record.data_collected = True  # also where Snakemake never saw the job
        record.cpu_time = max(record.cpu_time or 0, seconds)

    timer.__init__, timer.cancel = start, cancel
