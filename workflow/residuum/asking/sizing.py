"""How much there is to do, from config/ alone: docs, queries, pairs, tokens, steps, parameters.

Usage: `sizing.queries(registry, Place("msmarco-passage", "dev"))`. Counts are the pins of
config/datasets; where nothing is pinned, they are stated assumptions. Must not know rules or costs.
"""

import json
import math
import re
from pathlib import Path
from typing import Any, NamedTuple

from residuum.asking.assumptions import assumed
from residuum.core.registry import Place, Registry
from residuum.core.schema.datasets import Dataset
from residuum.core.schema.models import Training
from residuum.core.schema.scales import FromModel, FromPath
from residuum.wiring.availability import all_available
from residuum.wiring.runs import candidates

# Mean bytes of a doc's text: the unpacked collection over its docs; the others measured on export.
DOC_BYTES = {
    "msmarco-passage": 340,
    "msmarco-document": 6900,
    "nq-dpr": 630,
    "nq-250k": 630,
    "robust04": 3000,
    "nfcorpus": 2400,
    "generated-mini": 290,
    "generated-smoke": 290,
    "generated-articles-mini": 1700,
    "generated-articles-smoke": 1700,
}
OTHER_DOC_BYTES = 1000
UNPINNED_QUERIES = 1000
SPECIAL = 2
EXTERNAL_HITS = 1000


class Shape(NamedTuple):
    """What decides a transformer's parameters and its operations."""

    layers: int
    hidden: int
    intermediate: int
    vocabulary: int = 30522

    @property
    def layer_parameters(self) -> int:
        """Return the weights of all layers' matrices, which do the work."""
        attention, forward = 4 * self.hidden**2, 2 * self.hidden * self.intermediate
        return self.layers * (attention + forward)

    @property
    def parameters(self) -> int:
        """Return all weights but biases and norms: the layers' and the embeddings'."""
        return self.layer_parameters + (self.vocabulary + 514) * self.hidden

    def forward(self, length: float) -> float:
        """Return the floating-point operations of reading one text of `length` tokens."""
        return length * (2 * self.layer_parameters + 4 * self.layers * length * self.hidden)


BASE = Shape(12, 768, 3072)
LARGE = Shape(24, 1024, 4096)


def shape_of_hub(name: str) -> Shape:
    """Guess a hub model's shape from its name: L6-H384 as it says, else BERT-large or BERT-base."""
    if told := re.search(r"\bL-?(\d+)[-_]H-?(\d+)", name):
        layers, hidden = int(told[1]), int(told[2])
        return Shape(layers, hidden, 4 * hidden)
    return LARGE if "large" in name.lower() else BASE


def shape(registry: Registry, cast: Any) -> Shape:
    """Return the shape of what plays a backbone or a reranker."""
    if isinstance(cast, FromPath):
        return _shape_in(Path(cast.path))
    if isinstance(cast, FromModel):
        return shape_of_model(registry, cast.model)
    return shape_of_hub(cast.hub)


def _shape_in(folder: Path) -> Shape:
    told = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    names = ("num_hidden_layers", "hidden_size", "intermediate_size", "vocab_size")
    return Shape(*(told.get(name, size) for name, size in zip(names, BASE, strict=True)))


def shape_of_model(registry: Registry, name: str) -> Shape:
    """Return the shape of an entry of config/models: its own, or that of what it starts from."""
    model = registry.models[name]
    if model.kind == "backbone":
        return Shape(model.layers, model.hidden, model.intermediate, model.vocabulary)
    return shape(registry, registry.backbone(model.backbone))


def docs(registry: Registry, dataset: str) -> int:
    """Return the docs of a corpus, of its largest edition."""
    return max(edition.docs for edition in registry.datasets[dataset].editions)


def doc_bytes(dataset: str) -> int:
    """Return the mean bytes of a doc's text."""
    return DOC_BYTES.get(dataset, OTHER_DOC_BYTES)


def text_bytes(registry: Registry, dataset: str) -> int:
    """Return the bytes of a corpus's text."""
    return docs(registry, dataset) * doc_bytes(dataset)


def doc_tokens(dataset: str, limit: int) -> float:
    """Return the mean wordpieces that a model reads of a doc, at most its limit."""
    return min(limit, doc_bytes(dataset) / assumed("text") + SPECIAL)


def vectors(registry: Registry, dataset: str) -> int:
    """Return the vectors of a corpus: one a doc, or as many as it is expected to have passages."""
    form = registry.datasets[dataset].windows
    return docs(registry, dataset) * (form.expected if form else 1)


def queries(registry: Registry, place: Place) -> int:
    """Return the queries of a split, without those that are held out of it."""
    dataset = registry.datasets[place.dataset]
    if holdout := dataset.splits[place.split].holdout:
        return holdout.queries
    pins = [e.splits[place.split].queries for e in dataset.editions if place.split in e.splits]
    return (max(pins) - _held_out(dataset, place.split)) if pins else UNPINNED_QUERIES


def _held_out(dataset: Dataset, split: str) -> int:
    drawn = [other.holdout for other in dataset.splits.values() if other.holdout]
    return sum(holdout.queries for holdout in drawn if holdout.of == split)


def pairs(registry: Registry, place: Place) -> int:
    """Return the (query, positive) pairs of a training split; a held out query takes one away."""
    dataset = registry.datasets[place.dataset]
    level = dataset.splits[place.split].positive_level
    found = []
    for pin in (e.splits[place.split] for e in dataset.editions if place.split in e.splits):
        levels = [number for grade, number in pin.relevance.items() if grade >= level]
        found.append(sum(levels) if pin.relevance else pin.qrels)
    return (max(found) - _held_out(dataset, place.split)) if found else UNPINNED_QUERIES


def steps(training: Training, examples: int) -> int:
    """Return the steps of a training that has `examples` to visit."""
    if training.steps is not None:
        return training.steps
    share = examples / training.part[1]
    return max(1, math.ceil((training.epochs or 0) * share / training.batch_size))


def hits(registry: Registry, system: str) -> int:
    """Return the most docs that a run of a system holds for a query."""
    entry = registry.systems[system]
    if entry.kind == "rerank":
        return hits(registry, entry.first_stage)
    return EXTERNAL_HITS if entry.kind == "external" else int(entry.k)


def rerank_pairs(registry: Registry, reranker: str, place: Place) -> int:
    """Return the most pairs that a reranker scores on a split: no doc stands in two lists."""
    deepest = candidates(registry, reranker, place, all_available)
    return queries(registry, place) * sum(deepest.values())
