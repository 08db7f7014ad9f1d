"""Corrections for several comparisons at once, within families.

Usage: `rows = adjust(rows, "holm", alpha=0.05)` corrects p_adjusted and significant. Sources:
Bonferroni; Holm (1979). Must not know what a family stands for.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from residuum.paired.comparisons import Comparison


def adjust(rows: Sequence[Comparison], correction: str, alpha: float) -> list[Comparison]:
    """Return the rows in their order, p corrected together where rows share a family."""
    adjusted: dict[int, float] = {}
    for family in dict.fromkeys(row.family for row in rows):
        members = [number for number, row in enumerate(rows) if row.family == family]
        adjusted |= zip(members, CORRECTIONS[correction]([rows[i].p for i in members]), strict=True)
    return [
        replace(row, p_adjusted=adjusted[number], significant=adjusted[number] < alpha)
        for number, row in enumerate(rows)
    ]


def bonferroni(p: list[float]) -> list[float]:
    """Multiply by the number of comparisons, at most 1."""
    return [min(1.0, value * len(p)) for value in p]


def holm(p: list[float]) -> list[float]:
    """Holm's step-down: the i-th smallest of m times (m - i + 1), never decreasing."""
    adjusted, running = [0.0] * len(p), 0.0
    for position, i in enumerate(sorted(range(len(p)), key=lambda i: p[i])):
        running = max(running, min(1.0, p[i] * (len(p) - position)))
        adjusted[i] = running
    return adjusted


CORRECTIONS: dict[str, Callable[[list[float]], list[float]]] = {
    "none": list,
    "bonferroni": bonferroni,
    "holm": holm,
}
