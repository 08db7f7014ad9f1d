"""Step 2: texts encoded a second, from text to vectors, beside sentence-transformers.

Texts of natural and of full length, by batch, by how an encoder computes; and how fast the parts
are by themselves: to tokenise, to compute, to compute and hand to the host. The ratio is to
sentence-transformers in the middle batch, with weights of the same precision.
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from gpu import product
from gpu.records import Records
from gpu.setting import Setting, by_length
from gpu.timing import record_profile, typical

THEIRS = "sentence-transformers"
WEIGHTS = {"bf16": "bfloat16", "fp32": "float32"}


class Sample(NamedTuple):
    """Texts of one distribution of lengths, and the FLOP that a text takes on average."""

    name: str
    texts: list[str]
    flop: float


def measure(setting: Setting, records: Records) -> None:
    """Record rates of ours and of theirs; first what matters most, should time end."""
    natural = setting.natural(setting.pick(16_384, 24))
    full = np.full(setting.pick(8192, 16), setting.longest)
    records.add("tokens of a text of natural length", natural.mean(), "tokens")
    drawn = {"natural lengths": natural, f"{setting.longest} tokens": full}
    samples = [
        Sample(name, setting.texts(rows, 5), setting.shape.flop(rows) / len(rows))
        for name, rows in drawn.items()
    ]
    middle, *others = setting.pick((512, 128, 1024), (8, 4))
    device = setting.chosen()
    encoders = product.encoders(setting, device)
    _beside_theirs(setting, records, encoders, samples, middle)
    for how, encoder in encoders.items():
        for sample in samples:
            _ours(setting, records, how, encoder, sample, middle)
    for sample in samples:
        _parts(setting, records, next(iter(encoders.values())), sample, middle)
    for how, encoder in encoders.items():
        tokens = list(encoder.tokenise(samples[0].texts[:middle], "doc"))
        record_profile(setting, records, f"forward, {how}", partial(compute, encoder, [tokens]))
    own, encoder = next(iter(encoders.items()))
    for batch in others:
        for sample in samples:
            _ours(setting, records, own, encoder, sample, batch)
    if setting.device == "cuda":
        _otherwise(setting, records, samples[0], middle)


def _otherwise(setting: Setting, records: Records, sample: Sample, batch: int) -> None:
    """Record rates in other precisions: theirs in float16, ours in fp32 on fewer texts."""
    with records.part(f"{THEIRS}, float16"):
        _theirs(setting, records, sample, batch, "float16")
    some = sample._replace(texts=sample.texts[:2048])
    for how, encoder in product.encoders(setting, setting.chosen("fp32")).items():
        _ours(setting, records, how, encoder, some, batch)


def _beside_theirs(
    setting: Setting,
    records: Records,
    encoders: dict[str, Any],
    samples: list[Sample],
    batch: int,
) -> None:
    """Record their rates, and that both sides give the same vectors, up to their lengths."""
    precision = next(iter(encoders.values())).device.precision
    for sample in samples:
        with records.part(f"{THEIRS}, {sample.name}"):
            theirs = _theirs(setting, records, sample, batch, WEIGHTS[precision])
            for how, encoder in encoders.items():
                ours = np.asarray(encoder.encode(sample.texts[: len(theirs)], "doc", batch))
                name = f"{sample.name}, {how}: least cosine to their vectors"
                records.add(name, _least(ours, theirs))


def _ours(
    setting: Setting, records: Records, how: str, encoder: Any, sample: Sample, batch: int
) -> None:
    """Record the rate of an encoder."""
    texts, precision = sample.texts, encoder.device.precision
    encoder.encode(texts, "doc", batch)  # shapes that come again are recorded
    rate = len(texts) / typical(partial(encoder.encode, texts, "doc", batch), setting, 2.0)
    records.add(
        f"{sample.name}, batch {batch}, {how}",
        rate,
        "texts/s",
        flop=sample.flop,
        precision=precision,
        beside=_name(sample, WEIGHTS[precision]),
    )


def _theirs(
    setting: Setting, records: Records, sample: Sample, batch: int, weights: str
) -> np.ndarray:
    """Record the rate of sentence-transformers on the same checkpoint, with weights of a type.

    Return its vectors of the first texts.
    """
    import torch
    from sentence_transformers import SentenceTransformer

    how = {"dtype": getattr(torch, weights)}
    folder = str(product.checkpoint(setting))
    model = SentenceTransformer(folder, device=setting.device, model_kwargs=how)
    bound = {"prompt_name": "document", "batch_size": batch, "show_progress_bar": False}
    vectors = model.encode(sample.texts[: 2 * batch], **bound)
    rate = len(sample.texts) / typical(lambda: model.encode(sample.texts, **bound), setting, 2.0)
    records.add(_name(sample, weights), rate, "texts/s", batch=batch)
    return np.asarray(vectors, dtype=np.float64)


def _least(ours: np.ndarray, theirs: np.ndarray) -> float:
    """Return the least cosine of vectors of the same texts."""
    norms = np.linalg.norm(ours, axis=1) * np.linalg.norm(theirs, axis=1)
    return float(((ours * theirs).sum(axis=1) / norms).min())


def _name(sample: Sample, weights: str) -> str:
    return f"{THEIRS}, {sample.name}, {weights}"


def _parts(setting: Setting, records: Records, encoder: Any, sample: Sample, batch: int) -> None:
    """Record the rate of each part of encoding by itself."""
    tokens = list(encoder.tokenise(sample.texts, "doc"))
    parts = {
        "tokenise alone": lambda: list(encoder.tokenise(sample.texts, "doc")),
        "compute alone": partial(compute, encoder, by_length(tokens, batch)),
        "compute and hand to the host": partial(
            encoder.each, tokens, "doc", batch, lambda numbers, arriving: arriving()
        ),
    }
    for name, work in parts.items():
        of_card = {"flop": sample.flop, "precision": encoder.device.precision}
        facts = {} if name.startswith("tokenise") else of_card
        rate = len(tokens) / typical(work, setting, 1.5)
        records.add(f"{sample.name}: {name}", rate, "texts/s", **facts)


def compute(encoder: Any, batches: list[list[np.ndarray]]) -> None:
    """Compute the vectors of batches, and leave them on the device."""
    import torch

    with torch.inference_mode():
        for some in batches:
            encoder.forward(some, "doc")
