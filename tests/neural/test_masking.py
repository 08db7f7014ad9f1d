"""Masking: the shares of Devlin et al. 2019, special tokens left alone, one seed one result."""

import numpy as np
import pytest

from residuum.neural.masking import Alphabet, mask

ALPHABET = Alphabet(mask=3, special=np.array([0, 1, 2, 3, 4]), ordinary=np.arange(5, 1005))


def rows(count: int, length: int) -> list[np.ndarray]:
    random = np.random.default_rng(1)
    inner = random.integers(5, 1005, size=(count, length))
    return [np.array([1, *row, 2], dtype=np.int32) for row in inner]


def test_shares_of_masked_random_and_kept() -> None:
    before = rows(500, 100)
    after = mask(before, ALPHABET, 0.15, seed=1)
    assert [chosen.sum() for chosen in after.chosen] == [15] * 500
    old, new, chosen = (np.concatenate(part) for part in (before, after.rows, after.chosen))
    assert (old[~chosen] == new[~chosen]).all()
    masked, same = new[chosen] == 3, new[chosen] == old[chosen]
    assert masked.mean() == pytest.approx(0.8, abs=0.02)  # 4 standard deviations
    assert same.mean() == pytest.approx(0.1, abs=0.015)
    others = new[chosen][~masked & ~same]
    assert others.min() >= 5 and len(np.unique(others)) > 300


def test_special_tokens_are_never_chosen_and_every_place_is_sometimes() -> None:
    chosen = np.stack(mask(rows(2000, 10), ALPHABET, 0.15, seed=1).chosen)
    assert not chosen[:, [0, -1]].any()
    assert chosen[:, 1:-1].mean(axis=0) == pytest.approx(np.full(10, 0.2), abs=0.04)


def test_a_row_gives_at_least_one_token_if_it_has_one() -> None:
    short = [np.array([1, 9, 2]), np.array([1, 2])]
    assert [chosen.sum() for chosen in mask(short, ALPHABET, 0.15, seed=1).chosen] == [1, 0]


def test_one_seed_repeats_and_another_differs() -> None:
    one, again, other = (mask(rows(5, 40), ALPHABET, 0.15, seed) for seed in (1, 1, 2))
    assert all((a == b).all() for a, b in zip(one.rows, again.rows, strict=True))
    assert any((a != b).any() for a, b in zip(one.chosen, other.chosen, strict=True))


def test_the_rows_given_are_left_as_they_are() -> None:
    before = rows(3, 20)
    kept = [row.copy() for row in before]
    mask(before, ALPHABET, 0.5, seed=1)
    assert all((a == b).all() for a, b in zip(before, kept, strict=True))
