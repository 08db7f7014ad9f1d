"""How a term weighter learns the recall of a doc's words in its queries (DeepCT, section 3).

Usage: see the package. One example is a doc that is some query's positive.
Must not know the training loop, or what becomes of the predictions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from residuum.core import contracts
from residuum.core.chunks import chunks
from residuum.core.schema.models import TermWeights
from residuum.neural import batches, losses, pretrained
from residuum.neural.devices import Device
from residuum.neural.learners.base import Files, Part
from residuum.neural.learners.material import steps_of, wanted_docs, wanted_queries
from residuum.neural.termrecall import recall, targets
from residuum.neural.termweighter import Doc, TermWeighter, Weighting

DOCS_AT_ONCE = 4096


class Example(NamedTuple):
    """A doc that has a word, without the words themselves, and the target of each."""

    doc: Doc
    targets: np.ndarray


class TermLearner:
    """A term weighter in training on docs in seeded order."""

    def __init__(
        self, model: TermWeighter, form: TermWeights, seed: int, examples: list[Example]
    ) -> None:
        self.weighter, self.examples = model, examples
        self.model = model.model
        self.visits = batches.Visits(len(examples), form.training.batch_size, seed)
        self.pairs = len(examples)
        self.indivisible = False
        self.steps = steps_of(form.training, self.visits)

    @property
    def revision(self) -> str | None:
        """Commit hash of the start if it came from the hub."""
        return pretrained.commit(self.model)

    def save(self, folder: Path) -> None:
        """Write the checkpoint."""
        self.weighter.save(folder)

    def losses(self, step: int, rows: slice) -> Part:
        """Return the losses (rows,) of some of a step's docs."""
        import torch

        visits = self.visits.of(step)
        batch = [self.examples[number] for number, _ in visits[rows]]
        predicted = self.weighter.forward([example.doc for example in batch])
        wanted = torch.from_numpy(np.concatenate([example.targets for example in batch]))
        words = [len(example.targets) for example in batch]
        found = losses.mean_squared_errors(predicted, wanted.to(predicted.device), words)
        return Part(found, len(visits), {})


def make(
    form: TermWeights,
    start: str,
    revision: str | None,
    device: Device,
    seed: int,
    material: Files,
) -> TermLearner:
    """Return the learner of a term weighter."""
    settings = Weighting(length=form.length, scale=form.scale)
    weighter = TermWeighter.start(start, revision, settings, device, form.training.dropout)
    pairs = batches.part_of(contracts.read_tuples(material.tuples), form.training.part)
    return TermLearner(weighter, form, seed, gather(weighter, pairs, material))


def gather(
    weighter: TermWeighter, pairs: Iterable[contracts.Tuple], material: Files
) -> list[Example]:
    """Return an example for each positive of the pairs, in corpus order."""
    asked: defaultdict[str, set[str]] = defaultdict(set)
    for pair in pairs:
        asked[pair.positive].add(pair.query_id)
    wanted = set().union(*asked.values())
    words = {key: weighter.words(text) for key, text in wanted_queries(material, wanted)}
    examples = []
    for chunk in chunks(wanted_docs(material, set(asked)), DOCS_AT_ONCE):
        docs = weighter.read([text for _, text in chunk])
        for (doc_id, _), doc in zip(chunk, docs, strict=True):
            recalls = recall([words[query_id] for query_id in asked[doc_id]])
            found = np.array(targets(doc.words, recalls), dtype=np.float32)
            if doc.words:
                examples.append(Example(doc._replace(words=[]), found))
    return examples
