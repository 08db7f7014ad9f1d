"""Write and read the groups of a split's queries.

Usage: `write(path, [("0-40", "q1", 12.0)])`, `read(path).members`.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from residuum.artefacts import files, intact
from residuum.cli.errors import ResiduumError

COLUMNS = ("group", "query_id", "value")
Line = tuple[str, str, float | None]  # group, query_id, the grouping value or None


class Cut(NamedTuple):
    """Queries with the same value on both sides of a bound, and their numbers on each side."""

    value: float
    groups: tuple[str, str]
    queries: tuple[int, int]

    def __str__(self) -> str:
        (a, b), (before, behind) = self.groups, self.queries
        at = f"{before + behind} queries have the value {self.value:g} at their bound"
        return f"{at}: by a hash of their ids, {before} are {a} and {behind} {b}."


class Groups(NamedTuple):
    """Groups in order with their queries, and the value of each query that has one."""

    members: dict[str, list[str]]
    values: dict[str, float]

    def cuts(self) -> Iterator[Cut]:
        """Yield a Cut for each value that occurs in two neighbouring groups."""
        counts = {
            group: Counter(self.values[q] for q in queries if q in self.values)
            for group, queries in self.members.items()
        }
        for a, b in pairwise(counts):
            for value in sorted(counts[a].keys() & counts[b].keys()):
                yield Cut(value, (a, b), (counts[a][value], counts[b][value]))


def write(path: Path, lines: Iterable[Line]) -> Groups:
    """Write a line per query, and return the groups in the order of the lines."""
    rows = [(group, query, "" if value is None else repr(value)) for group, query, value in lines]
    files.write_text(path, "".join("\t".join(row) + "\n" for row in [COLUMNS, *rows]))
    return read(path)


def read(path: Path) -> Groups:
    """Read groups; a query in two groups, or a malformed line, raises ResiduumError."""
    header, *lines = files.read_lines(intact.checked(path)) or [""]
    if header != "\t".join(COLUMNS):
        raise ResiduumError(f"{path}, line 1: expected {', '.join(COLUMNS)}, found {header!r}")
    groups = Groups({}, {})
    seen: set[str] = set()
    for number, line in enumerate(lines, start=2):
        group, query_id, value = _parsed(f"{path}, line {number}", line)
        if query_id in seen:
            raise ResiduumError(f"{path}, line {number}: duplicate query_id {query_id}")
        seen.add(query_id)
        groups.members.setdefault(group, []).append(query_id)
        if value is not None:
            groups.values[query_id] = value
    return groups


def _parsed(where: str, line: str) -> Line:
    words = line.split("\t")
    if len(words) != len(COLUMNS) or not all(words[:2]):
        raise ResiduumError(f"{where}: expected {', '.join(COLUMNS)}, found {line!r}")
    try:
        return words[0], words[1], float(words[2]) if words[2] else None
    except ValueError:
        raise ResiduumError(f"{where}: value must be a number, found {words[2]!r}") from None
