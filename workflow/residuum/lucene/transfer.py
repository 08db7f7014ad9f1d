"""What crosses between Python and Java in bulk, as text: hits, docs and their ids.

Used by `residuum.lucene.anserini`; no command of its own. A call for each hit costs more than the
search itself. Must not know queries.
"""

import polars as pl

from residuum.lucene.handles import (
    array_of,
    bound,
    boxed,
    chain,
    constructor,
    field,
    function,
    static,
    virtual,
    without_argument,
)
from residuum.lucene.indexing import LUCENE, SEARCH
from residuum.lucene.jvm import JavaObject, java

STRING = "Ljava/lang/String;"
STREAM = "Ljava/util/stream/Stream;"
HITS = {"query_id": pl.String, "doc": pl.Int32, "score": pl.Float32}
HIT = r"doc=(?<doc>\d+) score=(?<score>[^ ,\]]+)"  # Lucene's ScoreDoc.toString


def written() -> JavaObject:
    """Return a handle from hits to a text that `read` takes."""
    text = static("java.util.Arrays", "toString", f"([Ljava/lang/Object;){STRING}")
    return chain(field(f"{LUCENE}.search.TopDocs", "scoreDocs"), text)


def read(query_ids: list[str], texts: list[str]) -> pl.DataFrame:
    """Return query_id, doc (Lucene's number) and score of the hits that `written` wrote."""
    table = pl.DataFrame({"query_id": query_ids, "hit": texts}, schema_overrides={"hit": pl.String})
    hits = table.with_columns(pl.col("hit").str.extract_all(HIT)).explode("hit").drop_nulls()
    parts = hits.with_columns(pl.col("hit").str.extract_groups(HIT)).unnest("hit")
    return parts.select(pl.col(name).cast(kind) for name, kind in HITS.items())


def _parsed() -> JavaObject:
    return static("java.lang.Integer", "parseInt", f"({STRING})I")


def id_of_text(values: JavaObject) -> JavaObject:
    """Return a handle from a Lucene doc, written in digits, to its doc_id; docs must rise."""
    owner, ref = f"{LUCENE}.index.BinaryDocValues", f"{LUCENE}.util.BytesRef"
    moved = virtual(owner, "advanceExact", "(I)Z").bindTo(values)
    value = virtual(owner, "binaryValue", f"()L{ref.replace('.', '/')};").bindTo(values)
    doc_id = chain(value, virtual(ref, "utf8ToString", f"(){STRING}"))
    return chain(_parsed(), moved, without_argument(doc_id, "Boolean"))


def docs_of_text() -> JavaObject:
    """Return a handle from Lucene docs, written in digits, to hits with the score 0."""
    score_doc, stream = f"{LUCENE}.search.ScoreDoc", "java.util.stream.Stream"
    split = virtual(
        "java.util.regex.Pattern", "splitAsStream", f"(Ljava/lang/CharSequence;){STREAM}"
    )
    mapped = virtual(stream, "map", f"(Ljava/util/function/Function;){STREAM}")
    scored = bound(constructor(score_doc, "(IF)V"), 1, boxed("Float", 0.0))
    listed = virtual(stream, "toArray", "(Ljava/util/function/IntFunction;)[Ljava/lang/Object;")
    hits = constructor(f"{LUCENE}.search.TopDocs", f"(L{SEARCH}/TotalHits;[L{SEARCH}/ScoreDoc;)V")
    exact = java(f"{LUCENE}.search.TotalHits$Relation").EQUAL_TO
    return chain(
        split.bindTo(java("java.util.regex.Pattern").compile(" ")),
        bound(mapped, 1, function(chain(_parsed(), scored))),
        bound(listed, 1, function(array_of(score_doc), "function.IntFunction")),
        bound(hits, 0, java(f"{LUCENE}.search.TotalHits")(0, exact)),
    )
