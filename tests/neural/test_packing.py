"""Texts without padding: the same states, scores and gradients as with it, in known models."""

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

from cudagraph_stand_in import one_by_one
from residuum.config.schema.encoder import Encoder as EncoderSchema
from residuum.config.schema.reading import Reading
from residuum.neural import devices, packing
from residuum.neural.crossencoder import CrossEncoder
from residuum.neural.encoders import Encoder
from residuum.neural.inputs import Inputs, padded, present
from residuum.neural.pretrained import Source
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


def packed_inputs(model: Any, texts: list[np.ndarray], width: int, room: int = 0) -> dict[str, Any]:
    """Return what a model that packs is given of texts."""
    inputs = Inputs(model, 0, devices.Device("cpu", "fp32"))
    inputs.share(room, 0)
    return inputs.arguments(texts, width)[0]


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
        made = model(**given)
        values = made.last_hidden_state if head is AutoModel else made.logits
        if values.ndim == 3:
            values = values[mask.bool()]
        if not slopes:
            slopes.append(torch.randn(values.shape))
        model.zero_grad()
        (values * slopes[0]).sum().backward()
        own = model.named_parameters()
        return values, {name: p.grad.clone() for name, p in own if p.grad is not None}

    expected, gradients = step(input_ids=ids, attention_mask=mask)
    before = model.config.to_dict()
    packing.install(model)
    assert model.config.to_dict() == before, "a checkpoint says nothing of it"
    for given in (packed_inputs(model, rows(), WIDTH), {"input_ids": ids, "attention_mask": mask}):
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
        return model(**packed_inputs(model, some, WIDTH)).last_hidden_state

    first, second = states(one), states(other)
    assert torch.equal(first[[0, 1, 3]], second[[0, 1, 3]])
    assert not torch.equal(first[2], second[2])


def test_places_there_and_back() -> None:
    packed = packing.layout(present([2, 3], 4), "cpu")
    assert packed.there.tolist() == [0, 1, 4, 5, 6]
    assert packed.back.tolist() == [0, 1, 5, 5, 2, 3, 4, 5]
    ends, longest, lengths = packed.bounds
    assert ends.tolist() == [0, 2, 5, 5, 5] and ends.dtype == torch.int32
    assert (longest, lengths, packed.width) == (64, [2, 3], 4)
    roomy = packing.layout(present([2, 3], 4), "cpu", 7)
    assert roomy.bounds.ends.tolist() == [0, 2, 5, 7, 7], "a filler of two rows, a text of none"
    assert roomy.there.tolist() == [0, 1, 4, 5, 6, 8, 8]
    assert roomy.back.tolist() == [0, 1, 7, 7, 2, 3, 4, 7]
    rows = [np.array([7, 8]), np.array([9, 9, 9])]
    assert packing.side_by_side(rows, 1, 7).tolist() == [[7, 8, 9, 9, 9, 1, 1]]


def test_fillers_are_no_longer_than_texts() -> None:
    """Seven rows are left of twelve, in fillers of up to three; three of eight texts are empty."""
    assert packing.filled([2, 3], 12, 3).tolist() == [0, 2, 5, 8, 11, 12, 12, 12, 12]
    assert packing.filled([2, 3, 1], 6, 3).tolist() == [0, 2, 5, 6, 6]


def test_a_card_has_few_rooms_and_none_is_much_too_large() -> None:
    """Between 2,048 and 4,096 rows every 128th; below 1,024 every 64th."""
    assert [packing.room_of(rows) for rows in (1, 64, 65, 1000)] == [64, 64, 128, 1024]
    assert [packing.room_of(rows) for rows in (2048, 2049, 4095, 4097)] == [2048, 2176, 4096, 4352]
    rooms = {packing.room_of(rows) for rows in range(4096, 8193)}
    assert len(rooms) == 17
    assert all(packing.room_of(rows) <= max(rows + 63, rows * 17 / 16) for rows in range(1, 9000))


def test_packs_fill_their_room() -> None:
    """500 + 12; 300 + 200 + 6; 250 + 250; 242 + 3 x 90: the longest first, then what still fits."""
    lengths = [500, 300, 12, 200, 90, 90, 90, 242, 6, 250, 250]
    packs = [*packing.packs(lengths, 512)]
    assert sorted(number for pack in packs for number in pack) == [*range(11)]
    assert [sum(lengths[number] for number in pack) for pack in packs] == [512, 506, 500, 512]
    assert [len(pack) for pack in packing.packs([3] * 5, 512, 2)] == [2, 2, 1]
    assert [*packing.packs([], 512)] == []
    for wrong in ([4, 513], [0, 4]):
        with pytest.raises(ValueError, match=f"texts of {min(wrong)} to {max(wrong)} tokens"):
            [*packing.packs(wrong, 512)]


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
    same, _ = inputs.arguments([np.array([7, 8]), np.array([9, 7])])
    assert same["attention_mask"] is None
    given, mask = inputs.arguments([np.array([7, 8]), np.array([9])])
    assert given["attention_mask"].tolist() == [[[[True, True]]], [[[True, False]]]]
    assert mask.tolist() == [[1, 1], [1, 0]]
    other = AutoModel.from_config(DistilBertConfig(vocab_size=100, dim=16, n_heads=2, n_layers=1))
    given, mask = Inputs(other, 0, devices.Device("cuda", "fp32")).arguments([np.array([7, 8])])
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


