"""The simulations of docs/statistics.md: tests over seeds and intervals where truth is known.

PYTHONPATH=workflow python tests/benchmarks/simulations.py [--replications 5000] [--seed 1]

Seeds: differences of mean 0 for 500 queries, drawn by the model of `paired.classical.over_seeds`
with a standard deviation of 1 over queries, 0.5 of the residual, and the given one over seeds. A
verdict other than `inconclusive` and `these models only` needs p below alpha over queries and over
seeds; of a true null it is false. Tested over queries by t, which permutation equals at 500.

Intervals: how often 95% ones hold the true mean, by number of queries and shape of the differences;
SciPy's percentile and BCa bootstrap, the studentised one (Efron and Tibshirani, 12.5), Student's t.

Ratios of complementarity: how often percentile bootstrap and Wilson intervals hold the true one.

Ranks: how often intervals of ranks hold the true ranks of 20 systems, each by itself and all at
once, beside percentiles of bootstrapped ranks. Equal systems have all ranks. Their values are RR@10
of systems that share how hard a query is, or means of collections that share how hard they are.

Some four minutes on one core. Exit status 1 if at three seeds, and a seed effect up to 0.2, more
than 8% of the verdicts are false.
"""

import argparse
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from scipy import stats

from residuum.paired import classical, coverage
from residuum.paired.audits import audit
from residuum.paired.strata import Strata

ALPHA, MOST_FALSE = 0.05, 0.08
QUERIES, RESIDUAL = 500, 0.5
EFFECTS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.5)
SEEDS = (2, 3, 5, 10)
JUDGED, MORE = 3, 4  # seeds whose verdicts are bounded: by so many times the replications
SIZES = (10, 20, 43, 50, 100)
DRAWS, AT_ONCE = 999, 50
# Queries, the share that D answers, the ratio of complementarity.
RATIOS = [(50, 0.2, 0.05), (50, 0.2, 0.35), (100, 0.2, 0.9), (200, 0.5, 0.35), (500, 0.5, 0.35)]
SYSTEMS, STEPS = 20, (0.0, 0.02, 0.1)  # and what each system is better than the one before
RANKED = [("queries", (n,)) for n in (10, 25, 50, 200)]  # queries of each collection
RANKED += [("queries", some) for some in ((50, 50), (25, 300), (10, 300), (50, 50, 300))]
RANKED += [("collections", (n,)) for n in (5, 18)]
Shape = Callable[[np.random.Generator, int, int], np.ndarray]


def verdicts(random: np.random.Generator, effect: float, seeds: int, count: int) -> np.ndarray:
    """Return the share of true nulls that are significant: averaged, over seeds, over both."""
    p = np.empty((count, 2))
    for row in p:
        d = random.normal(size=(QUERIES, 1)) + effect * random.normal(size=(1, seeds))
        d = d + RESIDUAL * random.normal(size=(QUERIES, seeds))
        row[:] = classical.t_test(d.mean(axis=1)).p, classical.over_seeds(d).p
    return np.array([*(p < ALPHA).mean(axis=0), (p.max(axis=1) < ALPHA).mean()])


def reciprocal_ranks(random: np.random.Generator, count: int, n: int) -> np.ndarray:
    """Differences of RR@10 of two systems that share how hard a query is."""
    better = np.array([0.0, 0.3])
    hard = random.normal(size=(count, n, 1))
    rank = np.ceil(np.exp(1.5 + hard - better + random.normal(size=(count, n, 2))))
    values = np.where(rank <= 10, 1 / rank, 0.0)
    return np.asarray(values[..., 1] - values[..., 0])


def precisions(random: np.random.Generator, count: int, n: int) -> np.ndarray:
    """Differences of P@5, likewise."""
    better = np.array([0.0, 0.3])
    hard = random.normal(size=(count, n, 1))
    relevant = 1 / (1 + np.exp(hard - better + 0.5 * random.normal(size=(count, n, 2))))
    values = random.binomial(5, relevant) / 5
    return np.asarray(values[..., 1] - values[..., 0])


