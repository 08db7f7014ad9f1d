"""A page of lines bound to one scale: the rows that are drawn."""

from residuum.pages.jobs import Bound
from residuum.pages.lines.entry import Lines


class BoundLines(Bound):
    """A table's numbers as lines, and the labels of its rows."""

    entry: Lines
    labels: list[tuple[str, str]]  # (row, label) of the drawn rows, in order
