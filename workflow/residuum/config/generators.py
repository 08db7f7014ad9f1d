"""Faults of generators: what plays them, and lengths that a backbone made here does not have.

Usage: `generator_faults(registry, entry)` yields the key and the fault.
"""

from collections.abc import Iterator

from pydantic import BaseModel

from residuum.config.bindings import Bindings
from residuum.config.schema.backbones import Backbone
from residuum.config.schema.base import Ref, walk
from residuum.config.schema.datasets import Dataset
from residuum.config.schema.models import QuestionGenerator
from residuum.config.schema.questions import Synthetic
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
    if isinstance(entry, QuestionGenerator):
        yield from _too_large(registry, entry, entry)
    if isinstance(entry, Dataset):
        yield from _too_long(registry, entry)


def _too_large(
    registry: Bindings, generator: QuestionGenerator, asks: QuestionGenerator | Synthetic
) -> Iterator[Fault]:
    """Yield what is more than a backbone has that the graph makes and the generator starts from."""
    for start in registry.scale.starts(generator.backbone):
        shape = registry.models.get(start.model) if isinstance(start, FromModel) else None
        if not (isinstance(start, FromModel) and isinstance(shape, Backbone)):
            continue
        limits = {"doc_length": shape.max_length, "question_length": shape.max_length}
        for key, limit in {**limits, "layers": shape.layers}.items():
            if (given := getattr(asks, key, 0)) > limit:
                has = f"max_length {limit}" if key in limits else f"{limit} layers"
                yield key, f"{given}, but {start.model}, the start at this scale, has {has}"


def _too_long(registry: Bindings, dataset: Dataset) -> Iterator[Fault]:
    """Yield the lengths of synthetic splits that play a role and exceed what their writer reads."""
    name = next(name for name, entry in registry.datasets.items() if entry is dataset)
    for split, entry in dataset.splits.items():
        how = entry.synthetic
        if how is None or f"{name}/{split}" not in registry.scale.roles.values():
            continue
        for start in registry.scale.starts(how.generator):
            writer = registry.models.get(start.model) if isinstance(start, FromModel) else None
            if isinstance(writer, QuestionGenerator):
                for key, text in _too_large(registry, writer, how):
                    yield f"splits.{split}.synthetic.{key}", text
