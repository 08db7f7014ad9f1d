"""The replica of MS MARCO passages: tars of TSVs with their twice encoded characters, DL qrels.

Usage: `write(home)`. Must not know how anything reads it.
"""

import json
from pathlib import Path

from replicas import marco, packing
from replicas.truth import Replica

NAME = "msmarco-passage"
# Beyond U+00FF, below it, and one whose second UTF-8 byte is U+0085 in Latin-1, a line end to
# str.splitlines: all of them stand in the official file once and twice encoded, side by side.
ODD = "the café’s “naïve” façade, 20 °C, €5, Ångström, Łódź, 日本 and 😀"  # noqa: RUF001


def write(home: Path) -> Replica:
    """Write the downloads of msmarco-passage into a home of ir_datasets; return what they hold.

    The queries of trec-dl-2019 and the training triples are written as what ir_datasets makes of
    them: it keeps no download, so there is no other place.
    """
    drawn, base = marco.draw(), home / NAME
    texts = [_ornate(i, text) for i, text in enumerate(drawn.texts)]
    collection = "".join(f"{i}\t{mangled(i, text)}\n" for i, text in enumerate(texts))
    queries = {name: marco.tsv(rows) for name, rows in drawn.queries.items()}
    small = {
        "collection.tsv": collection,
        "qrels.dev.small.tsv": _tabbed(drawn.qrels["dev/small"]),
        "qrels.train.tsv": _tabbed(drawn.qrels["train"]),
        "queries.dev.small.tsv": queries["dev/small"],
        "queries.dev.tsv": queries["dev"],
        "queries.eval.small.tsv": queries["eval/small"],
        "queries.train.tsv": queries["train"],
    }
    packing.tar_gz(base / "collectionandqueries.tar.gz", small)
    files = {f"queries.{part}.tsv": queries[part] for part in ("dev", "eval", "train")}
    packing.tar_gz(base / "queries.tar.gz", files)
    triples = "".join("\t".join(row) + "\n" for row in marco.triples(drawn))
    packing.plain(base / "train" / "small.triples.qidpid.tsv", triples)
    packing.plain(base / "train" / "qrels", _tabbed(drawn.qrels["train"]))
    packing.plain(base / "dev" / "qrels", _tabbed(drawn.qrels["dev"]))
    packing.plain(base / "trec-dl-2019" / "queries.tsv", queries["trec-dl-2019"])
    packing.gz(base / "trec-dl-2020" / "queries.tsv.gz", queries["trec-dl-2020"])
    for year, iteration in (("2019", "Q0"), ("2020", "0")):  # as NIST prints each year's
        packing.plain(base / f"trec-dl-{year}" / "qrels", _nist(drawn, year, iteration))
    return _truth(drawn, texts)


def write_weights(replica: Replica, data: Path) -> None:
    """Write DeepCT's released weights as its two zips unpack, but for a doc without a word.

    A word's weight is the number of its letters; the docs are in reverse order.
    """
    folder, lines = data / "deepct" / "sample_100_jsonl", []
    for doc_id, fields in replica.docs[:0:-1]:
        words = dict.fromkeys(fields["text"].lower().split())
        contents = " ".join(word for word in words for _ in word)
        lines.append(json.dumps({"id": doc_id, "contents": contents}) + "\n")
    folder.mkdir(parents=True)
    for number, part in enumerate((lines[:200], lines[200:])):
        (folder / f"docs{number:02d}.json").write_text("".join(part), encoding="utf-8")


def _truth(drawn: marco.Marco, texts: list[str]) -> Replica:
    splits = {f"{NAME}/{name}": dict(rows) for name, rows in drawn.queries.items()}
    qrels = {
        f"{NAME}/{name}": [(q, str(p), level) for q, p, level in rows]
        for name, rows in drawn.qrels.items()
        if not name.startswith("eval")
    }
    for year in ("2019", "2020"):
        track = f"trec-dl-{year}"
        judged = marco.judged_alone(drawn.queries[track], drawn.qrels[track])
        splits[f"{NAME}/{track}/judged"] = judged
        qrels[f"{NAME}/{track}/judged"] = qrels[f"{NAME}/{track}"]
    return Replica(NAME, [(str(i), {"text": t}) for i, t in enumerate(texts)], splits, qrels)


def _ornate(position: int, text: str) -> str:
    return f"{text} See {ODD}." if position % 7 == 3 else text


def mangled(position: int, text: str) -> str:
    """Encode every second of the words that are not ASCII twice, in some passages all of them."""
    words, seen = text.split(" "), 0
    for i, word in enumerate(words):
        if not word.isascii():
            seen += 1
            if seen % 2 or position % 2:
                words[i] = word.encode().decode("latin-1")
    return " ".join(words)


def _tabbed(qrels: marco.Qrels) -> str:
    return "".join(f"{query_id}\t0\t{passage}\t{level}\n" for query_id, passage, level in qrels)


def _nist(drawn: marco.Marco, year: str, iteration: str) -> str:
    rows = drawn.qrels[f"trec-dl-{year}"]
    return "".join(f"{query_id} {iteration} {p} {level}\n" for query_id, p, level in rows)
