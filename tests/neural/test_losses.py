"""Each loss against its formula, written out by hand: values and gradients."""

import math

import pytest
import torch

from residuum.neural.losses import (
    in_batch_nll,
    mean_squared_errors,
    residual_margin,
    triplet_hinge,
)


def test_residual_margin_is_equation_6() -> None:
    margins = residual_margin(torch.tensor([10.0, 4.0]), torch.tensor([7.0, 9.0]), 1.0, 0.1)
    assert margins.tolist() == pytest.approx([1 - 0.1 * 3, 1 + 0.1 * 5])


def test_triplet_hinge_value_and_gradient_are_equation_7() -> None:
    positive = torch.tensor([2.0, 0.5], requires_grad=True)
    negative = torch.tensor([1.5, 0.4], requires_grad=True)
    margin = residual_margin(torch.tensor([10.0, 4.0]), torch.tensor([7.0, 9.0]), 1.0, 0.1)
    loss = triplet_hinge(positive, negative, margin)
    assert loss.tolist() == pytest.approx([0.7 - 2.0 + 1.5, 1.5 - 0.5 + 0.4])
    loss.mean().backward()
    assert positive.grad.tolist() == pytest.approx([-0.5, -0.5])
    assert negative.grad.tolist() == pytest.approx([0.5, 0.5])


def test_a_negative_margin_leaves_a_settled_pair_alone() -> None:
    positive = torch.tensor([0.3], requires_grad=True)
    negative = torch.tensor([0.2], requires_grad=True)
    margin = residual_margin(torch.tensor([25.0]), torch.tensor([5.0]), 1.0, 0.1)
    assert margin.item() == pytest.approx(-1.0)
    loss = triplet_hinge(positive, negative, margin)
    loss.sum().backward()
    assert loss.item() == 0
    assert positive.grad.item() == 0 and negative.grad.item() == 0


def test_a_negative_margin_still_binds_where_the_embedding_is_worse() -> None:
    loss = triplet_hinge(torch.tensor([0.0]), torch.tensor([1.5]), torch.tensor([-1.0]))
    assert loss.item() == pytest.approx(0.5)


def test_constant_margin_is_equation_5() -> None:
    loss = triplet_hinge(torch.tensor([1.0, 3.0]), torch.tensor([0.8, 0.5]), 1.0)
    assert loss.tolist() == pytest.approx([0.8, 0.0])


SCORES = [[2.0, 1.0, 0.5], [0.0, 1.0, -1.0], [3.0, 0.2, 0.1]]
IGNORE = [[False, True, False], [False, False, False], [True, False, False]]


def test_in_batch_nll_value_and_gradient() -> None:
    scores = torch.tensor(SCORES, requires_grad=True)
    loss = in_batch_nll(scores, torch.tensor(IGNORE))
    loss.sum().backward()
    for i, row in enumerate(SCORES):
        weights = [0.0 if IGNORE[i][j] else math.exp(score) for j, score in enumerate(row)]
        shares = [weight / sum(weights) for weight in weights]
        assert loss[i].item() == pytest.approx(-math.log(shares[i]), abs=1e-6)
        gradient = [share - (i == j) for j, share in enumerate(shares)]
        assert scores.grad[i].tolist() == pytest.approx(gradient, abs=1e-6)


def test_in_batch_nll_of_some_rows_is_that_of_the_whole() -> None:
    scores, ignore = torch.tensor(SCORES), torch.tensor(IGNORE)
    whole = in_batch_nll(scores, ignore)
    assert torch.equal(in_batch_nll(scores[1:], ignore[1:], first=1), whole[1:])


def test_mean_squared_errors_value_and_gradient() -> None:
    predicted = torch.tensor([0.5, 0.0, 1.0], requires_grad=True)
    losses = mean_squared_errors(predicted, torch.tensor([0.1, 0.2, 0.4]), [2, 1])
    assert losses.tolist() == pytest.approx([(0.16 + 0.04) / 2, 0.36])
    losses.mean().backward()
    # d/dy of the mean over 2 docs of the mean over a doc's words: 2 (y - t) / words / docs
    assert predicted.grad.tolist() == pytest.approx([0.8 / 4, -0.4 / 4, 1.2 / 2])


@pytest.mark.parametrize("name", ["hinge", "nll"])
def test_gradients_match_finite_differences(name: str) -> None:
    torch.manual_seed(0)
    one, other = (torch.randn(4, 4, dtype=torch.float64, requires_grad=True) for _ in range(2))
    if name == "hinge":
        assert torch.autograd.gradcheck(lambda a, b: triplet_hinge(a[0], b[0], 0.7), (one, other))
    else:
        ignore = torch.eye(4).roll(1, dims=1).bool()
        assert torch.autograd.gradcheck(lambda a, b: in_batch_nll(a @ b.T, ignore), (one, other))
