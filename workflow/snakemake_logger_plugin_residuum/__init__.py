"""One line of progress for a whole run: what is made, how many jobs are done, how long is left.

Usage: `snakemake --cores all --logger residuum`, as `make mini` does; `make mini VERBOSE=1` leaves
Snakemake's own messages. What jobs say goes to their logs alone; of what it says, warnings are
shown when a job ends, and the whole of it when a job fails. Must not know what jobs do.
"""

import logging
import os
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

from residuum.cli.progress import QUIET
from snakemake_logger_plugin_residuum.remaining import Remaining

BETWEEN_LINES = 30.0  # seconds, where there is no terminal
MOST_NAMES, LAST_LINES = 2, 30


class LogHandler(LogHandlerBase):
    """Snakemake's records, told in a line."""

    writes_to_stream, writes_to_file = True, False
    has_filter = True  # Snakemake's would leave out what `quiet` in a profile names
    has_formatter = needs_rulegraph = False

    def __post_init__(self) -> None:
        """Silence the jobs, whose shells inherit the environment."""
        os.environ[QUIET] = "1"
        self._left: Remaining | None = None
        self._names: dict[int, str] = {}
        self._logs: dict[int, list[str]] = {}
        self._cores, self._last, self._told = 1.0, 0.0, False
        self._bar: Any = None

    def emit(self, record: logging.LogRecord) -> None:
        """Take a record in, and show the line anew."""
        try:
            self._take(record)
        except Exception:
            self.handleError(record)

    def _take(self, record: logging.LogRecord) -> None:
        event, now = getattr(record, "event", None), time.monotonic()
        if event == LogEvent.RESOURCES_INFO:
            self._cores = getattr(record, "cores", None) or self._cores
        elif event == LogEvent.RUN_INFO:
            counts = {**record.__dict__["stats"]}
            counts.pop("total", None)
            self._left = Remaining(counts, self._cores)
        elif event == LogEvent.JOB_INFO:
            self._start(record, now)
        elif event == LogEvent.JOB_FINISHED:
            self._end(record.__dict__["job_id"], now)
        elif event in (LogEvent.JOB_ERROR, LogEvent.GROUP_ERROR):
            self._fail(record)
        elif record.levelno >= logging.WARNING:
            self._say(self.format(record))
        self._show(now)

    def _start(self, record: logging.LogRecord, now: float) -> None:
        told = record.__dict__
        job, rule = told["jobid"], told["rule_name"]
        self._names[job] = name(rule, told["output"] or [])
        self._logs[job] = [*(told["log"] or [])]
        if self._left:
            self._left.start(job, rule, now)

    def _end(self, job: int, now: float) -> None:
        if self._left:
            self._left.end(job, now)
        title = self._names.pop(job, "")
        for line in lines_of(self._logs.pop(job, [])):
            if line.startswith("warning: ") or ": warning: " in line:
                self._say(line if title in line else f"{title}: {line}")

    def _fail(self, record: logging.LogRecord) -> None:
        """Show Snakemake's message and the end of the logs that it names."""
        self._say(self.format(record))
        told = record.__dict__
        logs = [*(told.get("log") or []), *(told.get("aux_logs") or [])]
        logs += [log for job in told.get("job_error_info") or [] for log in job["log"]]
        for line in [*lines_of(logs)][-LAST_LINES:]:
            self._say(f"    {line}")

    def _say(self, text: str) -> None:
        """Print above the line."""
        if self._bar:
            self._bar.console.print(text, markup=False, highlight=False, soft_wrap=True)
        else:
            print(text, file=sys.stderr, flush=True)

    def _show(self, now: float) -> None:
        """Show the line: always on a terminal, elsewhere now and then."""
        left = self._left
        if left is None or not left.total:
            return
        if sys.stderr.isatty():
            self._draw(left, now)
        elif now - self._last >= BETWEEN_LINES or self._finished(left):
            self._last = now
            print(line(left, self._names.values(), now), file=sys.stderr, flush=True)

    def _finished(self, left: Remaining) -> bool:
        """Say, once, that all jobs have ended."""
        ended, self._told = left.done == left.total and not self._told, left.done == left.total
        return ended

    def _draw(self, left: Remaining, now: float) -> None:
        if self._bar is None:
            self._bar = bar(left.total)
        self._bar.update(0, completed=left.done, line=line(left, self._names.values(), now))
        if self._finished(left):
            self._bar.stop()

    def close(self) -> None:
        """Leave the terminal as it was."""
        if self._bar:
            self._bar.stop()
        super().close()


def bar(total: int) -> Any:
    """Return a started bar of rich's, one line whose text is its field `line`."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn
    from rich.table import Column

    text = TextColumn("{task.fields[line]}", markup=False, table_column=Column(no_wrap=True))
    made = Progress(
        BarColumn(20, table_column=Column(min_width=20)), text, console=Console(stderr=True)
    )
    made.add_task("", total=total, line="")
    made.start()
    return made


def line(left: Remaining, names: Iterable[str], now: float) -> str:
    """Return the line: jobs, time, and what is being made."""
    if left.done == left.total:
        return f"{left.total:,} jobs in {duration(left.elapsed(now))}"
    seconds, shown = left.seconds(now), [*names]
    parts = [f"{left.done:,} of {left.total:,} jobs"]
    parts += [f"about {duration(seconds)} left"] if seconds is not None else []
    if shown:
        more = f" and {len(shown) - MOST_NAMES} more" if len(shown) > MOST_NAMES else ""
        parts.append(", ".join(shown[:MOST_NAMES]) + more)
    return "; ".join(parts)


def duration(seconds: float) -> str:
    """Write seconds as nobody would write them more exactly."""
    if seconds < 90:
        return f"{max(10, round(seconds, -1)):.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h"


def name(rule: str, outputs: Iterable[str]) -> str:
    """Return what a job makes: its folder where it makes several files, below the results."""
    paths = [Path(path) for path in outputs]
    if not paths:
        return rule
    first, others = paths[0], paths[1:]
    if others and not any(path.name.startswith(first.name) for path in others):
        first = first.parent  # a folder of files, not a file with its manifest
    below = first.parts[2:] if first.parts[:1] == ("results",) else first.parts
    return f"{rule.replace('_', ' ')} {'/'.join(below)}"


def lines_of(logs: Iterable[str]) -> Iterable[str]:
    """Yield the lines of logs; of one that is gone, none."""
    for log in logs:
        path = Path(log)
        if path.is_file():
            yield from path.read_text(encoding="utf-8", errors="replace").splitlines()
