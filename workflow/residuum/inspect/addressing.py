"""Find a number of a page by its address: its line, its page, and the files it was read from.

Usage: `find(Path("results/mini"), "roc/figure4/ours/gain/hard")`. Addresses exist for cells of
tables, points of figures over groups, and quantities of circles.
"""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

from residuum import ledger
from residuum.artefacts import manifest
from residuum.cli.errors import ResiduumError, unknown
from residuum.config.specs import canonical_json
from residuum.inspect import provenance
from residuum.pages import grids
from residuum.pages.entries import parts_of
from residuum.pages.grids import GridCell
from residuum.pages.jobs import Judged
from residuum.pages.kinds import JUDGED
from residuum.pages.table.entry import DEPTH
from residuum.wiring.paths import Paths

PATHS = Paths()
PLACES = tuple(dict.fromkeys(PATHS.pages[kind] for kind in JUDGED))
LONGEST, SHOWN = 300, 60  # characters of an address, and of one that is none
Names = tuple[str, ...]  # paper, page, row, column; a figure's column is <panel>/<group>
WRITE = (
    "write <paper>/<page>/<row>/<column>, of a figure over groups "
    "<paper>/<page>/<series>/<panel>/<group>"
)


class Cell(NamedTuple):
    """A number: its line in the page's TSV, its page, and the files its value was read from."""

    address: str
    results: Path
    path: str  # the TSV's path below the results
    line: GridCell
    page: Judged
    graph: provenance.Graph
    roots: list[str]

    @property
    def place(self) -> str:
        """Return the row and the column of the number on its page."""
        return f"{self.line.row}/{self.line.column}"


def address(page: str, row: str, column: str) -> str:
    """Return the address of a number: paper, page, row, column."""
    return "/".join([*parts_of(page), row, column])


def find(results: Path, address: str) -> Cell:
    """Find a number by its address.

    An unknown paper, page, row or column raises ResiduumError, which lists the known names.
    """
    path, line = _line(results, address)
    graph = provenance.read(results)
    return _cell(results, path, line, bound(results, path, graph), graph)


def every(results: Path, graph: provenance.Graph) -> Iterator[tuple[str, Judged, list[Cell]]]:
    """Yield (path below results, page, numbers) of each page whose TSV has a line per number."""
    for path in _pages(results):
        name, lines = path.relative_to(results).as_posix(), _cells(path)
        page = bound(results, name, graph)
        yield name, page, [_cell(results, name, line, page, graph) for line in lines.values()]


def page_of(results: Path, graph: provenance.Graph, page: str) -> tuple[Judged, list[Cell]]:
    """Return a page whose TSV has a line per number, named <paper>/<page>, and its numbers.

    An unknown page raises ResiduumError.
    """
    pages = {
        "/".join(parts_of(Path(path).stem)): (job, cells)
        for path, job, cells in every(results, graph)
    }
    if page not in pages:
        raise ResiduumError(f"{results}: {unknown('page', page, pages)}")
    return pages[page]


def bound(results: Path, path: str, graph: provenance.Graph) -> Judged:
    """Return a page, rebuilt from the spec in the manifest of its TSV; `path` is below results."""
    spec = graph.manifest(path).spec
    try:
        return ledger.bound(canonical_json(spec), path)
    except ResiduumError:
        again = "made by another version of residuum; make it again there: snakemake --cores all"
        raise ResiduumError(f"{manifest.beside(results / path)}: {again}") from None


def _cell(results: Path, path: str, line: GridCell, page: Judged, graph: provenance.Graph) -> Cell:
    name = address(line.table, line.row, line.column)
    return Cell(name, results, path, line, page, graph, _roots(line, page, graph[path].parents))


