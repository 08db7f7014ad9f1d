"""Expand queries by RM3 as Anserini estimates and interpolates it.

Used by `residuum.lucene.anserini`; no command of its own. Source: Anserini's Rm3Reranker, whose
own search is left aside because it rounds scores to four decimals and shifts tied ones.
Must not know splits, qrels or which setting is best.
"""

from residuum.lucene.handles import (
    bound,
    boxed,
    chain,
    constructor,
    field,
    nested,
    private,
    static,
    virtual,
)
from residuum.lucene.indexing import CONTENTS, SEARCH
from residuum.lucene.jvm import JavaObject, java

TERM_FILTER = "[a-z0-9]{2,20}, in at most 10% of the docs"  # fixed in Rm3Reranker
RERANKER = "io.anserini.rerank.lib.Rm3Reranker"
VECTOR = "io.anserini.util.FeatureVector"
A_VECTOR = "Lio/anserini/util/FeatureVector;"
ANALYZER, STRING = "Lorg/apache/lucene/analysis/Analyzer;", "Ljava/lang/String;"


def own_terms(analyzer: JavaObject) -> JavaObject:
    """Return a handle from a query's text to the share of each of its terms."""
    utils, form = "io.anserini.analysis.AnalyzerUtils", f"({ANALYZER}{STRING})Ljava/util/List;"
    return chain(
        bound(static(utils, "analyze", form), 0, analyzer),
        static(VECTOR, "fromTerms", f"(Ljava/util/List;){A_VECTOR}"),
        virtual(VECTOR, "scaleToUnitL1Norm", f"(){A_VECTOR}"),
    )


def feedback_docs(lucene: JavaObject) -> JavaObject:
    """Return a handle from the first hits of a query to the docs that feedback reads."""
    form = f"(L{SEARCH}/TopDocs;L{SEARCH}/IndexSearcher;)Lio/anserini/search/ScoredDocs;"
    return bound(static("io.anserini.search.ScoredDocs", "fromTopDocs", form), 1, lucene)


def relevance_model(analyzer: JavaObject, reader: JavaObject, docs: int, terms: int) -> JavaObject:
    """Return a handle from the docs of `feedback_docs` to the weights of their best terms.

    The reranker is made anew for each query, in Java: to look at one in Python costs 0.4 seconds.
    """
    no, yes = boxed("Boolean", False), boxed("Boolean", True)
    form = f"({ANALYZER}Ljava/lang/Class;{STRING}IIFZZ)V"
    sizes = boxed("Integer", terms), boxed("Integer", docs), boxed("Float", 0.5)
    made = bound(constructor(RERANKER, form), 0, analyzer, None, CONTENTS, *sizes, no, yes)
    return bound(nested(private(RERANKER, "estimateRelevanceModel"), 0, made), 1, reader, no, no)


def expanded(weight: float) -> JavaObject:
    """Return a handle from own terms and relevance model to the query that RM3 searches with.

    `weight` is that of the own terms.
    """
    mixed = static(VECTOR, "interpolate", f"({A_VECTOR}{A_VECTOR}F){A_VECTOR}")
    generator = "io.anserini.search.query.BagOfWordsQueryGenerator"
    query = virtual(generator, "buildQuery", f"({STRING}Ljava/util/Map;)L{SEARCH}/Query;")
    weighted = bound(query.bindTo(java(generator)()), 0, CONTENTS)
    return chain(bound(mixed, 2, boxed("Float", weight)), field(VECTOR, "features"), weighted)
