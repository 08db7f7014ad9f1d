"""Read the log of reproductions: who got which numbers and verdicts, and what changed since.

Usage: `entries(Path("reproductions"))`; `beside(row, found)` compares a ledger's row with them, and
`log(folder)` shows all entries as Markdown. The module `recording` adds entries.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, ValidationError

from residuum.artefacts import files, yamls
from residuum.cli.command import describe
from residuum.cli.errors import ResiduumError
from residuum.config.schema.base import Id
from residuum.inspect.provenance import Sha256
from residuum.inspect.publishing import Published
from residuum.pages import grids, verdicts
from residuum.pages.layout import DASH, grid, plain

ENTRY, NUMBERS = "entry.yaml", "numbers.tsv"
PREFIXES = {"python": "Python "}  # of facts that do not name themselves
SHOWN = 100  # rows of a scale in the log, of those that changed
COMMIT = 7  # shown digits
AGAIN = "Delete the entry's folder and make it again from its bundle: residuum record BUNDLE"


class Entry(BaseModel):
    """A reproduction's head. The numbers lie beside it; `numbers` is the hash of their file."""

    scale: Id  # names a folder
    published: Published
    bundle: Sha256
    residuum: str
    commits: list[str]
    machine: dict[str, list[str]]
    packages: dict[str, list[str]]
    verdicts: dict[str, dict[str, int]]  # of a paper, what it prints again of the same runs once
    numbers: Sha256


@dataclass(frozen=True)
class Number:
    """A row of the ledger as an entry keeps it, which later versions can read."""

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
    """An entry with its name below the folder, and its rows by key."""

    name: str
    entry: Entry
    rows: dict[Key, Number]

    @property
    def version(self) -> str:
        """Return version and commits, as `1.0.0 (029b6e2)`."""
        commits = ", ".join(commit[:COMMIT] for commit in self.entry.commits)
        return f"{self.entry.residuum} ({commits or 'no commit'})"

    @property
    def when(self) -> str:
        """Return day and version, as `2026-11-28, 1.0.0`."""
        return f"{self.entry.published.day}, {self.entry.residuum}"


def key_of(row: Number | verdicts.LedgerRow) -> Key:
    """Return what identifies a row of the ledger in every reproduction."""
    return (row.paper, row.table, row.row, row.column, row.kind, row.claim)


def shown(row: Number | verdicts.LedgerRow) -> str:
    """Return a row's number and verdict as pages show them; equal texts count as the same."""
    form = ".4g" if row.kind == "number" else "+.4g"
    return row.verdict if row.measured is None else f"{row.measured:{form}} {row.verdict}"


def entries(folder: Path) -> list[Reproduction]:
    """Read the entries of a folder by scale and day; a faulty entry is a ResiduumError.

    A folder that is missing has no entries.
    """
    paths = [path.parent for path in folder.glob(f"*/*/{ENTRY}")]
    found = [_read(folder, path) for path in sorted(paths)]
    return sorted(found, key=lambda one: (one.entry.scale, one.entry.published.day, one.name))


def _read(folder: Path, path: Path) -> Reproduction:
    where = path / ENTRY
    try:
        entry = Entry.model_validate(yamls.read(where))
    except ValidationError as error:
        raise ResiduumError(f"{describe(str(where), error)}. {AGAIN}") from None
    except ValueError as error:
        raise ResiduumError(f"{error}. {AGAIN}") from None
    if not (path / NUMBERS).is_file() or files.sha256(path / NUMBERS) != entry.numbers:
        raise ResiduumError(f"{path / NUMBERS}: not the file that {where} records. {AGAIN}")
    rows = {key_of(row): row for row in grids.rows(path / NUMBERS, Number)}
    return Reproduction(path.relative_to(folder).as_posix(), entry, rows)


class Drift(NamedTuple):
    """A row of the ledger that was not the same in all entries: (entry, text) of each change."""

    row: Number
    values: list[tuple[Reproduction, str]]


def drifts(found: Sequence[Reproduction]) -> Iterator[Drift]:
    """Yield the rows of one scale whose shown number or verdict changed from entry to entry."""
    for key in dict.fromkeys(key for one in found for key in one.rows):
        having = [(one, shown(one.rows[key])) for one in found if key in one.rows]
        changes = having[:1] + [
            after for before, after in pairwise(having) if before[1] != after[1]
        ]
        if len(changes) > 1:
            yield Drift(changes[0][0].rows[key], changes)


def beside(row: verdicts.LedgerRow, found: Iterable[Reproduction]) -> str:
    """Return how many entries of a row's scale show the same for it, and what the others show."""
    key = key_of(row)
    texts = Counter(shown(one.rows[key]) for one in found if key in one.rows)
    every, same = texts.total(), texts.pop(shown(row), 0)
    others = [f"{text} ({n})" if n > 1 else text for text, n in texts.items()]
    return "; ".join([f"same in {same} of {every}", *others]) if every else ""


def by_scale(found: Iterable[Reproduction]) -> dict[str, list[Reproduction]]:
    """Return entries by their scale, in their order."""
    made: dict[str, list[Reproduction]] = {}
    for one in found:
        made.setdefault(one.entry.scale, []).append(one)
    return made


def log(folder: Path) -> str:
    """Return the log of reproductions as Markdown, by scale."""
    parts = [
        f"## {plain(scale)}\n\n{of_scale(some)}"
        for scale, some in by_scale(entries(folder)).items()
    ]
    return "\n\n".join(parts) or f"{folder}: no reproduction is recorded."


def of_scale(found: Sequence[Reproduction]) -> str:
    """Return the entries of one scale as Markdown, and what changed from entry to entry."""
    return f"{grid(HEADER, list(map(_line, found)))}\n\n{_changed(list(drifts(found)), len(found))}"


HEADER = ["day", "by", "residuum", "machine", "verdicts", "bundle"]


def _line(one: Reproduction) -> list[str]:
    entry, machine = one.entry, one.entry.machine
    cells = [str(entry.published.day), entry.published.by, one.version]
    facts = [f"{PREFIXES.get(key, '')}{value}" for key, some in machine.items() for value in some]
    cells += [", ".join(facts), counted(entry)]
    return [*map(plain, cells), entry.bundle[:8]]


def _changed(changed: list[Drift], count: int) -> str:
    if count == 1:
        return "One entry, so that nothing can have changed."
    if not changed:
        return f"All rows of the ledger are the same in all {count} entries."
    lines = [
        [
            plain("/".join((drift.row.table, drift.row.row, drift.row.column))),
            plain(drift.row.claim),
            DASH if drift.row.reported is None else f"{drift.row.reported:.4g}",
            plain("; ".join(f"{text} ({one.when})" for one, text in drift.values)),
        ]
        for drift in changed[:SHOWN]
    ]
    rest = len(changed) - len(lines)
    more = f"\n\n{rest} more rows changed; see {NUMBERS} of the entries." if rest else ""
    return grid(["row", "claim", "reported", "measured and verdict"], lines) + more


def counted(entry: Entry) -> str:
    """Return the counts of each paper's verdicts, without what was not run."""
    made = []
    for paper, counts in entry.verdicts.items():
        of = {verdict: n for verdict, n in counts.items() if verdict not in verdicts.ABSENT}
        if of:
            made.append(f"{paper}: {', '.join(f'{verdict} {n}' for verdict, n in of.items())}")
    return "; ".join(made)
