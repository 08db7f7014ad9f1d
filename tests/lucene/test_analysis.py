"""BM25 over wordpieces and their pairs: terms and scores by hand, the same in docs and queries."""

import json
import math
from collections import Counter
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from corpora import form, hits, make_corpus, spec
from residuum import lexical, negatives, termvectors
from residuum.artefacts import files, intact, trec
from residuum.artefacts.shards import read
from residuum.cli.errors import ResiduumError
from residuum.config import entries
from residuum.config.schema.systems import LexicalSystem
from residuum.lucene import indexing
from residuum.vectors import products

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "river", "bank", "##s", "un", "##lock"]
PIECES += ["the", "##ed", "a", "b", ".", "_", "cafe", "ring"]
DOCS = [
    ("d1", "The Rivers, the BANK."),
    ("d2", "unlocked river_banks unlocked"),
    ("d3", "bank river bank rivers"),
    ("d4", " \t\n "),
    ("d5", "Café a b a b _ . ring"),
    ("d6", "xylophone the the"),
]
UNI, BI = {"wordpieces": "bert"}, {"wordpieces": "bert", "ngrams": 2}
BM25 = {"k1": 1.5, "b": 0.75}
K1, B = BM25["k1"], BM25["b"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tokenizer, a corpus, an index of it by unigrams and one with bigrams."""
    from transformers import BertTokenizer

    folder = tmp_path_factory.mktemp("wordpieces")
    tokenizer = BertTokenizer(vocab={piece: n for n, piece in enumerate(PIECES)})
    tokenizer.save_pretrained(folder / "model")
    make_corpus(folder / "corpus", DOCS)
    for name, analysis in (("uni", UNI), ("bi", BI)):
        made = form(analysis)
        lexical.index(folder / "corpus", made, folder / name, vocabulary=str(folder / "model"))
    return folder


@cache
def tokenizer(folder: Path) -> Any:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(folder / "model")


def terms(folder: Path, text: str, ngrams: int) -> list[str]:
    """Cut a text by the class that made the tokenizer, as a reader of the paper would."""
    pieces = tokenizer(folder).tokenize(text)
    pairs = [f"{one}␣{other}" for one, other in pairwise(pieces)]
    return pieces + pairs * (ngrams - 1)


def bm25(folder: Path, query: str, ngrams: int) -> dict[str, float]:
    """Score all docs by the formula, in double precision."""
    counts = {doc_id: Counter(terms(folder, text, ngrams)) for doc_id, text in DOCS}
    counts = {doc_id: own for doc_id, own in counts.items() if own}
    lengths = {doc_id: own.total() for doc_id, own in counts.items()}
    mean = sum(lengths.values()) / len(lengths)
    scores = dict.fromkeys(counts, 0.0)
    for term in terms(folder, query, ngrams):
        df = sum(term in own for own in counts.values())
        idf = math.log(1 + (len(counts) - df + 0.5) / (df + 0.5))
        for doc_id, own in counts.items():
            norm = K1 * (1 - B + B * lengths[doc_id] / mean)
            scores[doc_id] += idf * own[term] / (own[term] + norm)
    return {doc_id: score for doc_id, score in scores.items() if score}


def test_terms_are_what_the_tokenizer_says(folder: Path) -> None:
    assert terms(folder, "Rivers unlocked", 1) == ["river", "##s", "un", "##lock", "##ed"]
    assert terms(folder, "xylophone", 1) == ["[UNK]"]
    assert terms(folder, "a b a", 2) == ["a", "b", "a", "a␣b", "b␣a"]


@pytest.mark.parametrize("query", ["rivers", "the BANKS.", "unlocked", "b a", "river_bank", "cafe"])
@pytest.mark.parametrize(("name", "ngrams"), [("uni", 1), ("bi", 2)])
def test_scores_are_bm25_over_these_terms(folder: Path, name: str, ngrams: int, query: str) -> None:
    scores = hits(folder / name, query, analysis=BI if ngrams == 2 else UNI, bm25=BM25)
    assert scores and scores == pytest.approx(bm25(folder, query, ngrams), rel=1e-6)


def test_pairs_tell_an_order_of_words_that_unigrams_do_not(folder: Path) -> None:
    asked = ("river bank", "bank river")
    uni = [hits(folder / "uni", query, analysis=UNI) for query in asked]
    assert uni[0] == uni[1] and {*uni[0]} == {"d1", "d2", "d3"}
    bi = [hits(folder / "bi", query, analysis=BI) for query in asked]
    assert bi[0]["d3"] < bi[1]["d3"]  # it has the one pair once and the other twice
    assert bi[0]["d2"] == bi[1]["d2"]  # it has neither


def test_a_doc_without_terms_is_left_out_and_scores_0(folder: Path, tmp_path: Path) -> None:
    assert (folder / "uni" / "left_out.txt").read_text() == "d4\n"
    queries, run = tmp_path / "q.tsv", tmp_path / "other.trec.gz"
    trec.write_queries(queries, [("q", "river")])
    frame = pl.DataFrame({"query_id": ["q", "q"], "doc_id": ["d4", "d1"], "score": [2.0, 1.0]})
    trec.write_run(run, trec.rank(frame), "other")
    asked = spec(analysis=UNI, bm25=BM25)
    lexical.score(folder / "uni", queries, [run], asked, "uni", tmp_path / "s.trec.gz")
    scored = dict(trec.read_run(tmp_path / "s.trec.gz").select("doc_id", "score").iter_rows())
    assert scored["d4"] == 0 and scored["d1"] == pytest.approx(
        bm25(folder, "river", 1)["d1"], abs=1e-6
    )


@pytest.mark.parametrize(("name", "analysis"), [("uni", UNI), ("bi", BI)])
def test_vectors_have_these_terms_and_scores(
    folder: Path, tmp_path: Path, name: str, analysis: dict[str, object]
) -> None:
    model = {"kind": "lexical-vectors", "system": json.loads(spec(analysis=analysis, bm25=BM25))}
    asked = ["the river banks", "a b"]
    trec.write_queries(tmp_path / "q.tsv", [(str(n), text) for n, text in enumerate(asked)])
    index, form = folder / name, json.dumps(model)
    termvectors.weigh_docs(index, folder / "corpus", 0, 1, form, tmp_path / "d")
    termvectors.weigh_queries(index, [f"dev={tmp_path / 'q.tsv'}"], form, tmp_path / "q")
    docs, queries = read(tmp_path / "d"), read(tmp_path / "q" / "dev")
    assert {term for _, text in DOCS for term in terms(folder, text, len(analysis))} == {*docs[1]}
    for number, text in enumerate(asked):
        every = range(len(docs[0]))
        own = products.pairs(queries, docs, [number] * len(docs[0]), [*every])
        scores = {doc: score for doc, score in zip(docs[0], own, strict=True) if score}
        assert scores == pytest.approx(bm25(folder, text, len(analysis)), rel=1e-6)


def test_an_index_is_searched_wherever_its_model_went(folder: Path, tmp_path: Path) -> None:
    facts = lexical.index_record(folder / "bi")
    assert facts["analysis"] == {"wordpieces": "bert", "ngrams": 2}
    assert facts["analyzer"].endswith("WhitespaceAnalyzer")
    own = (folder / "bi" / "tokenizer.json").read_bytes()
    assert own == (folder / "model" / "tokenizer.json").read_bytes()
    assert intact.recorded(folder / "bi" / "tokenizer.json") is not None


def test_a_tokenizer_that_changed_is_refused(folder: Path, tmp_path: Path) -> None:
    lexical.index(
        folder / "corpus", form(UNI), tmp_path / "index", vocabulary=str(folder / "model")
    )
    path = tmp_path / "index" / "tokenizer.json"
    files.write_text(path, path.read_text().replace('"river"', '"stone"'))
    with pytest.raises(ResiduumError, match=r"tokenizer\.json: not the file that was made"):
        hits(tmp_path / "index", "river", analysis=UNI)


def test_a_model_and_an_analysis_must_fit(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    corpus, output = folder / "corpus", tmp_path / "index"
    with pytest.raises(ResiduumError, match="terms are bert-2grams: name its model with --voc"):
        lexical.index(corpus, form(BI), output)
    with pytest.raises(ResiduumError, match="terms are en-porter-lucene: leave out --vocabulary"):
        lexical.index(corpus, form(), output, vocabulary=str(folder / "model"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(ResiduumError, match=r"empty: it has no tokenizer\.json.*save_pretrained"):
        lexical.index(corpus, form(UNI), output, vocabulary=str(tmp_path / "empty"))
    with pytest.raises(ResiduumError, match=r"no tokenizer\.json of 'no/model': not a directory"):
        lexical.index(corpus, form(UNI), output, vocabulary="no/model", revision="main")
    assert not output.exists()
    with pytest.raises(ResiduumError, match=r"made as bert-1grams .* requires bert-2grams"):
        hits(folder / "uni", "river", analysis=BI)


@pytest.mark.parametrize("more", [{"rm3": {"value": None}}, {"boosts": {"title": 1.0}}])
def test_what_knows_words_alone_is_refused(more: dict[str, object]) -> None:
    entry = json.loads(spec(analysis=UNI)) | more
    if "rm3" in more:
        value = {"feedback_docs": 1, "feedback_terms": 1, "original_query_weight": 0.5}
        entry["rm3"] = {"value": value}
    with pytest.raises(ValueError, match=r"analysis\.wordpieces: without boosts, term_weights and"):
        entries.validate("x.yaml", entry, LexicalSystem)


def test_faults_of_an_analysis_are_of_its_own_form() -> None:
    entry = json.loads(spec(analysis={"wordpieces": "bert", "ngrams": 3}))
    with pytest.raises(ValueError, match=r"x\.yaml: analysis\.(Wordpieces\.)?ngrams") as found:
        entries.validate("x.yaml", entry, LexicalSystem)
    assert "stemmer" not in str(found.value)
    entry = json.loads(spec(analysis={"stemmer": "porter", "stopwords": "none", "ngrams": 2}))
    with pytest.raises(ValueError, match="ngrams: unknown key; valid: language, stemmer, stopw"):
        entries.validate("x.yaml", entry, LexicalSystem)


def test_a_text_that_its_terms_make_too_long_is_refused(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexing, "MOST_TEXT", 30)
    corpus = make_corpus(tmp_path / "corpus", [("d1", "a.a.a."), ("d2", "a.a.a." * 3)])
    with pytest.raises(ResiduumError, match="doc d2 is too long to index: Lucene takes"):
        lexical.index(corpus, form(UNI), tmp_path / "i", vocabulary=str(folder / "model"))


def test_negatives_are_scored_by_it(folder: Path, tmp_path: Path) -> None:
    queries, qrels = tmp_path / "q.tsv", tmp_path / "qrels.tsv"
    trec.write_queries(queries, [("q", "rivers")])
    trec.write_qrels(qrels, [("q", "d1", 1)])
    pools = {"errors": {"kind": "hits", "system": "uni", "top": 10}}
    drawn = {"pools": pools, "scores": "uni", "per_pair": 2}
    asked = {"negatives": drawn, "system": json.loads(spec(analysis=UNI, bm25=BM25))}
    output = tmp_path / "tuples.jsonl.gz"
    negatives.mine(
        folder / "corpus", queries, qrels, json.dumps(asked), output, index=folder / "uni"
    )
    [pair] = [json.loads(line) for line in files.read_lines(output)]
    scores = bm25(folder, "rivers", 1)
    assert {*pair["negatives"]} == {"d2", "d3"}
    own = [scores[doc_id] for doc_id in pair["negatives"]]
    assert pair["negative_scores"] == pytest.approx(own, abs=1e-6)
