"""Released encoders as their own files describe them: modules, pooling, prompts, lengths.

Usage: `described = release.read(source, spec)`, then `release.take(described, source, folder,
device)` writes the model as a checkpoint of residuum. sentence-transformers writes such files.
Where a folder has none, the keys of the entry say how the model is read. What a folder asks for
and residuum does not do is refused by name.
"""

from __future__ import annotations

import json
import string
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from residuum.artefacts import files
from residuum.cli.errors import ResiduumError
from residuum.config import entries
from residuum.config.schema.encoder import Encoder as EncoderSchema
from residuum.config.schema.encoder import TextKind
from residuum.config.schema.models import Reads
from residuum.neural import foreign, hub, layers, pretrained, routes
from residuum.neural.devices import Device
from residuum.neural.frames import as_it_is
from residuum.neural.heads import FLAGS, HEADS, Head
from residuum.neural.pretrained import QUERIES, SETTINGS, Source
from residuum.neural.routes import MODULES, Module

if TYPE_CHECKING:
    from residuum.neural.encoders import Encoder

MODEL = "config_sentence_transformers.json"
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
    *("module_output_name", "query_length", "document_length", "query_expansion", "unpad_inputs"),
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
MASKED, SPLADE, TOKENS, IDLE = "MLMTransformer", "SpladePooling", "MultiVectorMask", "Dropout"
STATIC = "SparseStaticEmbedding"
ORDERS = (
    (TRANSFORMER, POOLING, DENSE, NORM, NORMALISE),
    (MASKED, SPLADE),
    (TRANSFORMER, DENSE, TOKENS, NORMALISE),
    (STATIC,),
)
NEEDED = {POOLING, SPLADE, TOKENS, STATIC}  # one of them makes the vectors
PYLATE = {"pylate.models.Dense.Dense": f"{CODE}{DENSE}"}  # its classes, by sentence-transformers'
AT_TOKENS = "token_embeddings"  # what the modules of a late model read and write
# The original ColBERT's: its class, its settings, their values where it does not say, its layer.
COLBERT, METADATA = "HF_ColBERT", "artifact.metadata"
MARKERS, LENGTHS = ("[unused0]", "[unused1]"), (32, 220)
INLINE = "."  # folder of a layer beside the model's own weights
FEATURES = {"feature-extraction": TRANSFORMER, "fill-mask": MASKED}  # what `Transformer` gives
OUTPUTS = {"feature-extraction": "last_hidden_state", "fill-mask": "logits"}
ACTIVATIONS = {layers.IDENTITY: None, layers.TANH: "tanh"}
MAXSIM = "maxsim"
REFUSED = "what residuum does not read"
READ_BY_COLBERT = "ColBERT reads it; residuum does not"
READ = "sentence-transformers reads it; residuum does not"


class Described(NamedTuple):
    """How a released model is read: settings, folders of its layers, and how it reads texts.

    `layers` is the folder of each layer behind the pooling, within the model. `lowercase` says
    whether texts are lowercased first. `single` are texts that are one token each. `folder` is that
    of the network within the model; "" if it lies beside. `queries` is how queries are read, where
    other modules read them.
    """

    settings: EncoderSchema
    layers: dict[str, str]
    lowercase: bool
    single: list[str]
    folder: str = ""
    queries: Described | None = None


class _Files:
    """The JSON files of a model, in its folder or on the hub; `folder` holds its network."""

    def __init__(self, source: Source) -> None:
        self.source, self.folder = source, ""
        self.path = cache(self._path)  # the hub is asked once for each file

    def within(self, folder: str) -> _Files:
        """Return the files of a model whose network lies in a folder of it."""
        made = _Files(self.source)
        made.folder, made.path = folder, self.path
        return made

    def beside(self, name: str) -> str:
        """Return the name of a file beside the network, from the top of the model."""
        return routes.joined(self.folder, name)

    @property
    def network(self) -> Source:
        """Where the network's own files lie."""
        if (top := Path(self.source.name)).is_dir():
            folder = files.within(top, self.folder) if self.folder else top
            if not folder.is_dir():
                raise self.refused(f"no folder {self.folder}, where its files say the network is")
            return self.source._replace(name=str(folder))
        return self.source._replace(folder=self.folder)

    def _path(self, name: str) -> Path | None:
        """Return a file of the model, or None if it has no such file."""
        folder = Path(self.source.name)
        if folder.is_dir():
            path = files.within(folder, name)
            return path if path.is_file() else None
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
        names = [*map(self.beside, TEXTS_OF)]
        name = next(filter(self.path, names), names[0])
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
        docs = _of_ours(held, spec)
        asked = held.within(QUERIES)
        own = bool(held.path(asked.beside(SETTINGS)))
        return docs._replace(queries=_of_ours(asked, spec, False)) if own else docs
    if not held.path(MODULES):
        return _described(held, spec, [])
    of_docs, of_queries = routes.of(held.read, held.refused)
    docs = _described(held, spec, of_docs)
    if of_docs == of_queries:
        return docs
    return docs._replace(queries=_described(held, spec, of_queries, False))


