"""Whether a Hugging Face model can be had: in the cache, or from the hub, and in which format.

Usage: `missing("google-bert/bert-base-uncased", revision)` before the first job starts, so that
rows without their model are left out with the reason. This module loads neither a model nor torch.
"""

import os
from functools import cache
from pathlib import Path
from typing import NamedTuple

SECONDS = 10  # to wait for the hub's answer
PUBLIC = "google-bert/bert-base-uncased"  # tells once whether the hub can be reached
# Configuration, weights and tokenizer: a model is cached if it has a file of each.
CONFIG = ("config.json",)
SAFETENSORS = ("model.safetensors", "model.safetensors.index.json")
PICKLES = ("pytorch_model.bin", "pytorch_model.bin.index.json")
TOKENIZER = ("tokenizer.json", "vocab.txt", "tokenizer_config.json", "spiece.model")
WHOLE = ".gitattributes"
MODULES = "modules.json"  # a model that has it may hold its networks in folders
NO_SAFETENSORS = (
    "no safetensors. With `pickled: true` at a hub model in config/scales, tensors alone are read "
    "from its pickle (pytorch_model.bin). Or save the model as safetensors, with transformers' "
    "save_pretrained, and name that folder"
)


class _Answer(NamedTuple):
    """The hub's answer on a model: why the hub does not give it, or the names of its files."""

    why: str | None
    files: frozenset[str] = frozenset()


def missing(model: str, revision: str, pickled: bool = False) -> str | None:
    """Return why a model cannot be had at a revision, or None if it is cached or on the hub.

    Weights in a pickle count only if `pickled` is true.
    """
    from huggingface_hub.errors import HFValidationError

    weights = SAFETENSORS + PICKLES * pickled
    try:
        if all(_cached(model, revision, names) for names in (CONFIG, weights, TOKENIZER)):
            return None
    except HFValidationError:
        return f"no model '{model}': neither a local directory nor the id of a hub model"
    if not pickled and _only_pickled(model, revision):
        return f"model '{model}' at revision {revision}: {NO_SAFETENSORS}"
    where = f"no model '{model}' at revision {revision}: not in the cache ($HF_HOME)"
    why = _unreachable() or _asked(model, revision).why
    return f"{where}, and {why}" if why else None


def cached_as_pickle(model: str, revision: str | None) -> bool:
    """Say whether a model's weights in the cache are a pickle only."""
    from huggingface_hub.errors import HFValidationError

    try:
        held = [_cached(model, revision, names) for names in (SAFETENSORS, PICKLES)]
    except HFValidationError:  # not a model's id
        return False
    return held == [False, True]


def _only_pickled(model: str, revision: str) -> bool:
    """Say whether a model's weights are a pickle only, in the cache or else on the hub."""
    if any(_cached(model, revision, names) for names in (SAFETENSORS, PICKLES)):
        return cached_as_pickle(model, revision)
    names = frozenset[str]() if _unreachable() else _asked(model, revision).files
    return names.isdisjoint(SAFETENSORS) and not names.isdisjoint(PICKLES)


def commit(model: str, revision: str | None) -> str | None:
    """Return the commit at which a model's configuration is cached, or None if it is not cached."""
    from huggingface_hub import try_to_load_from_cache

    found = try_to_load_from_cache(model, *CONFIG, revision=revision)
    return Path(found).parent.name if isinstance(found, str) else None


def had(model: str, revision: str | None, name: str) -> Path | None:
    """Return a file of a model, downloading it if needed, or None if the model lacks the file."""
    from transformers.utils import cached_file

    how = {
        "_raise_exceptions_for_missing_entries": False,
        "_raise_exceptions_for_connection_errors": False,
    }
    found = cached_file(model, name, revision=revision, **how)
    return Path(found) if found else None


def lacks(model: str, revision: str | None, name: str) -> bool:
    """Say whether a model is known to lack a file that `had` did not find.

    The cache notes what the hub lacks. Without such a note, a cache that holds WHOLE was filled
    with the whole model: every model of the hub has that file, and no library reads it.
    """
    from huggingface_hub import _CACHED_NO_EXIST, try_to_load_from_cache

    noted = try_to_load_from_cache(model, name, revision=revision) is _CACHED_NO_EXIST
    return noted or isinstance(try_to_load_from_cache(model, WHOLE, revision=revision), str)


def _unreachable() -> str | None:
    """Return why the hub cannot be reached, or None if it can."""
    offline = os.environ.get("HF_HUB_OFFLINE", "0") not in ("", "0")
    return "HF_HUB_OFFLINE is set" if offline else _asked(PUBLIC).why


def _cached(model: str, revision: str | None, names: tuple[str, ...]) -> bool:
    from huggingface_hub import try_to_load_from_cache

    found = (try_to_load_from_cache(model, name, revision=revision) for name in names)
    if any(isinstance(path, str) for path in found):
        return True
    listed = try_to_load_from_cache(model, MODULES, revision=revision)
    top = Path(listed).parent if isinstance(listed, str) else None
    return any(top and [*top.glob(f"*/{name}")] for name in names)


@cache
def _asked(model: str, revision: str | None = None) -> _Answer:
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError

    try:
        found = HfApi().model_info(model, revision=revision, timeout=SECONDS)
    except Exception as error:  # the hub is unavailable whatever the network's error
        answered = isinstance(error, HfHubHTTPError) and revision is not None
        why = "does not give it" if answered else "cannot be reached"
        return _Answer(f"the hub {why} ({type(error).__name__})")
    return _Answer(None, frozenset(file.rfilename for file in found.siblings or ()))
