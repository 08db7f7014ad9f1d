"""Which tokens masked-language modelling hides, and what stands in their place.

Usage: `hidden = mask(tokens, alphabet, share=0.15, seed=s)`. What is drawn follows from the seed
alone. Must not know models, texts or losses.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

MASKED, RANDOM = 0.8, 0.1  # of the chosen tokens; the rest stays as it is


class Alphabet(NamedTuple):
    """The token that hides others, the special ones, and the ordinary ones, as ids."""

    mask: int
    special: np.ndarray
    ordinary: np.ndarray


class Masked(NamedTuple):
    """Rows with tokens replaced, and which of their tokens are to be predicted (boolean)."""

    rows: list[np.ndarray]
    chosen: list[np.ndarray]


def mask(rows: Sequence[np.ndarray], alphabet: Alphabet, share: float, seed: int) -> Masked:
    """Choose a share of each row's tokens, at least one; special tokens are never chosen.

    Of the chosen, 80% become the mask, 10% an ordinary token drawn uniformly, 10% stay.
    Devlin et al. 2019 (BERT), section 3.1 and appendix A.
    """
    random = np.random.default_rng(seed)
    chosen = [_choose(~np.isin(row, alphabet.special), share, random) for row in rows]
    replaced = [_replace(*pair, alphabet, random) for pair in zip(rows, chosen, strict=True)]
    return Masked(replaced, chosen)


def _choose(free: np.ndarray, share: float, random: np.random.Generator) -> np.ndarray:
    places = np.flatnonzero(free)
    count = min(len(places), max(1, round(share * len(places))))
    chosen = np.zeros(len(free), dtype=bool)
    chosen[random.choice(places, count, replace=False)] = True
    return chosen


def _replace(
    row: np.ndarray, chosen: np.ndarray, alphabet: Alphabet, random: np.random.Generator
) -> np.ndarray:
    draw = random.random(len(row))
    replaced = row.copy()
    replaced[chosen & (draw < MASKED)] = alphabet.mask
    other = chosen & (draw >= MASKED) & (draw < MASKED + RANDOM)
    replaced[other] = random.choice(alphabet.ordinary, int(other.sum()))
    return replaced
