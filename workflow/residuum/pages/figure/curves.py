"""The values and the costs behind a figure over depths or efforts.

Usage: `measured(figure, curve)`, so that figures and claims see the same values. Costs are the
pairs that a reranker scored, or the vectors that a search compared.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import cast

import polars as pl

from residuum import paired
from residuum.artefacts import manifest, trec
from residuum.cli.errors import ResiduumError
from residuum.config.schema.sweeps import Sweep
from residuum.pages import grids
from residuum.pages.figure.job import BoundFigure
from residuum.pages.figure.points import Point
from residuum.wiring.paths import Paths

PATHS = Paths()
Costs = Mapping[tuple[str, int], float]  # (run, effort): vectors compared for a query


def measured(job: BoundFigure, table: pl.DataFrame, costs: Costs | None = None) -> list[Point]:
    """Return a point per panel, series and x of the curve; all points have the same queries."""
    if not job.drawn():
        raise ResiduumError(f"{job.id}: no series has runs at scale {job.scale}")
    over, points = job.entry.over, []
    for panel, series in job.plotted():
        runs, measure = job.runs[series.id], panel.measure or trec.RECALL
        if missing := sorted(set(runs) - set(table["run"])):
            known = ", ".join(table["run"].unique().sort())
            text = f"the {over} curve lacks run {missing[0]}; it has {known}"
            raise ResiduumError(f"{job.id}: {text}")
        # Recall starts at x = 1: depth 0 has no candidates, and the exact search finds all docs.
        curve = table.filter(pl.col("run").is_in(runs), pl.col(over) >= int(panel.measure is None))
        parts = curve.partition_by(over, "run", as_dict=True)
        places = curve.filter(measure=measure)[over].unique().sort()
        if places.is_empty():
            known = ", ".join(curve["measure"].unique().sort()) or "nothing"
            raise ResiduumError(f"{job.id}: no values of {measure}; the {over} curve holds {known}")
        for x in places:
            tables = {run: parts.get((x, run), curve.clear()) for run in runs}
            scores = grids.matrix(tables, measure, f"{job.id}, {over} {x}: ")
            lengths = curve.filter(pl.col(over) == x, measure=trec.DOCS_RERANKED)["value"]
            cost = cast("float | None", lengths.mean())
            if costs:
                cost = sum(costs[run, x] for run in runs) / len(runs)
            points.append(Point(panel, series, x, str(x), scores, cost))
    sides = {f"{point.series.id} in {point.column}": point.scores.query_ids for point in points}
    paired.same_queries(sides, f"{job.id}: ")
    return points


def cost_notes(job: BoundFigure, manifests: Sequence[Path]) -> Iterator[str]:
    """Yield a caption's notes on costs: pairs that rerankers scored, or searches of runs."""
    if job.sweep is None:
        of_rerankers = dict[Path, list[Path]]()  # by reranker and split
        for path in manifests:
            of_rerankers.setdefault(path.parent, []).append(path)
        for folder, shards in of_rerankers.items():
            yield scored(folder.name, shards)
        return
    search = job.sweep.search
    settings = search.model_dump(exclude={"kind", search.effort})
    shown = ", ".join(f"{name} {value}" for name, value in settings.items() if value is not None)
    yield (
        f"Search: {search.kind} of FAISS, {shown}, {job.sweep.k} docs a query; effort is "
        f"{search.effort}. {job.sweep.description}".rstrip()
    )
    for path in manifests:
        facts = manifest.read(path)["artefact"]
        size = 4e-9 * facts["vectors"] * facts["dimensions"]
        held = f"{facts['vectors']:,} vectors of {facts['dimensions']} floats, {size:.3g} GB"
        shared = _of_centres(job.sweep, facts)
        yield f"{_run(path)}: {held}; shards, each with an index: {facts['indexes']}.{shared}"
    yield (
        f"How long searches took is drawn in timings/{job.id}.pdf. No two runs take equally long, "
        "so this page leaves it out."
    )


def _of_centres(sweep: Sweep, facts: manifest.Facts) -> str:
    """Say which share of all comparisons is with centres of lists, which every shard has anew."""
    indexes, every = facts["indexes"], facts["indexes"] * sweep.search.centres
    if not every:
        return ""
    least, most = (facts["vectors_compared"][str(sweep.efforts()[n])] for n in (0, -1))
    text = f" Of the vectors compared, {every:,} are centres of lists at any effort: "
    text += f"{every / least:.0%} at the least effort, {every / most:.0%} at the most."
    if indexes > 1:
        one = f"one index of all vectors would have {sweep.search.centres:,} centres"
        text += f" Effort is per shard, so that {indexes} times as many lists are read; {one}."
    return text


def scored(reranker: str, shards: Sequence[Path]) -> str:
    """Return a note on the pairs that a reranker scored, with and without sharing between runs."""
    facts = [manifest.read(path)["artefact"] for path in shards]
    pairs, alone = (sum(fact[of] for fact in facts) for of in ("pairs", "pairs_without_sharing"))
    runs = len(facts[0]["pairs_per_run"])
    return (
        f"Pairs scored by {reranker}: {pairs:,}, each once for all depths of {runs} first-stage "
        f"runs; {alone:,} if every run were scored alone at its largest depth "
        f"({1 - pairs / max(alone, 1):.0%} saved)."
    )


def vectors_compared(path: Path) -> Iterator[tuple[tuple[str, int], float]]:
    """Yield the vectors compared for a query, by run and effort; nothing for scored pairs."""
    by_effort = manifest.read(path)["artefact"].get("vectors_compared", {})
    yield from (((_run(path), int(effort)), count) for effort, count in by_effort.items())


def _run(path: Path) -> str:
    return (PATHS.sweep.manifest.parse(path) or {}).get("run", path.name)
