"""What a tokenizer puts before a text: its [CLS], or nothing where a marker replaces it.

Usage: `set_cls(tokenizer, False)`, then `save_tokenizer(tokenizer, folder)`. Any library that reads
the folder then puts no [CLS] before a text.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from residuum.artefacts import files

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase as Tokenizer

Part = dict[str, dict[str, object]]  # of a template: a special token or a text
TEMPLATES = ("single", "pair")  # a text, two texts
CONFIG = "tokenizer_config.json"
# This class of transformers takes tokenizer.json unchanged; BERT's own would put [CLS] back.
AS_IT_IS = "PreTrainedTokenizerFast"


def set_cls(tokenizer: Tokenizer, kept: bool) -> None:
    """Let a tokenizer put [CLS] before a text, or not; other special tokens stay.

    Nothing changes for a tokenizer without [CLS], or without a template. Nothing changes where the
    template has [CLS] elsewhere, as XLNet's has it at the end.
    """
    from tokenizers.processors import TemplateProcessing

    backend = getattr(tokenizer, "backend_tokenizer", None)
    frame = getattr(backend, "post_processor", None)
    if backend is None or not isinstance(frame, TemplateProcessing):
        return
    before = json.loads(frame.__getstate__())
    if tokenizer.cls_token not in before["special_tokens"]:
        return
    cls = {"SpecialToken": {"id": tokenizer.cls_token, "type_id": 0}}
    after = {**before, **{form: _led(before[form], cls, kept) for form in TEMPLATES}}
    if after != before:
        changed = TemplateProcessing()
        changed.__setstate__(json.dumps(after).encode())
        backend.post_processor = changed


def _led(parts: list[Part], cls: Part, kept: bool) -> list[Part]:
    """Return the parts of a template with [CLS] as the first part, or without it."""
    if kept:
        special = [part["SpecialToken"]["id"] for part in parts if "SpecialToken" in part]
        return parts if cls["SpecialToken"]["id"] in special else [cls, *parts]
    return parts[1:] if parts[:1] == [cls] else parts


def begins_with_cls(tokenizer: Tokenizer) -> bool:
    """Say whether a tokenizer puts [CLS] before a text."""
    ids = tokenizer("")["input_ids"]
    return tokenizer.cls_token_id is not None and ids[:1] == [tokenizer.cls_token_id]


def save_tokenizer(tokenizer: Tokenizer, folder: Path) -> None:
    """Write a tokenizer's files, so that reading them gives the same frame."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is not None:
        backend.no_truncation()  # otherwise tokenizer.json records the last call's length
    tokenizer.save_pretrained(folder)
    config = json.loads(files.read_bytes(Path(folder) / CONFIG))
    dropped = tokenizer.cls_token is not None and not begins_with_cls(tokenizer)
    # transformers 4 lacks TokenizersBackend.
    if dropped or config.get("tokenizer_class") == "TokenizersBackend":
        as_it_is(tokenizer, folder)


def as_it_is(tokenizer: Tokenizer, folder: Path) -> None:
    """Let readers of a saved tokenizer take its tokenizer.json unchanged, normaliser included."""
    path = Path(folder) / CONFIG
    config = json.loads(files.read_bytes(path))
    config |= {"tokenizer_class": AS_IT_IS, "model_input_names": tokenizer.model_input_names}
    files.write_text(path, json.dumps(config, indent=2, ensure_ascii=False) + "\n")
