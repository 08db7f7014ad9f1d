"""A step in passes is the step of the whole batch; bf16 touches products alone."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from residuum.core import contracts
from residuum.core.errors import ResiduumError
from residuum.core.schema.models import (
    CrossEncoder,
    DualEncoder,
    MaskedLanguage,
    TermWeights,
    Training,
)
from residuum.neural import devices, fitting, learners
from residuum.neural.learners import masked
from residuum.neural.resume import Saved
from residuum.neural.room import Room
from tiny_models import masked_language_spec, model_spec, term_weights_spec, write_problem

HOW = {"steps": 2, "batch_size": 7, "dropout": 0.0}
CROSS = {
    "kind": "cross-encoder",
    "backbone": "test",
    "train_on": "test",
    "negatives": {"kind": "same_as", "model": "test"},
    "group": 3,
    "reading": {"query_length": 8, "length": 30, "pooling": "mean"},
    "training": {"learning_rate": 0.01, **HOW},
}
SPECS = {
    "residual_margin": model_spec(**HOW),
    "constant_margin": model_spec("constant_margin", **HOW),
    "nll": model_spec("nll", **HOW),
    "cross": json.dumps(CROSS),
    "terms": term_weights_spec(**HOW),
    "masked": masked_language_spec(**HOW),
}
FORMS = {"cross": CrossEncoder, "terms": TermWeights, "masked": MaskedLanguage}
DIVISIBLE = [name for name in SPECS if name != "nll"]


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("toy")
    write_problem(folder)
    return folder


def made(toy: Path, name: str, precision: str = "fp32") -> tuple[Any, Training]:
    """Return a learner and how it is trained."""
    form = FORMS.get(name, DualEncoder).model_validate_json(SPECS[name])
    device, start = devices.Device("cpu", precision), str(toy / "start")
    if name == "masked":
        texts = [text for _, text in contracts.read_corpus(toy / "words")]
        return masked.make(form, start, None, device, texts), form.training
    material = learners.Files(toy / "tuples.jsonl.gz", toy / "corpus", toy / "queries.tsv")
    return learners.make(form, start, None, device, 1, material), form.training


def gradients(learner: Any) -> dict[str, np.ndarray]:
    found = learner.model.named_parameters()
    return {name: value.grad.numpy().copy() for name, value in found if value.grad is not None}


def hold(learner: Any, limit: int, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Let the memory end where more rows than the limit are asked for, after the forward pass."""
    whole, sizes = learner.losses, []

    def limited(step: int, rows: slice) -> Any:
        part = whole(step, rows)
        sizes.append(rows.stop - rows.start)
        if sizes[-1] > limit:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return part

    monkeypatch.setattr(learner, "losses", limited)
    return sizes


@pytest.mark.parametrize("name", DIVISIBLE)
def test_passes_add_up_to_the_gradient_and_the_log_of_the_whole(
    toy: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    learner, _ = made(toy, name)
    learner.model.train()
    rows = slice(0, 7)
    log = fitting._gradients(learner, Room("examples", "length"), rows, 1, 0)
    expected = gradients(learner)
    part = learner.losses(0, rows)
    assert log["loss"] == pytest.approx(part.losses.mean().item(), rel=1e-6)
    assert part.whole == len(part.losses)
    room, sizes = Room("examples", "length"), hold(learner, 2, monkeypatch)
    again = fitting._gradients(learner, room, rows, 1, 0)
    assert sizes == [7, 3, 1, 1, 1, 1, 1, 1, 1]
    assert again == pytest.approx(log, rel=1e-5)
    found = gradients(learner)
    assert found.keys() == expected.keys()
    for key, gradient in found.items():
        np.testing.assert_allclose(gradient, expected[key], atol=1e-6, err_msg=key)
    assert max(np.abs(gradient).max() for gradient in found.values()) > 1e-3


def test_what_fitted_is_kept_for_the_rest_and_told(
    toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    learner, how = made(toy, "residual_margin")
    sizes = hold(learner, 3, monkeypatch)
    log, room = fitting.fit(learner, how, 1, Saved(tmp_path, "mark"))
    assert sizes == [7, 3, 3, 1, 3, 3, 1]
    assert len(log) == 2
    assert capfd.readouterr().err.count("a batch of 7 training examples does not fit") == 1
    fitting.write(tmp_path / "model", learner, (log, room), {}, [], module="residuum.train")
    artefact = json.loads((tmp_path / "model" / "manifest.json").read_text())["artefact"]
    assert artefact["largest_batch"] == 3


def test_in_batch_negatives_that_do_not_fit_say_what_to_lower(
    toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    learner, how = made(toy, "nll")
    hold(learner, 4, monkeypatch)
    with pytest.raises(ResiduumError, match=r"7 training examples .*whole batch. Lower training"):
        fitting.fit(learner, how, 1, Saved(tmp_path, "mark"))


@pytest.mark.parametrize("name", SPECS)
def test_bf16_is_used_in_training_and_kept_out_of_what_lasts(
    toy: Path, tmp_path: Path, name: str
) -> None:
    learner, how = made(toy, name, "bf16")
    first = next(part for part in learner.model.modules() if isinstance(part, torch.nn.Linear))
    seen: set[torch.dtype] = set()
    first.register_forward_hook(lambda part, given, made: seen.add(made.dtype))
    fitting.fit(learner, how, 1, Saved(tmp_path, "mark"))
    assert seen == {torch.bfloat16}
    lasting = [*learner.model.parameters(), *gradients(learner).values()]
    assert {str(some.dtype).removeprefix("torch.") for some in lasting} == {"float32"}


def test_the_optimiser_keeps_float32(toy: Path, tmp_path: Path) -> None:
    learner, how = made(toy, "nll", "bf16")
    saved = Saved(tmp_path, "mark")
    fitting.fit(learner, how.model_copy(update={"checkpoint_every": 1}), 1, saved)
    state = torch.load(saved.path, weights_only=True)["optimizer"]["state"]
    assert {value.dtype for some in state.values() for value in some.values()} == {torch.float32}
