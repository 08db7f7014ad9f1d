"""A head that fills whole vectors computes what torch's own linear layer does."""

import pytest
import torch
from torch.nn import Linear
from torch.nn.functional import linear

from residuum.neural import layers


@pytest.mark.parametrize("terms", [3444, 48, 7])
@pytest.mark.parametrize("bias", [True, False])
def test_scores_of_any_number_of_terms_are_the_plain_ones(terms: int, bias: bool) -> None:
    torch.manual_seed(1)
    head, hidden = Linear(64, terms, bias=bias), torch.randn(3, 40, 64)
    layers.align(head)
    with torch.inference_mode():
        scores = head(hidden)
        torch.testing.assert_close(scores, linear(hidden, head.weight, head.bias))
    assert scores.shape == (3, 40, terms)
    assert {key: value.shape[0] for key, value in head.state_dict().items()} == (
        {"weight": terms, "bias": terms} if bias else {"weight": terms}
    )


def test_gradients_are_those_of_the_plain_layer() -> None:
    torch.manual_seed(2)
    head, hidden = Linear(64, 3444), torch.randn(40, 64)
    plain = Linear(64, 3444)
    plain.load_state_dict(head.state_dict())
    layers.align(head)
    for one in (head, plain):
        one(hidden).relu().sum().backward()
    assert head.weight.grad is not None and plain.weight.grad is not None
    assert torch.equal(head.weight.grad, plain.weight.grad)


def test_what_is_no_linear_layer_is_left_alone() -> None:
    head = torch.nn.Identity()
    layers.align(head)
    assert "forward" not in vars(head)
