"""Models from a Hugging Face folder or the hub, and our own checkpoints, which are such folders.

Usage: `model, tokenizer = pretrained.load(AutoModel, Source(name, revision))`. `TextModel` is the
base class of models that read texts.
"""

from __future__ import annotations

import json
import os
import pickle
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from residuum.artefacts import files, intact
from residuum.cli.collecting import uncollected
from residuum.cli.errors import ResiduumError
from residuum.config import entries
from residuum.config.schema.base import Strict
from residuum.config.specs import derive
from residuum.neural import devices, foreign, hub, packing
from residuum.neural.frames import save_tokenizer, set_cls
from residuum.neural.inputs import Inputs
from residuum.neural.overlap import behind

if TYPE_CHECKING:
    from torch.nn import Module
    from transformers import PreTrainedModel, PreTrainedTokenizerBase
    from transformers.models.auto.auto_factory import _BaseAutoModelClass

Loaded = tuple[Any, "PreTrainedTokenizerBase"]  # a model and its tokenizer
Keep = Callable[[Sequence[int], np.ndarray], None]  # stores a model's values of texts by number
Put = Callable[[Keep, Sequence[int], Callable[[], np.ndarray]], None]  # values may be in transfer
SETTINGS = "residuum.json"
GATE = "gate"  # folder of a checkpoint's gate
QUERIES = "queries"  # folder of a checkpoint's own encoder of queries
WIDE = 256  # least hidden units of models for which a CPU packs texts
TEXTS_AT_ONCE = 32_768  # texts given to a GPU together: seconds of its work
RECORDS = ("manifest.json", "training.tsv")  # how a checkpoint was made, no part of the model
DROPOUTS = ("hidden_dropout_prob", "attention_probs_dropout_prob", "dropout", "attention_dropout")


class Source(NamedTuple):
    """A Hugging Face folder or hub id, its commit, and a dropout that replaces the model's own.

    The source must have all weights, unless training makes a `new_head`. Then missing weights of
    the head are drawn from a fixed seed. A `released` reranker comes from others, and its
    configuration gives its number of labels. The `gate` of a term encoder is a separate folder,
    until a checkpoint holds the gate. Weights are read from safetensors. If there are none and
    `pickled` is true, tensors alone are read from a pickle. `folder` is that of a model within a
    model of the hub; "" if it lies beside the other files.
    """

    name: str
    revision: str | None = None
    dropout: float | None = None
    new_head: bool = False
    released: bool = False
    gate: Path | None = None
    pickled: bool = False
    folder: str = ""

    @property
    def at(self) -> dict[str, Any]:
        """How transformers finds the files: the revision, and the folder. Code is never run."""
        # Without this setting transformers asks the user.
        where: dict[str, Any] = {"trust_remote_code": False}
        where |= {"revision": self.revision} if self.revision else {}
        return where | ({"subfolder": self.folder} if self.folder else {})

    def file(self, name: str) -> str:
        """Return the name of a file of the model, from the top of a model of the hub."""
        return f"{self.folder}/{name}" if self.folder else name


