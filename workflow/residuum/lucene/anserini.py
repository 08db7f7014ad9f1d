"""Search an index with Lucene as Anserini sets it up, and score given docs.

Used by `residuum.lexical` and `residuum.negatives`; no command of its own. A batch of queries
crosses to Java at once, and its hits come back as text.
Must not know manifests, run files, qrels or systems.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple, TypedDict

import polars as pl

from residuum.core.chunks import chunks
from residuum.core.schema import Analysis, Bm25, Rm3
from residuum.lucene import feedback, handles, transfer
from residuum.lucene.handles import bound, boxed, chain, constructor, objects, static, virtual
from residuum.lucene.indexing import (
    CONTENTS,
    ID_FIELD,
    LUCENE,
    SEARCH,
    analyzer,
    class_name,
    lucene_field,
    open_reader,
)
from residuum.lucene.jvm import JavaObject, java, told

CHUNK = 256  # queries whose hits wait in memory as text
ALL = 2**31 - 1
NAMES = {"doc": pl.Int32, "doc_id": pl.String}


class Parameters(TypedDict):
    """What is fixed in a search beside its spec: Java's classes, the boosts of fields, ties."""

    similarity: str
    query: str
    analyzer: str
    fields: dict[str, float] | str
    ties: str


class Firsts(NamedTuple):
    """Java lists, a value for each query: its own terms' weights, the docs that it finds."""

    own_terms: JavaObject
    docs: JavaObject


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
        self._workers = handles.Workers(threads)

    def parameters(self) -> Parameters:
        """Return what is fixed here and belongs beside a score."""
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
        hits = [pl.DataFrame(schema=transfer.HITS)]
        with told("searching"):
            for chunk in chunks(queries, CHUNK):
                asked = self._queries([text for _, text in chunk], rm3)
                hits.append(self._top([query_id for query_id, _ in chunk], asked, k))
            found = pl.concat(hits)
            return _with_doc_ids(found, self._names(found["doc"].unique().sort()))

    def _queries(self, texts: list[str], rm3: Rm3 | None) -> JavaObject:
        """Return Java's list of Lucene's queries, one for each text."""
        if rm3 is None:
            return objects(map(self._bag_of_words, texts))
        firsts = self._firsts(texts, rm3.feedback_docs)
        return self._expanded(firsts, self._models(firsts, *_sizes(rm3)), rm3)

    def search_grid(
        self, queries: Sequence[tuple[str, str]], grid: Sequence[Rm3], k: int
    ) -> Iterator[tuple[list[str], Rm3, pl.DataFrame]]:
        """Yield (query_ids, setting, their top `k` as `search` returns it), a chunk at a time.

        A chunk's first hits are searched once, and a relevance model serves all its weights.
        """
        known = pl.DataFrame(schema=NAMES)
        depth = max(rm3.feedback_docs for rm3 in grid)
        with told("searching"):
            for chunk in chunks(queries, CHUNK):
                query_ids, texts = map(list, zip(*chunk, strict=True))
                firsts = self._firsts(texts, depth)
                for sizes, settings in groupby(grid, _sizes):
                    models = self._models(firsts, *sizes)
                    for rm3 in settings:
                        hits = self._top(query_ids, self._expanded(firsts, models, rm3), k)
                        known = self._more_names(known, hits)
                        yield query_ids, rm3, _with_doc_ids(hits, known)

    def _firsts(self, texts: list[str], docs: int) -> Firsts:
        """Return what RM3 estimates from: each query's own terms and its first docs."""
        queries = objects(map(self._bag_of_words, texts))
        found = chain(self._by_score_and_id(docs), feedback.feedback_docs(self._lucene))
        own_terms = self._workers.map(feedback.own_terms(self._analyzer), objects(texts))
        return Firsts(own_terms, self._workers.map(found, queries))

    def _models(self, firsts: Firsts, docs: int, terms: int) -> JavaObject:
        model = feedback.relevance_model(self._analyzer, self._reader, docs, terms)
        return self._workers.map(model, firsts.docs)

    def _expanded(self, firsts: Firsts, models: JavaObject, rm3: Rm3) -> JavaObject:
        expanded = feedback.expanded(rm3.original_query_weight)
        return self._workers.map(expanded, firsts.own_terms, models)

    def score(self, asked: Iterable[tuple[str, str, Sequence[str]]]) -> pl.DataFrame:
        """Return the BM25 score of each doc in (query_id, text, doc_ids): query_id, doc_id, score.

        A doc that shares no term with the query scores 0; one that is not in the index has no
        row.
        """
        scored = [
            pl.DataFrame(schema={"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64})
        ]
        with told("scoring"):
            scored += [self._scored(chunk) for chunk in chunks(asked, CHUNK)]
        return pl.concat(scored)

    def _scored(self, asked: list[tuple[str, str, Sequence[str]]]) -> pl.DataFrame:
        names = self._numbers(sorted({doc_id for _, _, doc_ids in asked for doc_id in doc_ids}))
        digits = {doc_id: str(doc) for doc, doc_id in names.iter_rows()}
        known = [[digits[d] for d in dict.fromkeys(docs) if d in digits] for _, _, docs in asked]
        given = [(q, text, docs) for (q, text, _), docs in zip(asked, known, strict=True) if docs]
        queries = objects(self._bag_of_words(text) for _, text, _ in given)
        docs = objects(" ".join(docs) for _, _, docs in given)
        hits = self._hits([q for q, _, _ in given], self._rescored(), docs, queries)
        return _with_doc_ids(hits, names)

    def _rescored(self) -> JavaObject:
        """Return a handle from (Lucene docs, query) to the score of each, 0 without a match.

        A rescorer adds the query's score to the 0 that the docs come with, and visits no other.
        """
        name = f"{LUCENE}.search.QueryRescorer"
        form = f"(L{SEARCH}/IndexSearcher;L{SEARCH}/TopDocs;L{SEARCH}/Query;DI)L{SEARCH}/TopDocs;"
        rescore = static(name, "rescore", form)
        rescore = bound(rescore, 3, boxed("Double", 1.0), boxed("Integer", ALL))
        return handles.nested(bound(rescore, 0, self._lucene), 0, transfer.docs_of_text())

    def _bag_of_words(self, text: str) -> JavaObject:
        if not self._fields:
            return self._generator.buildQuery(CONTENTS, self._analyzer, text)
        occur = _class("search.BooleanClause$Occur")
        query = _class("search.BooleanQuery$Builder")()
        for name, boost in self._fields.items():
            words = self._generator.buildQuery(lucene_field(name), self._analyzer, text)
            query.add(_class("search.BoostQuery")(words, boost), occur.SHOULD)
        return query.build()

    def _top(self, query_ids: list[str], queries: JavaObject, k: int) -> pl.DataFrame:
        """Return the top k hits of Lucene's queries; equal scores are cut by doc_id.

        Ordering by doc_id as well takes Lucene twice the time, so that only those queries are
        searched again whose hit k + 1 has the score of hit k.
        """
        hits = self._hits(query_ids, self._by_score(k + 1), queries)
        tied = _tied_at(hits, k)
        again = [number for number, query_id in enumerate(query_ids) if query_id in tied]
        some = objects(queries.get(number) for number in again)
        more = self._hits([query_ids[n] for n in again], self._by_score_and_id(k), some)
        kept = (
            hits.filter(~pl.col("query_id").is_in(tied))
            .group_by("query_id", maintain_order=True)
            .head(k)
        )
        return pl.concat([kept, more])

    def _by_score(self, k: int) -> JavaObject:
        """Return a handle from a query to its top k, of which equal scores are cut at will."""
        form = f"(L{SEARCH}/Query;I)L{SEARCH}/TopDocs;"
        search = virtual(f"{LUCENE}.search.IndexSearcher", "search", form).bindTo(self._lucene)
        return bound(search, 1, boxed("Integer", k))

    def _by_score_and_id(self, k: int) -> JavaObject:
        """Return a handle from a query to its top k, by score and then by doc_id."""
        form = f"(L{SEARCH}/Query;IL{SEARCH}/Sort;Z)L{SEARCH}/TopFieldDocs;"
        field = _class("search.SortField")
        by_id = field(ID_FIELD, _class("search.SortField$Type").STRING_VAL)
        order = _class("search.Sort")(field.FIELD_SCORE, by_id)
        search = virtual(f"{LUCENE}.search.IndexSearcher", "search", form).bindTo(self._lucene)
        return bound(search, 1, boxed("Integer", k), order, boxed("Boolean", True))

    def _hits(self, query_ids: list[str], handle: JavaObject, *lists: JavaObject) -> pl.DataFrame:
        """Call a handle to hits with the objects of Java lists: query_id, doc, score."""
        written = self._workers.map(chain(handle, transfer.written()), *lists)
        return transfer.read(query_ids, handles.texts(written))

    def _more_names(self, known: pl.DataFrame, hits: pl.DataFrame) -> pl.DataFrame:
        new = hits.join(known, on="doc", how="anti")["doc"].unique().sort()
        return pl.concat([known, self._names(new)])

    def _names(self, docs: pl.Series) -> pl.DataFrame:
        """Read the doc_id of Lucene docs; `docs` rises, as doc values are read forwards."""
        if not len(docs):
            return pl.DataFrame(schema=NAMES)
        values = _class("index.MultiDocValues").getBinaryValues(self._reader, ID_FIELD)
        read = handles.function(transfer.id_of_text(values))
        doc_ids = handles.words(" ".join(map(str, docs.to_list()))).map(read).toList()
        return pl.DataFrame({"doc": docs, "doc_id": handles.texts(doc_ids)}, schema=NAMES)

    def _numbers(self, doc_ids: list[str]) -> pl.DataFrame:
        """Find the Lucene docs of doc_ids; one that is not in the index has no row."""
        made = constructor(f"{LUCENE}.util.BytesRef", "(Ljava/lang/CharSequence;)V")
        terms = handles.words(" ".join(doc_ids)).map(handles.function(made)).toList()
        query = _class("search.TermInSetQuery")(
            ID_FIELD, handles.cast("java.util.Collection", terms)
        )
        handle = self._by_score(max(1, len(doc_ids)))
        return self._names(self._hits([""], handle, objects([query]))["doc"].sort())


def _sizes(rm3: Rm3) -> tuple[int, int]:
    """Return what a relevance model depends on: the numbers of docs and terms."""
    return rm3.feedback_docs, rm3.feedback_terms


def _with_doc_ids(hits: pl.DataFrame, names: pl.DataFrame) -> pl.DataFrame:
    """Return query_id, doc_id and score of hits in their order."""
    named = hits.join(names, on="doc", maintain_order="left")
    return named.select("query_id", "doc_id", pl.col("score").cast(pl.Float64))


def _tied_at(hits: pl.DataFrame, k: int) -> list[str]:
    """Return the queries whose hits k and k + 1 have equal scores."""
    at = hits.group_by("query_id").agg(pl.len(), pl.col("score").slice(k - 1, 2))
    tied = (pl.col("len") > k) & (pl.col("score").list.first() == pl.col("score").list.last())
    return at.filter(tied)["query_id"].to_list()
