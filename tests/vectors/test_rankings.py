"""Margins, first docs and turned pairs against dense arrays and loops; theory against draws."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.sparse import csr_array

from residuum.artefacts.termvectors import TermVectors
from residuum.cli.errors import ResiduumError
from residuum.vectors import bounds, rankings
from residuum.vectors.projection import Drawn, project
from residuum.vectors.rankings import Pairs, Rankings, smallest

QUERIES, DOCS, TERMS = 12, 90, 40


def vectors(ids: str, count: int, terms: int, density: float, seed: int) -> TermVectors:
    random = np.random.default_rng(seed)
    values = random.gamma(2, 1, (count, terms)) * (random.random((count, terms)) < density)
    names = [f"t{i:02}" for i in range(terms)]
    rows = csr_array(values.astype(np.float32))
    return TermVectors([f"{ids}{n:02}" for n in range(count)], names, rows)


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> tuple[TermVectors, TermVectors]:
    """Queries and docs; one doc twice, one empty, and some docs to a chunk."""
    monkeypatch.setattr(rankings, "DOCS_AT_ONCE", 16)
    asked, docs = vectors("q", QUERIES, TERMS, 0.1, 1), vectors("d", DOCS, TERMS, 0.2, 2)
    dense = docs.rows.toarray()
    dense[50], dense[7] = dense[20], 0
    return asked, docs._replace(rows=csr_array(dense))


def shards(docs: TermVectors, cuts: tuple[int, ...]) -> list[TermVectors]:
    """Part docs into shards, each with the terms that it has, as they are written."""
    parts = []
    for start, end in pairwise(cuts):
        rows = csr_array(docs.rows[start:end])
        used = np.unique(rows.indices)
        terms = [docs.terms[i] for i in used]
        parts.append(TermVectors(docs.ids[start:end], terms, csr_array(rows[:, used])))
    return parts


def brute(query: np.ndarray, docs: np.ndarray, ids: list[str]) -> tuple[int, dict[str, float]]:
    """Return the first doc of a query, and the margins to others by id, with plain loops."""
    scores = docs.astype(float) @ query.astype(float)
    best = min(range(len(ids)), key=lambda i: (-scores[i], ids[i]))
    shown = {}
    for i, name in enumerate(ids):
        gap = scores[best] - scores[i]
        if gap > 1e-12 * scores[best]:
            distance = np.linalg.norm(docs[best].astype(float) - docs[i])
            shown[name] = gap / (np.linalg.norm(query.astype(float)) * distance)
    return best, shown


@pytest.mark.parametrize("present", [False, True])
def test_margins_are_those_of_plain_loops_in_any_shards(
    given: tuple[TermVectors, TermVectors], present: bool
) -> None:
    asked, docs = given
    queries, dense = (of.rows.toarray() for of in (asked, docs))
    if present:
        queries, dense = (queries > 0).astype(float), (dense > 0).astype(float)
    matched = [n for n in range(QUERIES) if (dense @ queries[n]).max() > 0]
    for cuts in ((0, DOCS), (0, 3, 40, DOCS)):
        ranked = Rankings(asked, shards(docs, cuts), present)
        pool = ranked.pool(np.arange(DOCS))
        shown: dict[tuple[str, str], float] = {}
        for rows, margins in ranked.margins(pool):
            for n, i in zip(*np.nonzero(~np.isnan(margins)), strict=True):
                shown[ranked.query_ids[n], ranked.doc_ids[rows[i]]] = margins[n, i]
        expected = {}
        for n in matched:
            best, own = brute(queries[n], dense, docs.ids)
            place = ranked.query_ids.index(asked.ids[n])
            assert ranked.doc_ids[pool.first[place]] == docs.ids[best]
            expected |= {(asked.ids[n], name): value for name, value in own.items()}
        assert shown == pytest.approx(expected, rel=1e-9)
        assert max(shown.values()) <= 1 + 1e-12
        longest = (queries[matched] > 0).sum(axis=1).max(), (dense > 0).sum(axis=1).max()
        assert ranked.most_terms == longest
    if present:  # Corollary 2's step: a margin that is not 0 is at least this
        assert min(shown.values()) >= (2 * math.prod(ranked.most_terms)) ** -0.5


@pytest.mark.parametrize("distribution", ["rademacher", "gaussian"])
def test_turned_pairs_are_those_of_projected_vectors(
    given: tuple[TermVectors, TermVectors], distribution: str
) -> None:
    asked, docs = given
    ranked, dimensions = Rankings(asked, [docs]), [4, 9, 32]
    pool, pairs = ranked.pool(np.arange(DOCS)), Pairs(dimensions, 0.2, 4)
    margins = np.concatenate([own for _, own in ranked.margins(pool)], axis=1)
    pairs.add(margins)
    a = Drawn(ranked.terms, 32, 5, distribution)
    columns = np.concatenate([a.block(s, e) for s, e in ((0, 4), (4, 9), (9, 32))], axis=1)
    by_query, by_bin = ranked.turned(pool, dimensions, 5, distribution, pairs)
    assert by_query.shape == (3, len(ranked.query_ids)) and by_bin.shape == (3, 4)
    for k, of_query, of_bin in zip(dimensions, by_query, by_bin, strict=True):
        q, d = (rows.toarray() @ columns[:, :k] for rows in (ranked.queries, ranked.docs))
        expected, binned = np.zeros(len(q)), np.zeros(5)
        for n, i in zip(*np.nonzero(~np.isnan(margins)), strict=True):
            if q[n] @ d[pool.rows[i]] >= q[n] @ d[pool.first[n]]:
                expected[n] += 1
                x = 1 / (margins[n, i] ** 2 / 2 - margins[n, i] ** 3 / 3)
                binned[sum(x >= edge for edge in pairs.edges) - 1] += 1
        assert of_query.tolist() == expected.tolist() and of_query.sum() > 0
        assert of_bin.tolist() == binned[:4].tolist()


def test_rademacher_draws_are_those_of_the_projection_that_is_searched() -> None:
    docs = vectors("d", 5, TERMS, 0.3, 4)
    columns = Drawn(docs.terms, 32, 3, "rademacher").block(0, 32)
    expected = docs.rows.toarray() @ columns / math.sqrt(32)
    np.testing.assert_allclose(project(docs.rows, docs.terms, 32, 3), expected, atol=1e-5)


def test_gaussian_entries_are_standard_normal_and_independent() -> None:
    block = Drawn([f"t{n}" for n in range(300)], 256, 1, "gaussian").block(0, 256)
    assert abs(block.mean()) < 0.015 and abs(block.std() - 1) < 0.015
    assert abs((block**4).mean() - 3) < 0.15
    assert abs(np.corrcoef(block[:40]) - np.eye(40)).max() < 0.3
    other = Drawn(["t0"], 256, 2, "gaussian").block(0, 256)
    assert (other[0] != block[0]).all()


@pytest.mark.parametrize("distribution", ["rademacher", "gaussian"])
def test_errors_of_draws_agree_with_theory(distribution: str) -> None:
    """Gaussian ones are exact within 4 standard errors of draws; none is above Lemma 1's bound."""
    asked, docs = vectors("q", 4, 300, 0.03, 6), vectors("d", 30, 300, 0.2, 7)
    ranked, dimensions, draws = Rankings(asked, [docs]), [8, 32, 96], 300
    pool = ranked.pool(np.arange(30))
    [(_, margins)] = ranked.margins(pool)
    known = ~np.isnan(margins)
    share, pairs = np.zeros((len(dimensions), len(margins))), Pairs(dimensions, 0.05, 4)
    for draw in range(draws):
        share += ranked.turned(pool, dimensions, draw, distribution, pairs)[0] / draws
    for k, own in zip(dimensions, share, strict=True):
        for of, shown in zip(margins, own, strict=True):
            exact = bounds.gaussian_error(of[~np.isnan(of)], k)
            # of pairs that share a draw; their counts differ by no more than if all were one
            deviation = np.sqrt(exact * (1 - exact)).sum() / math.sqrt(draws)
            assert abs(shown - exact.sum()) < 4 * deviation
            assert shown <= bounds.error_bound(of[~np.isnan(of)], k).sum()
    assert share[0].sum() > 0.1 * known.sum()


