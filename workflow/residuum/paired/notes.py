"""What a page notes of its comparisons: the tests, enumerated ones, p near alpha, seeds.

Usage: `[tests_note(tests), *remarks(rows, alpha, name)]`, rows as `residuum.paired.adjust` returns.
Must not know how p-values are computed, nor how a page is laid out.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from residuum.config.schema.papers import Tests
from residuum.paired.comparisons import Comparison

Name = Callable[[Comparison], str]


def tests_note(
    tests: Tests, column: str = "column", table: str = "table", compared: str = ""
) -> str:
    """Return one sentence on how the comparisons of a page are tested.

    `column` and `table` are what the families of those names are on the page; `compared` names the
    tested pairs, where not all are.
    """
    paper = "all tables of the paper with these tests"
    family = {"column": f"each {column}", "table": f"each {table}", "paper": paper}[tests.family]
    flips = f", {tests.resamples} sign flips, seed {tests.seed}" * (tests.test == "permutation")
    pairs = f"{compared}, " if compared else ""
    return (
        f"Test: {tests.test} (paired, two-sided{flips}), alpha {tests.alpha}, {pairs}"
        f"correction {tests.correction}, family: {family}."
    )


def remarks(rows: Sequence[Comparison], alpha: float, name: Name) -> Iterator[str]:
    """Yield sentences about the comparisons of a page; none where there is nothing to note.

    `name` words which comparison a row is.
    """
    if exact := sum(row.method.startswith("exact,") for row in rows):
        yield (
            f"Exact p in {exact} of {len(rows)} comparisons: so few queries differ that all sign "
            "flips were enumerated."
        )
    errors = [(row, adjusted_error(row)) for row in rows if row.p_error > 0]
    if near := [
        f"{name(row)} (p {row.p_adjusted:.4f} ± {error:.4f})"
        for row, error in errors
        if abs(row.p_adjusted - alpha) <= 2 * error
    ]:
        yield (
            "Within two Monte-Carlo standard errors of alpha, so that other resamples could decide "
            f"otherwise: {'; '.join(near)}."
        )
    if several := [row for row in rows if row.seeds_agreeing and row.significant]:
        yield _seeds(several, alpha)


def adjusted_error(row: Comparison) -> float:
    """Return the Monte-Carlo standard error of p_adjusted: that of p, scaled as p was."""
    return row.p_error * row.p_adjusted / row.p


def _seeds(rows: Sequence[Comparison], alpha: float) -> str:
    holding = sum(row.p_mixed_effects is not None and row.p_mixed_effects < alpha for row in rows)
    counts = sorted(Counter(row.seeds_agreeing for row in rows if row.seeds_agreeing).items())
    alone = ", ".join(f"{shown.replace('/', ' of ')} for {count}" for shown, count in counts)
    return (
        f"Over seeds: of {len(rows)} significant comparisons between rows with seeds, {holding} "
        f"hold if seeds count as random too (p < {alpha}, uncorrected); seeds for which the test "
        f"of that seed alone agrees: {alone}."
    )
