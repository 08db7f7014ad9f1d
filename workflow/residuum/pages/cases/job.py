"""A case study bound to one scale: the `--spec` of the stage that finds its docs."""

from pydantic import Field

from residuum.pages.cases.entry import Cases
from residuum.pages.jobs import Bound, RunName, SplitRef


class BoundCases(Bound):
    """A bound case study: its split, and the run of each list."""

    entry: Cases
    split: SplitRef | None  # None: the scale binds no split to the role
    runs: dict[str, RunName]
    depths: dict[str, int] = Field(default={})  # list: its rerank depth, if it is fixed
