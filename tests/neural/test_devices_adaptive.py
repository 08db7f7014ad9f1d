"""Batches that do not fit are halved, say so, stay so, and give what whole ones give."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
import torch

from corpora import make_corpus
from residuum.cli.errors import ResiduumError
from residuum.config.schema.encoder import Encoder as EncoderSchema
from residuum.config.schema.reading import Reading
from residuum.neural import devices
from residuum.neural.crossencoder import CrossEncoder, Pair
from residuum.neural.devices import AdaptiveBatchSize, busy
from residuum.neural.encoders import Encoder
from residuum.neural.pretrained import Source
from residuum.neural.termweighter import TermWeighter, Weighting
from tiny_models import ENCODER, make_backbone, toy_docs

CPU = devices.Device("cpu", "fp32")


def holding(limit: int, forward: Callable, sizes: list[int]) -> Callable:
    """Return a model's `forward` on a card that holds so many items, noting what it was given."""

    def limited(items: Sequence, *rest: object) -> torch.Tensor:
        sizes.append(len(items))
        if len(items) > limit:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB")
        return forward(items, *rest)

    return limited


@pytest.fixture(scope="module")
def backbone(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("backbone")
    return str(make_backbone(folder / "made", make_corpus(folder / "corpus", toy_docs())))


def test_every_item_is_worked_on_once_and_in_order() -> None:
    room, done, requested = AdaptiveBatchSize("texts", "length"), [], []

    def work(batch: Sequence[int], size: int) -> None:
        requested.append((len(batch), size))
        if size > 3:
            raise torch.OutOfMemoryError
        done.extend(batch)

    room.each(range(8), 12, work)
    assert done == list(range(8))
    assert requested == [(8, 12), (6, 6), (3, 3), (3, 3), (2, 3)]
    assert room.facts() == {"largest_batch": 3}
    assert (room.size(2), room.size(100)) == (2, 3)


def test_a_batch_is_no_larger_than_keeps_a_cpu_busy() -> None:
    # 2**26 / (128 * 64**2) is 128, over 127 more than that; 2**26 / (48 * 384**2) is 9.5.
    assert [busy(requested, 128, 64) for requested in (32, 128, 256)] == [32, 128, 128]
    assert busy(256, 127, 64) == 128
    assert [busy(requested, 48, 384) for requested in (2, 8, 32)] == [2, 8, 8]
    assert busy(32, 128, 768) == 4


def test_where_all_fits_nothing_is_told(capfd: pytest.CaptureFixture[str]) -> None:
    room, batches = AdaptiveBatchSize("texts", "length"), []
    room.each(range(5), 2, lambda batch, size: batches.append(list(batch)))
    assert batches == [[0, 1], [2, 3], [4]]
    assert room.facts() == {}
    assert capfd.readouterr().err == ""


def test_one_that_does_not_fit_and_other_errors_are_raised() -> None:
    def full(batch: object, size: int) -> None:
        raise torch.OutOfMemoryError

    with pytest.raises(ResiduumError, match=r"one of the texts alone .* Lower length"):
        AdaptiveBatchSize("texts", "length").each(range(4), 4, full)

    def broken(batch: object, size: int) -> None:
        raise RuntimeError("another fault")

    with pytest.raises(RuntimeError, match="another fault"):
        AdaptiveBatchSize("texts", "length").each(range(4), 4, broken)


def test_encoding_goes_on_with_smaller_batches(
    backbone: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    encoder = Encoder(Source(backbone), EncoderSchema.model_validate(ENCODER), CPU)
    texts = [text for _, text in toy_docs()]
    whole, sizes = encoder.encode(texts, "doc", 10), []
    monkeypatch.setattr(encoder, "forward", holding(5, encoder.forward, sizes))
    capfd.readouterr()
    np.testing.assert_allclose(encoder.encode(texts, "doc", 10), whole, atol=1e-6)
    assert sizes == [10, 5, 5, 5, 5, 4]
    message = "a batch of 10 texts does not fit into the GPU's memory: 5 at once from now on\n"
    assert message in capfd.readouterr().err
    encoder.encode(texts, "doc", 10)
    assert sizes[6:] == [5, 5, 5, 5, 4]
    assert encoder.sizes.facts() == {"largest_batch": 5}


def test_pairs_are_scored_in_smaller_batches_of_one_shape(
    backbone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading = Reading.model_validate({"query_length": 8, "length": 30})
    model = CrossEncoder(Source(backbone, new_head=True), reading, CPU)
    docs = list(model.tokenise([text for _, text in toy_docs()], "doc"))
    pairs = [Pair(docs[0][:2], doc) for doc in docs]
    whole, sizes = model.score(pairs, 16), []
    monkeypatch.setattr(model, "forward", holding(8, model.forward, sizes))
    np.testing.assert_allclose(model.score(pairs, 16), whole, atol=1e-6)
    assert sizes[0] == 16
    assert set(sizes[1:]) == {8}
    assert model.sizes.facts() == {"largest_batch": 8}


def test_term_weights_are_predicted_in_smaller_batches(
    backbone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    weighter = TermWeighter(Source(backbone, new_head=True), Weighting(length=24, scale=100), CPU)
    with torch.no_grad():
        weighter.model.classifier.bias.fill_(0.5)
    texts = [text for _, text in toy_docs()]
    whole, sizes = weighter.predict(texts, 8), []
    assert all(whole)
    monkeypatch.setattr(weighter, "forward", holding(4, weighter.forward, sizes))
    assert weighter.predict(texts, 8) == whole
    assert sizes == [8, *[4] * 6]


def test_in_bf16_weights_and_vectors_stay_float32(backbone: str, tmp_path: Path) -> None:
    half = devices.Device("cpu", "bf16")
    encoder = Encoder(Source(backbone), EncoderSchema.model_validate(ENCODER), half)
    seen: list[torch.dtype] = []
    hook = encoder.model.encoder.layer[0].attention.self.query.register_forward_hook(
        lambda part, given, made: seen.append(made.dtype)
    )
    vectors = encoder.encode(["water here"], "doc", 1)
    hook.remove()
    assert seen == [torch.bfloat16]
    assert vectors.dtype == np.float32
    assert {weights.dtype for weights in encoder.model.parameters()} == {torch.float32}
