"""The replica of MS MARCO documents: TREC text whose first two lines are URL and title.

Usage: `write(home)`. Must not know how anything reads it.
"""

import random
import re
from itertools import islice
from pathlib import Path

from replicas import marco, packing
from replicas.truth import Replica, places

NAME = "msmarco-document"
LONG = 25  # every so many docs one has several thousand words


def write(home: Path) -> Replica:
    """Write the downloads of msmarco-document into a home of ir_datasets; return what they hold.

    Each doc holds one of the passages of the passage replica, a long one somewhere in its midst.
    """
    drawn, base = marco.draw(), home / NAME
    docs = _docs(drawn)
    ids = [doc_id for doc_id, _ in docs]
    packing.gz(base / "collection.tsv.gz", "".join(_trec(*doc) for doc in docs))
    for part in ("train", "dev/small"):
        folder = base / part.partition("/")[0]
        packing.gz(folder / "queries.tsv.gz", marco.tsv(drawn.queries[part]))
        packing.gz(folder / "qrels.gz", _qrels(drawn.qrels[part], ids, "0"))
    for year, iteration in (("2019", "Q0"), ("2020", "0")):  # as NIST prints each year's
        track = f"trec-dl-{year}"
        packing.gz(base / track / "queries.tsv.gz", marco.tsv(drawn.queries[track]))
        packing.plain(base / track / "qrels", _qrels(drawn.qrels[track], ids, iteration))
    return _truth(drawn, docs)


def _truth(drawn: marco.Marco, docs: list[tuple[str, dict[str, str]]]) -> Replica:
    splits = {"train": "train", "dev": "dev/small"}
    splits |= {track: track for track in ("trec-dl-2019", "trec-dl-2020")}
    queries = {f"{NAME}/{name}": dict(drawn.queries[part]) for name, part in splits.items()}
    qrels = {
        f"{NAME}/{name}": [(q, docs[p][0], level) for q, p, level in drawn.qrels[part]]
        for name, part in splits.items()
    }
    for track in ("trec-dl-2019", "trec-dl-2020"):
        judged = marco.judged_alone(drawn.queries[track], drawn.qrels[track])
        queries[f"{NAME}/{track}/judged"] = judged
        qrels[f"{NAME}/{track}/judged"] = qrels[f"{NAME}/{track}"]
    return Replica(NAME, docs, queries, qrels)


def _docs(drawn: marco.Marco) -> list[tuple[str, dict[str, str]]]:
    """Return docs in the form that ir_datasets gives them: a body ends with its line break."""
    rng = random.Random(2)
    numbers = rng.sample(range(1, 3_600_000), len(drawn.texts))
    filler = iter([doc["text"] for _, doc in places(seed=2, train_pairs=0, passages=2300).docs])
    answering = {p for rows in drawn.qrels.values() for _, p, level in rows if level}
    spare = [p for p in range(len(drawn.texts)) if p not in answering]
    untitled, empty = set(spare[:3]), set(spare[3:6])
    docs = []
    for i, text in enumerate(drawn.texts):
        lines = [text]
        if i % LONG == 0:
            more = list(islice(filler, rng.randint(50, 120)))
            at = rng.randrange(len(more))
            lines = [*more[:at], text, "", *more[at:]]  # a blank line stands within the body
        title = "" if i in untitled else _title(text)
        body = "" if i in empty else "\n".join(lines) + "\n"
        url = f"http://www.example.com/places/{i}?q={_title(text).replace(' ', '+')}&p=1"
        docs.append((f"D{numbers[i]}", {"url": url, "title": title, "body": body}))
    return docs


def _title(text: str) -> str:
    named = re.search(r"[A-Z]\w+ [A-Z]\w+", text)
    return named.group() if named else text[:30].strip()


def _trec(doc_id: str, doc: dict[str, str]) -> str:
    text = f"{doc['url']}\n{doc['title']}\n{doc['body']}"
    return f"<DOC>\n<DOCNO>{doc_id}</DOCNO>\n<TEXT>\n{text}</TEXT>\n</DOC>\n"


def _qrels(qrels: marco.Qrels, ids: list[str], iteration: str) -> str:
    return "".join(f"{query_id} {iteration} {ids[p]} {level}\n" for query_id, p, level in qrels)
