"""Texts of a batch are cut into groups by length, and come back in their order."""

import numpy as np
import pytest
import torch
from transformers import BertConfig, BertModel

from residuum.neural import padding

MODEL = BertModel(BertConfig(hidden_size=16, num_attention_heads=2, num_hidden_layers=1))


@pytest.mark.parametrize(
    ("price", "expected"),
    [
        (0, [[3], [1], [0], [2]]),  # 2 + 5 + 9 + 9 = 25; in three groups 2 x 5 + 9 + 9 = 28
        (4, [[3, 1], [0, 2]]),  # 2 x 5 + 2 x 9 + 2 x 4 = 36; in four 25 + 4 x 4 = 41, in one 40
        (9, [[3, 1, 0, 2]]),  # 36 + 9 = 45; in two 28 + 2 x 9 = 46
    ],
)
def test_texts_are_cut_by_length_into_the_groups_that_cost_least(price, expected) -> None:
    assert [group.tolist() for group in padding.cheapest([9, 5, 9, 2], price)] == expected


def test_no_text_makes_one_group_and_one_text_makes_one() -> None:
    assert [group.tolist() for group in padding.cheapest([], 1)] == [[]]
    assert [group.tolist() for group in padding.cheapest([7], 0)] == [[0]]


def test_a_cpu_takes_texts_of_about_one_length_together_and_another_device_all_at_once() -> None:
    lengths = [3, 9000] * 40
    groups = padding.together(lengths, MODEL)
    assert [{lengths[i] for i in group} for group in groups] == [{3}, {9000}]
    groups = padding.together(lengths, torch.nn.Linear(2, 2, device="meta"))
    assert [group.tolist() for group in groups] == [[*range(80)]]


def test_rows_are_in_the_order_of_the_texts() -> None:
    texts = [np.full(length, length) for length in (7, 9000, 3, 9000, 5)]
    seen = []

    def compute(some):
        seen.append(len(some))
        return torch.tensor([[text[0]] for text in some])

    rows = padding.by_length(texts, compute, MODEL)
    assert rows.flatten().tolist() == [7, 9000, 3, 9000, 5]
    assert sum(seen) == 5 and len(seen) > 1
