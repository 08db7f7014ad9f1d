"""What a dense and a lexical part answer, as two circles of true area and overlap.

Command: `python -m residuum.pages.venn.make draw ...`. Counts come from the per-query hits of both
parts, none from the hybrid. Source: Lee et al., On Complementarity Objectives for Hybrid Retrieval,
ACL 2023, Figures 1 and 3.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from residuum.artefacts import manifest, trec
from residuum.cli import command
from residuum.config import measures
from residuum.pages import drawing, grids, layout, notes
from residuum.pages.grids import GridCell
from residuum.pages.layout import DASH, TextCell
from residuum.pages.venn import circles
from residuum.pages.venn.entry import QUANTITIES, Diagram
from residuum.pages.venn.job import BoundVenn
from residuum.paired import ScoreMatrix, same_queries
from residuum.paired.coverage import Coverage, coverage
from residuum.tuning.learned import Learned, read_all

if TYPE_CHECKING:
    from matplotlib.axes import Axes

app = command.app(__doc__)
HEADER = ["", "D", "S", "D - S", "both", "neither", "RoC", "95% interval"]
BLUE, YELLOW = "#0072B2", "#F0E442"  # Okabe and Ito; the paper's are blue and yellow too
ROOM = 1.05  # the plot's size relative to the widest pair of circles
NO_HIT = "the dense part answers no query, so a share of its answers is not defined"
Hits = tuple[ScoreMatrix, ScoreMatrix]  # of the dense part, of the lexical part


@app.command()
def draw(
    spec: Annotated[str, typer.Option(help="BoundVenn as JSON")],
    metrics: command.Metrics,
    output: Annotated[Path, command.written("TSV to write; .pdf, .png and .md go beside it")],
    learning: command.Learning = None,
) -> None:
    """Write the shares as .tsv (a row per number), the circles as .pdf and .png, a caption .md."""
    job, verdicts = command.parse_spec(BoundVenn, spec), read_all(learning or [])
    reasons = dict(_unlearned(job, verdicts))
    known = {row.id: row for row in job.entry.rows if row.id not in job.absent | reasons}
    pairs = {name: hits(job, name, metrics) for name in known}
    coverages = {name: counted(known[name], pair) for name, pair in pairs.items()}
    cells = [cell for row in job.entry.rows for cell in _cells(job, row, pairs, reasons)]
    written = _save(job, coverages, output)
    page = _page(job, coverages, reasons)
    page.notes.extend(notes.of_learning(verdicts))
    data = grids.tidied(cells).drop(grids.INDEX)
    written += layout.write(output, data, page, image=f"{output.stem}.png")
    inputs = [*(metrics / name for name in job.metrics()), *(learning or [])]
    facts = {"diagrams": len(coverages)}
    manifest.write(output, facts, job, inputs, "residuum.pages.venn.make", written)


def _unlearned(job: BoundVenn, verdicts: Mapping[str, Learned]) -> Iterator[tuple[str, str]]:
    for row in job.entry.rows:
        if why := grids.why_not_learned(job, job.runs_of(row.id, "") or [], job.split, verdicts):
            yield row.id, why


def hits(job: BoundVenn, name: str, metrics: Path) -> Hits:
    """Return the hits of both parts of a diagram, which have the same queries."""
    where, read = f"{job.id}, {name}: ", trec.read_metrics
    dense, lexical = (
        grids.read_matrix(metrics, str(job.split), runs, job.entry.measure, where, read)
        for runs in (job.runs[f"{name}/dense"], job.runs[f"{name}/lexical"])
    )
    same_queries({"dense": dense.query_ids, "lexical": lexical.query_ids}, where)
    return dense, lexical


def counted(row: Diagram, pair: Hits) -> Coverage:
    """Count the queries that each part answers. For a disjoint diagram the overlap is set to 0."""
    counts = coverage(*pair)
    return disjoint(counts) if row.disjoint else counts


def disjoint(counts: Coverage) -> Coverage:
    """Return the counts with both sizes kept, the overlap set to 0, and failures of at least 0."""
    failures = max(0.0, counts.queries - counts.first - counts.second)
    ratio = None if counts.ratio is None else 1.0
    return counts._replace(
        residual=counts.first, overlap=0.0, failures=failures, ratio=ratio, low=None, high=None
    )


def shares(counts: Coverage) -> dict[str, float | None]:
    """Return the quantities of a diagram: shares of the queries, and RoC (Eq. 1)."""
    queries = counts.first, counts.second, counts.residual, counts.overlap, counts.failures
    values = [*(number / counts.queries for number in queries), counts.ratio]
    return dict(zip(QUANTITIES, values, strict=True))


def _cells(
    job: BoundVenn, row: Diagram, pairs: Mapping[str, Hits], reasons: Mapping[str, str]
) -> Iterator[GridCell]:
    """Yield the cells of a diagram, with a value per seed and the mean over seeds."""
    why, unlearned = job.absent.get(row.id) or reasons.get(row.id), row.id in reasons
    seeds = [shares(counted(row, pair)) for pair in _by_seed(*pairs[row.id])] if not why else []
    for name in QUANTITIES:
        what = f"{name} by {job.entry.measure}{', disjoint' * row.disjoint}"
        cell = GridCell(job.id, row.id, name, what, job.split, not_run=why, not_learned=unlearned)
        values = [value for shown in seeds if (value := shown[name]) is not None]
        if values and len(values) == len(seeds):
            cell = cell.measured_as(values, len(pairs[row.id][0].query_ids))
        elif not why:
            cell = replace(cell, not_run=NO_HIT)
        yield grids.with_reported(cell, job.entry)


def _by_seed(dense: ScoreMatrix, lexical: ScoreMatrix) -> Iterator[Hits]:
    """Yield both parts seed by seed. A part without seeds is paired with each seed."""
    dense_hits, lexical_hits = np.broadcast_arrays(dense.values, lexical.values)
    for seed in range(dense_hits.shape[1]):
        yield (
            dense._replace(values=dense_hits[:, [seed]]),
            lexical._replace(values=lexical_hits[:, [seed]]),
        )


def _save(job: BoundVenn, coverages: Mapping[str, Coverage], output: Path) -> list[Path]:
    shown = [(row.label, coverages[row.id]) for row in job.entry.rows if row.id in coverages]
    return drawing.save_plots(output, plots_of(shown) or [None])


def plots_of(diagrams: Sequence[tuple[str, Coverage]]) -> list[drawing.Plot]:
    """Return a plot of each diagram, a label and its counts, all at one scale."""
    half = ROOM * max((_width(counts) / 2 for _, counts in diagrams), default=0.0) or ROOM
    return [partial(_circles, label, counts, half) for label, counts in diagrams]


def placed(counts: Coverage) -> tuple[float, float, float]:
    """Return the radii of D and S and the distance of their centres; areas are query shares."""
    sizes = counts.first, counts.second
    dense, lexical = (circles.radius(size / counts.queries) for size in sizes)
    return dense, lexical, circles.distance(dense, lexical, counts.overlap / counts.queries)


def _width(counts: Coverage) -> float:
    dense, lexical, apart = placed(counts)
    return max(2 * dense, 2 * lexical, dense + apart + lexical)


def _circles(label: str, counts: Coverage, half: float, ax: "Axes") -> drawing.Legend:
    """Draw S at the left and D at the right, with the share of queries in each part."""
    from matplotlib.patches import Circle

    dense, lexical, apart = placed(counts)
    left = (lexical - apart - dense) / 2
    right = left + apart
    for x, r, color in ((left, lexical, YELLOW), (right, dense, BLUE)):
        ax.add_patch(Circle((x, 0), r, facecolor=color, edgecolor="black", alpha=0.5))
    only = (counts.second - counts.overlap, counts.overlap, counts.residual)
    edges = (left - lexical, right - dense, left + lexical, right + dense)
    middles = [(a + b) / 2 for a, b in pairwise(edges)]
    for x, number in zip(middles, only, strict=True):
        if number:
            share = f"{number / counts.queries:.1%}"
            ax.text(x, 0, share, ha="center", va="center", fontsize=7)
    ax.set_xlim(-half, half)
    ax.set_ylim(-half, half)
    ax.set_aspect("equal")
    ax.set_axis_off()
    missed = f"neither: {counts.failures / counts.queries:.1%}"
    ax.set_title(f"{label}\nS yellow, D blue; {missed}", fontsize=8)
    return {}


def _page(
    job: BoundVenn, coverages: Mapping[str, Coverage], reasons: Mapping[str, str]
) -> layout.Layout:
    rows = [_line(row, coverages[row.id]) for row in job.entry.rows if row.id in coverages]
    lines = list(_notes(job, coverages, reasons))
    return layout.page(job.entry, HEADER, rows, lines)


def _line(row: Diagram, counts: Coverage) -> list[TextCell]:
    *of_queries, ratio = shares(counts).values()
    texts = [f"{share:.3f}" for share in of_queries]
    texts.append(DASH if ratio is None else f"{ratio:.3f}")
    texts.append("" if counts.low is None else f"{counts.low:.3f} to {counts.high:.3f}")
    return [TextCell(row.label), *map(TextCell, texts)]


def _notes(
    job: BoundVenn, coverages: Mapping[str, Coverage], reasons: Mapping[str, str]
) -> Iterator[str]:
    venn, split_ref = job.entry, job.split or "no split"
    queries = next((f", {counts.queries} queries" for counts in coverages.values()), "")
    yield f"{measures.words(venn.measure)}: {split_ref} in the role of {venn.role}{queries}."
    yield (
        "Shares of the queries: D is what the dense part alone answers, S what the lexical part "
        "alone answers; neither is the hybrid. RoC is the share of D that S lacks, with Wilson's "
        "interval. Areas are true, at one scale. Queries that neither answers are not drawn."
    )
    for row in venn.rows:
        if why := job.absent.get(row.id) or reasons.get(row.id):
            verdict = "not learned" if row.id in reasons else "not run"
            yield f"{verdict.capitalize()}: {row.label}: {why.rstrip('.')}."
            continue
        what = _hypothetical(coverages[row.id]) * row.disjoint
        sides = (f"{s} {' '.join(job.runs[f'{row.id}/{s}'])}" for s in ("dense", "lexical"))
        yield f"{row.label}: {', '.join(sides)}{what}."
    yield from notes.of_runs(job)
    yield from notes.of_scale(job)


def _hypothetical(counts: Coverage) -> str:
    """Return a remark that a diagram is hypothetical, and impossible if it exceeds the queries."""
    text = ", as large and without an overlap: hypothetical"
    more = ", and impossible, since D and S together are more than the queries"
    return text + more * (counts.first + counts.second > counts.queries)


def values(
    job: BoundVenn, row: str, column: str, metrics: Path, groups: object, read: object
) -> list[Coverage]:
    """Return the counts behind a number: the queries that each part answers."""
    diagram = next(one for one in job.entry.rows if one.id == row)
    return [counted(diagram, hits(job, row, metrics))]


def places(job: BoundVenn, numbers: Sequence[GridCell]) -> layout.Places:
    """Return the number that each cell of the grid shows. Rows without numbers have no line."""
    shown = {number.row for number in numbers if number.measured is not None}
    rows = [row.id for row in job.entry.rows if row.id in shown]
    return [[None, *(f"{row}/{name}" for name in QUANTITIES), None] for row in rows]


if __name__ == "__main__":
    command.main(app)
