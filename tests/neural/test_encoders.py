"""Encoders: checkpoints that other libraries read alike, padding, order, markers, errors."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoTokenizer, BertConfig, BertModel, BertTokenizer

from corpora import make_corpus
from residuum.cli.errors import ResiduumError
from residuum.config.schema.encoder import Encoder as EncoderSchema
from residuum.config.schema.encoder import TextKind
from residuum.neural import devices, pretrained
from residuum.neural.encoders import Encoder
from residuum.neural.pretrained import Source
from tiny_models import ENCODER, make_backbone, toy_docs

TEXTS = ["water here", "", "flour often flour there sound", "The MOTOR!", "frost " * 40]


@pytest.fixture(scope="module")
def device() -> devices.Device:
    return devices.choose("cpu", "fp32", threads=1)


@pytest.fixture(scope="module")
def backbone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("backbone")
    return make_backbone(folder / "made", make_corpus(folder / "corpus", toy_docs()))


def settings(**changes: object) -> EncoderSchema:
    return EncoderSchema.model_validate({**ENCODER, **changes})


@pytest.fixture(scope="module")
def encoder(backbone: Path, device: devices.Device) -> Encoder:
    return Encoder(Source(str(backbone)), settings(), device)


READINGS = [{}, {"keep_cls": True}, {"doc_marker": ""}]


@pytest.mark.parametrize("pooling", ["mean", "cls"])
@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.filterwarnings("error::FutureWarning")
def test_sentence_transformers_gives_the_same_vectors(
    backbone: Path, device: devices.Device, tmp_path: Path, pooling: str, reading: dict[str, object]
) -> None:
    from sentence_transformers import SentenceTransformer

    same_length = settings(pooling=pooling, query_length=24, **reading)
    ours = Encoder(Source(str(backbone)), same_length, device)
    ours.save(tmp_path)
    theirs = SentenceTransformer(str(tmp_path), device="cpu")
    assert theirs.similarity_fn_name == "dot"
    for kind, prompt in (("query", "query"), ("doc", "document")):
        expected = theirs.encode(TEXTS, prompt_name=prompt) * 0.25**0.5
        np.testing.assert_allclose(ours.encode(TEXTS, kind, 2), expected, atol=1e-6)


def test_a_saved_checkpoint_loads_with_auto_model_and_with_us(
    encoder: Encoder, device: devices.Device, tmp_path: Path
) -> None:
    encoder.save(tmp_path)
    assert not list(tmp_path.rglob("*.bin"))
    model, tokenizer = AutoModel.from_pretrained(tmp_path), AutoTokenizer.from_pretrained(tmp_path)
    inputs = tokenizer("[DOC] water here", return_tensors="pt")
    with torch.no_grad():
        hidden = model.eval()(**inputs).last_hidden_state[0]
    vector = encoder.encode(["water here"], "doc", 1)[0]
    np.testing.assert_allclose(vector, hidden.mean(dim=0).numpy() * 0.5, atol=1e-6)
    again = Encoder.load(tmp_path, device)
    assert again.settings == encoder.settings
    assert (again.encode(TEXTS, "query", 2) == encoder.encode(TEXTS, "query", 2)).all()


def test_a_doc_has_the_vectors_of_its_first_tokens(
    backbone: Path, device: devices.Device, tmp_path: Path
) -> None:
    """Against AutoModel alone; a doc of fewer tokens has fewer vectors, a query one."""
    many = settings(pooling={"kind": "first", "vectors": 4}, doc_marker="")
    encoder = Encoder(Source(str(backbone)), many, device)
    encoder.save(tmp_path)
    model, tokenizer = AutoModel.from_pretrained(tmp_path), AutoTokenizer.from_pretrained(tmp_path)
    texts = ["water", "", "flour often flour there"]
    rows, counts = Encoder.load(tmp_path, device).vectors(texts, "doc", 3)
    assert counts.tolist() == [3, 2, 4]
    expected = []
    for text in texts:
        with torch.no_grad():
            inputs = tokenizer(f"[CLS] {text}", return_tensors="pt")
            hidden = model.eval()(**inputs).last_hidden_state[0]
        expected.append(hidden[:4].numpy() * 0.5)
    np.testing.assert_allclose(rows, np.concatenate(expected), atol=1e-6)
    assert encoder.vectors(texts, "query", 3)[1].tolist() == [1, 1, 1]


def test_saving_twice_gives_the_same_bytes(encoder: Encoder, tmp_path: Path) -> None:
    encoder.save(tmp_path / "one")
    encoder.encode(TEXTS, "query", 2)
    encoder.save(tmp_path / "two")
    names = [p.relative_to(tmp_path / "one") for p in (tmp_path / "one").rglob("*") if p.is_file()]
    assert len(names) == 9
    for name in names:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_padding_does_not_change_a_vector(encoder: Encoder) -> None:
    alone = np.concatenate([encoder.encode([text], "doc", 1) for text in TEXTS])
    np.testing.assert_allclose(encoder.encode(TEXTS, "doc", 5), alone, atol=1e-5)


def test_vectors_come_in_the_order_of_the_texts(encoder: Encoder) -> None:
    forward = encoder.encode(TEXTS, "doc", 2)
    backward = encoder.encode(TEXTS[::-1], "doc", 2)
    np.testing.assert_allclose(forward, backward[::-1], atol=1e-5)
    assert np.abs(forward[0] - forward[2]).max() > 0.01


def test_no_texts_give_no_vectors(encoder: Encoder) -> None:
    assert encoder.encode([], "query", 4).shape == (0, 16)


def read(encoder: Encoder, kind: TextKind) -> list[str]:
    """Return the tokens of a text of one word."""
    return encoder.tokenizer.convert_ids_to_tokens(next(encoder.tokenise(["water"], kind)))


def test_markers_replace_cls_unless_it_is_kept(backbone: Path, device: devices.Device) -> None:
    """DualRM 3.2: "in replacement of the [CLS] token"."""

    def tokens(**changes: object) -> list[list[str]]:
        made = Encoder(Source(str(backbone)), settings(**changes), device)
        return [read(made, "query"), read(made, "doc")]

    query, doc = ["[QRY]", "water", "[SEP]"], ["[DOC]", "water", "[SEP]"]
    assert tokens() == [query, doc]
    assert tokens(keep_cls=True) == [["[CLS]", *query], ["[CLS]", *doc]]
    assert tokens(doc_marker="") == [query, ["[CLS]", "water", "[SEP]"]]
    assert tokens(doc_marker="", keep_cls=True)[1] == ["[CLS]", "water", "[SEP]"]


def test_what_starts_from_an_encoder_has_its_cls_again(
    encoder: Encoder, device: devices.Device, tmp_path: Path
) -> None:
    """A cross-encoder or a term weighter that a dual encoder starts reads as it always does."""
    encoder.save(tmp_path / "one")
    model, tokenizer = pretrained.load(AutoModel, Source(str(tmp_path / "one")))
    tokens = ["[CLS]", "water", "[SEP]", "sound", "[SEP]"]
    assert tokenizer.convert_ids_to_tokens(tokenizer("water", "sound")["input_ids"]) == tokens
    assert tokenizer("water", "sound")["token_type_ids"] == [0, 0, 0, 1, 1]
    pretrained.save(model, tokenizer, tmp_path / "two")
    again = AutoTokenizer.from_pretrained(tmp_path / "two")
    assert again("water", "sound") == tokenizer("water", "sound")
    assert read(Encoder(Source(str(tmp_path / "two")), settings(), device), "doc")[0] == "[DOC]"


def test_a_cls_behind_the_text_stays_alone(plain: Path) -> None:
    """XLNet's frame, of which its type of [CLS] is 2."""
    path = plain / "tokenizer.json"
    record = json.loads(path.read_text())
    frame = record["post_processor"]
    text = {"Sequence": {"id": "A", "type_id": 0}}
    sep, cls = ({"SpecialToken": {"id": i, "type_id": n}} for i, n in (("[SEP]", 0), ("[CLS]", 2)))
    path.write_text(json.dumps({**record, "post_processor": {**frame, "single": [text, sep, cls]}}))
    path = plain / "tokenizer_config.json"
    config = {**json.loads(path.read_text()), "tokenizer_class": "PreTrainedTokenizerFast"}
    path.write_text(json.dumps(config))
    _, tokenizer = pretrained.load(AutoModel, Source(str(plain)))
    ids = tokenizer("water")["input_ids"]
    assert tokenizer.convert_ids_to_tokens(ids) == ["water", "[SEP]", "[CLS]"]


