"""A learner of each kind on the toy problem, for what all of them must do.

Usage: `learner = made(write_toy(folder), "nll")`, `log, gradients, sizes = take(learner)`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from residuum.artefacts import contracts, trec
from residuum.config.schema.backbones import InverseCloze, MaskedLanguage, NextText
from residuum.config.schema.models import (
    CrossEncoder,
    DualEncoder,
    QuestionGenerator,
    TermGate,
    TermWeights,
)
from residuum.neural import devices, fitting
from residuum.neural.batches import Fold
from residuum.neural.devices import AdaptiveBatchSize
from residuum.neural.learners import ADAPTED, KINDS, Start
from residuum.neural.pretrained import Source
from residuum.neural.tokens import Texts
from tiny_models import (
    ENCODER,
    cross_encoder_spec,
    inverse_cloze_spec,
    masked_language_spec,
    model_spec,
    next_text_spec,
    question_generator_spec,
    sharing_queries,
    term_gate_spec,
    term_weights_spec,
    terms_spec,
    write_problem,
)

HOW = {"steps": 2, "batch_size": 7, "dropout": 0.0}


def of_each_kind(**training: Any) -> dict[str, str]:
    """Return a spec of each kind of learner, by name, with some keys of its training changed."""
    return {
        "residual_margin": model_spec(**training),
        "nll": model_spec("nll", **training),
        "cross": cross_encoder_spec(**training),
        "terms": term_weights_spec(**training),
        "sparse": terms_spec(**training),
        "gate": term_gate_spec(**training),
        "questions": question_generator_spec(**training),
        "masked": masked_language_spec(**training),
        "next": next_text_spec(**training),
        "cloze": inverse_cloze_spec(**training),
    }


def with_negatives(**changes: Any) -> str:
    """Return a dual encoder that draws two negatives of each pair, with some keys changed."""
    spec = json.loads(model_spec(**HOW)) | {"group": 2} | changes
    return json.dumps({key: value for key, value in spec.items() if value is not None})


SEVERAL = [
    {"kind": "residual_margin", "xi": 1.0, "lambda_train": 0.1, "weight": 2.0},
    {"kind": "nll", "weight": 0.5},
]
MANY = {**ENCODER, "pooling": {"kind": "first", "vectors": 4}}
SPECS = {
    **of_each_kind(**HOW),
    "constant_margin": model_spec("constant_margin", **HOW),
    "dpr": with_negatives(loss="nll"),
    "several": with_negatives(loss=None, losses=SEVERAL),
    "vectors": with_negatives(loss="nll", encoder=MANY),
    "projected": with_negatives(loss="nll", encoder={**MANY, "dimensions": 6}),
    "logistic": with_negatives(loss="logistic"),
    "linear": with_negatives(loss="nll", encoder={**ENCODER, "dimensions": 6, "norm": False}),
    "judging": cross_encoder_spec(loss="logistic", **HOW),
}
FORMS = {
    "cross": CrossEncoder,
    "judging": CrossEncoder,
    "terms": TermWeights,
    "gate": TermGate,
    "questions": QuestionGenerator,
    "masked": MaskedLanguage,
    "next": NextText,
    "cloze": InverseCloze,
}
JOINT = ("nll", "dpr", "several", "vectors", "projected", "linear", "sparse", "next", "cloze")
ON_TEXTS = ("masked", "next", "cloze")
WHOLE = slice(0, 7)


def write_toy(folder: Path) -> Path:
    """Write the toy problem, and queries that share words with their docs; return its folder."""
    write_problem(folder)
    trec.write_queries(folder / "sharing.tsv", sharing_queries())
    return folder


def made(
    toy: Path,
    name: str,
    precision: str = "fp32",
    dropout: float = 0.0,
    held_out: Fold | None = None,
    tuples: Path | None = None,
    device: str = "cpu",
    **training: Any,
) -> Any:
    """Return a learner in training."""
    record = json.loads(SPECS[name])
    record["training"] |= {"dropout": dropout, **training}
    spec = FORMS.get(name, DualEncoder).model_validate(record)
    source = Source(str(toy / "start"), dropout=dropout, new_head=True)
    start = Start(source, devices.Device(device, precision), 1, held_out=held_out)
    if spec.kind in ADAPTED:
        texts = [text for _, text in contracts.read_corpus(toy / "words")]
        learner: Any = ADAPTED[spec.kind](spec, start, texts)
    else:
        queries = toy / ("sharing.tsv" if name == "sparse" else "queries.tsv")
        own, named = tuples or toy / "tuples.jsonl.gz", Texts(queries, toy / "corpus", "test")
        learner = KINDS[spec.kind](spec, start, own, named)
    learner.model.train()
    return learner


def gradients_of(learner: Any) -> dict[str, np.ndarray]:
    own = learner.model.named_parameters()
    with_one = ((name, value.grad) for name, value in own if value.grad is not None)
    return {name: gradient.cpu().numpy().copy() for name, gradient in with_one}


def take(learner: Any) -> tuple[dict[str, float], dict[str, np.ndarray], AdaptiveBatchSize]:
    """Take a step; return the log's row, the gradients, and how much was taken at once."""
    sizes = AdaptiveBatchSize("training examples", "length")
    return fitting.set_gradients(learner, sizes, WHOLE, 0).read(), gradients_of(learner), sizes


def assert_equal(result: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> None:
    # In float32 they differ by up to 3.3e-6 where a gradient is 0.5, a sum over all tokens whose
    # terms cancel (of token types, `several`); computed in float64, by 2.1e-15.
    assert result.keys() == expected.keys()
    for key, gradient in result.items():
        np.testing.assert_allclose(gradient, expected[key], rtol=1e-5, atol=1e-6, err_msg=key)
    assert max(np.abs(gradient).max() for gradient in result.values()) > 1e-4
