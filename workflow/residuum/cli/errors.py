"""The exception for faults that a user can fix, and the wording of hints.

`residuum.cli.command.main` shows it without a traceback.
"""

import difflib
import errno
import os
import re
from collections.abc import Iterable

MOST_PRINTED = 10_000  # characters shown of a message
MOST_NAMES, ALIKE = 20, 8  # known names shown, and how many of more than these
UNBROKEN, KEPT = re.compile(r"\S{600,}"), 300  # words too long for paths; characters kept
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
ROOM = "Make room, then run the same command again: what is finished stays, training resumes."
# Messages for a full disk in Rust (safetensors, Polars), Java, torch's streams and NumPy, as tried.
UNWRITTEN = re.compile(
    rf"os error ({'|'.join(map(str, FULL))})\b|No space left on device|Disk quota exceeded|"
    r"File too large|iostream error|inline_container|\d+ requested and \d+ written"
)


class ResiduumError(Exception):
    """A fault in the input, the config or the environment; its message is complete."""


class NotRun(ResiduumError):
    """A refused result, with the reason; its value is missing, never 0."""


def printable(text: str) -> str:
    """Return a message without control characters, cut to a readable length."""
    text = UNBROKEN.sub(lambda long: f"{long[0][:KEPT]} ...", text)
    text = text if len(text) <= MOST_PRINTED else f"{text[:MOST_PRINTED]} ..."
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)


def worded(error: Exception) -> str:
    """Return an error's message; system errors become file, cause and remedy."""
    if not isinstance(error, OSError):
        return str(error)
    if isinstance(error, FileNotFoundError) and not error.filename:
        try:
            os.getcwd()
        except FileNotFoundError:
            return "the working directory was deleted. Change to one that exists"
    place = error.filename or ("writing" if full(error) else "")
    text = str(error.strerror or error).rstrip(".")
    return f"{place}: {text}.".removeprefix(": ") + (f" {ROOM}" if full(error) else "")


def full(error: BaseException | None) -> bool:
    """Say whether an error or its context means a full disk, quota or file size limit.

    Libraries raise their own errors, some with another cause in front. A ResiduumError or
    ValueError is not searched for such words, because it quotes texts of files.
    """
    while error:
        number = getattr(error, "errno", None)
        quoting = isinstance(error, ResiduumError | ValueError)
        if number in FULL or (number is None and not quoting and UNWRITTEN.search(str(error))):
            return True
        error = error.__context__
    return False


def hint(name: str, known: Iterable[str]) -> str:
    """Return ` Did you mean x?` for the closest known name, or ""."""
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f" Did you mean {close[0]}?" if close else ""


def not_bound(scale: str, role: str) -> str:
    """Return why a run is missing: its scale binds nothing to the role."""
    return f"scale {scale} binds nothing to {role}"


def unknown(kind: str, name: str, known: Iterable[str], add: str = "") -> str:
    """Return a message about an unknown name; `add` says where it would be defined.

    Of many known names it has those that are most alike.
    """
    names = sorted(known)
    how = f" To add one: {add}" if add else ""
    shown, others = names, ""
    if len(names) > MOST_NAMES:
        shown = difflib.get_close_matches(name, names, n=ALIKE, cutoff=0.0)
        others = f" and {len(names) - ALIKE} others"
    listed = ", ".join(shown) or "none"
    return f"no {kind} '{name}'; known: {listed}{others}.{hint(name, names)}{how}"
