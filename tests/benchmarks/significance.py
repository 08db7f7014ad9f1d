"""The permutation test of a whole table beside SciPy's and ranx's: seconds and peak memory.

PYTHONPATH=workflow python tests/benchmarks/significance.py [--threads 2] [--ranx-python PYTHON]

8 systems (28 pairs) x 3 measures x 6,980 queries x 100,000 sign flips: all of it by residuum. The
others get the same values and resamples, but one comparison, scaled up to the 84: their time is
linear in both (`--theirs N` takes fewer resamples; `--whole` spares the scaling, for hours). ranx
is no dependency; name an interpreter that has it. Every side is a process of its own, first called
once to warm it up (Numba compiles then). A ratio above 1 means that residuum is faster. Exit status
1 if a p-value is further from residuum's than four Monte-Carlo standard errors, or if an aim is
missed.
"""

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

SYSTEMS, MEASURES, QUERIES, RESAMPLES = 8, 3, 6980, 100_000
PAIRS = [(a, b) for a in range(SYSTEMS) for b in range(a + 1, SYSTEMS)]
AIMS = {"scipy": 50, "ranx": 10}
LARGEST_MB = 1000
SCIPY_BATCH = 100  # resamples that SciPy holds at once: 6 MB of differences

Test = Callable[[np.ndarray, np.ndarray, int], float]


class Side(NamedTuple):
    """What one side measured: seconds, comparisons x resamples done, peak memory, p-values."""

    seconds: float
    done: int
    megabytes: float
    p: list[float]

    @property
    def whole(self) -> float:
        """Seconds for all comparisons and resamples."""
        return self.seconds * len(PAIRS) * MEASURES * RESAMPLES / self.done


def draw() -> np.ndarray:
    """Return values of shape (measures, systems, queries): reciprocal ranks of 0, 1 ... 1/10.

    Systems share how hard a query is and differ a little, so that p-values cover their range.
    """
    generator = np.random.default_rng(1)
    hard = generator.normal(size=(MEASURES, 1, QUERIES))
    better = 0.01 * np.arange(SYSTEMS)[None, :, None]
    rank = np.ceil(
        np.exp(1.5 + hard - better + generator.normal(size=(MEASURES, SYSTEMS, QUERIES)))
    )
    return np.where(rank <= 10, 1 / rank, 0.0)


def residuum(values: np.ndarray, resamples: int, threads: int) -> tuple[int, list[float]]:
    """Test all pairs of all measures at once."""
    from residuum.paired import resampling
    from residuum.paired.resampling import Contrasts

    sides = values.reshape(-1, QUERIES)
    pairs = [(m * SYSTEMS + a, m * SYSTEMS + b) for m in range(MEASURES) for a, b in PAIRS]
    result = resampling.permutation(Contrasts(sides, pairs), resamples, seed=1, workers=threads)
    return resamples * len(pairs), [outcome.p for outcome in result]


def scipy(a: np.ndarray, b: np.ndarray, resamples: int) -> float:
    """Flip the signs of one sample of differences, vectorised, in batches."""
    from scipy import stats

    how = {"permutation_type": "samples", "vectorized": True, "batch": SCIPY_BATCH, "rng": 1}
    return float(stats.permutation_test((a - b,), np.mean, n_resamples=resamples, **how).pvalue)


def ranx(a: np.ndarray, b: np.ndarray, resamples: int) -> float:
    """Call ranx's own test, compiled by Numba and run on its threads."""
    from ranx.statistical_tests import fisher_randomization_test

    return float(fisher_randomization_test(a, b, n_permutations=resamples)[0])


THEIRS: dict[str, Test] = {"scipy": scipy, "ranx": ranx}


def measure(side: str, resamples: int, threads: int, whole: bool) -> Side:
    """Measure one side in this process."""
    values = draw()
    pairs = PAIRS if whole else PAIRS[:1]
    measures = MEASURES if whole else 1

    def work(resamples: int) -> tuple[int, list[float]]:
        if side == "residuum":
            return residuum(values, resamples, threads)
        test = THEIRS[side]
        p = [test(values[m, a], values[m, b], resamples) for m in range(measures) for a, b in pairs]
        return resamples * len(p), p

    work(10)
    start = time.perf_counter()
    done, p = work(resamples)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    return Side(seconds, done, peak, p)


def apart(side: str, resamples: int, threads: int, whole: bool, python: str) -> Side:
    """Measure one side in a process of its own."""
    limits = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    env = {**os.environ, **limits, "NUMBA_NUM_THREADS": str(threads)}
    command = [python, __file__, "--side", side, "--theirs", str(resamples)]
    command += ["--threads", str(threads), *["--whole"] * whole]
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{side}: {done.stderr.strip().splitlines()[-1]}")
    return Side(*json.loads(done.stdout))


def agree(ours: Side, theirs: Side, resamples: int) -> bool:
    """Say whether p-values are within four standard errors of the difference, and 1 / resamples."""
    for mine, other in zip(ours.p, theirs.p, strict=False):
        error = math.sqrt(mine * (1 - mine) * (1 / RESAMPLES + 1 / resamples))
        if abs(mine - other) > 4 * error + 1 / resamples:
            print(f"p {mine} and {other} disagree")
            return False
    return True


def main() -> int:
    """Measure all sides and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--ranx-python", help="interpreter that has ranx; left out without")
    parser.add_argument("--theirs", type=int, default=RESAMPLES, help="resamples of the others")
    parser.add_argument("--whole", action="store_true", help="the others do it all too")
    parser.add_argument("--side", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.side:
        print(json.dumps(measure(options.side, options.theirs, options.threads, options.whole)))
        return 0
    ours = apart("residuum", RESAMPLES, options.threads, False, sys.executable)
    print(
        f"{SYSTEMS} systems ({len(PAIRS)} pairs) x {MEASURES} measures x {QUERIES:,} queries x "
        f"{RESAMPLES:,} resamples, {options.threads} threads\n"
    )
    print("| side | seconds | measured on | ratio | peak MB |\n|---|---|---|---|---|")
    print(f"| residuum | {ours.seconds:.2f} | all of it | 1 | {ours.megabytes:.0f} |")
    pythons = {"scipy": sys.executable, "ranx": options.ranx_python}
    resamples = RESAMPLES if options.whole else options.theirs
    good = ours.megabytes < LARGEST_MB
    for side, python in pythons.items():
        if python is None:
            print(f"| {side} | | not measured: no interpreter named | | |")
            continue
        result = apart(side, resamples, options.threads, options.whole, python)
        ratio = result.whole / ours.seconds
        on = f"{result.seconds:.2f} s for {len(result.p)} x {resamples:,} resamples"
        print(f"| {side} | {result.whole:.0f} | {on} | {ratio:.0f} | {result.megabytes:.0f} |")
        good = good and ratio >= AIMS[side] and agree(ours, result, resamples)
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
