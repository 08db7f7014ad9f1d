"""Lucene as Anserini sets it up: index a corpus, search it, score given docs.

Used by `residuum.lexical` and `residuum.negatives`; no command of its own. Hits cross from Java
as one JSON string per query, because a call per hit costs more than the search itself.
Must not know manifests, run files, qrels or systems.
"""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from residuum.core.chunks import chunks
from residuum.core.errors import ResiduumError
from residuum.core.schema import Analysis, Bm25, Rm3
from residuum.lucene import jvm
from residuum.lucene.jvm import start, told

LUCENE = "org.apache.lucene"
SEARCH = "org/apache/lucene/search"  # as method descriptors write it
FIELD = "contents"  # the names that Anserini gives the fields of a doc
ID_FIELD = "id"
DOCS_PER_FILE = 4096  # a file is what Anserini gives to a thread
BUFFER_MB = 256
CHUNK = 256  # queries whose hits wait in memory as JSON
FOUND = {"query_id": pl.String, "doc": pl.Int32, "score": pl.Float32}
FEEDBACK_TERMS = "[a-z0-9]{2,20}, in at most 10% of the docs"  # fixed in Rm3Reranker
HITS = pl.Struct({"scoreDocs": pl.List(pl.Struct({"doc": pl.Int32, "score": pl.Float32}))})


def _class(name: str) -> Any:
    return start()(f"{LUCENE}.{name}")


def versions() -> dict[str, str]:
    """Return the versions of Anserini and Lucene."""
    version = _class("util.Version").LATEST.toString()
    return {"anserini": jvm.anserini_jar().name.split("-")[1], "lucene": str(version)}


def analyzer(analysis: Analysis) -> Any:
    """Return Anserini's English analyzer for an analysis."""
    made = start()("io.anserini.analysis.DefaultEnglishAnalyzer")
    return made.fromArguments(analysis.stemmer, analysis.stopwords == "none", None)


def class_name(part: Any) -> str:
    """Return the name of the Java class of an object."""
    return str(part.getClass().getName())


def build(docs: Iterable[tuple[str, str]], analysis: Analysis, threads: int, folder: Path) -> None:
    """Index (doc_id, text) into `folder` as one segment, with the term vectors that RM3 needs.

    Texts wait on disk in `folder`.docs meanwhile, so memory stays flat.
    """
    waiting = folder.with_suffix(".docs")
    args = _index_args(waiting, analysis, threads, folder)
    waiting.mkdir(parents=True)
    for number, batch in enumerate(chunks(docs, DOCS_PER_FILE)):
        lines = (json.dumps({"id": i, FIELD: _indexable(text)}) + "\n" for i, text in batch)
        (waiting / f"{number:06d}.jsonl").write_text("".join(lines), encoding="ascii")
    with told(f"indexing into {folder}"):
        start()("io.anserini.index.IndexCollection")(args).run()
    for path in [*waiting.iterdir(), folder / "write.lock"]:
        path.unlink()
    waiting.rmdir()


def _indexable(text: str) -> str:
    """Replace an empty text by a full stop: Anserini drops empty docs, and a stop has no terms."""
    return text if any(character > " " for character in text) else "."


def _index_args(docs: Path, analysis: Analysis, threads: int, folder: Path) -> Any:
    args = start()("io.anserini.index.IndexCollection$Args")()
    args.collectionClass = "JsonCollection"
    args.input, args.index = str(docs), str(folder)
    args.stemmer, args.keepStopwords = analysis.stemmer, analysis.stopwords == "none"
    args.threads, args.memoryBuffer = threads, BUFFER_MB
    args.storeDocvectors = args.optimize = args.quiet = True
    return args


def open_reader(folder: Path) -> Any:
    """Open the index in a folder and return Lucene's IndexReader."""
    with told(f"opening the index {folder}"):
        path = start()("java.io.File")(str(folder)).toPath()
        directory = _class("store.FSDirectory").open(path)
        opened = _class("index.DirectoryReader").open(directory)
    return jvm.cast(f"{LUCENE}.index.IndexReader", opened)


def statistics(reader: Any) -> dict[str, int]:
    """Return counts of docs, of non-empty docs (the N of BM25), of unique and of all terms."""
    found = start()("io.anserini.index.IndexReaderUtils").getIndexStats(reader)
    names = ("documents", "non_empty_documents", "unique_terms", "total_terms")
    return {name: int(found.get(name)) for name in names}