def load(
    head: type[_BaseAutoModelClass],
    source: Source,
    markers: Sequence[str] = (),
    new: Sequence[str] = (),
    **settings: object,
) -> Loaded:
    """Return model and tokenizer, with float32 weights.

    `head` is the class that reads the model (AutoModel, AutoModelForMaskedLM, ...). `markers`
    become special tokens if the tokenizer lacks them, with [CLS]'s embedding as their start.
    `settings` change the model's configuration. `new` names parts of the encoder that the caller
    makes. The tokenizer puts [CLS] before a text, even if a checkpoint of ours dropped it. Raises
    ResiduumError if the model cannot be had, or its weights do not fit. No code of a checkpoint
    runs.
    """
    intact.check_folder(Path(source.name))  # a model of the hub has no folder here
    with explained(source), uncollected(), devices.seeded(derive(0, "new-weights")):
        devices.quiet()
        model, tokenizer, report = _read(head, source, settings)
        foreign.fit(model, report, source.name, source.new_head, new)
        rows = model.get_input_embeddings().num_embeddings
        foreign.check_tokenizer(tokenizer, rows, source.name, partial(_has, source, model))
        set_cls(tokenizer, True)
        known = len(tokenizer)
        tokenizer.add_tokens([some for some in markers if some], special_tokens=True)
        added = len(tokenizer) - known  # a marker may be a word of the vocabulary
        if len(tokenizer) > model.get_input_embeddings().num_embeddings:
            model.resize_token_embeddings(len(tokenizer), mean_resizing=False)
        if added and tokenizer.cls_token_id is not None:
            rows = model.get_input_embeddings().weight.data
            rows[len(tokenizer) - added : len(tokenizer)] = rows[tokenizer.cls_token_id]
    return model, tokenizer


def _read(
    head: type[_BaseAutoModelClass], source: Source, settings: Mapping[str, object]
) -> tuple[Any, PreTrainedTokenizerBase, Mapping[str, Collection[Any]]]:
    """Return model and tokenizer unchanged, from one commit, and how the weights fitted."""
    import torch
    from transformers import AutoConfig, AutoTokenizer

    # Otherwise transformers has a pickle converted elsewhere, and reads another commit's file.
    os.environ.setdefault("DISABLE_SAFETENSORS_CONVERSION", "1")
    name, folder = source.name, Path(source.name)
    at = source.at
    config = AutoConfig.from_pretrained(name, **at, **settings)
    foreign.check_kernel(config, name)
    for key in DROPOUTS:
        if source.dropout is not None and hasattr(config, key):
            setattr(config, key, source.dropout)
    if not folder.is_dir() and (found := hub.commit(name, source.revision)):
        at["revision"] = config._commit_hash = found
    for index in foreign.indexes(source.pickled):
        path = (
            folder / index
            if folder.is_dir()
            else hub.had(name, at.get("revision"), source.file(index))
        )
        if path and path.is_file():
            foreign.check(path)
    if folder.is_dir():
        foreign.check_size(head, config, folder)
    how = {"use_safetensors": None if source.pickled else True, "weights_only": True, **at}
    # Differing shapes are reported with other weights that do not fit.
    how |= {"output_loading_info": True, "ignore_mismatched_sizes": True}
    model, report = head.from_pretrained(name, config=config, dtype=torch.float32, **how)
    return model, AutoTokenizer.from_pretrained(name, **at), report


def _has(source: Source, model: PreTrainedModel, file: str) -> bool:
    folder = Path(source.name)
    if folder.is_dir():
        return (folder / file).is_file()
    return hub.had(source.name, commit(model), source.file(file)) is not None


@contextmanager
def explained(source: Source) -> Iterator[None]:
    """Replace Hugging Face's error on a model that cannot be had or read by ResiduumError."""
    name, revision = source.name, source.revision
    try:
        yield
    except pickle.UnpicklingError as error:
        reason = _first_line(error)
        text = "its pickle (pytorch_model.bin) holds something else than tensors, which could run"
        raise ResiduumError(f"{name}: {text} code; nothing of it was read ({reason})") from None
    except ResiduumError:
        raise
    except Exception as error:  # files of others can raise any error in transformers
        if not source.pickled and _only_pickled(source):
            raise ResiduumError(f"{name}: {hub.NO_SAFETENSORS}") from None
        reason = _first_line(error)
        if Path(name).is_dir():
            raise ResiduumError(f"{name}: not a Hugging Face model directory: {reason}") from None
        at = f" at revision {revision}" if revision else ""
        raise ResiduumError(
            f"no model '{name}'{at}: not a directory, not in the Hugging Face cache ($HF_HOME), "
            f"and not available from the hub ({reason}). Without a network, put it into the cache "
            "beforehand or name a folder with `--config encoder=PATH`."
        ) from None


