"""The costs of the points of a figure over depths or efforts: pairs scored, vectors compared.

Usage: `notes(job, manifests)` for a caption, `dict(compared(manifest))`.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from residuum.artefacts import manifest
from residuum.pages.figure.job import BoundFigure
from residuum.wiring.paths import Paths

PATHS = Paths()


def notes(job: BoundFigure, manifests: Sequence[Path]) -> Iterator[str]:
    """Yield a caption's notes on costs: pairs that rerankers scored, or searches of runs."""
    if job.sweep is None:
        yield from map(scored, manifests)
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
        of = f"{facts['vectors']:,} vectors of {facts['dimensions']} floats, {size:.3g} GB"
        yield f"{_run(path)}: {of}; shards, each with an index: {facts['indexes']}."
    yield (
        f"How long searches took is drawn in timings/{job.id}.pdf: no two runs agree in that, so "
        "that it is no part of this page."
    )


def scored(path: Path) -> str:
    """Return a note on the pairs that a reranker scored, with and without sharing between runs."""
    facts = manifest.read(path)["artefact"]
    pairs, alone = facts["pairs"], facts["pairs_without_sharing"]
    return (
        f"Pairs scored by {path.name.partition('.')[0]}: {pairs:,}, each once for all depths of "
        f"{len(facts['pairs_per_run'])} first-stage runs; {alone:,} if every run were scored alone "
        f"at its largest depth ({1 - pairs / max(alone, 1):.0%} saved)."
    )


def compared(path: Path) -> Iterator[tuple[tuple[str, int], float]]:
    """Yield the vectors compared for a query, by run and effort; nothing for scored pairs."""
    by_effort = manifest.read(path)["artefact"].get("vectors_compared", {})
    yield from (((_run(path), int(effort)), count) for effort, count in by_effort.items())


def _run(path: Path) -> str:
    return (PATHS.sweep.manifest.parse(path) or {}).get("run", path.name)
