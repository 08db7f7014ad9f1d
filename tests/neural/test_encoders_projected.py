"""A linear layer behind the pooling, and a layer norm: by transformers alone, trained, refused."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModel, AutoTokenizer

from contents import contents
from residuum.cli.errors import ResiduumError
from residuum.config import entries
from residuum.config.schema.backbones import InverseCloze
from residuum.config.schema.encoder import Encoder as EncoderSchema
from residuum.config.schema.models import DualEncoder
from residuum.neural import devices
from residuum.neural.encoders import Encoder
from residuum.neural.pretrained import Source
from tiny_models import (
    ENCODER,
    inverse_cloze_spec,
    model_spec,
    order_share,
    terms_spec,
    toy_docs,
    toy_queries,
    train_toy,
    write_problem,
)

CPU = devices.Device("cpu", "fp32")
TEXTS = ["water", "", "flour often flour there", "The MOTOR!", "frost " * 40]
FOUR = {"kind": "first", "vectors": 4}


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_problem(tmp_path_factory.mktemp("toy"))


def settings(**changes: object) -> EncoderSchema:
    return EncoderSchema.model_validate({**ENCODER, **changes})


def spec(encoder: dict[str, object], **training: object) -> str:
    return json.dumps(json.loads(model_spec("nll", **training)) | {"encoder": encoder})


@pytest.fixture(scope="module")
def trained(toy: Path) -> Path:
    """A checkpoint of eight dimensions, four vectors a doc, without markers."""
    encoder = {**ENCODER, "pooling": FOUR, "dimensions": 8, "query_marker": "", "doc_marker": ""}
    made = spec(encoder, steps=200, learning_rate=0.003, dropout=0)
    return train_toy(toy, toy / "trained", spec=made)


def test_vectors_are_those_of_transformers_and_two_layers(trained: Path) -> None:
    """Luan et al. 2021, 4.1: "implemented as a single feed-forward layer, followed by layer
    normalization", which is said of [CLS]; here of each of the first vectors."""
    model, tokenizer = AutoModel.from_pretrained(trained), AutoTokenizer.from_pretrained(trained)
    linear = load_file(trained / "2_Dense" / "model.safetensors")
    norm = load_file(trained / "3_LayerNorm" / "model.safetensors")
    rows, counts = Encoder.load(trained, CPU).vectors(TEXTS, "doc", 2)
    expected = []
    for text in TEXTS:
        inputs = tokenizer(f"[CLS] {text}", return_tensors="pt", truncation=True, max_length=24)
        with torch.no_grad():
            hidden = model.eval()(**inputs).last_hidden_state[0, :4]
        made = hidden @ linear["linear.weight"].T + linear["linear.bias"]
        scaled = (made - made.mean(1, keepdim=True)) / (made.var(1, False, True) + 1e-5).sqrt()
        expected.append((scaled * norm["norm.weight"] + norm["norm.bias"]) * 0.25**0.5)
    assert counts.tolist() == [3, 2, 4, 4, 4]
    assert rows.shape == (17, 8)
    np.testing.assert_allclose(rows, torch.cat(expected), atol=1e-5)
    assert "linear" not in "".join(load_file(trained / "model.safetensors"))


@pytest.mark.filterwarnings("error::FutureWarning")
def test_sentence_transformers_gives_a_text_its_first_vector(trained: Path) -> None:
    from sentence_transformers import SentenceTransformer

    theirs = SentenceTransformer(str(trained), device="cpu")
    theirs.max_seq_length = 12
    expected = theirs.encode(TEXTS, prompt_name="query") * 0.25**0.5
    np.testing.assert_allclose(
        Encoder.load(trained, CPU).encode(TEXTS, "query", 3), expected, atol=1e-5
    )


def share_in_order(encoder: Encoder) -> float:
    docs, counts = encoder.vectors([text for _, text in toy_docs()], "doc", 8)
    queries = np.asarray(encoder.encode([text for _, text in toy_queries()], "query", 8))
    every = np.asarray(queries @ np.asarray(docs).T)
    return order_share(np.maximum.reduceat(every, np.cumsum(counts) - counts, axis=1))


