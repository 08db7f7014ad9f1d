"""Means over collections: queries of several collections, each of which counts alike.

Usage: `Strata(names)`, with the collection of each query. A query's value has the weight N / (C n):
of N queries in C collections, n are of its own. So the mean of weighted values is the mean of the
collections' means, and sign flips of weighted differences test it (a randomisation test within
blocks: Edgington and Onghena, Randomization Tests, 2007). The variance of the mean is that of
stratified sampling, the sum of s^2 / n over the collections, divided by C^2 (Cochran, Sampling
Techniques, eq. 5.6), so that differences between collections are no noise.
"""

from collections.abc import Sequence

import numpy as np

FEWEST_EACH = 10  # queries of a collection; with n of them its variance is short by 1 / n


class Strata:
    """The collections of queries, shape (queries,)."""

    def __init__(self, names: Sequence[str]) -> None:
        """Group the queries by the name of their collection."""
        self.members = [
            np.array([number for number, name in enumerate(names) if name == one])
            for one in dict.fromkeys(names)
        ]
        self.weights = np.zeros(len(names))
        for queries in self.members:
            self.weights[queries] = len(names) / (len(self.members) * len(queries))

    def levelled(self, d: np.ndarray) -> np.ndarray:
        """Return values whose mean and standard error are those of the mean over collections.

        `d` holds weighted differences, of shape (queries,) or (queries, seeds). Each collection is
        moved to the common mean of each seed. Deviations from it are scaled from n to n - 1 degrees
        of freedom, so that their variance over N is the stratified variance of the mean.
        """
        made, every = np.empty_like(d), len(d)
        for queries in self.members:
            n = len(queries)
            centre = d[queries].mean(axis=0)
            scale = np.sqrt(n * (every - 1) / ((n - 1) * every)) if n > 1 else 1.0
            made[queries] = d.mean(axis=0) + scale * (d[queries] - centre)
        return made

    @property
    def tell_variance(self) -> bool:
        """Whether each collection has enough queries for an interval."""
        return min(map(len, self.members)) >= FEWEST_EACH
