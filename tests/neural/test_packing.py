"""Texts without padding: the same states, scores and gradients as with it, in known models."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import (
    AutoModel,
    AutoModelForMaskedLM,
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
    BertConfig,
    CamembertConfig,
    DistilBertConfig,
    ElectraConfig,
    RobertaConfig,
    XLMRobertaConfig,
)

from residuum.neural import devices, packing
from residuum.neural.crossencoder import CrossEncoder
from residuum.neural.encoders import Encoder
from residuum.neural.inputs import Inputs, padded
from toy_learners import SPECS, assert_equal, made, take, write_toy

CARD = devices.Device("cuda", "bf16")
LENGTHS, WIDTH = [5, 3, 9, 1], 11
SHAPE = {
    **{"vocab_size": 100, "hidden_size": 16, "num_attention_heads": 2, "num_hidden_layers": 2},
    **{"intermediate_size": 32, "embedding_size": 8, "pad_token_id": 0},
}
CONFIGS = {
    "bert": BertConfig,
    "roberta": RobertaConfig,
    "xlm-roberta": XLMRobertaConfig,
    "camembert": CamembertConfig,
    "electra": ElectraConfig,
}
HEADS = (
    AutoModel,
    AutoModelForMaskedLM,
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
)


def one_by_one(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    packed: Any,
    dropout: Any,
    scale: Any,
) -> torch.Tensor:
    """Attention of each text by itself, from its definition; stands for the kernel of a card."""
    made = []
    ends = packed.ends.tolist()
    for first, end in pairwise(ends):
        q, k, v = (some[first:end].transpose(0, 1) for some in (query, key, value))
        made.append(((q @ k.transpose(1, 2) * scale).softmax(dim=-1) @ v).transpose(0, 1))
    return torch.cat(made)


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "kernel", one_by_one)


@pytest.fixture
def packs(kernel: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "suits", lambda model, device: packing.encodes(model))


def rows() -> list[np.ndarray]:
    random = np.random.default_rng(3)
    return [random.integers(5, 100, length).astype(np.int32) for length in LENGTHS]


def test_every_family_is_tried_here() -> None:
    assert {*packing.FAMILIES} == {*CONFIGS}


@pytest.mark.parametrize("head", HEADS, ids=lambda head: head.__name__)
@pytest.mark.parametrize("family", CONFIGS)
def test_packed_is_padded_in_value_and_gradient(kernel: None, family: str, head: Any) -> None:
    torch.manual_seed(1)
    model = head.from_config(CONFIGS[family](**SHAPE)).eval()
    assert packing.encodes(model)
    ids, mask = padded(rows(), 0, "cpu", WIDTH)
    slopes: list[torch.Tensor] = []

    def step(**given: Any) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        made = model(input_ids=ids, **given)
        values = made.last_hidden_state if head is AutoModel else made.logits
        if values.ndim == 3:
            values = values[mask.bool()]
        if not slopes:
            slopes.append(torch.randn(values.shape))
        model.zero_grad()
        (values * slopes[0]).sum().backward()
        own = model.named_parameters()
        return values, {name: p.grad.clone() for name, p in own if p.grad is not None}

    expected, gradients = step(attention_mask=mask)
    before = model.config.to_dict()
    packing.install(model)
    assert model.config.to_dict() == before, "a checkpoint says nothing of it"
    for given in ({"packed": packing.of(LENGTHS, WIDTH, "cpu")}, {"attention_mask": mask}):
        values, own = step(**given)
        torch.testing.assert_close(values, expected)
        assert own.keys() == gradients.keys() and len(own) > 20
        for name, gradient in own.items():
            torch.testing.assert_close(gradient, gradients[name], rtol=1e-4, atol=1e-5)


def test_a_text_does_not_see_its_neighbours(kernel: None) -> None:
    model = AutoModel.from_config(BertConfig(**SHAPE)).eval()
    packing.install(model)
    one, other = rows(), rows()
    other[2] = other[2][::-1].copy()

    def states(some: list[np.ndarray]) -> torch.Tensor:
        ids, _ = padded(some, 0, "cpu")
        packed = packing.of([*map(len, some)], ids.shape[1], "cpu")
        return model(input_ids=ids, packed=packed).last_hidden_state

    first, second = states(one), states(other)
    assert torch.equal(first[[0, 1, 3]], second[[0, 1, 3]])
    assert not torch.equal(first[2], second[2])


def test_places_there_and_back() -> None:
    packed = packing.of([2, 3], 4, "cpu")
    assert packed.there.tolist() == [0, 1, 4, 5, 6]
    assert packed.back.tolist() == [0, 1, 5, 5, 2, 3, 4, 5]
    assert packed.ends.tolist() == [0, 2, 5] and packed.ends.dtype == torch.int32
    assert packed.longest == 3


@pytest.mark.parametrize(
    ("config", "device", "capability", "suits"),
    [
        (BertConfig(**SHAPE), CARD, (8, 0), True),
        (BertConfig(**SHAPE), CARD, (7, 5), False),
        (BertConfig(**SHAPE), devices.Device("cuda", "fp32"), (9, 0), False),
        (BertConfig(**SHAPE), devices.Device("cpu", "bf16"), (9, 0), False),
        (BertConfig(**{**SHAPE, "hidden_size": 24}), CARD, (9, 0), False),
        (BertConfig(**SHAPE, is_decoder=True), CARD, (9, 0), False),
        (DistilBertConfig(vocab_size=100, dim=16, n_heads=2, n_layers=1), CARD, (9, 0), False),
    ],
)  # fmt: skip
def test_it_suits_known_encoders_on_cards_that_have_the_kernel(
    monkeypatch: pytest.MonkeyPatch, config: Any, device: Any, capability: Any, suits: bool
) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: capability)
    assert packing.suits(AutoModel.from_config(config), device) is suits


def test_without_padding_a_card_gets_no_mask_and_with_it_one_that_is_not_looked_into(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A model whose masks are not known gets what transformers documents."""
    monkeypatch.setattr(devices, "put", lambda array, device: torch.from_numpy(array))
    model = AutoModel.from_config(BertConfig(**SHAPE))
    inputs = Inputs(model, 0, devices.Device("cuda", "fp32"))
    same, _ = inputs.of([np.array([7, 8]), np.array([9, 7])])
    assert same["attention_mask"] is None
    given, mask = inputs.of([np.array([7, 8]), np.array([9])])
    assert given["attention_mask"].tolist() == [[[[True, True]]], [[[True, False]]]]
    assert mask.tolist() == [[1, 1], [1, 0]]
    other = AutoModel.from_config(DistilBertConfig(vocab_size=100, dim=16, n_heads=2, n_layers=1))
    given, mask = Inputs(other, 0, devices.Device("cuda", "fp32")).of([np.array([7, 8])])
    assert given["attention_mask"] is mask
    ids, plain = padded([np.array([7, 8]), np.array([9])], 0, "cpu")
    expected = model.eval()(input_ids=ids, attention_mask=plain).last_hidden_state
    four = plain.bool()[:, None, None]
    made = model(input_ids=ids, attention_mask=four).last_hidden_state
    torch.testing.assert_close(made[plain.bool()], expected[plain.bool()])


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_toy(tmp_path_factory.mktemp("toy"))


