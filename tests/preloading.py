"""Parents of forked jobs as Snakemake starts them, and the client that stands for `python`."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from conftest import ROOT

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
CLIENT = ROOT / "workflow" / "residuum" / "preload" / "client.py"


def environment(more: Mapping[str, str]) -> dict[str, str]:
    """Return an environment as Snakemake's shells have it, with one thread, and more."""
    paths = {"PYTHONPATH": str(ROOT / "workflow"), "PYTHONUTF8": "1"}
    start = str(Path(sys.executable).parent)
    left = ("PYTEST_", "PWD", "OLDPWD", "PS1")  # bash drops PS1, which `activate` exports
    own = {name: value for name, value in os.environ.items() if not name.startswith(left)}
    return {**own, **ONE_THREAD, **paths, "PATH": f"{start}:{os.environ['PATH']}", **more}


def client(*words: str) -> list[str]:
    """Return the command of a job whose shell is this process; `words` follow `python`."""
    return [sys.executable, "-I", "-S", str(CLIENT), str(os.getpid()), *words]


@contextmanager
def parents(*threads: int) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    """Start parents and end them with a process; yield the folder of their sockets, and it."""
    numbers = threads or (1,)
    code = (
        "from residuum.preload import server; import os, sys;"
        f"server.start({numbers}); print(os.environ['RESIDUUM_PRELOAD'], flush=True);"
        "sys.stdin.read()"
    )
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", code]
    process = subprocess.Popen(command, env=environment({}), stdin=pipe, stdout=pipe, text=True)
    assert process.stdout
    folder = process.stdout.readline().strip()
    while len(list(Path(folder).iterdir())) < 2 * len(numbers):
        time.sleep(0.01)
    try:
        yield folder, process
    finally:
        process.kill()
        process.wait()
