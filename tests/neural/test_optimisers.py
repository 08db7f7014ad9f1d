"""The optimiser: rates by hand and by transformers, BERT's steps in NumPy, Adam's by torch."""

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from transformers import get_linear_schedule_with_warmup

from residuum.config.schema.training import Training
from residuum.neural import optimisers
from residuum.neural.optimisers import Moment


def training(**changes: object) -> Training:
    base = {"learning_rate": 0.5, "batch_size": 2, "steps": 10}
    return Training.model_validate({**base, **changes})


def rates(steps: int, **changes: object) -> list[float]:
    how = training(**changes)
    return [optimisers.learning_rate(how, Moment(step, steps, step // 10)) for step in range(steps)]


def test_the_rate_rises_and_falls_on_straight_lines() -> None:
    assert rates(6, warmup=4) == [0.0, 0.125, 0.25, 0.375, 0.5, 0.5]
    fall = [0.5 * left / 8 for left in range(8, 0, -1)]
    assert rates(10, warmup=2, decay="linear") == pytest.approx([0.0, 0.25, *fall])
    assert rates(4) == [0.5] * 4
    assert rates(4, warmup=9, decay="linear") == pytest.approx([0.5 * n / 9 for n in range(4)])


def test_a_warm_up_below_one_is_a_share_of_the_steps() -> None:
    """Rounded down, as in run_deepct.py: 25 steps have 2 in which the rate rises."""
    assert rates(25, warmup=0.1) == rates(25, warmup=2)
    assert rates(9, warmup=0.1) == [0.5] * 9
    assert rates(25, warmup=1) == [0.0, *[0.5] * 24]


def test_berts_decay_runs_from_the_first_step_under_the_warm_up() -> None:
    """polynomial_decay of power 1 over all steps, of which the warm-up hides the first ones."""
    fall = [0.5 * left / 10 for left in range(8, 0, -1)]
    assert rates(10, warmup=0.2, decay="bert") == pytest.approx([0.0, 0.25, *fall])


@pytest.mark.parametrize("warmup", [0, 7, 30])
def test_a_linear_decay_is_that_of_transformers(warmup: int) -> None:
    adam = torch.optim.AdamW([torch.nn.Parameter(torch.zeros(1))], lr=0.5)
    schedule = get_linear_schedule_with_warmup(adam, warmup, 40)
    expected = []
    for _ in range(40):
        expected += schedule.get_last_lr()
        adam.step()
        schedule.step()
    assert rates(40, warmup=warmup, decay="linear") == pytest.approx(expected)


def test_the_rate_halves_with_every_epoch_behind_the_first_ones() -> None:
    """RoC's: 2e-4 for three epochs, here of ten steps; then 1e-4, then 5e-5; as torch has it."""
    how = {"learning_rate": 2e-4, "halve_after": 3}
    assert rates(50, **how) == [2e-4] * 30 + [1e-4] * 10 + [5e-5] * 10
    adam = torch.optim.AdamW([torch.nn.Parameter(torch.zeros(1))], lr=2e-4)
    schedule = torch.optim.lr_scheduler.MultiStepLR(adam, [30, 40], gamma=0.5)
    expected = []
    for _ in range(50):
        expected += schedule.get_last_lr()
        adam.step()
        schedule.step()
    assert rates(50, **how) == pytest.approx(expected)
    with pytest.raises(ValidationError, match="leave out decay"):
        training(halve_after=3, decay="linear")


def model() -> torch.nn.Module:
    torch.manual_seed(3)
    return torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.LayerNorm(3))


def gradients(number: int) -> list[torch.Tensor]:
    torch.manual_seed(number)
    return [torch.randn_like(some) * 5 for some in model().parameters()]


def trained(how: Training, steps: int = 5) -> list[torch.Tensor]:
    net = model()
    optimiser = optimisers.make_optimiser(net, how)
    for number in range(steps):
        for some, gradient in zip(net.parameters(), gradients(number), strict=True):
            some.grad = gradient.clone()
        optimisers.take_step(optimiser, how, Moment(number, steps))
    return [some.detach() for some in net.parameters()]


def test_without_options_it_is_plain_adam_to_the_last_bit() -> None:
    """Of torch's fused kernel; torch's loop over operations rounds in another way."""
    for fused in (True, False):
        net = model()
        adam = torch.optim.Adam(net.parameters(), lr=0.5, fused=fused)
        for number in range(5):
            for some, gradient in zip(net.parameters(), gradients(number), strict=True):
                some.grad = gradient.clone()
            adam.step()
        for result, expected in zip(trained(training()), net.parameters(), strict=True):
            torch.testing.assert_close(result, expected)
            assert torch.equal(result, expected) or not fused


def test_options_are_those_of_a_loop_by_hand() -> None:
    """Decay of the matrix alone, clipping at norm 1, a rate that changes with the step."""
    how = training(weight_decay=0.1, clip_norm=1.0, warmup=2, decay="linear")
    net = model()
    matrix, *vectors = net.parameters()
    groups = [{"params": [matrix], "weight_decay": 0.1}, {"params": vectors, "weight_decay": 0.0}]
    adam = torch.optim.AdamW(groups, lr=1.0)
    for number, rate in enumerate([0.0, 0.25, 0.5, 0.5 * 2 / 3, 0.5 / 3]):
        for some, gradient in zip(net.parameters(), gradients(number), strict=True):
            some.grad = gradient.clone()
        assert torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0) > 1
        for group in adam.param_groups:
            group["lr"] = rate
        adam.step()
    for result, expected in zip(trained(how), net.parameters(), strict=True):
        torch.testing.assert_close(result, expected)
    assert not torch.equal(trained(how)[0], trained(training(clip_norm=1.0))[0])


def test_berts_adam_is_the_update_of_its_source_step_by_step() -> None:
    """In NumPy: m / (sqrt(v) + 1e-6) without bias correction, 0.01 w for the matrix alone.

    Before it all gradients are scaled to a common norm of 1, as clip_by_global_norm does.
    """
    how = {"optimizer": "bert-adam", "decay": "bert", "weight_decay": 0.01, "clip_norm": 1.0}
    weights = [some.detach().numpy().astype(np.float64) for some in model().parameters()]
    moments = [[np.zeros_like(some), np.zeros_like(some)] for some in weights]
    for number, rate in enumerate([0.0, 0.4, 0.3, 0.2, 0.1]):
        raw = [some.numpy().astype(np.float64) for some in gradients(number)]
        norm = np.sqrt(sum((some**2).sum() for some in raw))
        assert norm > 1
        for place, gradient in enumerate(raw):
            m, v = moments[place]
            m += 0.1 * (gradient / norm - m)
            v += 0.001 * ((gradient / norm) ** 2 - v)
            decay = 0.01 * weights[place] if weights[place].ndim == 2 else 0.0
            weights[place] = weights[place] - rate * (m / (np.sqrt(v) + 1e-6) + decay)
    result = trained(training(**how, warmup=0.2))
    for some, expected in zip(result, weights, strict=True):
        np.testing.assert_allclose(some.numpy(), expected, rtol=2e-5, atol=2e-6)


def test_every_optimiser_that_a_model_may_name_is_known() -> None:
    for name in optimisers.ADAMS:
        trained(training(optimizer=name), steps=1)
    with pytest.raises(ValidationError, match="'adam' or 'bert-adam'"):
        training(optimizer="adamw")
