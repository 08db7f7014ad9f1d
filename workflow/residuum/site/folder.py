"""Read a finished results folder for the report: ledger, ordered pages, tests, provenance.

Usage: `folder = read(Path("results/mini"))`.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from pydantic import BaseModel, ValidationError

from residuum.artefacts import files, intact, manifest
from residuum.cli.command import describe
from residuum.cli.errors import ResiduumError
from residuum.config.schema.base import Id
from residuum.inspect import addressing, explaining, provenance
from residuum.inspect.addressing import PATHS, Cell
from residuum.inspect.footprints import Sizes
from residuum.inspect.text import remade
from residuum.pages import notes, verdicts
from residuum.pages.entries import parts_of, prefix_of
from residuum.pages.jobs import Judged
from residuum.pages.kinds import GRIDS
from residuum.pages.layout import Places
from residuum.pages.verdicts import LedgerRow
from residuum.paired import Comparison
from residuum.site.text import brief

MADE_ELSEWHERE = (
    "It was edited, or made by another version of residuum; make it again there: "
    "snakemake --cores all"
)


class Rests(BaseModel):
    """The page that a claim is about."""

    page: str


class Claim(BaseModel):
    """The keys of a claim that its page shows."""

    id: str
    says: str
    holds: Rests | None = None


class Entry(BaseModel):
    """The keys of an entry that its page shows."""

    kind: str
    title: str
    printed_in: str
    claims: list[Claim] = []


class Sheet(NamedTuple):
    """A page of a paper: its path, its entry in config/papers, and its numbers (if any)."""

    name: str
    path: str  # the TSV's path below the results
    entry: Entry
    markdown: str
    job: Judged | None  # None if its lines are no numbers
    cells: list[Cell]
    tests: list[Comparison]

    @property
    def paper(self) -> str:
        """Return the paper that prints the page."""
        return parts_of(self.name)[0]

    @property
    def title(self) -> str:
        """Return the page's title and its place in the paper."""
        return f"{prefix_of(self.entry.printed_in)}{self.entry.title}"

    def grid(self) -> Places:
        """Return the `<row>/<column>` or claim of each cell of the page's grid, or None."""
        if self.entry.claims:
            return [[None, None, None, claim.id, None] for claim in self.entry.claims]
        if self.job is None or self.entry.kind not in GRIDS:
            return []
        known = {cell.place for cell in self.cells}
        made = GRIDS[self.entry.kind](self.job, [cell.line for cell in self.cells])
        return [[place if place in known else None for place in line] for line in made]


class PageSpec(BaseModel):
    """The fields of a page's manifest that the report reads; the scale's id names a folder."""

    scale: Id
    reason: str
    entry: Entry


class Folder(NamedTuple):
    """A results folder: its scale, whether its numbers compare, and its artefacts."""

    results: Path
    scale: str
    reason: str
    ledger: list[LedgerRow]
    sheets: list[Sheet]
    graph: provenance.Graph
    sizes: Sizes

    @property
    def named(self) -> str:
        """Return the folder's path relative to the working folder, or its last parts elsewhere."""
        here, path = Path.cwd(), self.results.resolve()
        return brief(str(path.relative_to(here) if path.is_relative_to(here) else path))

    @property
    def papers(self) -> list[str]:
        """Return the papers, in the order of the ledger."""
        return list(dict.fromkeys(sheet.paper for sheet in self.sheets))

    def pages(self, paper: str) -> list[Sheet]:
        """Return the pages of a paper."""
        return [sheet for sheet in self.sheets if sheet.paper == paper]

    def href(self, page: str, place: str) -> str:
        """Return the link to a number or claim in the report, or "" if its page was not made."""
        there = any(sheet.name == page for sheet in self.sheets)
        return f"{self.scale}/{page}.html#{quote(place)}" if there else ""


def read(results: Path) -> Folder:
    """Read a folder that holds a ledger, with the pages of the papers in the ledger."""
    if not (results / PATHS.ledger).is_file():
        raise ResiduumError(
            f"{results / PATHS.ledger}: no such file, so there is nothing to report; name a "
            "results folder (--results results/<scale>) or make one: snakemake --cores all"
        )
    graph = provenance.read(results)
    ledger = verdicts.ledger(results / PATHS.ledger)
    papers = _papers(graph, ledger)
    numbers = {path: (page, cells) for path, page, cells in addressing.every(results, graph)}
    paths = (path for path in _pages(results) if parts_of(Path(path).stem)[0] in papers)
    specs = {path: _spec(results, graph, path) for path in paths}
    sheets = [
        _sheet(results, path, spec.entry, *numbers.get(path, (None, [])))
        for path, spec in specs.items()
    ]
    if not sheets:
        raise ResiduumError(f"{results}: a ledger and no page; make them: {remade(results)}")
    order = {name: number for number, name in enumerate([*papers])}
    sheets.sort(key=lambda s: (order[s.paper], bool(s.entry.claims), _natural(s.name)))
    reason = notes.reason_of_all(spec.reason for spec in specs.values())
    scale, sizes = specs[sheets[0].path].scale, Sizes(results, graph)
    return Folder(results, scale, reason, ledger, sheets, graph, sizes)


def _spec(results: Path, graph: provenance.Graph, path: str) -> PageSpec:
    try:
        return PageSpec.model_validate(graph.manifest(path).spec)
    except ValidationError as error:
        why = describe(f"{manifest.beside(results / path)}: spec", error)
        raise ResiduumError(f"{why}. {MADE_ELSEWHERE}") from None


def _papers(graph: provenance.Graph, ledger: list[LedgerRow]) -> dict[str, None]:
    """Return the papers that a ledger is about, including papers without a row."""
    judged = graph.manifest(PATHS.ledger).spec.get("tables")
    tables = [str(page) for page in judged] if isinstance(judged, list) else []
    return dict.fromkeys([parts_of(page)[0] for page in tables] + [row.paper for row in ledger])


def _pages(results: Path) -> Iterator[str]:
    """Yield the path of every page with a TSV and a Markdown file; kinds may share a folder."""
    for pattern in dict.fromkeys(place.pattern for place in PATHS.pages.values()):
        for path in sorted(results.glob(pattern)):
            if path.with_suffix(".md").is_file():
                yield path.relative_to(results).as_posix()


def _sheet(results: Path, path: str, entry: Entry, job: Judged | None, cells: list[Cell]) -> Sheet:
    text = files.read_text(intact.checked(results / Path(path).with_suffix(".md")))
    tests = explaining.tests_of(results, Path(path).stem)
    return Sheet(Path(path).stem, path, entry, text, job, cells, tests)


def _natural(name: str) -> list[tuple[int, int | str]]:
    """Return a key that sorts table2 before table10."""
    parts = re.findall(r"\d+|\D+", name)
    return [(0, int(part)) if part.isdigit() else (1, part) for part in parts]