def test_it_learns_in_both_layers(toy: Path, trained: Path) -> None:
    """Four seeds, by the kernels of two kinds of processors each, gave shares of 0.89 to 1."""
    encoder = Encoder.load(trained, CPU)
    start = Encoder(Source(str(toy / "start")), encoder.settings, CPU)
    assert share_in_order(encoder) > max(0.8, share_in_order(start) + 0.2)
    for name in ("linear", "norm"):
        begun, ended = start.model[name].state_dict(), encoder.model[name].state_dict()
        assert all(not torch.equal(begun[key], ended[key]) for key in begun), name


def test_a_fresh_layer_norm_gives_mean_0_and_variance_1(toy: Path) -> None:
    encoder = Encoder(Source(str(toy / "start")), settings(dimensions=7, score_scale=1), CPU)
    rows = np.asarray(encoder.encode(TEXTS, "doc", 2))
    np.testing.assert_allclose(rows.mean(axis=1), 0, atol=1e-6)
    np.testing.assert_allclose(rows.var(axis=1), 1, atol=1e-3)  # epsilon 1e-5 beside it


def test_what_is_saved_is_read_again_and_goes_on(toy: Path, tmp_path: Path) -> None:
    one = Encoder(Source(str(toy / "start")), settings(dimensions=5), CPU)
    with torch.no_grad():
        one.model["norm"].bias += 0.5
    one.save(tmp_path / "one")
    again = Encoder.load(tmp_path / "one", CPU)
    assert (again.encode(TEXTS, "doc", 2) == one.encode(TEXTS, "doc", 2)).all()
    again.save(tmp_path / "two")
    one_files, two_files = (contents(tmp_path / name) for name in ("one", "two"))
    of_weights = [name for name in one_files if name.endswith(".safetensors")]
    assert len(of_weights) == 3
    assert all(one_files[name] == two_files[name] for name in of_weights)
    beyond = Encoder(Source(str(tmp_path / "one")), settings(dimensions=5), CPU)
    assert (beyond.encode(TEXTS, "doc", 2) == one.encode(TEXTS, "doc", 2)).all()
    with pytest.raises(
        ResiduumError, match=r"2_Dense/model\.safetensors: it holds bias 5, weight 5x16, but"
    ):
        Encoder(Source(str(tmp_path / "one")), settings(dimensions=6), CPU)


@pytest.fixture(scope="module")
def plain(toy: Path) -> Path:
    """A checkpoint whose [CLS] goes through a linear layer alone, trained for a few steps."""
    bare = {"query_marker": "", "doc_marker": "", "pooling": "cls"}
    made = spec({**ENCODER, **bare, "dimensions": 8, "norm": False}, steps=5, dropout=0)
    return train_toy(toy, toy / "plain", spec=made)


def test_without_a_norm_vectors_are_the_product_of_numpy(toy: Path, plain: Path) -> None:
    """Ma et al. 2020, 2.1: [CLS] is projected; the scores' scale is 0.25 here."""
    model, tokenizer = AutoModel.from_pretrained(plain), AutoTokenizer.from_pretrained(plain)
    linear = load_file(plain / "2_Dense" / "model.safetensors")
    weight, bias = (linear[f"linear.{key}"].numpy() for key in ("weight", "bias"))
    expected = []
    for text in TEXTS:
        inputs = tokenizer(f"[CLS] {text}", return_tensors="pt", truncation=True, max_length=24)
        with torch.no_grad():
            cls = model.eval()(**inputs).last_hidden_state[0, 0].numpy()
        expected.append((weight @ cls + bias) / 2)
    rows = Encoder.load(plain, CPU).encode(TEXTS, "doc", 2)
    np.testing.assert_allclose(rows, expected, atol=1e-5)
    assert not (plain / "3_LayerNorm").exists()
    start = Encoder(Source(str(toy / "start")), Encoder.load(plain, CPU).settings, CPU)
    assert start.model.keys() == {"backbone", "linear"}
    begun = start.model["linear"].state_dict()
    assert not np.allclose(begun["weight"], weight) and not np.allclose(begun["bias"], bias)


