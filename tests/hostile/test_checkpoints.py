"""Checkpoints that are damaged, that fit nothing or want to run code: one message, at once."""

import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import (
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForSequenceClassification,
    BertConfig,
    BertForMaskedLM,
    BertModel,
    BertTokenizer,
    RobertaModel,
    T5Config,
    T5Model,
)

from commands import call
from conftest import ROOT
from residuum.cli.errors import ResiduumError
from residuum.config.schema.encoder import Encoder as EncoderSchema
from residuum.neural import pretrained
from residuum.neural.devices import Device
from residuum.neural.encoders import Encoder
from residuum.neural.pretrained import Source

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "river", "hill", "moss"]
SHAPE = {
    **{"vocab_size": len(WORDS), "hidden_size": 16, "num_hidden_layers": 2},
    **{"num_attention_heads": 2, "intermediate_size": 32},
}
Tensors = dict[str, torch.Tensor]


@pytest.fixture
def start(tmp_path: Path) -> Path:
    """Return the folder of a BERT without a head."""
    return written(tmp_path / "start", BertModel)


def written(folder: Path, kind: Any) -> Path:
    torch.manual_seed(1)
    kind(BertConfig(**SHAPE)).save_pretrained(folder)
    BertTokenizer(vocab={word: i for i, word in enumerate(WORDS)}).save_pretrained(folder)
    return folder


def retensored(folder: Path, change: Callable[[Tensors], Tensors]) -> None:
    path = folder / "model.safetensors"
    save_file(change(load_file(path)), path, metadata={"format": "pt"})


def configured(folder: Path, **changes: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def refused(folder: Path, message: str, head: Any = AutoModel, **how: Any) -> None:
    with pytest.raises(ResiduumError, match=message) as caught:
        pretrained.load(head, Source(str(folder), **how))
    assert "\n" not in str(caught.value) and str(folder) in str(caught.value)


@pytest.mark.parametrize("new_head", [False, True])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda held: {f"module.{name}": some for name, some in held.items()},
            r"lacks embeddings\.LayerNorm\.bias, .* and 34 more; .*no layer takes: module\..*save "
            r"the model that it wraps, its attribute `module`",
        ),
        (lambda held: {"x": torch.zeros(2)}, "describes a model of 13,104 values, .* hold 2"),
        (lambda held: dict(sorted(held.items())[5:]), "it lacks .* and 2 more"),
        (
            lambda held: held | {"encoder.layer.2.output.dense.bias": torch.zeros(16)},
            r"no layer takes: encoder\.layer\.2\.output\.dense\.bias",
        ),
        (
            lambda held: held | {"embeddings.word_embeddings.weight": torch.zeros(9, 16)},
            r"shapes differ: embeddings\.word_embeddings\.weight, 9x16 in the file and 8x16 by",
        ),
    ],
)
def test_weights_that_do_not_fit_are_refused(
    start: Path, change: Callable[[Tensors], Tensors], message: str, new_head: bool
) -> None:
    """Also where training begins: what it makes is a head, and no encoder."""
    retensored(start, change)
    refused(start, message, new_head=new_head)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_hidden_layers": 6}, r"it lacks encoder\.layer\.2.* and 61 more"),
        ({"num_hidden_layers": 1}, r"no layer takes: encoder\.layer\.1.* and 13 more"),
        ({"hidden_size": 32}, "shapes differ"),
        ({"num_hidden_layers": 1_000_000}, "num_hidden_layers is 1,000,000, but .* 39 weights"),
        ({"hidden_size": 1_000_000}, "describes a model of .* values, but the files hold 13,"),
        ({"vocab_size": 1_000_000_000}, "describes a model of 16,0.* values"),
        ({"num_attention_heads": 0}, "ZeroDivisionError|heads"),
        ({"hidden_size": "big"}, "hidden_size|TypeError"),
        ({"model_type": "none of them"}, "none of them"),
        ({"attn_implementation": "someone/kernels"}, "no code of a checkpoint is run"),
        ({"_attn_implementation": "someone/kernels"}, "no code of a checkpoint is run"),
    ],
)
def test_a_configuration_that_its_weights_do_not_fill_is_refused(
    start: Path, changes: dict[str, Any], message: str
) -> None:
    configured(start, **changes)
    refused(start, message)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("model.safetensors", b""),
        ("model.safetensors", b"\xff" * 7),
        ("model.safetensors", (2**62).to_bytes(8, "little") + b"{}"),
        ("model.safetensors", (2).to_bytes(8, "little") + b"[]"),
        ("config.json", b"{"),
        ("config.json", b"[]"),
        ("config.json", b'{"a":' * 2000 + b"1" + b"}" * 2000),
        ("tokenizer.json", b"{}"),
        ("tokenizer.json", b"\xff"),
        ("tokenizer_config.json", b"["),
    ],
)
def test_a_damaged_file_is_one_message(start: Path, name: str, data: bytes) -> None:
    (start / name).write_bytes(data)
    refused(start, "not a Hugging Face model directory|lacks|no safetensors")


