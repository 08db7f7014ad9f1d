"""Dense systems that no file defines: the id of a model names the search by its vectors.

Usage: `of_models(entries, models, systems)` returns the systems that entries name. `me-bert` is the
dense system of the model `me-bert`. `clear-embedding` is that of `clear`: a fusion has the id
`clear`.
"""

from collections.abc import Iterable, Mapping

from pydantic import BaseModel

from residuum.config.schema.base import references
from residuum.config.schema.models import Model, Vectors
from residuum.config.schema.systems import DenseSystem, System

SUFFIX = "-embedding"


def model_of(system: str) -> tuple[str, str]:
    """Return the models whose dense system an id may name, in the order of preference."""
    return system, system.removesuffix(SUFFIX)


def of_models(
    entries: Iterable[BaseModel], models: Mapping[str, Model], systems: Mapping[str, System]
) -> dict[str, DenseSystem]:
    """Return the dense systems that entries name and no file defines."""
    named = {name for entry in entries for _, name in references(entry, "system")}
    made = {name: _dense(name, models) for name in named - systems.keys()}
    return {name: system for name, system in made.items() if system}


def _dense(name: str, models: Mapping[str, Model]) -> DenseSystem | None:
    """Return the dense system of a model with vectors, with its label, or None."""
    for model in model_of(name):
        entry = models.get(model)
        if isinstance(entry, Vectors):
            made = {"kind": "dense", "model": model, "label": entry.description}
            return DenseSystem.model_validate(made)
    return None
