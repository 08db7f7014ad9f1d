"""Layers that are replayed give what they give when they are computed: values and gradients."""

import gc
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForMaskedLM, ElectraConfig, RobertaConfig

from cudagraph_stand_in import one_by_one, stand_in
from residuum.cli.errors import ResiduumError
from residuum.neural import cudagraphs, devices, fitting, masking, packing, processes
from residuum.neural.devices import AdaptiveBatchSize
from residuum.neural.encoders import Encoder
from residuum.neural.inputs import Inputs
from toy_learners import WHOLE, assert_equal, gradients_of, made, write_toy

TEXTS = ["river", "a river runs beside the granite hill", "moss", "the hill and the moss"]


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_toy(tmp_path_factory.mktemp("toy"))


@pytest.fixture(autouse=True)
def packs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "suits", lambda model, device: packing.encodes(model))
    monkeypatch.setattr(packing, "kernel", one_by_one)


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> list[cudagraphs.Recorded]:
    return stand_in(monkeypatch)


def gradients(learner: Any, step: int, most: int | None = None) -> dict[str, np.ndarray]:
    """Return the gradients of a step, with at most so many examples at once."""
    sizes = AdaptiveBatchSize("examples", "length")
    sizes.limit = most
    fitting.set_gradients(learner, sizes, WHOLE, step)
    return {name: some.copy() for name, some in gradients_of(learner).items()}


@pytest.mark.parametrize("most", [None, 2])
@pytest.mark.parametrize("name", ["residual_margin", "nll", "cross", "terms", "masked", "cloze"])
def test_steps_have_the_gradients_of_computed_layers(
    toy: Path, name: str, most: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a whole batch and of parts: whose losses are their own, and those of cached gradients."""
    learner = made(toy, name)
    expected = [gradients(learner, step % 2, most) for step in range(5)]
    recorded = stand_in(monkeypatch)
    learner = made(toy, name)
    for step, others in enumerate(expected):
        assert_equal(gradients(learner, step % 2, most), others)
    assert recorded


def test_vectors_are_those_of_computed_layers(toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of texts of other lengths too, which have the shape of what was recorded."""
    made(toy, "nll").encoder.save(toy / "saved")
    others = [" ".join(reversed(text.split()[1:])) or "hill" for text in TEXTS]
    encoder = Encoder.load(toy / "saved", devices.Device("cpu", "fp32"))
    expected = [encoder.encode(texts, "doc", 4) for texts in (TEXTS, others)]
    recorded = stand_in(monkeypatch)
    encoder = Encoder.load(toy / "saved", devices.Device("cpu", "fp32"))
    for turn in range(6):
        texts = (TEXTS, others)[turn % 2]
        np.testing.assert_array_equal(encoder.encode(texts, "doc", 4), expected[turn % 2])
    assert len(recorded) == 1


class Toy:
    """Two layers, and their replay."""

    def __init__(self) -> None:
        torch.manual_seed(1)
        self.layers = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Tanh())
        own = weakref.ref(self.layers)
        self.replayed = cudagraphs.Replayed(own, lambda states, bounds: own()(states))
        self.bounds = packing.Bounds(torch.tensor([0, 3], dtype=torch.int32), 64, [3])

    def of(self, states: torch.Tensor) -> torch.Tensor:
        return self.replayed(states, self.bounds) * 1.0  # a copy, as packing takes one

    def warm(self) -> None:
        for seed in (1, 2):
            self.of(states_of(seed)).sum().backward()
        self.layers.zero_grad()


def states_of(seed: int) -> torch.Tensor:
    made = torch.randn(1, 3, 4, generator=torch.Generator().manual_seed(seed))
    return made.requires_grad_()


def test_a_pass_that_has_not_gone_back_is_overwritten_by_no_other(
    recorded: list[cudagraphs.Recorded],
) -> None:
    toy, one, two = Toy(), states_of(3), states_of(4)
    toy.warm()
    assert len(recorded) == 1
    first = toy.of(one)
    with torch.no_grad():
        toy.of(two)
    (first * toy.of(two)).sum().backward()
    given = [one.grad, two.grad, *(some.grad.clone() for some in toy.layers.parameters())]
    toy.layers.zero_grad()
    alone = [states_of(3), states_of(4)]
    (toy.layers(alone[0]) * toy.layers(alone[1])).sum().backward()
    expected = [*(some.grad for some in alone), *(some.grad for some in toy.layers.parameters())]
    for gradient, other in zip(given, expected, strict=True):
        torch.testing.assert_close(gradient, other)