def test_a_file_that_was_cut_off_is_one_message(start: Path) -> None:
    path = start / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])
    refused(start, "not a Hugging Face model directory")


@pytest.mark.parametrize("kind", ["bert", "roberta", "t5"])
def test_a_checkpoint_without_its_tokenizer_is_refused(start: Path, kind: str) -> None:
    """transformers makes a tokenizer that knows no word, so all texts would be equal."""
    for path in start.glob("tokenizer*"):
        path.unlink()
    written_as = {"bert": BertModel, "roberta": RobertaModel, "t5": T5Model}[kind]
    written_as(written_as.config_class(**SMALL[kind])).save_pretrained(start)
    refused(start, rf"^{start}: no tokenizer: it has neither tokenizer\.json nor ")


SMALL = {
    "bert": SHAPE,
    "roberta": SHAPE,
    "t5": {"vocab_size": 8, "d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 1, "num_heads": 2},
}


def test_a_tokenizer_of_words_alone_is_read_from_its_older_file(start: Path) -> None:
    (start / "tokenizer.json").unlink()
    (start / "vocab.txt").write_text("".join(f"{word}\n" for word in WORDS))
    _, tokenizer = pretrained.load(AutoModel, Source(str(start)))
    assert tokenizer("river moss", add_special_tokens=False)["input_ids"] == [5, 7]


@pytest.mark.parametrize("extra", [1, 100])
def test_a_tokenizer_of_another_model_is_refused(start: Path, extra: int) -> None:
    """Its last words would get embeddings that are drawn at random."""
    words = [*WORDS, *(f"word{number}" for number in range(extra))]
    BertTokenizer(vocab={word: i for i, word in enumerate(words)}).save_pretrained(start)
    highest = len(WORDS) + extra - 1
    refused(start, rf"^{start}: its tokenizer has ids up to {highest}, but the model has 8 embedd")


def test_markers_that_a_model_is_given_may_be_new(start: Path) -> None:
    model, tokenizer = pretrained.load(AutoModel, Source(str(start)), ["[QRY]", "[DOC]"])
    assert len(tokenizer) == model.get_input_embeddings().num_embeddings == len(WORDS) + 2


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'{"a":' * 100_000, "nested too deeply"),
        (b"", "no JSON: Expecting value"),
        (b"\xff", "no JSON: 'utf-8' codec"),
        (b"[]", ""),
        (b'{"query_lenght": 8}', "query_lenght"),
    ],
)
def test_settings_that_are_none_are_one_message(start: Path, data: bytes, message: str) -> None:
    (start / "residuum.json").write_bytes(data)
    with pytest.raises(ResiduumError, match=rf"(?s)^{start}/residuum\.json: .*{message}"):
        Encoder.load(start, Device("cpu", "fp32"))


def test_heads_may_be_missing_where_training_makes_them(tmp_path: Path) -> None:
    """An encoder's pooler is not read, a language model's head is not one of a classifier."""
    bare, full = written(tmp_path / "bare", BertModel), written(tmp_path / "full", BertForMaskedLM)
    pretrained.load(AutoModel, Source(str(full)))
    pretrained.load(AutoModelForMaskedLM, Source(str(full)))
    refused(bare, r"lacks cls\.predictions\.bias.*Name a model that has", AutoModelForMaskedLM)
    pretrained.load(AutoModelForMaskedLM, Source(str(bare), new_head=True))
    for folder in (bare, full):
        refused(folder, "lacks .*classifier", AutoModelForSequenceClassification)
        pretrained.load(AutoModelForSequenceClassification, Source(str(folder), new_head=True))
    decoding = {"is_decoder": True, "add_cross_attention": True}
    with pytest.raises(ResiduumError, match="crossattention"):
        pretrained.load(AutoModelForCausalLM, Source(str(full)), **decoding)
    pretrained.load(AutoModelForCausalLM, Source(str(full)), new=["crossattention"], **decoding)


