"""Texts of several lengths side by side in a model, without padding between them.

Usage: `packing.install(model)`. `Inputs` of inputs.py then gives the model ids side by side, and
`packed = packing.layout(present, device)`. The output of the layers is padded, so that heads and
poolings need no change. Embeddings and layers read only tokens, and attention stays within a text.
On a card, FlashAttention-2 attends to sequences of several lengths (Dao 2024); on a CPU, attention
goes text by text. On a card the number of rows takes few values, so that the layers can be replayed
(cudagraphs.py). On a CPU `prepack(layers, rows)` lays out weights once for products of many rows.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from residuum.neural import cudagraphs, devices
from residuum.neural.cudagraphs import Bounds

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module
    from transformers import PreTrainedModel

NAME = "residuum_packed"  # transformers' name of this attention
# In these families only attention mixes tokens, and layers pass arguments on to attention.
FAMILIES = ("bert", "electra", "roberta", "xlm-roberta", "camembert")
FROM_ZERO = ("bert", "electra")  # other families count positions from that of padding plus 1
HEAD_STEP, HEAD_MOST = 8, 256  # sizes of an attention head that the kernel takes
CAPABILITY = (8, 0)  # a card's least compute capability for this kernel: Ampere
ROWS = 64  # rooms are multiples of 64, the block size of matrix products
STEPS = 16  # sizes of a card's rooms between two powers of two


class Packed(NamedTuple):
    """Where packed tokens stand among padded texts (texts, width), and back.

    A place is an index into the flat padded texts. `there` (rows,) has each row's place, or the
    number of places for a row without a token. `back` (texts * width,) has each place's row, or the
    number of rows for a place without a token.
    """

    there: Tensor
    back: Tensor
    bounds: Bounds
    width: int


def layout(present: np.ndarray, device: str, room: int = 0) -> Packed:
    """Return where the tokens of padded texts stand, in a room of at least `room` rows.

    `present` (texts, width) is true where a text has a token: from its start to its end.
    """
    lengths = present.sum(axis=1).tolist()
    places = np.flatnonzero(present)
    rows = max(room, len(places))
    there, back = np.full(rows, present.size), np.full(present.size, rows)
    there[: len(places)] = places
    back[places] = np.arange(len(places))
    longest = max(ROWS, power_of_two(max(lengths)))
    arrays = there, back, filled(lengths, rows, longest)
    places_of_rows, rows_of_places, ends = (devices.put(array, device) for array in arrays)
    bounds = Bounds(ends, longest, lengths)
    return Packed(places_of_rows, rows_of_places, bounds, present.shape[1])


def filled(lengths: Sequence[int], rows: int, longest: int) -> np.ndarray:
    """Return where texts begin and end among rows: int32, one more than a power of two.

    Fillers behind the texts take the remaining rows; texts without a token follow. Each row then
    has a value, and few numbers of ends occur whatever the number of texts.
    """
    ends = np.cumsum([0, *lengths]).tolist()
    ends += [*range(ends[-1] + longest, rows, longest), rows]
    ends += [rows] * (power_of_two(len(ends) - 1) + 1 - len(ends))
    return np.array(ends, dtype=np.int32)


def power_of_two(number: int) -> int:
    """Return the least power of two that is at least `number`."""
    return 1 << max(0, number - 1).bit_length()


def side_by_side(rows: Sequence[np.ndarray], fill: int, room: int = 0) -> np.ndarray:
    """Return the values of texts one after another, int64 (1, tokens or room), padded by `fill`."""
    values = np.concatenate(rows).astype(np.int64)
    return np.pad(values, (0, max(0, room - len(values))), constant_values=fill)[None]


def positions(model: PreTrainedModel, lengths: Sequence[int]) -> list[np.ndarray]:
    """Return each text's position numbers as the model's embeddings count them."""
    config = model.config
    first = 0 if config.model_type in FROM_ZERO else config.pad_token_id + 1
    return [np.arange(first, first + length) for length in lengths]


def rounded(rows: int) -> int:
    """Return the least multiple of ROWS that holds this many rows."""
    return -(-rows // ROWS) * ROWS


def room_of(rows: int) -> int:
    """Return a card's room for this many rows: at most a sixteenth more, or 64."""
    step = max(ROWS, power_of_two(rows + 1) // 2 // STEPS)
    return -(-rows // step) * step


def packs(lengths: Sequence[int], room: int, most: int = 0) -> Iterator[list[int]]:
    """Yield lists of text numbers that fill a room of tokens, at most `most` texts each if not 0.

    The longest remaining text begins a pack, and the longest text that still fits follows. All but
    the last packs are therefore nearly full. Raises ValueError for a text without a token, or with
    more tokens than the room.
    """
    if lengths and not 0 < min(lengths) <= max(lengths) <= room:
        raise ValueError(f"texts of {min(lengths)} to {max(lengths)} tokens in a room of {room}")
    waiting: list[list[int]] = [[] for _ in range(room + 1)]
    for number in reversed(range(len(lengths))):
        waiting[lengths[number]].append(number)
    left = len(lengths)
    while left:
        pack, free = list[int](), room
        for length in range(room, 0, -1):
            while length <= free and waiting[length] and len(pack) < (most or room):
                pack.append(waiting[length].pop())
                free -= length
        left -= len(pack)
        yield pack


def encodes(model: PreTrainedModel) -> bool:
    """Say whether a model is an encoder of a family whose layers and masks are known."""
    config = model.config
    sdpa = getattr(config, "_attn_implementation", None) in ("sdpa", NAME)
    return sdpa and config.model_type in FAMILIES and not getattr(config, "is_decoder", False)


def suits(model: PreTrainedModel, device: devices.Device) -> bool:
    """Say whether a model's layers and its card can do without padding."""
    import torch

    if device.name != "cuda" or device.precision != "bf16" or not encodes(model):
        return False
    if torch.version.hip:  # AMD's kernels are untested
        return False
    size = model.config.hidden_size // model.config.num_attention_heads
    kernel = size % HEAD_STEP == 0 and size <= HEAD_MOST
    return kernel and torch.cuda.get_device_capability() >= CAPABILITY


def install(model: Any) -> None:
    """Let the layers of a model do without padding in calls with `packed`."""
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import sdpa_mask

    AttentionInterface.register(NAME, attention)
    AttentionMaskInterface.register(NAME, sdpa_mask)
    base = model.base_model
    if base.config._attn_implementation == NAME:
        return
    base.config._attn_implementation = NAME
    base.encoder.forward = _packing(base.encoder)


def _packing(encoder: Any) -> Callable[..., Any]:
    """Return a forward method that packs the states (1, rows, size) and returns them padded."""
    from transformers.modeling_outputs import BaseModelOutputWithPastAndCrossAttentions as Output

    plain, held = type(encoder).forward, weakref.ref(encoder)  # the encoder holds the result

    def compute(states: Tensor, bounds: Bounds) -> Tensor:
        made: Tensor = plain(held(), states, attention_mask=None, packed=bounds).last_hidden_state
        return made

    replayed = cudagraphs.Replayed(held, compute)

    def forward(states: Tensor, *args: Any, packed: Packed | None = None, **more: Any) -> Any:
        if packed is None:
            return plain(held(), states, *args, **more)
        # transformers collects each layer's states as it calls the layer, but a replay calls none.
        through = compute if more.get("output_hidden_states") else replayed
        made = through(states, packed.bounds)
        padded = moved(made.squeeze(0), packed.back, packed.there)
        return Output(last_hidden_state=padded.view(-1, packed.width, states.shape[-1]))

    return forward


def moved(rows: Tensor, there: Tensor, back: Tensor) -> Tensor:
    """Return rows of (places, size) by number, with gradient; the number of places gives zeros.

    `back` is the inverse look-up. The gradient is then a look-up too, without sums, and a card
    computes it the same twice.
    """
    made: Tensor = _move().apply(rows, there, back)
    return made


@cache
def _move() -> Any:
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
    packed: Bounds | None = None,
    **more: Any,
) -> tuple[Tensor, None]:
    """Return the attention of each text's tokens to the text's values: (1, tokens, heads, size).

    Query, key and value are (1, heads, tokens, size). Without `packed`, transformers' own attention
    computes.
    """
    if packed is None:
        from transformers.integrations.sdpa_attention import sdpa_attention_forward

        how = {"dropout": dropout, "scaling": scaling}
        return sdpa_attention_forward(module, query, key, value, attention_mask, **how, **more)
    each = (some.squeeze(0).transpose(0, 1) for some in (query, key, value))
    return kernel(*each, packed, dropout, scaling)[None], None


def kernel(
    query: Tensor, key: Tensor, value: Tensor, packed: Bounds, dropout: float, scale: float | None
) -> Tensor:
    """Return the attention of packed tokens (tokens, heads, size).

    On a card, torch's FlashAttention-2 computes it. torch's public function for it, `varlen_attn`,
    has no dropout.
    """
    import torch

    if query.device.type == "cpu":
        return _text_by_text(query, key, value, packed, dropout, scale)
    ends, longest = packed.ends, packed.longest
    made: Tensor = torch.ops.aten._flash_attention_forward(
        query, key, value, ends, ends, longest, longest, dropout, False, False, scale=scale
    )[0]
    return made


def _text_by_text(
    query: Tensor, key: Tensor, value: Tensor, packed: Bounds, dropout: float, scale: float | None
) -> Tensor:
    """Return the attention of packed tokens, text by text; rows without a text get 0."""
    import torch
    from torch.nn.functional import pad, scaled_dot_product_attention

    lengths = packed.lengths
    used = sum(lengths)
    parts = zip(*(some[:used].split(lengths) for some in (query, key, value)), strict=True)
    made = []
    for part in parts:
        each = (states.transpose(0, 1)[None] for states in part)
        attended = scaled_dot_product_attention(*each, dropout_p=dropout, scale=scale)
        made.append(attended[0].transpose(0, 1))
    return pad(torch.cat(made), (0, 0, 0, 0, 0, len(query) - used))


def prepack(layers: Module, rows: int) -> None:
    """Let linear layers on a CPU use weights that are laid out for products of this many rows.

    A product then takes nine tenths of the time of one for which oneDNN lays out the weights anew.
    Its sums have another order. Nothing changes where this torch has no oneDNN. The layers keep
    their own weights, for saving.
    """
    import torch

    if not torch.backends.mkldnn.is_available():
        return
    with torch.no_grad():
        for part in layers.modules():
            if isinstance(part, torch.nn.Linear):
                weight = torch.ops.mkldnn._reorder_linear_weight(part.weight.detach(), rows)
                # torch supports this: it calls a layer's own forward where it has one. To mypy a
                # method belongs to its class alone.
                part.forward = partial(_product, weight, part.bias)  # type: ignore[method-assign]


def _product(weight: Tensor, bias: Tensor | None, states: Tensor) -> Tensor:
    import torch

    made: Tensor = torch.ops.mkldnn._linear_pointwise(states, weight, bias, "none", [], "")
    return made