def _first_line(error: Exception) -> str:
    """Return the first line of a library's error, with its type unless an OSError or ValueError."""
    lines = str(error).strip().splitlines()
    known = isinstance(error, OSError | ValueError)
    return lines[0] if lines and known else ": ".join([type(error).__name__, *lines[:1]])


def _only_pickled(source: Source) -> bool:
    folder = Path(source.name)
    if not folder.is_dir():
        return hub.cached_as_pickle(source.name, source.revision)
    return not any((folder / name).is_file() for name in hub.SAFETENSORS) and any(
        (folder / name).is_file() for name in hub.PICKLES
    )


def commit(model: PreTrainedModel) -> str | None:
    """Return the hub's commit hash of a loaded model, or None for a folder."""
    sha = getattr(model.config, "_commit_hash", None)
    return str(sha) if sha else None


def check_length(model: PreTrainedModel, key: str, length: int) -> None:
    """Raise ResiduumError if a model reads fewer tokens than the spec's `key` asks for."""
    name, limit = model.config.name_or_path, getattr(model.config, "max_position_embeddings", None)
    if limit is not None and length > limit:
        raise ResiduumError(f"{key} is {length}, but {name} reads at most {limit} tokens")


def save(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, folder: Path) -> None:
    """Write model and tokenizer as a Hugging Face directory; weights as safetensors."""
    model.save_pretrained(folder)
    save_tokenizer(tokenizer, folder)


def parts(folder: Path) -> list[Path]:
    """Return the files of a checkpoint, without the records of its making."""
    paths = (path for path in folder.rglob("*") if path.is_file())
    return sorted(path for path in paths if path.name not in RECORDS)


def copy(source: Path, target: Path) -> None:
    """Copy a checkpoint unchanged, without the records of its making."""
    for path in parts(source):
        to = target / path.relative_to(source)
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, to)


def modules(types: Mapping[str, str]) -> list[dict[str, object]]:
    """Return sentence-transformers' modules.json, given the type at each path."""
    return [
        {"idx": i, "name": str(i), "path": path, "type": kind}
        for i, (path, kind) in enumerate(types.items())
    ]


