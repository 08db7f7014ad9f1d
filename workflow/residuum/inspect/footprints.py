"""How large the indexes are that a run searches, beside what the run reaches.

Usage: `footprints(Path("results/mini"), "clear/table1")`. An index is what a search reads of a
collection: Lucene's files, or the vectors of docs. Sizes are those on disk.
"""

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from residuum.artefacts.manifest import FOLDER
from residuum.cli.errors import ResiduumError
from residuum.inspect import addressing, provenance
from residuum.inspect.addressing import PATHS, Cell
from residuum.wiring.paths import Template

INDEXES = PATHS.index, PATHS.embeddings  # what searches read of a collection
SEARCHES = PATHS.metrics, PATHS.run, PATHS.hits, PATHS.hybrid_hits  # made from these or each other
MB = 1_000_000  # bytes
AXIS = "index, MB"


class Footprint(NamedTuple):
    """A number of a table, and the bytes of the indexes that its first run searches."""

    row: str
    label: str
    column: str
    header: str
    value: float
    index_bytes: int


class Sizes:
    """The sizes of the indexes behind the numbers of a results folder; each is read once."""

    def __init__(self, results: Path, graph: provenance.Graph) -> None:
        self._results, self._graph = results, graph
        self._size = cache(self._on_disk)

    def of(self, cell: Cell) -> Footprint | None:
        """Return the footprint of a number, or None if its runs search no index here.

        Of several seeds, the first one counts. None also where an index is gone, and for numbers of
        more than one search: averages, derived values, changes, and orders of given candidates.
        """
        row, column, value = cell.line.row, cell.line.column, cell.line.measured
        search = cell.page.of_one_search(row, column)
        if search is None or value is None:
            return None
        sizes = [self._size(path) for path in self._behind(cell.roots[:1])]
        if not sizes or None in sizes:
            return None
        total = sum(filter(None, sizes))
        return Footprint(row, search.label, column, search.header, value, total)

    def _behind(self, roots: Iterable[str]) -> list[str]:
        """Return the indexes that searches behind some artefacts read, each once.

        Scores are of the candidates of all seeds, whose runs are no part of one seed's search.
        """
        ahead = list(roots)
        for path in ahead:
            parents: Iterable[str] = self._graph[path].parents
            if _is_one(path, PATHS.scores):
                parents = filter(of_collection, parents)
            elif not _is_one(path, *SEARCHES):
                continue
            ahead += [one for one in parents if one not in ahead]
        return list(filter(of_collection, ahead))

    def _on_disk(self, path: str) -> int | None:
        """Return the bytes of an index, without its manifest; None if it is gone."""
        files = [file for file in (self._results / path).rglob("*") if file.is_file()]
        sizes = [file.stat().st_size for file in files if file.name != FOLDER]
        return sum(sizes) or None


def of_collection(path: str) -> bool:
    """Say whether an artefact is an index: queries and candidates are encoded elsewhere."""
    return _is_one(path, *INDEXES)


def _is_one(path: str, *templates: Template) -> bool:
    """Say whether an artefact, a file or a folder with a manifest, is of one of the templates."""
    return any(one.parse(path) or one.parse(f"{path}/{FOLDER}") for one in templates)


def footprints(results: Path, page: str) -> list[Footprint]:
    """Return the numbers of a table whose runs search indexes, with their bytes.

    `page` is <paper>/<page>. An unknown page raises ResiduumError, and so does one without such
    numbers.
    """
    graph = provenance.read(results)
    _, cells = addressing.page_of(results, graph, page)
    sizes = Sizes(results, graph)
    if made := [one for cell in cells if (one := sizes.of(cell))]:
        return made
    text = "no number of a table whose search reads an index that is here"
    raise ResiduumError(f"{results}: {page}: {text}. Indexes may have been deleted")
