"""BioASQ's words, and queries whose terms count once: terms and scores by hand."""

import json
import math
from collections import Counter

import pytest

from corpora import form, hits, make_corpus, spec
from residuum import lexical, termvectors
from residuum.artefacts import trec
from residuum.artefacts.shards import read
from residuum.config import entries
from residuum.config.schema.systems import LexicalSystem
from residuum.lucene import analysis, indexing
from residuum.vectors import products

BIOCLEAN = {"words": "bioclean"}
BM25 = {"k1": 1.5, "b": 0.75}
QUERY = 'Is "TGF-β1/SMAD" (p.R53H) <0.05 = non-small-cell @ 5\N{NO-BREAK SPACE}mg; IL-2?'
CLEANED = ["is", "tgf-β1smad", "pr53h", "005", "non-small-cell", "5", "mg", "il-2"]
DOCS = [
    ("d1", "IL-2 and (IL-2) in non-small-cell lung cancer."),
    ("d2", "The effect of IL2; the IL-2 receptor: [A1]"),
    ("d3", "p.R53H mutations \N{EM DASH} of 5\N{NO-BREAK SPACE}mg"),
    ("d4", '.,;:?!"'),
]


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bioclean")
    lexical.index(make_corpus(folder / "corpus", DOCS), form(BIOCLEAN), folder / "index")
    return folder / "index"


def words(text):
    """Clean a text letter by letter: what is neither kept nor white space goes."""
    gone = {*"\"'/\\.,?;*!%^&_+():<=>@[]{}"}
    return "".join(letter for letter in text.lower() if letter not in gone).split()


def test_words_are_those_of_the_published_expression():
    assert [*analysis.bioclean([QUERY])] == [" ".join(CLEANED)]
    assert words(QUERY) == CLEANED
    assert [*analysis.bioclean(["A_b#c$d~e|f`g"])] == ["ab#c$d~e|f`g"]


def test_lucene_has_these_words_and_no_others(index):
    known = Counter(word for _, text in DOCS for word in words(text))
    counts = indexing.statistics(index / "lucene", form_of())
    assert counts["unique_terms"] == len(known)
    assert counts["total_terms"] == known.total()
    assert (index / "left_out.txt").read_text() == "d4\n"


def form_of():
    from residuum.config.schema.analyses import IndexForm

    return IndexForm.model_validate({"analysis": BIOCLEAN})


def bm25(query):
    """Score all docs by the formula, in double precision; a term counts as often as given."""
    counts = {doc_id: Counter(words(text)) for doc_id, text in DOCS if words(text)}
    mean = sum(own.total() for own in counts.values()) / len(counts)
    scores = dict.fromkeys(counts, 0.0)
    for term in query:
        df = sum(term in own for own in counts.values())
        idf = math.log(1 + (len(counts) - df + 0.5) / (df + 0.5))
        for doc_id, own in counts.items():
            norm = BM25["k1"] * (1 - BM25["b"] + BM25["b"] * own.total() / mean)
            scores[doc_id] += idf * own[term] / (own[term] + norm)
    return {doc_id: score for doc_id, score in scores.items() if score}


@pytest.mark.parametrize("query", ["IL-2!", "p.R53H 5\N{NO-BREAK SPACE}mg", "il-2 the IL-2, [a1]"])
@pytest.mark.parametrize("how", ["counted", "binary"])
def test_scores_are_bm25_over_the_terms_of_a_query_counted_or_once(index, tmp_path, query, how):
    terms = words(query) if how == "counted" else [*dict.fromkeys(words(query))]
    expected = bm25(terms)
    options = {"analysis": BIOCLEAN, "bm25": BM25, "query_terms": how}
    assert hits(index, query, **options) == pytest.approx(expected, rel=1e-6) and expected
    trec.write_queries(tmp_path / "q.tsv", [("q", query)])
    model = json.dumps({"kind": "lexical-vectors", "system": json.loads(spec(**options))})
    termvectors.weigh_docs(index, index.parent / "corpus", 0, 1, model, tmp_path / "d")
    termvectors.weigh_queries(index, [f"dev={tmp_path / 'q.tsv'}"], model, tmp_path / "q")
    docs, queries = read(tmp_path / "d"), read(tmp_path / "q" / "dev")
    own = products.pairs(queries, docs, [0] * len(docs[0]), [*range(len(docs[0]))])
    scores = {doc: score for doc, score in zip(docs[0], own, strict=True) if score}
    assert scores == pytest.approx(expected, rel=1e-6)


def test_what_does_not_go_together_is_refused():
    lucene = json.loads(spec()) | {"query_terms": "binary"}
    with pytest.raises(ValueError, match="query_terms: binary goes with wordpieces or bioclean"):
        entries.validate("x.yaml", lucene, LexicalSystem)
    boosted = json.loads(spec(analysis=BIOCLEAN)) | {"boosts": {"title": 1.0}}
    with pytest.raises(ValueError, match=r"analysis\.words: without boosts"):
        entries.validate("x.yaml", boosted, LexicalSystem)
