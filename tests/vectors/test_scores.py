"""Queries with several vectors: MaxSim by plain loops, exact and approximate, in shards."""

from functools import partial
from typing import Any

import numpy as np
import polars as pl
import pytest

from residuum.artefacts import trec
from residuum.config.schema.search import Search
from residuum.vectors import exact, hybrid, nearest, scores
from residuum.vectors.approximate import SEARCHES

Texts = list[np.ndarray]


def unit(random: np.random.Generator, count: int) -> np.ndarray:
    rows = random.normal(size=(count, 12)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def texts(seed: int, count: int, most: int) -> Texts:
    """Return vectors of texts, 1 to `most` for each, of length 1."""
    random = np.random.default_rng(seed)
    return [unit(random, random.integers(1, most + 1)) for _ in range(count)]


def shard(name: str, some: Texts, first: int = 0) -> scores.Shard:
    ids = [f"{name}{first + n:03d}" for n, rows in enumerate(some) for _ in rows]
    return ids, np.concatenate(some)


DOCS, QUERIES = texts(1, 300, 9), [*texts(2, 11, 5), *texts(3, 2, 1)]


def loop(query: np.ndarray, doc: np.ndarray) -> float:
    """Return the sum over the query's vectors of the largest product with the doc's."""
    return sum(max(float(np.dot(q.astype(float), d.astype(float))) for d in doc) for q in query)


@pytest.fixture(scope="module")
def expected() -> np.ndarray:
    """Return the scores (queries, docs) by loops."""
    return np.array([[loop(query, doc) for doc in DOCS] for query in QUERIES])


def ranked(frames: Any, k: int) -> pl.DataFrame:
    return trec.rank(nearest.with_ids(pl.concat(frames), shard("q", QUERIES)[0]), k)


def by_loops(expected: np.ndarray, k: int) -> pl.DataFrame:
    rows = [
        (f"q{query:03d}", f"d{doc:03d}", score)
        for query, some in enumerate(expected)
        for doc, score in enumerate(some)
    ]
    return trec.rank(pl.DataFrame(rows, schema=trec.HITS, orient="row"), k)


def how(**keys: Any) -> Search:
    return SEARCHES[keys["kind"]].model_validate(keys)


@pytest.mark.parametrize("tokens", [4, 64, 10_000])
def test_a_search_of_all_docs_finds_those_of_the_loops(
    expected: np.ndarray, tokens: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In blocks of any size; the exact scores are those that the run has."""
    monkeypatch.setattr(scores, "TOKENS_AT_ONCE", tokens)
    index = nearest.Index(shard("d", DOCS), None, "cpu")
    run = ranked(index.search(shard("q", QUERIES), 20), 20)
    assert run.equals(by_loops(expected, 20))
    assert index.compared() == sum(map(len, DOCS)) * sum(map(len, QUERIES))


def test_a_card_finds_the_same_docs(expected: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    """Here torch multiplies on the CPU."""
    monkeypatch.setattr(scores, "_multiply", partial(exact.best_of_each, "cpu"))
    index = nearest.Index(shard("d", DOCS), None, "cpu")
    assert ranked(index.search(shard("q", QUERIES), 20), 20).equals(by_loops(expected, 20))


def test_a_run_does_not_depend_on_the_shards(expected: np.ndarray) -> None:
    parts = [(0, 70), (70, 71), (71, 300)]
    found = [
        frame
        for first, last in parts
        for frame in nearest.Index(shard("d", DOCS[first:last], first), None, "cpu").search(
            shard("q", QUERIES), 20
        )
    ]
    assert ranked(found, 20).equals(by_loops(expected, 20))


@pytest.mark.parametrize(
    "search",
    [
        how(kind="ivf", nlist=8, nprobe=8),
        how(kind="ivf", nlist=8, nprobe=1),
        how(kind="hnsw", ef_search=2000),
    ],
)
@pytest.mark.parametrize("k", [3, 300])
def test_an_approximate_search_scores_the_docs_near_a_vector_exactly(
    expected: np.ndarray, search: Search, k: int
) -> None:
    """As many docs as asked for, also where few lists are probed; their scores are the loops'."""
    index = nearest.Index(shard("d", DOCS), search, "cpu")
    run = ranked(index.search(shard("q", QUERIES), k), k)
    assert run.group_by("query_id").len()["len"].unique().to_list() == [k]
    every = by_loops(expected, 300)
    assert run.join(every, on=[*trec.PAIR, "score"], how="anti").is_empty()
    if k == 300:
        assert run.equals(every)


def test_the_approximate_search_takes_the_docs_of_the_nearest_vectors(
    expected: np.ndarray,
) -> None:
    """With all lists probed: k / 2 of each query vector, twice as many until there are k docs."""
    k, (ids, rows) = 8, shard("d", DOCS)
    index = nearest.Index((ids, rows), how(kind="ivf", nlist=4, nprobe=4), "cpu")
    run = ranked(index.search(shard("q", QUERIES), k), k)
    for number, query in enumerate(QUERIES):
        near, depth = set[str](), k // 2
        while len(near) < k:
            best = [np.argsort(-(rows @ vector))[:depth] for vector in query]
            near, depth = {ids[row] for some in best for row in some}, 2 * depth
        order = sorted(near, key=lambda doc: -expected[number, int(doc[1:])])[:k]
        assert run.filter(query_id=f"q{number:03d}")["doc_id"].to_list() == order


def test_with_an_effort_given_fewer_docs_may_be_found() -> None:
    index = nearest.Index(shard("d", DOCS), how(kind="ivf", nlist=60, nprobe=60), "cpu")
    few = ranked(index.search(shard("q", QUERIES[:2]), 300, effort=1), 300)
    assert 0 < len(few) < 300 and index.compared() > 0


@pytest.mark.parametrize("cuts", [[300], [1, 150, 149]])
def test_pairs_have_the_loops_scores(expected: np.ndarray, cuts: list[int]) -> None:
    ends = np.cumsum(cuts)
    shards = [
        shard("d", DOCS[end - size : end], end - size) for size, end in zip(cuts, ends, strict=True)
    ]
    random = np.random.default_rng(5)
    some = [(n % 13, f"d{doc:03d}") for n, doc in enumerate(random.permutation(300)[:90])]
    pairs = pl.DataFrame(some, schema=["query", "doc_id"], orient="row")
    made = nearest.pair_scores(shards, shard("q", QUERIES), pairs)
    assert made.select("query", "doc_id").equals(pairs)
    for query, doc, score in made.iter_rows():
        assert score == pytest.approx(expected[query, int(doc[1:])], abs=1e-9)
    with pytest.raises(nearest.ResiduumError, match="d999 has no vector"):
        lost = pl.DataFrame({"query": [0], "doc_id": ["d999"]})
        nearest.pair_scores(shards, shard("q", QUERIES), lost)


def test_a_hybrid_adds_the_scores_of_its_parts(expected: np.ndarray) -> None:
    """A late model and one with a vector for each text, whose shards are cut elsewhere."""
    single = [texts(6, 300, 1), texts(7, 13, 1)]
    plain = np.concatenate(single[1]) @ np.concatenate(single[0]).T
    queries = [shard("q", QUERIES), shard("q", single[1])]
    parts = [
        [hybrid.docs_of(shard("d", DOCS[:100]), queries[0]),
         hybrid.docs_of(shard("d", DOCS[100:], 100), queries[0])],
        [hybrid.docs_of(shard("d", single[0]), queries[1])],
    ]  # fmt: skip
    hits = hybrid.search(hybrid.in_blocks(parts, 15), queries, [[1.0, 3.0], [0.5, 1.0]], 15)
    for weight, (late, other) in enumerate([(1.0, 3.0), (0.5, 1.0)]):
        found = hits.filter(weight=weight).select("query", "doc_id", "score")
        total = by_loops(late * expected + other * plain.astype(float), 15)
        assert ranked([found], 15).select(trec.PAIR).equals(total.select(trec.PAIR))


def test_a_query_of_one_vector_scores_by_the_best_vector_of_a_doc() -> None:
    """Both ways to score agree: of queries with one vector each, and among others with more."""
    one = texts(8, 4, 1)
    assert len(QUERIES[0]) > 1
    pairs = pl.DataFrame({"query": [0, 1, 2, 3], "doc_id": ["d004", "d200", "d017", "d299"]})
    alone = nearest.pair_scores([shard("d", DOCS)], shard("q", one), pairs)
    beside = nearest.pair_scores([shard("d", DOCS)], shard("q", [*one, QUERIES[0]]), pairs)
    np.testing.assert_allclose(alone["score"], beside["score"], atol=1e-12)
