"""Checks of other people's checkpoints before use.

Usage: `foreign.check(path)` for each existing file of `indexes(pickled)`. After transformers has
read a model: `foreign.fit(model, report, name, new_head)`. A checkpoint may describe a model that
its weights do not fill, name files in other folders, or name code. A checkpoint that does not fit
is refused, because a model of random weights computes without any error.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from residuum.artefacts import files
from residuum.artefacts.wordpieces import TOKENIZER
from residuum.cli.errors import ResiduumError
from residuum.neural.hub import PICKLES, SAFETENSORS

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

WEIGHTS = SAFETENSORS[0]
INDEX = ".index.json"  # ends the name of an index, behind the name of weights in one file
NAMED = 3  # weights that a message names
SPARE = 100  # more layers than weights by this number are reported by key
LARGER = 4  # most times a file's weights that config.json may describe; a new head adds less
UNREAD = "pooler."  # pooler of an encoder whose last states are read
WRAPPED = "module."  # as DistributedDataParallel names what it wraps
MEND = "Save the model with transformers' save_pretrained, and name that folder"
VOCABULARY = ("vocab_file", "merges_file", "spm_file")  # what a tokenizer's class cannot do without


def indexes(pickled: bool) -> list[str]:
    """Return the names of the weight indexes that may be read."""
    return [name for name in SAFETENSORS + PICKLES * pickled if name.endswith(INDEX)]


def check(path: Path) -> None:
    """Raise ResiduumError if an index of weights names anything but weights beside it."""
    ending = Path(path.name.removesuffix(INDEX)).suffix
    for file in _named(path):
        if Path(file).name != file or not file.endswith(ending):
            raise ResiduumError(
                f"{path}: it names the file {file!r}. Weights lie beside it and end with {ending}. "
                f"{MEND}"
            )


def tensors(path: Path) -> dict[str, Tensor]:
    """Return a safetensors file's tensors. Raises ResiduumError if it is damaged or not finite."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        held = load_file(path)
    except (SafetensorError, OSError, ValueError) as error:
        raise ResiduumError(f"{path}: no safetensors: {error}. {MEND}") from None
    _check_values(held, str(path))
    return held


def weights_sha256(folder: Path) -> str:
    """Return the SHA-256 of a folder's weights: of the one file, or over all files of an index.

    Raises ResiduumError for a folder with neither.
    """
    if (folder / WEIGHTS).is_file():
        return files.sha256(folder / WEIGHTS)
    for index in (folder / name for name in indexes(pickled=False)):
        if index.is_file():
            check(index)
            return files.sha256_of_all((Path(n), files.sha256(folder / n)) for n in _named(index))
    raise ResiduumError(f"{folder}: no {WEIGHTS}. {MEND}")


def _named(path: Path) -> list[str]:
    """Return the files that an index names. Raises ResiduumError if it has no map of names."""
    try:
        held = json.loads(files.read_bytes(path))
        named = [*held["weight_map"].values()]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        named = [None]
    if not all(isinstance(file, str) for file in named):
        raise ResiduumError(f"{path}: no index of weights: it has no map of names to files. {MEND}")
    return sorted({*named})


def check_kernel(config: PreTrainedConfig, name: str) -> None:
    """Raise ResiduumError if a configuration asks for kernels of the hub, which are code."""
    kernel = config._attn_implementation
    if isinstance(kernel, str) and "/" in kernel:
        raise ResiduumError(
            f"{name}: its config.json asks for the code {kernel!r} as attn_implementation, and no "
            "code of a checkpoint is run. Delete that key"
        )


def check_size(head: Any, config: PreTrainedConfig, folder: Path) -> None:
    """Raise ResiduumError if a configuration describes far more weights than its files hold.

    Building such a model would take all memory, or hours.
    """
    import torch
    from safetensors import safe_open

    shapes: list[Sequence[int]] = []
    for path in sorted(folder.glob("*.safetensors")):
        with safe_open(path, framework="pt") as held:
            # safe_open has keys(), but cannot be iterated.
            shapes += [held.get_slice(name).get_shape() for name in held.keys()]  # noqa: SIM118
    if not shapes:
        return
    for key, value in config.to_dict().items():
        layers = "layers" in key and isinstance(value, int)
        if layers and value > len(shapes) + SPARE:
            raise ResiduumError(
                f"{folder / 'config.json'}: {key} is {value:,}, but the files hold "
                f"{len(shapes):,} weights. {MEND}"
            )
    with torch.device("meta"):
        made = head.from_config(config)
    described = sum(some.numel() for some in made.parameters())
    if described > LARGER * max(values := sum(map(math.prod, shapes)), 1):
        raise ResiduumError(
            f"{folder / 'config.json'}: it describes a model of {described:,} values, but the "
            f"files hold {values:,}. {MEND}"
        )


