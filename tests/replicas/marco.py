"""What both MS MARCO replicas share: passages, queries by file and judgements, with numeric ids.

Usage: `draw()`. Passages and documents of MS MARCO have the queries in common, and so have their
replicas. Must not know the layout of either.
"""

import random
from typing import NamedTuple

from replicas.truth import places

Queries = list[tuple[str, str]]
Qrels = list[tuple[str, int, int]]
LISTED, JUDGED = 10, 8  # a Deep Learning track lists more queries than are judged


class Marco(NamedTuple):
    """Texts by position; queries and (query_id, position, relevance) by the name of their files."""

    texts: list[str]
    queries: dict[str, Queries]
    qrels: dict[str, Qrels]


def draw() -> Marco:
    """Return 600 passages, 640 train, 45 dev (30 of them small) and 10 + 10 track queries."""
    source = places(train_pairs=640)
    position = {doc_id: i for i, (doc_id, _) in enumerate(source.docs)}
    requested = [query_id for queries in source.queries.values() for query_id, _ in queries]
    numbers = map(str, random.Random(1).sample(range(1, 1_200_000), len(requested)))
    number = dict(zip(requested, numbers, strict=True))
    queries = {s: [(number[q], text) for q, text in source.queries[s]] for s in source.queries}
    qrels = {
        s: [(number[q], position[doc], grade) for q, doc, grade in source.qrels[s]]
        for s in source.qrels
    }
    return Marco([doc["text"] for _, doc in source.docs], *_filed(queries, qrels))


def _filed(queries: dict[str, Queries], qrels: dict[str, Qrels]) -> tuple[dict, dict]:
    eval_, dev, judged = queries["tune"], queries["dev"], queries["judged"]
    parts = {
        "train": (queries["train"], queries["train"]),
        "dev": (dev, dev),
        "dev/small": (dev[:30], dev[:30]),
        "eval": (eval_, []),
        "eval/small": (eval_[:LISTED], []),
        "trec-dl-2019": (judged[:LISTED], judged[:JUDGED]),
        "trec-dl-2020": (judged[LISTED:], judged[LISTED : LISTED + JUDGED]),
    }
    every = [row for split in qrels.values() for row in split]
    known = {name: {q for q, _ in some} for name, (_, some) in parts.items()}
    return (
        {name: listed for name, (listed, _) in parts.items()},
        {name: [row for row in every if row[0] in known[name]] for name in parts},
    )


def triples(drawn: Marco) -> list[tuple[str, str, str]]:
    """Return two training triples for each train pair, all in a random order: ids as texts."""
    rng, size = random.Random(2), len(drawn.texts)
    rows = [
        (query_id, str(positive), str((positive + rng.randrange(1, size)) % size))
        for query_id, positive, _ in drawn.qrels["train"]
        for _ in range(2)
    ]
    return rng.sample(rows, len(rows))


def judged_alone(queries: Queries, qrels: Qrels) -> dict[str, str]:
    """Return the queries that have judgements, as ir_datasets' /judged has them."""
    known = {query_id for query_id, *_ in qrels}
    return {query_id: text for query_id, text in queries if query_id in known}


def tsv(queries: Queries) -> str:
    """Return queries as query_id, tab, text."""
    return "".join(f"{query_id}\t{text}\n" for query_id, text in queries)
