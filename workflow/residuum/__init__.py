"""residuum: one graph from public test collections to significance-tested tables of five papers.

Usage: `import residuum as rs`, then `rs.compare(qrels, runs, "RR@10")`. Functions are loaded when
they are used (residuum.api.functions).
"""

from importlib import import_module as _import_module

from residuum.cli import interrupts

interrupts.quiet()  # first, because loading packages takes seconds

__version__ = "1.0.0"
_MODULE = "residuum.api.functions"  # not imported by name: no stage depends on it
_FUNCTIONS = [
    *("audit", "compare", "complementarity", "explain", "fuse", "time"),
    *("read_fidelity", "read_footprints", "read_ledger"),
]
__all__ = ["__version__", *_FUNCTIONS]


def __getattr__(name: str) -> object:
    """Load a function of the Python API, or say that there is none of that name."""
    if name in _FUNCTIONS:
        return getattr(_import_module(_MODULE), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the names that a notebook completes."""
    return __all__
