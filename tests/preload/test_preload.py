"""A forked job is the job that Python would run: words, streams, status, environment, end."""

import mmap
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from subprocess import DEVNULL
from types import SimpleNamespace

import psutil
import pytest
from snakemake.benchmark import BenchmarkTimer, benchmarked

from preloading import CLIENT, ONE_THREAD, client, environment, parents
from residuum.config.schema.scales import Config
from residuum.preload import benchmarks, server
from residuum.wiring import driver

SECONDS = 0.4  # of the CPU, which the job "work" takes
JOB = """
import os, sys, time
from pathlib import Path
print("here", sys.argv[1:], Path(sys.argv[0]).name, __name__, __spec__.name, os.getcwd())
print("loaded", "polars" in sys.modules and "early" in sys.argv, file=sys.stderr)
print(sys.stdin.read() if "read" in sys.argv else "")
Path("pid").write_text(str(os.getpid()))
if "sleep" in sys.argv: time.sleep(60)
if "work" in sys.argv:
    while time.process_time() < float(sys.argv[-1]): pass
if "fail" in sys.argv: raise SystemExit("error: as it should")
if "status" in sys.argv: raise SystemExit(7)
if "break" in sys.argv: 1 / 0
if "kill" in sys.argv: os.kill(os.getpid(), 9)
"""


@pytest.fixture(scope="module", name="parents")
def started_parents():
    with parents() as started:
        yield started


