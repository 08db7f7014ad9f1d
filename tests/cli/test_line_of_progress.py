"""The line of progress of a whole run: what it estimates, and what it shows of Snakemake."""

import logging
import os
import pty
import re
import subprocess
import sys
import time
from logging.handlers import QueueHandler, QueueListener
from queue import Queue
from types import SimpleNamespace

import pytest
from snakemake.common import NOTHING_TO_BE_DONE_MSG
from snakemake_interface_logger_plugins.common import LogEvent
from snakemake_interface_logger_plugins.registry import LoggerPluginRegistry

import snakemake_logger_plugin_residuum as plugin
from conftest import ROOT
from residuum.cli.progress import QUIET
from residuum.wiring import driver
from snakemake_logger_plugin_residuum import remaining
from snakemake_logger_plugin_residuum.remaining import Remaining

TYPICAL = {**remaining.TYPICAL}


@pytest.fixture(autouse=True)
def typical(monkeypatch):
    monkeypatch.setattr(remaining, "TYPICAL", {"train": 10.0, "page": 2.0})
    monkeypatch.setattr(remaining, "OTHERWISE", 1.0)


def test_nothing_is_said_before_a_job_has_ended():
    left = Remaining({"train": 2})
    left.start(1, "train", 0.0)
    assert left.seconds(5.0) is None


def test_jobs_that_ended_say_how_fast_this_machine_is():
    left = Remaining({"train": 1, "page": 4})
    left.start(1, "page", 0.0)
    left.end(1, 4.0)  # twice as long as typical
    assert left.done == 1
    # page: twice 2, as believed and as seen, each of three, train: 2 * 10; one at a time
    assert left.seconds(4.0) == pytest.approx(3 * 4 + 20)


def test_a_job_that_models_compute_in_is_told_apart_from_the_others_of_its_rule():
    """As fast as expected: 4 s for a small model; the large one takes 10 + 30."""
    left = Remaining({"train": 2}, {"train": {"small": -6.0, "large": 30.0}})
    left.start(1, "train", 0.0, "small")
    left.end(1, 4.0)
    assert left.seconds(4.0) == pytest.approx(40)


def test_a_rules_own_jobs_count_beside_all_jobs():
    """All jobs: 21 s in place of 14. Of pages 1 s in place of 4, beside three of 2 s by all."""
    left = Remaining({"train": 1, "page": 3})
    slower = (3 * 2 * 21 / 14 + 1) / (3 * 2 + 4)
    assert in_turn(left, ("train", 20.0), ("page", 0.5), ("page", 0.5)) == pytest.approx(2 * slower)


def test_jobs_of_models_say_nothing_of_the_others_and_the_others_nothing_of_them():
    """Pages take twenty times as long as expected, as of a larger collection; models do not."""
    left = Remaining({"train": 2, "page": 2}, {"train": {"": 90.0}})
    left.start(1, "page", 0.0)
    left.end(1, 40.0)
    assert left.seconds(40.0) == pytest.approx((3 * 20 + 20) / 4 * 2 + 2 * 10 + 90)


def in_turn(left, *jobs):
    """Tell of jobs one after another; return what is left then."""
    now = 0.0
    for number, (rule, seconds) in enumerate(jobs):
        left.start(number, rule, now)
        now += seconds
        left.end(number, now)
    return left.seconds(now)


def test_two_at_once_take_half_the_time_and_what_runs_has_run_a_while():
    left = Remaining({"page": 4})
    for job in (1, 2):
        left.start(job, "page", 0.0)
        left.end(job, 2.0)
    for job in (3, 4):
        left.start(job, "page", 2.0)
    assert left.seconds(3.0) == pytest.approx((1 + 1) / 2)
    assert left.seconds(30.0) == 0, "longer than expected, but no less than nothing"


def test_a_job_that_is_tried_again_is_counted_once():
    left = Remaining({"page": 2})
    left.start(1, "page", 0.0)
    left.start(1, "page", 5.0)
    left.end(1, 7.0)
    assert (left.waiting, left.done) == ({"page": 1}, 1)
    assert left.elapsed(7.0) == 7.0


def test_a_job_that_failed_is_no_longer_waited_for():
    left = Remaining({"page": 3})
    for job in (1, 2):
        left.start(job, "page", 0.0)
    left.end(1, 2.0)
    left.fail(2, 2.0)
    assert (left.failed, left.running) == (1, {})
    assert left.seconds(2.0) == pytest.approx(2 / 2), "one of 2 s; two had run at once"
    left.start(2, "page", 4.0)
    assert (left.failed, left.waiting) == (0, {"page": 1}), "tried again"


