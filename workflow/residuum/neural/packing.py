"""Texts of several lengths side by side in a model's layers, without padding between them.

Usage: `packing.install(model)`, then `model(input_ids=ids, packed=packing.of(lengths, width,
device))`. What goes in and what comes out is padded as ever, so that heads and poolings need not
know. The layers between read the tokens alone, and attention stays within a text: FlashAttention-2
for sequences of several lengths (Dao 2024). Must not know what a model is for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from residuum.neural import devices

if TYPE_CHECKING:
    from torch import Tensor

NAME = "residuum_packed"  # under which transformers finds this attention
# Whose layers work token by token but for attention, and pass on what they are given for that.
FAMILIES = ("bert", "roberta", "xlm-roberta", "camembert", "electra")
HEAD_STEP, HEAD_MOST = 8, 256  # sizes of an attention head that the kernel takes
CAPABILITY = (8, 0)  # of a card: Ampere, the first with this kernel


class Packed(NamedTuple):
    """Where the tokens of padded texts (texts, width) stand without padding, and back.

    `there` (tokens,) numbers the tokens among all places; `back` (texts * width,) is each place's
    token, or the number of tokens where it has none. `ends` (texts + 1,) are int32.
    """

    there: Tensor
    back: Tensor
    ends: Tensor
    longest: int


def of(lengths: Sequence[int], width: int, device: str) -> Packed:
    """Return where tokens stand of texts that are padded to a width."""
    present = np.arange(width) < np.asarray(lengths)[:, None]
    there = np.flatnonzero(present)
    back = np.full(present.size, len(there))
    back[there] = np.arange(len(there))
    ends = np.cumsum([0, *lengths]).astype(np.int32)
    return Packed(*(devices.put(some, device) for some in (there, back, ends)), max(lengths))


def encodes(model: Any) -> bool:
    """Say whether a model is an encoder of a family whose layers and masks are known."""
    config = model.config
    sdpa = getattr(config, "_attn_implementation", None) in ("sdpa", NAME)
    return sdpa and config.model_type in FAMILIES and not getattr(config, "is_decoder", False)


def suits(model: Any, device: devices.Device) -> bool:
    """Say whether a model's layers, and the card that it is on, can do without padding."""
    import torch

    if device.name != "cuda" or device.precision != "bf16" or not encodes(model):
        return False
    size = model.config.hidden_size // model.config.num_attention_heads
    kernel = size % HEAD_STEP == 0 and size <= HEAD_MOST
    return kernel and torch.cuda.get_device_capability() >= CAPABILITY


def install(model: Any) -> None:
    """Let the layers of a model do without padding wherever a call says `packed`."""
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import sdpa_mask

    AttentionInterface.register(NAME, attention)
    AttentionMaskInterface.register(NAME, sdpa_mask)
    base = model.base_model
    base.config._attn_implementation = NAME
    base.encoder.forward = _packing(base.encoder.forward)


def _packing(layers: Callable[..., Any]) -> Callable[..., Any]:
    """Return what has layers read packed states, and gives them back padded."""

    def forward(states: Tensor, *args: Any, packed: Packed | None = None, **more: Any) -> Any:
        if packed is None:
            return layers(states, *args, **more)
        texts, width, size = states.shape
        tokens = moved(states.reshape(-1, size), packed.there, packed.back)
        more["attention_mask"] = None
        made = layers(tokens[None], *args, packed=packed, **more)
        padded = moved(made.last_hidden_state.squeeze(0), packed.back, packed.there)
        made.last_hidden_state = padded.view(texts, width, size)
        return made

    return forward


def moved(rows: Tensor, there: Tensor, back: Tensor) -> Tensor:
    """Return rows (places, size) by number, 0 for the number behind the last; with gradient.

    `back` undoes it, so that the gradient is a look-up too, and none is added up: a card computes
    the same twice.
    """
    made: Tensor = _move().apply(rows, there, back)
    return made


@cache
def _move() -> Any:
    """Return the function of torch that `moved` applies."""
    from torch.autograd import Function

    class Move(Function):
        @staticmethod
        def forward(ctx: Any, rows: Tensor, there: Tensor, back: Tensor) -> Tensor:
            ctx.save_for_backward(there, back)
            return _taken(rows, there)

        @staticmethod
        def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
            _, back = ctx.saved_tensors
            return _taken(gradient, back), None, None

    return Move


def _taken(rows: Tensor, numbers: Tensor) -> Tensor:
    import torch

    zero = rows.new_zeros(1, rows.shape[1])
    return torch.cat([rows, zero]).index_select(0, numbers)


def attention(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    packed: Packed | None = None,
    **more: Any,
) -> tuple[Tensor, None]:
    """Return what the tokens of each text make of its own values: (1, tokens, heads, size).

    Query, key and value are (1, heads, tokens, size). Without `packed`, as transformers computes.
    """
    if packed is None:
        from transformers.integrations.sdpa_attention import sdpa_attention_forward

        how = {"dropout": dropout, "scaling": scaling}
        return sdpa_attention_forward(module, query, key, value, attention_mask, **how, **more)
    each = (some.squeeze(0).transpose(0, 1) for some in (query, key, value))
    return kernel(*each, packed, dropout, scaling)[None], None


def kernel(
    query: Tensor, key: Tensor, value: Tensor, packed: Packed, dropout: float, scale: float | None
) -> Tensor:
    """Return the attention of packed tokens (tokens, heads, size), by FlashAttention-2 of torch.

    torch's public name for it, `varlen_attn`, has no dropout.
    """
    import torch

    ends, longest = packed.ends, packed.longest
    made: Tensor = torch.ops.aten._flash_attention_forward(
        query, key, value, ends, ends, longest, longest, dropout, False, False, scale=scale
    )[0]
    return made
