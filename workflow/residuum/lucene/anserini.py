"""Search an index with Lucene in Anserini's settings, and score given docs.

A batch of queries crosses to Java at once, and its hits come back as one array of bytes: a call
for each hit costs more than the search itself. RM3 is estimated and interpolated as Anserini's
Rm3Reranker does it. Its own search is not used, because it rounds scores to four decimals and
shifts tied scores.
"""

from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl

from residuum.artefacts.streams import chunks
from residuum.artefacts.trec import HITS
from residuum.config.schema.settings import Rm3
from residuum.config.schema.systems import LexicalSystem
from residuum.lucene import analysis, exhaustive, handles, indexing
from residuum.lucene.analysis import ANALYZER
from residuum.lucene.exhaustive import Exhaustive
from residuum.lucene.handles import (
    BUFFER,
    LIST,
    STRING,
    bound,
    boxed,
    chain,
    method,
    nested,
    reordered,
    static,
)
from residuum.lucene.indexing import CONTENTS, ID_FIELD, LUCENE
from residuum.lucene.jvm import JavaObject, cast, java, java_errors
from residuum.lucene.postings import Postings, in_one_segment

SEARCHER, QUERY = f"{LUCENE}.search.IndexSearcher", f"{LUCENE}.search.Query"
REF = f"{LUCENE}.util.BytesRef"
OCCUR, BUILDER = f"{LUCENE}.search.BooleanClause$Occur", f"{LUCENE}.search.BooleanQuery$Builder"
GENERATOR = "io.anserini.search.query.BagOfWordsQueryGenerator"
VECTOR, DOCS = "io.anserini.util.FeatureVector", "io.anserini.search.ScoredDocs"
RERANKER = "io.anserini.rerank.lib.Rm3Reranker"
TERM_FILTER = "[a-z0-9]{2,20}, in at most 10% of the docs"  # fixed in Rm3Reranker
MOST_TERMS = 2**31 - 1  # of a query; Lucene's own limit is 1,024
SLACK = 20  # least number of further hits, within which equal scores mostly end
CHUNK = 256  # queries whose hits wait in memory
HIT = np.dtype([("doc", ">i4"), ("score", ">f4")])  # as Java's buffer holds them
NUMBERED = {"query_id": pl.String, "doc": pl.Int32, "score": pl.Float32}  # by Lucene's doc numbers
Texts = Iterable[tuple[str, str]]  # query_id, text


