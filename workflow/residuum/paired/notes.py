"""What a page says of its comparisons: enumerated ones, p near its threshold, how seeds agree.

Usage: `remarks(rows, alpha, name)`, rows as `residuum.paired.compare_all` makes them, adjusted.
Must not know how p-values are computed, nor how a page is laid out.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

Row = dict[str, Any]
Name = Callable[[Row], str]


def remarks(rows: Iterable[Row], alpha: float, name: Name) -> list[str]:
    """Return sentences about the tested rows of a page; none where there is nothing to say.

    `name` says which comparison a row is. Rows hold p, p_error, p_adjusted, significant, method,
    p_seeds and seeds_holding.
    """
    tested = [row for row in rows if row["p"] is not None]
    return [*_exact(tested), *_near(tested, alpha, name), *_seeds(tested, alpha)]


def _exact(rows: Sequence[Row]) -> list[str]:
    exact = sum(row["method"].startswith("exact,") for row in rows)
    if not exact:
        return []
    return [
        f"Exact p in {exact} of {len(rows)} comparisons: so few queries differ that all sign flips "
        "were enumerated."
    ]


def _near(rows: Sequence[Row], alpha: float, name: Name) -> list[str]:
    near = [
        f"{name(row)} (p {row['p_adjusted']:.4f} ± {error:.4f})"
        for row in rows
        if row["p_error"] > 0
        if abs(row["p_adjusted"] - alpha) <= 2 * (error := adjusted_error(row))
    ]
    if not near:
        return []
    return [
        f"Within two Monte-Carlo standard errors of alpha, so that other resamples could decide "
        f"otherwise: {'; '.join(near)}."
    ]


def adjusted_error(row: Row) -> float:
    """Return the Monte-Carlo standard error of p_adjusted: that of p, scaled as p was."""
    return float(row["p_error"] * row["p_adjusted"] / row["p"])


def _seeds(rows: Sequence[Row], alpha: float) -> list[str]:
    several = [row for row in rows if row["seeds_holding"] and _true(row["significant"])]
    if not several:
        return []
    holding = sum(row["p_seeds"] is not None and row["p_seeds"] < alpha for row in several)
    counts = Counter(row["seeds_holding"] for row in several)
    alone = ", ".join(
        f"{shown.replace('/', ' of ')} for {count}" for shown, count in sorted(counts.items())
    )
    return [
        f"Over seeds: of {len(several)} significant comparisons between rows with seeds, {holding} "
        f"hold if seeds count as random too (p < {alpha}, uncorrected); seeds in which the test "
        f"alone says the same: {alone}."
    ]


def _true(value: Any) -> bool:
    return str(value).lower() == "true"