def _described(held: _Files, spec: Reads, listed: list[Module], replaced: bool = True) -> Described:
    """Return how the listed modules of a model are read, or the whole model without a list.

    The entry's pooling replaces another one of the modules if `replaced` is true.
    """
    held = held.within(_folder_of(held, listed))
    texts, model = held.texts, held.object(MODEL)
    original = COLBERT in (held.object(held.beside("config.json")).get("architectures") or [])
    if listed:
        texts, model, single = _of_pylate(texts, model)
        texts = _lengthened(texts, spec)
        told, behind = _modules(held, listed, texts, model)
    elif original:
        texts, model, single = _of_colbert(held)
        texts = _lengthened(texts, spec)
        told, behind = _original(held, texts, model)
    else:
        _check_told(held, spec)
        told, behind, single = {}, {}, []
    _check_code(held)
    if model.get("max_active_dims"):
        raise held.refused(f"{MODEL}: max_active_dims: {READ}")
    prompts = _prompts(held, model, spec)
    told["pooling"] = _with_keys(held, told.get("pooling"), spec, replaced)
    head = HEADS[told["pooling"]["kind"]]
    cosine = _cosine(held, model, spec, head, bool(told.pop("normalise", False)))
    lengths = (
        spec.query_length or texts.get("query_length"),
        spec.doc_length or texts.get("document_length"),
    )
    static = told["pooling"]["kind"] == "static"
    length = texts.get("max_seq_length") or (None if all(lengths) else _longest(held, static))
    given: dict[str, object] = {
        "query_marker": "",
        "doc_marker": "",
        "keep_cls": True,
        "query_length": lengths[0] or length,
        "doc_length": lengths[1] or length,
        "normalise": cosine,
        "truncate": spec.dimensions or model.get("truncate_dim"),
        **{f"{kind}_prompt": prompt for kind, prompt in prompts.items()},
    }
    settings = _valid(held, {**told, **given})
    if head.late and not (single or listed):
        single = [*prompts.values()]
    return Described(settings, behind, bool(texts.get("do_lower_case")), single, held.folder)


def _folder_of(held: _Files, listed: list[Module]) -> str:
    """Return the folder of the network among modules."""
    networks = (TRANSFORMER, MASKED, STATIC)
    return next((one.path for one in listed if one.name in networks), "")


def _with_keys(
    held: _Files, read: dict[str, Any] | None, spec: Reads, replaced: bool
) -> dict[str, Any]:
    """Return the pooling of the files, with the entry's keys in place of theirs.

    Raises ResiduumError if the files make a vector for each token, and the entry does not say so:
    how many vectors a doc has decides how a corpus is cut.
    """
    asked = spec.pooling
    late = read is not None and HEADS[read["kind"]].late
    if read and asked and asked.kind == read["kind"]:
        return read | asked.model_dump(mode="json", include=asked.model_fields_set)
    if asked and (replaced or not read):
        return asked.model_dump(mode="json")
    if late:
        raise held.refused(
            "its files make a vector for each token. Give pooling: tokens, by which a corpus is "
            "cut into shards that memory holds"
        )
    assert read, "an entry without files names a pooling"
    return read


def _lengthened(texts: dict[str, Any], spec: Reads) -> dict[str, Any]:
    """Return what is said of texts, where each query has as many tokens as it is lengthened to.

    The entry's length of queries is that number, too.
    """
    expansion = texts.get("query_expansion") or {}
    if expansion.get("strategy") != "fixed":
        return texts
    length = spec.query_length or expansion["length"]
    return {**texts, "query_length": length, "query_expansion": {**expansion, "length": length}}


