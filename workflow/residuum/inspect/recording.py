"""Record reproductions: who got which numbers and verdicts, with which versions and machine.

Usage: `residuum record mini.tar.gz` adds an entry to `reproductions/`, made from a published bundle
alone. `entries(REPRODUCTIONS)` reads all entries, and `log(folder)` compares them as Markdown. The
same bundle gives the same entry, so that a bundle proves its entry (`bundle verify --entry`).
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import groupby, pairwise
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, ValidationError

from residuum.artefacts import files, manifest, yamls
from residuum.cli.command import describe
from residuum.cli.errors import ResiduumError
from residuum.inspect import bundling, checkpoints, provenance, recorded
from residuum.inspect.crating import Published
from residuum.inspect.provenance import Sha256
from residuum.inspect.text import Finding
from residuum.pages import grids, verdicts
from residuum.pages.layout import DASH, grid, plain
from residuum.wiring.paths import Paths

REPRODUCTIONS = Path("reproductions")
ENTRY, NUMBERS = "entry.yaml", "numbers.tsv"
OF_MACHINE = ("python", "platform", "cpu.model", "cpu.instructions")
PACKAGE = "packages."
SHOWN = 100  # rows of a scale in the log, of those that changed
COMMIT = 7  # shown digits


class Entry(BaseModel):
    """A reproduction's head. The numbers lie beside it; `numbers` is the hash of their file."""

    scale: str
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


def key_of(row: Number | verdicts.LedgerRow) -> Key:
    """Return what identifies a row of the ledger in every reproduction."""
    return (row.paper, row.table, row.row, row.column, row.kind, row.claim)


def shown(row: Number | verdicts.LedgerRow) -> str:
    """Return a row's number and verdict as pages show them; equal texts count as the same."""
    form = ".4g" if row.kind == "number" else "+.4g"
    return row.verdict if row.measured is None else f"{row.measured:{form}} {row.verdict}"


def record(archive: Path, folder: Path) -> str:
    """Add the entry of a published bundle to a folder, and return what was done.

    A bundle with a fault, and one that names no publisher, raise ResiduumError.
    """
    with files.temporary("record") as work:
        if faults := [each for each in bundling.checked(archive, work) if not each.good]:
            raise ResiduumError(
                f"{archive}: not recorded. {faults[0].what}: {faults[0].message}. All faults: "
                f"residuum bundle verify {archive}"
            )
        entry, numbers = _of_bundle(archive, work)
    path = folder / _name(entry)
    if path.is_dir():
        return f"{path}: recorded before"
    with files.new_directory(path) as made:
        _write(made, entry, numbers)
    return f"{path}: {len(numbers)} rows of the ledger. {_counted(entry)}"


def verify(archive: Path, path: Path) -> list[Finding]:
    """Check a bundle, and whether it gives an entry byte for byte: findings as of a bundle."""
    with files.temporary("record") as work:
        findings = bundling.checked(archive, work)
        if findings[-1].good:
            made = work / "entry"
            made.mkdir()
            _write(made, *_of_bundle(archive, work))
            faults = [
                bundling.unlike(name, path, made, "in the entry") for name in (ENTRY, NUMBERS)
            ]
            fault = next(filter(None, faults), "")
            message = f"differs: {fault}" if fault else bundling.MADE
            findings.append(Finding(str(path), message, not fault))
    return findings


