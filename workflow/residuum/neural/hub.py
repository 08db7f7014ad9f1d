"""Whether a Hugging Face model can be had: in the cache, or from the hub.

Usage: `missing("google-bert/bert-base-uncased", revision)` before the first job starts, so that
rows whose model cannot be had are left out with the reason. Must not load a model or torch.
"""

import os
from functools import cache

SECONDS = 10  # to wait for the hub's answer
# Configuration, weights and tokenizer: a model is cached if it has a file of each.
FILES = (
    ("config.json",),
    ("model.safetensors", "pytorch_model.bin", "model.safetensors.index.json"),
    ("tokenizer.json", "vocab.txt", "tokenizer_config.json", "spiece.model"),
)


def missing(model: str, revision: str) -> str | None:
    """Return why a model cannot be had at a revision, or None if it is cached or on the hub."""
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    def local(name: str) -> bool:
        return isinstance(try_to_load_from_cache(model, name, revision=revision), str)

    try:
        if all(any(map(local, names)) for names in FILES):
            return None
        why = _refused(model, revision)
    except HFValidationError:
        return f"no model '{model}': neither a local directory nor the id of a hub model"
    where = f"no model '{model}' at revision {revision}: not in the cache ($HF_HOME)"
    return f"{where}, and {why}" if why else None


def _refused(model: str, revision: str) -> str | None:
    """Return why the hub does not give a model, or None."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError

    if os.environ.get("HF_HUB_OFFLINE", "0") not in ("", "0"):
        return "HF_HUB_OFFLINE is set"
    if unreachable := _unreachable():
        return unreachable
    try:
        HfApi().model_info(model, revision=revision, timeout=SECONDS)
    except HfHubHTTPError as error:
        return f"the hub does not give it ({type(error).__name__})"
    except OSError as error:
        return f"the hub cannot be reached ({type(error).__name__})"
    return None


@cache
def _unreachable() -> str | None:
    """Ask the hub for anything, once for all models."""
    from huggingface_hub import HfApi

    try:
        HfApi().model_info("google-bert/bert-base-uncased", timeout=SECONDS)
    except Exception as error:  # whatever the network does, the hub is not available
        return f"the hub cannot be reached ({type(error).__name__})"
    return None
