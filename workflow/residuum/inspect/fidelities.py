"""How many dimensions keep a lexical ranking, for people: what a measurement of fidelity found.

Usage: `show(Path("results/mini"), "cacm/test", "luan2021")`. Must not know how it was measured.
"""

import json
import math
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from residuum.artefacts import fidelities, files
from residuum.artefacts.fidelities import Measured
from residuum.cli.errors import ResiduumError
from residuum.config.schema.fidelities import Fidelity
from residuum.pages import layout
from residuum.pages.layout import DASH
from residuum.vectors import bounds
from residuum.wiring.paths import Paths, folder_of

RECALLS = (0.5, 0.75, 0.9, 0.95)


def show(results: Path, place: str, name: str) -> str:
    """Describe a measurement on a split, <dataset>/<split>."""
    dataset, _, split = place.partition("/")
    if not dataset or not split:
        raise ResiduumError(f"{place}: name a split as <dataset>/<split>, such as cacm/test")
    target = Path(Paths(str(results)).fidelity.fill(dataset=dataset, split=split, fidelity=name))
    if not target.is_file():
        raise ResiduumError(
            f"{target}: not measured yet. Make it with: snakemake --cores all -- {target}"
        )
    folder = Path(folder_of(str(target)))
    spec = json.loads(files.read_bytes(target))["spec"]
    return "\n".join(_lines(place, Fidelity.model_validate(spec), fidelities.read(folder)))


def _lines(place: str, job: Fidelity, of: Measured) -> Iterator[str]:
    facts, kind = of.facts, "Boolean vectors" if job.present else f"vectors of {job.model}"
    counts = [f"{facts[name]:,} {name}" for name in ("queries", "docs", "terms")]
    yield f"{place}: {', '.join(counts)}; {kind}, {job.draws} {job.distribution} projections"
    text = f"the longest query has {facts['most_terms']['query']} terms, "
    text += f"the longest doc {facts['most_terms']['doc']}"
    if facts["least_margin"] is not None:
        text += f"; the least normalised margin is {facts['least_margin']:.3g}"
    yield text
    if job.present:
        size = f"{facts['boolean_dimensions']:,.0f}"
        yield f"{size} dimensions suffice for each pair (Corollary 2, error {job.error})"
    share, nearest = f"{job.error:.0%}", _nth(job.nearest[0])
    yield f"\nDimensions at which so many queries keep their first doc among the first {job.depth};"
    yield f"margin: the {nearest} smallest one of a query, the median over queries"
    yield layout.grid(*_recalls(job, of))
    yield f"\nDimensions at which at most {share} of pairs are turned: as measured, exactly for a"
    yield "Gaussian projection of pairs of that margin, and as Lemma 1 guarantees"
    yield layout.grid(*_pairs(job, of))
    if beyond := facts["beyond_bins"]:
        part = f"{beyond / facts['pairs']:.1%} of {facts['pairs']:,} pairs"
        most = f"{job.dimensions.values()[-1]:,} dimensions"
        yield f"{part} have smaller margins, at which {most} do not do"


def _nth(number: int) -> str:
    return {1: "1st", 2: "2nd", 3: "3rd"}.get(number, f"{number}th")


def _recalls(job: Fidelity, of: Measured) -> tuple[list[str], list[list[str]]]:
    header = ["terms of docs", "docs", "queries", "margin", *(f"{share:.0%}" for share in RECALLS)]
    lines = []
    for name, *_ in of.recall.unique("length", maintain_order=True).iter_rows():
        own = of.recall.filter(length=name)
        margins = of.margins.filter(length=name, nearest=job.nearest[0])["margin"]
        middle = margins.median()
        line = [name, f"{own['docs'][0]:,}", f"{own['queries'][0]:,}"]
        line += [f"{middle:.4f}" if isinstance(middle, float) else DASH]
        lines.append([*line, *(reached(own, pl.col("recall") >= share) for share in RECALLS)])
    return header, lines


def _pairs(job: Fidelity, of: Measured) -> tuple[list[str], list[list[str]]]:
    header = ["margin", "pairs", "measured", "exact", "Lemma 1"]
    lines = []
    for margin in of.pairs["margin"].unique(maintain_order=True):
        own = of.pairs.filter(pl.col("margin") == margin)
        exact = f"{own['exact'][0]:,}"
        lemma = f"{math.ceil(bounds.least_dimensions(margin, job.error)):,}"
        measured = reached(own, pl.col("error") <= job.error)
        lines.append([f"{margin:.4f}", f"{own['pairs'][0]:,}", measured, exact, lemma])
    return header, lines


def reached(rows: pl.DataFrame, enough: pl.Expr) -> str:
    """Return the least dimensions at which something is reached, or that the most do not."""
    tried, found = rows["dimensions"].to_list(), rows.filter(enough)["dimensions"].to_list()
    return f"{min(found):,}" if found else f"> {max(tried):,}"
