"""What the steps ask of the package, in one place: where its modules change, this one follows.

Usage: `encoders(setting, settings, device)`, `learner(setting, spec, ...)`, `stepper(learner)`.
Must not know how anything is measured.
"""

import itertools
import json
import re
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gpu.setting import Setting
from residuum.artefacts import contracts, trec
from residuum.config import entries
from residuum.config.roots import ROOT
from residuum.config.schema.encoder import Encoder as EncoderSettings
from residuum.config.schema.models import DualEncoder
from residuum.neural import fitting, processes
from residuum.neural.devices import AdaptiveBatchSize, Device
from residuum.neural.encoders import Encoder
from residuum.neural.learners import KINDS, Start
from residuum.neural.optimisers import make_optimiser, take_step
from residuum.neural.pretrained import Source
from residuum.neural.tokens import Texts

NEGATIVES = 20  # of a pair


def encoders(setting: Setting, device: Device) -> dict[str, Encoder]:
    """Return encoders of docs, by how they compute: as encoding loads one, and in two other ways.

    Those are: with padding, where the first does without, and as a training makes one. What is the
    same on a device stands once.
    """
    how = EncoderSettings(query_length=setting.longest, doc_length=setting.longest)
    made = Encoder(Source(str(setting.backbone())), how, device)
    folder = checkpoint(setting, made)
    padded = Encoder.load(folder, device)
    padded.inputs.packs = made.inputs.packs = False
    named: dict[str, Encoder] = {}
    for encoder in (Encoder.load(folder, device), padded, made):
        named.setdefault(_arithmetic(encoder, device), encoder)
    return named


def checkpoint(setting: Setting, encoder: Encoder | None = None) -> Path:
    """Return the folder of a checkpoint of an encoder, which is written once."""
    folder = setting.scratch / "encoder"
    if not folder.is_dir():
        how = EncoderSettings(query_length=setting.longest, doc_length=setting.longest)
        source, device = Source(str(setting.backbone())), Device("cpu", "fp32")
        folder.mkdir()
        (encoder or Encoder(source, how, device)).save(folder)
    return folder


def _arithmetic(encoder: Encoder, device: Device) -> str:
    """Name what an encoder computes with, by its weights and its device."""
    weights = str(next(encoder.model.parameters()).dtype).removeprefix("torch.")
    names = {("float32", "fp32"): "fp32", ("float32", "bf16"): "bf16 by autocast"}
    name = names.get((weights, device.precision), f"{weights} weights")
    return f"{name}, packed" if encoder.inputs.packs else name


class Problem(NamedTuple):
    """Files that a training reads."""

    corpus: Path
    queries: Path
    tuples: Path


def problem(setting: Setting) -> Problem:
    """Return docs, queries and tuples of random words; written once."""
    folder = setting.scratch / "problem"
    named = Problem(folder / "corpus", folder / "queries.tsv", folder / "tuples.jsonl.gz")
    if folder.is_dir():
        return named
    docs, pairs = setting.pick(4000, 40), setting.pick(2000, 24)
    setting.corpus(named.corpus, docs)
    texts = setting.texts(np.full(pairs, 10), 3)
    trec.write_queries(named.queries, [(f"q{i}", text) for i, text in enumerate(texts)])
    random, made = np.random.default_rng(4), []
    for number in range(pairs):
        positive, *rest = (f"d{doc}" for doc in random.choice(docs, NEGATIVES + 1, replace=False))
        scores = [float(score) for score in random.uniform(0, 20, NEGATIVES)]
        made.append(contracts.Tuple(f"q{number}", positive, 10.0, rest, scores))
    contracts.write_tuples(named.tuples, made)
    return named


def spec(setting: Setting, name: str, **changes: Any) -> DualEncoder:
    """Return a model of config/models, with other lengths if they are tiny, and other keys."""
    entry = entries.parse(ROOT / "config" / "models" / f"{name}.yaml", dict[str, Any])
    lengths = {"query_length": 8, "doc_length": setting.longest}
    layers = [{"encoder": lengths}] if setting.tiny else []
    entry.pop("budgets", None)
    return DualEncoder.model_validate(reduce(entries.merge, [*layers, changes], entry))


def learner(setting: Setting, model: DualEncoder, device: Device) -> Any:
    """Return a model in training on the problem."""
    files = problem(setting)
    source = Source(str(setting.backbone()), dropout=model.training.dropout, new_head=True)
    texts = Texts(files.queries, files.corpus, str(files.tuples))
    made = KINDS[model.kind](model, Start(source, device, 1), files.tuples, texts)
    made.model.train()
    return made


def gradients(made: Any, step: int = 0) -> AdaptiveBatchSize:
    """Set the gradients of a step; return what memory held of it."""
    sizes = AdaptiveBatchSize("training examples", "the model's lengths")
    rows = processes.share(made.spec.training.batch_size)
    fitting.set_gradients(made, sizes, rows, step)
    return sizes


def stepper(made: Any) -> Callable[[], object]:
    """Return what takes a step of a training after the other."""
    how = made.spec.training
    optimiser, numbers = make_optimiser(made.model, how), itertools.count()

    def step() -> object:
        number = next(numbers)
        gradients(made, number)
        return take_step(optimiser, how, made.moment(number))

    return step


def lengths(made: Any, step: int) -> np.ndarray:
    """Return the tokens of each text of a step."""
    batch = made.batch(step)
    rows = [*made.queries.tokens(batch.query_ids), *made.docs.tokens(batch.docs)]
    return np.array([len(row) for row in rows])


def train_words(setting: Setting, model: DualEncoder, output: Path) -> list[str]:
    """Return the words of the command that trains a model, after `python`."""
    files = problem(setting)
    options = {
        "tuples": files.tuples,
        "corpus": files.corpus,
        "queries": files.queries,
        "start": setting.backbone(),
        "spec": json.dumps(model.model_dump(mode="json", exclude_unset=True)),
        "seed": 1,
        "work": output.with_name(f"{output.name}.work"),
        "output": output,
        "threads": setting.threads,
        "device": setting.device,
    }
    return ["-m", "residuum.train", "train", *_words(options)]


def encode_words(setting: Setting, corpus: Path, batch: int, output: Path) -> list[str]:
    """Return the words of the command that encodes all docs of a corpus, after `python`."""
    options = {
        "corpus": corpus,
        "model": checkpoint(setting),
        "shard": 0,
        "of": 1,
        "batch-size": batch,
        "output": output,
        "threads": setting.threads,
        "device": setting.device,
    }
    return ["-m", "residuum.encode", "docs", *_words(options)]


def _words(options: dict[str, Any]) -> list[str]:
    return [word for name, value in options.items() for word in (f"--{name}", str(value))]


def seconds_said(log: Path, output: Path) -> float | None:
    """Return how long the work of a command took, its start left out, as it said last; or None."""
    said = re.findall(rf"{re.escape(str(output))}: .* in ([0-9.]+) s$", log.read_text(), re.M)
    return float(said[-1]) if said else None