def test_a_query_stays_in_the_first_r_as_often_as_lemma_2_says() -> None:
    """Each query at the dimensions that Eq. 3 gives for its own r-th smallest margin."""
    asked, docs = vectors("q", 12, 40, 0.5, 8), vectors("d", 40, 40, 0.3, 9)
    ranked, draws, depth, error = Rankings(asked, [docs]), 200, 10, 0.2
    pool = ranked.pool(np.arange(40))
    least = smallest((margins for _, margins in ranked.margins(pool)), depth)[:, -1]
    of_margins = 2 / bounds.exponent(least) * math.log(4 * (40 - depth) / error)
    needed = np.ceil(of_margins).astype(int)
    some = np.argsort(needed)[:3]
    dimensions = needed[some].tolist()
    assert dimensions[-1] < 500 and len({*dimensions}) == 3
    pairs = Pairs(dimensions, 0.05, 1)
    turned = [ranked.turned(pool, dimensions, n, "rademacher", pairs)[0] for n in range(draws)]
    own = np.array(turned)[:, range(3), some]
    assert (own < depth).mean(axis=0).min() >= 1 - error


def test_segments_have_no_smaller_margin_while_the_assumption_holds() -> None:
    """Theorem 1 over random partitions of the terms; a query of two segments breaks it."""
    random, broken = np.random.default_rng(11), 0
    for _ in range(1000):
        d1, d2 = random.gamma(1, 1, (2, 24)) * (random.random((2, 24)) < 0.6)
        segment = random.integers(0, 3, 24)
        for whole in (True, False):
            q = random.gamma(1, 1, 24) * (random.random(24) < 0.5)
            q = q * (segment == 0) if whole else q
            own1, own2 = (np.where(segment == 0, d, 0) for d in (d1, d2))
            if q @ d1 <= q @ d2 or not (own1 != own2).any():
                continue
            mu, part = (q @ (a - b) / np.linalg.norm(a - b) for a, b in ((d1, d2), (own1, own2)))
            if whole:
                assert part >= mu - 1e-12
            broken += not whole and part < mu - 1e-12
    assert broken > 50


