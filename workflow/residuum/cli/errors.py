"""The one exception that means "the user can fix this", and the wording of its hints.

Raised everywhere, shown by `residuum.cli.command.main` without a traceback.
"""

import difflib
from collections.abc import Iterable


class ResiduumError(Exception):
    """A fault in the input, the config or the environment; its message says all of it."""


class NotRun(ResiduumError):
    """What is requested was refused before, with this reason: no value, never a zero."""


def hint(name: str, known: Iterable[str]) -> str:
    """Return `Did you mean x?` for the closest known name, or an empty string."""
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f" Did you mean {close[0]}?" if close else ""


def not_bound(scale: str, role: str) -> str:
    """Say that a scale leaves a role unbound: the reason why what needs the role is not run."""
    return f"scale {scale} binds nothing to {role}"


def unknown(kind: str, name: str, known: Iterable[str], add: str = "") -> str:
    """Word the complaint about a name that nothing defines; `add` names what would define it."""
    names = sorted(known)
    how = f" To add one: {add}" if add else ""
    return f"no {kind} '{name}'; known: {', '.join(names) or 'none'}.{hint(name, names)}{how}"
