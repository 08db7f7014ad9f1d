"""RM3's whole grid at once: every rank is that of a search at each setting alone."""

import random
import re
from collections import Counter
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from corpora import make_index, system
from residuum.artefacts import trec
from residuum.config.schema.settings import Rm3, Rm3Grid
from residuum.lucene import postings as postings_module
from residuum.lucene import ranking
from residuum.lucene.anserini import Searcher
from residuum.lucene.gridsearch import GridSearch
from residuum.lucene.postings import Postings, document_frequencies, scores
from residuum.lucene.relevance import Expanded

GRID = {
    "feedback_docs": [1, 3, 10],
    "feedback_terms": [2, 5, 20],
    "original_query_weight": [0.0, 0.1, 0.5, 0.9, 1.0],
}
NOBODY = pl.DataFrame(schema={"query_id": pl.String, "doc_id": pl.String})


def words(count: int, rng: random.Random) -> list[str]:
    """Return words of letters, among them some that RM3 takes for no feedback term."""
    made = ["".join(rng.choices("bcdfghklmnprst", k=rng.randint(3, 8))) for _ in range(count)]
    return [*made, "é" * 5, "x", "over" * 6, "12"]


def collection(seed: int, docs: int) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return docs of a Zipfian vocabulary, a third of which stand twice or more, and queries."""
    rng = random.Random(seed)
    vocabulary = words(60 if docs < 1000 else 500, rng)
    weights = [1 / (rank + 1) for rank in range(len(vocabulary))]
    texts = [" ".join(rng.choices(vocabulary, weights, k=rng.randint(1, 30))) for _ in range(docs)]
    texts = [rng.choice(texts[: number // 2 + 1]) if rng.random() < 0.3 else text
             for number, text in enumerate(texts)]  # fmt: skip
    numbers = rng.sample(range(docs), docs)  # no order of ids is that of the index
    named = [(f"d{number}", text) for number, text in zip(numbers, texts, strict=True)]
    queries = [" ".join(rng.choices(rng.choice(texts).split(), k=3)) for _ in range(12)]
    queries += ["nothingofit", "the of", f"{queries[0]} {queries[0]} unknownword", "12 12", "x"]
    return named, [(f"q{number:02}", text) for number, text in enumerate(queries)]


@pytest.fixture(scope="module", params=[(1, 40), (2, 300), (3, 3000)], ids=["40", "300", "3000"])
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory):
    """Docs, queries and their index; of 3,000 docs bounds pass most over."""
    docs, queries = collection(*request.param)
    index = make_index(tmp_path_factory.mktemp("grid"), docs)
    return docs, queries, Searcher(index / "lucene", system(), 1)


def searched(searcher: Searcher, queries, setting: Rm3, depth: int, out: pl.DataFrame):
    """Return the ranks of docs by (query_id, doc_id), of a search of all docs at one setting."""
    hits = pl.concat(searcher.search(queries, 5000, setting))
    ranked = trec.rank(hits.join(out, on=trec.PAIR, how="anti"), depth)
    return {(q, d): rank for q, d, rank in ranked.select(*trec.PAIR, "rank").iter_rows()}


@pytest.mark.parametrize(("depth", "without"), [(1, False), (10, True), (10, False), (500, True)])
def test_ranks_and_lengths_are_those_of_a_search_at_each_setting(made, depth, without):
    docs, queries, searcher = made
    rng = random.Random(depth)
    doc_ids = [doc_id for doc_id, _ in docs]
    judged = {query_id: [*rng.sample(doc_ids, 15), "stranger"] for query_id, _ in queries}
    for query_id, drawn in judged.items():  # and hits, with their ties
        hits = pl.concat(searcher.search([(query_id, dict(queries)[query_id])], 20))
        judged[query_id] = [*dict.fromkeys([*drawn, *hits["doc_id"]])]
    out = NOBODY
    if without:
        pairs = [(q, d) for q, ids in judged.items() for d in [*ids[::4], "foreign"]]
        out = pl.DataFrame(pairs, schema=NOBODY.schema, orient="row")
    grid = Rm3Grid(**GRID)
    threads = 1 if without else 3
    ranks = dict(GridSearch(searcher, grid, threads).ranks(queries, judged, depth, out))
    assert [*ranks] == [query_id for query_id, _ in queries]
    seen = 0
    for number, setting in enumerate(grid.settings()):
        alone = searched(searcher, queries, setting, depth, out)
        lengths = Counter(query_id for query_id, _ in alone)
        for query_id, doc_ids in judged.items():
            expected = [alone.get((query_id, doc_id), 0) for doc_id in doc_ids]
            assert ranks[query_id].ranks[number].tolist() == expected, (query_id, setting)
            assert ranks[query_id].lengths[number] == lengths[query_id], (query_id, setting)
            seen += sum(rank > 0 for rank in expected)
    assert seen > 300  # most of them are in reach


def test_a_small_block_and_a_small_sample_change_nothing(made, monkeypatch):
    docs, queries, searcher = made
    judged = {query_id: [doc_id for doc_id, _ in docs[:25]] for query_id, _ in queries}
    grid = Rm3Grid(**GRID)
    whole = dict(GridSearch(searcher, grid).ranks(queries, judged, 2, NOBODY))
    monkeypatch.setattr(ranking, "AT_ONCE", 20)
    monkeypatch.setattr(ranking, "BLOCK", 7)
    monkeypatch.setattr(ranking, "SAMPLE", 3)
    parts = dict(GridSearch(searcher, grid).ranks(queries, judged, 2, NOBODY))
    for query_id, found in whole.items():
        assert found.ranks.tolist() == parts[query_id].ranks.tolist()
        assert found.lengths.tolist() == parts[query_id].lengths.tolist()


@pytest.mark.parametrize("made", [(3, 3000)], ids=["3000"], indirect=True)
def test_bounds_leave_few_docs_to_score(made, monkeypatch):
    """Of 3,000 docs a tenth is scored at every setting where one doc is asked for."""
    docs, queries, searcher = made
    scored, higher = [], ranking._higher

    def counted(weights, docs, *rest):
        scored.append(len(docs))
        return higher(weights, docs, *rest)

    monkeypatch.setattr(ranking, "_higher", counted)
    best = trec.rank(pl.concat(searcher.search(queries, 1)), 1)
    judged = {query_id: [] for query_id, _ in queries}
    judged |= {query_id: [doc_id] for query_id, doc_id in best.select(trec.PAIR).iter_rows()}
    [*GridSearch(searcher, Rm3Grid(**GRID)).ranks(queries, judged, 1, NOBODY)]
    assert len(scored) == len(queries) and sum(scored) < 0.1 * len(docs) * len(queries)


def test_postings_are_the_counts_of_the_docs(made):
    docs, _, searcher = made
    postings = Postings(searcher.reader, searcher.system.bm25)
    counts = [Counter(re.findall(r"\w+", text)) for _, text in docs]
    terms = sorted({term for count in counts for term in count} - {"the", "of"})
    analysed = {term: [*searcher_terms(searcher, term)] for term in terms}
    whole = [term for term in terms if analysed[term] == [term]]  # that the stemmer leaves alone
    assert len(whole) > 20
    names = searcher.doc_ids(range(len(docs)))
    for term, listed in zip(whole, postings.of(whole), strict=True):
        held = {doc_id for (doc_id, _), count in zip(docs, counts, strict=True)
                if any(analysed[word] == [term] for word in count)}  # fmt: skip
        assert {names[doc] for doc in listed.docs.tolist()} == held
        assert (np.diff(listed.docs) > 0).all() and (listed.parts > 0).all()
        assert document_frequencies(searcher.reader, [term]) == [len(held)]
    assert postings.of(["absent"])[0].docs.size == 0


def searcher_terms(searcher: Searcher, text: str) -> list[str]:
    """Return the terms into which a query's text is cut."""
    from residuum.lucene import analysis, handles

    joined = searcher.workers.map(analysis.joined(searcher.analyzer), handles.objects([text]))
    return handles.texts(joined)[0].split()


