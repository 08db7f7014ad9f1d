"""What a card computes is what a CPU computes, up to rounding: learners, encoders, rerankers.

Marked `cuda` where it needs a card. The CPU's own bf16 takes the same way, so that the tests are
seen to work where there is none.
"""

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from residuum.config.schema.questions import Sampling
from residuum.neural import devices
from residuum.neural.crossencoder import CrossEncoder
from residuum.neural.encoders import Encoder
from residuum.neural.matching import Matcher
from residuum.neural.seq2seq import QuestionWriter
from residuum.neural.termweighter import TermWeighter
from toy_learners import SPECS, made, take, write_toy

CPU = devices.Device("cpu", "fp32")
LIMITS = {
    "fp32": 1e-4,
    "fp16": 4e-3,
    "bf16": 2e-2,
}  # of the norm of a difference, beside that of the CPU's
# Where a maximum goes to another vector or token by rounding, its gradient goes with it.
OF_MAXIMA = ("vectors", "gate")
ROUNDING = 2.0**-23  # by which the weights are changed, each up or down
MORE = 10  # times what that change does: a step of two layers rounds at each of its operations
DEVICES = [
    pytest.param(("cuda", "fp32"), marks=pytest.mark.cuda, id="cuda-fp32"),
    pytest.param(("cuda", "bf16"), marks=pytest.mark.cuda, id="cuda-bf16"),
    pytest.param(("cpu", "bf16"), id="cpu-bf16"),
]
HALF = pytest.param(("cuda", "fp16"), marks=pytest.mark.cuda, id="cuda-fp16")
TEXTS = [
    "river",
    "a river runs beside the granite hill",
    "moss",
    "the hill and the moss and the river",
    "granite",
]


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_toy(tmp_path_factory.mktemp("toy"))


def chosen(device: tuple[str, str]) -> devices.Device:
    """Return a device as a job has it: with the settings of determinism and of its products."""
    if device[0] == "cuda":
        return devices.choose(*device, threads=1)
    return devices.Device(*device)


def apart(one: Any, other: Any) -> float:
    """Return the norm of the difference beside that of the second."""
    one, other = (np.asarray(some, dtype=np.float64) for some in (one, other))
    assert np.isfinite(one).all() and one.shape == other.shape
    return float(np.linalg.norm(one - other) / np.linalg.norm(other))


def joined(gradients: Mapping[str, np.ndarray]) -> np.ndarray:
    return np.concatenate([gradients[name].ravel() for name in sorted(gradients)])


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", SPECS)
def test_a_step_has_the_loss_and_the_gradients_of_the_cpu(
    toy: Path, name: str, device: tuple[str, str]
) -> None:
    log, gradients, _ = take(made(toy, name))
    own = chosen(device)
    again, others, _ = take(made(toy, name, own.precision, device=own.name))
    assert again.keys() == log.keys() and others.keys() == gradients.keys()
    assert again["loss"] == pytest.approx(log["loss"], rel=LIMITS[own.precision])
    wider = 3 if name in OF_MAXIMA and own.precision == "bf16" else 1
    limit = max(wider * LIMITS[own.precision], MORE * sensitivity(toy, name, joined(gradients)))
    assert apart(joined(others), joined(gradients)) < limit


def sensitivity(toy: Path, name: str, gradients: np.ndarray) -> float:
    """Return how far a CPU's gradients move where each weight is rounded otherwise.

    Of `vectors` by 1e-4: its docs score nearly alike, so that most of a gradient cancels.
    """
    learner, random = made(toy, name), np.random.default_rng(1)
    for weights in learner.model.parameters():
        signs = torch.from_numpy(random.choice([-1.0, 1.0], weights.shape))
        weights.data *= (1 + ROUNDING * signs).float()
    return apart(joined(take(learner)[1]), gradients)


def saved(toy: Path, name: str) -> Path:
    """Return the checkpoint of a learner as its training begins."""
    folder = toy / f"saved-{name}"
    if not folder.exists():
        made(toy, name).encoder.save(folder)
    return folder


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", ["nll", "vectors", "projected", "linear", "sparse"])
def test_vectors_are_those_of_the_cpu(toy: Path, name: str, device: tuple[str, str]) -> None:
    folder, own = saved(toy, name), chosen(device)
    cpu, there = Encoder.load(folder, CPU), Encoder.load(folder, own)
    for kind in ("query", "doc"):
        expected, counts = cpu.vectors(TEXTS, kind, 2)
        vectors, numbers = there.vectors(TEXTS, kind, 2)
        assert numbers.tolist() == counts.tolist()
        if name == "sparse":
            vectors, expected = vectors.toarray(), expected.toarray()
        assert vectors.dtype == np.float32
        assert apart(vectors, expected) < LIMITS[own.precision]