def test_a_pass_that_is_dropped_is_over(recorded: list[cudagraphs.Recorded]) -> None:
    toy = Toy()
    toy.warm()
    dropped = toy.of(states_of(3))
    assert toy.replayed._key(states_of(4), toy.bounds) is None
    del dropped
    gc.collect()
    assert toy.replayed._key(states_of(4), toy.bounds) is not None


def test_gradients_of_several_passes_are_added_up(recorded: list[cudagraphs.Recorded]) -> None:
    """And a new step begins with none, though all graphs write the same memory."""
    toy = Toy()
    toy.warm()
    for _ in range(2):
        toy.layers.zero_grad()
        for seed in (3, 4, 5):
            toy.of(states_of(seed)).sum().backward()
        given = [some.grad.clone() for some in toy.layers.parameters()]
        toy.layers.zero_grad()
        for seed in (3, 4, 5):
            toy.layers(states_of(seed)).sum().backward()
        for gradient, weights in zip(given, toy.layers.parameters(), strict=True):
            torch.testing.assert_close(gradient, weights.grad)
    assert len(recorded) == 1


def test_a_recording_leaves_the_gradients_of_an_earlier_part(
    recorded: list[cudagraphs.Recorded],
) -> None:
    toy = Toy()
    other = toy.bounds._replace(longest=128)
    toy.warm()
    toy.replayed(states_of(5), other).sum().backward()
    toy.layers.zero_grad()
    toy.of(states_of(3)).sum().backward()
    (toy.replayed(states_of(4), other) * 1.0).sum().backward()
    assert len(recorded) == 2
    given = [some.grad.clone() for some in toy.layers.parameters()]
    toy.layers.zero_grad()
    for seed in (3, 4):
        toy.layers(states_of(seed)).sum().backward()
    for gradient, weights in zip(given, toy.layers.parameters(), strict=True):
        torch.testing.assert_close(gradient, weights.grad)


def test_weights_that_moved_are_recorded_anew(recorded: list[cudagraphs.Recorded]) -> None:
    toy = Toy()
    toy.warm()
    for weights in toy.layers.parameters():
        weights.data = weights.data * 2
    toy.warm()
    assert len(recorded) == 2
    made, expected = toy.of(states_of(3)), toy.layers(states_of(3))
    torch.testing.assert_close(made, expected)


def test_other_shapes_and_modes_are_recorded_apart(recorded: list[cudagraphs.Recorded]) -> None:
    toy = Toy()
    toy.warm()
    for grad in (torch.no_grad, torch.inference_mode):
        with grad():
            for seed in (3, 4, 5):
                values = toy.of(states_of(seed).detach())
                torch.testing.assert_close(values, toy.layers(states_of(seed).detach()))
    toy.bounds = toy.bounds._replace(longest=128)
    toy.warm()
    toy.layers.eval()
    toy.warm()
    assert len(recorded) == 5


def test_long_passes_and_weights_that_stand_still_are_not_recorded(
    recorded: list[cudagraphs.Recorded], monkeypatch: pytest.MonkeyPatch
) -> None:
    toy = Toy()
    monkeypatch.setattr(cudagraphs, "ROWS_TRAINED", 2)
    toy.warm()
    monkeypatch.undo()
    stand_in(monkeypatch)
    toy.layers[0].bias.requires_grad_(False)
    toy.warm()
    assert recorded == []


