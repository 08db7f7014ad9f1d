"""Paired comparisons of systems over the same queries: tests, intervals, effects, corrections.

Usage: `rows = compare(cells, [("bm25", "clear")], tests, seed=1)`, then `adjust(rows, "holm")`.
Pure functions over `residuum.core.cells.Cell`; the method is told in docs/statistics.md.
Must not know files, tables or papers.
"""

from residuum.paired.comparisons import Wanted, compare, compare_all
from residuum.paired.corrections import adjust

__all__ = ["Wanted", "adjust", "compare", "compare_all"]