class _Bulk:
    """Whole batches handed to Java: searches on its threads, hits as JSON, ids as one string."""

    def __init__(self, searcher: Any, threads: int) -> None:
        self._searcher = searcher
        self._workers = jvm.Workers(threads)
        self._handles = start()("java.lang.invoke.MethodHandles")
        self._mapper = start()("com.fasterxml.jackson.databind.ObjectMapper")()
        self._leave_out("TopFieldDocs", "totalHits", "fields")
        self._leave_out("FieldDoc", "shardIndex", "fields")
        made = self._handles.publicLookup().findConstructor(
            jvm.named(f"{LUCENE}.util.BytesRef"), jvm.method_type("(Ljava/lang/CharSequence;)V")
        )
        self._bytes = jvm.function(made)

    def _leave_out(self, name: str, *properties: str) -> None:
        ignored = start()("com.fasterxml.jackson.annotation.JsonIgnoreProperties$Value")
        override = self._mapper.configOverride(jvm.named(f"{LUCENE}.search.{name}"))
        override.setIgnorals(ignored.forIgnoredProperties(*properties))

    def json(self, value: Any) -> Any:
        """Copy a Java object by way of JSON."""
        return json.loads(self._mapper.writeValueAsString(value))

    def terms(self, texts: Sequence[str]) -> Any:
        """Return a Java collection of BytesRef; the texts hold no white space."""
        space = start()("java.util.regex.Pattern").compile(" ")
        stream = space.splitAsStream(" ".join(texts)).map(self._bytes)
        return jvm.cast("java.util.Collection", stream.toList())

    def top(self, queries: list[Any], k: int) -> list[Any]:
        """Return the TopFieldDocs of each query."""
        return self._workers.map(self._search(k), queries)

    def top_json(self, queries: list[Any], k: int) -> list[str]:
        """Return the hits of each query as JSON: {"scoreDocs": [{"doc": 7, "score": 1.5}]}."""
        form = "(Ljava/lang/Object;)Ljava/lang/String;"
        narrow = jvm.method_type(f"(L{SEARCH}/TopFieldDocs;)Ljava/lang/String;")
        written = jvm.bind(self._mapper, "writeValueAsString", form).asType(narrow)
        handle = self._handles.filterReturnValue(self._search(k), written)
        return self._workers.map(handle, queries)

    def _search(self, k: int) -> Any:
        """Return a handle from a query to its top k, by score and then by doc_id."""
        form = f"(L{SEARCH}/Query;IL{SEARCH}/Sort;Z)L{SEARCH}/TopFieldDocs;"
        field = _class("search.SortField")
        by_id = field(ID_FIELD, _class("search.SortField$Type").STRING_VAL)
        order = _class("search.Sort")(field.FIELD_SCORE, by_id)
        most, with_scores = start()("java.lang.Integer")(k), start()("java.lang.Boolean")(True)
        search = jvm.bind(self._searcher, "search", form)
        return self._handles.insertArguments(search, 1, most, order, with_scores)


