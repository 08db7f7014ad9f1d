"""residuum: one graph from public test collections to significance-tested tables of five papers."""

__version__ = "1.0.0"
