"""Expand queries by RM3 as Anserini estimates and interpolates it.

Used by `residuum.lucene.anserini`; no command of its own. Source: Anserini's Rm3Reranker, whose
own search is left aside because it rounds scores to four decimals and shifts tied ones.
Each function returns a Java method as `handles` composes it. Must not know splits, qrels or which
setting is best.
"""

from residuum.lucene import handles
from residuum.lucene.handles import LIST, STRING, bound, boxed, chain, method, static
from residuum.lucene.indexing import CONTENTS, LUCENE
from residuum.lucene.jvm import JavaObject, java

TERM_FILTER = "[a-z0-9]{2,20}, in at most 10% of the docs"  # fixed in Rm3Reranker
RERANKER = "io.anserini.rerank.lib.Rm3Reranker"
VECTOR = "io.anserini.util.FeatureVector"
DOCS = "io.anserini.search.ScoredDocs"
ANALYZER = f"{LUCENE}.analysis.Analyzer"


def own_terms(analyzer: JavaObject) -> JavaObject:
    """From a query's text to the share of each of its terms."""
    analyze = static("io.anserini.analysis.AnalyzerUtils", "analyze", LIST, ANALYZER, STRING)
    counted = static(VECTOR, "fromTerms", VECTOR, LIST)
    return chain(bound(analyze, 0, analyzer), counted, method(VECTOR, "scaleToUnitL1Norm", VECTOR))


def feedback_docs(lucene: JavaObject) -> JavaObject:
    """From the first hits of a query to the docs that a relevance model is estimated from."""
    hits, searcher = f"{LUCENE}.search.TopDocs", f"{LUCENE}.search.IndexSearcher"
    return bound(static(DOCS, "fromTopDocs", DOCS, hits, searcher), 1, lucene)


def relevance_model(analyzer: JavaObject, reader: JavaObject, docs: int, terms: int) -> JavaObject:
    """From feedback docs to the weights of their best terms.

    Java makes a reranker for each query, because one that Python holds costs 0.4 seconds once.
    """
    no, yes = boxed("Boolean", False), boxed("Boolean", True)
    sizes = boxed("Integer", terms), boxed("Integer", docs), boxed("Float", 0.5)
    taken = ANALYZER, "java.lang.Class", STRING, "int", "int", "float", "boolean", "boolean"
    made = handles.constructor(RERANKER, *taken)
    made = bound(made, 0, analyzer, None, CONTENTS, *sizes, no, yes)
    estimate = handles.private(RERANKER, "estimateRelevanceModel")
    return bound(handles.nested(estimate, 0, made), 1, reader, no, no)


def expanded(weight: float) -> JavaObject:
    """From own terms and a relevance model to RM3's query; `weight` is that of the own terms."""
    mixed = static(VECTOR, "interpolate", VECTOR, VECTOR, VECTOR, "float")
    generator = "io.anserini.search.query.BagOfWordsQueryGenerator"
    query = method(generator, "buildQuery", f"{LUCENE}.search.Query", STRING, "java.util.Map")
    of_weights = bound(query.bindTo(java(generator)()), 0, CONTENTS)
    terms = handles.field(VECTOR, "features")
    return chain(bound(mixed, 2, boxed("Float", weight)), terms, of_weights)
