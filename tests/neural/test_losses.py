"""Each loss against its formula, written out by hand: values and gradients."""

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from residuum.neural.losses import (
    LOSSES,
    Candidates,
    gating,
    logistic,
    nll,
    residual_margin,
    squared_cosine,
    squared_errors,
    triplet_hinge,
    weighted,
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


def test_nll_value_and_gradient() -> None:
    scores = torch.tensor(SCORES, requires_grad=True)
    loss = nll(scores, torch.arange(3), torch.tensor(IGNORE))
    loss.sum().backward()
    for i, row in enumerate(SCORES):
        weights = [0.0 if IGNORE[i][j] else math.exp(score) for j, score in enumerate(row)]
        shares = [weight / sum(weights) for weight in weights]
        assert loss[i].item() == pytest.approx(-math.log(shares[i]), abs=1e-6)
        gradient = [share - (i == j) for j, share in enumerate(shares)]
        assert scores.grad[i].tolist() == pytest.approx(gradient, abs=1e-6)


def test_nll_of_some_rows_is_that_of_the_whole() -> None:
    scores, positive, ignore = torch.tensor(SCORES), torch.arange(3), torch.tensor(IGNORE)
    whole = nll(scores, positive, ignore)
    assert torch.equal(nll(scores[1:], positive[1:], ignore[1:]), whole[1:])


def test_nll_of_a_batch_with_sampled_negatives_is_the_cross_entropy_of_the_wide_matrix() -> None:
    """DPR's: two queries, columns of both positives and of both negatives; one is masked."""
    scores = torch.tensor([[2.0, 0.5, 1.0, 0.1], [0.3, 1.5, 0.2, 1.2]])
    ignore = torch.tensor([[False, False, False, True], [False] * 4])
    expected = torch.nn.functional.cross_entropy(
        scores.masked_fill(ignore, float("-inf")), torch.tensor([0, 1]), reduction="none"
    )
    torch.testing.assert_close(nll(scores, torch.tensor([0, 1]), ignore), expected)
    by_hand = -math.log(math.exp(2.0) / (math.exp(2.0) + math.exp(0.5) + math.exp(1.0)))
    assert expected[0].item() == pytest.approx(by_hand)


def test_bm25_inside_the_softmax_takes_from_the_encoder_what_it_tells_by_itself() -> None:
    """All exponentials are whole numbers: e^(DE + lambda BM25) is 2 * 3^2, 4 * 3^0 and 1 * 3^1.

    -log of 18/25 is the loss, and of 4/7 where the third doc is the second query's other positive.
    """
    scores = torch.tensor([[2.0, 4.0, 1.0], [1.0, 4.0, 2.0]]).log().requires_grad_()
    lexical = torch.tensor([[4.0, 0.0, 2.0], [2.0, 0.0, 9.0]])
    ignore = torch.tensor([[False, False, False], [False, False, True]])
    none = torch.zeros(2, 1)
    batch = Candidates(none, none, scores, torch.tensor([0, 1]), ignore, fixed_scores=lexical)
    loss = LOSSES["residual_nll"](kind="residual_nll", lambda_train=math.log(3) / 2)
    losses = loss.losses(batch)
    assert losses.tolist() == pytest.approx([-math.log(18 / 25), -math.log(4 / 7)], abs=1e-6)
    losses.sum().backward()
    gradient = [[18 / 25 - 1, 4 / 25, 3 / 25], [3 / 7, 4 / 7 - 1, 0.0]]
    np.testing.assert_allclose(scores.grad, np.array(gradient), atol=1e-6)
    plain = LOSSES["nll"](kind="nll").losses(batch)
    assert plain[0].item() == pytest.approx(-math.log(2 / 7), abs=1e-6)
    with pytest.raises(TypeError, match="fixed scores are needed"):
        loss.losses(batch._replace(fixed_scores=None))


def seen(own: list[list[float]], lexical: list[list[float]]) -> Candidates:
    """Return queries with their own docs only."""
    scores = torch.tensor(own, requires_grad=True)
    none = torch.zeros(scores.shape, dtype=torch.bool)
    return Candidates(scores, torch.tensor(lexical), scores, torch.zeros(2).long(), none)


BATCH = ([[2.0, 1.5, 3.0], [0.5, 0.4, -3.0]], [[10.0, 7.0, 10.0], [4.0, 9.0, 4.0]])


def test_margin_losses_are_means_over_the_negatives_of_a_query() -> None:
    residual = LOSSES["residual_margin"](kind="residual_margin", xi=1.0, lambda_train=0.1)
    constant = LOSSES["constant_margin"](kind="constant_margin", margin=1.0)
    first, second = (0.7 - 2.0 + 1.5, 1.0 - 2.0 + 3.0), (1.5 - 0.5 + 0.4, 0.0)
    result = residual.losses(seen(*BATCH)).tolist()
    assert result == pytest.approx([sum(first) / 2, sum(second) / 2])
    result = constant.losses(seen(*BATCH)).tolist()
    assert result == pytest.approx([(0.5 + 2.0) / 2, 0.9 / 2])


def test_several_losses_are_summed_by_weight() -> None:
    batch = seen(*BATCH)
    constant = LOSSES["constant_margin"](kind="constant_margin", margin=1.0, weight=2.0)
    likelihood = LOSSES["nll"](kind="nll", weight=0.5)
    total, parts = weighted([constant, likelihood], batch)
    shares = [math.exp(row[0]) / sum(map(math.exp, row)) for row in BATCH[0]]
    assert parts["nll"].tolist() == pytest.approx([-math.log(share) for share in shares])
    expected = [2 * 1.25 - 0.5 * math.log(shares[0]), 2 * 0.45 - 0.5 * math.log(shares[1])]
    assert total.tolist() == pytest.approx(expected)
    total.sum().backward()
    # d/ds+ of the first query: two active hinges at 2/2 each, and half of share - 1
    assert batch.scores.grad[0, 0].item() == pytest.approx(-2.0 + 0.5 * (shares[0] - 1))


def test_logistic_value_and_gradient() -> None:
    """The sigmoids of each query, of its positive and of two negatives, are simple fractions."""
    shares = [[3 / 4, 1 / 5, 1 / 2], [1 / 2, 1 / 4, 1 / 10]]
    own = torch.tensor(shares, dtype=torch.float64).logit().requires_grad_()
    losses = logistic(own)
    by_hand = [
        (math.log(4 / 3) + math.log(5 / 4) + math.log(2)) / 3,
        (math.log(2) + math.log(4 / 3) + math.log(10 / 9)) / 3,
    ]
    assert losses.tolist() == pytest.approx(by_hand)
    losses.sum().backward()
    # d/ds is (sigmoid(s) - y) over the docs of the query
    gradient = [[-1 / 4, 1 / 5, 1 / 2], [-1 / 2, 1 / 4, 1 / 10]]
    np.testing.assert_allclose(own.grad, np.array(gradient) / 3)


def test_logistic_stays_finite_where_a_sigmoid_rounds_to_0_or_1() -> None:
    own = torch.tensor([[200.0, -200.0], [-200.0, 200.0]], requires_grad=True)
    losses = logistic(own)
    losses.sum().backward()
    assert losses.tolist() == [0, 200]
    assert own.grad is not None and own.grad.tolist() == [[0, 0], [-0.5, 0.5]]


def test_logistic_looks_at_each_score_alone_and_not_at_gaps() -> None:
    """A shift of all scores leaves nll as it is, and no logit of 0 costs less than log 2."""
    loss = LOSSES["logistic"](kind="logistic")
    batch = seen(*BATCH)
    shifted = batch._replace(sampled=batch.sampled + 1)
    assert not torch.allclose(loss.losses(batch), loss.losses(shifted))
    equal = loss.losses(batch._replace(sampled=torch.zeros(2, 3)))
    assert equal.tolist() == pytest.approx([math.log(2)] * 2)


@pytest.mark.parametrize("name", LOSSES)
def test_a_loss_leaves_alone_what_it_does_not_need(name: str) -> None:
    parameters = {
        "residual_margin": {"xi": 1.0, "lambda_train": 0.1},
        "constant_margin": {"margin": 1.0},
        "residual_nll": {"lambda_train": 1.0},
    }
    loss = LOSSES[name](kind=name, **parameters.get(name, {}))
    nothing = torch.full((2, 3), float("nan"))
    batch, ones = seen(*BATCH), torch.ones(2, 4)
    if "candidates" not in loss.needs:
        batch = batch._replace(scores=nothing)
    if "negatives" not in loss.needs:
        batch = batch._replace(sampled=nothing, lexical=nothing)
    if "vectors" in loss.needs:
        batch = batch._replace(vectors=(ones, ones[:, None]))
    if "fixed" in loss.needs:
        batch = batch._replace(fixed=(ones, ones))
    if "fixed_scores" in loss.needs:
        batch = batch._replace(fixed_scores=torch.ones(2, 3))
    assert loss.losses(batch).shape == (2,)
    assert torch.isfinite(loss.losses(batch)).all()


def test_squared_errors_value_and_gradient() -> None:
    predicted = torch.tensor([0.5, 0.0, 1.0], requires_grad=True)
    losses = squared_errors(predicted, torch.tensor([0.1, 0.2, 0.4]))
    assert losses.tolist() == pytest.approx([0.16, 0.04, 0.36])
    losses.mean().backward()
    # d/dy of the mean over all words, whichever doc's they are: 2 (y - t) / words
    assert predicted.grad.tolist() == pytest.approx([0.8 / 3, -0.4 / 3, 1.2 / 3])


def test_a_gate_is_charged_for_terms_that_are_closed_and_for_those_that_are_open() -> None:
    """G of 1/2, 3/4 and 1/5: -l1 log(1 - G) of what the query lacks, -l2 log G of what it has."""
    logits = torch.tensor([[0.0, 3.0, 0.25], [0.0, 3.0, 0.25]], dtype=torch.float64)
    logits[:, 1:] = logits[:, 1:].log()
    logits.requires_grad_()
    present = torch.tensor([[False, True, False], [True, False, True]])
    losses = gating(logits, present, 2.0, 3.0)
    by_hand = [
        2 * math.log(2) + 3 * math.log(4 / 3) + 2 * math.log(5 / 4),
        3 * math.log(2) + 2 * math.log(4) + 3 * math.log(5),
    ]
    assert losses.tolist() == pytest.approx(by_hand)
    losses.sum().backward()
    # of -log(1 - G) it is G, of -log G it is G - 1
    gradient = [[2 / 2, -3 / 4, 2 / 5], [-3 / 2, 2 * 3 / 4, -3 * 4 / 5]]
    np.testing.assert_allclose(logits.grad, gradient)


@pytest.mark.parametrize("name", ["hinge", "nll"])
def test_gradients_match_finite_differences(name: str) -> None:
    torch.manual_seed(0)
    one, other = (torch.randn(4, 4, dtype=torch.float64, requires_grad=True) for _ in range(2))
    if name == "hinge":
        assert torch.autograd.gradcheck(lambda a, b: triplet_hinge(a[0], b[0], 0.7), (one, other))
    else:
        positive, ignore = torch.arange(4), torch.eye(4).roll(1, dims=1).bool()
        assert torch.autograd.gradcheck(lambda a, b: nll(a @ b.T, positive, ignore), (one, other))


def batch_of(queries: Tensor, docs: Tensor, fixed: tuple[Tensor, Tensor]) -> Candidates:
    none = torch.zeros(len(queries), 1)
    return Candidates(none, none, none, none, none, (queries, docs[:, None]), fixed)


def test_orthogonality_is_equation_8_and_does_not_see_lengths() -> None:
    """Parallel in both 2, orthogonal in both 0, at 45 degrees in both 1."""
    fixed = torch.tensor([[3.0, 0.0], [3.0, 0.0], [0.0, 0.5]])
    own = torch.tensor([[-2.0, 0.0], [0.0, 7.0], [1.0, 1.0]])
    loss = LOSSES["orthogonality"].model_validate({"kind": "orthogonality"})
    batch = batch_of(own, own * 5, (fixed, fixed / 9))
    assert loss.losses(batch).tolist() == pytest.approx([2, 0, 1])
    assert {name: some.tolist() for name, some in loss.watched(batch).items()} == {
        "ortho_query": pytest.approx([1, 0, 0.5]),
        "ortho_doc": pytest.approx([1, 0, 0.5]),
    }


def test_the_gradient_of_orthogonality_is_that_of_finite_differences() -> None:
    torch.manual_seed(1)
    own, fixed = torch.randn(4, 6, dtype=torch.float64, requires_grad=True), torch.randn(4, 6)
    assert torch.autograd.gradcheck(lambda some: squared_cosine(some, fixed.double()), own)


def test_a_zero_vector_is_orthogonal_and_stays() -> None:
    own, fixed = torch.zeros(2, 3, requires_grad=True), torch.ones(2, 3)
    value = squared_cosine(own, fixed)
    value.sum().backward()
    assert value.tolist() == [0, 0] and own.grad is not None and not own.grad.any()
    assert squared_cosine(fixed, torch.zeros(2, 3)).tolist() == [0, 0]


def test_steps_against_it_make_vectors_orthogonal() -> None:
    torch.manual_seed(2)
    own, fixed = torch.randn(8, 16, requires_grad=True), torch.randn(8, 16)
    adam = torch.optim.Adam([own], lr=0.05)
    before = squared_cosine(own, fixed).mean().item()
    for _ in range(50):
        adam.zero_grad()
        squared_cosine(own, fixed).mean().backward()
        adam.step()
    assert squared_cosine(own, fixed).mean().item() < 0.05 * before
