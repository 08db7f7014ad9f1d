"""Python commands forked from a process that has loaded their packages: each start costs less.

Usage: `run("residuum.data", words, environment)`, as `subprocess.run([python, "-m", ...])`; such
processes end with the tests. None imports ir_datasets, which fixes its home when it is imported.
"""

import atexit
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from conftest import ROOT
from preloading import ONE_THREAD
from residuum.preload import server

# What commands import, of which nothing depends on their environment. Those of `snakemake` and
# `stages` are run in copies of the project, each of which has a residuum of its own.
PACKAGES = {
    "snakemake": "snakemake.cli pydantic typer yaml",
    "stages": " ".join(server.PACKAGES["neural"]),
    "residuum": """numpy polars pydantic typer yaml ijson lxml.etree requests tqdm
        residuum.data residuum.__main__""",
}
PARENT = """
import gc, importlib, json, os, sys
from residuum.preload import jobs, server

gc.disable()
if sys.argv[1] != "residuum":
    jobs.forget()
for package in sys.argv[2:]:
    importlib.import_module(package)
assert "ir_datasets" not in sys.modules and server._settled()
gc.collect()
gc.freeze()  # no child looks through what it shares with this process
gc.enable()
for line in sys.stdin:
    module, words, folder, environment, paths, child = json.loads(line)
    if child:
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
        continue
    parent, child = os.getpid(), os.fork()
    if not child:
        os.setsid()
        os.environ.clear()
        os.environ.update(environment)
        sys.path[:0] = filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))
        streams = [os.open(path, os.O_RDWR | os.O_APPEND) for path in [os.devnull, *paths]]
        request = jobs.Request(0, module, words, folder, environment)
        jobs.become(request, streams, parent)
    print(child, flush=True)
"""


class Command:
    """A forked `python -m module words` in a project's folder, a group of processes of its own.

    `merged`: standard error too comes as stdout, in its order. `neural`: torch is loaded already.
    """

    def __init__(
        self,
        module: str,
        words: Sequence[str],
        environment: Mapping[str, str],
        project: Path = ROOT,
        merged: bool = False,
        neural: bool = False,
    ) -> None:
        package = module.split(".")[0]
        stage = package == "residuum" and (neural or project != ROOT)
        self._parent, self._merged = _parent("stages" if stage else package), merged
        self._folder = tempfile.TemporaryDirectory()
        names = ["both"] * 2 if merged else ["out", "err"]
        self._streams = [Path(self._folder.name) / name for name in names]
        for path in self._streams:
            path.touch()
        streams = list(map(str, self._streams))
        self.process = self._ask(module, [*words], str(project), dict(environment), streams, 0)

    def _ask(self, *request: object) -> int:
        print(json.dumps(request), file=self._parent.stdin, flush=True)
        assert self._parent.stdout
        return int(self._parent.stdout.readline())

    def finish(self) -> "subprocess.CompletedProcess[str]":
        """Wait for the end; return the exit status, and what the command printed."""
        status = self._ask("", [], "", {}, [], self.process)
        out, err = (path.read_text() for path in self._streams)
        self._folder.cleanup()
        return subprocess.CompletedProcess([], status, out, "" if self._merged else err)


class Started:
    """A forked `python -m module ...` in this folder, as `Popen` returns one that writes to pipes.

    `kill` leaves it to end by itself.
    """

    def __init__(self, command: Sequence[str], **_: object) -> None:
        _, _, module, *words = command
        self._command = Command(module, words, os.environ, Path.cwd())
        self._done: subprocess.CompletedProcess[str] | None = None

    def communicate(self) -> tuple[str, str]:
        """Wait for the end; return what it printed."""
        self._done = self._done or self._command.finish()
        return self._done.stdout, self._done.stderr

    @property
    def returncode(self) -> int:
        """The exit status."""
        self.communicate()
        assert self._done
        return self._done.returncode

    def kill(self) -> None:
        """Wait instead."""


def run(
    module: str,
    words: Sequence[str],
    environment: Mapping[str, str],
    project: Path = ROOT,
    merged: bool = False,
) -> "subprocess.CompletedProcess[str]":
    """Run a command to its end; return its status and output."""
    return Command(module, words, environment, project, merged).finish()


@cache
def _parent(name: str) -> "subprocess.Popen[str]":
    paths = {"PYTHONPATH": str(ROOT / "workflow"), "PYTHONUTF8": "1"}
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, name, *PACKAGES[name].split()],
        env={"PATH": os.environ["PATH"], **ONE_THREAD, **paths},  # Snakemake looks for bash at once
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert parent.stdin
    atexit.register(parent.wait)
    atexit.register(parent.stdin.close)  # first: it ends with what it is told
    return parent
