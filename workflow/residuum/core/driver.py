"""What the Snakefile needs beside the registry: a lock that dies with its process, JSON.

Usage: see Snakefile. Must not know rules or stages.
"""

import fcntl
import json
from pathlib import Path
from typing import Any

from residuum.core.errors import ResiduumError

_held: list[Any] = []


def hold_lock(path: Path) -> None:
    """Let only one Snakemake process work in this folder, for as long as it lives.

    Snakemake's own lock is a file that outlives a killed process and then blocks the same
    command; the kernel drops this one with the process, so that a rerun just resumes.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = open(path, "w")  # noqa: SIM115 - open for as long as the process lives
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise ResiduumError(
            f"another snakemake process works in {path.parent.parent.resolve()}. "
            "Wait until it ends, or stop it."
        ) from None
    _held.append(handle)


def canonical(data: Any) -> str:
    """Write JSON in one form only, so that an equal spec is an equal command."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
