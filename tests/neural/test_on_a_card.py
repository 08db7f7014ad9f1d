"""A step of each learner on a card that is not there: no wrong device, no waiting, few launches."""

from pathlib import Path
from typing import Any

import pytest
import torch

from card_stand_in import CARD, on_card, stand_in
from residuum.neural import fitting
from residuum.neural.devices import AdaptiveBatchSize
from toy_learners import SPECS, WHOLE, made, write_toy


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_toy(tmp_path_factory.mktemp("toy"))


@pytest.mark.parametrize("precision", ["bf16", "fp32"])
@pytest.mark.parametrize("name", SPECS)
def test_a_step_stays_on_the_card_and_waits_for_nothing(
    toy: Path, name: str, precision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    learner = made(toy, name)
    with stand_in(monkeypatch) as seen:
        on_card(learner, precision)
        sizes = AdaptiveBatchSize("examples", "length")
        means = fitting.set_gradients(learner, sizes, WHOLE, 0)
        assert means.values.device.type == CARD
        assert seen.waits == []
        gradients = [some.grad for some in learner.model.parameters() if some.grad is not None]
        assert gradients and all(some.device.type == CARD for some in gradients)


def test_what_waits_is_found(toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tensor of the host beside the card's, a question to the card: slips like these."""
    learner = made(toy, "nll")
    whole = learner.losses

    def slipped(batch: Any, outputs: Any, rows: slice) -> Any:
        outputs[0] * torch.ones(outputs[0].shape)
        return whole(batch, outputs, rows)

    monkeypatch.setattr(learner, "losses", slipped)
    with stand_in(monkeypatch) as seen, pytest.raises(RuntimeError, match="meta"):
        fitting.set_gradients(on_card(learner), AdaptiveBatchSize("", ""), WHOLE, 0)
    assert len(seen.waits) == 1 and "mul at neural/fitting.py" in seen.waits[0]
    monkeypatch.setattr(learner, "losses", lambda batch, outputs, rows: outputs[0].sum().item())
    with stand_in(monkeypatch), pytest.raises(RuntimeError, match="meta"):
        fitting.set_gradients(learner, AdaptiveBatchSize("", ""), WHOLE, 0)
