"""Sequence to sequence: an encoder-decoder that reads a doc and writes questions that it answers.

Usage: `writer = QuestionWriter(Source(folder), Lengths(...), device)`, for any model that
AutoModelForSeq2SeqLM reads; `writer.write(docs, keys, sampling, batch_size)`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from residuum.artefacts.streams import chunks
from residuum.cli.errors import ResiduumError
from residuum.config.schema.base import Strict
from residuum.config.schema.questions import CrossAttention, Length, Sampling
from residuum.config.specs import derive
from residuum.neural import devices, pretrained
from residuum.neural.inputs import Inputs, padded, places
from residuum.neural.padding import by_width
from residuum.neural.pretrained import Loaded, Source
from residuum.neural.tokens import special_ids, tokenise

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module
    from transformers import (
        EncoderDecoderModel,
        GenerationConfig,
        PreTrainedModel,
        PreTrainedTokenizerBase,
    )

STEP = 32  # widths of batches of docs are multiples of it
LOOKS = 8  # tokens between two checks whether a GPU has ended all questions
KINDS = ("bert", "roberta")  # transformers' names of encoders that can be decoders too
ROWS = 128  # questions that a CPU writes at once; other numbers may change last digits


class Lengths(Strict):
    """Settings of a checkpoint: tokens read of a doc, and tokens of a question with its end."""

    doc_length: Length
    question_length: Length


class Marks(NamedTuple):
    """Token ids: the start, end and filler of a question, and the tokens banned within one."""

    start: int
    end: int
    fill: int
    banned: list[int]


class Written(NamedTuple):
    """The text of a question, and whether it came to its end within the length."""

    text: str
    ended: bool


class QuestionWriter(pretrained.TextModel):
    """An encoder-decoder of the hub, or of ours; `begun` is a model that is in memory already."""

    schema, unit, remedy = Lengths, "docs", "doc_length"
    settings: Lengths

    def __init__(
        self,
        source: Source,
        settings: Lengths,
        device: devices.Device,
        begun: Loaded | None = None,
    ) -> None:
        from transformers import AutoModelForSeq2SeqLM

        self.hold(*(begun or pretrained.load(AutoModelForSeq2SeqLM, source)), settings, device)
        for part, key in (
            (self.model.get_encoder(), "doc"),
            (self.model.get_decoder(), "question"),
        ):
            length = getattr(settings, f"{key}_length")
            pretrained.check_length(part, f"{key}_length", length)
        self.marks = marks_of(self.model.generation_config, self.tokenizer, source.name)
        # Not packed: each written token reads the encoder's states again.
        self.inputs = Inputs(self.model.get_encoder(), self.marks.fill, device, packs=False)

    def tokenise_docs(self, texts: Iterable[str]) -> Iterator[np.ndarray]:
        """Yield each doc's token ids with special tokens, cut to `doc_length`."""
        return tokenise(self.tokenizer, texts, self.settings.doc_length)

    def tokenise_questions(self, texts: Iterable[str]) -> Iterator[np.ndarray]:
        """Yield each question's token ids with its end token, cut to `question_length`."""
        length, end = self.settings.question_length - 1, np.array([self.marks.end], dtype=np.int32)
        for row in tokenise(self.tokenizer, texts, length, special=False):
            yield np.concatenate([row, end])

    def forward(
        self,
        docs: Sequence[np.ndarray],
        questions: Sequence[np.ndarray],
        starts: Sequence[int] = (),
    ) -> Tensor:
        """Return the logits (tokens of all questions, vocabulary) of each token, with gradient.

        A token's logits depend on the doc and on the question's own tokens before it (teacher
        forcing). A question begins with the model's start token, unless `starts` give other tokens.
        """
        begin = np.array(starts or [self.marks.start] * len(questions), dtype=np.int32)[:, None]
        both = zip(begin, questions, strict=True)
        before = [np.concatenate([first, question[:-1]]) for first, question in both]
        given, _ = padded(before, self.marks.fill, self.device.name)
        within = places([np.ones(len(row), dtype=bool) for row in before], self.device.name)
        with self.computing():
            return self._predictions(*self._encoded(docs), given, within)

    def _encoded(self, docs: Sequence[np.ndarray], width: int = 0) -> tuple[Tensor, Tensor | None]:
        """Return the states (docs, tokens, hidden) of docs' tokens, and the mask for attention."""
        given, _ = self.inputs.arguments(docs, width)
        return self.model.get_encoder()(**given).last_hidden_state, given["attention_mask"]

    def _predictions(
        self, states: Tensor, mask: Tensor | None, given: Tensor, within: Tensor
    ) -> Tensor:
        """Return the logits (tokens, vocabulary) of the tokens that `within` numbers.

        In a model from `shared_model` the head reads only these tokens. Other heads read all.
        """
        from transformers.modeling_outputs import BaseModelOutput

        if (head := head_of(self.model)) is None:
            read = BaseModelOutput(last_hidden_state=states)
            how = {"encoder_outputs": read, "attention_mask": mask, "use_cache": False}
            logits: Tensor = self.model(decoder_input_ids=given, **how).logits
            return logits.flatten(0, 1)[within]
        decoder = self.model.get_decoder().base_model
        how = {"encoder_hidden_states": states, "encoder_attention_mask": mask, "use_cache": False}
        states = decoder(input_ids=given, **how).last_hidden_state
        logits = head(states.flatten(0, 1)[within])
        return logits

    def errors(
        self, docs: Sequence[np.ndarray], questions: Sequence[np.ndarray], batch_size: int
    ) -> np.ndarray:
        """Return the mean -log p of each question's tokens given its doc: float64 (questions,)."""
        import torch

        order = sorted(range(len(docs)), key=lambda i: (len(docs[i]), len(questions[i]), i))
        errors = np.empty(len(docs))

        def read(batch: Sequence[int], _: int) -> None:
            asked = [questions[i] for i in batch]
            losses = token_losses(self.forward([docs[i] for i in batch], asked), asked)
            parts = np.split(losses.double().cpu().numpy(), np.cumsum([*map(len, asked)])[:-1])
            errors[list(batch)] = [part.mean() for part in parts]

        self.model.eval()
        with torch.inference_mode():
            self.sizes.each(order, batch_size, read)
        return errors

    def write(
        self, docs: Sequence[np.ndarray], keys: Sequence[str], how: Sampling, batch_size: int
    ) -> list[list[Written]]:
        """Return `how.per_doc` questions of each doc. Some may be empty or equal.

        A token is drawn among the `top_k` likeliest by the Gumbel-max trick (Gumbel 1954). The
        noise follows from the seed, the doc's key, the question's number and the token's position.
        A doc's questions do not depend on its neighbours: its own length decides the shape of its
        batch, and repeats fill a short batch. On a CPU, which takes batches of one size, they do
        not depend on `batch_size` either. A GPU writes all questions of its docs together, a CPU
        one after another.
        """
        import torch

        lengths = np.array([len(doc) for doc in docs])
        written: list[list[Written]] = [[] for _ in docs]
        card = self.device.name != "cpu"
        rows, together = (batch_size, how.per_doc) if card else (ROWS, 1)
        self.model.eval()
        with torch.inference_mode(), self.computing():
            for some, width in by_width(lengths, STEP, self.settings.doc_length):

                def work(batch: Sequence[int], size: int, width: int = width) -> None:
                    full = np.resize(batch, size)
                    states, mask = self._encoded([docs[i] for i in full], width)
                    named = [keys[i] for i in full]
                    made = [
                        ids
                        for numbers in chunks(range(1, how.per_doc + 1), together)
                        for ids in self._questions(states, mask, named, numbers, how)
                    ]
                    for row, i in enumerate(batch):
                        written[i] = [self._written(ids[row]) for ids in made]

                self.sizes.each(some, rows, work)
        return written

    def _questions(
        self,
        states: Tensor,
        mask: Tensor | None,
        keys: Sequence[str],
        numbers: Sequence[int],
        how: Sampling,
    ) -> list[np.ndarray]:
        """Return the tokens (docs, at most question_length) of numbered questions of all docs."""
        times = len(numbers)
        if times > 1:
            states = states.repeat(times, 1, 1)
            mask = None if mask is None else mask.repeat(times, *[1] * (mask.ndim - 1))
        noises = np.concatenate([noise(keys, number, how) for number in numbers])
        return np.split(self._decoded(states, mask, noises), times)

    def _decoded(self, states: Tensor, mask: Tensor | None, noises: np.ndarray) -> np.ndarray:
        """Return the tokens (docs, at most question_length) of one question per doc, filled up.

        `noises` (docs, length, top_k) are added to the likeliest tokens' logits, best first.
        """
        import torch
        from transformers import DynamicCache, EncoderDecoderCache
        from transformers.modeling_outputs import BaseModelOutput

        start, end, fill, banned = self.marks
        cache = EncoderDecoderCache(DynamicCache(), DynamicCache())
        read = BaseModelOutput(last_hidden_state=states)
        how = {"encoder_outputs": read, "attention_mask": mask, "past_key_values": cache}
        added = devices.put(noises, self.device.name)
        never = devices.put(np.array(banned, dtype=np.int64), self.device.name)
        last = torch.full((len(states), 1), start, device=states.device)
        ended = torch.zeros_like(last, dtype=torch.bool)
        tokens: list[Tensor] = []
        looks = 1 if self.device.name == "cpu" else LOOKS
        for place in range(noises.shape[1]):
            logits = self.model(decoder_input_ids=last, use_cache=True, **how).logits[:, -1].float()
            logits.index_fill_(1, never, -torch.inf)
            best = logits.topk(min(noises.shape[2], logits.shape[1]))
            drawn = (best.values + added[:, place, : best.values.shape[1]]).argmax(1, keepdim=True)
            last = best.indices.gather(1, drawn).masked_fill(ended, fill)
            tokens.append(last)
            ended |= last == end
            if (place + 1) % looks == 0 and ended.all():
                break
        return torch.cat(tokens, dim=1).cpu().numpy()

    def _written(self, ids: np.ndarray) -> Written:
        text = str(self.tokenizer.decode(ids.tolist(), skip_special_tokens=True))
        return Written(" ".join(text.split()), self.marks.end in ids)

    def save(self, folder: Path) -> None:
        """Write the checkpoint into a folder that AutoModelForSeq2SeqLM reads."""
        shared, self.model = self.model, apart(self.model)
        try:
            super().save(folder)
        finally:
            self.model = shared


