"""A masked-language model whose head was taken gives what the head reads."""

import pytest
import torch
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
    with pytest.raises(ResiduumError, match="toy: its last layer, which scores terms, is not"):
        layers.take_head(model, "toy")