@pytest.mark.parametrize(("k1", "b"), [(0.9, 0.4), (0.0, 0.5), (2.0, 1.0)])
def test_scores_of_postings_are_lucenes_to_the_last_bit(tmp_path: Path, k1: float, b: float):
    docs, queries = collection(5, 200)
    index = make_index(tmp_path, docs)
    searcher = Searcher(index / "lucene", system(bm25={"k1": k1, "b": b}), 1)
    postings = Postings(searcher.reader, searcher.system.bm25)
    names, checked = searcher.doc_ids(range(len(docs))), 0
    for query_id, text in queries:
        counts = Counter(searcher_terms(searcher, text))
        lucene = dict(pl.concat(searcher.search([(query_id, text)], 200)).rows_by_key("doc_id")
                      ) if counts else {}  # fmt: skip
        parts = np.zeros((len(docs), len(counts)), dtype=np.float32)
        for column, listed in enumerate(postings.of([*counts])):
            parts[listed.docs, column] = listed.parts
        boosts = np.array([*counts.values()], dtype=np.float32)
        own = scores(boosts * postings.idf([*counts]), parts)
        found = {names[doc]: float(score) for doc, score in enumerate(own) if score > 0}
        assert found == {doc_id: rows[0][1] for doc_id, rows in lucene.items()}
        checked += len(found)
    assert checked > 300


