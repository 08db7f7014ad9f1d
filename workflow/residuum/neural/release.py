"""Released encoders as their own files describe them: modules, pooling, prompts, lengths.

Usage: `described = release.read(source, spec)`, then `release.take(described, source, folder,
device)` writes the model as a checkpoint of residuum. sentence-transformers writes such files.
Where a folder has none, the keys of the entry say how the model is read. What a folder asks for
and residuum does not do is refused by name.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from residuum.artefacts import files
from residuum.cli.errors import ResiduumError
from residuum.config import entries
from residuum.config.schema.encoder import Encoder as EncoderSchema
from residuum.config.schema.encoder import TextKind
from residuum.config.schema.models import Reads
from residuum.neural import foreign, hub, layers, pretrained
from residuum.neural.devices import Device
from residuum.neural.frames import as_it_is
from residuum.neural.heads import FLAGS, HEADS
from residuum.neural.pretrained import SETTINGS, Source

if TYPE_CHECKING:
    from residuum.neural.encoders import Encoder

MODULES, MODEL = "modules.json", "config_sentence_transformers.json"
TEXTS = "sentence_bert_config.json"
# Older folders name the file by their kind of model; the first that is there counts.
TEXTS_OF = (
    TEXTS,
    *(
        f"sentence_{kind}_config.json"
        for kind in ("roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet")
    ),
)
READ_OF_TEXTS = {  # keys of TEXTS that are read, or change no vector
    *("max_seq_length", "do_lower_case", "transformer_task", "modality_config"),
    *("module_output_name", "query_length", "document_length", "unpad_inputs"),
}
CODE = "sentence_transformers."  # begins the class of each module
LONGEST = 1_000_000  # tokens; a tokenizer without a limit says 10^30
PROMPTS: dict[TextKind, tuple[str, ...]] = {
    "query": ("query",),
    "doc": ("document", "passage", "corpus"),
}
# The order in which modules may stand; each at most once.
TRANSFORMER, POOLING, DENSE, NORM, NORMALISE = (
    "Transformer",
    "Pooling",
    "Dense",
    "LayerNorm",
    "Normalize",
)
MASKED, SPLADE, IDLE = "MLMTransformer", "SpladePooling", "Dropout"
ORDERS = ((TRANSFORMER, POOLING, DENSE, NORM, NORMALISE), (MASKED, SPLADE))
FEATURES = {"feature-extraction": TRANSFORMER, "fill-mask": MASKED}  # what `Transformer` gives
OUTPUTS = {"feature-extraction": "last_hidden_state", "fill-mask": "logits"}
ACTIVATIONS = {layers.IDENTITY: None, layers.TANH: "tanh"}
REFUSED = "what residuum does not read"
READ = "sentence-transformers reads it; residuum does not"


class Described(NamedTuple):
    """How a released model is read: settings, folders of its layers, and whether it lowercases.

    `layers` is the folder of each layer behind the pooling, within the model. `lowercase` says
    whether texts are lowercased first.
    """

    settings: EncoderSchema
    layers: dict[str, str]
    lowercase: bool


class _Files:
    """The JSON files beside a model's weights, in its folder or on the hub."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.path = cache(self._path)  # the hub is asked once for each file

    def _path(self, name: str) -> Path | None:
        """Return a file of the model, or None if it has no such file."""
        folder = Path(self.source.name)
        if folder.is_dir():
            return folder / name if (folder / name).is_file() else None
        path = hub.had(self.source.name, self.source.revision, name)
        if path is None and not hub.lacks(self.source.name, self.source.revision, name):
            raise self.refused(
                f"whether it has a file {name} is not known: the hub cannot be reached, and the "
                "cache does not hold the whole model. Get it whole beforehand, with its revision: "
                "hf download"
            )
        return path

    def read(self, name: str) -> Any:
        """Return the content of a JSON file; an empty object if the model has none."""
        path = self.path(name)
        if path is None:
            return {}
        try:
            return json.loads(files.read_bytes(path))
        except (ValueError, RecursionError) as error:
            raise ResiduumError(f"{path}: no JSON: {error}. Get the model again") from None

    @cached_property
    def texts(self) -> dict[str, Any]:
        """What is said of how texts are read. What residuum does not read is refused."""
        name = next((name for name in TEXTS_OF if self.path(name)), TEXTS)
        held = self.object(name)
        for key, value in held.items():
            if value and key not in READ_OF_TEXTS:
                raise self.refused(f"{name}: {key}: {READ}")
        if "message" in dict(held.get("modality_config") or {}):
            raise self.refused(f"{name}: modality_config: messages by a chat template. {READ}")
        return held

    def object(self, name: str) -> dict[str, Any]:
        """Return the content of a JSON file that holds an object."""
        held = self.read(name)
        if not isinstance(held, dict):
            raise self.refused(f"{name} holds a {type(held).__name__}, not an object")
        return held

    def refused(self, why: str) -> ResiduumError:
        """Return the error that refuses the model."""
        return ResiduumError(f"{self.source.name}: {why}")