class Searcher:
    """An open index with its BM25, its RM3 where there is one, and its threads."""

    def __init__(
        self, folder: Path, analysis: Analysis, bm25: Bm25, rm3: Rm3 | None = None, threads: int = 1
    ) -> None:
        self._reader = open_reader(folder)
        self._similarity = _class("search.similarities.BM25Similarity")(bm25.k1, bm25.b)
        self._lucene = _class("search.IndexSearcher")(self._reader)
        self._lucene.setSimilarity(self._similarity)
        self._analyzer = analyzer(analysis)
        self._generator = start()("io.anserini.search.query.BagOfWordsQueryGenerator")()
        self._rm3 = rm3
        self._bulk = _Bulk(self._lucene, threads)

    def parameters(self) -> dict[str, Any]:
        """Return what is fixed here and belongs beside a score: classes, field, ties, RM3 terms."""
        return {
            "similarity": class_name(self._similarity),
            "query": class_name(self._generator),
            "analyzer": class_name(self._analyzer),
            "field": FIELD,
            "ties": "doc_id",
            "feedback_term_filter": FEEDBACK_TERMS if self._rm3 else None,
        }

    def search(self, queries: Iterable[tuple[str, str]], k: int) -> pl.DataFrame:
        """Return the top `k` docs of each (query_id, text): query_id, doc_id, score.

        Equal scores are cut by doc_id. A query without a hit has no row.
        """
        hits = []
        with told("searching"):
            for chunk in chunks(queries, CHUNK):
                made = [self._bag_of_words(text) for _, text in chunk]
                if self._rm3:
                    made = self._expanded([text for _, text in chunk], made, self._rm3)
                hits.append(self._hits([query_id for query_id, _ in chunk], made, k))
            return self._with_doc_ids(hits)

    def score(self, asked: Iterable[tuple[str, str, Sequence[str]]]) -> pl.DataFrame:
        """Return the BM25 score of each doc in (query_id, text, doc_ids): query_id, doc_id, score.

        A doc that shares no term with the query scores 0; one that is not in the index has no
        row. Errors: a searcher with RM3.
        """
        if self._rm3:
            raise ResiduumError(
                "a system with rm3 cannot score given docs: its query depends on its own first "
                "hits. Use the system without rm3."
            )
        hits = []
        with told("scoring"):
            for chunk in chunks(asked, CHUNK):
                made = [self._among(text, doc_ids) for _, text, doc_ids in chunk]
                most = max(len(doc_ids) for _, _, doc_ids in chunk)
                hits.append(self._hits([query_id for query_id, _, _ in chunk], made, most))
            return self._with_doc_ids(hits)

    def _bag_of_words(self, text: str) -> Any:
        return self._generator.buildQuery(FIELD, self._analyzer, text)

    def _among(self, text: str, doc_ids: Sequence[str]) -> Any:
        """Score with the words, filter by the ids: a filter adds nothing to the score."""
        occur = _class("search.BooleanClause$Occur")
        query = _class("search.BooleanQuery$Builder")()
        query.add(self._bag_of_words(text), occur.SHOULD)
        ids = _class("search.TermInSetQuery")(ID_FIELD, self._bulk.terms(doc_ids))
        query.add(ids, occur.FILTER)
        return query.build()

    def _expanded(self, texts: list[str], queries: list[Any], rm3: Rm3) -> list[Any]:
        """Take the weighted terms of Anserini's RM3 and leave its own search aside.

        Anserini's rounds scores to four decimals and shifts tied ones.
        """
        model = start()("io.anserini.rerank.lib.Rm3Reranker")(
            *(self._analyzer, None, FIELD, rm3.feedback_terms, rm3.feedback_docs),
            *(rm3.original_query_weight, False, True),
        )
        firsts = self._bulk.top(queries, rm3.feedback_docs)
        each = zip(texts, queries, firsts, strict=True)
        return [_weighted(self._feedback(model, *of_query)) for of_query in each]

    def _feedback(self, model: Any, text: str, query: Any, first: Any) -> dict[str, float]:
        args = start()("io.anserini.search.SearchCollection$Args")()
        args.hits = 1
        tokens = start()("io.anserini.analysis.AnalyzerUtils").analyze(self._analyzer, text)
        context = start()("io.anserini.rerank.RerankerContext")(
            self._lucene, None, query, None, text, tokens, None, args
        )
        docs = start()("io.anserini.search.ScoredDocs").fromTopDocs(first, self._lucene)
        model.rerank(docs, context)
        return dict(self._bulk.json(context.feedbackTerms))

    def _hits(self, query_ids: list[str], queries: list[Any], k: int) -> pl.DataFrame:
        found = pl.Series(self._bulk.top_json(queries, k), dtype=pl.String).str.json_decode(HITS)
        table = pl.DataFrame({"query_id": query_ids, "hit": found.struct.field("scoreDocs")})
        return table.explode("hit").drop_nulls("hit").unnest("hit").select(*FOUND)

    def _with_doc_ids(self, hits: list[pl.DataFrame]) -> pl.DataFrame:
        found = pl.concat([pl.DataFrame(schema=FOUND), *hits])
        docs = found["doc"].unique().sort()
        doc_ids = pl.Series(self._doc_ids(docs.to_list()), dtype=pl.String)
        named = found.join(pl.DataFrame({"doc": docs, "doc_id": doc_ids}), on="doc")
        return named.select("query_id", "doc_id", pl.col("score").cast(pl.Float64))

    def _doc_ids(self, docs: list[int]) -> list[str]:
        """Read the doc_id of each Lucene doc; `docs` rises, as doc values are read forwards."""
        values = _class("index.MultiDocValues").getBinaryValues(self._reader, ID_FIELD)
        return [values.binaryValue().utf8ToString() for doc in docs if values.advanceExact(doc)]


def _weighted(terms: dict[str, float]) -> Any:
    term, query = _class("index.Term"), _class("search.TermQuery")
    boosted, should = _class("search.BoostQuery"), _class("search.BooleanClause$Occur").SHOULD
    made = _class("search.BooleanQuery$Builder")()
    for text, weight in terms.items():
        made.add(boosted(query(term(FIELD, text)), weight), should)
    return made.build()
