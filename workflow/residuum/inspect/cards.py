"""Write a checkpoint as a folder that is ready for a hub, with a model card as README.md.

Usage: `residuum card clear --seed 1 --output clear-seed1`. A card reports results, which are made
after the checkpoint. It is therefore no artefact of the graph, and no job depends on it. Its facts
come from manifests, metrics, verdicts on learning and config/.
"""

import json
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from residuum import __version__
from residuum.artefacts import files, manifest, yamls
from residuum.cli.errors import ResiduumError
from residuum.config import entries
from residuum.config.schema.datasets import Dataset
from residuum.config.specs import FixedId
from residuum.inspect import citing, datasets, provenance
from residuum.inspect.checkpoints import (
    Checkpoint,
    Result,
    find,
    pages_of,
    results_of,
    scale_of,
    scales_of,
    trained_on,
    verdict,
)
from residuum.inspect.citing import UNKNOWN
from residuum.inspect.text import flat, listed
from residuum.pages.entries import parts_of
from residuum.pages.layout import grid

CARD = "README.md"
ALONE = "the model alone"
Known = Mapping[str, Dataset]
SHOWN_ELSEWHERE = {  # settings that other parts of the card show
    *("train_on", "corpora", "spans", "backbone", "training", "negatives", "trained", "kind"),
    *("loss", "losses", "seed"),
}


COLUMNS = ["collection", "licence", "access"]
IN_BATCH = "the other docs of a batch (in_batch); none were searched for"


def write(results: Path, model: str, seed: int, output: Path, config: Path) -> str:
    """Write the folder, whole or not at all; return a description of the folder.

    An unknown model, an existing output folder, and a file that differs from its manifest raise
    ResiduumError.
    """
    checkpoint = find(results, provenance.read(results), model, seed)
    text = card(checkpoint, datasets.load(config), described(config, checkpoint.name))
    with files.new_directory(output) as folder:
        size = _copy(checkpoint, folder)
        files.write_text(folder / CARD, text)
    return (
        f"{output}: {checkpoint.path} of {results}, {size / 1e6:.1f} MB, and its card, {CARD}\n"
        f"To give it out: hf upload OWNER/NAME {output}"
    )


def _copy(checkpoint: Checkpoint, folder: Path) -> int:
    """Copy a checkpoint's manifest and the files it lists; return their size in bytes."""
    source, size = checkpoint.results / checkpoint.path, 0
    for name, record in checkpoint.made.files.items():
        if not (source / name).is_file() or files.sha256(source / name) != record.sha256:
            again = f"delete {source}, then {provenance.AGAIN}"
            raise ResiduumError(f"{source / name}: not as its manifest records it; {again}")
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / name, folder / name)
        size += record.bytes
    shutil.copyfile(source / manifest.FOLDER, folder / manifest.FOLDER)
    return size


def described(config: Path, name: str) -> str:
    """Return the description in the model's entry in config/models, or "" without an entry."""
    held, model = entries.Folder(config / "models"), FixedId.parse(name).name
    try:
        entry = held.entry(model, dict[str, object]) if held.may_hold(model) else {}
    except ValueError as error:
        raise ResiduumError(str(error)) from None
    return str(entry.get("description", ""))


def card(checkpoint: Checkpoint, known: Known, description: str) -> str:
    """Return the text of a model card, with the hub's metadata block at its head."""
    measured = results_of(checkpoint)
    header = yamls.dump(metadata(checkpoint, known, measured))
    parts = [f"---\n{header}---\n", f"# {checkpoint.name}\n"]
    for title, lines in (
        ("", _what(checkpoint, description)),
        ("How to load it", [how(checkpoint.results / checkpoint.path, checkpoint.kind)]),
        ("Data", _data(checkpoint, known)),
        ("Training", _training(checkpoint)),
        ("Did it learn?", [_learned(checkpoint)]),
        ("Results", _measured(checkpoint, measured)),
        ("Provenance", _provenance(checkpoint)),
        ("Citation", _citation(checkpoint, known)),
    ):
        parts.append((f"## {title}\n\n" if title else "") + "\n".join(lines) + "\n")
    return "\n".join(parts)


def metadata(checkpoint: Checkpoint, known: Known, measured: Iterable[Result]) -> dict[str, object]:
    """Return the metadata block of a card in the Hugging Face hub's format for model cards."""
    read_by, task = library(checkpoint.results / checkpoint.path, checkpoint.kind)
    start = str(checkpoint.made.spec.get("start") or "")
    names = list(dict.fromkeys(place.partition("/")[0] for place in trained_on(checkpoint)))
    head: dict[str, object] = {
        "library_name": read_by,
        "pipeline_tag": task,
        "base_model": start if checkpoint.made.spec.get("revision") else None,
        "datasets": names if checkpoint.trained or checkpoint.kind == "backbone" else [],
        "tags": ["residuum", "information-retrieval", checkpoint.kind],
    }
    results = [
        {
            "task": {"type": task or "text-ranking"},
            "dataset": {
                "name": f"{citing.stated_of(r.dataset, known.get(r.dataset)).title}, {r.split}",
                "type": r.dataset,
                "split": r.split,
            },
            "metrics": [
                {"type": name, "value": value, "name": f"{name} of {r.run}"}
                for name, value in r.means.items()
            ],
        }
        for r in measured
        if not r.made_of
    ]
    if results:
        head["model-index"] = [{"name": checkpoint.name, "results": results}]
    return {key: value for key, value in head.items() if value}