def read(source: Source, spec: Reads) -> Described:
    """Return how a model is read: as its files say, with the entry's keys in place of theirs.

    Raises ResiduumError for what its files ask for and residuum does not do, and for what neither
    files nor entry say.
    """
    held = _Files(source)
    if held.path(SETTINGS):
        return _of_ours(held, spec)
    if held.path(MODULES):
        told, behind = _modules(held)
    else:
        _check_told(held, spec)
        told, behind = {}, {}
    texts, model = held.texts, held.object(MODEL)
    _check_code(held)
    if model.get("max_active_dims"):
        raise held.refused(f"{MODEL}: max_active_dims: {READ}")
    prompts = _prompts(held, model, spec)
    if spec.pooling:
        told["pooling"] = spec.pooling.model_dump(mode="json")
    sparse = HEADS[told["pooling"]["kind"]].sparse
    cosine = _cosine(held, model, spec, sparse, bool(told.pop("normalise", False)))
    length = texts.get("max_seq_length") or _longest(held, spec)
    given: dict[str, object] = {
        "query_marker": "",
        "doc_marker": "",
        "keep_cls": True,
        "query_length": spec.query_length or texts.get("query_length") or length,
        "doc_length": spec.doc_length or texts.get("document_length") or length,
        "normalise": cosine,
        "truncate": spec.dimensions or model.get("truncate_dim"),
        **{f"{kind}_prompt": prompt for kind, prompt in prompts.items()},
    }
    settings = _valid(held, {**told, **given})
    return Described(settings, behind, bool(texts.get("do_lower_case")))


def _valid(held: _Files, given: Mapping[str, object]) -> EncoderSchema:
    kept = {key: value for key, value in given.items() if value is not None}
    try:
        return entries.validate(held.source.name, kept, EncoderSchema)
    except ValueError as error:
        raise ResiduumError(str(error)) from None


def _of_ours(held: _Files, spec: Reads) -> Described:
    """Return how a checkpoint of residuum is read, with the entry's keys in place of its own."""
    settings = held.object(SETTINGS)
    if "pooling" not in settings:
        raise held.refused(f"{SETTINGS} is not that of an encoder of texts")
    changed = {
        "pooling": spec.pooling and spec.pooling.model_dump(mode="json"),
        "query_prompt": spec.query_prompt,
        "doc_prompt": spec.doc_prompt,
        "query_length": spec.query_length,
        "doc_length": spec.doc_length,
        "truncate": spec.dimensions,
        "normalise": None if spec.similarity is None else spec.similarity == "cosine",
    }
    given = settings | {key: value for key, value in changed.items() if value is not None}
    valid = _valid(held, given)
    layered = {"linear": valid.dimensions, "norm": valid.dimensions and valid.norm}
    return Described(
        valid, {name: layers.FOLDERS[name] for name in layered if layered[name]}, False
    )