def fit(
    model: PreTrainedModel,
    report: Mapping[str, Collection[Any]],
    name: str,
    new_head: bool,
    new: Sequence[str] = (),
) -> None:
    """Raise ResiduumError unless the checkpoint's weights fill the model and none is left over.

    `report` is transformers' account of the loading. Weights outside the encoder are its head. They
    may be missing if training makes a `new_head`, and another head's weights may be left over.
    `new` names parts of the encoder that the caller makes. An encoder's pooler may be missing, too:
    only a classifier, which is a head, reads it.
    """
    base = model.base_model
    start = f"{model.base_model_prefix}."
    parts = {child for child, _ in base.named_children()}

    def inside(key: str) -> bool:
        return key.removeprefix(start).partition(".")[0] in parts

    def may_lack(key: str) -> bool:
        if key.removeprefix(start).startswith(UNREAD):
            return new_head or base is model
        return (not inside(key) and new_head) or any(f".{part}." in key for part in new)

    lacking = sorted(key for key in report["missing_keys"] if not may_lack(key))
    left = [str(key) for key in report["unexpected_keys"]]
    over = sorted(key for key in left if inside(key) or key.startswith(WRAPPED))
    shapes = [
        f"{key}, {_shape(had)} in the file and {_shape(asked)} by config.json"
        for key, had, asked in sorted(report["mismatched_keys"], key=lambda one: str(one[0]))
    ]
    faults = [
        _listed("it lacks", lacking),
        _listed("it has what no layer takes:", over),
        _listed("shapes differ:", shapes),
    ]
    if not any(faults):
        return _check_values(dict(model.named_parameters()), name)
    text, mend = "; ".join(filter(None, faults)), MEND
    if over and all(key.startswith(WRAPPED) for key in over):
        mend = (
            f"Its names begin with {WRAPPED}, as DistributedDataParallel has them: save the model "
            "that it wraps, its attribute `module`"
        )
    elif not (over or shapes or any(map(inside, lacking))):
        mend = "Name a model that has this head"
    raise ResiduumError(f"{name}: the weights do not fit a {type(model).__name__}: {text}. {mend}")


def check_tokenizer(
    tokenizer: PreTrainedTokenizerBase, rows: int, name: str, had: Callable[[str], bool]
) -> None:
    """Raise ResiduumError unless a tokenizer was read of files, and fits a model's embeddings.

    Without its files transformers makes one that knows no word, and says nothing. `rows` is the
    number of embeddings; `had` says whether the model has a file.
    """
    names = tokenizer.vocab_files_names
    needed = [names[key] for key in VOCABULARY if key in names]
    if needed and not had(TOKENIZER) and not all(map(had, needed)):
        raise ResiduumError(
            f"{name}: no tokenizer: it has neither {TOKENIZER} nor {' and '.join(needed)}, so that "
            "no word would be known. Save its tokenizer with transformers' save_pretrained into "
            "the same folder"
        )
    highest = max(tokenizer.get_vocab().values(), default=-1)
    if highest >= rows:
        raise ResiduumError(
            f"{name}: its tokenizer has ids up to {highest:,}, but the model has {rows:,} "
            f"embeddings: they are of two models. {MEND}, with the tokenizer that it was trained "
            "with"
        )


def _check_values(weights: Mapping[str, Tensor], name: str) -> None:
    """Raise ResiduumError if a weight is not finite: the model's results would not be finite."""
    bad = sorted(key for key, tensor in weights.items() if not _is_finite(tensor))
    if bad:
        raise ResiduumError(
            f"{name}: {_listed('some values are not finite: in', bad)}. A training that diverged, "
            "or a damaged copy, leaves such weights. Get the model again, or train it again"
        )


def _is_finite(tensor: Tensor) -> bool:
    """Say whether all values are finite; the extremes show it in a fraction of the time.

    torch has no extremes of floats of one byte.
    """
    import torch

    if tensor.is_floating_point() and tensor.itemsize == 1:
        tensor = tensor.float()
    if tensor.is_floating_point() and tensor.numel():
        tensor = torch.stack(torch.aminmax(tensor))
    return bool(tensor.isfinite().all())


def _shape(sides: Sequence[int]) -> str:
    return "x".join(map(str, sides))


def _listed(what: str, names: Sequence[str]) -> str:
    """Write a fault of weights with the first few names, or an empty string for no names."""
    if not names:
        return ""
    more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
    return f"{what} {', '.join(names[:NAMED])}{more}"
