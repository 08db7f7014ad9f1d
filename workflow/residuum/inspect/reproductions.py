"""Read the log of reproductions: who got which numbers and verdicts, and what changed since.

Usage: `agreement(row, read(Path("reproductions"), "mini"))` compares a row of a ledger with them,
and `log(folder)` shows all as Markdown. The module `recording` adds one.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import BaseModel, Field, ValidationError

from residuum.artefacts import files, yamls
from residuum.cli.command import describe
from residuum.cli.errors import ResiduumError
from residuum.config.schema.base import Id
from residuum.inspect.provenance import Sha256
from residuum.inspect.publishing import Published
from residuum.pages import grids, verdicts
from residuum.pages.layout import DASH, grid, plain

FACTS, NUMBERS = "reproduction.yaml", "numbers.tsv"
PREFIXES = {"python": "Python "}  # of facts that do not name themselves
SHOWN = 100  # rows of a scale in the log, of those that changed
COMMIT = 7  # shown digits
LONGEST = 60  # characters of a publisher in a folder's name
HEADER = ["day", "by", "residuum", "machine", "verdicts", "bundle"]
AGAIN = "Delete its folder and make it again from its bundle: residuum record BUNDLE"


class Facts(BaseModel):
    """Where a reproduction was made, of what, and its counts of verdicts.

    The rows of the ledger lie beside it; `numbers` is the hash of their file.
    """

    format: Literal[1] = 1
    scale: Id  # names a folder
    published: Published
    bundle: Sha256
    residuum: Annotated[str, Field(pattern=r"^[\w.+-]*$")]  # version that wrote the bundle
    commits: list[str]  # of the code that made the results
    machine: dict[str, list[str]]
    packages: dict[str, list[str]]
    verdicts: dict[str, dict[str, int]]  # of a paper, what it prints again of the same runs once
    numbers: Sha256


@dataclass(frozen=True)
class Number:
    """A row of the ledger as the log keeps it, whatever other columns the ledger has."""

    paper: str
    table: str
    row: str
    column: str
    kind: str
    claim: str
    reported: float | None
    measured: float | None
    p_adjusted: float | None
    verdict: str


Key = tuple[str, ...]  # paper, table, row, column, kind and claim of a row of the ledger


class Reproduction(NamedTuple):
    """A reproduction of the log: its folder's name, its facts, and its rows by key."""

    name: str
    facts: Facts
    rows: dict[Key, Number]

    @property
    def version(self) -> str:
        """Return version and commits, as `1.0.0 (029b6e2)`."""
        commits = ", ".join(commit[:COMMIT] for commit in self.facts.commits)
        return f"{self.facts.residuum} ({commits or 'no commit'})"

    @property
    def when(self) -> str:
        """Return day and version, as `2026-11-28, 1.0.0`."""
        return f"{self.facts.published.day}, {self.facts.residuum}"


def key_of(row: Number | verdicts.LedgerRow) -> Key:
    """Return what identifies a row of the ledger in every reproduction."""
    return (row.paper, row.table, row.row, row.column, row.kind, row.claim)


def text_of(row: Number | verdicts.LedgerRow) -> str:
    """Return a row's number and verdict as pages show them; equal texts count as the same."""
    form = verdicts.number_form(row.kind)
    return row.verdict if row.measured is None else f"{row.measured:{form}} {row.verdict}"


def name_of(facts: Facts) -> str:
    """Return a reproduction's folder below the log: scale, day, publisher and bundle."""
    letters = unicodedata.normalize("NFKD", facts.published.by).encode("ascii", "ignore").decode()
    by = re.sub(r"[^a-z0-9]+", "-", letters.lower())[:LONGEST].strip("-") or "unnamed"
    return f"{facts.scale}/{facts.published.day}-{by}-{facts.bundle[:8]}"


def read(folder: Path, scale: str = "*") -> list[Reproduction]:
    """Read a log's reproductions, of a scale or of all, by scale and day.

    A faulty one is a ResiduumError. A folder that is missing has none.
    """
    paths = [path.parent for path in folder.glob(f"{scale}/*/{FACTS}")]
    named = [path.relative_to(folder) for path in paths]
    whole = sorted(name for name in named if not any(part[0] == "." for part in name.parts))
    every = [_read(folder, name) for name in whole]
    return sorted(every, key=lambda one: (one.facts.scale, one.facts.published.day, one.name))


