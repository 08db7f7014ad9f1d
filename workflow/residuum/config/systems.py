"""Faults of systems that are made of others: what a part cannot give, grids that a measure has not.

Usage: `system_faults(registry, entry)` yields the key and the fault.
"""

from collections.abc import Iterator

from pydantic import BaseModel

from residuum.config import measures
from residuum.config.registry import Registry
from residuum.config.schema.models import DualEncoder
from residuum.config.schema.systems import DenseSystem, FusionSystem, HybridSystem, LexicalSystem

Fault = tuple[str, str]  # key, what is wrong


def system_faults(registry: Registry, entry: BaseModel) -> Iterator[Fault]:
    """Yield what contradicts between a system and the parts that it names; of others nothing."""
    if isinstance(entry, FusionSystem):
        for part in dict.fromkeys(part for part, _ in entry.true_scores()):
            system = registry.systems.get(part)
            plain = isinstance(system, LexicalSystem) and not system.rm3
            if system and not plain and not isinstance(system, DenseSystem):
                text = "true_score is computed for dense systems and plain BM25 only, and"
                yield "unretrieved", f"{text} '{part}' is neither; write {part}: minimum"
        measure = entry.interpolation.measure
        if entry.interpolation.grid == "exact" and measure:
            known = not measures.fault(measure, ("judgements", "answers"))
            if known and not measures.of_first(measure):
                have = "as RR@k, Success@k and AnswerAccuracy@k have"
                yield "interpolation.grid", f"{measure} has no exact grid, {have}; list weights"
    if isinstance(entry, DenseSystem) and entry.first:
        model = registry.models.get(entry.model)
        if model and not (
            isinstance(model, DualEncoder) and model.encoder.pooling.most("doc") == 1
        ):
            text = f"{entry.model} makes no vector for each passage of a doc, or several"
            yield "passages", f"{text}; leave it out"
    if isinstance(entry, HybridSystem):
        for part in entry.parts:
            searched = registry.systems.get(part)
            if isinstance(searched, DenseSystem) and searched.search:
                text = f"'{part}' has a search of its own, and a hybrid compares all docs"
                yield "parts", f"{text}: name one without `search`"
        measure = entry.interpolation.measure
        if measure and measures.reads(measure) == "answers":
            yield "interpolation.measure", f"{measure} is by answers; write such as Success@k"
