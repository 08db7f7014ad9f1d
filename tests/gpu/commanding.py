"""Step 8: `residuum.encode docs` by its command: wall seconds, and the part that is computing."""

import time
from functools import partial

from gpu import product
from gpu.encoding import compute
from gpu.launching import launch
from gpu.records import Records
from gpu.setting import Setting, by_length
from gpu.timing import typical

LIMIT = 35.0  # seconds of the command


def measure(setting: Setting, records: Records) -> None:
    """Record the rate of the command, its start included, and of computing alone."""
    docs, batch = setting.pick((50_000, 512), (40, 8))
    corpus = setting.corpus(setting.scratch / "passages", docs)
    output = setting.scratch / "vectors"
    words = product.encode_words(setting, corpus, batch, output)
    start = time.monotonic()
    if status := launch(words, setting.log, setting.forks).wait(LIMIT):
        raise RuntimeError(f"the command ended with status {status}; the log says why")
    wall = time.monotonic() - start
    natural, device = setting.natural(docs), setting.chosen()
    flop = setting.shape.flop(natural) / docs
    facts = {"flop": flop, "precision": device.precision}
    records.add(f"{docs:,} docs by the command, its start included", docs / wall, "docs/s", **facts)
    records.add("wall seconds", wall, "s")
    if (said := product.seconds_said(setting.log, output)) is not None:
        records.add("the batches alone", said, "s")
    encoder = next(iter(product.encoders(setting, device).values()))
    some = setting.pick(16_384, docs)
    tokens = list(encoder.tokenise(setting.texts(natural, 2)[:some], "doc"))
    compute(encoder, by_length(tokens[: 2 * batch], batch))
    rate = some / typical(partial(compute, encoder, by_length(tokens, batch)), setting, 2.0)
    records.add("computing alone", rate, "docs/s", **facts)
    records.add("part of the wall that is computing", docs / rate / wall)
