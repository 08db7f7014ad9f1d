"""What crosses between Python and Java in bulk: hits as JSON, docs and their ids as one text each.

Used by `residuum.lucene.anserini`; no command of its own. A call for each hit costs more than the
search itself. Must not know queries.
"""

from typing import Any

from residuum.lucene import handles
from residuum.lucene.handles import bound, constructor, static, virtual
from residuum.lucene.indexing import LUCENE
from residuum.lucene.jvm import start

SEARCH = "org/apache/lucene/search"  # as method descriptors write it
STRING = "Ljava/lang/String;"
STREAM = "java.util.stream.Stream"
A_STREAM = "Ljava/util/stream/Stream;"


def json_writer() -> Any:
    """Return a handle from hits to JSON: {"scoreDocs": [{"doc": 7, "score": 1.5}]}."""
    mapper = start()("com.fasterxml.jackson.databind.ObjectMapper")()
    ignored = start()("com.fasterxml.jackson.annotation.JsonIgnoreProperties$Value")
    for name in ("TopDocs", "TopFieldDocs", "ScoreDoc", "FieldDoc"):
        override = mapper.configOverride(handles.named(f"{LUCENE}.search.{name}"))
        override.setIgnorals(ignored.forIgnoredProperties("totalHits", "shardIndex", "fields"))
    name = "com.fasterxml.jackson.databind.ObjectMapper"
    return virtual(name, "writeValueAsString", f"(Ljava/lang/Object;){STRING}").bindTo(mapper)


def _parsed() -> Any:
    return static("java.lang.Integer", "parseInt", f"({STRING})I")


def id_of_text(values: Any) -> Any:
    """Return a handle from a Lucene doc, written in digits, to its doc_id."""
    owner, ref = f"{LUCENE}.index.BinaryDocValues", "org/apache/lucene/util/BytesRef"
    moved = virtual(owner, "advanceExact", "(I)Z").bindTo(values)
    value = virtual(owner, "binaryValue", f"()L{ref};").bindTo(values)
    read = handles.chain(value, virtual(ref.replace("/", "."), "utf8ToString", f"(){STRING}"))
    kept = handles.ignoring_argument(read, start()("java.lang.Integer").TYPE)
    return handles.chain(_parsed(), handles.where(moved, kept, kept))


def docs_of_text() -> Any:
    """Return a handle from Lucene docs, written in digits, to hits with the score 0."""
    scored = bound(
        constructor(f"{LUCENE}.search.ScoreDoc", "(IF)V"), 1, start()("java.lang.Float")(0.0)
    )
    split = virtual(
        "java.util.regex.Pattern", "splitAsStream", f"(Ljava/lang/CharSequence;){A_STREAM}"
    )
    space = start()("java.util.regex.Pattern").compile(" ")
    mapped = virtual(STREAM, "map", f"(Ljava/util/function/Function;){A_STREAM}")
    made = handles.function(handles.chain(_parsed(), scored))
    listed = virtual(STREAM, "toArray", "(Ljava/util/function/IntFunction;)[Ljava/lang/Object;")
    array = handles.array_of(f"{LUCENE}.search.ScoreDoc")
    of_length = handles.implementation("java.util.function.IntFunction", array)
    return handles.chain(
        split.bindTo(space), bound(mapped, 1, made), bound(listed, 1, of_length), _hits()
    )


def _hits() -> Any:
    """Return a handle from ScoreDocs to TopDocs."""
    made = constructor(f"{LUCENE}.search.TopDocs", f"(L{SEARCH}/TotalHits;[L{SEARCH}/ScoreDoc;)V")
    exact = start()(f"{LUCENE}.search.TotalHits$Relation").EQUAL_TO
    return bound(made, 0, start()(f"{LUCENE}.search.TotalHits")(0, exact))
