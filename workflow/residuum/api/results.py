"""What the functions of `import residuum as rs` return: tables, pages, and pictures.

Each result prints as Markdown, shows itself in a notebook as HTML, and has `frame()`, `to_latex()`
and `picture()`.
"""

import base64
import html
import io
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from residuum.artefacts import trec
from residuum.artefacts.fidelities import Measured
from residuum.cli.errors import ResiduumError
from residuum.config.measures import mean
from residuum.inspect.auditing import Audited
from residuum.inspect.comparing import Compared, complementarity_page
from residuum.inspect.footprints import AXIS, MB, Footprint
from residuum.pages import drawing, layout
from residuum.pages.layout import Layout, TextCell
from residuum.pages.venn.make import plots_of
from residuum.paired.coverage import Coverage
from residuum.site import markup
from residuum.tuning.choosing import Record

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from residuum.inspect import timing

MOST_PLOTS = 6  # of a picture
LINE_HEIGHT = 0.22  # inches, of a plot of intervals


class Result(ABC):
    """A result with a table, pages, and perhaps a picture."""

    @abstractmethod
    def frame(self) -> pl.DataFrame:
        """Return the values as a polars frame, unrounded; `.to_pandas()` makes one of pandas."""

    @abstractmethod
    def pages(self) -> dict[str, Layout]:
        """Return the pages by name."""

    def plots(self) -> Sequence[drawing.Plot]:
        """Return the plots of the picture; none where there is nothing to draw."""
        return []

    def to_latex(self) -> str:
        """Return the pages as tables of LaTeX, in booktabs style."""
        return layout.together(self.pages(), "latex")

    def to_markdown(self) -> str:
        """Return the pages as Markdown: what the command of the same name prints."""
        return layout.together(self.pages(), "markdown")

    def picture(self) -> "Figure | None":
        """Return a figure of matplotlib, or None where there is nothing to draw."""
        plots = self.plots()
        if not plots:
            return None
        with drawing.styled():
            return drawing.figure_of(plots, self.height(), sharey=True)

    def height(self) -> float:
        """Return the height of a plot in inches."""
        return drawing.COLUMN

    def __repr__(self) -> str:
        return self.to_markdown()

    def _repr_html_(self) -> str:
        """Return the pages and the picture, for a notebook."""
        parts = [
            f"<h3>{html.escape(page.title)}</h3>\n{markup.html(layout.markdown(page))}"
            for page in self.pages().values()
        ]
        return "".join([*parts, self._image()])

    def _image(self) -> str:
        if (figure := self.picture()) is None:
            return ""
        data = io.BytesIO()
        with drawing.styled():
            figure.savefig(data, format="png", dpi=120)
        coded = base64.b64encode(data.getvalue()).decode()
        return f'<img alt="{html.escape(type(self).__name__)}" src="data:image/png;base64,{coded}">'


@dataclass(frozen=True, repr=False, eq=False)
class Comparisons(Result):
    """Runs on the same judged queries, and the tests of their differences.

    `values` has the means of the runs. `per_query` has the values behind them.
    """

    made: Compared = field(repr=False)

    def frame(self) -> pl.DataFrame:
        """Return a line for each measure and pair: difference, interval, p, effect, power."""
        return self.made.table()

    def values(self) -> pl.DataFrame:
        """Return run, measure and mean."""
        lines = [
            (run, measure, float(mean(measure, matrix.values[:, 0])))
            for (run, measure), matrix in self.made.scores.items()
        ]
        columns = {"run": pl.String, "measure": pl.String, "mean": pl.Float64}
        return pl.DataFrame(lines, schema=columns, orient="row")

    def per_query(self) -> pl.DataFrame:
        """Return run, measure, query_id and value."""
        parts = [
            pl.DataFrame(
                {"query_id": matrix.query_ids, "value": matrix.values[:, 0]},
            ).select(pl.lit(run).alias("run"), pl.lit(measure).alias("measure"), pl.all())
            for (run, measure), matrix in self.made.scores.items()
        ]
        return pl.concat(parts)

    def pages(self) -> dict[str, Layout]:
        return self.made.pages()

    def plots(self) -> Sequence[drawing.Plot]:
        measures = list(dict.fromkeys(row.measure for row in self.made.rows))[:MOST_PLOTS]
        return [self._intervals(measure) for measure in measures]

    def height(self) -> float:
        lines = max(Counter(row.measure for row in self.made.rows).values(), default=0)
        return 1.0 + LINE_HEIGHT * max(lines, 3)

    def _intervals(self, measure: str) -> drawing.Plot:
        rows = [row for row in self.made.rows if row.measure == measure][::-1]

        def plot(ax: "Axes") -> drawing.Legend:
            for at, row in enumerate(rows):
                color = "#0072B2" if row.significant else "#777777"
                if row.ci_low is not None and row.ci_high is not None:
                    ax.plot([row.ci_low, row.ci_high], [at, at], color=color)
                ax.plot([row.difference], [at], "o" if row.significant else "x", color=color)
            ax.axvline(0, color="black", linewidth=0.6)
            ax.set_yticks(
                range(len(rows)), [drawing.plain(f"{r.a} \N{MINUS SIGN} {r.b}") for r in rows]
            )
            ax.set_ylim(-0.5, len(rows) - 0.5)
            ax.set_title(measure)
            ax.set_xlabel("difference, 95% interval")
            return {}

        return plot


