"""A masked-language model without its head, and heads whose scores fill whole vectors."""

import pytest
import torch
from torch.nn import Linear
from torch.nn.functional import linear
from transformers import BertConfig, BertForMaskedLM, DistilBertConfig, DistilBertForMaskedLM

from residuum.cli.errors import ResiduumError
from residuum.neural import layers

SIZE = {"vocab_size": 50, "num_attention_heads": 2}
MODELS = [
    (BertForMaskedLM, BertConfig(hidden_size=16, intermediate_size=8, num_hidden_layers=1, **SIZE)),
    (DistilBertForMaskedLM, DistilBertConfig(dim=16, hidden_dim=8, n_layers=1, n_heads=2, **SIZE)),
]


@pytest.mark.parametrize(("form", "config"), MODELS)
def test_what_a_head_reads_gives_the_scores_of_the_whole_model(form: type, config: object) -> None:
    torch.manual_seed(1)
    model = form(config).eval()
    ids = torch.randint(50, (3, 7))
    with torch.inference_mode():
        scores = model(input_ids=ids).logits
        head = layers.take_head(model, "toy")
        states = model(input_ids=ids).logits
        assert states.shape == (3, 7, 16)
        torch.testing.assert_close(linear(states, head.weight, head.bias), scores)


def test_a_model_without_a_linear_head_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    model = BertForMaskedLM(MODELS[0][1])
    monkeypatch.setattr(model, "get_output_embeddings", torch.nn.Identity)
    with pytest.raises(ResiduumError, match="toy: its scores of terms are not those of a linear"):
        layers.take_head(model, "toy")


@pytest.mark.parametrize("terms", [3444, 48, 7])
@pytest.mark.parametrize("bias", [True, False])
def test_weights_of_whole_vectors_give_the_plain_scores_and_gradients(
    terms: int, bias: bool
) -> None:
    torch.manual_seed(2)
    head, plain = Linear(64, terms, bias=bias), Linear(64, terms, bias=bias)
    plain.load_state_dict(head.state_dict())
    hidden = torch.randn(3, 40, 64)
    scores = linear(hidden, *layers.whole_vectors(head))
    assert scores.shape[-1] % layers.VECTOR == 0
    assert not scores[..., terms:].any()
    torch.testing.assert_close(scores[..., :terms], plain(hidden))
    scores.relu().sum().backward()
    plain(hidden).relu().sum().backward()
    for own, expected in zip(head.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(own.grad, expected.grad)
