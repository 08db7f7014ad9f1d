"""Describe a measurement of fidelity: how many dimensions keep a lexical ranking.

Usage: `show(Path("results/mini"), "cacm/test", "luan2021")`.
"""

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from residuum.artefacts import fidelities, manifest
from residuum.artefacts.fidelities import Measured
from residuum.cli.errors import ResiduumError, hint
from residuum.config.schema.fidelities import Fidelity, nth
from residuum.pages import layout
from residuum.pages.dimensions.entry import RECALLS
from residuum.pages.layout import DASH
from residuum.wiring.paths import Paths, folder_of


def show(results: Path, place: str, name: str) -> str:
    """Describe the measurement `name` on a split, <dataset>/<split>."""
    dataset, _, split = place.partition("/")
    if not dataset or not split:
        raise ResiduumError(f"{place}: name a split as <dataset>/<split>, such as cacm/test")
    target = Path(Paths(str(results)).fidelity.fill(dataset=dataset, split=split, fidelity=name))
    if not target.is_file():
        raise ResiduumError(_not_measured(results, place, name, target))
    folder = Path(folder_of(str(target)))
    spec = manifest.read(target)["spec"]
    return "\n".join(_lines(place, Fidelity.model_validate(spec), fidelities.read(folder)))


def _not_measured(results: Path, place: str, name: str, target: Path) -> str:
    """Say that a split was not measured, which splits were, and how to measure."""
    splits = sorted("/".join(p.parent.parts[-2:]) for p in results.glob(Paths().queries.pattern))
    measured = sorted(path.parent.name for path in target.parents[1].glob(f"*/{target.name}"))
    text = f"{target}: not measured yet"
    if measured:
        text += f"; on {place} there are {', '.join(measured)} (--of {measured[0]})"
    elif place not in splits:
        text += f", and {results} has no split {place}"
    text += f".{'' if place in splits else hint(place, splits)}"
    cure = f"snakemake --cores all --config scale={results.resolve().name} -- {target}"
    return f"{text} Where {name} is an entry of config/fidelities, make it with: {cure}"


def _lines(place: str, job: Fidelity, measured: Measured) -> Iterator[str]:
    facts, kind = measured.facts, "Boolean vectors" if job.present else f"vectors of {job.model}"
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
    share, nearest = f"{job.error:.0%}", nth(job.depth)
    yield f"\nDimensions at which so many queries keep their first doc among the first {job.depth};"
    yield f"docs that tie with it do not count. margin: the {nearest} smallest, median over queries"
    yield layout.grid(*_recalls(job, measured))
    yield f"\nDimensions at which at most {share} of the pairs of a bin are turned: as measured,"
    yield "exactly for Gaussian projections, and as Lemma 1 guarantees; margin: the bin's mean"
    yield layout.grid(*_pairs(job, measured))
    most = f"{job.dimensions.values()[-1]:,} dimensions"
    beyond, few = facts["beyond_bins"], facts["in_small_bins"]
    yield f"Of {facts['pairs']:,} pairs {beyond:,} have margins at which {most} do not do;"
    yield f"{few:,} lie in bins of fewer than {job.fewest}, which are not shown"


def _recalls(job: Fidelity, measured: Measured) -> tuple[list[str], list[list[str]]]:
    header = ["terms of docs", "docs", "queries", "margin", *(f"{share:.0%}" for share in RECALLS)]
    by = ["length", "docs", "queries"]
    columns = [
        fidelities.least(measured.recall, by, pl.col("recall") >= share) for share in RECALLS
    ]
    lines = []
    for number, (length, docs, queries, _) in enumerate(columns[0].iter_rows()):
        margins = measured.margins.filter(length=length, nearest=job.depth)["margin"]
        middle = margins.median()
        line = [length, f"{docs:,}", f"{queries:,}"]
        line += [f"{middle:.4f}" if isinstance(middle, float) else DASH]
        lines.append([*line, *(_tried(job, column["dimensions"][number]) for column in columns)])
    return header, lines


def _pairs(job: Fidelity, measured: Measured) -> tuple[list[str], list[list[str]]]:
    by = ["margin", "pairs", "exact", "guaranteed"]
    bins = fidelities.least(measured.pairs, by, pl.col("error") <= job.error)
    lines = [
        [f"{margin:.4f}", f"{pairs:,}", _tried(job, tried), f"{exact:,}", f"{guaranteed:,}"]
        for margin, pairs, exact, guaranteed, tried in bins.iter_rows()
    ]
    return ["margin", "pairs", "measured", "exact", "Lemma 1"], lines


def _tried(job: Fidelity, least: int | None) -> str:
    """Write the least sufficient number of dimensions, or "> the most tried" if none sufficed."""
    return f"{least:,}" if least is not None else f"> {job.dimensions.values()[-1]:,}"
