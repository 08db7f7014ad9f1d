"""Search an index with Lucene as Anserini sets it up, and score given docs.

Used by `residuum.lexical` and `residuum.negatives`; no command of its own. A batch of queries
crosses to Java at once, and its hits come back as JSON.
Must not know manifests, run files, qrels or systems.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import polars as pl

from residuum.core.chunks import chunks
from residuum.core.schema.systems import Analysis, Bm25, Rm3
from residuum.lucene import handles, transfer
from residuum.lucene.feedback import Feedback
from residuum.lucene.handles import bound, constructor, integer, static, virtual
from residuum.lucene.indexing import (
    CONTENTS,
    ID_FIELD,
    LUCENE,
    analyzer,
    class_name,
    lucene_field,
    open_reader,
)
from residuum.lucene.jvm import start, told

SEARCH = "org/apache/lucene/search"  # as method descriptors write it
CHUNK = 256  # queries whose hits wait in memory as JSON
ALL = 2**31 - 1
FOUND = {"query_id": pl.String, "doc": pl.Int32, "score": pl.Float32}
NAMES = {"doc": pl.Int32, "doc_id": pl.String}
HITS = pl.Struct({"scoreDocs": pl.List(pl.Struct({"doc": pl.Int32, "score": pl.Float32}))})


def _class(name: str) -> Any:
    return start()(f"{LUCENE}.{name}")


class Searcher:
    """An open index with its BM25, the weights of its fields where it has some, its threads."""

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
        self._generator = start()("io.anserini.search.query.BagOfWordsQueryGenerator")()
        self._fields = dict(fields or {})
        self._workers = handles.Workers(threads)
        self._written = transfer.json_writer()

    def parameters(self) -> dict[str, Any]:
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
        hits = []
        with told("searching"):
            for chunk in chunks(queries, CHUNK):
                handle, asked = self._asked([text for _, text in chunk], k, rm3)
                hits.append(self._hits([query_id for query_id, _ in chunk], handle, asked))
            return self._with_doc_ids(pl.concat([pl.DataFrame(schema=FOUND), *hits]))

    def _asked(self, texts: list[str], k: int, rm3: Rm3 | None) -> tuple[Any, Any]:
        """Return a handle to hits, and the Java objects that it takes, one for each text."""
        queries = [self._bag_of_words(text) for text in texts]
        if rm3 is None:
            return self._top(k), handles.objects(queries)
        feedback = Feedback(self._lucene, self._analyzer, self._workers)
        firsts = feedback.first(texts, queries, self._top(rm3.feedback_docs))
        models = feedback.models(firsts, rm3.feedback_docs, rm3.feedback_terms)
        return handles.chain(feedback.query(rm3.original_query_weight), self._top(k)), models

    def search_grid(
        self, queries: Sequence[tuple[str, str]], grid: Sequence[Rm3], k: int
    ) -> Iterator[tuple[list[str], Rm3, pl.DataFrame]]:
        """Yield (query_ids, setting, their top `k` as `search` returns it), a chunk at a time.

        A chunk's first hits are searched once, and a relevance model serves all its weights.
        """
        feedback = Feedback(self._lucene, self._analyzer, self._workers)
        known = pl.DataFrame(schema=NAMES)
        with told("searching"):
            for chunk in chunks(queries, CHUNK):
                firsts = self._firsts(feedback, [text for _, text in chunk], grid)
                for rm3, models in _with_models(feedback, firsts, grid):
                    asked = handles.chain(feedback.query(rm3.original_query_weight), self._top(k))
                    hits = self._hits([query_id for query_id, _ in chunk], asked, models)
                    known = self._more_names(known, hits)
                    yield [query_id for query_id, _ in chunk], rm3, _as_scores(_named(hits, known))

    def _firsts(self, feedback: Feedback, texts: list[str], grid: Sequence[Rm3]) -> Any:
        queries = [self._bag_of_words(text) for text in texts]
        return feedback.first(texts, queries, self._top(max(rm3.feedback_docs for rm3 in grid)))

    def score(self, asked: Iterable[tuple[str, str, Sequence[str]]]) -> pl.DataFrame:
        """Return the BM25 score of each doc in (query_id, text, doc_ids): query_id, doc_id, score.

        A doc that shares no term with the query scores 0; one that is not in the index has no
        row.
        """
        scored = [pl.DataFrame(schema={**FOUND, "doc_id": pl.String})]
        with told("scoring"):
            scored += [self._scored(chunk) for chunk in chunks(asked, CHUNK)]
        return _as_scores(pl.concat(scored))

    def _scored(self, asked: list[tuple[str, str, Sequence[str]]]) -> pl.DataFrame:
        names = self._numbers(sorted({doc_id for _, _, doc_ids in asked for doc_id in doc_ids}))
        digits = {doc_id: str(doc) for doc, doc_id in names.iter_rows()}
        known = [[digits[d] for d in dict.fromkeys(docs) if d in digits] for _, _, docs in asked]
        given = [(q, text, docs) for (q, text, _), docs in zip(asked, known, strict=True) if docs]
        pairs = [handles.pair(" ".join(docs), self._bag_of_words(text)) for _, text, docs in given]
        hits = self._hits([q for q, _, _ in given], self._rescored(), handles.objects(pairs))
        return _named(hits, names)

    def _rescored(self) -> Any:
        """Return a handle from (Lucene docs, query) to the score of each, 0 without a match.

        A rescorer adds the query's score to the 0 that the docs come with, and visits no other.
        """
        name = f"{LUCENE}.search.QueryRescorer"
        form = f"(L{SEARCH}/IndexSearcher;L{SEARCH}/TopDocs;L{SEARCH}/Query;DI)L{SEARCH}/TopDocs;"
        weight = start()("java.lang.Double")(1.0)
        rescore = bound(static(name, "rescore", form), 3, weight, integer(ALL))
        of_docs = handles.nested(bound(rescore, 0, self._lucene), 0, transfer.docs_of_text())
        return handles.of_pair(of_docs)

    def _bag_of_words(self, text: str) -> Any:
        if not self._fields:
            return self._generator.buildQuery(CONTENTS, self._analyzer, text)
        occur = _class("search.BooleanClause$Occur")
        query = _class("search.BooleanQuery$Builder")()
        for name, weight in self._fields.items():
            words = self._generator.buildQuery(lucene_field(name), self._analyzer, text)
            query.add(_class("search.BoostQuery")(words, weight), occur.SHOULD)
        return query.build()

    def _top(self, k: int) -> Any:
        """Return a handle from a query to its top k, by score and then by doc_id."""
        form = f"(L{SEARCH}/Query;IL{SEARCH}/Sort;Z)L{SEARCH}/TopFieldDocs;"
        field = _class("search.SortField")
        by_id = field(ID_FIELD, _class("search.SortField$Type").STRING_VAL)
        order = _class("search.Sort")(field.FIELD_SCORE, by_id)
        search = virtual(f"{LUCENE}.search.IndexSearcher", "search", form).bindTo(self._lucene)
        return bound(search, 1, integer(k), order, start()("java.lang.Boolean")(True))

    def _hits(self, query_ids: list[str], handle: Any, asked: Any) -> pl.DataFrame:
        """Call a handle to hits with each Java object; return query_id, doc (Lucene's), score."""
        lines = handles.texts(self._workers.map(handles.chain(handle, self._written), asked))
        found = pl.Series(lines, dtype=pl.String).str.json_decode(HITS)
        table = pl.DataFrame({"query_id": query_ids, "hit": found.struct.field("scoreDocs")})
        return table.explode("hit").drop_nulls("hit").unnest("hit").select(*FOUND)

    def _with_doc_ids(self, hits: pl.DataFrame) -> pl.DataFrame:
        return _as_scores(_named(hits, self._names(hits["doc"].unique().sort())))

    def _more_names(self, known: pl.DataFrame, hits: pl.DataFrame) -> pl.DataFrame:
        new = hits.join(known, on="doc", how="anti")["doc"].unique().sort()
        return pl.concat([known, self._names(new)]) if len(new) else known

    def _names(self, docs: pl.Series) -> pl.DataFrame:
        """Read the doc_id of Lucene docs; `docs` rises, as doc values are read forwards."""
        if not len(docs):
            return pl.DataFrame(schema=NAMES)
        values = _class("index.MultiDocValues").getBinaryValues(self._reader, ID_FIELD)
        read = handles.function(transfer.id_of_text(values))
        found = handles.words(" ".join(map(str, docs.to_list()))).map(read).toList()
        doc_ids = handles.texts(handles.cast("java.util.Collection", found))
        return pl.DataFrame({"doc": docs, "doc_id": doc_ids}, schema=NAMES)

    def _numbers(self, doc_ids: list[str]) -> pl.DataFrame:
        """Find the Lucene docs of doc_ids; one that is not in the index has no row."""
        made = constructor(f"{LUCENE}.util.BytesRef", "(Ljava/lang/CharSequence;)V")
        terms = handles.words(" ".join(doc_ids)).map(handles.function(made)).toList()
        query = _class("search.TermInSetQuery")(
            ID_FIELD, handles.cast("java.util.Collection", terms)
        )
        form = f"(L{SEARCH}/Query;I)L{SEARCH}/TopDocs;"
        search = virtual(f"{LUCENE}.search.IndexSearcher", "search", form).bindTo(self._lucene)
        handle = bound(search, 1, integer(max(1, len(doc_ids))))
        return self._names(self._hits([""], handle, handles.objects([query]))["doc"].sort())


def _with_models(feedback: Feedback, firsts: Any, grid: Sequence[Rm3]) -> Iterator[tuple[Rm3, Any]]:
    """Yield each setting with the relevance models of its docs and terms."""
    for of, settings in groupby(grid, lambda rm3: (rm3.feedback_docs, rm3.feedback_terms)):
        models = feedback.models(firsts, *of)
        yield from ((rm3, models) for rm3 in settings)


def _named(hits: pl.DataFrame, names: pl.DataFrame) -> pl.DataFrame:
    return hits.join(names, on="doc", maintain_order="left")


def _as_scores(named: pl.DataFrame) -> pl.DataFrame:
    return named.select("query_id", "doc_id", pl.col("score").cast(pl.Float64))
