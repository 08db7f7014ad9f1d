"""A task of copying: a question asks for the first and the third of the three names of its doc."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from corpora import make_corpus
from residuum.artefacts import contracts, trec
from tiny_models import make_backbone, question_generator_spec, train_toy

NAMES = [
    "amber", "basil", "cedar", "daisy", "ember", "fern", "grove", "hazel", "ivory", "jade", "kelp",
    "lilac", "maple", "nettle", "olive", "poppy", "quince", "rowan", "sage", "thyme", "umber",
    "violet", "willow", "yarrow",
]  # fmt: skip
PAIRS, HELD_OUT = 600, 100


def draw(count: int, seed: int) -> dict[str, tuple[str, str]]:
    """Return docs and their questions, by doc_id."""
    random, pairs = np.random.default_rng(seed), {}
    for number in range(count):
        a, b, c = random.choice(NAMES, 3, replace=False)
        pairs[f"s{seed}d{number}"] = (f"{a} and {b} with {c}", f"about {a} {c}")
    return pairs


def write_task(folder: Path, more: Sequence[tuple[str, str]] = (), **backbone: int) -> Path:
    """Write corpus, queries and tuples of the task, and `start`, a backbone of all its texts.

    It has read more docs where they are given. `held` is a corpus of docs that no pair has; their
    questions are those of `draw(HELD_OUT, 2)`.
    """
    pairs, held = draw(PAIRS, 1), draw(HELD_OUT, 2)
    make_corpus(folder / "corpus", docs_of(pairs))
    make_corpus(folder / "held", docs_of(held))
    words = [(doc_id, f"{doc} {question}") for doc_id, (doc, question) in pairs.items()]
    make_corpus(folder / "words", [*words, *more])
    shape = {"vocabulary": 200, "hidden": 32, "intermediate": 64, **backbone}
    make_backbone(folder / "start", folder / "words", **shape)
    trec.write_queries(folder / "queries.tsv", ((f"q-{d}", q) for d, (_, q) in pairs.items()))
    tuples = [contracts.Tuple(f"q-{doc_id}", doc_id, 0.0, [], []) for doc_id in pairs]
    contracts.write_tuples(folder / "tuples.jsonl.gz", tuples)
    return folder


def docs_of(pairs: Mapping[str, tuple[str, str]]) -> list[tuple[str, Any]]:
    """Return the docs of the pairs, as `make_corpus` takes them."""
    return [(doc_id, doc) for doc_id, (doc, _) in pairs.items()]


def train_copying(task: Path, output: Path, **changes: Any) -> Path:
    """Train a generator on the task and return its folder; it learns it in 200 steps."""
    how = {"steps": 200, "batch_size": 32, "cross_attention": "copying", **changes}
    return train_toy(task, output, question_generator_spec(**how))
