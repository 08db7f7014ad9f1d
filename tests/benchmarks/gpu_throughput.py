"""What a GPU makes of training and encoding: rates, in fp32 and bf16, and the share of its limit.

PYTHONPATH=workflow python tests/benchmarks/gpu_throughput.py [--limit TFLOPS] [--device cuda]

A BERT of base size with random weights reads random texts of 128 tokens: CLEAR's training step
(28 triplets of a query, a positive and a negative, hinge loss, Adam) and encoding. Model FLOP
utilisation (MFU) divides the products that the model needs by the card's limit without sparsity,
looked up by name for A100, H100 and H200 or given in TFLOP/s by `--limit` (one precision then).
sentence-transformers encodes the same texts in the same run where it is installed; a ratio above
1 means that residuum is faster. `--tiny` shows on a CPU that the script runs; its numbers say
nothing. Needs requirements-test.lock for the ratio.
"""

import argparse
import importlib.util
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np

from residuum.config.schema.encoder import Encoder as EncoderSchema
from residuum.config.schema.models import Training
from residuum.neural import devices, fitting
from residuum.neural.devices import AdaptiveBatchSize
from residuum.neural.encoders import Encoder
from residuum.neural.learners import BatchLoss, Learner, Outputs, Start
from residuum.neural.losses import triplet_hinge
from residuum.neural.optimisers import Moment, make_optimiser, take_step
from residuum.neural.pretrained import Source
from residuum.neural.processes import share

LENGTH = 128
WORDS = 30_000
# NVIDIA's data sheets, dense, TFLOP/s; the first name that the card's holds. fp32 is not TF32.
LIMITS = {
    "H100 PCIe": {"bf16": 756.0, "fp32": 51.0},
    "H100 NVL": {"bf16": 835.0, "fp32": 60.0},
    "A100": {"bf16": 312.0, "fp32": 19.5},
    "H100": {"bf16": 989.0, "fp32": 67.0},
    "H200": {"bf16": 989.0, "fp32": 67.0},
}


class Shape(NamedTuple):
    """Size of a BERT, and of what is measured."""

    hidden: int
    layers: int
    triplets: int
    docs: int
    batch: int
    steps: int


BASE = Shape(hidden=768, layers=12, triplets=28, docs=16_384, batch=512, steps=50)
TINY = Shape(hidden=64, layers=2, triplets=4, docs=64, batch=16, steps=3)