def test_what_is_believed_is_of_rules_that_there_are():
    rules = {
        rule
        for path in (ROOT / "rules").glob("*.smk")
        for rule in re.findall(r"^rule (\w+):", path.read_text(), re.M)
    }
    assert TYPICAL.keys() <= rules


def test_a_rule_without_a_typical_job_is_no_fault():
    left = Remaining({"new": 3})
    left.start(1, "new", 0.0)
    left.end(1, 6.0)
    assert left.seconds(6.0) == pytest.approx(12)


def test_the_estimate_comes_near_a_run_whose_jobs_take_what_they_take():
    """Two cores, jobs in turn: halfway the estimate is within a tenth of what is left."""
    takes = {"train": 33.0, "page": 1.0}
    queue = ["train", "page", "page"] * 40
    left = Remaining({"train": 40, "page": 80})
    ends = [0.0, 0.0]
    running, estimates = [], []
    for number, rule in enumerate(queue):
        now = min(ends)
        for job, end in [*running]:
            if end <= now:
                left.end(job, end)
                running.remove((job, end))
        if number == 60:
            estimates.append((now, left.seconds(now)))
        left.start(number, rule, now)
        ends[ends.index(now)] = now + takes[rule]
        running.append((number, now + takes[rule]))
    ((then, estimated),) = estimates
    assert estimated == pytest.approx(max(ends) - then, rel=0.1)


@pytest.fixture
def handler(monkeypatch):
    monkeypatch.setenv(QUIET, "")
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(plugin.time, "monotonic", lambda: clock.now)
    made = plugin.LogHandler(SimpleNamespace(dryrun=False), None)
    made.setFormatter(logging.Formatter("%(message)s"))
    made.clock = clock
    return made


def tell(handler, event=None, level=logging.INFO, message="", **fields):
    record = logging.LogRecord("snakemake", level, "", 0, message, (), None)
    record.__dict__.update(fields, event=event)
    handler.emit(record)


def start(handler, job, rule, output, log=()):
    tell(handler, LogEvent.JOB_INFO, jobid=job, rule_name=rule, output=output, log=[*log])


def fail(handler, job, rule, output, log, **aux):
    fields = {"rule_name": rule, "rule_msg": None, "output": output, "log": log, "aux": aux}
    tell(handler, LogEvent.JOB_ERROR, logging.ERROR, f"Error in rule {rule}", jobid=job, **fields)


def test_plugin_and_jobs_mean_one_variable():
    assert plugin.QUIET == QUIET


def test_snakemake_finds_the_handler_by_its_name():
    assert LoggerPluginRegistry().get_plugin("residuum").log_handler is plugin.LogHandler


def test_a_run_is_told_in_lines_where_no_terminal_is(handler, tmp_path, capsys):
    log = tmp_path / "page.log"
    log.write_text("results/mini/x: read\nresults/mini/x: warning: lambda is at the edge\n")
    tell(handler, LogEvent.RUN_INFO, stats={"train": 1, "page": 1, "total": 2})
    start(
        handler,
        4,
        "page",
        ["results/mini/tables/x.md", "results/mini/tables/x.md.manifest.json"],
        [log],
    )
    start(
        handler, 5, "train", ["results/mini/models/a/config.json", "results/mini/models/a/weights"]
    )
    handler.clock.now = 40.0
    tell(handler, LogEvent.JOB_FINISHED, job_id=4)
    now = handler._line()
    handler.clock.now = 50.0
    tell(handler, LogEvent.JOB_FINISHED, job_id=5)
    handler.close()
    assert now == "1 of 2 jobs; about 3 min left; train models/a"  # 20 * 10 s, 40 of them over
    assert capsys.readouterr().err.splitlines() == [
        "page tables/x.md: results/mini/x: warning: lambda is at the edge",
        "made results/mini/tables/x.md",
        "2 jobs in 50 s",
    ]
    assert os.environ[QUIET] == "1", "jobs are silent"


