"""Python commands forked from one process that has loaded their packages: each start costs less.

Usage: `run("residuum.data", words, environment)`, as `subprocess.run([python, "-m", ...])`; the
process ends with the tests. It never imports ir_datasets, which fixes its home when it is imported.
"""

import atexit
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from conftest import ROOT

# What ir_datasets and the command import, but for ir_datasets itself.
PACKAGES = """numpy polars pydantic typer yaml ijson lxml.etree requests tqdm
    residuum.data residuum.__main__"""
PARENT = """
import importlib, json, os, sys
from residuum.preload import server

for package in sys.argv[1:]:
    importlib.import_module(package)
assert "ir_datasets" not in sys.modules and server._settled()
for line in sys.stdin:
    module, words, folder, environment, paths = json.loads(line)
    parent, child = os.getpid(), os.fork()
    if not child:
        os.environ.clear()
        os.environ.update(environment)
        streams = [os.open(path, os.O_RDWR) for path in [os.devnull, *paths]]
        server._become(server.Request(0, module, words, folder, environment), streams, parent)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


def run(
    module: str, words: list[str], environment: Mapping[str, str]
) -> "subprocess.CompletedProcess[str]":
    """Run `python -m module words` in the project's folder; return its status and what it said."""
    parent = _parent()
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / name for name in ("out", "err")]
        for path in paths:
            path.touch()
        job = [module, words, str(ROOT), dict(environment), list(map(str, paths))]
        print(json.dumps(job), file=parent.stdin, flush=True)
        assert parent.stdout
        status = int(parent.stdout.readline())
        out, err = (path.read_text() for path in paths)
    return subprocess.CompletedProcess([module, *words], status, out, err)


@cache
def _parent() -> "subprocess.Popen[str]":
    threads = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
    paths = {"PYTHONPATH": str(ROOT / "workflow"), "PYTHONUTF8": "1"}
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, *PACKAGES.split()],
        env={"PATH": "", **threads, **paths},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert parent.stdin
    atexit.register(parent.wait)
    atexit.register(parent.stdin.close)  # first: it ends with what it is told
    return parent
