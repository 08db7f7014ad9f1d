"""Copies of the project that a test may run and edit."""

import compileall
import importlib.util
import os
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import forking
from conftest import ROOT
from residuum.code.closure import Library

PARTS = ["Snakefile", "rules", "workflow", "config", "envs", "profiles"]


def copy_project(folder: Path) -> Path:
    """Copy what Snakemake needs of the project into a folder and return it."""
    _compile(ROOT / "workflow")
    for part in PARTS:
        source = ROOT / part
        if source.is_dir():
            ignore = shutil.ignore_patterns(".*.part*", "*.pyc.*")  # what others write just now
            shutil.copytree(source, folder / part, ignore=ignore)
        else:
            shutil.copy(source, folder / part)
    return folder


def choose(project: Path, *papers: str) -> None:
    """Choose the papers of a copy: all have more jobs than a test has minutes."""
    config = project / "config" / "config.yaml"
    text = config.read_text()
    fewer = re.sub(r"^papers: \[.*?\]", f"papers: [{', '.join(papers)}]", text, flags=re.M)
    assert fewer != text
    config.write_text(fewer)


def _compile(folder: Path) -> None:
    """Fill __pycache__ once, from which every copy starts: its jobs would else compile anew.

    Where PYTHONDONTWRITEBYTECODE is set, each of a copy's hundreds of jobs would. Of tests that run
    side by side every second begins at the other end, so that they meet in the middle.
    """
    second = os.environ.get("PYTEST_XDIST_WORKER", "gw0")[-1] in "13579"
    library = Library(folder / "residuum")
    for path in sorted(folder.rglob("*.py"), reverse=second):
        compileall.compile_file(path, quiet=2)
        parts = path.relative_to(folder).with_suffix("").parts
        library.module(".".join(part for part in parts if part != "__init__"))


def arguments(
    *targets: str,
    cores: int = 2,
    scale: str = "smoke",
    config: str = "",
    options: Sequence[str] = (),
) -> list[str]:
    """Return the words after `snakemake` that run a scale."""
    values = [f"scale={scale}", *config.split()]
    return ["--cores", str(cores), *options, "--config", *values, "--", *targets]


def invoke(
    project: Path, *targets: str, env: Mapping[str, str] | None = None, **how: Any
) -> tuple[int, str]:
    """Run a scale, as in an activated environment; return Snakemake's status and its output."""
    environment = dict(os.environ if env is None else env)
    path = os.path.dirname(sys.executable), environment.get("PATH", os.defpath)
    environment["PATH"] = os.pathsep.join(path)
    words = arguments(*targets, **how)
    done = forking.run("snakemake", words, environment, project, merged=True)
    return done.returncode, done.stdout


def snakemake(project: Path, *targets: str, **how: Any) -> str:
    """Run a scale and return the output; anything but success fails the test."""
    status, output = invoke(project, *targets, **how)
    assert status == 0, output[-4000:]
    return output


def of_site(name: str) -> Any:
    """Return a module of docs/site, which is no package."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / "site" / f"{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
