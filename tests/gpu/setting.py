"""What every step measures on: a device, a model of random weights, random texts.

Usage: `Setting("cuda", False, scratch, log).backbone()`. No download: speed does not ask for sense.
Must not know what is measured.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from residuum.artefacts import contracts, files
from residuum.artefacts.streams import chunks
from residuum.neural import devices

T = TypeVar("T")
CORES = 8  # threads of what computes beside a card
MARKS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
AROUND = 2  # tokens of a text that are not its words: a marker before it, [SEP] behind it


class Shape(NamedTuple):
    """The size of a BERT."""

    hidden: int
    layers: int
    words: int

    def flop(self, lengths: np.ndarray) -> float:
        """Return the FLOP of a forward pass over texts of so many tokens, without any padding.

        2 for each weight and token: 24 h^2 a token and layer in the linear layers; 4 h for each
        pair of tokens and layer in attention.
        """
        lengths = np.asarray(lengths, dtype=np.float64)
        each = 24 * self.hidden**2 * lengths + 4 * self.hidden * lengths**2
        return float(self.layers * each.sum())


class Setting(NamedTuple):
    """Where steps measure: cuda or cpu; base or tiny models; a folder that all steps share."""

    device: str
    tiny: bool
    scratch: Path
    log: Path

    def pick(self, base: T, tiny: T) -> T:
        """Return what is for a card, or what shows that a step runs."""
        return tiny if self.tiny else base

    @property
    def shape(self) -> Shape:
        """The size of the model: BERT-base, or one that costs next to nothing."""
        return self.pick(Shape(768, 12, 30_000), Shape(16, 1, 200))

    @property
    def longest(self) -> int:
        """Tokens of the longest text."""
        return self.pick(128, 16)

    @property
    def forks(self) -> bool:
        """Whether a command is forked, which a process that has used a card cannot be."""
        return self.tiny and self.device == "cpu"

    @property
    def threads(self) -> int:
        """CPU threads of a process."""
        return self.pick(CORES, 1)

    def chosen(self, precision: str = "auto") -> devices.Device:
        """Choose the device as every command does."""
        devices.quiet()
        return devices.choose(self.device, precision, self.threads)

    def synchronise(self) -> None:
        """Wait until a card has done all that it was given."""
        if self.device == "cuda":
            import torch

            torch.cuda.synchronize()

    def backbone(self) -> Path:
        """Return the folder of the model, which the first step that asks for it writes."""
        folder = self.scratch / "start"
        if folder.is_dir():
            return folder
        import torch
        from transformers import BertConfig, BertModel, BertTokenizer

        torch.manual_seed(0)
        hidden, layers, words = self.shape
        vocabulary = [*MARKS, *(f"w{number}" for number in range(words))]
        config = BertConfig(
            vocab_size=len(vocabulary),
            hidden_size=hidden,
            num_hidden_layers=layers,
            num_attention_heads=self.pick(12, 2),
            intermediate_size=4 * hidden,
        )
        tokenizer = BertTokenizer(vocab={word: i for i, word in enumerate(vocabulary)})
        with files.whole_directory(folder) as made:
            BertModel(config).save_pretrained(made)
            tokenizer.save_pretrained(made)
        return folder

    def natural(self, count: int) -> np.ndarray:
        """Draw how many tokens texts have: as passages, most of about half the longest.

        A log-normal distribution of median 64 and deviation 0.4, cut at 128: mean 69, one in twenty
        fills its length.
        """
        drawn = np.random.default_rng(1).lognormal(np.log(self.longest / 2), 0.4, count)
        return np.clip(drawn.round(), AROUND + 1, self.longest).astype(int)

    def texts(self, lengths: Sequence[int] | np.ndarray, seed: int) -> list[str]:
        """Draw texts of so many tokens; each word is one."""
        random, words = np.random.default_rng(seed), self.shape.words
        rows = (random.integers(words, size=length - AROUND) for length in lengths)
        return [" ".join(f"w{word}" for word in row) for row in rows]

    def corpus(self, folder: Path, count: int) -> Path:
        """Write docs d0, d1, ... of natural lengths as a corpus folder; return the folder."""
        folder.mkdir(parents=True)
        texts = self.texts(self.natural(count), 2)
        docs = ((f"d{number}", {"text": text}) for number, text in enumerate(texts))
        facts: dict[str, Any] = {"docs": count, "edition": "random"}
        facts["shards"] = contracts.write_corpus(folder, docs)
        files.write_text(folder / "manifest.json", json.dumps({"artefact": facts}) + "\n")
        return folder


def by_length(tokens: Sequence[np.ndarray], batch: int) -> list[list[np.ndarray]]:
    """Return tokenised texts in batches of about one length, as encoders take them."""
    return list(chunks(sorted(tokens, key=len), batch))
