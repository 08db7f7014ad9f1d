"""Commands that are interrupted or killed, and two at once: the next run finds nothing in its way.

Each command is a process of its own, which is stopped once the name stands where it writes.
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

import forking
from bundles import faults
from conftest import ROOT
from residuum import train
from residuum.artefacts import files
from residuum.cli.errors import ResiduumError
from residuum.neural import resumable
from residuum.preload import server
from tiny_models import model_spec, train_arguments, write_problem

# A command that stops in the middle of its work, for as long as the test needs it.
SLOW = """
import sys, time
from pathlib import Path
import residuum.__main__ as main
from residuum.artefacts import exported, files
from residuum.inspect import bundling, remaking
from residuum.site import writing

MARK = Path(sys.argv.pop(1))

class Stopped:
    def __init__(self, module, name): self.old = getattr(module, name); setattr(module, name, self)
    def __call__(self, *arguments, **more):
        if MARK.exists():
            MARK.unlink()
            for _ in range(6000):
                time.sleep(0.01)  # a signal just before a sleep is seen after it alone
        return self.old(*arguments, **more)

for module, name in [(writing, "_write_sheet"), (bundling, "_pack"), (bundling, "make"),
                     (exported, "write_trec")]:
    Stopped(module, name)
main.main()
"""
SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL]
COMMANDS = {
    "report": ["report", "--results", "{results}", "--output", "{out}/site"],
    "export": ["export", "data/dev", "--results", "{results}", "--output", "{out}/runs"],
    "write": ["bundle", "write", "--results", "{results}", "--output", "{out}/toy.tar.gz"],
    "verify": ["bundle", "verify", "{archive}"],
}


def environment(temporary):
    return {**os.environ, "PYTHONPATH": str(ROOT / "workflow"), "TMPDIR": str(temporary)}


def run(words, temporary):
    return forking.run("residuum.__main__", [*map(str, words)], environment(temporary))


@contextmanager
def stopped(words, temporary, mark):
    """Give a command that waits in the middle of its work; it ends with the block."""
    mark.touch()
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW, str(mark), *words],
        env=environment(temporary),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # As in a terminal, also where the tests run under nohup, which ignores it.
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),
    )
    until = time.monotonic() + 60
    while mark.exists():
        assert process.poll() is None and time.monotonic() < until, process.communicate()
        time.sleep(0.01)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def left(*folders):
    return sorted(path.name for folder in folders for path in folder.iterdir())


@pytest.mark.parametrize("by", SIGNALS, ids=lambda number: number.name)
@pytest.mark.parametrize("verb", COMMANDS)
def test_an_interrupted_command_leaves_nothing_that_its_next_run_does_not_delete(
    results, archive, tmp_path, verb, by
):
    out, temporary = tmp_path / "out", tmp_path / "temporary"
    out.mkdir()
    temporary.mkdir()
    words = [word.format(results=results, out=out, archive=archive) for word in COMMANDS[verb]]
    with stopped(words, temporary, tmp_path / "mark") as process:
        assert left(out, temporary)
        process.send_signal(by)
        _, message = process.communicate(timeout=30)
    assert process.returncode and "Traceback" not in message
    if by != signal.SIGKILL:
        assert process.returncode == 128 + by and not left(out, temporary)
    done = run(words, temporary)
    assert done.returncode == 0, done.stderr
    assert [path.name for path in out.iterdir()] == [Path(words[-1]).name] * (verb != "verify")
    assert not left(temporary)


def test_a_signal_that_nohup_ignores_stays_so(results, tmp_path):
    words = [word.format(results=results, out=tmp_path) for word in COMMANDS["export"]]
    ignoring = f"import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n{SLOW}"
    mark = tmp_path / "mark"
    mark.touch()
    process = subprocess.Popen(
        [sys.executable, "-c", ignoring.replace("range(6000)", "range(100)"), str(mark), *words],
        env=environment(tmp_path),
    )
    while mark.exists():
        time.sleep(0.01)
    process.send_signal(signal.SIGHUP)
    assert process.wait(30) == 0 and (tmp_path / "runs").is_dir()


@pytest.mark.parametrize("verb", ["report", "export"])
def test_two_that_write_one_folder_exclude_each_other(results, tmp_path, verb):
    words = [word.format(results=results, out=tmp_path / "out") for word in COMMANDS[verb]]
    with stopped(words, tmp_path, tmp_path / "mark") as first:
        started = time.monotonic()
        second = run(words, tmp_path)
        assert second.returncode == 1 and time.monotonic() - started < 20
        [line] = second.stderr.splitlines()
        assert line.startswith(f"error: {words[-1]}: process {first.pid} on ")
        assert line.endswith(" is writing it. Wait until that ends, or stop it.")
    assert run(words, tmp_path).returncode == 0


def test_two_bundles_of_one_name_wait_for_each_other(results, tmp_path):
    words = [word.format(results=results, out=tmp_path / "out") for word in COMMANDS["write"]]
    with stopped(words, tmp_path, tmp_path / "mark") as first:
        second = subprocess.Popen(
            [sys.executable, "-m", "residuum", *words], env=environment(tmp_path)
        )
        time.sleep(2)
        assert second.poll() is None and not (tmp_path / "out" / "toy.tar.gz").exists()
        first.kill()
        assert second.wait(30) == 0
    assert left(tmp_path / "out") == ["toy.tar.gz"] and not faults(Path(words[-1]))


WRITERS = {
    "whole": files.whole,
    "folder": files.whole_directory,
    "new folder": files.new_directory,
    "scratch": files.scratch,
}


@pytest.mark.parametrize("kind", ["file", "folder", "link"])
@pytest.mark.parametrize("writer", WRITERS)
def test_a_strangers_file_under_the_temporary_name_stays(tmp_path, writer, kind):
    stranger = tmp_path / (".made.scratch" if writer == "scratch" else ".made.part")
    if kind == "folder":
        stranger.mkdir()
        (stranger / "notes").write_text("mine")
    elif kind == "link":
        stranger.symlink_to("nowhere")
    else:
        stranger.write_text("mine")
    with (
        pytest.raises(ResiduumError, match=rf"{stranger.name}: exists, and is not residuum's"),
        WRITERS[writer](tmp_path / "made"),
    ):
        raise AssertionError("not entered")
    assert left(tmp_path) == [stranger.name]
    assert kind != "file" or stranger.read_text() == "mine"
    assert kind != "folder" or (stranger / "notes").read_text() == "mine"


@pytest.mark.parametrize("writer", WRITERS)
def test_what_a_killed_process_left_gives_way_whatever_it_is(tmp_path, writer):
    code = (
        "import os, sys; from pathlib import Path; from residuum.artefacts import files\n"
        f"with files.{WRITERS[writer].__name__}(Path(sys.argv[1])) as made:\n"
        "    (made / 'a').mkdir() if made.is_dir() else made.write_text('half')\n"
        "    os.kill(os.getpid(), 9)"
    )
    path = tmp_path / "made"
    subprocess.run([sys.executable, "-c", code, str(path)], env=environment(tmp_path), check=False)
    assert len(left(tmp_path)) == 2
    with WRITERS[writer](path) as made:
        assert not made.is_dir() or not left(made)
        made.write_text("whole") if writer == "whole" else (made / "b").touch()
    assert left(tmp_path) == [] if writer == "scratch" else ["made"]


def test_two_that_work_in_one_folder_exclude_each_other(tmp_path):
    code = (
        "import sys, time; from pathlib import Path; from residuum.artefacts import files\n"
        "with files.alone(Path(sys.argv[1])):\n    print('here', flush=True); time.sleep(60)"
    )
    first = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "work")],
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert first.stdout.readline() == "here\n"
    with (
        pytest.raises(ResiduumError, match=f"work: process {first.pid} on .* is writing it"),
        files.alone(tmp_path / "work"),
    ):
        raise AssertionError("not entered")
    first.kill()
    first.communicate()
    with files.alone(tmp_path / "work"):
        pass
    assert not left(tmp_path)


def test_a_second_training_in_one_folder_ends_before_it_begins(tmp_path):
    toy = write_problem(tmp_path / "toy")
    arguments = train_arguments(toy, tmp_path / "model", model_spec("nll", steps=2))
    with (
        files.alone(arguments["work"]),
        pytest.raises(ResiduumError, match=f"process {os.getpid()} on .* is writing it"),
    ):
        train.train(**arguments)
    assert not (tmp_path / "model").exists()
    train.train(**arguments)
    assert (tmp_path / "model" / "manifest.json").is_file()


def test_a_temporary_folder_of_a_stranger_stays(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "residuum-bundle-mine").mkdir()
    (tmp_path / "residuum-bundle-mine" / "notes").write_text("mine")
    (tmp_path / "residuum-bundle-link").symlink_to(tmp_path / "residuum-bundle-mine")
    with files.temporary("bundle") as one, files.temporary("bundle") as other:
        assert one != other and one.is_dir() and other.is_dir()
    assert left(tmp_path) == ["residuum-bundle-link", "residuum-bundle-mine"]


@pytest.fixture
def place(tmp_path_factory):
    """Return a short path: a socket's name has at most a hundred characters."""
    folder = Path(f"/tmp/place-{os.getpid()}")
    folder.mkdir()
    yield folder
    shutil.rmtree(folder)