def test_a_tokenizer_that_cannot_spare_its_cls_is_refused(
    plain: Path, device: devices.Device
) -> None:
    path = plain / "tokenizer.json"
    record = json.loads(path.read_text())
    form = {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]}
    path.write_text(json.dumps({**record, "post_processor": form}))
    path = plain / "tokenizer_config.json"
    record = json.loads(path.read_text())
    path.write_text(json.dumps({**record, "tokenizer_class": "PreTrainedTokenizerFast"}))
    with pytest.raises(ResiduumError, match=r"\[CLS\] before every text.*keep_cls: true"):
        Encoder(Source(str(plain)), settings(), device)
    kept = Encoder(Source(str(plain)), settings(keep_cls=True), device)
    assert read(kept, "query") == ["[CLS]", "[QRY]", "water", "[SEP]"]


def test_lengths_count_special_tokens(encoder: Encoder) -> None:
    long = "water " * 100_000
    assert len(next(encoder.tokenise([long], "query"))) == 12
    doc = next(encoder.tokenise([long], "doc"))
    assert len(doc) == 24
    assert encoder.tokenizer.convert_ids_to_tokens(doc)[-1] == "[SEP]"


def test_score_scale_scales_the_inner_product(backbone: Path, device: devices.Device) -> None:
    def score(scale: float) -> float:
        encoder = Encoder(Source(str(backbone)), settings(score_scale=scale), device)
        query, doc = encoder.encode(["water"], "query", 1), encoder.encode(["sound"], "doc", 1)
        return float((query @ doc.T)[0, 0])

    assert score(0.1) == pytest.approx(0.1 * score(1.0), rel=1e-5)


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    """Return a model whose tokenizer does not know the markers."""
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "water", "sound"]
    BertTokenizer(vocab={word: i for i, word in enumerate(words)}).save_pretrained(tmp_path)
    shape = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1}
    config = BertConfig(vocab_size=7, intermediate_size=8, max_position_embeddings=24, **shape)
    BertModel(config).save_pretrained(tmp_path)
    return tmp_path