def rare_gains(random: np.random.Generator, count: int, n: int) -> np.ndarray:
    """Large gains in a fifth of the queries, small losses in the others: as skewed as it comes."""
    gains = random.exponential(0.5, size=(count, n))
    return np.where(random.random((count, n)) < 0.2, gains, -0.02 * random.random((count, n)))


SHAPES: dict[str, Shape] = {
    "RR@10": reciprocal_ranks,
    "P@5": precisions,
    "rare gains": rare_gains,
}


def studentised(random: np.random.Generator, d: np.ndarray) -> tuple[float, float]:
    """Return the bootstrap-t interval; without end where a resample does not vary."""
    n = len(d)
    drawn = d[random.integers(n, size=(DRAWS, n))]
    off, error = drawn.mean(axis=1) - d.mean(), drawn.std(axis=1, ddof=1) / np.sqrt(n)
    t = np.where(error > classical.TIE, off / np.maximum(error, classical.TIE), np.sign(off) * 1e9)
    low, high = np.quantile(t, [0.025, 0.975], method="inverted_cdf")
    own = d.std(ddof=1) / np.sqrt(n)
    return float(d.mean() - high * own), float(d.mean() - low * own)


def intervals(random: np.random.Generator, samples: np.ndarray) -> Iterator[np.ndarray]:
    """Yield (low, high) of each sample by each method, shape (2, samples)."""
    for method in ("percentile", "BCa"):
        blocks = []
        for start in range(0, len(samples), AT_ONCE):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # samples without variance have no BCa interval
                made = stats.bootstrap(
                    (samples[start : start + AT_ONCE],), np.mean, n_resamples=DRAWS, axis=-1,
                    method=method, rng=random, vectorized=True,
                )  # fmt: skip
            blocks.append(made.confidence_interval)
        yield np.concatenate(blocks, axis=1)
    yield np.array([studentised(random, d) for d in samples]).T
    yield np.array([classical.t_interval(d) for d in samples], dtype=float).T


def ratios(
    random: np.random.Generator, queries: int, answered: float, ratio: float, count: int
) -> tuple[float, float]:
    """Return how often bootstrap and Wilson intervals of RoC hold it, of samples with a hit of D.

    Each of the queries is D's with the probability `answered`, and not S's with `ratio` then.
    """
    held = []
    for alone, both, _ in random.multinomial(
        queries, [answered * ratio, answered * (1 - ratio), 1 - answered], size=count
    ):
        if found := alone + both:
            shares = [alone / queries, both / queries, 1 - found / queries]
            drawn = random.multinomial(queries, shares, size=DRAWS)[:, :2].astype(float)
            sums = drawn.sum(axis=1)
            ends = np.quantile(drawn[sums > 0, 0] / sums[sums > 0], [0.025, 0.975])
            bounds = (ends, coverage.wilson(alone / found, found))
            held.append([low - 1e-12 <= ratio <= high + 1e-12 for low, high in bounds])
    bootstrap, wilson = np.mean(held, axis=0)
    return float(bootstrap), float(wilson)


def sampled(random: np.random.Generator, units: str, n: int, step: float) -> np.ndarray:
    """Return values of 20 systems, shape (systems, n); a later system is better by a step."""
    better = step * np.arange(SYSTEMS)[:, None]
    if units == "collections":
        hard = 0.5 + 0.15 * random.normal(size=n)
        return np.asarray(hard + 0.03 * random.normal(size=(SYSTEMS, n)) + 0.1 * better)
    hard = random.normal(size=n)
    rank = np.ceil(np.exp(1.5 + hard - better + 0.8 * random.normal(size=(SYSTEMS, n))))
    return np.where(rank <= 10, 1 / rank, 0.0)