def _line(results: Path, address: str) -> tuple[str, GridCell]:
    """Return a page's TSV, below the results, and its line of an address."""
    if len(address) > LONGEST or not address.isprintable():
        raise ResiduumError(
            f"{address[:SHOWN]!r}{'...' * (len(address) > SHOWN)}: no address, which has at most "
            f"{LONGEST} characters and no line ends; {WRITE}"
        )
    *head, column = address.strip("/").split("/", 3)
    names = (*head, column)
    pages = {tuple(parts_of(path.stem)): path for path in _pages(results)}
    if not pages:
        raise ResiduumError(
            f"{results}: no tables; name a results folder (--results results/<scale>) or make them "
            "first: snakemake --cores all"
        )
    others = {path.beside(".md") for path in PATHS.pages.values()}
    made = [results / path.fill(page="-".join(names[:2])) for path in sorted(others)]
    read = [p for p in made if p.is_file() and p.with_suffix(".tsv") not in pages.values()]
    more = " Cases, claims, lines, and figures over anything but groups have no such numbers"
    more += "".join(f"; read {path}" for path in read)
    if len(names) != 4:
        example = "/".join(next(iter(_cells(next(iter(pages.values()))))))
        raise ResiduumError(f"'{address}': {WRITE}, such as {example}{f'.{more}' if read else ''}")
    _check(names[:2], pages, more)
    cells = _cells(pages[names[:2]])
    _check(names, cells)
    return pages[names[:2]].relative_to(results).as_posix(), cells[names]


def _pages(results: Path) -> Iterator[Path]:
    """Yield the TSVs of pages whose lines are cells."""
    for place in PLACES:
        for path in sorted(results.glob(place.pattern)):
            with path.open("rb") as lines:
                if not lines.readline().startswith(b"panel\t"):  # a figure over no groups
                    yield path


def _check(names: Names, known: Collection[Names], more: str = "") -> None:
    for depth, kind in enumerate(("paper", "page", "row", "column")[: len(names)]):
        valid = {each[depth] for each in known if each[:depth] == names[:depth]}
        if names[depth] not in valid:
            what = f"{kind} of {'/'.join(names[:depth])}" if depth else kind
            raise ResiduumError(f"{unknown(what, names[depth], valid)}{more}")


def _cells(path: Path) -> dict[Names, GridCell]:
    """Return the lines of a page's TSV by address; a TSV without lines raises ResiduumError."""
    lines = grids.read_cells(path)
    if not lines:
        raise ResiduumError(f"{path}: a header and no row, where a page has some; {grids.AGAIN}")
    return {(*parts_of(line.table), line.row, line.column): line for line in lines}


def _roots(line: GridCell, page: Judged, read: tuple[str, ...]) -> list[str]:
    """Return the files that a cell was read from: metrics, tuning records, verdicts or groups."""
    ending = page.measured_in(line.row, line.column, line.measure)
    if ending is not None:
        return [path for path in read if ending and path.endswith(f"/{ending}")]
    template = PATHS.tuning if line.measure == DEPTH else PATHS.metrics
    named = [(path, parts["run"]) for path in read if (parts := template.parse(path))]
    runs, judged = page.runs_behind(line.row, line.column)
    of_row = [path for run in runs for path, named_run in named if named_run == run]
    average = line.split_ref is None and line.measured is not None
    on_split = [path for path in of_row if average or f"/{line.split_ref}/" in path]
    on_split += [path for path in read if _groups(path, line, page)]
    if line.not_learned:
        models = [name.partition("/seed") for name in page.models_of(judged, line.split_ref)]
        verdicts = [PATHS.learning.fill(model=model, seed=seed) for model, _, seed in models]
        return [*verdicts, *on_split]
    return on_split or (of_row if line.measure == DEPTH else [])


def _groups(path: str, line: GridCell, page: Judged) -> bool:
    """Say whether a file holds the query groups that a number is computed over."""
    parts = PATHS.groups.parse(path)
    return bool(
        parts
        and f"{parts['dataset']}/{parts['split']}" == line.split_ref
        and parts["grouping"] == page.grouping(line.column)
    )
