"""The replica of NFCorpus: one tar with docs, queries by title and in full, graded links.

Usage: `write(home)`. Must not know how anything reads it.
"""

from pathlib import Path

from replicas import packing
from replicas.truth import Replica, places

NAME = "nfcorpus"
SPLITS = {"train": "train", "dev": "dev", "test": "judged"}


def write(home: Path) -> Replica:
    """Write nfcorpus' download into a home of ir_datasets; return what it holds.

    Links are of level 1 to 3, as there; a query that has but one, has it at level 3.
    """
    source = places(seed=6, dev=120)
    med = {doc_id: f"MED-{i + 10}" for i, (doc_id, _) in enumerate(source.docs)}
    docs = [(med[doc_id], _fields(med[doc_id], doc["text"])) for doc_id, doc in source.docs]
    requested = [query_id for split in SPLITS.values() for query_id, _ in source.queries[split]]
    plain = {query_id: f"PLAIN-{i + 2}" for i, query_id in enumerate(requested)}
    queries = {
        s: {plain[q]: text for q, text in source.queries[name]} for s, name in SPLITS.items()
    }
    links = {
        s: [(plain[q], med[d], level if s == "test" else 3) for q, d, level in source.qrels[name]]
        for s, name in SPLITS.items()
    }
    links = {s: [row for row in rows if row[2]] for s, rows in links.items()}
    packing.tar_gz(home / NAME / "nfcorpus.tar.gz", _members(docs, queries, links))
    named = {f"{NAME}/{s}": result for s, result in queries.items()}
    return Replica(NAME, docs, named, {f"{NAME}/{s}": rows for s, rows in links.items()})


def full(title: str) -> str:
    """The text of a query in full, whose title is searched by."""
    return f"{title} and what the page says below it"


def _fields(doc_id: str, text: str) -> dict[str, str]:
    title = " ".join(text.split()[:8]).rstrip(".,:")
    return {"url": f"http://www.example.org/{doc_id}", "title": title, "abstract": text}


def _members(docs: list, queries: dict, links: dict) -> dict[str, str]:
    members = {"raw/doc_dump.txt": "".join("\t".join([i, *d.values()]) + "\n" for i, d in docs)}
    for split, result in queries.items():
        members[f"{split}.titles.queries"] = "".join(f"{q}\t{t}\n" for q, t in result.items())
        members[f"{split}.all.queries"] = "".join(f"{q}\t{full(t)}\n" for q, t in result.items())
        rows = (f"{q}\t0\t{d}\t{level}\n" for q, d, level in links[split])
        members[f"{split}.3-2-1.qrel"] = "".join(rows)
    return {f"nfcorpus/{name}": text for name, text in members.items()}