def make_model(folder: Path, shape: Shape) -> Path:
    """Write a BERT with random weights whose vocabulary is all words of the texts."""
    from transformers import BertConfig, BertModel, BertTokenizer

    entries = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"w{i}" for i in range(WORDS))]
    BertTokenizer(vocab={word: i for i, word in enumerate(entries)}).save_pretrained(folder)
    config = BertConfig(
        vocab_size=len(entries),
        hidden_size=shape.hidden,
        num_hidden_layers=shape.layers,
        num_attention_heads=max(1, shape.hidden // 64),
        intermediate_size=4 * shape.hidden,
    )
    BertModel(config).save_pretrained(folder)
    return folder


def texts(count: int, seed: int) -> list[str]:
    """Draw texts that fill the length: no padding, so that all work counts."""
    draws = np.random.default_rng(seed).integers(WORDS, size=(count, LENGTH))
    return [" ".join(f"w{word}" for word in row) for row in draws]


def flops(shape: Shape) -> float:
    """Return the FLOP of one text's forward pass: 2 per weight and token, and attention's.

    24 h^2 per token and layer in the linear layers, 4 h per pair of tokens and layer.
    """
    return shape.layers * LENGTH * (24 * shape.hidden**2 + 4 * shape.hidden * LENGTH)


class Rows(NamedTuple):
    """Some triplets, by number."""

    numbers: range


class Triplets(Learner[Rows]):
    """A learner of random triplets that are tokenised already, as residuum.train has them."""

    def __init__(self, encoder: Encoder, shape: Shape) -> None:
        self.encoder, self.model, self.size = encoder, encoder.model, shape.triplets
        self.start = Start(Source("random weights"), encoder.device, 1)
        self.queries = list(encoder.tokenise(texts(shape.triplets, 1), "query"))
        self.docs = list(encoder.tokenise(texts(2 * shape.triplets, 2), "doc"))

    def save(self, folder: Path) -> None:
        """Keep nothing."""

    def batch(self, step: int) -> Rows:
        """Return all triplets."""
        return Rows(range(self.size))

    def forward(self, batch: Rows) -> Outputs:
        """Return vectors; queries are as long as docs, which makes the FLOP easy to count."""
        rows = slice(batch.numbers.start, batch.numbers.stop)
        both = [*self.docs[: self.size][rows], *self.docs[self.size :][rows]]
        queries = self.encoder.forward(self.queries[rows], "query")[:, 0]
        return queries, *self.encoder.forward(both, "doc")[:, 0].split(len(queries))

    def losses(self, batch: Rows, outputs: Outputs, rows: slice) -> BatchLoss:
        """Return hinge losses."""
        queries, positives, negatives = outputs
        scores = (queries * positives).sum(dim=1), (queries * negatives).sum(dim=1)
        return BatchLoss(triplet_hinge(*scores, 1.0), {})


def training(encoder: Encoder, shape: Shape) -> Callable[[], object]:
    """Return a training step with the loop's own parts; its last act waits for the GPU."""
    learner, sizes = Triplets(encoder, shape), AdaptiveBatchSize("triplets", "LENGTH")
    how = Training(learning_rate=1e-5, batch_size=shape.triplets, steps=shape.steps)
    optimiser = make_optimiser(learner.model, how)
    learner.model.train()

    def step() -> object:
        result = fitting.set_gradients(learner, sizes, share(shape.triplets), 0)
        take_step(optimiser, how, Moment(0, shape.steps))
        return result

    return step


def seconds(work: Callable[[], object], rounds: int) -> float:
    """Return the median seconds of one call, after one that warms up."""
    taken = []
    for _ in range(rounds + 1):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return median(taken[1:])


def tell(name: str, rate: float, unit: str, needed: float, limit: float | None) -> None:
    """Print a rate, and the share of the card's limit if that is known."""
    used = needed * rate / 1e12
    share_of_limit = f", MFU {used / limit:.1%} of {limit:g}" if limit else ""
    print(f"{name}: {rate:.4g} {unit}/s, {used:.3g} TFLOP/s{share_of_limit}")


def encoding(encoder: Encoder, shape: Shape, docs: Sequence[str], limit: float | None) -> None:
    """Measure encoding from text, ours and then theirs."""
    precision = encoder.device.precision
    ours = len(docs) / seconds(lambda: encoder.encode(docs, "doc", shape.batch), 3)
    tell(f"encode {precision}", ours, "docs", flops(shape), limit)
    if importlib.util.find_spec("sentence_transformers") is None:
        print("sentence-transformers is not installed: no ratio")
        return
    theirs = len(docs) / seconds(their_work(encoder, shape, docs), 3)
    print(
        f"encode {precision}: sentence-transformers {theirs:.4g} docs/s, ratio {ours / theirs:.2f}"
    )


def their_work(encoder: Encoder, shape: Shape, docs: Sequence[str]) -> Callable[[], object]:
    """Let sentence-transformers encode under the same autocast."""
    from sentence_transformers import SentenceTransformer

    with tempfile.TemporaryDirectory() as name:
        encoder.save(Path(name))
        theirs = SentenceTransformer(name, device=encoder.device.name)

    def encode() -> object:
        with encoder.device.autocast():
            how = {"prompt_name": "document", "batch_size": shape.batch}
            return theirs.encode(list(docs), show_progress_bar=False, **how)

    return encode


def card(device: str) -> str:
    """Name the card, or the device that is none."""
    import torch

    return torch.cuda.get_device_name() if device == "cuda" else device


def limit_of(name: str, precision: str, given: float | None) -> float | None:
    """Return TFLOP/s of a card: as given, or as its data sheet says; None if nobody knows."""
    if given is not None:
        return given
    return next((of[precision] for key, of in LIMITS.items() if key in name), None)


def main() -> None:
    """Measure each precision, and print the card's memory that it took."""
    import torch

    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--device", default="cuda", help="cuda or cpu")
    parser.add_argument("--limit", type=float, help="the card's TFLOP/s, dense")
    parser.add_argument("--precision", nargs="+", default=["fp32", "bf16"])
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--tiny", action="store_true", help="a small model on the CPU")
    options = parser.parse_args()
    devices.quiet()
    shape, device = (TINY, "cpu") if options.tiny else (BASE, options.device)
    docs = texts(shape.docs, 3)
    print(f"{card(device)}, torch {torch.__version__}, {shape}")
    with tempfile.TemporaryDirectory() as name:
        start = make_model(Path(name), shape)
        for precision in options.precision if device == "cuda" else ["fp32"]:
            chosen = devices.choose(device, precision, options.threads)
            settings = EncoderSchema(query_length=LENGTH, doc_length=LENGTH)
            encoder = Encoder(Source(str(start)), settings, chosen)
            limit = limit_of(card(device), precision, options.limit)
            encoding(encoder, shape, docs, limit)
            rate = 1 / seconds(training(encoder, shape), shape.steps)
            needed = 3 * 3 * shape.triplets * flops(shape)  # 3 texts; backward is twice forward
            tell(f"train {precision}", rate, "steps", needed, limit)
            if device == "cuda":
                print(f"memory at most: {torch.cuda.max_memory_allocated() / 2**30:.1f} GiB")


if __name__ == "__main__":
    main()