def _modules(held: _Files) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the settings that the modules of a model come to, and the folders of its layers."""
    listed = held.read(MODULES)
    if not (isinstance(listed, list) and all(isinstance(one, dict) for one in listed)):
        raise held.refused(f"{MODULES} holds no list of modules")
    named = [(_named(held, one), str(one.get("path") or "")) for one in listed]
    if nested := next((path for name, path in named if name in FEATURES.values() and path), None):
        raise held.refused(f"{MODULES}: the model lies in the folder {nested}, not beside. {READ}")
    named = [(name, path) for name, path in named if name != IDLE]
    names = [name for name, _ in named]
    known = {name for order in ORDERS for name in order}
    if other := next((name for name in names if name not in known), None):
        raise held.refused(
            f"{MODULES} asks for the module {other}. {READ}. Known: {', '.join(sorted(known))}"
        )
    order = next((o for o in ORDERS if names == [name for name in o if name in names]), None)
    if order is None or names[:2] != [*order[:2]]:
        raise held.refused(
            f"{MODULES} has the modules {', '.join(names)}. {READ}. It reads "
            + ", or ".join(f"{', '.join(some)} in this order" for some in ORDERS)
        )
    told: dict[str, Any] = {}
    behind: dict[str, str] = {}
    for name, path in named:
        config = held.object(f"{path}/config.json" if path else "config.json")
        if name == POOLING:
            told["pooling"] = {"kind": _pooling(held, path, config)}
        elif name == SPLADE:
            told["pooling"] = _splade(held, path, config)
        elif name == DENSE:
            told |= {**_dense(held, path, config), "norm": NORM in names}
            behind["linear"] = path
        elif name == NORM:
            if DENSE not in names:
                raise held.refused(f"{path}: a LayerNorm without a Dense before it. {READ}")
            behind["norm"] = path
        elif name == NORMALISE:
            told["normalise"] = True
    return told, behind


def _named(held: _Files, module: Mapping[str, Any]) -> str:
    """Return the class of a module; a Transformer that fills masks is a MLMTransformer."""
    whole = str(module.get("type", ""))
    name = whole.rpartition(".")[2]
    if not whole.startswith(CODE):
        raise held.refused(f"{MODULES} asks for {whole or 'no class'}, which is code of its own")
    if name != TRANSFORMER:
        return name
    config = held.texts
    task = str(config.get("transformer_task", "feature-extraction"))
    if task not in FEATURES:
        raise held.refused(f"{TEXTS}: transformer_task {task!r}: {READ}")
    text = dict(config.get("modality_config") or {}).get("text") or {}
    if (made := text.get("method_output_name", OUTPUTS[task])) != OUTPUTS[task]:
        raise held.refused(f"{TEXTS}: modality_config: the output {made!r}. {READ}")
    return FEATURES[task]


def _pooling(held: _Files, path: str, config: Mapping[str, Any]) -> str:
    """Return the kind of a Pooling module."""
    modes = config.get("pooling_mode") or [mode for mode, key in FLAGS.items() if config.get(key)]
    modes, kinds = [modes] if isinstance(modes, str) else [*modes], kinds_by_mode()
    if len(modes) != 1 or modes[0] not in kinds:
        raise held.refused(
            f"{path}/config.json: the poolings {', '.join(map(str, modes)) or 'none'}. {READ}. "
            f"Known, one of them: {', '.join(kinds)}"
        )
    if config.get("include_prompt") is False:
        raise held.refused(f"{path}/config.json: include_prompt is false. {READ}")
    return kinds[modes[0]]


def kinds_by_mode() -> dict[str, str]:
    """Return the kind of each pooling by its name in sentence-transformers."""
    return {head.mode: kind for kind, head in HEADS.all().items() if head.mode}


def _splade(held: _Files, path: str, config: Mapping[str, Any]) -> dict[str, object]:
    times = {"relu": 1, "log1p_relu": 2}
    activation = str(config.get("activation_function", "relu"))
    if activation not in times:
        raise held.refused(f"{path}/config.json: activation_function {activation}. {READ}")
    return {
        "kind": "splade",
        "over": config.get("pooling_strategy", "max"),
        "saturated": times[activation],
    }


def _dense(held: _Files, path: str, config: Mapping[str, Any]) -> dict[str, object]:
    activation = config.get("activation_function", layers.TANH)
    if activation not in ACTIVATIONS or config.get("use_residual"):
        asked = "use_residual" if config.get("use_residual") else f"activation {activation}"
        raise held.refused(f"{path}/config.json: {asked}. {READ}. Known: {', '.join(ACTIVATIONS)}")
    return {"dimensions": config.get("out_features"), "activation": ACTIVATIONS[activation]}


def _check_code(held: _Files) -> None:
    """Refuse a model whose configuration asks for code of its own, which is never run."""
    config = held.object("config.json")
    if asked := [key for key in dict(config.get("auto_map") or {}) if key.startswith("AutoModel")]:
        raise held.refused(
            f"config.json: auto_map: {asked[0]} is code of its own, which is never run. Save the "
            "model as a kind that transformers has, without that key"
        )


def _check_told(held: _Files, spec: Reads) -> None:
    """Refuse a model without sentence-transformers' files whose entry does not say what they do."""
    text = f"it has no {MODULES}, so that its files do not say how its vectors are made"
    lacking = [key for key in ("pooling", "similarity") if getattr(spec, key) is None]
    if lacking and not (spec.pooling and spec.pooling.sparse):
        known = f"pooling: one of {', '.join(HEADS)}; similarity: cosine or dot"
        raise held.refused(f"{text}. Give {' and '.join(lacking)} ({known})")


