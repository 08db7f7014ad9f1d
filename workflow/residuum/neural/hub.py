"""Whether a Hugging Face model can be had: in the cache, or from the hub.

Usage: `missing("google-bert/bert-base-uncased", revision)` before the first job starts, so that
rows whose model is not there are left out with the reason. Must not load a model or torch.
"""

import os
from functools import cache

SECONDS = 10  # to wait for the hub's answer
WEIGHTS = ("model.safetensors", "pytorch_model.bin", "model.safetensors.index.json")
TOKENIZER = ("tokenizer.json", "vocab.txt", "tokenizer_config.json", "spiece.model")


def missing(model: str, revision: str) -> str | None:
    """Return why a model cannot be had at a revision, or None if it is cached or on the hub."""
    from huggingface_hub.errors import HFValidationError

    try:
        why = None if _cached(model, revision) else _not_given(model, revision)
    except HFValidationError:
        return f"no model '{model}': it is no folder here and cannot be the id of a hub model"
    if why is None:
        return None
    return f"no model '{model}' at revision {revision}: not in the cache ($HF_HOME), and {why}"


def _cached(model: str, revision: str) -> bool:
    """Say whether configuration, weights and tokenizer all lie in the cache."""
    from huggingface_hub import try_to_load_from_cache

    def there(name: str) -> bool:
        return isinstance(try_to_load_from_cache(model, name, revision=revision), str)

    return there("config.json") and any(map(there, WEIGHTS)) and any(map(there, TOKENIZER))


def _not_given(model: str, revision: str) -> str | None:
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
    except Exception as error:  # whatever the network does, the answer is that it is not there
        return f"the hub cannot be reached ({type(error).__name__})"
    return None