def test_pairs_fall_into_bins_by_hand() -> None:
    pairs = Pairs([32, 64], 0.05, bins=4)
    assert pairs.edges[0] == 6
    assert pairs.edges[-1] == pytest.approx(1 / bounds.exponent(brent(64)), rel=1e-6)
    width = (pairs.edges[-1] - 6) / 4
    x = [6.0, 6 + 0.5 * width, 6 + 1.5 * width, pairs.edges[-1] + 1]
    margins = np.array([margin_of(value) for value in x])
    pairs.add(np.array([[*margins, np.nan]]))
    pairs.add(np.array([[np.nan]]))
    assert pairs.count.tolist() == [2, 1, 0, 0] and pairs.beyond == 1
    assert pairs.means(0) == pytest.approx(((margins[0] + margins[1]) / 2, (x[0] + x[1]) / 2))
    assert pairs.means(1) == pytest.approx((margins[2], x[2]))
    for number, own in ((1, margins[2:3]), (0, margins[:2])):
        each = (bounds.gaussian_dimensions, bounds.guaranteed_dimensions)
        expected = tuple(least(own, np.ones(len(own)), 0.05) for least in each)
        assert pairs.needed(number, 0.05) == expected
    assert pairs.least == margins[3] and pairs.place(margins).tolist() == [0, 0, 1, 4]


def margin_of(x: float) -> float:
    """Return the margin at which 1/(eps^2/2 - eps^3/3) is x, by halving."""
    low, high = 0.0, 1.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if 1 / bounds.exponent(middle) > x else (low, middle)
    return high


def brent(dimensions: int) -> float:
    """Return the margin whose exact error at so many dimensions is 0.05, by halving."""
    low, high = 1e-6, 1.0
    for _ in range(200):
        middle = (low + high) / 2
        above = bounds.gaussian_error(middle, dimensions) > 0.05
        low, high = (middle, high) if above else (low, middle)
    return high


def test_smallest_margins_over_chunks() -> None:
    parts = [np.array([[0.5, np.nan], [0.9, 0.1]]), np.array([[0.2, 0.3], [np.nan, np.nan]])]
    expected = np.array([[0.2, 0.3, 0.5], [0.1, 0.9, np.nan]])
    np.testing.assert_array_equal(smallest(iter(parts), 3), expected)


def test_queries_without_any_doc_are_left_out_or_refused() -> None:
    docs = vectors("d", 5, 10, 0.5, 1)
    terms = [*docs.terms, "x"]
    rows = np.zeros((2, 11), np.float32)
    rows[0, 10] = rows[1, 3] = 1
    asked = TermVectors(["alone", "met"], terms, csr_array(rows))
    assert Rankings(asked, [docs]).query_ids == ["met"]
    with pytest.raises(ResiduumError, match="no query shares a term with a doc"):
        Rankings(TermVectors(["alone"], terms, csr_array(rows[:1])), [docs])
    twice = [docs, docs]
    with pytest.raises(ResiduumError, match="a doc has two vectors"):
        Rankings(TermVectors(["met"], terms, csr_array(rows[1:])), twice)