def test_the_line_counts_what_the_wiring_expects_of_models(handler, monkeypatch):
    monkeypatch.setattr(plugin, "EXPECTED", {})
    tell(handler, LogEvent.RUN_INFO, stats={"train": 1, "page": 1, "total": 2})
    declared = {"gflop": 60 * 1200, "gpu": 0, "gpu_s": 5}
    train, made = SimpleNamespace(name="train"), ["models/a"]
    job = SimpleNamespace(rule=train, output=made, resources=declared, threads=2)
    page = SimpleNamespace(
        rule=SimpleNamespace(name="page"), output=["a.md"], resources={}, threads=1
    )
    workflow = SimpleNamespace(dag=SimpleNamespace(needrun_jobs=lambda: [job, page]))
    plugin.EXPECTED.update(driver.expected(workflow))
    start(handler, 1, "page", ["a.md"])
    handler.clock.now = 2.0
    tell(handler, LogEvent.JOB_FINISHED, job_id=1)
    assert handler._line() == "1 of 2 jobs; about 10 min left"  # 10 s and 600 s
    declared["gpu"] = 1
    assert driver.expected(workflow) == {"train": {"models/a": 5}}


def test_a_failed_job_shows_the_end_of_its_log(handler, tmp_path, capsys):
    log = tmp_path / "train.log"
    log.write_text("".join(f"line {number}\n" for number in range(100)) + "error: no such file\n")
    shell = "CalledProcessError in file rules/train.smk: Command 'set -euo' returned 1"
    tell(handler, LogEvent.ERROR, logging.ERROR, shell, exception="RuleException")
    fail(handler, 1, "train", ["results/mini/models/a"], [str(log)], external_jobid="77")
    shown = capsys.readouterr().err.splitlines()
    assert shown[:3] == [
        "Error in rule train, of models/a:",
        "    external_jobid: 77",
        f"    log: {log}",
    ]
    assert shown[-1].strip() == "error: no such file"
    assert len(shown) == 3 + plugin.LAST_LINES


def test_other_faults_of_a_rule_are_shown(handler, capsys):
    lost = "MissingOutputException in rule page: files are missing"
    tell(handler, LogEvent.ERROR, logging.ERROR, lost, exception="MissingOutputException")
    assert capsys.readouterr().err == f"{lost}\n"


@pytest.mark.parametrize(
    "sign", ["died with <Signals.SIGINT: 2>.", "returned non-zero exit status 130."]
)
def test_a_run_that_is_interrupted_shows_no_errors_and_how_to_go_on(handler, capsys, sign):
    tell(handler, LogEvent.RUN_INFO, stats={"train": 2, "total": 2})
    start(handler, 1, "train", [])
    shell = f"CalledProcessError in file rules/train.smk: Command 'set -euo' {sign}"
    tell(handler, LogEvent.ERROR, logging.ERROR, shell, exception="RuleException")
    fail(handler, 1, "train", ["results/mini/models/a"], [])
    last = "Exiting because a job execution failed."
    tell(handler, None, logging.ERROR, last)
    handler.close()
    shown = capsys.readouterr().err.splitlines()
    assert shown == ["0 of 2 jobs; interrupted; the same command goes on from here"]


def test_a_line_comes_by_itself_while_a_job_runs(handler, monkeypatch, capsys):
    monkeypatch.setattr(plugin, "BETWEEN_LINES", 0.01)
    tell(handler, LogEvent.RUN_INFO, stats={"train": 2, "total": 2})
    start(handler, 1, "train", ["results/mini/models/a.txt"])
    time.sleep(0.2)
    handler.close()
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) > 2 and {*lines[:-1]} == {"0 of 2 jobs; train models/a.txt"}
    assert lines[-1] == "0 of 2 jobs; the same command goes on from here"


def test_a_run_that_goes_on_after_a_failure_ends_with_what_failed(handler, capsys):
    tell(handler, LogEvent.RUN_INFO, stats={"train": 1, "page": 2, "total": 3})
    start(handler, 1, "train", [])
    start(handler, 2, "page", [])
    handler.clock.now = 2.0
    fail(handler, 1, "train", [], [])
    tell(handler, LogEvent.JOB_FINISHED, job_id=2)
    handler.close()
    handler.close()
    shown = capsys.readouterr().err.splitlines()
    last = "1 of 3 jobs; 1 failed; the same command goes on from here"
    assert shown == ["Error in rule train:", last]


def test_a_batch_that_fails_says_so_in_a_line(handler, capsys):
    tell(handler, LogEvent.GROUP_ERROR, logging.ERROR, "Error in group batch-1", aux_logs=[])
    assert capsys.readouterr().err == "Error in group batch-1\n"


