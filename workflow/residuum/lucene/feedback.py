"""Expand queries by RM3 as Anserini estimates and interpolates it.

Used by `residuum.lucene.anserini`; no command of its own. Source: Anserini's Rm3Reranker, whose
own search is left aside because it rounds scores to four decimals and shifts tied ones.
Must not know splits, qrels or which setting is best.
"""

from typing import Any

from residuum.lucene import handles
from residuum.lucene.handles import bound, constructor, nested, virtual
from residuum.lucene.indexing import CONTENTS
from residuum.lucene.jvm import start

TERM_FILTER = "[a-z0-9]{2,20}, in at most 10% of the docs"  # fixed in Rm3Reranker
RERANKER = "io.anserini.rerank.lib.Rm3Reranker"
VECTOR = "io.anserini.util.FeatureVector"
SCORED = "io.anserini.search.ScoredDocs"
BUILDER = "org.apache.lucene.search.BooleanQuery$Builder"
SEARCH = "org/apache/lucene/search"  # as method descriptors write it
STRING = "Ljava/lang/String;"
A_VECTOR, A_BUILDER = f"L{VECTOR};".replace(".", "/"), f"L{BUILDER};".replace(".", "/")


class Feedback:
    """RM3 in three steps, of which tuning repeats only the later ones for each setting."""

    def __init__(self, lucene: Any, analyzer: Any, workers: handles.Workers) -> None:
        self._lucene, self._analyzer, self._workers = lucene, analyzer, workers
        self._expand = _expansion()

    def first(self, texts: list[str], queries: list[Any], search: Any) -> Any:
        """Return a pair for each query: its own terms' weights, and the docs that it finds."""
        descriptor = f"(L{SEARCH}/TopDocs;L{SEARCH}/IndexSearcher;)L{SCORED.replace('.', '/')};"
        found = bound(handles.static(SCORED, "fromTopDocs", descriptor), 1, self._lucene)
        paired = handles.pairing(self._own_terms(), handles.chain(search, found))
        asked = (handles.pair(*each) for each in zip(texts, queries, strict=True))
        return self._workers.map(handles.of_pair(paired), handles.objects(asked))

    def _own_terms(self) -> Any:
        """Return a handle from a text to the share of each of its terms."""
        analyze = handles.static(
            "io.anserini.analysis.AnalyzerUtils",
            "analyze",
            f"(Lorg/apache/lucene/analysis/Analyzer;{STRING})Ljava/util/List;",
        )
        counted = handles.static(VECTOR, "fromTerms", f"(Ljava/util/List;){A_VECTOR}")
        scaled = virtual(VECTOR, "scaleToUnitL1Norm", f"(){A_VECTOR}")
        return handles.chain(bound(analyze, 0, self._analyzer), counted, scaled)

    def models(self, firsts: Any, docs: int, terms: int) -> Any:
        """Estimate each query's relevance model; takes and returns pairs with its own terms."""
        model = start()(RERANKER)(
            *(self._analyzer, None, CONTENTS, terms, docs, 0.5, False, True),
        )
        reader, no = self._lucene.getIndexReader(), start()("java.lang.Boolean")(False)
        estimate = bound(handles.hidden(RERANKER, "estimateRelevanceModel"), 0, model)
        paired = handles.second_of_pair(bound(estimate, 1, reader, no, no))
        return self._workers.map(paired, firsts)

    def query(self, weight: float) -> Any:
        """Return a handle from a pair of `models` to the query that RM3 searches with."""
        return handles.of_pair(bound(self._expand, 2, start()("java.lang.Float")(weight)))


def _expansion() -> Any:
    """Return a handle from own terms, relevance model and weight to the query."""
    mixed = handles.static(VECTOR, "interpolate", f"({A_VECTOR}{A_VECTOR}F){A_VECTOR}")
    return handles.chain(mixed, _query_of_vector())


def _query_of_vector() -> Any:
    """Return a handle that makes one optional clause of each term, boosted by its weight."""
    iterator = virtual(VECTOR, "iterator", "()Ljava/util/Iterator;")
    added = virtual(BUILDER, "add", f"(L{SEARCH}/Query;L{SEARCH}/BooleanClause$Occur;){A_BUILDER}")
    should = start()("org.apache.lucene.search.BooleanClause$Occur").SHOULD
    body = nested(bound(added, 2, should), 1, _boosted())
    looped = handles.each(iterator, constructor(BUILDER, "()V"), body)
    return handles.chain(looped, virtual(BUILDER, "build", f"()L{SEARCH}/BooleanQuery;"))


def _boosted() -> Any:
    """Return a handle from (term, vector) to the query of the term with its weight there."""
    term = bound(constructor("org.apache.lucene.index.Term", f"({STRING}{STRING})V"), 0, CONTENTS)
    query = constructor("org.apache.lucene.search.TermQuery", "(Lorg/apache/lucene/index/Term;)V")
    boost = constructor("org.apache.lucene.search.BoostQuery", f"(L{SEARCH}/Query;F)V")
    weight = virtual(VECTOR, "getValue", f"({STRING})F")
    of_both = nested(nested(boost, 1, weight), 0, handles.chain(term, query))
    taken = f"({STRING}{A_VECTOR})L{SEARCH}/BoostQuery;"
    return handles.reordered(of_both, taken, 0, 1, 0)
