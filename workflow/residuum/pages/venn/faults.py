"""Faults of circles: a measure that is no hit. Usage: `faults(registry, venn)`."""

from collections.abc import Iterator

from residuum.config import measures
from residuum.config.registry import Registry
from residuum.pages.faults import Fault, reported_faults
from residuum.pages.venn.entry import Venn


def faults(registry: Registry, venn: Venn) -> Iterator[Fault]:
    """Yield the faults between circles and other entries."""
    yield from reported_faults(registry, venn)
    if not measures.is_hit(venn.measure):
        text = f"{venn.measure} is no measure of hits, 0 or 1"
        yield "measure", f"{text}; take a measure such as Success@10"
