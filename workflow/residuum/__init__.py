"""residuum: one graph from public test collections to significance-tested tables of five papers."""

from residuum.cli import interrupts

interrupts.quiet()  # first, because loading packages takes seconds

__version__ = "1.0.0"
