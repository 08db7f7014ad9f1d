"""Whether a Hugging Face model can be had: in the cache, or from the hub.

Usage: `missing("google-bert/bert-base-uncased", revision)` before the first job starts, so that
rows whose model is not there are left out with the reason. Must not load a model or torch.
"""

import os
from functools import cache

SECONDS = 10  # to wait for the hub's answer


@cache
def missing(model: str, revision: str) -> str | None:
    """Return why a model cannot be had at a revision, or None if it is cached or on the hub."""
    from huggingface_hub import try_to_load_from_cache

    if isinstance(try_to_load_from_cache(model, "config.json", revision=revision), str):
        return None
    why = _unreachable() or _unknown(model, revision)
    return (
        f"no model '{model}' at revision {revision}: not in the cache ($HF_HOME), {why}"
        if why
        else None
    )


@cache
def _unreachable() -> str | None:
    """Ask the hub for anything, once for all models."""
    from huggingface_hub import HfApi

    if os.environ.get("HF_HUB_OFFLINE", "0") not in ("", "0"):
        return "and HF_HUB_OFFLINE is set"
    try:
        HfApi().model_info("google-bert/bert-base-uncased", timeout=SECONDS)
    except Exception as error:
        return f"and the hub cannot be reached ({type(error).__name__})"
    return None


def _unknown(model: str, revision: str) -> str | None:
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError

    try:
        HfApi().model_info(model, revision=revision, timeout=SECONDS)
    except HfHubHTTPError as error:
        return f"and the hub does not give it ({type(error).__name__})"
    return None
