"""The paired tests behind a page's numbers, from the table's tests or the figure's data.

Usage: `tests_of(folder, sheet)`.
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, NamedTuple

import polars as pl

from residuum.artefacts import files, intact
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
    measured = {cell.line.row for cell in sheet.cells if cell.line.measured is not None}
    if not (sheet.job and (first := sheet.job.first(measured))):
        return [_of_table(test) for test in sheet.tests]
    how = f"{first.tests.test} test, correction {first.tests.correction}"
    rows = read(folder, sheet).iter_rows(named=True)
    return [
        _test(row, (row["column"], row["row"], first.id), how)
        for row in rows
        if row.get("p") is not None
    ]


def _of_table(test: Comparison) -> Test:
    how = f"{test.test} test, correction {test.correction}"
    made = _test(asdict(test), (test.column, test.a, test.b), how)
    made = made._replace(family=test.family, wins=test.wins, ties=test.ties, losses=test.losses)
    if test.seed_low is None:
        return made
    ends = rounded(test.seed_low), rounded(test.seed_high)
    return made._replace(low=ends[0], high=ends[1], over_seeds=True)


def _test(values: Mapping[str, Any], place: tuple[str, str, str], how: str) -> Test:
    """Return the test of a place (column, a, b), without an interval over seeds."""
    column, a, b = place
    return Test(
        column=column,
        a=a,
        b=b,
        family="",
        how=how,
        difference=rounded(values["difference"]),
        low=rounded(values["ci_low"]),
        high=rounded(values["ci_high"]),
        over_seeds=False,
        p=rounded(values["p"]),
        p_adjusted=rounded(values["p_adjusted"]),
        significant=values["significant"],
        p_over_seeds=rounded(values["p_over_seeds"]),
        seeds_agreeing=values["seeds_agreeing"],
        effect=rounded(values["effect"]),
    )


def read(folder: Folder, sheet: Sheet) -> pl.DataFrame:
    """Read the data of a page."""
    data = files.read_bytes(intact.checked(folder.results / sheet.path))
    return pl.read_csv(data, separator="\t", infer_schema_length=None)


def rounded(value: float | None) -> float | None:
    """Return a number to six significant digits."""
    return None if value is None else float(f"{value:.6g}")
