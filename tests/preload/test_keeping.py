"""A process that is kept does its next job as a new process would, and ends when it should."""

import os
import signal
import subprocess
import sys
import time

import psutil
import pytest
from snakemake.benchmark import BenchmarkTimer, benchmarked

from preloading import CLIENT, client, environment, parents
from residuum.preload import benchmarks

# It keeps a package's own state, as a JVM would be, and shows what of the last job it still sees.
JOB = """
import atexit, os, signal, sys, time
from residuum import thing
from residuum.preload import keeping
import colorsys

def main():
    keeping.keep()
    if "own" in sys.argv: keeping.leave_kept()
    print("started", getattr(colorsys, "started", "nothing"), thing.WORD, sys.argv[1:], os.getcwd())
    print("seen", os.environ.get("SEEN"), sys.path[0], signal.getsignal(signal.SIGINT).__name__)
    colorsys.started, os.environ["SEEN"], thing.WORD = "a JVM", "by the last job", "changed"
    atexit.register(print, "at the end")
    if "work" in sys.argv:
        start, held = time.process_time(), bytearray(int(sys.argv[-1]) << 20)
        while time.process_time() - start < 0.4: pass
    if "sleep" in sys.argv: print(flush=True), time.sleep(60)
    if "fail" in sys.argv: raise SystemExit(3)
    print("process", os.getpid(), flush=True)

if __name__ == "__main__": main()
"""


@pytest.fixture
def project(tmp_path):
    """Return a folder with a package `residuum` of its own: a job, what it imports, keeping.py."""
    package = tmp_path / "workflow" / "residuum"
    (package / "preload").mkdir(parents=True)
    for name in ("__init__.py", "preload/__init__.py"):
        (package / name).write_text("")
    keeping = (CLIENT.parent / "keeping.py").read_text()
    (package / "preload" / "keeping.py").write_text(keeping)
    (package / "job.py").write_text(JOB)
    (package / "thing.py").write_text("WORD = 'first'\n")
    return tmp_path


@pytest.fixture(name="folder")
def sockets():
    """Start parents; return the folder of their sockets."""
    with parents() as (folder, _):
        yield folder


@pytest.fixture
def words(project, folder):
    """Return the environment of the jobs, and a function from a job's words to its command."""
    env = environment({"RESIDUUM_PRELOAD": folder, "PYTHONPATH": str(project / "workflow")})
    return env, lambda *words: client("-m", "residuum.job", *words)


@pytest.fixture
def job(words, project):
    """Return a function that runs a job to its end and returns its status and its lines."""
    env, command = words

    def run(*more, where=project):
        done = subprocess.run(command(*more), cwd=where, env=env, capture_output=True, text=True)
        assert not done.stderr, done.stderr
        return done.returncode, done.stdout.splitlines()

    return run


def test_the_next_job_has_what_was_started_and_nothing_else_of_the_last_one(job, project):
    status, (started, seen, process, end) = job("a")
    assert status == 0 and end == "at the end"
    assert started == f"started nothing first ['a'] {project}"
    assert seen == f"seen None {project} default_int_handler"
    again = job("b c")
    assert again == (
        0,
        [f"started a JVM first ['b c'] {project}", seen, process, end],
    )


def test_it_sees_a_module_that_was_edited_meanwhile(job, project):
    job("a")
    path = project / "workflow" / "residuum" / "thing.py"
    path.write_text("from residuum.other import WORD\n")
    path.with_name("other.py").write_text("WORD = 'edited'\n")
    assert job("b")[1][0].startswith("started a JVM edited")


@pytest.mark.parametrize("change", ["folder", "failed", "own", "killed"])
def test_a_job_that_cannot_use_it_has_a_process_of_its_own(job, project, words, change):
    first = job("a")[1][2]
    where = project
    if change == "folder":
        where = project / "workflow"
    elif change == "failed":
        assert job("fail")[0] == 3
    elif change == "killed":
        env, command = words
        process = psutil.Process(int(first.split()[1]))
        sleeping = subprocess.Popen(command("sleep"), cwd=project, env=env, stdout=-1, text=True)
        assert "started a JVM" in sleeping.stdout.readline()
        sleeping.kill()
        sleeping.wait()
        process.wait(10)
    status, lines = job(*(["own"] if change == "own" else ["b"]), where=where)
    assert status == 0 and lines[0].startswith("started nothing first")
    assert change == "own" or lines[2] != first


def test_an_idle_one_that_dies_is_not_waited_for(job):
    number = int(job("a")[1][2].split()[1])
    os.kill(number, signal.SIGKILL)
    status, lines = job("b")
    assert status == 0 and lines[0].startswith("started nothing")


def test_two_at_a_time_are_two_processes_and_both_are_kept(words, project, job):
    env, command = words
    both = [
        subprocess.Popen(command("work", "0"), cwd=project, env=env, stdout=-1, text=True)
        for _ in range(2)
    ]
    numbers = {one.communicate()[0].splitlines()[2] for one in both}
    assert len(numbers) == 2
    assert job("a")[1][2] in numbers


def test_a_benchmark_counts_each_job_of_a_process_by_itself(words, project, monkeypatch, folder):
    for name in ("__init__", "cancel"):
        monkeypatch.setattr(BenchmarkTimer, name, getattr(BenchmarkTimer, name))
    monkeypatch.setenv("RESIDUUM_PRELOAD", folder)
    benchmarks.adopt()
    env, _ = words
    records = []
    for megabytes in (300, 1):
        one = f"{sys.executable} -I -S '{CLIENT}' $$ -m residuum.job work {megabytes}; sleep 0.7"
        shell = subprocess.Popen(["bash", "-c", one], cwd=project, env=env, stdout=-1, text=True)
        with benchmarked(shell.pid) as record:
            process = shell.communicate()[0].splitlines()[2]
        records.append((record, process))
    (first, one), (second, same) = records
    assert one == same
    assert first.cpu_time > 0.4 and second.cpu_time == pytest.approx(0.4, abs=0.2)
    assert first.max_rss - second.max_rss > 200, "MB, of which the second job held none"


def test_an_idle_one_ends_after_a_while(project):
    code = (
        "import os, sys; from residuum.preload import server; server.KEPT_SECONDS = 0.5;"
        "server.main('tables-1', sys.argv[1], str(os.getppid()))"
    )
    folder = project / "sockets"
    folder.mkdir()
    parent = subprocess.Popen([sys.executable, "-c", code, str(folder)], env=environment({}))
    try:
        while not (folder / "tables-1").exists():
            time.sleep(0.01)
        env = environment({"RESIDUUM_PRELOAD": str(folder), "PYTHONPATH": f"{project}/workflow"})
        start = client("-m", "residuum.job")
        done = subprocess.run(start, cwd=project, env=env, capture_output=True, text=True)
        process = psutil.Process(int(done.stdout.splitlines()[2].split()[1]))
        process.wait(10)
    finally:
        parent.kill()
        parent.wait()