def test_names_of_older_checkpoints_are_read(start: Path) -> None:
    """TensorFlow's gamma and beta, and numbers of positions, as transformers documents."""
    expected, _ = pretrained.load(AutoModel, Source(str(start)))

    def older(held: Tensors) -> Tensors:
        renamed = {
            name.replace("Norm.weight", "Norm.gamma").replace("Norm.bias", "Norm.beta"): some
            for name, some in held.items()
        }
        return renamed | {"embeddings.position_ids": torch.arange(512)[None]}

    retensored(start, older)
    model, _ = pretrained.load(AutoModel, Source(str(start)))
    for name, some in expected.state_dict().items():
        assert torch.equal(model.state_dict()[name], some), name


@pytest.mark.parametrize(
    "named", ["w.bin", "../other/model.safetensors", "/etc/x.safetensors", "", 3]
)
def test_an_index_names_weights_beside_it_alone(start: Path, named: Any) -> None:
    """A pickle is read where it is allowed, and no file outside the folder anywhere."""
    (start / "model.safetensors").rename(start / "w.safetensors")
    torch.save({"x": torch.zeros(2)}, start / "w.bin")
    index = {"metadata": {}, "weight_map": {"embeddings.LayerNorm.bias": named}}
    (start / "model.safetensors.index.json").write_text(json.dumps(index))
    for pickled in (False, True):
        refused(start, r"index\.json: (it names the file|no index of weights)", pickled=pickled)


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b'{"weight_map": []}', b"[" * 100_000])
def test_an_index_that_is_none_is_one_message(start: Path, data: bytes) -> None:
    (start / "model.safetensors.index.json").write_bytes(data)
    refused(start, r"index\.json: no index of weights")


def cut_up(folder: Path) -> Tensors:
    """Put the weights of a checkpoint into two files, as large models have; return both files."""
    held = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    names = sorted(held)
    parts = {"a.safetensors": names[:9], "b.safetensors": names[9:]}
    for file, own in parts.items():
        save_file({name: held[name] for name in own}, folder / file, metadata={"format": "pt"})
    index = {
        "metadata": {},
        "weight_map": {name: file for file, own in parts.items() for name in own},
    }
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    return held


def test_weights_in_several_files_are_read(start: Path) -> None:
    held = cut_up(start)
    model, _ = pretrained.load(AutoModel, Source(str(start)))
    assert all(torch.equal(some, held[name]) for name, some in model.state_dict().items())