def test_postings_that_do_not_fit_are_read_again(made, monkeypatch):
    docs, _, searcher = made
    terms = searcher_terms(searcher, " ".join(text for _, text in docs[:20]))
    terms = [*dict.fromkeys(terms)]
    whole = Postings(searcher.reader, searcher.system.bm25).of(terms)
    monkeypatch.setattr(postings_module, "AT_ONCE", 3)
    monkeypatch.setattr(postings_module, "MOST_KEPT", 5)
    few = Postings(searcher.reader, searcher.system.bm25)
    for _ in range(2):
        for one, other in zip(whole, few.of(terms), strict=True):
            assert one.docs.tolist() == other.docs.tolist()
            assert one.parts.tolist() == other.parts.tolist()


def test_a_doc_that_has_only_terms_of_weight_0_is_no_hit(made):
    """At 1 the feedback terms weigh nothing, and the docs are those of the query itself."""
    _, queries, searcher = made
    setting = Rm3(feedback_docs=3, feedback_terms=5, original_query_weight=1.0)
    alone, mixed = (
        {(q, d) for q, d, _ in pl.concat(searcher.search(queries, 5000, rm3)).iter_rows()}
        for rm3 in (None, setting)
    )
    assert alone == mixed and len(alone) > 100


def test_the_grid_varies_as_its_settings_are_listed():
    settings = Rm3Grid(**GRID).settings()
    assert [tuple(setting.model_dump().values()) for setting in settings] == [
        *product(*GRID.values())
    ]


def test_a_rival_without_a_weighty_term_is_no_tie_of_a_score_that_rounds_to_0():
    """Two docs: the judged one has the one term that weighs, by so little that it rounds to 0."""
    listed = [postings_module.Listed(*arrays) for arrays in (
        (np.array([1], dtype=np.int32), np.array([1.0], dtype=np.float32)),
        (np.array([0], dtype=np.int32), np.array([1.0], dtype=np.float32)),
    )]  # fmt: skip
    own, models = np.array([1.0, 0.0]), np.array([[[0.0, 1.0]]])
    query = Expanded(["a", "b"], own.astype(np.float32), models.astype(np.float32), np.array([1.0]))
    idf = np.full(2, 1e-7, dtype=np.float32)
    counted = ranking.Ranker(2).count(query, idf, listed, np.array([1]), 10)
    assert counted.lengths.tolist() == [1] and not counted.tied()
    assert counted.ranks({}).ranks.tolist() == [[1]]


def test_docs_without_a_term_are_found_by_no_query(tmp_path: Path):
    index = make_index(tmp_path, [("d1", "the of"), ("d2", "of the")])
    searcher = Searcher(index / "lucene", system(), 1)
    [(query_id, found)] = GridSearch(searcher, Rm3Grid(**GRID)).ranks(
        [("q", "the word")], {"q": ["d1"]}, 10, NOBODY
    )
    assert query_id == "q" and not found.ranks.any() and not found.lengths.any()


def test_memory_holds_no_more_postings_than_it_says(made, monkeypatch):
    """Terms that are asked for again and again keep no others in memory."""
    docs, _, searcher = made
    monkeypatch.setattr(postings_module, "AT_ONCE", 400)
    monkeypatch.setattr(postings_module, "MOST_KEPT", 300)
    postings = Postings(searcher.reader, searcher.system.bm25)
    terms = [*dict.fromkeys(searcher_terms(searcher, " ".join(text for _, text in docs)))]
    for term in terms[1:]:
        postings.of([terms[0], term])
    kept = postings._kept.values()
    assert all(array.base is None for listed in kept for array in listed)
    assert sum(len(listed.docs) for listed in kept) == postings._size <= 300
