"""BM25 as vectors: their products are Lucene's scores, on texts with all that may go wrong."""

from pathlib import Path

import numpy as np
import pytest

from corpora import make_corpus
from residuum.cli.errors import ResiduumError
from residuum.config.schema.analyses import IndexForm
from residuum.config.schema.systems import LexicalSystem
from residuum.lucene import indexing
from residuum.lucene.anserini import Searcher
from residuum.lucene.termweights import Weighed, Weigher

ANALYSIS = {"language": "en", "stemmer": "porter", "stopwords": "lucene"}
DOCS = [
    ("d1", "The river bank: rivers flow, and the river floods its banks."),
    ("d2", "Flour, bread and baking"),
    ("d3", "bread " * 700 + "flour"),  # a length that a byte does not tell from its neighbours
    ("d4", "the of and"),  # stop words alone
    ("d5", "Überraschung naïve café 12,5 o'clock"),
    ("d6", "river"),
    *((f"f{i}", " ".join(f"word{i % n}" for n in range(1, 3 + 7 * i))) for i in range(1, 40)),
]
RM3 = {"feedback_docs": 5, "feedback_terms": 10, "original_query_weight": 0.5}
QUERIES = [
    ("q1", "river banks"),
    ("q2", "bread bread flour"),  # a term twice
    ("q3", "word1 word2 river unknownterm"),
    ("q4", "the of"),
    ("q5", "café überraschung 12,5 clock"),
]


def system(**changes: object) -> LexicalSystem:
    base = {"kind": "lexical", "label": "", "analysis": ANALYSIS, "bm25": {"k1": 0.9, "b": 0.4}}
    return LexicalSystem.model_validate({**base, "k": 100, **changes})


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bm25")
    corpus = make_corpus(folder / "corpus", DOCS)
    form = IndexForm.model_validate({"analysis": ANALYSIS})
    indexing.build(corpus, form, None, 1, folder / "lucene")
    return folder / "lucene"


def products(queries: Weighed, docs: Weighed) -> np.ndarray:
    """Multiply by terms' names: (queries, docs)."""
    own = {term: number for number, term in enumerate(docs.terms)}
    result = np.zeros((queries.rows.shape[0], docs.rows.shape[0]))
    dense, asked = docs.rows.toarray().astype(np.float64), queries.rows.toarray()
    for number, term in enumerate(queries.terms):
        result += np.outer(asked[:, number], dense[:, own[term]])
    return result


@pytest.mark.parametrize(("k1", "b", "threads"), [(0.9, 0.4, 1), (0.6, 0.8, 2), (1.2, 0.0, 1)])
def test_a_product_is_lucenes_score(index: Path, k1: float, b: float, threads: int) -> None:
    own = system(bm25={"k1": k1, "b": b})
    weigher = Weigher(index, own, threads)
    scores = products(
        weigher.queries(text for _, text in QUERIES), weigher.docs(text for _, text in DOCS)
    )
    hits = Searcher(index, own).score((q, text, [d for d, _ in DOCS]) for q, text in QUERIES)
    expected = {(q, d): score for q, d, score in hits.iter_rows()}
    assert len(expected) == len(QUERIES) * len(DOCS) and max(expected.values()) > 3
    for row, (query_id, _) in zip(scores, QUERIES, strict=True):
        lucene = [expected[query_id, doc_id] for doc_id, _ in DOCS]
        np.testing.assert_allclose(row, lucene, rtol=1e-5)


def test_weights_are_the_formulas_by_hand(index: Path) -> None:
    weigher = Weigher(index, system())
    terms, rows = weigher.docs(["river river bread", ""])
    assert (terms, rows.shape, rows.dtype) == (["bread", "river"], (2, 2), np.float32)
    counts = indexing.statistics(index, IndexForm.model_validate({"analysis": ANALYSIS}))
    of, total = int(str(counts["non_empty_documents"])), int(str(counts["total_terms"]))
    assert of == len(DOCS) - 1, "one doc has stop words alone"
    mean = total / of
    norm = 0.9 * (0.6 + 0.4 * 3 / mean)
    assert rows.toarray()[0] == pytest.approx([1 / (1 + norm), 2 / (2 + norm)], rel=1e-5)
    assert not rows.toarray()[1].any()
    terms, rows = weigher.queries(["bread bread river"])
    expected = [2 * np.log(1 + (of - 2 + 0.5) / 2.5), np.log(1 + (of - 2 + 0.5) / 2.5)]
    assert terms == ["bread", "river"]
    assert rows.toarray()[0] == pytest.approx(expected, rel=1e-6)


def test_parts_give_what_the_whole_gives(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [text for _, text in DOCS]
    whole = Weigher(index, system()).docs(texts)
    monkeypatch.setattr("residuum.lucene.termweights.TEXTS_AT_ONCE", 7)
    parts = Weigher(index, system()).docs(texts)
    assert parts.terms == whole.terms
    np.testing.assert_array_equal(parts.rows.toarray(), whole.rows.toarray())


@pytest.mark.parametrize(
    "changes", [{"boosts": {"title": 1.0}}, {"term_weights": "deepct"}, {"rm3": {"value": RM3}}]
)
def test_systems_that_are_no_product_of_texts_are_refused(
    index: Path, changes: dict[str, object]
) -> None:
    with pytest.raises(ResiduumError, match="without boosts, joined, term_weights and rm3"):
        Weigher(index, system(**changes))