class Searcher:
    """An open index with BM25, boosts of its fields if it has any, and a number of threads.

    `empty` are docs of the corpus that the index leaves out: no search returns them.
    """

    def __init__(
        self,
        folder: Path,
        system: LexicalSystem,
        threads: int = 1,
        empty: Container[str] = frozenset(),
    ) -> None:
        self.reader = indexing.open_reader(folder)
        similarity = java(f"{LUCENE}.search.similarities.BM25Similarity")
        self._similarity = similarity(system.bm25.k1, system.bm25.b)
        self._lucene = java(f"{LUCENE}.search.IndexSearcher")(self.reader)
        self._lucene.setSimilarity(self._similarity)
        self._lucene.setMaxClauseCount(MOST_TERMS)
        self.analyzer, tokenise = analysis.terms(system.analysis, folder)
        self._tokenise = analysis.for_queries(tokenise, system)
        self._generator = java(GENERATOR)()
        self.system, self._empty = system, empty
        self.workers = handles.Workers(threads)

    def parameters(self) -> dict[str, object]:
        """Return the fixed settings that a score's record needs: classes, fields, ties, filter."""
        return {
            "similarity": indexing.class_name(self._similarity),
            "query": indexing.class_name(self._generator),
            "analyzer": indexing.class_name(self.analyzer),
            "fields": self.system.boosts or CONTENTS,
            "ties": "doc_id",
            "feedback_term_filter": TERM_FILTER if self.system.rm3 else None,
        }

    def search(self, queries: Texts, k: int, rm3: Rm3 | None = None) -> Iterator[pl.DataFrame]:
        """Yield query_id, doc_id, score of the top `k` docs of each query, a chunk at a time.

        Equal scores are cut by doc_id. A query without a hit has no row. A doc that has only terms
        of weight 0 is no hit.
        """
        with java_errors("searching"):
            if rm3 is None and self._exhaustive:
                for chunk in chunks(queries, CHUNK):
                    listed = handles.objects(self._tokenise(text for _, text in chunk))
                    terms = zip(
                        (query_id for query_id, _ in chunk), self.counted(listed), strict=True
                    )
                    yield self._exhaustive.top(dict(terms), k)
                return
            expanded = self._expansion(rm3) if rm3 else None
            for query_ids, texts, bags in self.bags_of_words(queries):
                yield self._top(query_ids, expanded(texts, bags) if expanded else bags, k)

    @cached_property
    def _exhaustive(self) -> Exhaustive | None:
        """The exhaustive search of a small index; None where Lucene's search has to be taken."""
        docs, whole = int(self.reader.maxDoc()), in_one_segment(self.reader)
        if docs > exhaustive.MOST_DOCS or self.system.boosts or not whole:
            return None
        names = pl.Series(self.doc_ids(range(docs)).values(), dtype=pl.String)
        return Exhaustive(Postings(self.reader, self.system.bm25), names)

    def counted(self, texts: JavaObject) -> Iterator[Counter[str]]:
        """Yield how often each term stands in each text of Java's list."""
        lines = handles.texts(self.workers.map(analysis.joined(self.analyzer), texts))
        return (Counter(filter(None, line.split(" "))) for line in lines)

    def _expansion(self, rm3: Rm3) -> Callable[[JavaObject, JavaObject], JavaObject]:
        """Return a function from lists of texts and of their queries to RM3's queries."""
        docs, terms = rm3.feedback_docs, rm3.feedback_terms
        to_docs = static(DOCS, "fromTopDocs", DOCS, f"{LUCENE}.search.TopDocs", SEARCHER)
        first_docs = chain(self.by_score_and_id(docs), bound(to_docs, 1, self._lucene))
        shares = _own_terms(self.analyzer)
        model = _relevance_model(self.analyzer, self.reader, docs, terms)
        mixed = _interpolated(rm3.original_query_weight)

        def expanded(texts: JavaObject, bags: JavaObject) -> JavaObject:
            models = self.workers.map(chain(first_docs, model), bags)
            return self.workers.map(mixed, self.workers.map(shares, texts), models)

        return expanded

    def score(self, docs: Iterable[tuple[str, str, Sequence[str]]]) -> pl.DataFrame:
        """Return query_id, doc_id, BM25 score of each doc in (query_id, text, doc_ids).

        A doc without a term of the query scores 0, and so does an empty doc. A doc that is neither
        empty nor in the index has no row.
        """
        hits, empty = [pl.DataFrame(schema=NUMBERED)], list[tuple[str, str, float]]()
        with java_errors("scoring"):
            for chunk in chunks(docs, CHUNK):
                most = max(len(doc_ids) for _, _, doc_ids in chunk)
                [(query_ids, _, bags)] = self.bags_of_words((q, text) for q, text, _ in chunk)
                listed = handles.objects("\n".join(doc_ids) for _, _, doc_ids in chunk)
                among = self.workers.map(_among(), listed, bags)
                hits.append(self.hits(query_ids, self._by_score(most), among))
                empty += [(q, i, 0.0) for q, _, ids in chunk for i in ids if i in self._empty]
            scored = self.with_doc_ids(pl.concat(hits))
            return pl.concat([scored, pl.DataFrame(empty, schema=HITS, orient="row")])

    def bags_of_words(self, queries: Texts) -> Iterator[tuple[list[str], JavaObject, JavaObject]]:
        """Yield query_ids, and Java's lists of their texts and of their queries, by chunks."""
        boosts = java("java.util.LinkedHashMap")()
        for name, boost in self.system.boosts.items():
            boosts.put(indexing.lucene_field(name), boxed(boost))
        kind, fields = ("java.util.Map", boosts) if self.system.boosts else (STRING, CONTENTS)
        build = method(GENERATOR, "buildQuery", QUERY, kind, ANALYZER, STRING)
        bag_of_words = bound(build, 0, self._generator, fields, self.analyzer)
        for chunk in chunks(queries, CHUNK):
            query_ids, texts = map(list, zip(*chunk, strict=True))
            listed = handles.objects(self._tokenise(texts))
            yield query_ids, listed, self.workers.map(bag_of_words, listed)

    def _top(self, query_ids: list[str], queries: JavaObject, k: int) -> pl.DataFrame:
        """Return query_id, doc_id, score of the top k; equal scores are cut by doc_id.

        Ordering by doc_id too doubles Lucene's time. It is needed only for queries whose further
        hits, half as many again, all tie with hit k.
        """
        most = k + max(SLACK, k // 2)
        hits = self.hits(query_ids, self._by_score(most), queries)
        tied = _tied_at(hits, k, k)
        endless = set(_tied_at(hits, k, most - 1))
        again = [number for number, query_id in enumerate(query_ids) if query_id in endless]
        some = handles.objects(queries.get(number) for number in again)
        exact = self.hits([query_ids[n] for n in again], self.by_score_and_id(k), some)
        known = hits.filter(~pl.col("query_id").is_in(endless))
        clear = known.filter(~pl.col("query_id").is_in(tied)).group_by("query_id").head(k)
        named = self.with_doc_ids(known.filter(pl.col("query_id").is_in(tied)))
        ordered = named.sort("score", "doc_id", descending=[True, False])
        ordered = ordered.group_by("query_id", maintain_order=True).head(k)
        found = pl.concat([self.with_doc_ids(pl.concat([clear, exact])), ordered])
        return found.filter(pl.col("score") > 0)

    def _by_score(self, k: int) -> JavaObject:
        """Return a handle from a query to its top k; equal scores are cut arbitrarily."""
        search = method(SEARCHER, "search", f"{LUCENE}.search.TopDocs", QUERY, "int")
        return bound(bound(search, 0, self._lucene), 1, k)

    def by_score_and_id(self, k: int) -> JavaObject:
        """Return a handle from a query to its top k, by score and then by doc_id."""
        hits, sort = f"{LUCENE}.search.TopFieldDocs", f"{LUCENE}.search.Sort"
        field = java(f"{LUCENE}.search.SortField")
        by_id = field(ID_FIELD, java(f"{LUCENE}.search.SortField$Type").STRING_VAL)
        order = java(f"{LUCENE}.search.Sort")(field.FIELD_SCORE, by_id)
        search = method(SEARCHER, "search", hits, QUERY, "int", sort, "boolean")
        return bound(bound(search, 0, self._lucene), 1, k, order, True)

    def hits(self, query_ids: list[str], search: JavaObject, queries: JavaObject) -> pl.DataFrame:
        """Search for each of Java's queries: return query_id, doc (Lucene's number), score."""
        if not query_ids:
            return pl.DataFrame(schema=NUMBERED)
        lists = self.workers.map(chain(search, self._packed), queries)
        rows = np.frombuffer(handles.concatenated(lists), dtype=HIT)
        heads, ids, head = list[int](), list[pl.Series](), 0
        for query_id in query_ids:
            heads.append(head)
            count = int(rows["doc"][head])
            ids.append(pl.repeat(query_id, count, dtype=pl.String, eager=True))
            head += 1 + count
        assert head == len(rows), "a list for each query"
        hits = np.delete(rows, heads)
        columns = {
            "query_id": pl.concat(ids),
            "doc": hits["doc"].astype(np.int32),
            "score": hits["score"].astype(np.float32),
        }
        return pl.DataFrame(columns, schema=NUMBERED)

    @cached_property
    def _packed(self) -> JavaObject:
        """A handle from Lucene's TopDocs to bytes: the number of hits and 0, then doc and score."""
        return chain(handles.field(f"{LUCENE}.search.TopDocs", "scoreDocs"), _as_bytes())

    def with_doc_ids(self, hits: pl.DataFrame) -> pl.DataFrame:
        """Return query_id, doc_id and score of hits in their order."""
        if hits.is_empty():
            return pl.DataFrame(schema=HITS)
        ids = self.doc_ids(hits["doc"].unique().to_list())
        names = pl.DataFrame({"doc": ids.keys(), "doc_id": ids.values()}, schema_overrides=NUMBERED)
        named = hits.join(names, on="doc", maintain_order="left")
        return named.select(pl.col(name).cast(kind) for name, kind in HITS.items())

    def doc_ids(self, docs: Collection[int]) -> dict[int, str]:
        """Return the ids of docs, given Lucene's numbers.

        They are read in rising order, since doc values can only be read forwards.
        """
        if not docs:
            return {}
        values = java(f"{LUCENE}.index.MultiDocValues").getBinaryValues(self.reader, ID_FIELD)
        owner = f"{LUCENE}.index.BinaryDocValues"
        move = bound(method(owner, "advanceExact", "boolean", "int"), 0, values)
        read = chain(method(owner, "binaryValue", REF), method(REF, "utf8ToString", STRING))
        number = static("java.lang.Integer", "parseInt", "int", STRING)
        read = handles.ignoring(bound(read, 0, values), 0, "boolean")  # what `move` returns
        read = handles.function(handles.each(chain(number, move, read)))
        rising = sorted(docs)
        lines = handles.texts(cast(LIST, read.apply("\n".join(map(str, rising)))))
        return dict(zip(rising, lines, strict=True))

    def numbers(self, doc_ids: Collection[str]) -> dict[str, int]:
        """Return Lucene's numbers of docs, without those that the index lacks."""
        if not doc_ids:
            return {}
        queries = self.workers.map(_of_ids(), handles.objects(["\n".join(doc_ids)]))
        docs = self.hits([""], self._by_score(len(doc_ids)), queries)["doc"].to_list()
        return {doc_id: doc for doc, doc_id in self.doc_ids(docs).items()}


def _as_bytes() -> JavaObject:
    """Return a handle from an array of hits to bytes, 8 for each pair of numbers."""
    scored = f"{LUCENE}.search.ScoreDoc"
    length, element = handles.length_of(scored), handles.element_of(scored)
    put_int = method(BUFFER, "putInt", BUFFER, "int")
    put_float = method(BUFFER, "putFloat", BUFFER, "float")
    doc = nested(put_int, 1, handles.field(scored, "doc"))
    score = nested(put_float, 1, handles.field(scored, "score"))
    both = reordered(nested(score, 0, doc), 0, 1, 1)  # a buffer and a hit, to the buffer
    one = reordered(nested(both, 1, element), 0, 2, 1)
    math, int_to_int = "java.lang.Math", ("int", "int")
    size = chain(length, static(math, "incrementExact", *int_to_int))
    size = chain(size, bound(static(math, "multiplyExact", *int_to_int, "int"), 1, HIT.itemsize))
    made = chain(size, static(BUFFER, "allocate", BUFFER, "int"))
    begun = bound(nested(put_float, 0, nested(nested(put_int, 1, length), 0, made)), 2, 0.0)
    times = handles.ignoring(length, 0, BUFFER)
    filled = nested(handles.repeated(one, times), 0, reordered(begun, 0, 0))
    return chain(reordered(filled, 0, 0), method(BUFFER, "array", "byte[]"))


def _tied_at(hits: pl.DataFrame, k: int, place: int) -> list[str]:
    """Return the queries whose hits at indices k - 1 and `place` have equal scores."""
    one, other = (pl.col("score").slice(place, 1).first() for place in (k - 1, place))
    return hits.group_by("query_id").agg(one == other).filter("score")["query_id"].to_list()


def _among() -> JavaObject:
    """Return a handle from doc_ids (one per line) and a bag of words to a query for these docs.

    Only the bag of words scores.
    """
    add, occur = method(BUILDER, "add", BUILDER, QUERY, OCCUR), java(OCCUR)
    docs = nested(bound(add, 2, occur.FILTER), 1, _of_ids())
    docs = nested(docs, 0, handles.constructor(BUILDER))
    both = nested(bound(add, 2, occur.SHOULD), 0, docs)
    return chain(both, method(BUILDER, "build", f"{LUCENE}.search.BooleanQuery"))


def _of_ids() -> JavaObject:
    """Return a handle from doc_ids (one per line) to a query for these docs."""
    refs = handles.each(handles.constructor(REF, "java.lang.CharSequence"))
    terms = handles.constructor(f"{LUCENE}.search.TermInSetQuery", STRING, "java.util.Collection")
    return chain(refs, bound(terms, 0, ID_FIELD))


def _own_terms(analyzer: JavaObject) -> JavaObject:
    """Return a handle from a query's text to the shares of its terms."""
    counted = static(VECTOR, "fromTerms", VECTOR, LIST)
    return chain(analysis.listed(analyzer), counted, method(VECTOR, "scaleToUnitL1Norm", VECTOR))


def reranker(analyzer: JavaObject, docs: int = 1, terms: int = 1) -> JavaObject:
    """Return a handle that makes an Rm3Reranker for so many feedback docs and terms.

    Java makes one for each query, because one that Python holds costs 0.4 seconds once.
    """
    taken = ANALYZER, "java.lang.Class", STRING, "int", "int", "float", "boolean", "boolean"
    made = handles.constructor(RERANKER, *taken)
    return bound(made, 0, analyzer, None, CONTENTS, terms, docs, 0.5, False, True)


def _relevance_model(analyzer: JavaObject, reader: JavaObject, docs: int, terms: int) -> JavaObject:
    """Return a handle from feedback docs to the weights of their best terms."""
    estimate = handles.private(RERANKER, "estimateRelevanceModel")
    made = nested(estimate, 0, reranker(analyzer, docs, terms))
    return bound(made, 1, reader, False, False)


def _interpolated(weight: float) -> JavaObject:
    """Return a handle from own terms and a relevance model to RM3's query.

    `weight` is the weight of the own terms.
    """
    mixed = static(VECTOR, "interpolate", VECTOR, VECTOR, VECTOR, "float")
    query = method(GENERATOR, "buildQuery", QUERY, STRING, "java.util.Map")
    of_weights = bound(query, 0, java(GENERATOR)(), CONTENTS)
    return chain(bound(mixed, 2, weight), handles.field(VECTOR, "features"), of_weights)
