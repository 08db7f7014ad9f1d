"""Stand-ins for the models of the hub, in the cache's own layout: a few thousand random weights.

Usage: `write(folder, texts)`, then run with the variables `offline(folder)`. Names and revisions
are those of config/scales/full.yaml, and of config/models/released.yaml, whose encoders are read as
they are. Must not know what is trained from them.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml

from conftest import ROOT

SIZE = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2,
        "intermediate_size": 64, "max_position_embeddings": 512}  # fmt: skip
WORDS = 800  # of the texts that the vocabulary holds whole


def write(folder: Path, texts: Iterable[str]) -> list[str]:
    """Write every hub model that scale full or the released encoders name; return their names."""
    scale = yaml.safe_load((ROOT / "config" / "scales" / "full.yaml").read_text())
    vocabulary = _vocabulary(texts)
    released = yaml.safe_load((ROOT / "config" / "models" / "released.yaml").read_text())["entries"]
    named = {bound["hub"]: bound for bound in _named([*scale["backbones"].values(),
                                                      *scale["rerankers"].values(),
                                                      *released.values()])}  # fmt: skip
    for hub, bound in named.items():
        home = folder / "hub" / f"models--{hub.replace('/', '--')}"
        _model(home / "snapshots" / commit(bound), vocabulary, bound)
        (home / "refs").mkdir()
        (home / "refs" / "main").write_text(commit(bound))
    return list(named)


def offline(folder: Path) -> dict[str, str]:
    """Return the environment variables with which a run finds these models, and no network."""
    proxy = "http://127.0.0.1:9"
    return {"HF_HOME": str(folder), "HF_HUB_OFFLINE": "1", "HTTPS_PROXY": proxy}


def commit(bound: dict[str, Any]) -> str:
    """Return the commit that a stand-in has: the revision, or one that its branch stands at."""
    if re.fullmatch("[0-9a-f]{40}", bound["revision"]):
        return str(bound["revision"])
    return hashlib.sha1(bound["hub"].encode()).hexdigest()


def _named(bindings: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield what is of the hub, for some datasets too."""
    for bound in bindings:
        if "datasets" in bound:
            yield from _named([*bound["datasets"].values(), bound["otherwise"]])
        elif "hub" in bound:
            yield bound


def _vocabulary(texts: Iterable[str]) -> list[str]:
    counts = Counter(word for text in texts for word in re.findall(r"[a-z]+", text.lower()))
    letters = "abcdefghijklmnopqrstuvwxyz0123456789.,-:/'"
    words = [word for word, _ in counts.most_common(WORDS) if len(word) > 1]
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    return [*special, *words, *letters, *(f"##{letter}" for letter in letters)]


def _model(folder: Path, vocabulary: list[str], bound: dict[str, Any]) -> None:
    """Write a BERT with its masked-language head, one with two labels as nboost's have, or a T5."""
    import torch
    from transformers import (
        BertConfig,
        BertForMaskedLM,
        BertForSequenceClassification,
        BertTokenizerFast,
        T5Config,
        T5ForConditionalGeneration,
    )

    folder.mkdir(parents=True)
    (folder / ".gitattributes").write_text("")  # every model of the hub has it: the cache is whole
    (folder / "vocab.txt").write_text("\n".join(vocabulary))
    BertTokenizerFast(str(folder / "vocab.txt"), do_lower_case=True).save_pretrained(folder)
    config = BertConfig(vocab_size=len(vocabulary), num_labels=2, **SIZE)
    torch.manual_seed(len(str(folder.parent.parent.name)))
    if "t5" in bound["hub"]:
        marks = {"eos_token_id": 3, "pad_token_id": 0, "decoder_start_token_id": 0}
        shape = {"d_model": 32, "d_ff": 64, "d_kv": 16, "num_layers": 1, "num_heads": 2}
        t5 = T5ForConditionalGeneration(T5Config(vocab_size=len(vocabulary), **shape, **marks))
        t5.save_pretrained(folder)
        return
    kind: Any = BertForSequenceClassification if "reading" in bound else BertForMaskedLM
    model = kind(config)
    if bound.get("kind") == "released-encoder" and "pooling" not in bound:
        _modules(folder)
    if bound.get("pickled"):
        config.save_pretrained(folder)
        torch.save(model.state_dict(), folder / "pytorch_model.bin")
    else:
        model.save_pretrained(folder)


def _modules(folder: Path) -> None:
    """Write the files of sentence-transformers that bge-base-en-v1.5 has: CLS, normalised."""
    names = ["Transformer", "Pooling", "Normalize"]
    paths = ["", "1_Pooling", "2_Normalize"]
    kinds = [f"sentence_transformers.models.{name}" for name in names]
    listed = [{"idx": n, "name": str(n), "path": path, "type": kind}
              for n, (path, kind) in enumerate(zip(paths, kinds, strict=True))]  # fmt: skip
    pooling = {"word_embedding_dimension": SIZE["hidden_size"], "pooling_mode_cls_token": True,
               "pooling_mode_mean_tokens": False}  # fmt: skip
    (folder / "1_Pooling").mkdir()
    for name, content in {
        "modules.json": listed,
        "1_Pooling/config.json": pooling,
        "sentence_bert_config.json": {"max_seq_length": 512},
    }.items():
        (folder / name).write_text(json.dumps(content))