@pytest.mark.filterwarnings("error::FutureWarning")
def test_sentence_transformers_reads_a_projection_alone(plain: Path) -> None:
    from sentence_transformers import SentenceTransformer

    theirs = SentenceTransformer(str(plain), device="cpu")
    theirs.max_seq_length = 12
    assert [type(part).__name__ for part in theirs] == ["Transformer", "Pooling", "Dense"]
    expected = theirs.encode(TEXTS, prompt_name="query") / 2
    own = Encoder.load(plain, CPU).encode(TEXTS, "query", 3)
    np.testing.assert_allclose(own, expected, atol=1e-5)


def test_a_projection_alone_is_read_again_and_goes_on(plain: Path, tmp_path: Path) -> None:
    one = Encoder.load(plain, CPU)
    one.save(tmp_path / "two")
    again = Encoder.load(tmp_path / "two", CPU)
    beyond = Encoder(Source(str(plain)), one.settings, CPU)
    for other in (again, beyond):
        assert (other.encode(TEXTS, "doc", 2) == one.encode(TEXTS, "doc", 2)).all()
    before, after = (contents(folder) for folder in (plain, tmp_path / "two"))
    of_weights = [name for name in after if name.endswith(".safetensors")]
    assert len(of_weights) == 2 and all(after[name] == before[name] for name in of_weights)


def test_a_norm_leaves_no_trace_in_settings_and_specs_where_it_is_the_default(toy: Path) -> None:
    encoder = Encoder(Source(str(toy / "start")), settings(dimensions=5), CPU)
    encoder.save(toy / "normed")
    assert "norm" not in json.loads((toy / "normed" / "residuum.json").read_text())
    assert "norm" not in settings().model_dump() and not settings(dimensions=5, norm=False).norm
    with pytest.raises(ValueError, match="norm: without dimensions neither layer"):
        settings(norm=False)


def test_one_vector_of_the_first_token_is_cls(toy: Path) -> None:
    first, cls = (
        Encoder(Source(str(toy / "start")), settings(pooling=pooling), CPU)
        for pooling in ({"kind": "first", "vectors": 1}, "cls")
    )
    for kind in ("query", "doc"):
        assert (first.encode(TEXTS, kind, 2) == cls.encode(TEXTS, kind, 2)).all()
    assert first.dimensions == 16


def test_more_dimensions_than_the_backbone_has_are_refused(toy: Path) -> None:
    with pytest.raises(ResiduumError, match=r"dimensions is 17, but .*start gives vectors of 16"):
        Encoder(Source(str(toy / "start")), settings(dimensions=17), CPU)
    Encoder(Source(str(toy / "start")), settings(dimensions=16), CPU)


def test_more_vectors_than_a_doc_has_tokens_are_refused(toy: Path) -> None:
    pooling = {"kind": "first", "vectors": 25}
    with pytest.raises(ResiduumError, match="25 vectors for a doc, but only 24 of its tokens"):
        Encoder(Source(str(toy / "start")), settings(pooling=pooling), CPU)


def test_what_has_dimensions_of_its_own_is_refused() -> None:
    sparse = json.loads(terms_spec())
    sparse["encoder"] |= {"dimensions": 8}
    with pytest.raises(ValueError, match="encoder: dimensions: vectors have one for each term"):
        entries.validate("x.yaml", sparse, DualEncoder)
    sparse["encoder"] |= {"dimensions": None, "normalise": True}
    with pytest.raises(ValueError, match="normalise: vectors with a dimension for each term"):
        entries.validate("x.yaml", sparse, DualEncoder)
    cloze = json.loads(inverse_cloze_spec())
    cloze["encoder"] |= {"dimensions": 8}
    with pytest.raises(ValueError, match=r"encoder\.dimensions: a start for all models has its"):
        entries.validate("x.yaml", cloze, InverseCloze)