def _prompts(held: _Files, model: Mapping[str, Any], spec: Reads) -> dict[TextKind, str]:
    """Return what stands before queries and before docs: the entry's prompts, or the files'."""
    prompts = model.get("prompts") or {}
    default = prompts.get(model.get("default_prompt_name") or "")
    given: dict[TextKind, str | None] = {"query": spec.query_prompt, "doc": spec.doc_prompt}
    read: dict[TextKind, str] = {}
    for kind, names in PROMPTS.items():
        named = next((prompts[name] for name in names if prompts.get(name) is not None), default)
        prompt = (named or "") if given[kind] is None else given[kind]
        if not isinstance(prompt, str):
            raise held.refused(f"{MODEL}: prompts: {prompt!r} is no text")
        read[kind] = prompt
    return read


def _cosine(held: _Files, model: Mapping[str, Any], spec: Reads, sparse: bool, unit: bool) -> bool:
    """Say whether vectors are compared by their cosine: scaled to length 1."""
    said = spec.similarity or model.get("similarity_fn_name")
    known = ("dot",) if sparse else ("cosine", "dot")
    if said is not None and said not in known:
        where = "similarity" if spec.similarity else f"{MODEL}: similarity_fn_name"
        of = " of vectors with a dimension for each term" * sparse
        raise held.refused(f"{where} {said}{of}. {READ}. Known: {', '.join(known)}")
    if said or unit or sparse:
        return unit or said == "cosine"
    raise held.refused(
        f"{MODEL} names no similarity, and no module scales its vectors to length 1. Give "
        "similarity: cosine, which sentence-transformers would take, or dot"
    )


def _longest(held: _Files, spec: Reads) -> int | None:
    """Return the most tokens of a text, by tokenizer and positions; None where the entry says."""
    if spec.query_length and spec.doc_length:
        return None
    from transformers import AutoConfig, AutoTokenizer

    source = held.source
    at: dict[str, Any] = {"trust_remote_code": False}
    at |= {"revision": source.revision} if source.revision else {}
    with pretrained.explained(source):
        tokenizer = AutoTokenizer.from_pretrained(source.name, **at)
        config = AutoConfig.from_pretrained(source.name, **at)
    positions = getattr(config, "max_position_embeddings", None) or -1
    limits = [tokenizer.model_max_length, *([positions] if positions > 0 else [])]
    if (longest := int(min(limits))) > LONGEST:
        raise held.refused(
            "neither its files nor its tokenizer bound a text: give query_length and doc_length"
        )
    return longest


