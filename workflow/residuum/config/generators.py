"""Faults of what plays generators: one writes questions, and all other models start from others.

Usage: `generator_faults(registry, entry)` yields the key and the fault. Must not know results.
"""

from collections.abc import Iterator

from pydantic import BaseModel

from residuum.config.bindings import Bindings
from residuum.config.schema.base import Ref, walk
from residuum.config.schema.models import QuestionGenerator
from residuum.config.schema.scales import FromModel

Fault = tuple[str, str]  # key, what is wrong


def generator_faults(registry: Bindings, entry: BaseModel) -> Iterator[Fault]:
    """Yield the roles under `backbones:` that a model of another kind plays than an entry needs."""
    for key, mark, role in walk(entry):
        if not (isinstance(mark, Ref) and mark.to == "backbone"):
            continue
        writes = mark.use == "generator"
        for start in (s for s in registry.scale.starts(role) if isinstance(s, FromModel)):
            model = registry.models.get(start.model)
            if model and isinstance(model, QuestionGenerator) != writes:
                need = "a question-generator" if writes else "an encoder"
                text = f"which is of kind {model.kind}, and {need} is needed"
                yield key, f"{registry.scale_file} has {start.model} play {role}, {text}"
