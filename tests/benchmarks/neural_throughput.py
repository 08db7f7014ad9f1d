"""Throughput beside sentence-transformers: pairs scored and texts encoded per second.

PYTHONPATH=workflow python tests/benchmarks/neural_throughput.py [--model FOLDER] [--threads 2]

Both sides get the same model, texts, threads, batch size and precision and take turns; both start
from text. A ratio above 1 means that residuum is faster; it is the median over the rounds, by the
clock and by the process's CPU seconds, of which what else the machine does takes none. Without
`--model` (any Hugging Face folder of a BERT) a BERT of two layers and width 64 is made, untrained:
speed does not ask for sense. `--corpus` and `--queries` (JSON Lines with `text`, gzip or not) give
texts of natural lengths in place of random ones. Needs requirements-test.lock. Exit status 1 if the
sides disagree.
"""

import argparse
import gzip
import json
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from residuum.config.schema.encoder import Encoder as EncoderSchema
from residuum.config.schema.reading import Reading
from residuum.neural import devices
from residuum.neural.crossencoder import CrossEncoder, Pair
from residuum.neural.encoders import Encoder
from residuum.neural.pretrained import Source

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
    return paired(source, queries, docs, depth)


def drawn_from(corpus: Path, asked: Path, count: int, depth: int, seed: int = 1) -> Sample:
    """Draw docs and queries of files, and pairs of them; of the docs that have a text."""
    source = random.Random(seed)
    docs, queries = (texts_of(path) for path in (corpus, asked))
    return paired(source, source.sample(queries, count // depth), source.sample(docs, count), depth)


def texts_of(path: Path) -> list[str]:
    """Return the texts of a file of JSON Lines."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as lines:
        return [text for line in lines if (text := json.loads(line)["text"])]


def paired(source: random.Random, queries: list[str], docs: list[str], depth: int) -> Sample:
    """Let each query meet some docs."""
    count = len(docs)
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


def scoring(
    start: Path, folder: Path, sample: Sample, batch: int, length: int
) -> tuple[Work, Work]:
    """Return the two ways to score the pairs."""
    from sentence_transformers import CrossEncoder as Theirs

    device = devices.Device("cpu", "fp32")
    reading = Reading(query_length=QUERY_LENGTH, length=length)
    CrossEncoder(Source(str(start), new_head=True), reading, device).save(folder)
    ours = CrossEncoder.load(folder, device)
    theirs = Theirs(str(folder), device="cpu")
    texts = [(sample.queries[q], sample.docs[d]) for q, d in sample.pairs]

    def score() -> np.ndarray:
        queries = list(ours.tokenise(sample.queries, "query"))
        docs = list(ours.tokenise(sample.docs, "doc"))
        return ours.score([Pair(queries[q], docs[d]) for q, d in sample.pairs], batch)

    return score, lambda: theirs.predict(texts, batch_size=batch, show_progress_bar=False)


def encoding(
    start: Path, folder: Path, sample: Sample, batch: int, length: int
) -> tuple[Work, Work]:
    """Return the two ways to encode the docs."""
    from sentence_transformers import SentenceTransformer

    settings = EncoderSchema(query_length=length, doc_length=length)
    device = devices.Device("cpu", "fp32")
    Encoder(Source(str(start)), settings, device).save(folder)
    ours = Encoder.load(folder, device)
    theirs = SentenceTransformer(str(folder), device="cpu")
    how = {"prompt_name": "document", "batch_size": batch, "show_progress_bar": False}
    return (
        lambda: ours.encode(sample.docs, "doc", batch),
        lambda: theirs.encode(sample.docs, **how),
    )


def compare(name: str, works: tuple[Work, Work], count: int, rounds: int) -> bool:
    """Let both take turns, print a row of a Markdown table, and say whether their results agree."""
    results = [work() for work in works]  # also warms both up
    seconds = np.empty((rounds, 2, 2))  # of each round and side: by the clock, of the CPU
    for number in range(rounds):
        for side in (0, 1) if number % 2 == 0 else (1, 0):
            seconds[number, side] = timed(works[side])
    rates = count / np.median(seconds[:, :, 0], axis=0)
    ratios = np.median(seconds[:, 1] / seconds[:, 0], axis=0)
    apart = float(np.abs(results[0] - results[1]).max())
    cells = [name, f"{count:,}", *(f"{value:.0f}" for value in rates)]
    cells += [*(f"{ratio:.2f}" for ratio in ratios), f"{apart:.1e}"]
    print(f"| {' | '.join(cells)} |", flush=True)
    return apart < TOLERANCE


def timed(work: Work) -> tuple[float, float]:
    """Return the seconds that a work takes, by the clock and of the CPU."""
    clock, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - clock, time.process_time() - cpu


HEADS = ["work", "count", "residuum, 1/s", "sentence-transformers, 1/s"]
HEADS += ["ratio", "ratio of CPU seconds", "largest difference"]


def main() -> int:
    """Measure both kinds of model at every size."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model", type=Path, help="Hugging Face folder of a BERT")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--counts", type=int, nargs="+", default=[200, 1000], help="texts, pairs")
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=5, help="runs of each side")
    parser.add_argument("--tiny", action="store_true", help="little of all, to show that it runs")
    parser.add_argument("--length", type=int, default=LENGTH, help="tokens read at most")
    parser.add_argument("--corpus", type=Path, help="docs of natural lengths")
    parser.add_argument("--queries", type=Path, help="queries for them")
    parser.add_argument("--work", nargs="+", default=["pairs", "texts"], help="pairs, texts")
    options = parser.parse_args()
    if options.tiny:
        options.threads, options.counts, options.rounds = 1, [50], 1
    devices.choose("cpu", "fp32", options.threads)
    print(f"| {' | '.join(HEADS)} |\n|{' --- |' * len(HEADS)}")
    with tempfile.TemporaryDirectory() as name:
        folders = [Path(name, kind) for kind in ("start", "cross", "dual")]
        for folder in folders:
            folder.mkdir()
        start = options.model or small_bert(folders[0])
        same = []
        for count in options.counts:
            given = options.corpus, options.queries
            sample = drawn_from(*given, count, depth=50) if all(given) else draw(count, depth=50)
            how = sample, options.batch_size, options.length
            if "pairs" in options.work:
                pairs = scoring(start, folders[1], *how)
                same.append(compare("pairs", pairs, len(sample.pairs), options.rounds))
            if "texts" in options.work:
                texts = encoding(start, folders[2], *how)
                same.append(compare("texts", texts, len(sample.docs), options.rounds))
    return int(not all(same))


if __name__ == "__main__":
    sys.exit(main())
