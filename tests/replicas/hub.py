"""Stand-ins for the models of the hub, in the cache's own layout: a few thousand random weights.

Usage: `write(folder, texts)`, then HF_HOME=folder and HF_HUB_OFFLINE=1. Names and revisions are
those of config/scales/full.yaml. Must not know what is trained from them.
"""

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from conftest import ROOT

SIZE = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2,
        "intermediate_size": 64, "max_position_embeddings": 512}  # fmt: skip
WORDS = 800  # of the texts that the vocabulary holds whole


def write(folder: Path, texts: Iterable[str]) -> list[str]:
    """Write every hub model that scale full names into a cache; return their names."""
    scale = yaml.safe_load((ROOT / "config" / "scales" / "full.yaml").read_text())
    bindings = {**scale["backbones"], **scale["rerankers"]}
    vocabulary = _vocabulary(texts)
    named = [bound for bound in bindings.values() if "hub" in bound]
    for bound in named:
        home = folder / "hub" / f"models--{bound['hub'].replace('/', '--')}"
        snapshot = home / "snapshots" / bound["revision"]
        _model(snapshot, vocabulary, reranker="reading" in bound)
        (home / "refs").mkdir()
        (home / "refs" / "main").write_text(bound["revision"])
    return [bound["hub"] for bound in named]


def _vocabulary(texts: Iterable[str]) -> list[str]:
    counts = Counter(word for text in texts for word in re.findall(r"[a-z]+", text.lower()))
    letters = "abcdefghijklmnopqrstuvwxyz0123456789.,-:/'"
    words = [word for word, _ in counts.most_common(WORDS) if len(word) > 1]
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    return [*special, *words, *letters, *(f"##{letter}" for letter in letters)]


def _model(folder: Path, vocabulary: list[str], reranker: bool) -> None:
    """Write a BERT with its masked-language head, or one with two labels as nboost's have."""
    import torch
    from transformers import (
        BertConfig,
        BertForMaskedLM,
        BertForSequenceClassification,
        BertTokenizerFast,
    )

    folder.mkdir(parents=True)
    (folder / "vocab.txt").write_text("\n".join(vocabulary))
    BertTokenizerFast(str(folder / "vocab.txt"), do_lower_case=True).save_pretrained(folder)
    config = BertConfig(vocab_size=len(vocabulary), num_labels=2, **SIZE)
    torch.manual_seed(len(str(folder.parent.parent.name)))
    kind: Any = BertForSequenceClassification if reranker else BertForMaskedLM
    kind(config).save_pretrained(folder)