def test_pages_come_after_all_that_was_logged_before_them(capsys):
    class Slow(logging.Handler):
        def emit(self, record):
            time.sleep(0.3)
            print(record.getMessage())

    logger, queue = logging.getLogger("snakemake.logging"), Queue()
    listener = QueueListener(queue, Slow())
    listener.start()
    logger.addHandler(handler := QueueHandler(queue))
    try:
        handler.emit(logging.LogRecord("snakemake", logging.INFO, "", 0, "3 jobs", (), None))
        driver._settle()
        print("the page")
    finally:
        logger.removeHandler(handler)
        listener.stop()
    assert capsys.readouterr().out == "3 jobs\nthe page\n"


def test_where_all_is_made_that_is_said(handler, capsys):
    tell(handler, message="Building DAG of jobs...")
    tell(handler, message=NOTHING_TO_BE_DONE_MSG)
    assert capsys.readouterr().err == f"{NOTHING_TO_BE_DONE_MSG}\n"


def test_a_dry_run_is_snakemakes_own(handler, capsys):
    handler.common_settings.dryrun = True
    tell(handler, LogEvent.RUN_INFO, message="Job stats: 3", stats={"total": 3})
    assert capsys.readouterr().err == "Job stats: 3\n"


def test_on_a_terminal_pages_keep_to_standard_output(tmp_path):
    """The line is drawn on the terminal; what is printed meanwhile goes where it would."""
    code = """
import sys, time
from snakemake_logger_plugin_residuum import Line
line = Line(3, lambda: "1 of 3 jobs; " + "train models/a " * 20)
line.say("warning: [bold]lambda")
print("| a table | " + "wide " * 40)
time.sleep(0.3)
line.stop()
"""
    first, second = pty.openpty()
    with open(tmp_path / "out", "w") as out:
        env = {**os.environ, "TERM": "xterm", "COLUMNS": "60"}
        subprocess.run([sys.executable, "-c", code], stdout=out, stderr=second, env=env, check=True)
    os.close(second)
    shown = os.read(first, 100_000).decode()
    os.close(first)
    assert (tmp_path / "out").read_text() == "| a table | " + "wide " * 40 + "\n"
    assert "1 of 3 jobs" in shown and "\u2026" in shown, "cut to the terminal's width"
    assert "warning: [bold]lambda" in shown and "a table" not in shown


def test_messages_are_shown_from_warnings_on(handler, capsys):
    tell(handler, message="Select jobs to execute...")
    tell(handler, level=logging.ERROR, message="Workflow defines that rule x is eligible")
    assert capsys.readouterr().err == "Workflow defines that rule x is eligible\n"


@pytest.mark.parametrize(("rule", "outputs", "text"), [
    ("train_train", ["models/clear/seed1/manifest.json"], "train models/clear/seed1"),
    ("fusion_fuse", ["runs/x.gz", "runs/x.gz.manifest.json"], "fusion fuse runs/x.gz"),
    ("figure_draw", ["figures/x.pdf", "figures/x.md"], "figure draw figures"),
    ("ledger_write", ["ledger.tsv"], "ledger write ledger.tsv"),
])  # fmt: skip
def test_a_job_is_named_by_what_it_makes(rule, outputs, text):
    assert plugin.name(rule, [f"results/mini/{path}" for path in outputs]) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "10 s"), (34, "30 s"), (89, "90 s"), (100, "2 min"), (3600, "60 min"), (9000, "2.5 h")],
)
def test_durations(seconds, text):
    assert plugin.duration(seconds) == text


@pytest.mark.parametrize(("quiet", "shown"), [("", "read 3 docs\n"), ("1", "")])
def test_what_a_job_says_is_in_its_log_and_beside_a_line_nowhere_else(tmp_path, quiet, shown):
    flow = SimpleNamespace(deployment_settings=SimpleNamespace(deployment_method=set()))
    command = driver.shell_prefix(flow).format() + "echo 'read 3 docs' 2>&1 | tee 'a log'"
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=tmp_path,
        env={**os.environ, QUIET: quiet},
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout, (tmp_path / "a log").read_text()) == (shown, "read 3 docs\n")


def test_a_job_that_fails_beside_a_line_fails(tmp_path):
    flow = SimpleNamespace(deployment_settings=SimpleNamespace(deployment_method=set()))
    command = driver.shell_prefix(flow).format() + "sh -c 'exit 3' 2>&1 | tee log"
    env = {**os.environ, QUIET: "1"}
    assert subprocess.run(["bash", "-c", command], cwd=tmp_path, env=env).returncode == 3