def _what(checkpoint: Checkpoint, description: str) -> Iterator[str]:
    """Yield the model's description, its kind, start and seed, and the settings that made it."""
    if description:
        yield f"{description}\n"
    start = checkpoint.made.spec.get("start")
    verb = "trained" if checkpoint.trained else "made"
    begun = f", {verb} from {_of(checkpoint, str(start))}" if start else ""
    made = f"`{checkpoint.path}` of scale {scale_of(checkpoint.results, checkpoint.graph)}"
    seed = checkpoint.made.spec.get("seed")
    yield f"A model of kind {checkpoint.kind}{begun}, seed {seed}: {made}."
    yield f"The card is residuum's ({__version__}).\n"
    kept = {k: v for k, v in checkpoint.settings.items() if k not in SHOWN_ELSEWHERE}
    yield f"Settings: {listed(kept, full=True)}."


def _of(checkpoint: Checkpoint, start: str) -> str:
    """Return the name of a start: its path below results, or its hub id and commit."""
    revision = checkpoint.made.spec.get("revision")
    if revision:
        return f"[{start}](https://huggingface.co/{start}) at {revision}"
    parents = [path for path in checkpoint.graph[checkpoint.path].parents if start.endswith(path)]
    return f"`{parents[0] if parents else start}`"


def _data(checkpoint: Checkpoint, known: Known) -> Iterator[str]:
    """Yield the training collections with licence and access, and the model's negatives."""
    rows = []
    for place in trained_on(checkpoint):
        name = place.partition("/")[0]
        about = citing.stated_of(name, known.get(name))
        rows.append([place, about.title, about.licence, about.access])
    yield grid(["trained on" if checkpoint.trained else "made with", *COLUMNS], rows)
    roles = checkpoint.settings.get("train_on") or checkpoint.settings.get("corpora")
    yield "\nNo licence of the weights is recorded. The licences of collections and start apply."
    yield f"\nIn the role of: {listed({'': roles}).strip()}. Pairs: {_fact(checkpoint, 'pairs')}."
    if mix := checkpoint.made.artefact.get("mix"):
        yield f"Shares of the mix: {listed(mix)}."
    if checkpoint.trained and (negatives := _negatives(checkpoint)):
        yield f"\nNegatives: {negatives}."


def _negatives(checkpoint: Checkpoint) -> str:
    """Return the negatives of a training, or "" if its loss uses no negatives."""
    given = checkpoint.settings.get("negatives") or {}
    if any(given.get(key) for key in ("pools", "same_as", "triples")):
        return listed(given, full=True)
    return IN_BATCH if checkpoint.kind == "dual-encoder" else ""


def _fact(checkpoint: Checkpoint, key: str) -> object:
    return checkpoint.made.artefact.get(key, UNKNOWN)


def _training(checkpoint: Checkpoint) -> Iterator[str]:
    """Yield a training's loss, optimiser, steps and arithmetic."""
    settings = checkpoint.settings if checkpoint.trained else {}
    losses = settings.get("losses") or [settings.get("loss")]
    if named := [listed(loss) for loss in losses if loss]:
        yield f"Loss: {'; and '.join(named)}.\n"
    spec = checkpoint.made.spec
    rows = [[key, str(value)] for key, value in flat(settings.get("training") or {})]
    kept = ("threads", "processes", "device", "precision", "arithmetic")
    rows += [[key, str(spec[key])] for key in kept if key in spec]
    rows += [[f"{key} at the end", str(_fact(checkpoint, key))] for key in ("steps", "loss")]
    rows = [row for row in rows if row[1] not in ("None", UNKNOWN)]
    if not checkpoint.trained:
        yield "The model was made without training.\n"
    yield grid(["setting", "value"], rows)
    preflight = checkpoint.made.artefact.get("preflight")
    if checkpoint.trained and preflight:
        yield f"\nBefore the first step: {listed(preflight)}."


def _learned(checkpoint: Checkpoint) -> str:
    """Return the verdict on learning, or a sentence that no verdict was made."""
    if (made := verdict(checkpoint)) is None:
        return "No verdict on learning was made of this checkpoint."
    answer = "Yes" if made.learned else "No: tables say `not learned`"
    on = f"on {made.examples} held-out examples of {made.split_ref}"
    return f"{answer}. {made.reason} ({made.measure}, {on}; {listed(dict(made.means))})."


