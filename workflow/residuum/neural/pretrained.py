"""Models from a Hugging Face folder or the hub, with complaints that say what to do.

Usage: `model, tokenizer = pretrained.load(AutoModel, start, revision)`, or with any other of
the AutoModelFor... classes. Must not know what the model is trained for.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from residuum.artefacts import files
from residuum.cli.errors import ResiduumError
from residuum.config import entries
from residuum.config.schema.base import Strict
from residuum.config.specs import derive
from residuum.neural import devices

Settings = TypeVar("Settings", bound=Strict)
SETTINGS = "residuum.json"
WEIGHTS = "model.safetensors"
RECORDS = ("manifest.json", "training.tsv")  # of a checkpoint: how it was made, not what it is
DROPOUTS = ("hidden_dropout_prob", "attention_probs_dropout_prob", "dropout", "attention_dropout")


def load(
    head: Any,
    name: str,
    revision: str | None,
    dropout: float | None = None,
    markers: Sequence[str] = (),
    whole: bool = False,
    **settings: Any,
) -> tuple[Any, Any]:
    """Return model and tokenizer of a Hugging Face directory or hub id, with float32 weights.

    `head` is the class that reads it (AutoModel, AutoModelForMaskedLM, ...), `dropout` replaces
    the model's own, `markers` become special tokens if the tokenizer lacks them, and `settings`
    change the model's configuration. Weights that the model lacks are drawn from a fixed seed, or
    refused if it must be `whole`. Raises ResiduumError if the model cannot be had.
    """
    where = {"revision": revision} if revision else {}
    with _found(name, revision), devices.importing(), devices.seeded(derive(0, "new-weights")):
        import torch
        from transformers import AutoConfig, AutoTokenizer

        devices.quiet()
        config = AutoConfig.from_pretrained(name, **where, **settings)
        for key in DROPOUTS:
            if dropout is not None and hasattr(config, key):
                setattr(config, key, dropout)
        how = {"dtype": torch.float32, "output_loading_info": True, **where}
        model, told = head.from_pretrained(name, config=config, **how)
        tokenizer = AutoTokenizer.from_pretrained(name, **where)
        _add_markers(model, tokenizer, markers)
    if whole and told["missing_keys"]:
        lacking = ", ".join(sorted(told["missing_keys"]))
        raise ResiduumError(f"{name} is no {head.__name__.removeprefix('AutoModel')}: no {lacking}")
    return model, tokenizer


def commit(model: Any) -> str | None:
    """Return the hub's commit hash of a loaded model; None for a folder."""
    found = getattr(model.config, "_commit_hash", None)
    return str(found) if found else None


def check_length(name: str, config: Any, key: str, length: int) -> None:
    """Raise ResiduumError if a model reads fewer tokens than the spec's `key` asks for."""
    limit = getattr(config, "max_position_embeddings", None)
    if limit is not None and length > limit:
        raise ResiduumError(f"{key} is {length}, but {name} reads at most {limit} tokens")


def save(model: Any, tokenizer: Any, folder: Path) -> None:
    """Write model and tokenizer as a Hugging Face directory; weights as safetensors."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is not None:
        backend.no_truncation()  # else the last call's length is written to tokenizer.json
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def read_settings(folder: Path, form: type[Settings]) -> Settings:
    """Read and check the settings of a checkpoint of ours."""
    path = Path(folder) / SETTINGS
    if not path.is_file():
        raise ResiduumError(
            f"{folder}: no {SETTINGS}, so this is no checkpoint of residuum; "
            "`python -m residuum.train train` makes one from any Hugging Face model"
        )
    try:
        return entries.validate(str(path), json.loads(files.read_bytes(path)), form)
    except ValueError as error:
        raise ResiduumError(str(error)) from None


def write_settings(folder: Path, settings: Strict) -> None:
    """Write the settings beside a checkpoint's weights; what is only a kind, as its name."""
    record = {
        key: value["kind"] if isinstance(value, dict) and value.keys() == {"kind"} else value
        for key, value in settings.model_dump(mode="json").items()
    }
    write_json(Path(folder) / SETTINGS, record)


def write_json(path: Path, content: Any) -> None:
    """Write a JSON file for people to read."""
    files.write_text(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")


def parts(folder: Path) -> list[Path]:
    """Return the files that make up a checkpoint, without the records of its making."""
    found = (path for path in Path(folder).rglob("*") if path.is_file())
    return sorted(path for path in found if path.name not in RECORDS)


def _add_markers(model: Any, tokenizer: Any, markers: Sequence[str]) -> None:
    tokenizer.add_tokens([marker for marker in markers if marker], special_tokens=True)
    if len(tokenizer) > model.get_input_embeddings().num_embeddings:
        model.resize_token_embeddings(len(tokenizer), mean_resizing=False)


@contextmanager
def _found(name: str, revision: str | None) -> Iterator[None]:
    """Turn Hugging Face's complaint about a model that cannot be had into ours."""
    try:
        yield
    except (OSError, ValueError) as error:
        reason = str(error).strip().splitlines()[0]
        if Path(name).is_dir():
            raise ResiduumError(f"{name}: not a Hugging Face model directory: {reason}") from None
        at = f" at revision {revision}" if revision else ""
        raise ResiduumError(
            f"no model '{name}'{at}: it is no folder here, it is not in the Hugging Face cache "
            f"($HF_HOME), and the hub did not give it ({reason}). Without a network, put it into "
            "the cache beforehand or name a folder with `--config encoder=PATH`."
        ) from None