def drops(source: Source, encoder: EncoderSchema) -> list[str]:
    """Return what the files of a start ask for and a model that is trained from it does not do.

    A start without files of sentence-transformers asks for nothing, and neither does one of ours.
    """
    held = _Files(source)
    try:
        plain = held.path(SETTINGS) or not held.path(MODULES)
    except ResiduumError:  # not known without the hub
        return []
    if plain:
        return []
    try:
        named = held.object(MODEL).get("similarity_fn_name")
        return dropped(read(source, Reads(similarity=None if named else "dot")), encoder)
    except ResiduumError:
        return [REFUSED]


def dropped(described: Described, encoder: EncoderSchema) -> list[str]:
    """Return what a released model does and a model that is trained from it does not.

    Each is a key of `encoder`, with the value that keeps it.
    """
    lost = []
    for key in ("normalise", "dimensions", "activation", "query_prompt", "doc_prompt"):
        had, has = getattr(described.settings, key), getattr(encoder, key)
        if had and had != has:
            lost.append(f"{key}: {json.dumps(had)}")
    if (had := described.settings.pooling.kind) != encoder.pooling.kind:
        lost.append(f"pooling: {had}")
    return lost


def summary(settings: EncoderSchema) -> str:
    """Return in words how a model is read."""
    words = [f"pooling {settings.pooling.kind}"]
    words += [f"a linear layer to {settings.dimensions}"] if settings.dimensions else []
    words += [f"the first {settings.truncate} dimensions"] if settings.truncate else []
    words += ["vectors of length 1" if settings.normalise else "inner products"]
    prompts = {"queries": settings.query_prompt, "docs": settings.doc_prompt}
    words += [f"prompt of {side} {prompt!r}" for side, prompt in prompts.items() if prompt]
    words += [f"{settings.query_length} tokens of a query, {settings.doc_length} of a doc"]
    return ", ".join(words)


def take(described: Described, source: Source, folder: Path, device: Device) -> Encoder:
    """Write a released model into a folder as a checkpoint; return its encoder."""
    from residuum.neural.encoders import Encoder as Reader

    held, reader = _Files(source), Reader.class_for(described.settings)
    model, tokenizer = pretrained.load(reader.form(), source)
    if described.lowercase:
        _lowercase(tokenizer)
    pretrained.save(model, tokenizer, folder)
    if described.lowercase:
        as_it_is(tokenizer, folder)
    for name, path in described.layers.items():
        _copy_layer(held, name, path, folder)
    encoder = reader(Source(str(folder)), described.settings, device)
    encoder.describe(folder)
    return encoder


def _copy_layer(held: _Files, name: str, path: str, folder: Path) -> None:
    """Write a layer's weights in our form; a linear layer without a bias gets one of zeros."""
    import torch
    from safetensors.torch import save_file

    weights = held.path(f"{path}/{foreign.WEIGHTS}")
    if weights is None:
        raise held.refused(
            f"{path}: no {foreign.WEIGHTS}. Save the model with sentence-transformers, and name "
            "that folder"
        )
    state = {
        f"{name}.{key.removeprefix(f'{name}.')}": v for key, v in foreign.tensors(weights).items()
    }
    if name == "linear" and "linear.bias" not in state:
        state["linear.bias"] = torch.zeros(len(state["linear.weight"]))
    target = folder / layers.FOLDERS[name]
    target.mkdir(parents=True, exist_ok=True)
    save_file({key: value.float() for key, value in state.items()}, target / foreign.WEIGHTS)


def _lowercase(tokenizer: Any) -> None:
    """Let a tokenizer lowercase texts before all else."""
    from tokenizers.normalizers import Lowercase, Sequence

    below = tokenizer.backend_tokenizer
    before: Callable[..., Any] | None = below.normalizer
    below.normalizer = Sequence([Lowercase(), *([before] if before else [])])
