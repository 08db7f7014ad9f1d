"""Show the progress of a run in one line: running jobs, finished jobs, time left.

Usage: `snakemake --cores all --logger residuum`, as `make mini` does; `make mini VERBOSE=1` shows
Snakemake's own messages instead. Jobs write to their logs only. When a job ends, the warnings of
its log are shown; when it fails, the end of its log.
"""

import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from snakemake.common import NOTHING_TO_BE_DONE_MSG
from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

from snakemake_logger_plugin_residuum.remaining import Remaining

QUIET = "RESIDUUM_QUIET"  # of residuum.cli.progress
# The seconds that models take in a job, by rule and first output; `wiring.driver` fills it.
EXPECTED: dict[str, dict[str, float]] = {}
BETWEEN_LINES = 30.0  # seconds, where there is no terminal
MOST_NAMES, LAST_LINES = 2, 30
PAGE = ".md"
SHELL = "CalledProcessError"  # Snakemake's message about a failed shell, before it names the job
INTERRUPTED = ("Signals.SIGINT", "exit status 130")  # of a shell that Ctrl-C ended


class LogHandler(LogHandlerBase):
    """Turns Snakemake's records into the line of progress."""

    writes_to_stream, writes_to_file = True, False
    has_filter = True  # Snakemake's own filter leaves out what `quiet` in a profile names
    has_formatter = needs_rulegraph = False

    def __post_init__(self) -> None:
        """Silence jobs, whose shells inherit the environment."""
        os.environ[QUIET] = "1"
        self._left: Remaining | None = None
        self._names: dict[int, str] = {}
        self._logs: dict[int, list[str]] = {}
        self._pages: dict[int, str] = {}
        self._shown: Line | Lines | None = None
        self._interrupted = self._over = False

    def emit(self, record: logging.LogRecord) -> None:
        """Show a record, or update the line by it."""
        try:
            if self.common_settings.dryrun:
                self._say(self.format(record))
            else:
                self._take(record)
        except Exception:
            self.handleError(record)

    def _take(self, record: logging.LogRecord) -> None:
        event, now, fields = getattr(record, "event", None), time.monotonic(), record.__dict__
        if event == LogEvent.RUN_INFO:
            counts = {rule: count for rule, count in fields["stats"].items() if rule != "total"}
            self._left = Remaining(counts, EXPECTED)
            show = Line if sys.stderr.isatty() else Lines
            self._shown = show(self._left.total, self._line)
        elif event == LogEvent.JOB_INFO:
            self._start(fields["jobid"], fields["rule_name"], fields["output"], fields["log"], now)
        elif event == LogEvent.JOB_FINISHED:
            self._end(fields["job_id"], now)
        elif event == LogEvent.JOB_ERROR:
            self._fail(record, now)
        elif fields.get("exception") == "RuleException" and SHELL in str(record.msg):
            self._interrupted |= any(sign in str(record.msg) for sign in INTERRUPTED)
        elif event == LogEvent.GROUP_ERROR:
            self._say(str(record.msg))  # its jobs follow one by one
        elif self._interrupted:
            pass  # the interruption caused the failure
        elif record.levelno >= logging.WARNING or record.msg == NOTHING_TO_BE_DONE_MSG:
            self._say(self.format(record))

    def _start(
        self,
        job: int,
        rule: str,
        outputs: Iterable[str] | None,
        logs: Iterable[str] | None,
        now: float,
    ) -> None:
        self._names[job] = name(rule, outputs or [])
        self._logs[job] = [*(logs or [])]
        self._pages[job] = next((path for path in outputs or [] if path.endswith(PAGE)), "")
        if self._left:
            self._left.start(job, rule, now, next(iter(outputs or []), ""))

    def _end(self, job: int, now: float) -> None:
        title = self._names.pop(job, "")
        for text in lines_of(self._logs.pop(job, [])):
            if text.startswith("warning: ") or ": warning: " in text:
                self._say(f"{title}: {text}")
        if page := self._pages.pop(job, ""):
            self._say(f"made {page}")
        if self._left and self._shown:
            self._left.end(job, now)
            self._shown.move(self._left.done)
            if self._left.done == self._left.total:
                self._shown.stop()

    def _fail(self, record: logging.LogRecord, now: float) -> None:
        """Show which job failed, Snakemake's facts about the job, and the end of its log."""
        fields = record.__dict__
        made = name("", fields["output"] or []).strip()
        self._names.pop(fields["jobid"], None)
        if self._left:
            self._left.fail(fields["jobid"], now)
        if self._interrupted:
            return
        self._say(f"Error in rule {fields['rule_name']}{made and f', of {made}'}:")
        for key, value in {"message": fields["rule_msg"], **fields["aux"]}.items():
            if value is not None:
                self._say(f"    {key}: {value}")
        for log in fields["log"] or []:
            self._say(f"    log: {log}")
        for text in [*lines_of(fields["log"] or [])][-LAST_LINES:]:
            self._say(f"    {text}")

    def _line(self) -> str:
        if not self._left:
            return ""
        if self._over and self._left.done < self._left.total:
            return stopped(self._left, self._interrupted)
        return line(self._left, [*self._names.values()], time.monotonic())

    def _say(self, text: str) -> None:
        """Print above the line."""
        if self._shown:
            self._shown.say(text)
        elif text:
            print(text, file=sys.stderr, flush=True)

    def close(self) -> None:
        """Leave the terminal as it was."""
        self._over = True
        if self._shown:
            self._shown.stop()
        super().close()


