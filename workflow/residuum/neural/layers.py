"""Layers behind a backbone: trained with it, saved in the form of sentence-transformers.

Usage: `model = layers.behind(backbone, source, {"linear": lambda: Linear(64, 32)})`; then
`model["linear"]`, and `layers.save(model, folder)`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from residuum.cli.errors import ResiduumError
from residuum.config.specs import derive
from residuum.neural import devices, foreign

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

# Each layer's folder, with its class in sentence-transformers. A layer's name is the prefix of its
# weights.
FOLDERS = {"linear": "2_Dense", "norm": "3_LayerNorm"}
IDENTITY = "torch.nn.modules.linear.Identity"  # sentence-transformers' default is tanh
TANH = "torch.nn.modules.activation.Tanh"


def behind(backbone: Any, source: str, made: Mapping[str, Callable[[], Module]]) -> Any:
    """Join a backbone and layers into one module; load the layers that the source's folder holds.

    Other layers start from a fixed seed. The module has the backbone's configuration, and its
    save_pretrained writes the backbone alone.
    """
    import torch

    with devices.seeded(derive(0, "new-weights")):
        layers = {name: make() for name, make in made.items()}
    for name, layer in layers.items():
        saved = _file(Path(source), name)
        if not saved.is_file():
            continue
        state = {
            key.removeprefix(f"{name}."): value for key, value in foreign.tensors(saved).items()
        }
        had, asked = _shapes(state), _shapes(layer.state_dict())
        if had != asked:
            text = f"{saved}: it holds {had}, but {asked} are asked for"
            raise ResiduumError(f"{text}. Start from a model with these, or from one without any")
        layer.load_state_dict(state)
    model = torch.nn.ModuleDict({"backbone": backbone, **layers})
    model.config, model.save_pretrained = backbone.config, backbone.save_pretrained
    return model


def _shapes(state: Mapping[str, Tensor]) -> str:
    """Write the weights of a layer, such as bias 16, weight 16x32."""
    return ", ".join(f"{name} {'x'.join(map(str, state[name].shape))}" for name in sorted(state))


def save(model: Any, folder: Path) -> None:
    """Write the layers of a module that `behind` made, each into its own folder."""
    from safetensors.torch import save_file

    for name in FOLDERS.keys() & {*model.keys()}:
        state = model[name].state_dict().items()
        save_file({f"{name}.{key}": value for key, value in state}, _file(Path(folder), name))


def take_head(model: Any, name: str) -> Any:
    """Let a masked-language model return the input of its last layer; return the last layer.

    The scores of all terms at all tokens are the largest tensor that such a model makes. A caller
    that needs few of them computes few. `model(...).logits` then has the shape (texts, tokens,
    hidden). Raises ResiduumError with the model's name if its last layer is not linear.
    """
    import torch

    head = model.get_output_embeddings()
    linear = isinstance(head, torch.nn.Linear)
    if not linear:
        text = "its last layer, which scores terms, is not linear"
        raise ResiduumError(f"{name}: {text}. Use a BERT, or another model of that form")
    # torch supports this: it calls a layer's own forward where it has one.
    head.forward = lambda states: states
    return head


def dense(inputs: int, outputs: int, activation: str = IDENTITY) -> dict[str, object]:
    """Return the configuration by which sentence-transformers reads a linear layer."""
    return {
        "in_features": inputs,
        "out_features": outputs,
        "bias": True,
        "activation_function": activation,
    }


def held(folder: Path, name: str) -> bool:
    """Say whether a model's folder holds a layer."""
    return _file(folder, name).is_file()


def _file(folder: Path, name: str) -> Path:
    return folder / FOLDERS[name] / foreign.WEIGHTS