def _of_pylate(
    texts: dict[str, Any], model: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any], list[str]]:
    """Return what is said of texts and of the model, and the markers, of PyLate's files too.

    PyLate says in the model's file what sentence-transformers says of texts. Its markers are put
    before a text as tokens, and before the prompt.
    """
    prompts, single = dict(model.get("prompts") or {}), list[str]()
    for marker, name in (("query_prefix", "query"), ("document_prefix", "document")):
        if first := model.get(marker):
            single.append(first)
            prompts[name] = first + (prompts.get(name) or "").removeprefix(first)
    said = {key: value for key in ("query_length", "document_length") if (value := model.get(key))}
    keys = {"do_query_expansion", "attend_to_expansion_tokens", "skiplist_words", *said}
    if model.get("model_type") == "ColBERT" or (single and keys & {*model}):
        length = said.get("query_length", LENGTHS[0])
        attend = bool(model.get("attend_to_expansion_tokens"))
        expansion = {"strategy": "fixed", "attend": attend, "length": length}
        off = model.get("do_query_expansion") is False
        said["query_expansion"] = None if off else expansion
    return {**said, **texts}, {**model, "prompts": prompts}, single


def _of_colbert(held: _Files) -> tuple[dict[str, Any], dict[str, Any], list[str]]:
    """Return what the settings of an original ColBERT come to, as `_of_pylate` does."""
    said = held.object(METADATA)
    markers = [
        said.get(f"{kind}_token_id") or marker
        for kind, marker in zip(("query", "doc"), MARKERS, strict=True)
    ]
    lengths = [
        said.get(f"{kind}_maxlen") or length
        for kind, length in zip(("query", "doc"), LENGTHS, strict=True)
    ]
    if str(said.get("similarity", "cosine")) != "cosine":
        raise held.refused(f"{METADATA}: similarity {said['similarity']}. {READ_BY_COLBERT}")
    expansion = {
        "strategy": "fixed",
        "attend": bool(said.get("attend_to_mask_tokens")),
        "length": lengths[0],
    }
    texts = {
        "query_length": lengths[0], "document_length": lengths[1], "query_expansion": expansion,
    }  # fmt: skip
    prompts = {"query": f"{markers[0]} ", "document": f"{markers[1]} "}
    words = [*string.punctuation] if said.get("mask_punctuation", True) else []
    return texts, {"prompts": prompts, "skiplist_words": words}, [*prompts.values()]