def test_folders_of_parents_that_were_killed_with_their_starter_go(place, monkeypatch):
    listening = []

    def made(name, *more, listens=False, old=True):
        folder = place / f"residuum-{name}"
        folder.mkdir()
        for each in ("tables-1", "tables-16", "neural-1", "neural-16"):
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(str(folder / each))
            listener.listen()
            listening.append(listener) if listens else listener.close()
        for each in more:
            (folder / each).touch()
        if old:
            os.utime(folder, (0, 0))

    made("dead", "12.34.5")
    made("new", old=False)
    made("alive", listens=True)
    made("strange", "notes.txt")
    server._drop_dead(place)
    assert left(place) == ["residuum-alive", "residuum-new", "residuum-strange"]
    for listener in listening:
        listener.close()


def test_a_work_folder_of_a_stranger_stays(tmp_path):
    work = tmp_path / "mine"
    (work / ".git").mkdir(parents=True)
    (work / ".git" / "config").write_text("mine")
    with pytest.raises(ResiduumError, match=rf"^{work}: it holds \.git, which no unfinished work"):
        resumable.open_folder(work, "mark")
    assert (work / ".git" / "config").read_text() == "mine"
    resumable.open_folder(tmp_path / "new", "mark")
    (tmp_path / "new" / "part").write_text("x")
    resumable.open_folder(tmp_path / "new", "mark")
    assert (tmp_path / "new" / "part").is_file()
    resumable.open_folder(tmp_path / "new", "another mark")
    assert not (tmp_path / "new" / "part").exists()