@pytest.mark.parametrize("device", [*DEVICES, HALF])
@pytest.mark.parametrize(
    "pooling", ["max", "mean-sqrt", "weighted-mean", "last", "splade", "tokens", "attended"]
)
def test_vectors_of_released_poolings_are_those_of_the_cpu(
    toy: Path, tmp_path: Path, pooling: str, device: tuple[str, str]
) -> None:
    """Also of half of their dimensions, scaled to length 1."""
    shutil.copytree(saved(toy, "sparse" if pooling == "splade" else "nll"), tmp_path / "model")
    path, own = tmp_path / "model" / "residuum.json", chosen(device)
    changed = {"pooling": pooling, "query_prompt": "moss "}
    if pooling in ("tokens", "attended"):
        tokens = {"kind": "tokens", "expanded": 10, "skipped": ["the"]}
        changed["pooling"] = {**tokens, "attended": pooling == "attended"}
    changed |= {} if pooling == "splade" else {"truncate": 8, "normalise": True}
    path.write_text(json.dumps(json.loads(path.read_text()) | changed))
    cpu, there = (Encoder.load(tmp_path / "model", on) for on in (CPU, own))
    for kind in ("query", "doc"):
        expected, vectors = (one.encode(TEXTS, kind, 2) for one in (cpu, there))
        if pooling == "splade":
            vectors, expected = vectors.toarray(), expected.toarray()
        assert apart(vectors, expected) < LIMITS[own.precision]


@pytest.mark.parametrize("device", [*DEVICES, HALF])
@pytest.mark.parametrize("pooling", ["mean", "splade", "tokens"])
def test_scores_of_an_encoder_that_reranks_are_those_of_the_cpu(
    toy: Path, tmp_path: Path, pooling: str, device: tuple[str, str]
) -> None:
    """Inner products of one vector, of terms, and MaxSim, from docs that it encodes itself."""
    folder, own = tmp_path / "model", chosen(device)
    shutil.copytree(saved(toy, "sparse" if pooling == "splade" else "nll"), folder)
    tokens = {"kind": "tokens", "expanded": 10, "skipped": ["the"], "attended": False}
    path = folder / "residuum.json"
    changed = {"pooling": tokens if pooling == "tokens" else pooling}
    path.write_text(json.dumps(json.loads(path.read_text()) | changed))
    numbers = np.arange(len(TEXTS), dtype=np.int64)
    query, doc = np.repeat(numbers, len(TEXTS)), np.tile(numbers, len(TEXTS))

    def scored(device: devices.Device) -> np.ndarray:
        model = Matcher.load(folder, None, device)
        queries, docs = (list(model.tokenise(TEXTS, kind)) for kind in ("query", "doc"))
        return model.asked(queries, 2)([[row] for row in docs], query, doc)

    assert apart(scored(own), scored(CPU)) < LIMITS[own.precision]


def pairs_of(texts: Sequence[str]) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """Return texts by id, and all pairs of ids."""
    named = {str(number): text for number, text in enumerate(texts)}
    return named, [(one, other) for one in named for other in named]


@pytest.mark.parametrize("device", DEVICES)
def test_scores_of_pairs_are_those_of_the_cpu(toy: Path, device: tuple[str, str]) -> None:
    """And are float32: of 25 pairs, whose scores lie close, bf16 would make a few."""
    folder, own = saved(toy, "cross"), chosen(device)
    named, pairs = pairs_of(TEXTS)
    expected = CrossEncoder.load(folder, CPU).relevance(named, named, pairs, 4)
    scores = CrossEncoder.load(folder, own).relevance(named, named, pairs, 4)
    assert apart(scores, expected) < LIMITS[own.precision]
    assert len({*scores.tolist()}) == len({*expected.tolist()})


@pytest.mark.parametrize("device", DEVICES)
def test_weights_of_terms_are_those_of_the_cpu(toy: Path, device: tuple[str, str]) -> None:
    folder, own = saved(toy, "terms"), chosen(device)
    cpu, there = TermWeighter.load(folder, CPU), TermWeighter.load(folder, own)
    docs = cpu.tokenise(TEXTS)
    expected = np.concatenate(cpu.weights(docs, 2))
    assert apart(np.concatenate(there.weights(docs, 2)), expected) < LIMITS[own.precision]


@pytest.mark.parametrize("device", DEVICES)
def test_questions_have_the_likelihood_that_the_cpu_gives_them(
    toy: Path, device: tuple[str, str]
) -> None:
    """In float32 the same are written, several of a doc together as one after another."""
    folder, own = saved(toy, "questions"), chosen(device)
    cpu, there = QuestionWriter.load(folder, CPU), QuestionWriter.load(folder, own)
    docs = list(cpu.tokenise_docs(TEXTS))
    asked = list(cpu.tokenise_questions(TEXTS[::-1]))
    expected = cpu.errors(docs, asked, 2)
    assert apart(there.errors(docs, asked, 2), expected) < LIMITS[own.precision]
    if own.precision == "fp32":
        how = Sampling.model_validate(
            {"per_doc": 3, "top_k": 5, "seed": 1, "doc_length": 16, "question_length": 6}
        )
        keys = [str(number) for number in range(len(docs))]
        assert there.write(docs, keys, how, 2) == cpu.write(docs, keys, how, 2)