@dataclass(frozen=True, repr=False, eq=False)
class Audit(Result):
    """Which ranks of many systems are certain (Mogstad et al. 2024)."""

    made: Audited = field(repr=False)

    def frame(self) -> pl.DataFrame:
        """Return a line for each system, by rank: mean, bounds of its rank, groups, lead."""
        return self.made.table()

    def pages(self) -> dict[str, Layout]:
        return {"audit": self.made.page()}

    def plots(self) -> Sequence[drawing.Plot]:
        return self.made.plots()

    def height(self) -> float:
        return self.made.height()


@dataclass(frozen=True, repr=False, eq=False)
class Complementarity(Result):
    """How many queries each run answers that another does not (Lee et al., ACL 2023)."""

    both: Mapping[tuple[str, str, str], Coverage] = field(repr=False)  # by measure, D and S
    remarks: Sequence[str] = ()

    def frame(self) -> pl.DataFrame:
        """Return a line for each measure and pair D, S: counts of queries, ratio, interval."""
        counted = [name for name in Coverage._fields if name != "by_seed"]
        lines = [
            (*names, *(getattr(counts, name) for name in counted))
            for names, counts in self.both.items()
        ]
        texts = dict.fromkeys(["measure", "d", "s"], pl.String)
        numbers = dict.fromkeys(counted, pl.Float64) | {"queries": pl.Int64}
        return pl.DataFrame(lines, schema={**texts, **numbers}, orient="row")

    def pages(self) -> dict[str, Layout]:
        page = complementarity_page(self.both)
        return {"complementarity": page._replace(notes=[*self.remarks, *page.notes])}

    def plots(self) -> Sequence[drawing.Plot]:
        """Return circles of each two runs by the first measure; D is the run that comes first."""
        measure, pairs = next(iter(self.both))[0], dict[tuple[str, str], Coverage]()
        for (of, d, s), counts in self.both.items():
            if of == measure and (s, d) not in pairs:
                pairs[d, s] = counts
        named = [(drawing.plain(f"{measure}\nD: {d}\nS: {s}"), c) for (d, s), c in pairs.items()]
        return plots_of(named[:MOST_PLOTS])


@dataclass(frozen=True, repr=False, eq=False)
class Fused(Result):
    """A fused run, and the record of a weight that was chosen: None where it is fixed."""

    run: pl.DataFrame = field(repr=False)
    record: Record | None = None
    remarks: Sequence[str] = ()

    def frame(self) -> pl.DataFrame:
        """Return query_id, doc_id, rank and score, by query and rank."""
        return self.run

    def write(self, path: str | Path, tag: str = "fused") -> None:
        """Write the run as TREC's, gzipped if it is named `.gz`; its written scores fall."""
        if tag.split() != [tag]:
            raise ResiduumError(f"tag: {tag!r} is empty or holds white space")
        trec.write_run(Path(path), self.run, tag)

    def pages(self) -> dict[str, Layout]:
        queries = self.run["query_id"].n_unique()
        notes = [f"{self.run.height:,} hits of {queries:,} queries.", *self.remarks]
        if self.record:
            choices = [", ".join(f"{k} {v:g}" for k, v in c.setting.items() if isinstance(v, float))
                       for c in self.record.choices]  # fmt: skip
            text = "; ".join(dict.fromkeys(choices))
            notes.append(
                f"Chosen by {self.record.measure} of {self.record.queries} queries: {text}."
            )
        return {"fused": _page("Fused run", "its first ten lines", self.run.head(10), notes)}