def _measured(checkpoint: Checkpoint, measured: list[Result]) -> Iterator[str]:
    """Yield the means and the pages of every run that used the checkpoint."""
    if not measured:
        yield "No run of this checkpoint was evaluated. Models made from it have their own results."
        return
    rows = [
        [f"{r.dataset}/{r.split}", r.run, ", ".join(r.made_of) or ALONE, str(r.queries), text]
        for r in measured
        if (text := ", ".join(f"{name} {mean:.4f}" for name, mean in r.means.items()))
    ]
    yield grid(["split", "run", "made of", "queries", "means"], rows)
    if any(r.made_of for r in measured):
        yield (
            "\nA combined run, such as a fusion or a reranked list, has the means of all its parts "
            "together. Parts are named by their systems, a reranker by its role or model."
        )
    for scale, compares in scales_of(checkpoint.graph).items():
        yield f"\nScale {scale}: {compares}"
    if pages := pages_of(checkpoint):
        yield "\nPages with results of this checkpoint:\n"
        yield from (f"- {name} ({printed})" for name, printed in pages.items())


def _provenance(checkpoint: Checkpoint) -> Iterator[str]:
    """Yield the command, code and environment of the job that made the checkpoint."""
    around = checkpoint.made.environment
    yield f"```\n{around.get('command') or 'command not recorded'}\n```\n"
    packages = around.get("packages")
    rows = [
        ["code", f"{checkpoint.made.module}, closure {checkpoint.made.sha256}"],
        ["commit", str(around.get("git_commit") or UNKNOWN)],
        ["python", str(around.get("python"))],
        ["packages", listed(packages) if isinstance(packages, dict) else UNKNOWN],
        ["processor", checkpoint.made.cpu.model if checkpoint.made.cpu else UNKNOWN],
    ]
    yield grid(["fact of the job", "value"], rows)
    yield f"\n`{manifest.FOLDER}` has the hashes of its inputs and files."


def _citation(checkpoint: Checkpoint, known: Known) -> Iterator[str]:
    """Yield what to cite: the papers of the pages, the collections, and residuum."""
    papers = dict.fromkeys(parts_of(page)[0] for page in pages_of(checkpoint))
    yield from (f"- {paper}" for paper in citing.papers(papers))
    for name in dict.fromkeys(place.partition("/")[0] for place in trained_on(checkpoint)):
        yield f"- {name}: {citing.stated_of(name, known.get(name)).citation}"
    yield f"- residuum:\n\n```bibtex\n{citing.software()}\n```"


RESIDUUM, TRANSFORMERS, SENTENCES = "residuum", "transformers", "sentence-transformers"
OURS = {  # kind: package, class, usage
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


TASKS = {  # kind: task in the hub's terms
    "dual-encoder": "sentence-similarity",
    "inverse-cloze": "sentence-similarity",
    "released-encoder": "sentence-similarity",
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


FORMS = {"ForMaskedLM": "AutoModelForMaskedLM", "": "AutoModel"}  # by ending of the class's name


def library(folder: Path, kind: str) -> tuple[str, str | None]:
    """Return (library that loads a checkpoint, task in the hub's terms or None)."""
    pooling = _read(folder, "residuum.json").get("pooling")
    one_vector = kind == "dual-encoder" and isinstance(pooling, str)
    if kind in OURS and not one_vector:  # sentence-transformers reads one vector a text
        return RESIDUUM, TASKS.get(kind)
    sentences = kind == "cross-encoder" or (folder / "modules.json").is_file()
    return SENTENCES if sentences else TRANSFORMERS, TASKS.get(kind)


def _read(folder: Path, name: str) -> dict[str, Any]:
    path = folder / name
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else {}


def how(folder: Path, kind: str, shown: str = "OWNER/NAME") -> str:
    """Return Markdown on how to load a checkpoint; `shown` is the folder or hub id to load."""
    settings = _read(folder, "residuum.json")
    reads, _ = library(folder, kind)
    if reads == RESIDUUM:
        room, name, use = OURS[kind]
        code = OWN.format(folder=shown, room=room, name=name, use=use)
        note = "This needs the package residuum on Python's path, and a local folder."
        note += " Its classes read several vectors a text." * (kind == "dual-encoder")
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


def _cut(settings: Mapping[str, object]) -> str:
    """Return the lengths, in tokens, to which queries and docs (or pairs) were truncated."""
    if "length" in settings:
        kind, length = "pairs", settings["length"]
    elif "doc_length" in settings:
        kind, length = "docs", settings["doc_length"]
    else:
        return ""
    return f"Queries were cut at {settings['query_length']} tokens, {kind} at {length}."
