"""How a checkpoint is loaded: the library that reads it, and lines of Python that run.

Usage: `how(Path("models/clear/seed1"), "dual-encoder")`. Decided by the files of the checkpoint.
Must not know residuum's classes: it names them in text.
"""

import json
from pathlib import Path
from typing import Any

RESIDUUM, TRANSFORMERS, SENTENCES = "residuum", "transformers", "sentence-transformers"
OURS = {  # kind: room, class, and what uses it
    "term-weights": ("termweighter", "TermWeighter", 'print(model.predict(["a doc"], 8))'),
    "term-gate": (
        "termgate",
        "TermGater",
        'tokens = list(model.tokenise(["a doc"], "doc"))\nprint(model.logits(tokens).sigmoid())',
    ),
    "dual-encoder": (
        "encoders",
        "Encoder",
        'vectors, _ = model.vectors(["a doc"], "doc", 8)\nprint(vectors)',
    ),
}
TASKS = {  # as hubs name them
    "dual-encoder": "sentence-similarity",
    "inverse-cloze": "sentence-similarity",
    "cross-encoder": "text-ranking",
    "term-weights": "token-classification",
    "masked-language": "fill-mask",
    "next-text": "fill-mask",
    "backbone": "feature-extraction",
}
ENCODE = """\
from sentence_transformers import SentenceTransformer

model = SentenceTransformer("{folder}", device="cpu")
queries = model.encode_query(["a question"])
docs = model.encode_document(["a doc", "another doc"])
print(model.similarity(queries, docs))"""
RERANK = """\
from sentence_transformers import CrossEncoder

model = CrossEncoder("{folder}", device="cpu")
print(model.predict([("a question", "a doc"), ("a question", "another doc")]))"""
WRITE = """\
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("{folder}")
model = AutoModelForSeq2SeqLM.from_pretrained("{folder}")
doc = tokenizer("a doc", truncation=True, max_length={length}, return_tensors="pt")
written = model.generate(
    doc["input_ids"], attention_mask=doc["attention_mask"], max_new_tokens={words}
)
print(tokenizer.batch_decode(written, skip_special_tokens=True))"""
READ = """\
from transformers import {form}, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("{folder}")
model = {form}.from_pretrained("{folder}")
print(model(**tokenizer("a text", return_tensors="pt"))[0].shape)"""
OWN = """\
from pathlib import Path

from residuum.neural import devices
from residuum.neural.{room} import {name}

model = {name}.load(Path("{folder}"), devices.choose("cpu", "fp32", 1))
{use}"""
FORMS = {"ForMaskedLM": "AutoModelForMaskedLM", "": "AutoModel"}  # by the end of an architecture


def library(folder: Path, kind: str) -> tuple[str, str | None]:
    """Return the library that reads a checkpoint, and its task as hubs name it, if it has one."""
    own = kind in OURS and not _single(folder, kind)
    if own:
        return RESIDUUM, TASKS.get(kind)
    sentences = kind == "cross-encoder" or (folder / "modules.json").is_file()
    return SENTENCES if sentences else TRANSFORMERS, TASKS.get(kind)


def _single(folder: Path, kind: str) -> bool:
    """Say whether a dual encoder has one dense vector a text, as sentence-transformers gives."""
    pooling = _read(folder, "residuum.json").get("pooling")
    return kind == "dual-encoder" and isinstance(pooling, str)


def _read(folder: Path, name: str) -> dict[str, Any]:
    path = folder / name
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else {}


def how(folder: Path, kind: str, shown: str = "OWNER/NAME") -> str:
    """Return lines of Markdown that say how to load a checkpoint; `shown` is where it lies."""
    settings = _read(folder, "residuum.json")
    reads, _ = library(folder, kind)
    if reads == RESIDUUM:
        room, name, use = OURS[kind]
        code, note = OWN.format(folder=shown, room=room, name=name, use=use), _ours(kind)
    elif kind == "cross-encoder":
        code, note = RERANK.format(folder=shown), _cut(settings)
    elif reads == SENTENCES:
        code, note = ENCODE.format(folder=shown), _cut(settings)
    elif kind == "question-generator":
        lengths = {"length": settings["doc_length"], "words": settings["question_length"]}
        code, note = WRITE.format(folder=shown, **lengths), ""
    else:
        [architecture, *_] = _read(folder, "config.json").get("architectures") or [""]
        form = next(form for end, form in FORMS.items() if architecture.endswith(end))
        code, note = READ.format(folder=shown, form=form), ""
    return f"With {reads}:\n\n```python\n{code}\n```\n" + (f"\n{note}\n" if note else "")


def _cut(settings: dict[str, Any]) -> str:
    """Return at how many tokens texts were cut, which the library does for the whole alone."""
    if "length" in settings:
        return (
            f"Queries were cut at {settings['query_length']} tokens, pairs at {settings['length']}."
        )
    if "doc_length" in settings:
        query, doc = settings["query_length"], settings["doc_length"]
        return f"Queries were cut at {query} tokens, docs at {doc}."
    return ""


def _ours(kind: str) -> str:
    more = ", whose classes read more than one dense vector a text" * (kind == "dual-encoder")
    return f"The package residuum is on the path{more}; the folder is a local one."
