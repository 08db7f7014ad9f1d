"""Corrections for several comparisons at once, within families.

Usage: `adjust(rows, "holm")` fills in p_adjusted. Sources: Bonferroni; Holm (1979).
Must not know what a family stands for.
"""

from collections.abc import Callable
from typing import Any


def adjust(rows: list[dict[str, Any]], correction: str) -> None:
    """Fill in p_adjusted, correcting together the comparisons that share a family."""
    families: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        families.setdefault(row["family"], []).append(row)
    for members in families.values():
        adjusted = CORRECTIONS[correction]([row["p"] for row in members])
        for row, p in zip(members, adjusted, strict=True):
            row["p_adjusted"] = p


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