def ranks(
    random: np.random.Generator, units: str, sizes: Sequence[int], step: float, count: int
) -> tuple[float, float, float]:
    """Return how often percentiles, intervals of each system, and all at once hold true ranks.

    `sizes` are the units of each collection; collections count alike.
    """
    true, n = np.arange(SYSTEMS, 0, -1), sum(sizes)
    first, last = (true, true) if step else (np.ones(SYSTEMS), np.full(SYSTEMS, SYSTEMS))
    names = [str(number) for number, size in enumerate(sizes) for _ in range(size)]
    strata = Strata(names) if len(sizes) > 1 else None
    upper, held = np.triu_indices(SYSTEMS, 1), []
    for _ in range(count):
        values = sampled(random, units, n, step)
        drawn = np.mean(
            [
                values[:, start + random.integers(size, size=(DRAWS, size))].mean(axis=2)
                for start, size in zip(np.cumsum([0, *sizes]), sizes, strict=False)
            ],
            axis=0,
        )
        low, high = np.quantile(stats.rankdata(-drawn, axis=0), [0.025, 0.975], axis=1)
        made = audit(values, strata, DRAWS, int(random.integers(2**31)))
        ratio = (made.means[:, None] - made.means) / np.where(made.errors, made.errors, np.inf)
        above = ratio[upper] > made.bounds[upper]  # of a pair, the worse system
        apart = np.abs(ratio) > made.bounds
        every = not (above if step else apart).any()
        each = (made.low <= first) & (last <= made.high)
        held.append([((low <= first) & (last <= high)).mean(), each.mean(), every])
    percentile, own, together = np.mean(held, axis=0)
    return float(percentile), float(own), float(together)


def main() -> int:
    """Print the simulations as the tables of docs/statistics.md."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--replications", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    random = np.random.default_rng(options.seed)
    print("| seeds | p | " + " | ".join(map(str, EFFECTS)) + " |\n" + "|---" * 8 + "|")
    good = True
    for seeds in SEEDS:
        count = options.replications * (MORE if seeds == JUDGED else 1)
        made = [verdicts(random, effect, seeds, count) for effect in EFFECTS]
        for what, shares in zip(("averaged", "over seeds", "both"), np.array(made).T, strict=True):
            print(f"| {seeds} | {what} | " + " | ".join(f"{share:.1%}" for share in shares) + " |")
        if seeds == JUDGED:
            shares_of_both = [both for (*_, both), e in zip(made, EFFECTS, strict=True) if e <= 0.2]
            good = max(shares_of_both) <= MOST_FALSE
    print("\n| differences | queries | percentile | BCa | studentised | t |\n" + "|---" * 6 + "|")
    for name, shape in SHAPES.items():
        true = shape(random, 4000, 500).mean()
        for n in SIZES:
            samples = shape(random, options.replications // 5, n)
            both = intervals(random, samples)
            covered = (((low <= true) & (true <= high)).mean() for low, high in both)
            print(f"| {name} | {n} | " + " | ".join(f"{share:.3f}" for share in covered) + " |")
    print("\n| queries | D answers | RoC | bootstrap | Wilson |\n" + "|---" * 5 + "|")
    random = np.random.default_rng(options.seed)
    for queries, answered, ratio in RATIOS:
        covered_by = ratios(random, queries, answered, ratio, 3 * options.replications // 10)
        shares_held = " | ".join(f"{share:.2f}" for share in covered_by)
        print(f"| {queries} | {answered:.0%} | {ratio:.2f} | {shares_held} |")
    print("\n| drawn | step | percentile | each | all |\n" + "|---" * 5 + "|")
    random = np.random.default_rng(options.seed)
    for units, sizes in RANKED:
        for step in STEPS if units == "queries" and len(sizes) == 1 else STEPS[:1]:
            shares_of_ranks = ranks(random, units, sizes, step, options.replications // 10)
            shown = " | ".join(f"{share:.3f}" for share in shares_of_ranks)
            counts = " + ".join(map(str, sizes))
            print(f"| {counts} {units} | {step:g} | {shown} |", flush=True)
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
