"""Whether a Hugging Face model can be had: in the cache, or from the hub.

Usage: `missing("google-bert/bert-base-uncased", revision)` before the first job starts, so that
rows whose model cannot be had are left out with the reason. Must not load a model or torch.
"""

import os
from functools import cache

SECONDS = 10  # to wait for the hub's answer
PUBLIC = "google-bert/bert-base-uncased"  # tells whether the hub can be reached, once for all
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
    except HFValidationError:
        return f"no model '{model}': neither a local directory nor the id of a hub model"
    offline = os.environ.get("HF_HUB_OFFLINE", "0") not in ("", "0")
    why = "HF_HUB_OFFLINE is set" if offline else _refused(PUBLIC) or _refused(model, revision)
    where = f"no model '{model}' at revision {revision}: not in the cache ($HF_HOME)"
    return f"{where}, and {why}" if why else None


@cache
def _refused(model: str, revision: str | None = None) -> str | None:
    """Return why the hub does not give a model, or None."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError

    try:
        HfApi().model_info(model, revision=revision, timeout=SECONDS)
    except Exception as error:  # whatever the network does, the hub is not available
        answered = isinstance(error, HfHubHTTPError) and revision is not None
        why = "does not give it" if answered else "cannot be reached"
        return f"the hub {why} ({type(error).__name__})"
    return None