@pytest.fixture
def job(parents, tmp_path):
    """Return a function that starts a job's module through the client."""
    (tmp_path / "job.py").write_text(JOB)

    def start(*words, **more):
        return subprocess.Popen(
            client("-m", "job", *words),
            cwd=tmp_path,
            env=environment({"RESIDUUM_PRELOAD": parents[0], **more}),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return start


def test_a_forked_job_has_words_streams_and_status_of_its_own(job, tmp_path):
    first = job("a b", "read", "early")
    out, message = first.communicate("from a pipe")
    assert out.splitlines()[0] == f"here ['a b', 'read', 'early'] job.py __main__ job {tmp_path}"
    assert "from a pipe" in out and message == "loaded True\n" and first.returncode == 0
    assert int((tmp_path / "pid").read_text()) != first.pid


@pytest.mark.parametrize(
    ("word", "status", "last"),
    [
        ("fail", 1, "error: as it should"),
        ("status", 7, "loaded True"),
        ("break", 1, "ZeroDivisionError: division by zero"),
        ("kill", 128 + signal.SIGKILL, "loaded True"),
    ],
)
def test_it_ends_as_python_would(job, word, status, last):
    process = job(word, "early")
    assert process.communicate("")[1].splitlines()[-1] == last
    assert process.returncode == status


def test_a_job_of_another_environment_starts_by_itself(job):
    process = job("early", OMP_NUM_THREADS="3")
    assert process.communicate("")[1] == "loaded False\n" and process.returncode == 0


def test_what_no_parent_serves_starts_by_itself(job, tmp_path):
    process = job("early", RESIDUUM_PRELOAD=str(tmp_path / "nowhere"))
    assert process.communicate("")[1] == "loaded False\n" and process.returncode == 0


def test_a_job_ends_with_its_shell_and_is_counted_while_it_runs(
    job, tmp_path, monkeypatch, parents
):
    process = job("sleep")
    child = _child(tmp_path)
    monkeypatch.setenv("RESIDUUM_PRELOAD", parents[0])
    assert child.pid in {p.pid for p in benchmarks.Shell(os.getpid()).children(recursive=True)}
    process.kill()
    child.wait(10)
    assert process.wait() and not child.is_running()


@pytest.mark.parametrize("lists", ["children", "a file that this kernel lacks"])
def test_all_below_a_shell_is_seen(monkeypatch, tmp_path, lists):
    """psutil, which finds them in another way, sees the same."""
    monkeypatch.setenv("RESIDUUM_PRELOAD", str(tmp_path))
    monkeypatch.setattr(benchmarks, "CHILDREN", lists)
    code = "import subprocess; subprocess.run(['bash', '-c', 'sleep 60 & sleep 60 & wait'])"
    job = subprocess.Popen(["bash", "-c", f'{sys.executable} -c "{code}" | cat'])
    peer, shell = psutil.Process(job.pid), benchmarks.Shell(job.pid)
    names, end = [], time.monotonic() + 10
    while names != ["bash", "cat", "python", "sleep", "sleep"] and time.monotonic() < end:
        time.sleep(0.02)
        with suppress(psutil.NoSuchProcess):
            names = sorted(one.name()[:6] for one in peer.children(recursive=True))
    below = peer.children(recursive=True)
    try:
        assert len(below) == 5 and set(shell.children(recursive=True)) == set(below)
    finally:
        for one in [*below, peer]:
            one.kill()
        job.wait()
    with pytest.raises(psutil.NoSuchProcess):
        shell.children(recursive=True)


def test_a_benchmark_holds_all_that_a_job_took(job, tmp_path, monkeypatch, parents):
    """As the system counted it, of jobs that Snakemake's looks, twice a second, see little of."""
    for name in ("__init__", "cancel"):
        monkeypatch.setattr(BenchmarkTimer, name, getattr(BenchmarkTimer, name))
    monkeypatch.setenv("RESIDUUM_PRELOAD", parents[0])
    benchmarks.adopt()
    one = f"{sys.executable} -I -S '{CLIENT}' $$ -m job early work {SECONDS} 2>&1 | tee log"
    shell = subprocess.Popen(  # as in a rule: bash stands above the pipe, and the pipe above Python
        ["bash", "-c", f"export -n PWD; {one}; {one}"],
        cwd=tmp_path,
        env=environment({"RESIDUUM_PRELOAD": parents[0]}),
        stdout=DEVNULL,
    )
    with benchmarked(shell.pid) as record:
        shell.wait()
    assert record.cpu_time == pytest.approx(2 * SECONDS, rel=0.1)
    assert record.max_rss > 50  # MB: Polars is loaded
    assert not list(Path(parents[0]).glob(f"{shell.pid}.*"))


def test_a_benchmark_has_the_numbers_of_a_job_that_snakemake_never_saw(
    job, tmp_path, monkeypatch, parents
):
    for name in ("__init__", "cancel"):
        monkeypatch.setattr(BenchmarkTimer, name, getattr(BenchmarkTimer, name))
    monkeypatch.setattr(BenchmarkTimer, "work", lambda own: None)
    monkeypatch.setenv("RESIDUUM_PRELOAD", parents[0])
    benchmarks.adopt()
    shell = subprocess.Popen(
        [
            "bash",
            "-c",
            f"export -n PWD; {sys.executable} -I -S '{CLIENT}' $$ -m job work 0.1; true",
        ],
        cwd=tmp_path,
        env=environment({"RESIDUUM_PRELOAD": parents[0]}),
        stdout=DEVNULL,
    )
    with benchmarked(shell.pid) as record:
        shell.wait()
    record.running_time = 1.0
    written = dict(zip(record.get_header(), record.to_tsv(False).split("\t"), strict=True))
    assert float(written["cpu_time"]) == pytest.approx(0.1, rel=0.5)
    assert float(written["max_rss"]) > 10


def test_the_pages_of_a_job_are_counted_seldom(monkeypatch):
    """What the kernel has to count for it is as of the last look; what it knows, as of now."""
    looks = []
    count = psutil.Process.memory_full_info

    def look(process):
        looks.append(process.pid)
        return count(process)

    monkeypatch.setattr(psutil.Process, "memory_full_info", look)
    job = benchmarks.Job(os.getpid())
    before = job.memory_full_info()
    held = mmap.mmap(-1, 64 << 20)  # new pages, where an allocator may have some to spare
    held.write(os.urandom(1 << 20) * 64)
    after = job.memory_full_info()
    assert looks == [os.getpid()]
    assert (after.uss, after.pss) == (before.uss, before.pss) and after.uss > 0
    assert after.rss - before.rss > 0.9 * len(held)
    monkeypatch.setattr(benchmarks, "BETWEEN_LOOKS", 0.0)
    assert job.memory_full_info().uss - before.uss > 0.9 * len(held) and len(looks) == 2


def test_the_parents_and_their_jobs_end_with_their_starter(tmp_path):
    code = (
        "from residuum.preload import server; import os, sys, time;"
        "server.start(); time.sleep(1);"
        "words = [sys.executable, '-I', '-S', sys.argv[1], str(os.getpid()), '-m', 'job', 'sleep'];"
        "import subprocess; subprocess.run(words)"
    )
    (tmp_path / "job.py").write_text(JOB)
    starter = subprocess.Popen(
        [sys.executable, "-c", code, str(CLIENT)],
        cwd=tmp_path,
        env=environment({"TMPDIR": str(tmp_path)}),
    )
    child = _child(tmp_path)
    below = psutil.Process(starter.pid).children(recursive=True)
    assert len(below) == 4, "two parents, the client, the job"
    starter.kill()
    starter.wait()
    _, alive = psutil.wait_procs([child, *below], timeout=10)
    assert not alive and not list(tmp_path.glob("residuum-*")), "nothing is left"


def _child(folder):
    while not (folder / "pid").exists() or not (folder / "pid").read_text():
        time.sleep(0.01)
    return psutil.Process(int((folder / "pid").read_text()))


def test_nothing_is_started_where_a_child_could_outlive_its_parent(monkeypatch):
    monkeypatch.delattr(os, "pidfd_open")
    monkeypatch.delenv("RESIDUUM_PRELOAD", raising=False)
    server.start()
    assert "RESIDUUM_PRELOAD" not in os.environ


def test_a_parent_loads_torch_with_the_kernels_that_its_first_job_pins(tmp_path, parents):
    """A neural one: `train` is a stage that it serves."""
    code = "import sys; print(sys.argv[1:], 'torch' in sys.modules, end=' ')\n"
    code += "import torch; print(torch.backends.cpu.get_cpu_capability())"
    (tmp_path / "train.py").write_text(code)
    line = driver.shell_prefix(workflow(), "portable").format() + "python -m train early"
    env = environment({server.FOLDER: parents[0], "ATEN_CPU_CAPABILITY": "avx2"})
    done = subprocess.run(["bash", "-c", line], cwd=tmp_path, env=env, capture_output=True)
    assert done.stdout.decode() == "['early'] True DEFAULT\n", done.stderr.decode()


@pytest.mark.parametrize("threads", ["1", "3"])
def test_polars_takes_the_threads_of_the_rule(tmp_path, threads):
    (tmp_path / "job.py").write_text("import polars; print(polars.thread_pool_size())")
    line = driver.shell_prefix(workflow()).format() + "python -m job"
    env = environment({"OMP_NUM_THREADS": threads})
    done = subprocess.run(["bash", "-c", line], cwd=tmp_path, env=env, capture_output=True)
    assert done.stdout.decode() == f"{threads}\n", done.stderr.decode()


@pytest.mark.parametrize("own", ["", "narenas:1", "dirty_decay_ms:500,muzzy_decay_ms:1000"])
def test_polars_is_told_last_to_keep_memory(tmp_path, own):
    """Of two values of an option the last one holds; Polars gives the first, and exports it too."""
    (tmp_path / "job.py").write_text(
        "import os; print(os.environ.get('_RJEM_MALLOC_CONF')); import polars;"
        "print(os.environ['_RJEM_MALLOC_CONF'])"
    )
    line = driver.shell_prefix(workflow()).format() + "python -m job"
    env = {**environment({}), "_RJEM_MALLOC_CONF": own}
    done = subprocess.run(["bash", "-c", line], cwd=tmp_path, env=env, capture_output=True)
    given, in_polars = done.stdout.decode().split()
    assert given == ",".join(filter(None, [own, driver.KEPT]))
    assert in_polars.endswith(given) and in_polars != given


def workflow(local=True, deployed=frozenset(), cores=2):
    settings = SimpleNamespace(deployment_method=deployed)
    return SimpleNamespace(local_exec=local, deployment_settings=settings, cores=cores)


@pytest.mark.parametrize(
    ("where", "key"),
    [
        (workflow(local=False), {}),
        (workflow(deployed={"conda"}), {}),
        (workflow(), {"preload": False}),
    ],
)
def test_jobs_elsewhere_start_by_themselves(monkeypatch, where, key):
    monkeypatch.setattr(server, "start", lambda threads: pytest.fail("it was started"))
    monkeypatch.setenv(server.FOLDER, "of a Snakemake around this one")
    driver.preload(where, Config(scale="any", papers=["any"], **key), 4)
    assert server.FOLDER not in os.environ


def test_jobs_on_cards_of_this_machine_are_forked(monkeypatch):
    started = []
    monkeypatch.setattr(server, "start", started.append)
    monkeypatch.setattr(benchmarks, "adopt", lambda: started.append("benchmarks"))
    monkeypatch.setenv(server.FOLDER, "of a Snakemake around this one")
    own = Config(scale="any", papers=["any"], device="cuda", gpus=3)
    driver.preload(workflow(cores=8), own, 2)
    assert started == [{1, 2, 6}, "benchmarks"]
    driver.preload(workflow(cores=5), own, 2)
    assert started[2] == {1, 2, 5}, "Snakemake gives a rule no more threads than it has cores"


@pytest.mark.parametrize(
    ("target", "opened"), [("nvidiactl", True), ("nvidia0", True), ("dxg", True), ("null", False)]
)
def test_a_parent_that_opened_a_card_is_told_by_its_files(tmp_path, target, opened):
    """As CUDA's start opens them: a child of such a process cannot compute on a card."""
    (tmp_path / "4").symlink_to(f"/dev/{target}")
    (tmp_path / "5").write_text("a file that is no link")
    assert server._opened_card(tmp_path) is opened


@pytest.mark.parametrize("stage", ["train", "fusion"])
@pytest.mark.parametrize("threads", ["1", "2"])
def test_forked_jobs_have_the_threads_of_their_rules(tmp_path, stage, threads):
    """Of numpy and scipy, whose OpenBLAS would start them in the parent, of OpenMP and Polars."""
    (tmp_path / f"{stage}.py").write_text(
        "import sys; forked = 'polars' in sys.modules\n"
        "import numpy, scipy.linalg, polars; from threadpoolctl import threadpool_info\n"
        "if 'train' in __file__: import torch\n"
        "pools = {pool['num_threads'] for pool in threadpool_info()}\n"
        "print(forked, pools, polars.thread_pool_size())"
    )
    names = (*ONE_THREAD, "GOTO_NUM_THREADS", "POLARS_MAX_THREADS")
    outputs = []
    with parents(1, 2) as (folder, _):
        for place in (folder, str(tmp_path / "nowhere")):
            own = environment({server.FOLDER: place, **dict.fromkeys(names, threads)})
            command = client("-m", stage)
            done = subprocess.run(command, cwd=tmp_path, env=own, capture_output=True, text=True)
            outputs.append(done.stdout.split(maxsplit=1))
    (forked, pools), (alone, expected) = outputs
    assert (forked, alone) == ("True", "False") and pools == expected


def test_no_job_is_forked_once_a_card_is_open(monkeypatch, capfd, tmp_path):
    parent = server.Parent.__new__(server.Parent)
    parent.environment, parent.ahead = {"A": "1"}, SimpleNamespace(prepare=lambda *_: None)
    monkeypatch.setattr(server, "_opened_card", lambda: True)
    monkeypatch.setattr(os, "fork", lambda: pytest.fail("it was forked"))
    assert parent._fork(SimpleNamespace(module="residuum.train", folder=str(tmp_path)), []) is None
    assert "what residuum.train imports has opened a GPU" in capfd.readouterr().err
    assert parent.environment == {}, "it declines the next ones without a look"


def test_a_command_takes_the_place_of_a_forked_job(tmp_path, parents):
    """As torchrun does, which trains a model on several cards."""
    (tmp_path / "job.py").write_text("import os, sys; os.execvp(sys.argv[1], sys.argv[1:])")
    line = driver.shell_prefix(workflow()).format() + "python -m job bash -c 'echo $0 $$; exit 5'"
    env = environment({server.FOLDER: parents[0]})
    done = subprocess.run(["bash", "-c", line], cwd=tmp_path, env=env, capture_output=True)
    assert done.returncode == 5 and done.stdout.decode().startswith("bash "), done.stderr


def test_a_shell_finds_the_words_of_a_command_with_and_without_parents(job, tmp_path, parents):
    line = driver.shell_prefix(workflow()).format() + "python -m job 'a b' early 2>&1 | tee log"
    for folder in ({}, {server.FOLDER: parents[0]}):
        subprocess.run(["bash", "-c", line], cwd=tmp_path, env=environment(folder), check=True)
        message = (tmp_path / "log").read_text()
        assert "['a b', 'early'] job.py __main__" in message
