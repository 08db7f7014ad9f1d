"""Step 7: exact search by brute force on the card, beside FAISS on the CPU."""

from functools import partial

import numpy as np

from gpu.records import Records
from gpu.setting import Setting
from gpu.timing import typical

DIMENSIONS = 768
BLOCK = 50_000  # docs multiplied at once


def measure(setting: Setting, records: Records) -> None:
    """Record products of a query and a doc a second, with the best k of each query."""
    import faiss
    import torch

    setting.chosen("fp32")
    docs, queries, k = setting.pick((1_000_000, 6980, 1064), (2000, 20, 100))
    few = min(docs, setting.pick(100_000, 1000))
    generator = torch.Generator(setting.device).manual_seed(1)
    vectors, asked = (
        torch.randn(rows, DIMENSIONS, generator=generator, device=setting.device)
        for rows in (docs, queries)
    )
    theirs = f"FAISS, {setting.threads} threads, {few:,} docs"
    _best(asked, vectors[:few], k)
    seconds = typical(partial(_best, asked, vectors, k), setting, 3.0)
    facts = {"flop": 2e9 * DIMENSIONS, "precision": "fp32", "beside": theirs}
    name = f"torch, {docs:,} docs, {queries:,} queries, k {k:,}"
    records.add(f"{name}: whole", seconds, "s")
    records.add(name, queries * docs / seconds / 1e9, "G products/s", **facts)
    faiss.omp_set_num_threads(setting.threads)
    on_cpu, of_cpu, found = vectors[:few].cpu().numpy(), asked.cpu().numpy(), []
    seconds = typical(
        lambda: found.append(faiss.knn(of_cpu, on_cpu, k, faiss.METRIC_INNER_PRODUCT)), setting, 0.0
    )
    records.add(theirs, queries * few / seconds / 1e9, "G products/s")
    own = [{*row} for row in _best(asked, vectors[:few], k)[1].tolist()]
    shared = [len(row & {*other}) / k for row, other in zip(own, found[0][1], strict=True)]
    records.add("hits that both share", float(np.mean(shared)))


def _best(queries: object, docs: object, k: int) -> tuple[object, object]:
    """Return scores and rows of the best k docs of each query, by blocks of docs."""
    import torch

    scores = rows = None
    for first in range(0, len(docs), BLOCK):
        made, own = (queries @ docs[first : first + BLOCK].T).topk(min(k, len(docs) - first))
        own += first
        if scores is not None:
            made, own = torch.cat([scores, made], 1), torch.cat([rows, own], 1)
            made, place = made.topk(k)
            own = own.gather(1, place)
        scores, rows = made, own
    return scores, rows
