"""An encoder-decoder made of one encoder, whose parameters both parts share.

Usage: `model, tokenizer = shared_model(Source(name), layers=3, cross_attention="random")`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from residuum.cli.errors import ResiduumError
from residuum.config.schema.questions import CrossAttention
from residuum.neural import pretrained
from residuum.neural.pretrained import Loaded, Source
from residuum.neural.tokens import special_ids

if TYPE_CHECKING:
    from torch.nn import Module
    from transformers import EncoderDecoderModel, PreTrainedModel, PreTrainedTokenizerBase

KINDS = ("bert", "roberta")  # transformers' names of encoders that can be decoders too


def shared_model(
    source: Source, layers: int, cross_attention: CrossAttention, head_gain: float = 1.0
) -> Loaded:
    """Return an encoder-decoder of the first layers of an encoder; both parts share parameters.

    They share embeddings, self-attention and feed-forward layers. The decoder's cross-attention is
    new, and so are weights of the head that the start lacks. The output layer is the word
    embeddings (Ma et al. 2020, section 2.2). `head_gain` multiplies the gain of the head's layer
    norm.
    """
    from transformers import (
        AutoModel,
        AutoModelForCausalLM,
        EncoderDecoderModel,
        GenerationConfig,
    )

    decoding = {"is_decoder": True, "add_cross_attention": True}
    encoder, tokenizer = pretrained.load(AutoModel, source)
    _cut(encoder, layers, source.name)  # first: it refuses models without a decoder
    new = ("crossattention",)
    decoder, _ = pretrained.load(AutoModelForCausalLM, source, new=new, **decoding)
    _cut(decoder.base_model, layers, source.name)
    marks = {
        "decoder_start_token_id": tokenizer.cls_token_id,
        "eos_token_id": tokenizer.sep_token_id,
        "pad_token_id": tokenizer.pad_token_id,
    }
    if lacking := [name for name, token in marks.items() if token is None]:
        raise ResiduumError(
            f"{source.name}: its tokenizer lacks what becomes {', '.join(lacking)}: a token before "
            "a text, one behind it, or one that fills"
        )
    model = EncoderDecoderModel(encoder=encoder, decoder=decoder)
    share(model)
    if cross_attention == "copying":
        for layer in decoder.base_model.encoder.layer:
            _copy(layer.crossattention)
    _gain(head_of(model), head_gain)
    banned = banned_ids(tokenizer, marks["eos_token_id"])
    model.generation_config = GenerationConfig(**marks, suppress_tokens=banned)
    return model, tokenizer


def _cut(model: PreTrainedModel, layers: int, name: str) -> None:
    kind = model.config.model_type
    if kind not in KINDS:
        text = f"a {kind} is no start of a question generator; take a {' or a '.join(KINDS)}"
        raise ResiduumError(f"{name}: {text}")
    all_layers = model.encoder.layer
    if layers > len(all_layers):
        raise ResiduumError(f"layers is {layers}, but {name} has {len(all_layers)}")
    model.encoder.layer = all_layers[:layers]
    model.config.num_hidden_layers = layers


def share(model: EncoderDecoderModel) -> None:
    """Let the decoder use the encoder's parameters, and the word embeddings as output layer.

    transformers 5 does not tie an encoder to a decoder. An output layer also keeps the old
    embeddings when new ones replace them.
    """
    decoder, shared = model.decoder.base_model, dict(model.encoder.named_parameters())
    for name, _ in [*decoder.named_parameters()]:
        if name in shared:
            path, _, leaf = name.rpartition(".")
            setattr(decoder.get_submodule(path), leaf, shared[name])
    model.decoder.get_output_embeddings().weight = model.encoder.get_input_embeddings().weight


def _copy(attention: Module) -> None:
    """Let a cross-attention return its inputs unchanged: value and output become the identity."""
    import torch

    with torch.no_grad():
        for linear in (attention.self.value, attention.output.dense):
            torch.nn.init.eye_(linear.weight)
            linear.bias.zero_()


def _gain(head: Module, gain: float) -> None:
    import torch

    norms = (part for part in head.modules() if isinstance(part, torch.nn.LayerNorm))
    with torch.no_grad():
        for norm in norms:
            norm.weight.mul_(gain)


def head_of(model: PreTrainedModel) -> Module | None:
    """Return the head of a BERT or RoBERTa decoder, which turns states into logits; else None."""
    if model.config.model_type != "encoder-decoder":
        return None
    decoder = model.decoder
    return getattr(decoder, "cls", None) or getattr(decoder, "lm_head", None)


def apart(model: PreTrainedModel) -> PreTrainedModel:
    """Return a copy whose parts share no parameter, as transformers saves models."""
    if model.config.model_type != "encoder-decoder":
        return model
    copy = type(model)(model.config)
    copy.load_state_dict(model.state_dict())
    copy.generation_config = model.generation_config
    return copy


def banned_ids(tokenizer: PreTrainedTokenizerBase, end: int) -> list[int]:
    """Return the ids that no question may hold: special tokens except the end token."""
    return [key for key in special_ids(tokenizer) if key != end]