def _original(
    held: _Files, texts: Mapping[str, Any], model: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the settings of an original ColBERT, whose linear layer is among its weights."""
    from safetensors import safe_open

    weights = held.path(foreign.WEIGHTS)
    if weights is None:
        raise held.refused(f"no {foreign.WEIGHTS}, which holds its linear layer. {foreign.MEND}")
    with safe_open(weights, framework="pt") as saved:
        if "linear.weight" not in [*saved.keys()]:
            raise held.refused(f"{foreign.WEIGHTS}: no linear.weight, which a ColBERT has")
        size = saved.get_slice("linear.weight").get_shape()[0]
    told = {"dimensions": size, "norm": False, "normalise": True}
    return told | {"pooling": _tokens(held, texts, model["skiplist_words"])}, {"linear": INLINE}


def _tokens(held: _Files, texts: Mapping[str, Any], skipped: list[str]) -> dict[str, Any]:
    """Return the pooling of a late model, whose queries are lengthened as its texts' file says."""
    expansion = texts.get("query_expansion") or {}
    if expansion.get("token"):
        raise held.refused(f"{TEXTS}: query_expansion: token {expansion['token']!r}. {READ}")
    words = "punctuation" if [*skipped] == [*string.punctuation] else [*skipped]
    return {
        "kind": "tokens",
        "expanded": expansion.get("length"),
        "attended": bool(expansion.get("attend")),
        "skipped": words,
    }


def _valid(held: _Files, given: Mapping[str, object]) -> EncoderSchema:
    kept = {key: value for key, value in given.items() if value is not None}
    try:
        return entries.validate(held.source.name, kept, EncoderSchema)
    except ValueError as error:
        raise ResiduumError(str(error)) from None


def _of_ours(held: _Files, spec: Reads, replaced: bool = True) -> Described:
    """Return how a checkpoint of residuum is read, with the entry's keys in place of its own."""
    settings = held.object(held.beside(SETTINGS))
    if "pooling" not in settings:
        raise held.refused(f"{SETTINGS} is not that of an encoder of texts")
    changed = {
        "pooling": _with_keys(held, _as_object(settings["pooling"]), spec, replaced),
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
    folders = {name: held.beside(layers.FOLDERS[name]) for name in layered if layered[name]}
    return Described(valid, folders, False, [], held.folder)


def _as_object(pooling: Any) -> dict[str, Any]:
    return {"kind": pooling} if isinstance(pooling, str) else dict(pooling)


def _modules(
    held: _Files, listed: Sequence[Module], texts: Mapping[str, Any], model: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the settings that the modules of a model come to, and the folders of its layers."""
    named = [(_named(held, one), one.path) for one in listed]
    named = [(name, path) for name, path in named if name != IDLE]
    if model.get("model_type") == "ColBERT" and TOKENS not in dict(named):
        named += [(TOKENS, ""), (NORMALISE, "")]  # which PyLate 3 does without modules
    names = [name for name, _ in named]
    known = {name for order in ORDERS for name in order}
    if other := next((name for name in names if name not in known), None):
        raise held.refused(
            f"{MODULES} asks for the module {other}. {READ}. Known: {', '.join(sorted(known))}"
        )
    order = next((o for o in ORDERS if names == [name for name in o if name in names]), None)
    if order is None or names[0] != order[0] or not NEEDED & {*names}:
        raise held.refused(
            f"{MODULES} has the modules {', '.join(names)}. {READ}. It reads "
            + ", or ".join(f"{', '.join(some)} in this order" for some in ORDERS)
        )
    told: dict[str, Any] = {}
    behind: dict[str, str] = {}
    for name, path in named:
        config = held.object(routes.joined(path, "config.json"))
        if name == STATIC:
            told["pooling"] = _static(held, path, config)
        elif name == POOLING:
            told["pooling"] = {"kind": _pooling(held, path, config)}
        elif name == SPLADE:
            told["pooling"] = _splade(held, path, config)
        elif name == TOKENS:
            told["pooling"] = _masked(held, path, config, texts, model)
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


def _static(held: _Files, path: str, config: Mapping[str, Any]) -> dict[str, object]:
    """Return the pooling of weights of terms. A path to weights elsewhere is refused."""
    if config.get("path"):
        raise held.refused(f"{path}/config.json: path: weights in a file elsewhere. {READ}")
    return {"kind": "static"}


def _named(held: _Files, module: Module) -> str:
    """Return the class of a module; a Transformer that fills masks is a MLMTransformer."""
    whole = PYLATE.get(module.type, module.type)
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


def _masked(
    held: _Files,
    path: str,
    config: Mapping[str, Any],
    texts: Mapping[str, Any],
    model: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the pooling of a late model with sentence-transformers' or PyLate's files."""
    if not path:  # PyLate's: no module of its own
        words = model.get("skiplist_words")
        return _tokens(held, texts, [*string.punctuation] if words is None else words)
    if config.get("keep_only_token_ids"):
        raise held.refused(f"{path}/config.json: keep_only_token_ids. {READ}")
    if (config.get("skiplist_tasks") or ["document"]) not in ("document", ["document"]):
        raise held.refused(f"{path}/config.json: skiplist_tasks of queries. {READ}")
    return _tokens(held, texts, config.get("skiplist_words") or [])


def _dense(held: _Files, path: str, config: Mapping[str, Any]) -> dict[str, object]:
    activation = config.get("activation_function", layers.TANH)
    if activation not in ACTIVATIONS or config.get("use_residual"):
        asked = "use_residual" if config.get("use_residual") else f"activation {activation}"
        raise held.refused(f"{path}/config.json: {asked}. {READ}. Known: {', '.join(ACTIVATIONS)}")
    return {"dimensions": config.get("out_features"), "activation": ACTIVATIONS[activation]}


def _check_code(held: _Files) -> None:
    """Refuse a model whose configuration asks for code of its own, which is never run."""
    config = held.object(held.beside("config.json"))
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


def _cosine(
    held: _Files, model: Mapping[str, Any], spec: Reads, head: type[Head], unit: bool
) -> bool:
    """Say whether vectors are compared by their cosine: scaled to length 1."""
    sparse, said = head.sparse, spec.similarity or model.get("similarity_fn_name")
    if head.late and not spec.similarity and said in (None, MAXSIM, "cosine", "dot"):
        said = "cosine" if unit else "dot"  # a sum of products; PyLate's files keep another's name
    known = ("dot",) if sparse else ("cosine", "dot")
    known = (MAXSIM,) if head.late and not spec.similarity and said not in known else known
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


def _longest(held: _Files, static: bool) -> int:
    """Return the most tokens of a text, by tokenizer and positions; `static` has no positions."""
    from transformers import AutoConfig, AutoTokenizer

    source = held.network
    with pretrained.explained(source):
        tokenizer = AutoTokenizer.from_pretrained(source.name, **source.at)
        if static:
            return min(int(tokenizer.model_max_length), LONGEST)
        config = AutoConfig.from_pretrained(source.name, **source.at)
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


def summary(described: Described) -> str:
    """Return in words how a model is read."""
    words = _summary(described.settings)
    apart = f"; queries apart: {_summary(described.queries.settings)}" if described.queries else ""
    return words + apart


def _summary(settings: EncoderSchema) -> str:
    words = [f"pooling {settings.pooling.kind}"]
    words += [f"a linear layer to {settings.dimensions}"] if settings.dimensions else []
    words += [f"the first {settings.truncate} dimensions"] if settings.truncate else []
    if settings.pooling.late:
        expanded = getattr(settings.pooling, "expanded", None)
        words += [f"queries of {expanded} tokens at least, by [MASK]"] if expanded else []
        words += ["a sum of the best products"]
    words += ["vectors of length 1" if settings.normalise else "inner products"]
    prompts = {"queries": settings.query_prompt, "docs": settings.doc_prompt}
    words += [f"prompt of {side} {prompt!r}" for side, prompt in prompts.items() if prompt]
    words += [f"{settings.query_length} tokens of a query, {settings.doc_length} of a doc"]
    return ", ".join(words)


def take(described: Described, source: Source, folder: Path, device: Device) -> Encoder:
    """Write a released model into a folder as a checkpoint; return its encoder of docs.

    Raises ResiduumError if vectors of queries and docs cannot be compared.
    """
    from residuum.neural.encoders import check_alike

    encoder = _take(described, source, folder, device)
    if described.queries:
        (folder / QUERIES).mkdir()
        asked = _take(described.queries, source, folder / QUERIES, device)
        check_alike(source.name, encoder.dimensions, described.queries.folder, asked.dimensions)
        if encoder.head.sparse and encoder.tokenizer.get_vocab() != asked.tokenizer.get_vocab():
            raise _Files(source).refused("its queries have another vocabulary than its docs")
    return encoder


def _take(described: Described, source: Source, folder: Path, device: Device) -> Encoder:
    from residuum.neural.encoders import Encoder as Reader

    held, reader = _Files(source).within(described.folder), Reader.class_for(described.settings)
    if described.settings.pooling.kind == "static":
        _copy_static(held, folder)
        encoder = reader(Source(str(folder)), described.settings, device)
        encoder.describe(folder)
        return encoder
    model, tokenizer = pretrained.load(reader.form(), held.network)
    if described.lowercase:
        _lowercase(tokenizer)
    _make_single(tokenizer, described.single)
    pretrained.save(model, tokenizer, folder)
    if described.lowercase:
        as_it_is(tokenizer, folder)
    for name, path in described.layers.items():
        _copy_layer(held, name, path, folder)
    encoder = reader(Source(str(folder)), described.settings, device)
    encoder.describe(folder)
    return encoder


def _copy_static(held: _Files, folder: Path) -> None:
    """Write weights of terms and their tokenizer in our form."""
    from transformers import AutoTokenizer

    from residuum.neural import staticencoder

    source, weights = held.network, held.path(held.beside(foreign.WEIGHTS))
    if weights is None:
        raise held.refused(
            f"{held.folder}: no {foreign.WEIGHTS}. Save the model with sentence-transformers, and "
            "name that folder"
        )
    with pretrained.explained(source):
        tokenizer = AutoTokenizer.from_pretrained(source.name, **source.at)
    staticencoder.save(staticencoder.weights_of(weights.parent, len(tokenizer)), tokenizer, folder)


def _copy_layer(held: _Files, name: str, path: str, folder: Path) -> None:
    """Write a layer's weights in our form; a linear layer without a bias gets one of zeros."""
    import torch
    from safetensors.torch import save_file

    weights = held.path(foreign.WEIGHTS if path == INLINE else f"{path}/{foreign.WEIGHTS}")
    if weights is None:
        raise held.refused(
            f"{path}: no {foreign.WEIGHTS}. Save the model with sentence-transformers, and name "
            "that folder"
        )
    saved = foreign.tensors(weights)
    if path == INLINE:
        saved = {key: value for key, value in saved.items() if key.startswith(f"{name}.")}
    state = {f"{name}.{key.removeprefix(f'{name}.')}": value for key, value in saved.items()}
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


def _make_single(tokenizer: Any, texts: Sequence[str]) -> None:
    """Let a tokenizer read each text, or its first word, as one token if the vocabulary has it.

    Words such as [unused0] would otherwise be cut at their brackets. A space at the end belongs to
    some markers.
    """
    from tokenizers import AddedToken

    known = tokenizer.get_vocab()
    for text in texts:
        word = next((some for some in (text, *text.split()[:1]) if some in known), None)
        if word is not None and tokenizer.tokenize(word) != [word]:
            added = AddedToken(word, normalized=False, special=True)
            tokenizer.add_tokens([added], special_tokens=True)