def token_losses(logits: Tensor, questions: Sequence[np.ndarray]) -> Tensor:
    """Return -log p of each token of the questions, one after another: (tokens,)."""
    from torch.nn.functional import cross_entropy

    target = devices.put(np.concatenate(questions).astype(np.int64), logits.device.type)
    return cross_entropy(logits.float(), target, reduction="none")


def noise(keys: Sequence[str], number: int, how: Sampling) -> np.ndarray:
    """Return Gumbel noise for one question per doc, float32 (docs, length, top_k); 0 if greedy."""
    shape = (how.question_length, how.top_k)
    if how.top_k == 1:
        return np.zeros((len(keys), *shape), dtype=np.float32)
    each = (np.random.default_rng(derive(how.seed, "question", key, str(number))) for key in keys)
    return np.stack([random.gumbel(size=shape).astype(np.float32) for random in each])


def marks_of(generation: GenerationConfig, tokenizer: PreTrainedTokenizerBase, name: str) -> Marks:
    """Return the marks of a model's generation. Raises ResiduumError if one is not set."""
    keys = ("decoder_start_token_id", "eos_token_id", "pad_token_id")
    given = [getattr(generation, key, None) for key in keys]
    marks = [token[0] if isinstance(token, list) else token for token in given]
    if missing := [key for key, token in zip(keys, marks, strict=True) if token is None]:
        raise ResiduumError(f"{name}: its generation_config.json lacks {', '.join(missing)}")
    start, end, fill = marks
    return Marks(start, end, fill, banned_ids(tokenizer, end))


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
            f"{source.name}: its tokenizer lacks the tokens for {', '.join(lacking)}: those before "
            "a text, behind it, or for padding"
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
        raise ResiduumError(f"layers is {layers}, but {name} has {len(all_layers)} layers")
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
