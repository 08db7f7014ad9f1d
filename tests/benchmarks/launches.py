"""What a card would be given and asked, counted without one; and that it waits for nothing.

PYTHONPATH=workflow:tests python tests/benchmarks/launches.py [--tiny]

Operations are counted as torch dispatches them on a CPU, views left out: about the kernels that a
card is given. A BERT of twelve layers reads texts under autocast, padded and with queries and docs
apart, as before; with weights of bf16, packed, and in one pass, as on a card. Where a step would
wait for the card is counted with tensors that hold nothing. Last, texts are encoded whose reading,
computing and keeping take a second each, as sleeps: by the clock it takes one second, not three.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention
from transformers import BertConfig, BertModel, BertTokenizer

from card_stand_in import Seen, on_card, stand_in
from residuum.config.schema.encoder import Encoder as EncoderSchema
from residuum.neural import devices, fitting, packing
from residuum.neural.encoders import Encoder
from residuum.neural.pretrained import Source
from toy_learners import SPECS, WHOLE, made, write_toy

LAYERS, TEXTS = 12, 8
CASTS = ("_to_copy", "to")


def encoder(folder: Path, precision: str, frozen: bool, packs: bool) -> Encoder:
    """Return a BERT of twelve layers, narrow ones: their operations are as many as of wide ones."""
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"w{i}" for i in range(50))]
    if not folder.exists():
        config = BertConfig(
            vocab_size=len(words),
            hidden_size=16,
            num_hidden_layers=LAYERS,
            num_attention_heads=2,
            intermediate_size=32,
        )
        BertModel(config, add_pooling_layer=False).save_pretrained(folder)
        BertTokenizer(vocab={word: i for i, word in enumerate(words)}).save_pretrained(folder)
    settings = EncoderSchema(query_length=16, doc_length=32)
    made = Encoder(Source(str(folder)), settings, devices.Device("cpu", precision))
    if frozen:
        made.freeze()
    if packs:
        packing.install(made.model)
        made.inputs.packs = True
    return made


def texts(count: int, seed: int = 1) -> list[str]:
    """Return texts of three to twenty words."""
    random = np.random.default_rng(seed)
    draws = [random.integers(50, size=random.integers(3, 20)) for _ in range(count)]
    return [" ".join(f"w{word}" for word in draw) for draw in draws]


def together(query: Any, key: Any, value: Any, packed: Any, dropout: float, scale: Any) -> Any:
    """Stand for the kernel of packed attention: one operation, whatever it computes."""
    each = (some.transpose(0, 1)[None] for some in (query, key, value))
    return scaled_dot_product_attention(*each, scale=scale)[0].transpose(0, 1)


def counted(work: Callable[[], object]) -> Counter[str]:
    """Return the operations of some work by name."""
    with Seen() as seen:
        work()
    return seen.launches


def forward(model: Encoder) -> Callable[[], object]:
    """Return a forward pass over docs, without gradient."""
    tokens = list(model.tokenise(texts(TEXTS), "doc"))

    def work() -> object:
        with torch.inference_mode():
            return model.forward(tokens, "doc")

    return work


def step(model: Encoder, packs: bool) -> Callable[[], object]:
    """Return a step's passes over queries and docs, forward and back."""
    queries, docs = (
        list(model.tokenise(texts(TEXTS, seed), kind)) for seed, kind in ((1, "query"), (2, "doc"))
    )
    model.model.train()

    def work() -> None:
        both = (
            model.both(queries, docs)
            if packs
            else (model.forward(queries, "query"), model.forward(docs, "doc"))
        )
        sum(some.square().sum() for some in both).backward()

    return work


def tell(name: str, launches: Counter[str]) -> None:
    """Print how many operations some work has, and how many of them cast."""
    casts = sum(launches[name] for name in CASTS)
    print(f"{name}: {launches.total():,} operations, {casts:,} of them casts")


def launches(folder: Path) -> None:
    """Count a forward pass and a step, as before and as on a card."""
    for packs, frozen, name in (
        (False, False, "padded, autocast"),
        (True, True, "packed, bf16 weights"),
    ):
        tell(f"forward, {name}", counted(forward(encoder(folder, "bf16", frozen, packs))))
    for packs, name in ((False, "padded, queries and docs apart"), (True, "packed, in one pass")):
        tell(f"step, {name}", counted(step(encoder(folder, "bf16", False, packs), packs)))


def waits(folder: Path) -> int:
    """Count where a step of each learner would wait for the card."""
    toy, found = write_toy(folder), 0
    for name in SPECS:
        with pytest.MonkeyPatch.context() as patched:
            learner = made(toy, name)
            with stand_in(patched) as seen:
                sizes = devices.AdaptiveBatchSize("examples", "length")
                fitting.set_gradients(on_card(learner), sizes, WHOLE, 0)
            found += len(seen.waits)
            for line in seen.waits:
                print(f"{name} waits: {line}")
    print(f"waits for a card in a step of {len(SPECS)} learners: {found}")
    return found


def overlap(folder: Path, seconds: float) -> None:
    """Encode texts whose reading, computing and keeping take so many seconds each."""
    model = encoder(folder, "fp32", False, False)
    count, parts, batches = 320, 10, 40
    slept: Counter[str] = Counter()

    def sleep(what: str, times: int) -> None:
        begun = time.perf_counter()
        time.sleep(seconds / times)
        slept[what] += time.perf_counter() - begun

    def read() -> Iterator[str]:
        for text in texts(count):
            sleep("read", count)
            yield text

    def compute(tokens: Any, kind: Any) -> torch.Tensor:
        sleep("compute", batches)
        return torch.zeros(len(tokens), 1, 16)

    def arriving(tensor: torch.Tensor) -> Callable[[], np.ndarray]:
        def wait() -> np.ndarray:
            sleep("keep", batches)
            return tensor.numpy()

        return wait

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Encoder, "at_once", count // parts)
        patched.setattr("residuum.neural.tokens.TEXTS_AT_ONCE", count // parts)
        patched.setattr(model, "forward", compute)
        patched.setattr(devices, "arriving", arriving)
        patched.setattr(
            devices,
            "by_tokens",
            lambda order, *_: [order[i : i + 8] for i in range(0, len(order), 8)],
        )
        begun = time.perf_counter()
        model.vectors(read(), "doc", 8)
        wall = time.perf_counter() - begun
    each = ", ".join(f"{what} {took:.2f}" for what, took in slept.items())
    print(f"encode, seconds: {each}; by the clock {wall:.2f}, their sum {slept.total():.2f}")


def main() -> None:
    """Print the counts and the seconds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tiny", action="store_true", help="sleep for a tenth of a second")
    options = parser.parse_args()
    packing.kernel = together
    devices.quiet()
    with tempfile.TemporaryDirectory() as name:
        launches(Path(name) / "bert")
        overlap(Path(name) / "bert", 0.1 if options.tiny else 1.0)
        raise SystemExit(bool(waits(Path(name))))


if __name__ == "__main__":
    main()
