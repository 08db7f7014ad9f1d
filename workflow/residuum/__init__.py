"""residuum: one graph from public test collections to significance-tested tables of five papers."""

from residuum.cli import interrupts  # noqa: F401 - first, so that Ctrl-C is quiet while packages load

__version__ = "1.0.0"
