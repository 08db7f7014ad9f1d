"""One small collection of one's own, laid out as BEIR, MS MARCO, TREC or tables have it.

Usage: `LAYOUTS["beir"](home)` writes the files below `home` and returns source and split.
"""

import gzip
import json

import polars as pl

DOCS = [  # doc_id, title, body
    ("007", "Cats", "cats sit on mats in Zürich"),
    ("NA", "", "dogs bark"),
    ("d3", "Cats and dogs", "cats and dogs of the town sleep"),
]
QUERIES = [("01", "cats"), ("null", "dogs of the town")]
QRELS = [("01", "007", 2), ("01", "NA", 0), ("null", "d3", 1), ("null", "gone", 1)]


def write_beir(folder, docs, queries, qrels):
    """Write docs, queries and the qrels of each split as BEIR has them."""
    (folder / "qrels").mkdir(parents=True)
    records = [{"_id": i, **({"title": t} if t else {}), "text": b} for i, t, b in docs]
    texts = [{"_id": i, "text": t} for i, t in queries]
    for name, of in (("corpus.jsonl", records), ("queries.jsonl", texts)):
        _write(folder / name, [json.dumps(record, ensure_ascii=False) for record in of])
    for split, rows in qrels.items():
        lines = ["\t".join(map(str, row)) for row in (("query-id", "corpus-id", "score"), *rows)]
        _write(folder / "qrels" / f"{split}.tsv", lines)


def beir(home, packed=False):
    folder = home / "mine"
    write_beir(folder, DOCS, [("9", "a query of another split"), *QUERIES], {"test": QRELS})
    qrels = folder / "qrels" / "test.tsv"
    qrels.write_bytes(qrels.read_bytes().replace(b"\n", b"\r\n"))
    for path in folder.glob("*.jsonl") if packed else ():
        (folder / f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    return {"kind": "beir", "folder": "mine"}, {}


def msmarco(home):
    folder = home / "mine"
    folder.mkdir(parents=True)
    _write(folder / "collection.tsv", ["\t".join(doc) for doc in DOCS])
    _write(folder / "queries.test.tsv", ["\t".join(query) for query in QUERIES])
    _write(folder / "qrels.test.tsv", [f"{q}\t0\t{d}\t{r}" for q, d, r in QRELS])
    columns, fields = ["doc_id", "title", "text"], ["title", "text"]
    return {"kind": "msmarco", "folder": "mine", "columns": columns, "text_fields": fields}, {}


def trec(home):
    folder = home / "mine"
    (folder / "docs" / "a").mkdir(parents=True)
    texts = [
        f"<DOC>\n<DOCNO> {doc_id} </DOCNO>\n<HEADLINE>\n{title}\n</HEADLINE>\n<FLAG>x</FLAG>\n"
        f"<TEXT>\n<P>{body}</P>\n</TEXT>\n</DOC>\n"
        for doc_id, title, body in DOCS
    ]
    (folder / "docs" / "a" / "one.gz").write_bytes(gzip.compress("".join(texts[:2]).encode()))
    (folder / "docs" / "two").write_text(texts[2].replace("\n", ""))
    (folder / "docs" / ".hidden").write_text("no doc")
    topics = [
        f"<top>\n\n<num> Number: {i}\n<title> Topic: {t}\n\n<desc> Description:\nWhat of {t}?\n\n"
        f"<narr> Narrative:\nAll.\n\n</top>\n"
        for i, t in QUERIES
    ]
    (folder / "topics.txt").write_text("\n".join(topics))
    _write(folder / "qrels.txt", [f"{q} 0 {d} {r}" for q, d, r in QRELS])
    split = {"queries": "mine/topics.txt", "qrels": "mine/qrels.txt"}
    return {"kind": "trec", "docs": "mine/docs"}, split


def jsonl(home):
    folder = home / "mine"
    folder.mkdir(parents=True)
    docs = [{"doc_id": i, "title": t, "text": b} for i, t, b in DOCS]
    _write(folder / "docs.jsonl", [json.dumps(doc) for doc in docs])
    _write(folder / "queries.tsv", ["\t".join(query) for query in QUERIES])
    _write(folder / "qrels.txt", [f"{q} 0 {d} {r}" for q, d, r in QRELS])
    split = {"queries": "mine/queries.tsv", "qrels": "mine/qrels.txt"}
    return _files("docs.jsonl"), split


def csv(home):
    folder = home / "mine"
    folder.mkdir(parents=True)
    _frame(DOCS, ["docno", "title", "text"]).write_csv(folder / "docs.csv")
    _frame(QUERIES, ["query_id", "text"]).write_csv(folder / "queries.csv")
    _frame(QRELS, ["query_id", "docno", "label"]).write_csv(folder / "qrels.csv")
    split = {"queries": "mine/queries.csv", "qrels": "mine/qrels.csv"}
    return _files("docs.csv", names={"docno": "doc_id", "label": "relevance"}), split


def parquet(home):
    folder = home / "mine"
    (folder / "corpus").mkdir(parents=True)
    docs = _frame(DOCS, ["_id", "title", "text"])
    docs[:2].write_parquet(folder / "corpus" / "corpus-00000-of-00002.parquet")
    docs[2:].write_parquet(folder / "corpus" / "corpus-00001-of-00002.parquet")
    _frame(QUERIES, ["_id", "text"]).write_parquet(folder / "queries.parquet")
    qrels = _frame(QRELS, ["query-id", "corpus-id", "score"])
    qrels.with_columns(pl.col("score").cast(pl.Float64)).write_parquet(folder / "qrels.parquet")
    split = {"queries": "mine/queries.parquet", "qrels": "mine/qrels.parquet"}
    return _files("corpus"), split


def _files(corpus, **more):
    source = {"kind": "files", "corpus": f"mine/{corpus}", "text_fields": ["title", "text"]}
    return {**source, **more}


def _frame(rows, columns):
    return pl.DataFrame(rows, columns, orient="row")


def _write(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines))


LAYOUTS = {f.__name__: f for f in (jsonl, csv, parquet, beir, msmarco, trec)}


def pinned_by_hand(folder, monkeypatch, text):
    """Write a collection in BEIR's layout and an entry of it; return the entry's path."""
    monkeypatch.setenv("RESIDUUM_DATA", str(folder / "home"))
    beir(folder / "home")
    path = folder / "config" / "datasets" / "mine.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return path
