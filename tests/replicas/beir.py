"""Replicas of BEIR's five small collections: a zip each, with JSON lines and TSVs of judgements.

Usage: `write(home)`. In ArguAna each query is a doc and has its id. Queries of FiQA have numbers,
which docs have, too. Must not know how anything reads them.
"""

import io
import json
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from replicas import packing
from replicas.truth import Replica, places
from residuum.collections.worlds import Generated

SMALL = {"entities": 14, "passages": 90, "listings": 5, "stubs": 5, "train_pairs": 20, "tune": 0,
         "dev": 8, "judged": 8}  # fmt: skip
NAMES = {"train": "train", "dev": "dev", "test": "judged"}  # split: queries of what is generated
SPLITS = {
    "nfcorpus": ["train", "dev", "test"],
    "scifact": ["train", "test"],
    "arguana": ["test"],
    "fiqa": ["train", "dev", "test"],
    "scidocs": ["test"],
}
PAPER = {"authors": ["1"], "year": 2015, "cited_by": ["a"], "references": ["b", "c"]}
DATE = (1980, 1, 1, 0, 0, 0)
Judged = list[tuple[str, str, int]]


def write(home: Path) -> list[Replica]:
    """Write the downloads of all five into a home of ir_datasets; return what they hold."""
    return [_write(home, name, seed) for seed, name in enumerate(SPLITS, start=21)]


def write_nano(home: Path) -> list[Replica]:
    """Write NanoBEIR's samples of the five: a Parquet file each of docs, queries and pairs."""
    return [_write_nano(home, name, seed) for seed, name in enumerate(SPLITS, start=31)]


def _write_nano(home: Path, name: str, seed: int) -> Replica:
    import polars as pl

    source, folder = places(**(SMALL | {"seed": seed})), home / "nano-beir" / name
    doc_ids = {doc_id: _doc_id(name, i) for i, (doc_id, _) in enumerate(source.docs)}
    docs = [(doc_ids[doc_id], {"text": doc["text"]}) for doc_id, doc in source.docs]
    queries, judged = _split(source, name, "test", doc_ids, 0)
    qrels = [(query_id, doc_id, 1) for query_id, doc_id, level in judged if level]
    folder.mkdir(parents=True)
    texts = {"corpus": [(i, doc["text"]) for i, doc in docs], "queries": [*queries.items()]}
    for part, rows in texts.items():
        table = pl.DataFrame(rows, schema=["_id", "text"], orient="row")
        table.write_parquet(folder / f"{part}.parquet")
    pairs = pl.DataFrame([row[:2] for row in qrels], schema=["query-id", "corpus-id"], orient="row")
    pairs.write_parquet(folder / "qrels.parquet")
    named = f"nano-beir/{name}"
    return Replica(named, docs, {named: queries}, {named: qrels})


def _write(home: Path, name: str, seed: int) -> Replica:
    source = places(**(SMALL | {"seed": seed}))
    doc_ids = {doc_id: _doc_id(name, i) for i, (doc_id, _) in enumerate(source.docs)}
    docs = [(doc_ids[i], _fields(name, doc_ids[i], doc["text"])) for i, doc in source.docs]
    splits, texts = {}, dict[str, str]()
    for split in SPLITS[name]:
        queries, qrels = _split(source, name, split, doc_ids, len(texts))
        splits[split] = queries, qrels
        texts |= queries
    corpus = [{"_id": i, "title": doc.get("title", ""), "text": doc["text"],
               "metadata": _metadata(doc)} for i, doc in docs]  # fmt: skip
    metadata = _query_metadata(name)
    asked = [{"_id": i, "text": text, "metadata": metadata(i)} for i, text in texts.items()]
    members = {"corpus.jsonl": _lines(corpus), "queries.jsonl": _lines(asked)}
    for split, (_, qrels) in splits.items():
        rows = "".join("\t".join(map(str, row)) + "\n" for row in qrels)
        members[f"qrels/{split}.tsv"] = f"query-id\tcorpus-id\tscore\n{rows}"
    packed = _zip({f"{name}/{member}": text for member, text in members.items()})
    packing.plain(home / "beir" / name / "source.zip", packed)
    alone = len(splits) == 1
    at = {split: f"beir/{name}" if alone else f"beir/{name}/{split}" for split in splits}
    return Replica(
        f"beir/{name}",
        docs,
        {at[split]: queries for split, (queries, _) in splits.items()},
        {at[split]: qrels for split, (_, qrels) in splits.items()},
    )


def _doc_id(name: str, number: int) -> str:
    forms = {"nfcorpus": f"MED-{number + 10}", "arguana": f"test-place-con{number:03}a"}
    return forms.get(name, str(3 * number))


def _fields(name: str, doc_id: str, text: str) -> dict[str, Any]:
    """Return the fields of a doc: FiQA has no titles, and some collections have more."""
    if name == "fiqa":
        return {"text": text}
    title = " ".join(text.split()[:8]).rstrip(".,:")
    more = {"nfcorpus": {"url": f"http://www.example.org/{doc_id}"}, "scidocs": PAPER}
    return {"text": text, "title": title, **more.get(name, {})}


def _metadata(doc: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in doc.items() if key not in ("text", "title")}


def _query_metadata(name: str) -> Callable[[str], dict[str, Any]]:
    if name == "nfcorpus":
        return lambda query_id: {"url": f"http://www.example.org/{query_id}"}
    return lambda query_id: PAPER if name == "scidocs" else {}


def _split(
    source: Generated, name: str, split: str, doc_ids: Mapping[str, str], before: int
) -> tuple[dict[str, str], Judged]:
    """Return queries and judgements of a split, behind `before` queries of other splits."""
    if name == "arguana":
        return _arguments(source, doc_ids)
    return _searches(source, name, split, doc_ids, before)


def _searches(
    source: Generated, name: str, split: str, doc_ids: Mapping[str, str], before: int
) -> tuple[dict[str, str], Judged]:
    """Return queries and judgements of a split; SCIDOCS judges docs that are not relevant, too."""
    form = "PLAIN-{}" if name == "nfcorpus" else "{}"
    named = source.queries[NAMES[split]]
    ids = {query_id: form.format(before + n) for n, (query_id, _) in enumerate(named)}
    levels = 2 if name == "nfcorpus" else 1
    rows = [(ids[q], doc_ids[d], min(level, levels)) for q, d, level in source.qrels[NAMES[split]]]
    kept = [row for row in rows if row[2] > 0 or name == "scidocs"]
    judged = {query_id for query_id, _, level in kept if level}
    texts = {ids[query_id]: text for query_id, text in named if ids[query_id] in judged}
    return texts, [row for row in kept if row[0] in judged]


def _arguments(source: Generated, doc_ids: Mapping[str, str]) -> tuple[dict[str, str], Judged]:
    """Return docs as queries, with another doc that is relevant to the same search."""
    docs, relevant = dict(source.docs), dict[str, list[str]]()
    for query_id, doc_id, level in source.qrels["judged"]:
        if level:
            relevant.setdefault(query_id, []).append(doc_id)
    pairs = {found[0]: found[1] for found in relevant.values() if len(found) > 1}
    texts = {doc_ids[doc_id]: docs[doc_id]["text"] for doc_id in pairs}
    return texts, [(doc_ids[one], doc_ids[other], 1) for one, other in pairs.items()]


def _lines(records: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def _zip(members: Mapping[str, str]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            archive.writestr(zipfile.ZipInfo(name, DATE), text)
    return buffer.getvalue()
