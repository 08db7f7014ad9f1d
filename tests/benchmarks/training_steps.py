"""CPU seconds of steps as they are computed, beside the plain way to the same numbers.

PYTHONPATH=workflow python tests/benchmarks/training_steps.py [--rounds 20]

On an untrained BERT of mini's size, 64 docs of about 50 tokens, of which a quarter would be
padding: a step of a dual encoder whose docs are taken by length, and with all docs together; a step
of a term encoder (SparTerm) that scores the terms of each doc, and that scores all; a fixed gate
that takes doc by doc, and all together. Both sides take turns, and their results are compared
first. A ratio below 1 means that the first side is cheaper; it is the median over the rounds.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import BertConfig, BertForMaskedLM, BertTokenizerFast

from residuum.config.schema.encoder import Encoder as Settings
from residuum.neural import devices, padding
from residuum.neural.encoders import Encoder
from residuum.neural.inputs import padded
from residuum.neural.pretrained import Source
from residuum.neural.termencoder import TermEncoder
from residuum.neural.termgate import Gating, TermGater

TEXTS, TERMS = 64, 3444
Work = Callable[[], Any]


def start(folder: Path) -> Source:
    """Write an untrained masked-language model of mini's size."""
    marks = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    vocabulary = folder / "vocab.txt"
    vocabulary.write_text("\n".join([*marks, *(f"w{n}" for n in range(TERMS - len(marks)))]))
    torch.manual_seed(0)
    size = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
    BertForMaskedLM(BertConfig(vocab_size=TERMS, intermediate_size=256, **size)).save_pretrained(
        folder
    )
    BertTokenizerFast(str(vocabulary)).save_pretrained(folder)
    return Source(str(folder), dropout=0.0, new_head=True)


def sides(source: Source) -> dict[str, tuple[Work, Work]]:
    """Return both ways of each kind of work; each returns a tensor."""
    device = devices.choose("cpu", "fp32", threads=1)
    random = np.random.default_rng(1)
    lengths = np.clip(random.normal(50, 9, TEXTS), 20, 96).astype(int)
    docs = [random.integers(5, TERMS, length).astype(np.int32) for length in lengths]
    both = {"query_length": 32, "doc_length": 96, "query_marker": "", "doc_marker": ""}
    dual = Encoder(source, Settings.model_validate({**both, "pooling": "mean"}), device)
    terms = TermEncoder(
        source, Settings.model_validate({**both, "pooling": {"kind": "terms"}}), device
    )
    gate = TermGater(source, Gating(length=96), device)
    plain = BertForMaskedLM.from_pretrained(source.name, hidden_dropout_prob=0.0)
    ids, mask = padded(docs, 0, "cpu")

    def step(model: Any, vectors: torch.Tensor) -> torch.Tensor:
        model.zero_grad()
        vectors.square().sum().backward()
        return vectors.detach().flatten(1)

    def of_all_terms() -> torch.Tensor:
        scores = plain(input_ids=ids, attention_mask=mask).logits
        own = torch.zeros(TEXTS, TERMS).scatter_add(1, ids, mask.float()) > 0
        weights = (scores.relu() * mask[..., None]).sum(dim=1)
        return step(plain, weights * own * terms.settings.score_scale**0.5)

    def best_of_all() -> torch.Tensor:
        with torch.no_grad():
            scores = plain(input_ids=ids, attention_mask=mask).logits
            return scores.masked_fill_(mask[..., None] == 0, float("-inf")).amax(dim=1)

    def best() -> torch.Tensor:
        with torch.no_grad():
            return gate.logits(docs)

    def whole(some: Any) -> torch.Tensor:
        return dual.forward(some, "doc")

    return {
        "dual encoder, step": (
            lambda: step(dual.model, padding.by_length(docs, whole, dual.model)),
            lambda: step(dual.model, whole(docs)),
        ),
        "term encoder, step": (
            lambda: step(terms.model, terms.forward(docs, "doc")),
            of_all_terms,
        ),
        "fixed gate": (best, best_of_all),
    }


def seconds(work: Work) -> float:
    """Return the CPU seconds of some work."""
    begun = time.process_time()
    work()
    return time.process_time() - begun


def main() -> None:
    """Print the milliseconds of both sides and their ratio, for each kind of work."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--tiny", action="store_true", help="little of all, to show that it runs")
    given = parser.parse_args()
    rounds = 1 if given.tiny else given.rounds
    with tempfile.TemporaryDirectory() as folder:
        for name, (ours, plain) in sides(start(Path(folder))).items():
            torch.testing.assert_close(ours(), plain(), rtol=1e-4, atol=1e-4)
            pairs = [(seconds(ours), seconds(plain)) for _ in range(rounds)]
            first, second = (statistics.median(side) * 1e3 for side in zip(*pairs, strict=True))
            ratio = statistics.median(a / b for a, b in pairs)
            print(f"{name}: {first:.1f} ms and {second:.1f} ms, ratio {ratio:.2f}")


if __name__ == "__main__":
    main()
