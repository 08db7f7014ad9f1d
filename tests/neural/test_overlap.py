"""Work beside work: it does overlap, in order and bounded; errors come out; nothing is lost."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from residuum.neural import devices, pretrained
from residuum.neural.encoders import Encoder
from residuum.neural.overlap import ahead, behind
from toy_learners import made, write_toy

LIMIT = 20.0  # seconds after which work that waits for other work is taken to wait for ever


def awaited(event: threading.Event) -> None:
    assert event.wait(LIMIT), "the other work did not begin meanwhile"


def test_items_are_made_ahead_in_order_and_no_further() -> None:
    begun = [threading.Event() for _ in range(6)]

    def items() -> Iterator[int]:
        for number, event in enumerate(begun):
            event.set()
            yield number

    seen = []
    for number in ahead(items(), depth=2):
        awaited(begun[min(number + 2, 5)])
        assert not any(event.is_set() for event in begun[number + 4 :])
        seen.append(number)
    assert seen == [*range(6)]


def test_an_error_of_what_is_made_ahead_comes_behind_the_items_before_it() -> None:
    def items() -> Iterator[int]:
        yield from (1, 2)
        raise ValueError("of the third")

    rest, seen = ahead(items()), []
    with pytest.raises(ValueError, match="of the third"):
        for number in rest:
            seen.append(number)
    assert seen == [1, 2]
    assert [*ahead([])] == []


def test_what_is_done_is_taken_away_in_order_while_the_caller_goes_on() -> None:
    taken, goes_on, first = [], threading.Event(), threading.Event()

    def take(number: int, name: str) -> None:
        first.set()
        awaited(goes_on)
        taken.append((number, name))

    with behind(take, depth=2) as put:
        put(1, "a")
        awaited(first)
        put(2, "b")
        goes_on.set()
        put(3, "c")
    assert taken == [(1, "a"), (2, "b"), (3, "c")]


def test_no_more_than_the_depth_waits() -> None:
    waiting, open_ = threading.Semaphore(0), threading.Event()
    done: list[int] = []

    def take(number: int) -> None:
        awaited(open_)
        done.append(number)

    def calls() -> None:
        with behind(take, depth=2) as put:
            for number in range(4):
                put(number)
                waiting.release()

    thread = threading.Thread(target=calls)
    thread.start()
    assert all(waiting.acquire(timeout=LIMIT) for _ in range(2))
    assert not waiting.acquire(timeout=0.2), "the third call waits for the first"
    open_.set()
    thread.join(LIMIT)
    assert done == [0, 1, 2, 3]


def test_an_error_of_what_takes_away_is_raised() -> None:
    def take(number: int) -> None:
        raise OSError(f"no room for {number}")

    with pytest.raises(OSError, match="no room for 1"), behind(take) as put:
        put(1)


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_toy(tmp_path_factory.mktemp("toy"))


TEXTS = [" ".join(["river"] * (1 + n % 5)) for n in range(24)]


@pytest.mark.parametrize("name", ["nll", "vectors", "sparse"])
def test_texts_in_parts_have_the_vectors_of_all_at_once(
    toy: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder: Any = made(toy, name).encoder

    def vectors(texts: list[str]) -> tuple[np.ndarray, list[int]]:
        rows, counts = encoder.vectors(iter(texts), "doc", 3, len(texts))
        return (rows.toarray() if name == "sparse" else rows), counts.tolist()

    rows, counts = vectors(TEXTS)
    monkeypatch.setattr(Encoder, "at_once", 5)
    again, numbers = vectors(TEXTS)
    assert numbers == counts
    np.testing.assert_allclose(again, rows, rtol=1e-5, atol=1e-6)
    nothing, none = vectors([])
    assert nothing.shape == (0, rows.shape[1]) and none == []


def test_reading_computing_and_keeping_go_on_beside_each_other(
    toy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first part is computed once the third is read, and kept once the second is computed."""
    encoder = made(toy, "nll").encoder
    read, computed, kept = ([threading.Event() for _ in range(4)] for _ in range(3))

    def texts() -> Iterator[str]:
        for number, text in enumerate(TEXTS[:20]):
            if number % 5 == 0:
                read[number // 5].set()
            yield text

    parts = iter(range(4))

    def forward(tokens: Any, kind: Any) -> torch.Tensor:
        part = next(parts)
        awaited(read[min(part + 2, 3)])
        computed[part].set()
        return torch.full((len(tokens), 1, 16), float(part))

    arrived = iter(range(4))

    def arriving(tensor: torch.Tensor) -> Any:
        part = next(arrived)

        def wait() -> np.ndarray:
            awaited(computed[min(part + 1, 3)])
            kept[part].set()
            return tensor.numpy()

        return wait

    monkeypatch.setattr(Encoder, "at_once", 5)
    monkeypatch.setattr("residuum.neural.tokens.TEXTS_AT_ONCE", 5)
    monkeypatch.setattr(encoder, "forward", forward)
    monkeypatch.setattr(devices, "arriving", arriving)
    rows, _ = encoder.vectors(texts(), "doc", 5)
    assert all(event.is_set() for event in kept)
    assert rows[:, 0].tolist() == [part for part in range(4) for _ in range(5)]


def test_a_gpu_takes_batches_of_about_as_many_tokens() -> None:
    """Three texts of ten tokens are requested: 30 tokens, padding included, but three at least."""
    lengths = [1, 1, 2, 2, 4, 4, 4, 9, 10, 10, 10]
    batches = [[*batch] for batch in devices.by_tokens(range(11), lengths, 3, 10)]
    assert batches == [[0, 1, 2, 3, 4, 5, 6], [7, 8, 9], [10]]
    for batch in batches[:-1]:
        assert len(batch) * lengths[batch[-1]] <= 30
    assert [*devices.by_tokens([], [], 3, 10)] == []


def test_memory_that_ends_beside_the_keeping_loses_and_doubles_nothing(
    toy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Batches of more than two texts do not fit; over several parts, each vector is kept once."""
    encoder = made(toy, "nll").encoder
    expected, _ = encoder.vectors(TEXTS, "doc", 3)
    whole, sizes = encoder.forward, list[int]()

    def limited(tokens: Any, kind: Any) -> torch.Tensor:
        sizes.append(len(tokens))
        if len(tokens) > 2:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return whole(tokens, kind)

    monkeypatch.setattr(Encoder, "at_once", 10)
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: None)
    monkeypatch.setattr(encoder, "forward", limited)
    rows, _ = encoder.vectors(iter(TEXTS), "doc", 3)
    np.testing.assert_allclose(rows, expected, rtol=1e-5, atol=1e-6)
    assert max(sizes) > 2 and sum(size for size in sizes if size <= 2) == len(TEXTS)


def test_pairs_on_a_card_without_packing_are_not_filled_up(
    toy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on one before Ampere: in order of length, each pair is computed once."""
    encoder = made(toy, "cross").encoder
    named = {str(number): text for number, text in enumerate(TEXTS[:7])}
    pairs = [(query, doc) for query in named for doc in named]
    expected = encoder.relevance(named, named, pairs, 4)
    computed, whole = list[int](), encoder.forward

    def counted(some: Any, width: int = 0) -> torch.Tensor:
        computed.append(len(some))
        return whole(some, width)

    monkeypatch.setattr(type(encoder), "at_once", 100)
    monkeypatch.setattr(encoder, "forward", counted)
    np.testing.assert_allclose(encoder.relevance(named, named, pairs, 4), expected, rtol=1e-5)
    assert sum(computed) == len(pairs) == 49


def test_who_ends_early_leaves_the_rest_unmade() -> None:
    begun: list[int] = []

    def items() -> Iterator[int]:
        for number in range(100):
            begun.append(number)
            yield number

    rest = ahead(items())
    assert next(rest) == 0
    rest.close()
    assert len(begun) <= 4


def test_weights_are_rounded_once_and_a_score_is_not(toy: Path) -> None:
    """In bf16; a training's weights stay float32, and so does the layer that gives a score."""
    device = devices.Device("cpu", "bf16")
    learners = {name: made(toy, name, "bf16") for name in ("nll", "projected", "cross")}
    for name, learner in learners.items():
        learner.encoder.save(toy / f"rounded-{name}")
        kinds = {some.dtype for some in learner.model.parameters()}
        assert kinds == {torch.float32}
    for name, learner in learners.items():
        loaded = type(learner.encoder).load(toy / f"rounded-{name}", device)
        exact = {id(some) for part in loaded.exact() for some in part.parameters()}
        for weights in loaded.backbone.parameters():
            wanted = torch.float32 if id(weights) in exact else torch.bfloat16
            assert weights.dtype is wanted
        assert bool(exact) is (name == "cross")
    projected = Encoder.load(toy / "rounded-projected", device)
    assert projected.model["linear"].weight.dtype is torch.float32
    assert isinstance(projected, pretrained.TextModel) and projected.frozen
