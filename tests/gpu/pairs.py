"""Step 6: pairs that a cross-encoder scores a second, from text, beside sentence-transformers."""

from functools import partial
from typing import Any

import numpy as np

from gpu.encoding import THEIRS, WEIGHTS
from gpu.records import Records
from gpu.setting import AROUND, Setting
from gpu.timing import record_profile, typical
from residuum.config.schema.reading import Reading
from residuum.neural.crossencoder import CrossEncoder, Pair
from residuum.neural.pretrained import Source

DEPTH = 100  # docs of a query
QUERY = 10  # tokens
SPECIALS = 3  # [CLS] query [SEP] doc [SEP]


def measure(setting: Setting, records: Records) -> None:
    """Record rates by batch; the FLOP are those of pairs without padding."""
    count = setting.pick(16_384, 24)
    natural, device = setting.natural(count), setting.chosen()
    docs = setting.texts(natural, 6)
    queries = setting.texts(np.full(-(-count // DEPTH), QUERY + AROUND), 7)
    texts = [(queries[number // DEPTH], doc) for number, doc in enumerate(docs)]
    lengths = natural - AROUND + QUERY + SPECIALS
    folder = setting.scratch / "cross"
    folder.mkdir()
    reading = Reading(query_length=QUERY, length=setting.longest + QUERY + SPECIALS)
    CrossEncoder(Source(str(setting.backbone()), new_head=True), reading, device).save(folder)
    ours = CrossEncoder.load(folder, device)
    first, *others = setting.pick((256, 64, 512), (8, 4))
    beside = f"{THEIRS}, batch {first}, {WEIGHTS[device.precision]}"
    with records.part(beside):
        _theirs(setting, records, folder, texts, first, beside)
    facts = {"flop": setting.shape.flop(lengths) / count, "precision": device.precision}
    for batch in (first, *others):
        _score(ours, texts, batch)  # shapes that come again are recorded
        rate = count / typical(partial(_score, ours, texts, batch), setting, 2.5)
        records.add(f"natural lengths, batch {batch}", rate, "pairs/s", beside=beside, **facts)
    work = partial(ours.score, _pairs(ours, texts[:first]), first)
    record_profile(setting, records, f"{first} pairs", work)


def _pairs(model: Any, texts: list[tuple[str, str]]) -> list[Pair]:
    """Return tokenised pairs; each query is tokenised once."""
    own = list(dict.fromkeys(query for query, _ in texts))
    queries = dict(zip(own, model.tokenise(own, "query"), strict=True))
    docs = model.tokenise([doc for _, doc in texts], "doc")
    return [Pair(queries[query], doc) for (query, _), doc in zip(texts, docs, strict=True)]


def _score(model: Any, texts: list[tuple[str, str]], batch: int) -> np.ndarray:
    return model.score(_pairs(model, texts), batch)


def _theirs(
    setting: Setting, records: Records, folder: Any, texts: Any, batch: int, name: str
) -> None:
    """Record the rate of sentence-transformers on the same checkpoint."""
    import torch
    from sentence_transformers import CrossEncoder as Theirs

    how = {"dtype": getattr(torch, name.rpartition(" ")[2])}
    model = Theirs(str(folder), device=setting.device, model_kwargs=how)
    bound = {"batch_size": batch, "show_progress_bar": False}
    model.predict(texts[: 2 * batch], **bound)
    rate = len(texts) / typical(lambda: model.predict(texts, **bound), setting, 2.5)
    records.add(name, rate, "pairs/s")