def test_a_training_takes_away_its_own_state_alone(tmp_path):
    toy = write_problem(tmp_path / "toy")
    work = tmp_path / "work"
    (work / "notes").mkdir(parents=True)
    spec = model_spec(batch_size=4, steps=4, snapshots=2)
    train.train(**train_arguments(toy, tmp_path / "model", spec=spec, work=work, save_every=0.0))
    assert [path.name for path in work.iterdir()] == ["notes"]
    (work / "notes").rmdir()
    train.train(**train_arguments(toy, tmp_path / "other", spec=spec, work=work, save_every=0.0))
    assert not work.exists()


# A command that is interrupted once, in the middle of a function that is no longer loading.
ONCE = """
import atexit, os, signal, sys, time
place, sys.argv[0] = sys.argv.pop(1), "-m"
import residuum.__main__ as main
import typer.main

def interrupted(*arguments):
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.1)
    return old(*arguments)

old = {"declaring": typer.main.get_command, "ending": lambda: None}[place]
if place == "declaring":
    typer.main.get_command = interrupted
else:
    atexit.register(interrupted)
main.main()
"""


@pytest.mark.parametrize("place", ["declaring", "ending"])
def test_ctrl_c_before_and_after_a_command_prints_no_traceback(tmp_path, place):
    words = [sys.executable, "-c", ONCE, place, "export", "--help"]
    done = subprocess.run(words, env=environment(tmp_path), capture_output=True, text=True)
    assert done.returncode in (128 + signal.SIGINT, -signal.SIGINT)
    assert "Traceback" not in done.stderr


SCRIPT = Path(sys.executable).with_name("residuum")  # as pip installs it: `make install`


@pytest.mark.parametrize("words", [
    ["-m", "residuum"], ["-m", "residuum.encode"], [str(SCRIPT)]
], ids=["residuum", "residuum.encode", "script"])  # fmt: skip
@pytest.mark.parametrize("loaded", ["residuum", "typer", "residuum.cli.command"])
def test_ctrl_c_while_packages_load_prints_no_traceback(tmp_path, words, loaded):
    """`-X importtime` prints a line when an import has ended: others are still to come then."""
    command = [sys.executable, "-X", "importtime", *words, "--help"]
    with subprocess.Popen(
        command, env=environment(tmp_path), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        text=True,
    ) as process:  # fmt: skip
        for line in process.stderr:
            if line.split("|")[-1].strip() == loaded:
                process.send_signal(signal.SIGINT)
                break
        rest = process.stderr.read()
    assert "Traceback" not in rest
    assert process.returncode in (128 + signal.SIGINT, -signal.SIGINT)