def _of_bundle(archive: Path, work: Path) -> tuple[Entry, list[Number]]:
    """Return the entry of a bundle that `bundling.checked` left in a folder, and its rows."""
    root = work / bundling.UNPACKED
    index = bundling.index_of(root)
    if index.published is None:
        raise ResiduumError(
            f"{archive}: names no publisher. Write it with: residuum bundle write --output "
            f"{archive.name} --by 'YOUR NAME' --licence CC-BY-4.0"
        )
    results = root / bundling.RESULTS
    graph, rows = provenance.read(results), verdicts.ledger(results / Paths().ledger)
    numbers = [Number(*(getattr(row, field.name) for field in fields(Number))) for row in rows]
    used = {manifest.arithmetic(a.manifest.spec) for a in graph.values() if a.manifest}
    known = {key: sorted(values) for key, values in recorded.environments(graph).items()}
    counts: dict[str, dict[str, int]] = {}
    for paper, some in groupby(sorted(rows, key=_paper), key=_paper):
        counted = Counter(row.verdict for row in some if not row.same_as)
        counts[paper] = dict(sorted(counted.items()))
    grids.write(work / NUMBERS, numbers, Number)
    entry = Entry(
        scale=checkpoints.scale_of(results, graph),
        published=index.published,
        bundle=files.sha256(archive),
        residuum=index.residuum,
        commits=known.get("git_commit", []),
        machine={key: known[key] for key in OF_MACHINE if key in known}
        | {"arithmetic": sorted(filter(None, used))},
        packages={
            key.removeprefix(PACKAGE): values
            for key, values in known.items()
            if key.startswith(PACKAGE)
        },
        verdicts=counts,
        numbers=files.sha256(work / NUMBERS),
    )
    return entry, numbers


def _paper(row: verdicts.LedgerRow) -> str:
    return row.paper


def _write(folder: Path, entry: Entry, numbers: Sequence[Number]) -> None:
    files.write_text(folder / ENTRY, yamls.dump(entry.model_dump(mode="json")))
    grids.write(folder / NUMBERS, numbers, Number)


def _name(entry: Entry) -> str:
    """Return an entry's folder below the log: scale, day, publisher and bundle."""
    plain_name = (
        unicodedata.normalize("NFKD", entry.published.by).encode("ascii", "ignore").decode()
    )
    by = re.sub(r"[^a-z0-9]+", "-", plain_name.lower()).strip("-") or "unnamed"
    return f"{entry.scale}/{entry.published.day}-{by}-{entry.bundle[:8]}"


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
    if not (path / NUMBERS).is_file() or files.sha256(path / NUMBERS) != entry.numbers:
        raise ResiduumError(f"{path / NUMBERS}: not the file that {where} records. {AGAIN}")
    rows = {key_of(row): row for row in grids.rows(path / NUMBERS, Number)}
    return Reproduction(path.relative_to(folder).as_posix(), entry, rows)


AGAIN = "Delete the entry's folder and make it again from its bundle: residuum record BUNDLE"


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
    """Return what the entries of a row's scale have for it: how many the same, and the others."""
    key = key_of(row)
    counted = Counter(shown(one.rows[key]) for one in found if key in one.rows)
    same, total = counted.pop(shown(row), 0), counted.total()
    if not same + total:
        return ""
    others = "; ".join(f"{text}{f' ({n})' * (n > 1)}" for text, n in counted.items())
    return f"{same} of {same + total} the same" + f"; {others}" * bool(others)


def log(folder: Path) -> str:
    """Return the log of reproductions as Markdown: entries, then what changed between them."""
    found = entries(folder)
    if not found:
        return "No reproduction is recorded."
    parts = []
    for scale, some in groupby(found, key=lambda one: one.entry.scale):
        of_scale = list(some)
        parts += [f"## {plain(scale)}", grid(HEADER, list(map(_line, of_scale)))]
        parts.append(_changed(list(drifts(of_scale)), len(of_scale)))
    return "\n\n".join(parts)


HEADER = ["day", "by", "residuum", "machine", "verdicts", "bundle"]


def _line(one: Reproduction) -> list[str]:
    entry, machine = one.entry, one.entry.machine
    cells = [str(entry.published.day), entry.published.by, one.version]
    cells += [", ".join(value for values in machine.values() for value in values), _counted(entry)]
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
            plain("; ".join(f"{text} in {one.version}" for one, text in drift.values)),
        ]
        for drift in changed[:SHOWN]
    ]
    rest = len(changed) - len(lines)
    more = f"\n\n{rest} more rows changed; see {NUMBERS} of the entries." if rest else ""
    return grid(["row", "claim", "reported", "measured and verdict"], lines) + more


def _counted(entry: Entry) -> str:
    """Return the counts of each paper's verdicts, without what was not run."""
    made = []
    for paper, counts in entry.verdicts.items():
        of = {verdict: n for verdict, n in counts.items() if verdict not in verdicts.ABSENT}
        if of:
            made.append(f"{paper}: {', '.join(f'{n} {verdict}' for verdict, n in of.items())}")
    return "; ".join(made)
