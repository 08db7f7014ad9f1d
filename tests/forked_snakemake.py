"""Snakemake as its command runs it, forked from a process that has it loaded.

To load it is a third of what a dry run takes. Imports nothing of the project: a copy of that is
what a test runs.
"""

import atexit
import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["snakemake.cli"])


def run(
    arguments: list[str], folder: Path, env: Mapping[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run Snakemake in a folder; both of its streams are `stdout` of what comes back."""
    with tempfile.NamedTemporaryFile() as said:
        environment = dict(os.environ if env is None else env)
        told = arguments, str(folder), environment, said.name
        process = CONTEXT.Process(target=_become, args=told)
        process.start()
        process.join()
        assert process.exitcode is not None
        text = Path(said.name).read_text(encoding="utf-8")
    return subprocess.CompletedProcess(arguments, process.exitcode, text, "")


def _become(arguments: list[str], folder: str, environment: dict[str, str], said: str) -> None:
    """Be `python -m snakemake` in this process, which was forked for it."""
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    output = os.open(said, os.O_WRONLY | os.O_APPEND)
    os.dup2(output, 1)
    os.dup2(output, 2)
    named = environment.get("PYTHONPATH", "").split(os.pathsep)
    library = [path for path in sys.path if path.startswith((sys.prefix, sys.base_prefix))]
    sys.path[:] = [folder, *filter(None, named), *library]
    sys.argv = [str(Path(sys.prefix) / "bin" / "snakemake"), *arguments]
    from snakemake.cli import main  # type: ignore[import-untyped]

    try:
        main(arguments)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        atexit._run_exitfuncs()