class Line:
    """The line on a terminal, beside a bar; rich redraws it several times a second."""

    def __init__(self, total: int, text: Callable[[], str]) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, ProgressColumn, Task
        from rich.table import Column
        from rich.text import Text

        class Now(ProgressColumn):
            def render(self, task: Task) -> Text:
                return Text(text(), no_wrap=True, overflow="ellipsis")

        self._bar = Progress(
            BarColumn(20, table_column=Column(min_width=20)),
            Now(table_column=Column(no_wrap=True)),
            console=Console(stderr=True),
            redirect_stdout=False,  # the pages printed at the end do not belong to the line
            redirect_stderr=False,
        )
        self._bar.add_task("", total=total)
        self._bar.start()

    def move(self, done: int) -> None:
        """Move the bar."""
        self._bar.update(self._bar.task_ids[0], completed=done)

    def say(self, text: str) -> None:
        """Print above the line."""
        self._bar.console.print(text, markup=False, highlight=False, soft_wrap=True)

    def stop(self) -> None:
        """Draw the line for the last time."""
        self._bar.stop()


class Lines:
    """The line printed every half minute, for a run without a terminal."""

    def __init__(self, total: int, text: Callable[[], str]) -> None:
        self._text, self._over = text, threading.Event()
        threading.Thread(target=self._tell, daemon=True).start()

    def _tell(self) -> None:
        while not self._over.wait(BETWEEN_LINES):
            self.say(self._text())

    def move(self, done: int) -> None:
        """Print nothing: the line comes at fixed times."""

    def say(self, text: str) -> None:
        """Print a line."""
        print(text, file=sys.stderr, flush=True)

    def stop(self) -> None:
        """Print the line for the last time."""
        if not self._over.is_set():
            self._over.set()
            self.say(self._text())


def line(left: Remaining, names: list[str], now: float) -> str:
    """Return the line: jobs, time left, and the names of running jobs."""
    if left.done == left.total:
        return f"{left.total:,} jobs in {duration(left.elapsed(now))}"
    seconds = left.seconds(now)
    parts = [f"{left.done:,} of {left.total:,} jobs"]
    parts += [f"{left.failed} failed"] if left.failed else []
    parts += [f"about {duration(seconds)} left"] if seconds is not None else []
    if names:
        more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
        parts.append(", ".join(names[:MOST_NAMES]) + more)
    return "; ".join(parts)


def stopped(left: Remaining, interrupted: bool) -> str:
    """Return the last line of an unfinished run."""
    parts = [f"{left.done:,} of {left.total:,} jobs"]
    parts += ["interrupted"] if interrupted else [f"{left.failed} failed"] * bool(left.failed)
    return "; ".join([*parts, "the same command goes on from here"])


def duration(seconds: float) -> str:
    """Write seconds roughly: 30 s, 12 min, 1.5 h."""
    if seconds < 90:
        return f"{max(10, round(seconds, -1)):.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h"


def name(rule: str, outputs: Iterable[str]) -> str:
    """Return what a job does, and the file or folder that it makes, below the results."""
    paths = [Path(path) for path in outputs]
    if not paths:
        return rule
    first, others = paths[0], paths[1:]
    beside = any(path.name.startswith(first.name) for path in others)  # its manifest
    if first.name == "manifest.json" or (others and not beside):
        first = first.parent
    below = first.parts[2:] if first.parts[:1] == ("results",) else first.parts
    return f"{' '.join(dict.fromkeys(rule.split('_')))} {'/'.join(below)}"


def lines_of(logs: Iterable[str]) -> Iterable[str]:
    """Yield the lines of logs; skip logs that are gone."""
    for log in logs:
        path = Path(log)
        if path.is_file():
            yield from path.read_text(encoding="utf-8", errors="replace").splitlines()
