"""The toy problem: a backbone of a few thousand weights, specs that train it, its training."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from corpora import make_corpus
from residuum import pretrain, train
from residuum.artefacts import contracts, trec

BACKBONE = {
    "kind": "backbone",
    "description": "for tests",
    "corpora": ["test"],
    "vocabulary": 120,
    "hidden": 16,
    "layers": 1,
    "heads": 2,
    "intermediate": 32,
    "max_length": 32,
    "seed": 1,
}
ENCODER = {"query_length": 12, "doc_length": 24, "score_scale": 0.25}
TOPICS = ["river", "bread", "music", "engine", "winter", "market", "doctor", "forest"]
ANSWERS = ["water", "flour", "sound", "motor", "frost", "trade", "nurse", "trees"]


def make_backbone(folder: Path, corpus: Path, **changes: int) -> Path:
    """Make the backbone from a corpus and return its folder."""
    pretrain.backbone([corpus], json.dumps({**BACKBONE, **changes}), folder, threads=1)
    return folder


def toy_docs() -> list[tuple[str, str]]:
    """Return docs that answer one topic each, in words that no query holds."""
    words = ["here", "there", "often"]
    return [
        (f"d{i}-{w}", f"{answer} {w} {answer}") for i, answer in enumerate(ANSWERS) for w in words
    ]


def toy_queries() -> list[tuple[str, str]]:
    """Return one query for each topic."""
    return [(f"q{i}", f"about {topic}") for i, topic in enumerate(TOPICS)]


def sharing_queries() -> list[tuple[str, str]]:
    """Return one query for each topic that holds, beside it, a word of the docs that answer it."""
    return [(f"q{i}", f"{ANSWERS[i]} {topic}") for i, topic in enumerate(TOPICS)]


def toy_tuples() -> list[contracts.Tuple]:
    """Pair each query with the docs of its topic; the negatives are docs of two others."""
    docs = [doc_id for doc_id, _ in toy_docs()]
    tuples = []
    for number in range(len(TOPICS)):
        own = [doc for doc in docs if doc.startswith(f"d{number}-")]
        rest = [doc for doc in docs if doc not in own]
        for place, positive in enumerate(own):
            negatives = rest[place::2]
            scores = [0.5 * (i % 3) for i in range(len(negatives))]
            tuples.append(contracts.Tuple(f"q{number}", positive, 1.0, negatives, scores))
    return tuples


def order_share(scores: np.ndarray) -> float:
    """Return how often a doc of the query's topic scores above one of another: 0.5 by chance.

    The scores are of every query and doc of the toy problem, (topics, docs). Where training lands
    depends on the seed and the processor's rounding: on one with AVX-512, seeds 1 to 6 of each loss
    of a dual encoder and 1 to 4 of each pooling of a cross-encoder put at least 0.982 of the pairs
    in order.
    """
    docs = [doc_id for doc_id, _ in toy_docs()]
    own = np.array([[doc.startswith(f"d{i}-") for doc in docs] for i in range(len(TOPICS))])
    above = [row[mine][:, None] > row[~mine] for row, mine in zip(scores, own, strict=True)]
    return float(np.mean(above))


def write_toy(folder: Path, queries: Sequence[tuple[str, str]] = ()) -> None:
    """Write queries.tsv and tuples.jsonl.gz of the toy problem, or with other queries."""
    trec.write_queries(folder / "queries.tsv", queries or toy_queries())
    contracts.write_tuples(folder / "tuples.jsonl.gz", toy_tuples())


def write_problem(folder: Path, queries: Sequence[tuple[str, str]] = (), **backbone: int) -> Path:
    """Write the toy problem whole: corpus, queries, tuples, and `start`; return its folder.

    The start is a backbone of all its texts, which are in `words`.
    """
    write_toy(folder, queries)
    make_corpus(folder / "corpus", toy_docs())
    texts = [text for _, text in [*toy_docs(), *(queries or toy_queries())]] * 2
    words = make_corpus(folder / "words", [(f"w{i}", text) for i, text in enumerate(texts)])
    make_backbone(folder / "start", words, **backbone)
    return folder


def train_arguments(toy: Path, output: Path, spec: str, **changes: Any) -> dict[str, Any]:
    """Return the arguments of `train`, with the work folder beside the output."""
    base = {
        "tuples": toy / "tuples.jsonl.gz",
        "corpus": toy / "corpus",
        "queries": toy / "queries.tsv",
        "start": str(toy / "start"),
        "spec": spec,
        "seed": 1,
        "work": output.with_name(f"{output.name}.work"),
        "output": output,
        "threads": 1,
        "device": "cpu",
    }
    made = {**base, **changes}
    of_roles = {name: made[name] for name in ("tuples", "queries")}
    return made | {n: [str(of)] if isinstance(of, Path) else of for n, of in of_roles.items()}


def as_options(arguments: Mapping[str, Any]) -> list[str]:
    """Return the arguments of a function as the words of its command."""
    named = (
        (key, value)
        for key, given in arguments.items()
        for value in (given if isinstance(given, list) else [given])
    )
    return [w for key, value in named for w in (f"--{key.replace('_', '-')}", str(value))]


def train_toy(toy: Path, output: Path, spec: str, **changes: Any) -> Path:
    """Train a model in this process and return its folder."""
    train.train(**train_arguments(toy, output, spec, **changes))
    return output


def model_spec(loss: str = "residual_margin", **training: Any) -> str:
    """Return the JSON of a dual encoder that is trained on the toy problem."""
    losses: dict[str, dict[str, Any]] = {
        "residual_margin": {"xi": 1.0, "lambda_train": 0.1},
        "constant_margin": {"margin": 1.0},
        "nll": {},
    }
    sampled = {
        "pools": {"errors": {"kind": "hits", "system": "bm25", "top": 100}},
        "scores": "bm25",
        "per_pair": 20,
    }
    how = {"learning_rate": 0.01, "batch_size": 8, "steps": 60, "dropout": 0.1}
    spec = {
        "kind": "dual-encoder",
        "description": "for tests",
        "backbone": "test",
        "train_on": "test",
        "negatives": {} if loss == "nll" else sampled,
        "loss": {"kind": loss, **losses[loss]},
        "encoder": ENCODER,
        "training": {**how, **training},
    }
    return json.dumps(spec)


def term_weights_spec(**training: Any) -> str:
    """Return the JSON of a term weighter that is trained on the toy problem."""
    how = {"learning_rate": 0.01, "batch_size": 8, "steps": 60, "dropout": 0.1}
    spec = {
        "kind": "term-weights",
        "backbone": "test",
        "train_on": "test",
        "length": 24,
        "scale": 100,
        "training": {**how, **training},
    }
    return json.dumps(spec)


def term_gate_spec(**training: Any) -> str:
    """Return the JSON of a gate of terms that is trained on the toy problem."""
    how = {"learning_rate": 0.01, "batch_size": 8, "steps": 60, "dropout": 0.0}
    both = {"kind": "term-gate", "backbone": "test", "train_on": "test", "length": 24}
    return json.dumps({**both, "training": {**how, **training}})


def question_generator_spec(**changes: Any) -> str:
    """Return the JSON of a question generator of one layer; changes are of it, or its training."""
    how = {"learning_rate": 0.01, "batch_size": 8, "steps": 60, "dropout": 0.0}
    own = {key: changes.pop(key) for key in ("layers", "cross_attention") if key in changes}
    both = {"kind": "question-generator", "backbone": "test", "train_on": "test", "layers": 1}
    lengths = {"doc_length": 24, "question_length": 8}
    return json.dumps({**both, **lengths, **own, "training": {**how, **changes}})


def terms_spec(threshold: float | None = None, **training: Any) -> str:
    """Return the JSON of a dual encoder of terms, with a gate if a threshold is given."""
    spec = json.loads(model_spec("nll", **training))
    gate = threshold and {"model": "test", "threshold": threshold}
    pooling = {"kind": "terms", "gate": gate}
    own = {"pooling": pooling, "query_marker": "", "doc_marker": "", "score_scale": 1.0}
    return json.dumps({**spec, "encoder": {**ENCODER, **own}})


def cross_encoder_spec(
    group: int = 3, pooling: str = "mean", loss: str = "nll", **training: Any
) -> str:
    """Return the JSON of a cross-encoder that is trained on the toy problem."""
    how = {"learning_rate": 0.01, "batch_size": 8, "steps": 20, "dropout": 0.0}
    spec = {
        "kind": "cross-encoder",
        "backbone": "test",
        "train_on": "test",
        "negatives": {"same_as": "test"},
        "loss": {"kind": loss},
        "group": group,
        "reading": {"query_length": 8, "length": 30, "pooling": pooling},
        "training": {**how, **training},
    }
    return json.dumps(spec)


def inverse_cloze_spec(**training: Any) -> str:
    """Return the JSON of an encoder that learns to find the docs of spans."""
    return on_texts("inverse-cloze", training, encoder=ENCODER, span=[1, 3])


def masked_language_spec(**training: Any) -> str:
    """Return the JSON of an adapted backbone."""
    return on_texts("masked-language", training, length=24)


def next_text_spec(**training: Any) -> str:
    """Return the JSON of a backbone adapted by hidden words and pairs of texts."""
    return on_texts("next-text", training, length=24, least=1)


def on_texts(kind: str, training: Mapping[str, Any], **own: Any) -> str:
    """Return the JSON of a model that is trained on texts alone."""
    how = {"learning_rate": 0.01, "batch_size": 8, "steps": 60, "dropout": 0}
    both = {"kind": kind, "backbone": "test", "corpora": ["test"], "seed": 1}
    return json.dumps({**both, **own, "training": {**how, **training}})
