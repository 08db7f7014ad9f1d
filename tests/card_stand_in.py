"""A card that is not there: tensors on torch's device `meta`, which hold nothing.

Usage: `with stand_in(monkeypatch) as seen: on_card(learner)`, then what is computed with it. To mix
devices, or to ask the card for a value, is an error of torch or stands in `seen.waits`, with the
line of ours; `seen.launches` counts what a card would be given.
"""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from residuum.neural import devices
from residuum.neural.inputs import Inputs

PACKAGE = Path(devices.__file__).parents[1]
# Views and bookkeeping, for which a card computes nothing.
FREE = frozenset(
    (
        *("view", "_unsafe_view", "reshape", "t", "transpose", "permute", "expand", "select"),
        *("slice", "unsqueeze", "squeeze", "alias", "split", "split_with_sizes", "unbind"),
        *("as_strided", "detach", "diagonal", "empty", "empty_like", "empty_strided"),
        *("new_empty", "new_empty_strided", "lift_fresh"),
    )
)
CARD = "meta"


class Seen(TorchDispatchMode):
    """Operations by name that a card would be given, and the lines that would wait for a card."""

    def __init__(self) -> None:
        super().__init__()
        self.launches: Counter[str] = Counter()
        self.waits: list[str] = []

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        name = function._schema.name.partition("::")[2]
        if _waits(function, args, kwargs):
            self.waits.append(f"{name} at {_line()}")
        if name not in FREE:
            self.launches[name] += 1
        return function(*args, **kwargs)


def _waits(function: Any, args: Any, kwargs: Any) -> bool:
    """Say whether an operation mixes tensors of host and card, or copies between the two.

    Numbers of one value may stay on the host.
    """
    given = [some for some in tree_leaves((args, kwargs)) if torch.is_tensor(some)]
    kinds = {some.device.type for some in given if some.ndim}
    if target := kwargs.get("device"):
        kinds.add(torch.device(target).type)
    return len(kinds) > 1


class Asked(TorchFunctionMode):
    """Note calls that make a tensor of Python's values on the card: their copies wait."""

    def __init__(self, waits: list[str]) -> None:
        super().__init__()
        self.waits = waits

    def __torch_function__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        name = getattr(function, "__name__", "")
        held = bool(args) and torch.is_tensor(args[0]) and args[0].device.type == CARD
        values = name in ("tensor", "as_tensor") and args[0] != []  # nothing is not copied
        made = values and kwargs.get("device") is not None
        made = made and torch.device(kwargs["device"]).type == CARD
        index = args[1] if name in ("__getitem__", "__setitem__") and len(args) > 1 else ()
        parts = index if isinstance(index, tuple) else (index,)
        lists = any(isinstance(some, list | np.ndarray) for some in parts)
        if made or (held and (name == "new_tensor" or lists)):
            self.waits.append(f"{name} at {_line()}")
        return function(*args, **kwargs)


def _line() -> str:
    every = traceback.extract_stack()
    own = [frame for frame in every if frame.filename.startswith(str(PACKAGE))]
    if not own:
        return "a test"
    frame = own[-1]
    return f"{Path(frame.filename).relative_to(PACKAGE)}:{frame.lineno} {frame.line}"


@contextmanager
def stand_in(monkeypatch: pytest.MonkeyPatch) -> Iterator[Seen]:
    """Give torch a card of capability 9.0 whose tensors hold nothing, without autocast."""

    def put(array: Any, device: str) -> torch.Tensor:
        if device == "cpu":
            return torch.from_numpy(array)
        return torch.empty(array.shape, dtype=torch.from_numpy(array[:0]).dtype, device=CARD)

    monkeypatch.setattr(devices, "put", put)
    monkeypatch.setattr(devices.Device, "autocast", lambda device: nullcontext())
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: (9, 0))
    seen = Seen()
    with Asked(seen.waits), seen:
        yield seen


def on_card(learner: Any, precision: str = "bf16") -> Any:
    """Move a learner that was made on the CPU, and what it computes with, onto the card.

    With the precision bf16 its weights are bfloat16, as autocast would have its products.
    """
    device = devices.Device("cuda", precision)
    if precision == "bf16":
        learner.model.to(torch.bfloat16)
    learner.model = moved(learner.model)
    learner.start = learner.start._replace(device=device)
    if hasattr(learner, "device"):
        learner.device = device
        learner.inputs = Inputs(learner.model, learner.tokenizer.pad_token_id or 0, device)
    if hasattr(learner, "encoder"):
        text_on_card(learner.encoder, device)
    return learner


def text_on_card(model: Any, device: devices.Device) -> None:
    """Let a model of texts, whose weights are there, compute on the card."""
    packs = model.model.config.model_type != "encoder-decoder"
    source = model.backbone if packs else model.model.get_encoder()
    model.device, model.inputs = device, Inputs(source, model.inputs.fill, device, packs)
    if torch.is_tensor(getattr(model, "is_term", None)):
        model.is_term = torch.empty(model.is_term.shape, dtype=torch.bool, device=CARD)


def moved(model: Any) -> Any:
    """Put the weights of a model onto the card, in place; shared weights stay shared."""
    made: dict[int, torch.nn.Parameter] = {}
    for part in model.modules():
        for name, weights in [*part.named_parameters(recurse=False)]:
            if id(weights) not in made:
                there = torch.empty(weights.shape, dtype=weights.dtype, device=CARD)
                made[id(weights)] = torch.nn.Parameter(there, weights.requires_grad)
            setattr(part, name, made[id(weights)])
        for name, values in [*part.named_buffers(recurse=False)]:
            there = torch.empty(values.shape, dtype=values.dtype, device=CARD)
            part._buffers[name] = there
    return model
