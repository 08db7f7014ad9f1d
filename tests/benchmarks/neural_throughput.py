"""Throughput beside sentence-transformers: pairs scored and texts encoded per second.

PYTHONPATH=workflow python tests/benchmarks/neural_throughput.py [--model FOLDER] [--threads 1]

Both sides get the same model, texts, threads, batch size and precision and take turns; both start
from text. A ratio above 1 means that residuum is faster. Without `--model` (any Hugging Face
folder of a BERT) a BERT of two layers and width 64 is made, untrained: speed does not ask for
sense. Needs requirements-test.lock. Exit status 1 if the two sides disagree.
"""

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np

from residuum.core import schema
from residuum.neural import devices
from residuum.neural.crossencoder import CrossEncoder, Pair
from residuum.neural.encoders import Encoder

WORDS = 3000
QUERY_WORDS, DOC_WORDS = (2, 6), (20, 60)
QUERY_LENGTH, LENGTH = 64, 128
TOLERANCE = 1e-4

Work = Callable[[], np.ndarray]


class Sample(NamedTuple):
    """Random texts, and pairs of their numbers: each query meets `depth` docs."""

    queries: list[str]
    docs: list[str]
    pairs: list[tuple[int, int]]


def draw(count: int, depth: int, seed: int = 1) -> Sample:
    """Draw `count` docs and as many pairs, so that a doc is met about once."""
    source = random.Random(seed)
    words = vocabulary()
    queries = [sentence(source, words, QUERY_WORDS) for _ in range(count // depth)]
    docs = [sentence(source, words, DOC_WORDS) for _ in range(count)]
    met = [(q, d) for q in range(len(queries)) for d in source.sample(range(count), depth)]
    return Sample(queries, docs, met)


def vocabulary() -> list[str]:
    """Return words of two to five syllables, always the same."""
    source = random.Random(0)
    syllables = [a + b for a in "bdfgklmnprstv" for b in "aeiou"]
    return ["".join(source.choices(syllables, k=source.randint(2, 5))) for _ in range(WORDS)]


def sentence(source: random.Random, words: list[str], length: tuple[int, int]) -> str:
    """Join random words."""
    return " ".join(source.choices(words, k=source.randint(*length)))


def small_bert(folder: Path) -> Path:
    """Make the model that is measured without `--model`: its vocabulary holds every word."""
    from transformers import BertConfig, BertModel, BertTokenizer

    entries = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *dict.fromkeys(vocabulary())]
    BertTokenizer(vocab={word: i for i, word in enumerate(entries)}).save_pretrained(folder)
    shape = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
    limits = {"intermediate_size": 256, "max_position_embeddings": LENGTH}
    BertModel(BertConfig(vocab_size=len(entries), **shape, **limits)).save_pretrained(folder)
    return folder


def scoring(start: Path, folder: Path, sample: Sample, batch: int) -> tuple[Work, Work]:
    """Return the two ways to score the pairs."""
    from sentence_transformers import CrossEncoder as Theirs

    device = devices.Device("cpu", "fp32")
    reading = schema.Reading(query_length=QUERY_LENGTH, length=LENGTH)
    ours = CrossEncoder.start(str(start), None, reading, device)
    ours.save(folder)
    theirs = Theirs(str(folder), device="cpu")
    texts = [(sample.queries[q], sample.docs[d]) for q, d in sample.pairs]

    def score() -> np.ndarray:
        queries = ours.tokenise(sample.queries, "query")
        docs = ours.tokenise(sample.docs, "doc")
        return ours.score([Pair(queries[q], docs[d]) for q, d in sample.pairs], batch)

    return score, lambda: theirs.predict(texts, batch_size=batch, show_progress_bar=False)


def encoding(start: Path, folder: Path, sample: Sample, batch: int) -> tuple[Work, Work]:
    """Return the two ways to encode the docs."""
    from sentence_transformers import SentenceTransformer

    settings = schema.Encoder(query_length=LENGTH, doc_length=LENGTH)
    ours = Encoder.start(str(start), None, settings, devices.Device("cpu", "fp32"))
    ours.save(folder)
    theirs = SentenceTransformer(str(folder), device="cpu")
    how = {"prompt_name": "document", "batch_size": batch, "show_progress_bar": False}
    return (
        lambda: ours.encode(sample.docs, "doc", batch),
        lambda: theirs.encode(sample.docs, **how),
    )


def compare(name: str, works: tuple[Work, Work], count: int, rounds: int) -> bool:
    """Let both take turns, print their median rates, and say whether their results agree."""
    results = [work() for work in works]  # also warms both up
    seconds: list[list[float]] = [[], []]
    for number in range(rounds):
        for side in (0, 1) if number % 2 == 0 else (1, 0):
            start = time.perf_counter()
            works[side]()
            seconds[side].append(time.perf_counter() - start)
    ours, theirs = (count / median(times) for times in seconds)
    apart = float(np.abs(results[0] - results[1]).max())
    print(
        f"{name}: residuum {ours:.0f}/s, sentence-transformers {theirs:.0f}/s, "
        f"ratio {ours / theirs:.2f}, largest difference {apart:.1e}"
    )
    return apart < TOLERANCE


def main() -> int:
    """Measure both kinds of model."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model", type=Path, help="Hugging Face folder of a BERT")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--count", type=int, default=4000, help="texts, and pairs")
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=5, help="runs of each side")
    told = parser.parse_args()
    devices.choose("cpu", "fp32", told.threads)
    sample = draw(told.count, depth=50)
    with tempfile.TemporaryDirectory() as name:
        folders = [Path(name, kind) for kind in ("start", "cross", "dual")]
        for folder in folders:
            folder.mkdir()
        start = told.model or small_bert(folders[0])
        pairs = scoring(start, folders[1], sample, told.batch_size)
        texts = encoding(start, folders[2], sample, told.batch_size)
        same = [
            compare("pairs", pairs, len(sample.pairs), told.rounds),
            compare("texts", texts, len(sample.docs), told.rounds),
        ]
    return int(not all(same))


if __name__ == "__main__":
    sys.exit(main())
