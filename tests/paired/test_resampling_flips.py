"""Sign flips against enumeration and SciPy; p depends on the seed alone and is uniform."""

import itertools

import numpy as np
import pytest
from scipy import stats

from residuum.cli.errors import ResiduumError
from residuum.paired import resampling
from residuum.paired.resampling import Contrasts


def against_zero(d):
    """Pair each row of `d`, shape (comparisons, queries), with a row of zeros."""
    values = np.vstack([d, np.zeros((1, d.shape[1]))])
    return Contrasts(values, [(i, len(d)) for i in range(len(d))])


def p_of(d, resamples, seed=1, workers=1):
    return [
        o.p
        for o in resampling.permutation(against_zero(np.atleast_2d(d)), resamples, seed, workers)
    ]


def brute_force(d):
    """Enumerate all sign flips of the differences, zeros too."""
    signs = np.array(list(itertools.product([1, -1], repeat=len(d))))
    return (np.abs(signs @ d) >= abs(d.sum()) - 1e-9).mean()


@pytest.mark.parametrize("n", range(1, 13))
def test_few_queries_are_enumerated_exactly(n):
    d = np.random.default_rng(n).normal(0.3, 1.0, size=n).round(1)
    result = resampling.permutation(against_zero(d[None]), 9999, seed=1)[0]
    assert result.p == pytest.approx(brute_force(d))
    assert result.method == f"exact, 2^{np.count_nonzero(d)} sign flips"
    assert result.p_error == 0.0


def test_enumeration_agrees_with_scipys():
    d = np.random.default_rng(1).normal(0.2, 1.0, size=18)
    theirs = stats.permutation_test(
        (d,), np.mean, permutation_type="samples", n_resamples=2**18, vectorized=True, batch=4096
    )
    assert resampling.enumerate_flips(d) == pytest.approx(theirs.pvalue, abs=1e-12)


def test_only_queries_that_differ_count_for_enumeration():
    d = np.zeros(500)
    d[[3, 100, 499]] = [0.1, 0.2, 0.3]
    result = resampling.permutation(against_zero(d[None]), 7, seed=1)[0]
    assert result == (2 / 8, 0.0, "exact, 2^3 sign flips", 1)
    assert resampling.permutation(against_zero(d[None]), 6, seed=1)[0].method == "6 sign flips"


@pytest.mark.parametrize("n", [8, 12])
def test_resamples_agree_with_enumeration(n, monkeypatch):
    monkeypatch.setattr(resampling, "enumerate_flips", lambda d: pytest.fail("enumerated"))
    d = np.random.default_rng(n).normal(0.3, 1.0, size=n)
    resamples = 2**n - 2
    truth = brute_force(d)
    p = np.mean([p_of(d, resamples, seed) for seed in range(20)])
    # Four Monte-Carlo standard errors, and the 1/(B+1) that is added above and below.
    allowed = 4 * np.sqrt(truth * (1 - truth) / (20 * resamples)) + 1 / resamples
    assert abs(p - truth) <= allowed


def test_resamples_agree_with_scipy():
    d = np.random.default_rng(3).normal(0.1, 1.0, size=60)
    theirs = stats.permutation_test(
        (d,), np.mean, permutation_type="samples", n_resamples=9_999, rng=7
    ).pvalue
    error = np.sqrt(2 * theirs * (1 - theirs) / 9_999)
    assert p_of(d, 9_999)[0] == pytest.approx(theirs, abs=4 * error)


def test_ties_by_hand():
    # Sixty queries that win by 0.1 and as many that lose by it: every flip reaches a sum of 0.
    assert p_of([0.1, -0.1] * 60, 999) == [1.0]
    # Sums of a tenth are no round numbers in binary; 0.3 - 0.2 and 0.1 still count as equal.
    assert p_of([0.1, 0.3 - 0.2, 0.1, 0.1], 9999) == [2 / 16]
    assert p_of(np.full(40, 1e-14), 99) == [1.0], "what is within rounding is no difference"
    assert p_of([0.25], 9999) == [1.0], "one query can show nothing"


def test_p_is_never_zero_and_has_a_floor():
    assert p_of(np.ones(200), 999) == [1 / 1000]
    result = resampling.permutation(against_zero(np.ones((1, 200))), 999, seed=1)[0]
    assert result.p_error == pytest.approx(np.sqrt(0.001 * 0.999 / 1000))
    assert result.method == "999 sign flips"


@pytest.mark.parametrize("queries", [37, 1500])
def test_p_depends_on_the_seed_only(queries):
    random = np.random.default_rng(0)
    values = random.normal(size=(6, queries)).round(2)
    pairs = list(itertools.combinations(range(6), 2))

    def p(values, pairs, **changes):
        options = {"resamples": 2_000, "seed": 1, **changes}
        return [o.p for o in resampling.permutation(Contrasts(values, pairs), **options)]

    first = p(values, pairs)
    assert len(set(first)) > 5
    for workers in (2, 3, 7):
        assert first == p(values, pairs, workers=workers)
    order = random.permutation(6)
    place = {int(system): i for i, system in enumerate(order)}
    assert first == p(values[order], [(place[a], place[b]) for a, b in pairs])
    assert first == p(values, [(b, a) for a, b in pairs])
    assert first[::-1] == p(values, pairs[::-1])
    assert first[3:4] == p(values, pairs[3:4]), "whatever else is tested beside it"
    assert first != p(values, pairs, seed=2)


def test_p_is_uniform_under_the_null():
    d = np.random.default_rng(5).normal(size=(400, 30))
    assert stats.kstest(p_of(d, 999), "uniform").pvalue > 0.01


def test_the_test_keeps_its_size_and_has_power():
    random = np.random.default_rng(6)
    null = random.exponential(size=(2000, 25)) - random.exponential(size=(2000, 25))
    rejected = np.mean(np.array(p_of(null, 499)) < 0.05)
    # (B + 1) alpha = 25 is whole, so the size of p < alpha is (25 - 1) / 500; four errors around.
    assert rejected == pytest.approx(0.048, abs=4 * np.sqrt(0.05 * 0.95 / 2000))
    assert np.mean(np.array(p_of(null + 1.5, 499)) < 0.05) > 0.95


@pytest.mark.parametrize("resamples", [0, -5])
def test_no_resamples_are_refused(resamples):
    with pytest.raises(ResiduumError, match=f"resamples: {resamples}; .* needs 1 or more"):
        p_of(np.ones(3), resamples)


def test_memory_is_bounded_by_the_block():
    import tracemalloc

    values = np.random.default_rng(0).normal(size=(2, 20_000))
    tracemalloc.start()
    resampling.permutation(Contrasts(values, [(0, 1)]), 2_000, seed=1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 30e6, "all signs at once would take 320 MB"


def test_blocks_keep_blas_to_one_thread_and_give_it_back():
    import threadpoolctl

    def threads():
        # NumPy's own: a test before this one may have loaded other libraries with a BLAS.
        pools = [p for p in threadpoolctl.threadpool_info() if "numpy" in p["filepath"]]
        return [pool["num_threads"] for pool in pools if pool["user_api"] == "blas"]

    before = threads()
    assert max(before), "NumPy's BLAS is there"
    for workers in (1, 2):
        seen = list(resampling.in_blocks(lambda *_: np.array(threads()), 1, 3, 1, workers))
        assert {int(count) for one in seen for count in one} == {1}
    assert threads() == before