def _read(folder: Path, name: Path) -> Reproduction:
    where, numbers = folder / name / FACTS, folder / name / NUMBERS
    try:
        facts = Facts.model_validate(yamls.read(where))
    except ValidationError as error:
        raise ResiduumError(f"{describe(str(where), error)}. {AGAIN}") from None
    except ValueError as error:
        raise ResiduumError(f"{error}. {AGAIN}") from None
    if name.as_posix() != name_of(facts):
        raise ResiduumError(f"{where}: belongs to {folder / name_of(facts)}. {AGAIN}")
    if not numbers.is_file() or files.sha256(numbers) != facts.numbers:
        raise ResiduumError(f"{numbers}: not the file that {where} records. {AGAIN}")
    try:
        rows = {key_of(row): row for row in grids.rows(numbers, Number)}
    except ResiduumError:
        raise ResiduumError(f"{numbers}: no table of rows of a ledger. {AGAIN}") from None
    if any(None in key for key in rows):
        raise ResiduumError(f"{numbers}: a row without a name. {AGAIN}")
    return Reproduction(name.as_posix(), facts, rows)


class Change(NamedTuple):
    """A row of the ledger that changed: each reproduction that shows another text than before."""

    row: Number
    values: list[tuple[Reproduction, str]]


def changes(reproductions: Sequence[Reproduction]) -> Iterator[Change]:
    """Yield the rows of one scale whose shown number or verdict changed in the course of days."""
    for key in dict.fromkeys(key for one in reproductions for key in one.rows):
        having = [(one, text_of(one.rows[key])) for one in reproductions if key in one.rows]
        steps = [after for before, after in pairwise(having) if before[1] != after[1]]
        if steps:
            yield Change(having[0][0].rows[key], [having[0], *steps])


def agreement(row: verdicts.LedgerRow, reproductions: Iterable[Reproduction]) -> str:
    """Return how many reproductions of a row's scale show the same, and what the others show.

    Rows without a verdict count as neither.
    """
    rows = [one.rows[key_of(row)] for one in reproductions if key_of(row) in one.rows]
    texts = Counter(text_of(other) for other in rows if other.verdict not in verdicts.ABSENT)
    every, same = texts.total(), texts.pop(text_of(row), 0)
    others = [f"{text} ({n})" if n > 1 else text for text, n in texts.items()]
    if row.verdict not in verdicts.ABSENT and every:
        others.insert(0, f"same in {same} of {every}")
    return "; ".join(others)


def by_scale(reproductions: Iterable[Reproduction]) -> dict[str, list[Reproduction]]:
    """Return reproductions by their scale, in their order."""
    made: dict[str, list[Reproduction]] = {}
    for one in reproductions:
        made.setdefault(one.facts.scale, []).append(one)
    return made


def log(folder: Path) -> str:
    """Return the log of reproductions as Markdown, by scale."""
    parts = [
        f"## {plain(scale)}\n\n{of_scale(some)}" for scale, some in by_scale(read(folder)).items()
    ]
    return "\n\n".join(parts) or "No reproduction is recorded."


def of_scale(reproductions: Sequence[Reproduction]) -> str:
    """Return the reproductions of one scale as Markdown, and the rows that changed."""
    table = grid(HEADER, list(map(_line, reproductions)))
    return f"{table}\n\n{_changed(list(changes(reproductions)), len(reproductions))}"


def _line(one: Reproduction) -> list[str]:
    facts = one.facts
    machine = [
        PREFIXES.get(key, "") + value for key, some in facts.machine.items() for value in some
    ]
    cells = [str(facts.published.day), facts.published.by, one.version]
    return [*map(plain, [*cells, ", ".join(machine), counted(facts)]), facts.bundle[:8]]


def _changed(changed: list[Change], count: int) -> str:
    if count == 1:
        return "One reproduction, so that nothing can have changed."
    if not changed:
        return f"All rows of the ledger are the same in all {count} reproductions."
    lines = [
        [
            plain("/".join((change.row.table, change.row.row, change.row.column))),
            plain(change.row.claim),
            DASH if change.row.reported is None else f"{change.row.reported:.4g}",
            plain("; ".join(f"{text} ({one.when})" for one, text in change.values)),
        ]
        for change in changed[:SHOWN]
    ]
    rest = len(changed) - len(lines)
    more = f"\n\n{rest} more rows changed; see their {NUMBERS}." if rest else ""
    return grid(["row", "claim", "reported", "measured and verdict"], lines) + more


def counted(facts: Facts) -> str:
    """Return the counts of each paper's verdicts, without what was not run."""
    made = []
    for paper, counts in facts.verdicts.items():
        of = {verdict: n for verdict, n in counts.items() if verdict not in verdicts.ABSENT}
        if of:
            made.append(f"{paper}: {', '.join(f'{verdict} {n}' for verdict, n in of.items())}")
    return "; ".join(made)
