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

from residuum.artefacts import contracts
from residuum.artefacts.streams import chunks
from residuum.config.schema.models import TermWeights
from residuum.neural import batches, losses
from residuum.neural.learners.base import BatchLoss, Learner, Outputs, Start, TrainingData
from residuum.neural.learners.training_data import steps_of, wanted_docs, wanted_queries
from residuum.neural.termrecall import recall, targets
from residuum.neural.termweighter import Doc, TermWeighter, Weighting

DOCS_AT_ONCE = 4096


class Example(NamedTuple):
    """A doc that has a word, without the words themselves, and the target of each."""

    doc: Doc
    targets: np.ndarray


class TermBatch(NamedTuple):
    """The docs of a step, or some of them."""

    docs: list[Example]


class TermLearner(Learner[TermBatch]):
    """A term weighter in training on docs in seeded order; its outputs are the words' weights."""

    def __init__(
        self, model: TermWeighter, spec: TermWeights, seed: int, examples: list[Example]
    ) -> None:
        self.weighter, self.model, self.docs = model, model.model, examples
        self.pairs = len(examples)
        self.sampler = batches.EpochSampler(self.pairs, spec.training.batch_size, seed)
        self.steps = steps_of(spec.training, self.sampler)

    def save(self, folder: Path) -> None:
        """Write the checkpoint."""
        self.weighter.save(folder)

    def batch(self, step: int) -> TermBatch:
        """Return the docs of a step."""
        return TermBatch([self.docs[number] for number, _ in self.sampler.visits(step)])

    def forward(self, batch: TermBatch) -> Outputs:
        """Return the weights of all words."""
        return [self.weighter.forward([example.doc for example in batch.docs])]

    def losses(self, batch: TermBatch, outputs: Outputs, rows: slice) -> BatchLoss:
        """Return the loss of each doc."""
        import torch

        targets = torch.from_numpy(np.concatenate([example.targets for example in batch.docs]))
        words = [len(example.targets) for example in batch.docs]
        weights = outputs[0]
        return BatchLoss(losses.mean_squared_errors(weights, targets.to(weights.device), words), {})


def make(spec: TermWeights, start: Start, data: TrainingData) -> TermLearner:
    """Return the learner of a term weighter."""
    settings = Weighting(length=spec.length, scale=spec.scale)
    name, revision, device, seed = start
    weighter = TermWeighter.start(name, revision, settings, device, spec.training.dropout)
    pairs = batches.part_of(contracts.read_tuples(data.tuples), spec.training.part)
    return TermLearner(weighter, spec, seed, build_examples(weighter, pairs, data))


def build_examples(
    weighter: TermWeighter, pairs: Iterable[contracts.Tuple], data: TrainingData
) -> list[Example]:
    """Return an example for each positive of the pairs, in corpus order."""
    asked: defaultdict[str, set[str]] = defaultdict(set)
    for pair in pairs:
        asked[pair.positive].add(pair.query_id)
    needed = set().union(*asked.values())
    words = {key: weighter.words(text) for key, text in wanted_queries(data, needed)}
    examples = []
    for chunk in chunks(wanted_docs(data, set(asked)), DOCS_AT_ONCE):
        docs = weighter.read([text for _, text in chunk])
        for (doc_id, _), doc in zip(chunk, docs, strict=True):
            recalls = recall([words[query_id] for query_id in asked[doc_id]])
            found = np.array(targets(doc.words, recalls), dtype=np.float32)
            if doc.words:
                examples.append(Example(doc._replace(words=[]), found))
    return examples
