"""Commands of stages, called within the process of a test."""

import importlib
import subprocess
import sys

from conftest import ROOT


def call(stage: str, *words: object) -> object:
    """Run the command line of a stage, without what `command.main` makes of an error."""
    application = importlib.import_module(f"residuum.{stage}").app
    return application([str(word) for word in words], standalone_mode=False)


def printed_by(code: str) -> str:
    """Return what Python code prints in a process of its own, which finds the package alone."""
    command, env = [sys.executable, "-c", code], {"PYTHONPATH": str(ROOT / "workflow")}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    return done.stdout
