"""Copies of the project that a test may run and edit."""

import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from conftest import ROOT

PARTS = ["Snakefile", "rules", "workflow", "config", "envs", "profiles"]


def copy_project(folder: Path) -> Path:
    """Copy what Snakemake needs of the project into a folder and return it."""
    for part in PARTS:
        source = ROOT / part
        if source.is_dir():
            ignore = shutil.ignore_patterns("__pycache__")
            shutil.copytree(source, folder / part, ignore=ignore)
        else:
            shutil.copy(source, folder / part)
    return folder


def command(*arguments: str, cores: int = 2, scale: str = "smoke", config: str = "") -> list[str]:
    """Return the command that runs a scale; `arguments` are targets and options."""
    start = [sys.executable, "-m", "snakemake", "--cores", str(cores)]
    return [*start, "--config", f"scale={scale}", *config.split(), "--", *arguments]


def snakemake(
    project: Path,
    *arguments: str,
    cores: int = 2,
    env: Mapping[str, str] | None = None,
    scale: str = "smoke",
    config: str = "",
) -> str:
    """Run a scale and return what was said; anything but success fails the test."""
    done = subprocess.run(
        command(*arguments, cores=cores, scale=scale, config=config),
        cwd=project,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=env,
    )
    assert done.returncode == 0, done.stdout[-4000:]
    return done.stdout
