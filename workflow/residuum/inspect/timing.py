"""How long a table's systems take to answer queries, and which phase of a search takes the time.

Usage: `report(Path("results/mini"), "clear/table1", Sample(queries=100))`.
"""

from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr
from dataclasses import dataclass
from functools import partial
from io import StringIO
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from residuum.artefacts import machine, times, trec
from residuum.artefacts.times import AXIS, PHASES
from residuum.cli.errors import ResiduumError, unknown
from residuum.cli.progress import track
from residuum.inspect import addressing, provenance
from residuum.inspect.addressing import PATHS, Cell
from residuum.inspect.searching import Sample, Watch
from residuum.inspect.text import by_reason
from residuum.pages import drawing, layout
from residuum.pages.layout import Layout, TextCell

FIRST = 10  # docs that are compared with those of the run
MS = 1000  # of a second


class Timed(NamedTuple):
    """A number of a table, and the milliseconds that its system takes for a query."""

    row: str
    label: str
    value: float
    phases: Mapping[str, np.ndarray]  # in each repeat

    @property
    def each(self) -> np.ndarray:
        """Milliseconds of all phases, in each repeat."""
        total: np.ndarray = sum(self.phases.values(), start=np.zeros(1))
        return total


@dataclass(frozen=True)
class Times:
    """How long the systems of a column of a table take for a query."""

    page: str
    column: str
    header: str
    made: Sequence[Timed]
    sample: Sample  # with the numbers that were taken
    machine: str
    remarks: Sequence[str]

    def table(self) -> pl.DataFrame:
        """Return a line for each system, unrounded, with the columns of `times.COLUMNS`."""
        lines = []
        for one in self.made:
            each = float(np.median(one.each)), float(one.each.min()), float(one.each.max())
            phases = (float(np.median(one.phases.get(phase, 0.0))) for phase in PHASES)
            names = one.row, one.label, self.column, self.header
            lines.append((*names, one.value, *each, *phases, *self.sample, self.machine))
        return pl.DataFrame(lines, schema=times.COLUMNS, orient="row")

    def layout(self) -> Layout:
        """Lay out a system on each line, the milliseconds of its phases last."""
        used = [phase for phase in PHASES if any(phase in one.phases for one in self.made)]
        header = ["System", self.header, AXIS, "least to most", *used]
        rows = []
        for one in self.made:
            each = _ms(np.median(one.each)), f"{_ms(one.each.min())} to {_ms(one.each.max())}"
            texts = [one.label, f"{one.value:.4f}", *each]
            texts += [
                _ms(np.median(one.phases[name])) if name in one.phases else "" for name in used
            ]
            rows.append([*map(TextCell, texts)])
        what = "time to answer a query"
        return Layout(self.page, what, header, rows, [*self.remarks], f"l{'r' * (len(header) - 1)}")

    def plots(self) -> list[drawing.Plot]:
        """Return the picture: each system's number by its time."""
        both = zip(self.made, drawing.points(), strict=False)
        points = [(one.label, float(np.median(one.each)), one.value, how) for one, how in both]
        return [partial(drawing.scattered, points, AXIS, self.header)]


def _ms(value: float) -> str:
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"


def measured(
    results: Path, page: str, sample: Sample = Sample(), column: str | None = None
) -> Times:
    """Run the systems of a table anew, and return how long they take for a query.

    `page` is <paper>/<page>. `column` is one of its columns of one split; by default the first.
    Queries are drawn evenly from the judged ones. Raises ResiduumError for an unknown page or
    column, and where no system can be run anew.
    """
    sample.check()
    graph = provenance.read(results)
    job, cells = addressing.page_of(results, graph, page)
    searches = [
        (one, search, run)
        for one in cells
        if (search := job.of_one_search(one.line.row, one.line.column))
        if one.line.measured is not None and (run := _run(graph, one))
    ]
    headers = {one.line.column: search.header for one, search, _ in searches}
    if not headers:
        raise ResiduumError(f"{page}: no number of one search. Name a table of systems")
    name = column or next(iter(headers))
    if name not in headers:
        raise ResiduumError(f"{page}: {unknown('column of one search', name, headers)}")
    runs = [one for one in searches if one[0].line.column == name]
    split = str(runs[0][0].line.split_ref)
    judged = sorted({*trec.read_metrics(results / runs[0][0].roots[0])["query_id"]})
    queries = judged[:: -(-len(judged) // sample.queries)]
    watch = Watch(results, graph, queries, sample)
    made, remarks = list[Timed](), list[tuple[str, str]]()
    for cell, (label, _), run in track(runs, "time", len(runs), "systems"):
        try:
            with redirect_stderr(StringIO()):
                answer = watch.answer(results / run)
        except (ResiduumError, OSError) as error:
            remarks.append((str(error), label))
            continue
        except ModuleNotFoundError as error:
            where = "Run the command where Snakemake runs the jobs"
            raise ResiduumError(f"searches need {error.name}, which is not here. {where}") from None
        phases = {phase: MS * took for phase, took in answer.phases().items()}
        made.append(Timed(cell.line.row, label, float(cell.line.measured or 0), phases))
        if other := _other_docs(results / run, answer.lists, queries):
            text = f"the first {FIRST} docs of {other} queries are not those of the run"
            remarks.append((text, label))
    if not made:
        raise ResiduumError(f"{page}: no system was timed: {'; '.join(by_reason(remarks))}")
    number = len(queries)
    how = sample._replace(queries=number, at_once=min(sample.at_once or number, number))
    where = ", ".join([str(machine.cpu()), *watch.cards])
    at_once = "one at a time" if how.at_once == 1 else f"{how.at_once} at once"
    notes = [
        f"{how.queries} queries of {split}, {at_once}, threads: {how.threads}; medians of "
        f"{how.repeats} repeats. Where a number is a mean of seeds, the first seed was timed.",
        f"Measured on {where}. Another machine, or a busy one, takes another time.",
        *(f"{text}." for text in by_reason(remarks)),
    ]
    return Times(page, name, headers[name], made, how, where, notes)


def _run(graph: provenance.Graph, cell: Cell) -> str | None:
    """Return the run of a number's first seed, below the results."""
    parents = graph[cell.roots[0]].parents if cell.roots else ()
    return next((path for path in parents if PATHS.run.parse(path)), None)


def _other_docs(run: Path, lists: pl.DataFrame, queries: Sequence[str]) -> int:
    """Return of how many queries the first docs are not those of a run."""
    before, after = (
        dict(trec.lists_of(trec.cut(one, FIRST)).iter_rows()) for one in (trec.read_run(run), lists)
    )
    return sum(after.get(query_id, []) != before.get(query_id, []) for query_id in queries)


def report(results: Path, page: str, sample: Sample = Sample(), column: str | None = None) -> str:
    """Return the page of a table's times; keep its numbers and its picture.

    They lie in `timings/systems/` of the results, where the report finds them.
    """
    made = measured(results, page, sample, column)
    kept = results / PATHS.times.fill(page=page.replace("/", "-"))
    times.write(kept, made.table())
    written = [kept, *drawing.save_plots(kept, made.plots())]
    return f"{layout.markdown(made.layout())}\nwritten: {', '.join(map(str, written))}\n"