def test_missing_markers_are_added_the_same_way_each_time(
    plain: Path, device: devices.Device
) -> None:
    one, two = (Encoder(Source(str(plain)), settings(), device) for _ in range(2))
    assert next(one.tokenise(["water"], "query")).tolist() == [7, 5, 3]
    assert next(one.tokenise(["water"], "doc")).tolist() == [8, 5, 3]
    weights = one.model.get_input_embeddings().weight
    assert weights.shape == (9, 8)
    assert torch.equal(weights, two.model.get_input_embeddings().weight)
    assert np.isfinite(one.encode(["water"], "doc", 1)).all()


def test_new_markers_begin_as_cls_is(plain: Path, device: devices.Device) -> None:
    """So that an encoder reads its first texts as its pretraining did: [CLS] text [SEP]."""
    rows = AutoModel.from_pretrained(plain).embeddings.word_embeddings.weight
    encoder = Encoder(Source(str(plain)), settings(), device)
    weights = encoder.model.get_input_embeddings().weight
    assert torch.equal(weights[:7], rows)
    assert torch.equal(weights[7], rows[2]) and torch.equal(weights[8], rows[2])
    plainly = Encoder(Source(str(plain)), settings(query_marker="", doc_marker=""), device)
    for kind in ("query", "doc"):
        result = encoder.encode(["water", "sound sound"], kind, 2)
        np.testing.assert_allclose(result, plainly.encode(["water", "sound sound"], kind, 2))


