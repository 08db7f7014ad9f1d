"""On a card: replayed layers and launched layers give equal bits."""

import gc
from pathlib import Path

import numpy as np
import pytest
import torch

from residuum.neural import cudagraphs, devices, fitting
from residuum.neural.devices import AdaptiveBatchSize
from residuum.neural.encoders import Encoder
from residuum.neural.learners import Learner
from residuum.neural.optimisers import make_optimiser, take_step
from toy_learners import WHOLE, made, write_toy

pytestmark = pytest.mark.cuda
STEPS = 6
TEXTS = ["river", "a river runs beside the granite hill", "moss", "the hill and the moss"]


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_toy(tmp_path_factory.mktemp("toy"))


def weights_after(learner: Learner, most: int | None) -> dict[str, np.ndarray]:
    """Return the weights after some steps, of whole batches or of parts."""
    optimiser = make_optimiser(learner.model, learner.spec.training)
    learner.model.train()
    for part in learner.model.modules():
        if isinstance(part, torch.nn.Dropout):
            part.p = 0.1
    for step in range(STEPS):
        sizes = AdaptiveBatchSize("examples", "length")
        sizes.limit = most
        fitting.set_gradients(learner, sizes, WHOLE, step % 2)  # it knows the texts of two
        take_step(optimiser, learner.spec.training, learner.moment(step))
    return {name: some.detach().cpu().numpy() for name, some in learner.model.named_parameters()}


@pytest.mark.parametrize("most", [None, 2])
@pytest.mark.parametrize("name", ["residual_margin", "nll", "cross", "terms", "masked", "cloze"])
def test_a_training_ends_with_the_same_bits(
    toy: Path, name: str, most: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With dropout; nothing is drawn for a recording."""
    device = devices.choose("cuda", "bf16", threads=1)
    replays: list[object] = []
    forward = cudagraphs._forward
    monkeypatch.setattr(cudagraphs, "_forward", lambda *a: replays.append(0) or forward(*a))
    replayed = weights_after(made(toy, name, device.precision, device=device.name), most)
    assert len(replays) >= STEPS - 2, "the batches of this problem have few shapes"
    monkeypatch.setattr(cudagraphs, "MOST", 0)
    launched = weights_after(made(toy, name, device.precision, device=device.name), most)
    assert replayed.keys() == launched.keys()
    for key, values in launched.items():
        np.testing.assert_array_equal(replayed[key], values)


def test_a_model_that_is_gone_leaves_anothers_graphs(toy: Path) -> None:
    device = devices.choose("cuda", "bf16", threads=1)
    made(toy, "nll").encoder.save(toy / "two")
    one, two = (Encoder.load(toy / "two", device) for _ in range(2))
    expected = [encoder.encode(TEXTS, "doc", 2) for encoder in (one, two) for _ in range(3)]
    del one
    gc.collect()
    torch.cuda.empty_cache()
    taken = torch.full((2**26,), torch.nan, device="cuda")  # what was given back is written over
    for _ in range(3):
        np.testing.assert_array_equal(two.encode(TEXTS, "doc", 2), expected[-1])
    assert taken.isnan().all()


def test_vectors_have_the_same_bits(toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    device = devices.choose("cuda", "bf16", threads=1)
    made(toy, "nll").encoder.save(toy / "saved")
    encoder = Encoder.load(toy / "saved", device)
    vectors = [encoder.encode(TEXTS, "doc", 2) for _ in range(4)]
    monkeypatch.setattr(cudagraphs, "MOST", 0)
    expected = Encoder.load(toy / "saved", device).encode(TEXTS, "doc", 2)
    for some in vectors:
        np.testing.assert_array_equal(some, expected)
