"""The paired tests behind a page's numbers, from the table's tests or the figure's data.

Usage: `tests_of(folder, sheet)`.
"""

from typing import NamedTuple

import polars as pl

from residuum.artefacts import files, intact
from residuum.pages.jobs import First
from residuum.paired import Comparison
from residuum.site.folder import Folder, Sheet


class Test(NamedTuple):
    """A paired test of a and b in a column; `low` and `high` bound the 95% interval of a - b.

    `over_seeds` says whether the interval also covers the variance over seeds.
    """

    column: str
    a: str
    b: str
    family: str
    how: str
    difference: float | None
    low: float | None
    high: float | None
    over_seeds: bool
    p: float | None
    p_adjusted: float | None
    significant: bool
    p_over_seeds: float | None
    seeds_agreeing: str | None
    effect: float | None
    wins: int | None = None
    ties: int | None = None
    losses: int | None = None


def tests_of(folder: Folder, sheet: Sheet) -> list[Test]:
    """Return the tests of a page, with numbers to six digits."""
    if sheet.job and (first := sheet.job.first()):
        return _against(folder, sheet, first)
    return [_of_table(test) for test in sheet.tests]


def _of_table(test: Comparison) -> Test:
    seeded = test.seed_low is not None
    low, high = (test.seed_low, test.seed_high) if seeded else (test.ci_low, test.ci_high)
    return Test(
        column=test.column,
        a=test.a,
        b=test.b,
        family=test.family,
        how=f"{test.test} test, correction {test.correction}",
        difference=rounded(test.difference),
        low=rounded(low),
        high=rounded(high),
        over_seeds=seeded,
        p=rounded(test.p),
        p_adjusted=rounded(test.p_adjusted),
        significant=test.significant,
        p_over_seeds=rounded(test.p_over_seeds),
        seeds_agreeing=test.seeds_agreeing,
        effect=rounded(test.effect),
        wins=test.wins,
        ties=test.ties,
        losses=test.losses,
    )


def _against(folder: Folder, sheet: Sheet, first: First) -> list[Test]:
    """Return the tests in a figure's data, each against the first series."""
    made = list[Test]()
    for row in read(folder, sheet).iter_rows(named=True):
        if row.get("p") is None:
            continue
        made.append(
            Test(
                column=row["column"],
                a=row["row"],
                b=first.id,
                family="",
                how=f"{first.tests.test} test, correction {first.tests.correction}",
                difference=rounded(row["difference"]),
                low=rounded(row["ci_low"]),
                high=rounded(row["ci_high"]),
                over_seeds=False,
                p=rounded(row["p"]),
                p_adjusted=rounded(row["p_adjusted"]),
                significant=row["significant"],
                p_over_seeds=rounded(row["p_over_seeds"]),
                seeds_agreeing=row["seeds_agreeing"],
                effect=rounded(row["effect"]),
            )
        )
    return made


def read(folder: Folder, sheet: Sheet) -> pl.DataFrame:
    """Read the data of a page."""
    data = files.read_bytes(intact.checked(folder.results / sheet.path))
    return pl.read_csv(data, separator="\t", infer_schema_length=None)


def rounded(value: float | None) -> float | None:
    """Return a number to six significant digits."""
    return None if value is None else float(f"{value:.6g}")