def test_a_model_that_knows_the_markers_is_left_as_it_is(backbone: Path, encoder: Encoder) -> None:
    before = AutoModel.from_pretrained(backbone).state_dict()
    after = encoder.model.state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_dropout_can_be_replaced(backbone: Path, device: devices.Device) -> None:
    encoder = Encoder(Source(str(backbone), dropout=0.0), settings(), device)
    encoder.model.train()
    tokens = list(encoder.tokenise(["water here"], "doc"))
    assert torch.equal(encoder.forward(tokens, "doc"), encoder.forward(tokens, "doc"))


def test_a_length_beyond_the_model_is_refused(plain: Path, device: devices.Device) -> None:
    with pytest.raises(ResiduumError, match=r"doc_length is 25, but .* at most 24 tokens"):
        Encoder(Source(str(plain)), settings(doc_length=25), device)


def test_an_unreachable_model_says_what_to_do(
    device: devices.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(ResiduumError, match=r"no model 'no/such' at revision abc.*encoder=PATH"):
        Encoder(Source("no/such", "abc"), settings(), device)


def test_a_folder_without_a_model_is_refused(device: devices.Device, tmp_path: Path) -> None:
    with pytest.raises(ResiduumError, match="not a Hugging Face model directory"):
        Encoder(Source(str(tmp_path)), settings(), device)
    with pytest.raises(ResiduumError, match=r"no residuum\.json"):
        Encoder.load(tmp_path, device)


def test_settings_are_checked_at_load(
    encoder: Encoder, device: devices.Device, tmp_path: Path
) -> None:
    encoder.save(tmp_path)
    record = json.loads((tmp_path / "residuum.json").read_text())
    (tmp_path / "residuum.json").write_text(json.dumps({**record, "poolin": "max"}))
    with pytest.raises(ResiduumError, match=r"residuum\.json: poolin: unknown key"):
        Encoder.load(tmp_path, device)


def test_absent_devices_and_unknown_formats_are_refused() -> None:
    with pytest.raises(ResiduumError, match=r"no device .tpu. on this machine; available: .*cpu"):
        devices.choose("tpu", "auto", 1)
    with pytest.raises(ResiduumError, match="no precision 'fp8'"):
        devices.choose("cpu", "fp8", 1)
    assert devices.choose("cpu", "auto", 1) == devices.Device("cpu", "fp32")


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_a_cpu_takes_16_bits_where_it_has_instructions_for_it(
    precision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = dict.fromkeys(name for names in devices.FAST.values() for name in names)
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: known)
    needed = f"a CPU with one of avx512_{precision}, amx_{precision}, or the device cuda; use fp32"
    with pytest.raises(ResiduumError, match=rf"precision {precision} \(of the model.*{needed}"):
        devices.choose("cpu", precision, 1)
    known[f"avx512_{precision}"] = True
    assert devices.choose("cpu", precision, 1) == devices.Device("cpu", precision)
    assert devices.choose("cpu", "auto", 1) == devices.Device("cpu", "fp32"), "none by itself"
    assert devices.lacks(precision, "mps", "native") == "the device cuda or cpu, not mps"
    assert devices.lacks(precision, "cpu", "portable") == "arithmetic native, not portable"


def test_fp16_is_for_models_that_are_not_trained() -> None:
    with pytest.raises(ResiduumError, match="fp16 is for models that are not trained; use bf16"):
        devices.choose("cpu", "fp16", 1, trains=True)


def test_the_instructions_for_16_bits_are_names_that_torch_knows() -> None:
    known = torch.cpu.get_capabilities()
    named = {name for names in devices.FAST.values() for name in names}
    assert named <= {*known} or known["architecture"] != "x86_64"