WIDE = {**SHAPE, "hidden_size": 256, "num_attention_heads": 8, "intermediate_size": 512}


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a model of 256 units, which a CPU reads without padding."""
    from transformers import BertTokenizer

    folder = tmp_path_factory.mktemp("wide")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"w{i}" for i in range(95))]
    BertTokenizer(vocab={word: i for i, word in enumerate(words)}).save_pretrained(folder)
    torch.manual_seed(2)
    config = BertConfig(**{**WIDE, "num_labels": 1, "initializer_range": 0.2})
    AutoModelForSequenceClassification.from_config(config).save_pretrained(folder)
    return folder


def drawn(count: int, seed: int) -> list[str]:
    """Return texts of one to sixty words."""
    random = np.random.default_rng(seed)
    draws = [random.integers(95, size=random.integers(1, 60)) for _ in range(count)]
    return [" ".join(f"w{word}" for word in draw) for draw in draws]


def test_a_wide_model_on_a_cpu_scores_a_pair_alike_whatever_shares_its_room(wide: Path) -> None:
    """To the last bit: alone, among forty, and among others; and as with padding, but for that."""
    cpu, reading = devices.Device("cpu", "fp32"), Reading(query_length=20, length=90)
    padded_ = CrossEncoder(Source(str(wide), new_head=True), reading, cpu)
    shared = CrossEncoder(Source(str(wide), new_head=True), reading, cpu).freeze()
    assert shared.inputs.room == 1024 and not padded_.inputs.room, "2^26 / 256^2"
    assert shared.model.config.max_position_embeddings == 512
    queries, docs = drawn(40, 3), drawn(40, 4)
    named = (
        {str(n): text for n, text in enumerate(queries)},
        {str(n): text for n, text in enumerate(docs)},
    )
    pairs = [(str(n), str(n)) for n in range(40)]
    scores = shared.relevance(*named, pairs, 8)
    np.testing.assert_allclose(scores, padded_.relevance(*named, pairs, 8), rtol=1e-4, atol=1e-5)
    assert scores.std() > 0.1
    for some in (pairs[:1], pairs[5:12], pairs[::-1], pairs[20:]):
        again = shared.relevance(*named, some, 8)
        assert again.tolist() == [scores[int(query)] for query, _ in some]


def test_a_wide_model_on_a_cpu_has_the_vectors_of_padded_texts_and_saves_its_weights(
    wide: Path, tmp_path: Path
) -> None:
    cpu = devices.Device("cpu", "fp32")
    settings = EncoderSchema(query_length=16, doc_length=64)
    padded_ = Encoder(Source(str(wide)), settings, cpu)
    shared = Encoder(Source(str(wide)), settings, cpu).freeze()
    assert shared.inputs.room == 1024 and not padded_.inputs.room
    given, _ = shared.inputs.arguments(list(shared.tokenise(["w1 w2", "w3"], "query")))
    assert given["input_ids"].shape == (1, 64), "no more rows than a few texts need"
    texts = [*drawn(30, 5), ""]
    vectors = shared.encode(texts, "doc", 4)
    np.testing.assert_allclose(vectors, padded_.encode(texts, "doc", 4), rtol=1e-4, atol=1e-5)
    for name, encoder in (("shared", shared), ("padded", padded_)):
        encoder.save(tmp_path / name)
    weights = [tmp_path / name / "model.safetensors" for name in ("shared", "padded")]
    assert weights[0].read_bytes() == weights[1].read_bytes()


def test_portable_arithmetic_takes_no_weights_of_onednn(
    wide: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed: list[int] = []
    monkeypatch.setattr(packing, "prepack", lambda layers, rows: packed.append(rows))
    settings = EncoderSchema(query_length=16, doc_length=64)
    for arithmetic in ("portable", "native"):
        device = devices.Device("cpu", "fp32", arithmetic)
        assert Encoder(Source(str(wide)), settings, device).freeze().inputs.room == 1024
    assert packed == [1024]