class TextModel(ABC):
    """A model, its tokenizer and settings on a device; `sizes` adapts its batches to memory.

    `schema` is the class of the settings. `unit` and `remedy` are words of messages, as in
    `AdaptiveBatchSize`. A `frozen` model is not trained: its weights have the device's precision.
    """

    schema: ClassVar[type[Strict]]
    unit = "texts"
    remedy: str
    frozen = False

    @abstractmethod
    def __init__(self, source: Source, settings: Any, device: devices.Device) -> None:
        """Read a model. Raises ResiduumError if it cannot do what the settings say."""

    def hold(self, model: Any, tokenizer: Any, settings: Any, device: devices.Device) -> None:
        """Keep a model and its tokenizer, and move the model to the device."""
        self.model = model.to(device.name)
        self.tokenizer, self.settings, self.device = tokenizer, settings, device
        self.sizes = devices.AdaptiveBatchSize(self.unit, self.remedy)
        self.inputs = Inputs(self.backbone, tokenizer.pad_token_id or 0, device)
        if device.precision != "fp32":
            for layer in self.exact():
                devices.in_float32(layer, device.name)

    @property
    def backbone(self) -> Any:
        """The transformers model, without the layers behind it."""
        return dict(self.model.named_children()).get("backbone", self.model)

    def exact(self) -> Collection[Module]:
        """Return the layers of the model that compute in float32 whatever the precision."""
        return ()

    def freeze(self) -> Self:
        """Fix the weights in the precision of computation; return the model.

        In bf16 and fp16 this rounds the weights once, and not at each use. Rounding at each use
        would take more than half of the kernels of a forward pass.
        """
        if self.device.precision != "fp32":
            devices.round_weights(self.backbone, self.device.dtype, self.exact())
        elif self.device.name == "cpu" and self.sharing:
            self._share(*self.sharing)
        self.frozen = True
        return self

    @property
    def sharing(self) -> tuple[int, int] | None:
        """How texts share a room on a CPU: the most tokens of a text, and texts per head call.

        With 0 texts, heads read as many as a room holds. None means that texts are padded.
        """
        return None

    def _share(self, longest: int, texts: int) -> None:
        """Let texts share a room on a CPU if the model is wide; a narrow model gains nothing."""
        hidden = self.model.config.hidden_size
        if hidden < WIDE or not packing.encodes(self.backbone):
            return
        room = packing.rounded(max(longest, devices.BUSY // hidden**2))
        self.inputs.share(room, texts)
        if self.device.arithmetic == "native":
            packing.prepack(self.backbone.base_model.encoder, room)

    @property
    def at_once(self) -> int | None:
        """How many texts a GPU gets together, or None for a CPU."""
        return None if self.device.name == "cpu" else TEXTS_AT_ONCE

    def batches(
        self, order: Sequence[int], lengths: Sequence[int], requested: int, longest: int
    ) -> Iterator[tuple[Sequence[int], int]]:
        """Yield text numbers in order of length, and how many texts to compute at once.

        A GPU takes as many tokens as `requested` texts of the `longest` length would have.
        """
        if self.at_once is None:
            yield order, requested
            return
        for batch in devices.by_tokens(order, lengths, requested, longest):
            yield batch, len(batch)

    def keeping(self) -> AbstractContextManager[Put]:
        """Return the context of a function that calls `keep(numbers, values)` once values arrive.

        With a GPU, a thread calls `keep`. All values are kept at the end of the block.
        """

        def take(keep: Keep, texts: Sequence[int], made: Callable[[], np.ndarray]) -> None:
            keep(texts, made())

        return nullcontext(take) if self.at_once is None else behind(take)

    def computing(self) -> AbstractContextManager[object]:
        """Return the context in which the model runs."""
        return nullcontext() if self.frozen else self.device.autocast()

    @classmethod
    def load(cls, folder: Path, device: devices.Device) -> Self:
        """Load a checkpoint that `save` wrote, for computing without training.

        Raises ResiduumError if its settings are not valid.
        """
        path = Path(folder) / SETTINGS
        if not path.is_file():
            raise ResiduumError(
                f"{folder}: not a checkpoint of residuum: it has no {SETTINGS}. "
                "`python -m residuum.train train` makes one from any Hugging Face model"
            )
        try:
            held = json.loads(files.read_bytes(path))
        except (ValueError, RecursionError) as error:
            why = "nested too deeply" if isinstance(error, RecursionError) else f"no JSON: {error}"
            raise ResiduumError(f"{path}: {why}. Get the checkpoint again, or train it") from None
        try:
            settings = entries.validate(str(path), held, cls.schema)
        except ValueError as error:
            raise ResiduumError(str(error)) from None
        return cls.class_for(settings)(Source(str(folder)), settings, device).freeze()

    @classmethod
    def class_for(cls, settings: Any) -> type[Self]:
        """Return the class that reads a model with these settings."""
        return cls

    def save(self, folder: Path) -> None:
        """Write the checkpoint into a folder: Hugging Face files, settings and records."""
        save(self.model, self.tokenizer, folder)
        self.describe(folder)

    def describe(self, folder: Path) -> None:
        """Write settings and records into a folder that holds the model."""
        settings = {  # a dict with only a kind is written as the kind's name
            key: value["kind"] if isinstance(value, dict) and value.keys() == {"kind"} else value
            for key, value in self.settings.model_dump(mode="json").items()
        }
        for name, content in {SETTINGS: settings, **self.records()}.items():
            text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
            files.write_text(Path(folder) / name, text)

    def records(self) -> dict[str, object]:
        """Return the JSON files, by name, by which other libraries read the checkpoint."""
        return {}
