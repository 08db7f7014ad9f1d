"""How large the indexes are that a run searches, beside what the run reaches.

Usage: `footprints(Path("results/mini"), "clear/table1")`. An index is what a search reads of a
collection: Lucene's files, or the vectors of docs. Sizes are those on disk.
"""

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from residuum.cli.errors import ResiduumError, unknown
from residuum.inspect import addressing, provenance
from residuum.inspect.addressing import Cell
from residuum.pages.entries import parts_of

INDEXES = ("index", "embeddings")  # folders of results with what searches read of a collection
QUERIES, CANDIDATES = ".queries", ".on."  # in folders of encodings of no collection
MB = 1_000_000  # bytes
SEARCHES = ("metrics", "runs", "hits", "hybrid")  # made from indexes, or from one another
SCORES = "scores"  # of the candidates of all seeds, whose runs are no part of one seed's search


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
        header, labels = cell.page.of_one_search(row, column), cell.page.entry.labels()
        if header is None or value is None:
            return None
        sizes = [self._size(path) for path in self._behind(cell.roots[:1])]
        if not sizes or None in sizes:
            return None
        same = [*labels.values()].count(labels[row]) > 1  # in groups, as rerankers of a table
        label = f"{labels[row]} ({row})" if same else labels[row]
        return Footprint(row, label, column, header, value, sum(filter(None, sizes)))

    def _behind(self, roots: Iterable[str]) -> list[str]:
        """Return the indexes that searches behind some artefacts read, each once."""
        ahead = list(roots)
        for path in ahead:
            part, parents = path.partition("/")[0], self._graph[path].parents
            followed = parents if part in SEARCHES else filter(of_collection, parents)
            if part in (*SEARCHES, SCORES):
                ahead += [one for one in followed if one not in ahead]
        return list(filter(of_collection, ahead))

    def _on_disk(self, path: str) -> int | None:
        """Return the bytes of an index, without its manifest; None if it is gone."""
        files = [file for file in (self._results / path).rglob("*") if file.is_file()]
        sizes = [file.stat().st_size for file in files if file.name != "manifest.json"]
        return sum(sizes) or None


def of_collection(path: str) -> bool:
    """Say whether an artefact is what searches read of a collection."""
    part, *below = path.split("/")
    left_out = any(name.endswith(QUERIES) or CANDIDATES in name for name in below)
    return part in INDEXES and not left_out


def footprints(results: Path, page: str) -> list[Footprint]:
    """Return the numbers of a table whose runs search indexes, with their bytes.

    `page` is <paper>/<page>. An unknown page raises ResiduumError, and so does one without such
    numbers.
    """
    graph = provenance.read(results)
    pages = {
        "/".join(parts_of(Path(path).stem)): cells
        for path, _, cells in addressing.every(results, graph)
    }
    if page not in pages:
        raise ResiduumError(f"{results}: {unknown('page', page, pages)}")
    sizes = Sizes(results, graph)
    if made := [one for cell in pages[page] if (one := sizes.of(cell))]:
        return made
    text = "no number of a table whose search reads an index that is here"
    raise ResiduumError(f"{results}: {page}: {text}. Indexes may have been deleted")
