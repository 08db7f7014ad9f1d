"""The code that decides a job's result, as a parameter of its rule.

Usage: `code=code("residuum.fusion", "fuse", WIRING.runs.spec)`. Must not know rules.
"""

from collections.abc import Callable

from residuum.code import closure
from residuum.wiring.part import Wildcards

Params = Callable[[Wildcards], str]


def code(module: str, verb: str, spec: Params | None = None) -> Params:
    """Return a params function: the hash of what a verb reaches for the kinds of a job's spec."""

    def sha256(wildcards: Wildcards) -> str:
        return closure.sha256(module, verb, closure.kinds_of(spec(wildcards)) if spec else None)

    return sha256
