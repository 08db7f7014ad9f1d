"""A step of each learner on a card that is not there: no wrong device, no waiting, few launches."""

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from card_stand_in import CARD, moved, on_card, stand_in, text_on_card
from residuum.neural import devices, fitting
from residuum.neural.crossencoder import Pair
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


@pytest.mark.parametrize("name", SPECS)
def test_the_look_at_the_first_examples_mixes_no_devices(
    toy: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a start makes of them lies on the card, what stands for equal scores on the host."""
    learner = made(toy, name)
    batch = learner.batch(0)
    with stand_in(monkeypatch) as seen, torch.no_grad():
        on_card(learner)
        outputs = learner.forward(batch)
        own = learner.seen(batch, outputs)
        assert all(values.device.type == CARD for values in own.values())
        if (equal := learner.indifferent(batch)) is not None:
            assert learner.losses(batch, equal, WHOLE).losses.device.type == "cpu"
        assert seen.waits == []


TEXTS = ["river", "a river runs beside the hill", "moss"]


def made_for(toy: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a model of texts that is not trained, on the card, in bf16."""
    encoder = made(toy, name).encoder
    monkeypatch.setattr(encoder, "frozen", True)
    return encoder


@pytest.mark.parametrize("name", ["nll", "vectors", "projected", "sparse", "cross", "terms"])
def test_inference_waits_for_nothing_but_what_it_gives(
    toy: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = made_for(toy, name, monkeypatch)
    kept: list[torch.Tensor] = []
    with stand_in(monkeypatch) as seen, torch.inference_mode():
        encoder.model = moved(encoder.model.to(torch.bfloat16))
        for part in (*encoder.exact(), *layers_behind(encoder.model)):
            part.to(torch.float32)
        text_on_card(encoder, devices.Device("cuda", "bf16"))
        monkeypatch.setattr(devices, "arriving", lambda made: lambda: kept.append(made))
        monkeypatch.setattr(type(encoder), "keeping", lambda self: nullcontext(lambda *_: _[2]()))
        if name == "cross":
            tokens = list(encoder.tokenise(TEXTS, "doc"))
            encoder.score([Pair(tokens[0], own) for own in tokens], 2)
        elif name == "terms":
            encoder.weights(encoder.tokenise(TEXTS), 2)
        else:
            with encoder.keeping() as put:
                encoder.of_tokens(list(encoder.tokenise(TEXTS, "doc")), "doc", 2, put)
        assert kept and all(made.device.type == CARD for made in kept)
        assert {made.dtype for made in kept} == {torch.float32}
        assert seen.waits == []


def layers_behind(model: Any) -> list[Any]:
    """Return the layers behind a backbone."""
    return [part for name, part in model.named_children() if name in ("linear", "norm")]


def test_questions_are_written_without_a_wait_for_each_token(
    toy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of six tokens; after eight a card is asked whether all have ended."""
    writer = made_for(toy, "questions", monkeypatch)
    docs = list(writer.tokenise_docs(TEXTS))
    with stand_in(monkeypatch) as seen, torch.inference_mode():
        writer.model = moved(writer.model.to(torch.bfloat16))
        text_on_card(writer, devices.Device("cuda", "bf16"))
        states, mask = writer._encoded(docs)
        # torch's own error: the tokens, which hold nothing here, cannot be brought to the host.
        with pytest.raises(NotImplementedError, match="meta"):
            writer._decoded(states, mask, np.zeros((len(docs), 6, 5), np.float32))
        assert seen.launches["topk"] == 6
        [waits] = seen.waits
        assert ".cpu()" in waits, "all tokens, brought to the host"


@pytest.mark.parametrize(
    "slip",
    [
        lambda some: some[:, [0, 1]],
        lambda some: some.__setitem__((slice(None), [0]), 1.0),
        lambda some: some[np.array([0])],
        lambda some: some.new_tensor([1.0]),
        lambda some: torch.tensor([1.0], device=some.device),
        lambda some: torch.as_tensor([1.0], device=some.device),
    ],
)
def test_pythons_values_on_a_card_are_a_wait(slip: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with stand_in(monkeypatch) as seen:
        slip(torch.empty(2, 3, device=CARD))
        found = len(seen.waits)
        assert found
        torch.empty(2, 3, device=CARD)[:, 1:].sum()
        assert len(seen.waits) == found


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