@dataclass(frozen=True, repr=False, eq=False)
class Ledger(Result):
    """The verdicts on what papers print, of a results folder."""

    rows: pl.DataFrame = field(repr=False)

    def frame(self) -> pl.DataFrame:
        """Return the lines of ledger.tsv: numbers, comparisons and claims."""
        return self.rows

    def pages(self) -> dict[str, Layout]:
        first = self.rows.filter(pl.col("same_as").is_null())
        counted = first.group_by("paper", "kind", "verdict", maintain_order=True).len("rows")
        again = self.rows.height - first.height
        note = f"{again} rows repeat an earlier number of the same runs, and are not counted."
        return {"ledger": _page("Verdicts", "what papers print", counted, [note])}


@dataclass(frozen=True, repr=False, eq=False)
class Footprints(Result):
    """How large the indexes are that the systems of a page search, beside what they reach."""

    page: str
    made: Sequence[Footprint] = field(repr=False)

    def frame(self) -> pl.DataFrame:
        """Return row, label, column, header, value, index_bytes."""
        schema = {"value": pl.Float64, "index_bytes": pl.Int64}
        texts = dict.fromkeys(["row", "label", "column", "header"], pl.String)
        return pl.DataFrame(self.made, schema={**texts, **schema}, orient="row")

    def pages(self) -> dict[str, Layout]:
        what = "values, and the bytes on disk of the indexes behind them"
        return {"footprints": _page(self.page, what, self.frame(), [])}

    def plots(self) -> Sequence[drawing.Plot]:
        """Return a plot for each column, with a point for each system."""
        headers = {one.column: one.header for one in self.made}
        rows = dict.fromkeys(one.row for one in self.made)
        styles = dict(zip(rows, drawing.points(), strict=False))
        return [
            partial(self._plot, styles, column, header)
            for column, header in [*headers.items()][:MOST_PLOTS]
        ]

    def _plot(
        self, styles: Mapping[str, tuple[str, str]], column: str, header: str, ax: "Axes"
    ) -> drawing.Legend:
        points = [
            (one.label, one.index_bytes / MB, one.value, styles[one.row])
            for one in self.made
            if one.column == column
        ]
        return drawing.scattered(points, AXIS, header, ax)


@dataclass(frozen=True, repr=False, eq=False)
class Times(Result):
    """How long the systems of a table take to answer queries."""

    made: "timing.Times" = field(repr=False)

    def frame(self) -> pl.DataFrame:
        """Return a line for each system: its number, and milliseconds of a query, by phase."""
        return self.made.table()

    def pages(self) -> dict[str, Layout]:
        return {"time": self.made.layout()}

    def plots(self) -> Sequence[drawing.Plot]:
        return self.made.plots()


@dataclass(frozen=True, repr=False, eq=False)
class Printed(Result):
    """A result that a command prints as a text, with a table beside the text."""

    text: str

    def to_markdown(self) -> str:
        """Return the text that the command prints."""
        return self.text

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.text)}</pre>"


@dataclass(frozen=True, repr=False, eq=False)
class Fidelity(Printed):
    """How many dimensions keep a lexical ranking, on a split."""

    measured: Measured = field(repr=False)

    def frame(self) -> pl.DataFrame:
        """Return the share of queries that keep their first doc, by dimensions and doc length."""
        return self.measured.recall

    def pages(self) -> dict[str, Layout]:
        recall = self.measured.recall
        return {"fidelity": _page("Fidelity", "queries that keep their first doc", recall, [])}


@dataclass(frozen=True, repr=False, eq=False)
class Explanation(Printed):
    """All that is known of a number of a page."""

    per_query: pl.DataFrame = field(repr=False)
    address: str = ""

    def frame(self) -> pl.DataFrame:
        """Return query_id and value, means over seeds; for a change, differences."""
        return self.per_query

    def pages(self) -> dict[str, Layout]:
        return {"explained": _page(self.address, "per query", self.per_query, [])}


def _page(title: str, what: str, table: pl.DataFrame, notes: list[str]) -> Layout:
    """Lay out a table as it is; numbers have four significant digits."""
    rows = [[TextCell(_text(value)) for value in row] for row in table.rows()]
    numeric = [table[name].dtype.is_numeric() for name in table.columns]
    align = "".join("r" if number else "l" for number in numeric)
    return Layout(title, what, table.columns, rows, notes, align)


def _text(value: object) -> str:
    if value is None:
        return layout.DASH
    return f"{value:.4g}" if isinstance(value, float) else str(value)
