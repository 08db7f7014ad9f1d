"""Paired comparisons of systems over the same queries: tests, intervals, effects, corrections.

Usage: `rows = compare(scores, [Pair("bm25", "clear")], tests)`, then `adjust(rows, "holm", 0.05)`.
Pure functions over `ScoreMatrix`; docs/statistics.md explains the method.
"""

from residuum.paired.comparisons import Comparison, Pair, ScoreMatrix, adjust, compare, same_queries

__all__ = ["Comparison", "Pair", "ScoreMatrix", "adjust", "compare", "same_queries"]
