"""Search an index with Lucene as Anserini sets it up, and score given docs.

Used by `residuum.lexical`, `residuum.rm3` and `residuum.negatives`; no command of its own. A batch
of queries crosses to Java at once, and its hits come back as one text: a call for each hit costs
more than the search itself. Must not know manifests, run files, qrels or systems.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path

import polars as pl

from residuum.artefacts.streams import chunks
from residuum.config.schema.systems import Analysis, Bm25, Rm3
from residuum.lucene import feedback, handles
from residuum.lucene.handles import OBJECT, STRING, bound, boxed, chain, method, objects, static
from residuum.lucene.indexing import (
    CONTENTS,
    ID_FIELD,
    LUCENE,
    analyzer,
    class_name,
    lucene_field,
    open_reader,
)
from residuum.lucene.jvm import JavaObject, cast, java, told

SEARCHER, QUERY = f"{LUCENE}.search.IndexSearcher", f"{LUCENE}.search.Query"
REF = f"{LUCENE}.util.BytesRef"
SLACK = 100  # hits behind the cut-off, among which docs of equal scores mostly end
CHUNK = 256  # queries whose hits wait in memory as text
HITS = pl.Schema({"query_id": pl.String, "doc": pl.Int32, "score": pl.Float32})
SCORES = {"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64}
NAMES = {"doc": pl.Int32, "doc_id": pl.String}


def _class(name: str) -> JavaObject:
    return java(f"{LUCENE}.{name}")


class Searcher:
    """An open index with its BM25, the boosts of its fields where it has some, its threads."""

    def __init__(
        self,
        folder: Path,
        analysis: Analysis,
        bm25: Bm25,
        fields: Mapping[str, float] | None = None,
        threads: int = 1,
    ) -> None:
        self._reader = open_reader(folder)
        self._similarity = _class("search.similarities.BM25Similarity")(bm25.k1, bm25.b)
        self._lucene = _class("search.IndexSearcher")(self._reader)
        self._lucene.setSimilarity(self._similarity)
        self._analyzer = analyzer(analysis)
        self._generator = java("io.anserini.search.query.BagOfWordsQueryGenerator")()
        self._fields = dict(fields or {})
        self._boosts = java("java.util.LinkedHashMap")()
        for name, boost in self._fields.items():
            self._boosts.put(lucene_field(name), boxed("Float", boost))
        self._workers = handles.Workers(threads)

    def parameters(self) -> dict[str, object]:
        """Return what is fixed here and belongs beside a score: classes, fields, ties."""
        return {
            "similarity": class_name(self._similarity),
            "query": class_name(self._generator),
            "analyzer": class_name(self._analyzer),
            "fields": self._fields or CONTENTS,
            "ties": "doc_id",
        }

    def search(
        self, queries: Iterable[tuple[str, str]], k: int, rm3: Rm3 | None = None
    ) -> pl.DataFrame:
        """Return the top `k` docs of each (query_id, text): query_id, doc_id, score.

        Equal scores are cut by doc_id. A query without a hit has no row.
        """
        hits = [pl.DataFrame(schema=SCORES)]
        with told("searching"):
            for chunk in chunks(queries, CHUNK):
                query_ids, texts = map(list, zip(*chunk, strict=True))
                lucene = self._expanded(texts, rm3) if rm3 else self._bags_of_words(texts)
                hits.append(self._top(query_ids, lucene, k))
        return pl.concat(hits)

    def search_grid(
        self, queries: Sequence[tuple[str, str]], grid: Sequence[Rm3], k: int
    ) -> Iterator[tuple[list[str], Rm3, pl.DataFrame]]:
        """Yield (query_ids, setting, their top `k` as `search` returns it), a chunk at a time.

        A chunk's first hits are searched once, and a relevance model serves all its weights.
        """
        depth = max(rm3.feedback_docs for rm3 in grid)
        with told("searching"):
            for chunk in chunks(queries, CHUNK):
                query_ids, texts = map(list, zip(*chunk, strict=True))
                own, docs = self._firsts(texts, depth)
                for sizes, settings in groupby(grid, _sizes):
                    models = self._models(docs, *sizes)
                    for rm3 in settings:
                        lucene = self._interpolated(own, models, rm3)
                        yield query_ids, rm3, self._top(query_ids, lucene, k)

    def _expanded(self, texts: list[str], rm3: Rm3) -> JavaObject:
        own, docs = self._firsts(texts, rm3.feedback_docs)
        return self._interpolated(own, self._models(docs, *_sizes(rm3)), rm3)

    def _firsts(self, texts: list[str], docs: int) -> tuple[JavaObject, JavaObject]:
        """Return what RM3 starts from: each query's own terms, and its first docs."""
        search = chain(self._by_score_and_id(docs), feedback.feedback_docs(self._lucene))
        own = self._workers.map(feedback.own_terms(self._analyzer), objects(texts))
        return own, self._workers.map(search, self._bags_of_words(texts))

    def _models(self, firsts: JavaObject, docs: int, terms: int) -> JavaObject:
        model = feedback.relevance_model(self._analyzer, self._reader, docs, terms)
        return self._workers.map(model, firsts)

    def _interpolated(self, own: JavaObject, models: JavaObject, rm3: Rm3) -> JavaObject:
        return self._workers.map(feedback.expanded(rm3.original_query_weight), own, models)

    def score(self, asked: Iterable[tuple[str, str, Sequence[str]]]) -> pl.DataFrame:
        """Return the BM25 score of each doc in (query_id, text, doc_ids): query_id, doc_id, score.

        A doc that shares no term with the query scores 0; one that is not in the index has no
        row.
        """
        hits = [pl.DataFrame(schema=HITS)]
        with told("scoring"):
            for chunk in chunks(asked, CHUNK):
                queries = objects(self._restricted(text, doc_ids) for _, text, doc_ids in chunk)
                most = max(len(doc_ids) for _, _, doc_ids in chunk)
                hits.append(self._hits([q for q, _, _ in chunk], self._by_score(most), queries))
            return self._with_doc_ids(pl.concat(hits))

    def _restricted(self, text: str, doc_ids: Sequence[str]) -> JavaObject:
        """Return a query that finds the given docs, of which only the words of a text score."""
        made = handles.constructor(REF, "java.lang.CharSequence")
        refs = cast("java.util.Collection", handles.each_word(" ".join(doc_ids), made))
        occur = _class("search.BooleanClause$Occur")
        query = _class("search.BooleanQuery$Builder")()
        query.add(_class("search.TermInSetQuery")(ID_FIELD, refs), occur.FILTER)
        query.add(self._bag_of_words(text), occur.SHOULD)
        return query.build()

    def _bags_of_words(self, texts: Iterable[str]) -> JavaObject:
        return objects(map(self._bag_of_words, texts))

    def _bag_of_words(self, text: str) -> JavaObject:
        named = self._boosts if self._fields else CONTENTS
        return self._generator.buildQuery(named, self._analyzer, text)

    def _top(self, query_ids: list[str], queries: JavaObject, k: int) -> pl.DataFrame:
        """Return query_id, doc_id, score of the top k; equal scores are cut by doc_id.

        To order by doc_id as well costs Lucene twice the time, so that it does so only for a query
        whose docs of the score of hit k go on behind hit k + SLACK.
        """
        hits = self._hits(query_ids, self._by_score(k + SLACK), queries)
        tied = _tied_at(hits, k, k)
        endless = set(_tied_at(hits, k, k + SLACK - 1))
        again = [number for number, query_id in enumerate(query_ids) if query_id in endless]
        some = objects(queries.get(number) for number in again)
        exact = self._hits([query_ids[n] for n in again], self._by_score_and_id(k), some)
        known = hits.filter(~pl.col("query_id").is_in(endless))
        clear = known.filter(~pl.col("query_id").is_in(tied)).group_by("query_id").head(k)
        named = self._with_doc_ids(known.filter(pl.col("query_id").is_in(tied)))
        ordered = named.sort("score", "doc_id", descending=[True, False])
        ordered = ordered.group_by("query_id", maintain_order=True).head(k)
        return pl.concat([self._with_doc_ids(pl.concat([clear, exact])), ordered])

    def _by_score(self, k: int) -> JavaObject:
        """Return a handle from a query to its top k, of which equal scores are cut anyhow."""
        search = method(SEARCHER, "search", f"{LUCENE}.search.TopDocs", QUERY, "int")
        return bound(search.bindTo(self._lucene), 1, boxed("Integer", k))

    def _by_score_and_id(self, k: int) -> JavaObject:
        """Return a handle from a query to its top k, by score and then by doc_id."""
        hits, sort = f"{LUCENE}.search.TopFieldDocs", f"{LUCENE}.search.Sort"
        field = _class("search.SortField")
        by_id = field(ID_FIELD, _class("search.SortField$Type").STRING_VAL)
        order = _class("search.Sort")(field.FIELD_SCORE, by_id)
        search = method(SEARCHER, "search", hits, QUERY, "int", sort, "boolean")
        given = boxed("Integer", k), order, boxed("Boolean", True)
        return bound(search.bindTo(self._lucene), 1, *given)

    def _hits(self, query_ids: list[str], search: JavaObject, queries: JavaObject) -> pl.DataFrame:
        """Search for each of Java's queries: query_id, doc (Lucene's number), score.

        Lucene writes a list of hits as `[doc=7 score=1.5 shardIndex=-1, doc=...]`.
        """
        written = static("java.util.Arrays", "toString", STRING, f"{OBJECT}[]")
        hits = handles.field(f"{LUCENE}.search.TopDocs", "scoreDocs")
        lines = handles.texts(self._workers.map(chain(search, hits, written), queries))
        table = pl.DataFrame({"query_id": query_ids, "hit": pl.Series(lines, dtype=pl.String)})
        each = table.with_columns(pl.col("hit").str.split("doc=").list.slice(1)).explode("hit")
        parts = pl.col("hit").str.split_exact(" score=", 1).struct
        score = parts.field("field_1").str.split_exact(" ", 1).struct.field("field_0")
        found = each.drop_nulls().select("query_id", doc=parts.field("field_0"), score=score)
        return found.select(pl.col(name).cast(kind) for name, kind in HITS.items())

    def _with_doc_ids(self, hits: pl.DataFrame) -> pl.DataFrame:
        """Return query_id, doc_id and score of hits in their order."""
        named = hits.join(self._names(hits["doc"].unique().sort()), on="doc", maintain_order="left")
        return named.select("query_id", "doc_id", pl.col("score").cast(pl.Float64))

    def _names(self, docs: pl.Series) -> pl.DataFrame:
        """Read the doc_id of Lucene docs; `docs` rises, as doc values are read forwards."""
        if not len(docs):
            return pl.DataFrame(schema=NAMES)
        values = _class("index.MultiDocValues").getBinaryValues(self._reader, ID_FIELD)
        owner = f"{LUCENE}.index.BinaryDocValues"
        move = method(owner, "advanceExact", "boolean", "int").bindTo(values)
        read = chain(method(owner, "binaryValue", REF), method(REF, "utf8ToString", STRING))
        number = static("java.lang.Integer", "parseInt", "int", STRING)
        doc_id = handles.then(chain(number, move), "Boolean", read.bindTo(values))
        doc_ids = handles.each_word(" ".join(map(str, docs.to_list())), doc_id)
        return pl.DataFrame({"doc": docs, "doc_id": handles.texts(doc_ids)}, schema=NAMES)


def _sizes(rm3: Rm3) -> tuple[int, int]:
    """Return what a relevance model depends on: the numbers of docs and terms."""
    return rm3.feedback_docs, rm3.feedback_terms


def _tied_at(hits: pl.DataFrame, k: int, place: int) -> list[str]:
    """Return the queries whose hit k and whose hit at a place behind it have equal scores."""
    one, other = (pl.col("score").slice(place, 1).first() for place in (k - 1, place))
    return hits.group_by("query_id").agg(one == other).filter("score")["query_id"].to_list()
