"""The one exception that means "the user can mend this", and the wording of its hints.

Raised everywhere, shown by `residuum.cli.command.main` without a traceback.
Must not know any stage.
"""

import difflib
from collections.abc import Iterable


class ResiduumError(Exception):
    """A fault in the input, the config or the environment, told in full by its message."""


class NotRun(ResiduumError):
    """What was asked for was refused before, with this reason: no value, never a zero."""


def hint(name: str, known: Iterable[str]) -> str:
    """Return `Did you mean x?` for the closest known name, or an empty string."""
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f" Did you mean {close[0]}?" if close else ""


def not_bound(scale: str, role: str) -> str:
    """Say that a scale leaves a role empty: the reason why what needs the role is not run."""
    return f"scale {scale} casts nothing as {role}"


def unknown(kind: str, name: str, known: Iterable[str], add: str = "") -> str:
    """Word the complaint about a name that nothing defines.

    `add` names the file that would define it.
    """
    names = sorted(known)
    listed = ", ".join(names) if names else "none"
    how = f" To add one: {add}" if add else ""
    return f"no {kind} '{name}'; known: {listed}.{hint(name, names)}{how}"