def test_what_weights_in_several_files_make_tells_them_by_all(
    start: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The hash stands in the manifest of vectors: of the one file, or over all that there are."""
    settings = {"query_length": 8, "doc_length": 8, "query_marker": "", "doc_marker": ""}
    saved = tmp_path / "saved"
    form = EncoderSchema.model_validate(settings)
    Encoder(Source(str(start), new_head=True), form, Device("cpu", "fp32")).save(saved)
    (tmp_path / "queries.tsv").write_text("q1\triver moss\n")

    def recorded(output: str) -> str:
        words = ["queries", "--model", saved, "--split", f"dev={tmp_path / 'queries.tsv'}"]
        words += ["--output", tmp_path / output, "--batch-size", "2"]
        call("encode", *words)
        record = json.loads((tmp_path / output / "manifest.json").read_text())
        return str(record["artefact"]["weights"])

    whole, data = recorded("whole"), (saved / "model.safetensors").read_bytes()
    assert whole == hashlib.sha256(data).hexdigest()
    cut_up(saved)
    lines = [
        f"{name}\0{hashlib.sha256((saved / name).read_bytes()).hexdigest()}\n"
        for name in ("a.safetensors", "b.safetensors")
    ]
    assert recorded("cut-up") == hashlib.sha256("".join(lines).encode()).hexdigest()
    whole, cut = [
        json.loads((tmp_path / name / "manifest.json").read_text())["files"]
        for name in ("whole", "cut-up")
    ]
    assert whole == cut
    assert any(name.endswith(".npy") for name in whole)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_weights_that_are_not_finite_are_told_before_any_work(start: Path, value: float) -> None:
    def spoilt(held: Tensors) -> Tensors:
        held["encoder.layer.1.output.dense.bias"][3] = value
        return held

    retensored(start, spoilt)
    refused(
        start, rf"^{start}: some values are not finite: in encoder\.layer\.1\.output\.dense\.bias\."
    )


def test_an_index_of_the_hub_is_looked_at_too(
    start: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hub's cache holds an index as downloaded. Its names decide which weights are fetched."""
    commit = "a" * 40
    cache = tmp_path / "hub" / "models--some--model"
    (cache / "refs").mkdir(parents=True)
    (cache / "refs" / "main").write_text(commit)
    (cache / "snapshots").mkdir()
    start.rename(cache / "snapshots" / commit)
    index = {"metadata": {}, "weight_map": {"embeddings.LayerNorm.bias": "w.bin"}}
    named = cache / "snapshots" / commit / "model.safetensors.index.json"
    named.write_text(json.dumps(index))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(ResiduumError, match=r"it names the file 'w\.bin'"):
        pretrained.load(AutoModel, Source("some/model", "main"))


def test_vectors_that_are_not_finite_name_the_model(start: Path, tmp_path: Path) -> None:
    form = EncoderSchema.model_validate({"query_length": 8, "doc_length": 8})
    model = Encoder(Source(str(start), new_head=True), form, Device("cpu", "fp32"))
    rows = torch.zeros(2, 3).numpy()
    rows[1, 2] = float("nan")
    told = rf"the vector of d2 is not finite \(1 such\)\. The weights of {start} overflow"
    with pytest.raises(ResiduumError, match=told):
        model.write(tmp_path / ".x.part", ["d1", "d2"], rows)


def test_an_encoder_with_a_decoder_is_refused(start: Path) -> None:
    T5Model(T5Config(**SMALL["t5"])).save_pretrained(start)
    form = EncoderSchema.model_validate({"query_length": 8, "doc_length": 8})
    with pytest.raises(ResiduumError, match=rf"^{start}: a t5 has an encoder and a decoder, and"):
        Encoder(Source(str(start), new_head=True), form, Device("cpu", "fp32"))


def test_a_damaged_layer_behind_an_encoder_is_one_message(start: Path) -> None:
    settings = {"query_length": 8, "doc_length": 8, "dimensions": 4, "query_marker": ""}
    settings |= {"doc_marker": ""}
    form = EncoderSchema.model_validate(settings)
    Encoder(Source(str(start), new_head=True), form, Device("cpu", "fp32")).save(start / "saved")
    path = start / "saved" / "2_Dense" / "model.safetensors"
    path.write_bytes(path.read_bytes()[:50])
    with pytest.raises(ResiduumError, match=r"2_Dense/model\.safetensors: no safetensors: "):
        Encoder.load(start / "saved", Device("cpu", "fp32"))


CODE = "open(r'{mark}', 'w').write('ran')\n"
ENCODE = ["-m", "residuum.encode", "queries", "--batch-size", "2"]


@pytest.mark.parametrize("answer", ["y\n" * 50, None])
def test_code_beside_a_checkpoint_is_neither_run_nor_asked_about(
    start: Path, tmp_path: Path, answer: str | None
) -> None:
    """With an answer at hand, and with an input that stays silent."""
    mark = tmp_path / "mark"
    configured(
        start,
        model_type="mine",
        auto_map={"AutoConfig": "mine.Config", "AutoModel": "mine.Model"},
        architectures=["Model"],
    )
    (start / "mine.py").write_text(CODE.format(mark=mark))
    (start / "residuum.json").write_text('{"query_length": 8, "doc_length": 8}')
    (tmp_path / "queries.tsv").write_text("q1\triver\n")
    words = [*ENCODE, "--split", f"dev={tmp_path / 'queries.tsv'}", "--model", str(start)]
    words += ["--output", str(tmp_path / "out")]
    reading, writing = os.pipe()
    if answer:
        os.write(writing, answer.encode())
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "workflow"), "HOME": str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, *words],
        stdin=reading,
        stderr=subprocess.PIPE,
        env=environment,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            _, stderr = process.communicate(timeout=60)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
    os.close(reading)
    os.close(writing)
    assert process.returncode == 1 and not mark.exists()
    assert "Traceback" not in stderr and str(start) in stderr
    assert len(stderr.strip().splitlines()) == 1