@pytest.mark.parametrize("name", [name for name in SPECS if name != "questions"])
def test_a_packed_step_is_a_padded_one(
    toy: Path, name: str, packs: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = made(toy, name)
    given = getattr(packed, "inputs", None) or packed.encoder.inputs
    assert given.packs
    log, result, _ = take(packed)
    monkeypatch.setattr(packing, "suits", lambda model, device: False)
    again, expected, _ = take(made(toy, name))
    assert log == pytest.approx(again, rel=1e-5)
    assert_equal(result, expected)


def test_vectors_and_scores_are_those_of_padded_texts(
    toy: Path, packs: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = ["river", "a river runs", "the granite hill beside a river", "moss"]
    learners = {name: made(toy, name) for name in ("vectors", "cross")}
    for name, learner in learners.items():
        learner.encoder.save(toy / f"packed-{name}")
    cpu = devices.Device("cpu", "fp32")

    def values() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        encoder = Encoder.load(toy / "packed-vectors", cpu)
        cross = CrossEncoder.load(toy / "packed-cross", cpu)
        pairs = [(str(n), str(m)) for n in range(4) for m in range(4)]
        named = {str(n): text for n, text in enumerate(texts)}
        vectors, counts = encoder.vectors(texts, "doc", 3)
        return vectors, counts, cross.relevance(named, named, pairs, 5)

    packed = values()
    monkeypatch.setattr(packing, "suits", lambda model, device: False)
    for one, other in zip(packed, values(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
