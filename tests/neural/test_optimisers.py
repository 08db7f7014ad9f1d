"""The optimiser: rates by hand, decay and clipping against torch's own, defaults as plain Adam."""

import pytest
import torch

from residuum.config.schema.models import Training
from residuum.neural import fitting


def training(**changes: object) -> Training:
    base = {"learning_rate": 0.5, "batch_size": 2, "steps": 10}
    return Training.model_validate({**base, **changes})


def test_the_rate_rises_and_falls_on_straight_lines() -> None:
    rising = training(warmup_steps=4)
    rates = [fitting.learning_rate(rising, step, 10) for step in range(6)]
    assert rates == [0.0, 0.125, 0.25, 0.375, 0.5, 0.5]
    falling = training(warmup_steps=2, decay="linear")
    rates = [fitting.learning_rate(falling, step, 10) for step in range(10)]
    assert rates == pytest.approx([0.0, 0.25, *(0.5 * left / 8 for left in range(8, 0, -1))])
    assert fitting.learning_rate(training(), 7, 10) == 0.5


def model() -> torch.nn.Module:
    torch.manual_seed(3)
    return torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.LayerNorm(3))


def gradients(number: int) -> list[torch.Tensor]:
    torch.manual_seed(number)
    return [torch.randn_like(some) * 5 for some in model().parameters()]


def trained(how: Training, steps: int = 5) -> list[torch.Tensor]:
    net = model()
    optimiser = fitting.make_optimiser(net, how)
    for number in range(steps):
        for some, gradient in zip(net.parameters(), gradients(number), strict=True):
            some.grad = gradient.clone()
        fitting.take_step(optimiser, how, number, steps)
    return [some.detach() for some in net.parameters()]


def test_without_options_it_is_plain_adam_to_the_last_bit() -> None:
    net = model()
    adam = torch.optim.Adam(net.parameters(), lr=0.5)
    for number in range(5):
        for some, gradient in zip(net.parameters(), gradients(number), strict=True):
            some.grad = gradient.clone()
        adam.step()
    for result, expected in zip(trained(training()), net.parameters(), strict=True):
        assert torch.equal(result, expected)


def test_options_are_those_of_a_loop_by_hand() -> None:
    """Decay of the matrix alone, clipping at norm 1, a rate that changes with the step."""
    how = training(weight_decay=0.1, clip_norm=1.0, warmup_steps=2, decay="linear")
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