def test_gradients_that_processes_add_up_stay_where_graphs_write_them(
    recorded: list[cudagraphs.Recorded], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two processes of the same rows: each gradient is twice its own, at each step anew."""
    monkeypatch.setattr(processes, "count", lambda: 2)
    monkeypatch.setattr(processes, "add_up", lambda tensor: tensor.mul_(2))
    toy = Toy()
    toy.warm()
    for seed in (3, 4, 5):
        toy.layers.zero_grad()
        toy.of(states_of(seed)).sum().backward()
        processes.add_up_gradients(toy.layers.parameters())
        given = [some.grad.clone() for some in toy.layers.parameters()]
        toy.layers.zero_grad()
        toy.layers(states_of(seed)).sum().backward()
        for gradient, weights in zip(given, toy.layers.parameters(), strict=True):
            torch.testing.assert_close(gradient, 2 * weights.grad)


@pytest.mark.parametrize("form", [RobertaConfig, ElectraConfig])
def test_states_of_each_layer_are_collected_as_ever(
    recorded: list[cudagraphs.Recorded], form: Any
) -> None:
    """Heads other than BERT's read the last of them, in training on hidden words."""
    shape = {"hidden_size": 16, "num_attention_heads": 2, "num_hidden_layers": 2}
    shape |= {"vocab_size": 40, "intermediate_size": 32, "embedding_size": 16, "pad_token_id": 0}
    model = AutoModelForMaskedLM.from_config(form(**shape)).eval()
    rows = [np.arange(5, 9, dtype=np.int32), np.arange(7, 10, dtype=np.int32)]
    given, mask = Inputs(model, 0, devices.Device("cpu", "fp32")).arguments(rows)
    made = [masking.predictions(model, given, torch.tensor([0, 4])) for _ in range(4)]
    assert recorded == []
    for logits, states in made:
        assert torch.equal(logits, made[0][0]) and torch.equal(states, made[0][1])
        assert states.shape == (*mask.shape, 16)


def test_each_mode_has_graphs_of_its_own(
    recorded: list[cudagraphs.Recorded], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a look at the first examples records leaves room for the training."""
    monkeypatch.setattr(cudagraphs, "MOST", 2)
    toy = Toy()
    toy.layers.eval()
    with torch.inference_mode():
        for longest in (64, 64, 128, 128, 256, 256):
            toy.bounds = toy.bounds._replace(longest=longest)
            toy.of(states_of(1).detach())
    assert len(recorded) == 2
    toy.layers.train()
    toy.warm()
    assert len(recorded) == 3


def test_graphs_are_given_up_before_a_batch_is_halved(
    recorded: list[cudagraphs.Recorded], capfd: pytest.CaptureFixture[str]
) -> None:
    toy = Toy()
    toy.warm()
    toy.of(states_of(3)).sum().backward()
    expected = [some.grad.clone() for some in toy.layers.parameters()]
    sizes, tries = AdaptiveBatchSize("examples", "length"), []

    def work() -> None:
        tries.append(1)
        if len(tries) == 1:
            raise torch.OutOfMemoryError("CUDA out of memory.")

    assert not sizes.fits(4, work) and sizes.fits(4, work) and sizes.limit is None
    assert "recorded layers are given up" in capfd.readouterr().err
    for weights, gradient in zip(toy.layers.parameters(), expected, strict=True):
        assert torch.equal(weights.grad, gradient)
    toy.warm()
    assert len(recorded) == 1


def test_a_model_that_is_dropped_goes_with_its_graphs(toy: Path, recorded: Any) -> None:
    """At once: the garbage that cycles are is not looked at where models are loaded."""
    encoder = made(toy, "nll").encoder
    held = weakref.ref(encoder.backbone.encoder)
    gc.collect()
    gc.disable()
    try:
        del encoder
        assert held() is None
    finally:
        gc.enable()


def test_leaves_share_the_memory_of_weights_and_take_their_gradients() -> None:
    toy = Toy()
    toy.layers.append(toy.layers[0])  # a layer that is used twice
    before = [*toy.layers.named_parameters()]
    toy.layers(states_of(1)).sum().backward()
    expected = [some.grad.clone() for some in toy.layers.parameters()]
    with pytest.raises(KeyError), cudagraphs.leaves(toy.layers, True) as weights:
        inside = [*toy.layers.parameters()]
        assert all(one is other for one, other in zip(inside, weights, strict=True))
        assert not {*map(id, inside)} & {id(some) for _, some in before}
        gradients = torch.autograd.grad(toy.layers(states_of(1)).sum(), weights)
        raise KeyError
    for (name, weights_), (again, same) in zip(before, toy.layers.named_parameters(), strict=True):
        assert name == again and weights_ is same
    for gradient, other in zip(gradients, expected, strict=True):
        assert torch.equal(gradient, other)
    with cudagraphs.leaves(toy.layers, False) as none:
        assert none == [] and toy.layers[0].weight is before[0][1]


def test_the_environment_can_forbid_it(
    recorded: list[cudagraphs.Recorded], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RESIDUUM_CUDA_GRAPHS", "0")
    Toy().warm()
    assert recorded == []


def test_a_driver_that_refuses_says_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch)

    def refused(*_: Any) -> Any:
        raise RuntimeError("CUDA error: operation not permitted when stream is capturing")

    monkeypatch.setattr(cudagraphs, "record", refused)
    with pytest.raises(ResiduumError, match=r"not permitted .*RESIDUUM_CUDA_GRAPHS=0"):
        Toy().warm()


def test_a_full_card_records_nothing_and_goes_on(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    stand_in(monkeypatch)

    def full(*_: Any) -> Any:
        raise torch.OutOfMemoryError("CUDA out of memory.")

    monkeypatch.setattr(cudagraphs, "record", full)
    toy = Toy()
    for seed in (1, 2, 3, 4):
        states, alone = states_of(seed), states_of(seed)
        torch.testing.assert_close(toy.of(states), toy.layers(alone))
    assert capfd.readouterr().err.count("holds no graph of the layers") == 1
