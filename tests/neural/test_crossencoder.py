"""Cross-encoders: other libraries score alike, neighbours leave no trace, training learns."""

import json
import math
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    BertConfig,
    BertForSequenceClassification,
    BertModel,
)

from contents import contents
from corpora import make_corpus
from residuum.artefacts import contracts, files
from residuum.artefacts.contracts import Tuple
from residuum.cli.errors import ResiduumError
from residuum.config.schema.reading import Reading
from residuum.neural import devices
from residuum.neural.batches import usable
from residuum.neural.crossencoder import CrossEncoder, Pair
from residuum.neural.pretrained import Source
from results_fixture import seal
from tiny_models import (
    cross_encoder_spec,
    order_share,
    toy_docs,
    toy_queries,
    toy_tuples,
    train_toy,
    write_problem,
    write_toy,
)

GROUP = 6  # negatives beside a positive, in training
TEXTS = [
    ("about river", "water here"),
    ("about bread", "flour often flour there sound"),
    ("music", "The MOTOR! " * 30),
    ("", "frost"),
    ("winter", ""),
    ("doctor", "nurse trade nurse"),
]


@pytest.fixture(scope="module")
def device() -> devices.Device:
    return devices.choose("cpu", "fp32", threads=1)


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of the toy problem: corpus, queries, tuples, and a backbone to start from."""
    return write_problem(tmp_path_factory.mktemp("toy"))


def reading(**changes: object) -> Reading:
    return Reading.model_validate({"query_length": 8, "length": 30, **changes})


def made(toy: Path, device: devices.Device, **changes: object) -> CrossEncoder:
    """Make an untrained cross-encoder with weights so large that scores differ."""
    model = CrossEncoder(Source(str(toy / "start"), new_head=True), reading(**changes), device)
    with torch.no_grad():
        for weights in model.model.parameters():
            weights *= 8 if weights.ndim > 1 else 1
    return model


def pairs_of(model: CrossEncoder, texts: list[tuple[str, str]]) -> list[Pair]:
    queries = model.tokenise([query for query, _ in texts], "query")
    return list(map(Pair, queries, model.tokenise([doc for _, doc in texts], "doc")))


def scores_of(model: CrossEncoder, texts: list[tuple[str, str]], batch_size: int = 4) -> np.ndarray:
    return model.score(pairs_of(model, texts), batch_size)


def reference(folder: Path) -> np.ndarray:
    """Score with plain transformers: one padded batch, the tokenizer joins and cuts the texts."""
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    cut = {"padding": True, "truncation": "only_second", "max_length": 30, "return_tensors": "pt"}
    with torch.no_grad():
        return model(**tokenizer(*map(list, zip(*TEXTS, strict=True)), **cut)).logits.numpy()


def test_plain_transformers_gives_the_same_scores(
    toy: Path, device: devices.Device, tmp_path: Path
) -> None:
    model = made(toy, device)
    model.save(tmp_path)
    expected = reference(tmp_path)
    assert expected.shape == (len(TEXTS), 1)
    assert np.abs(np.diff(expected[:, 0])).min() > 1e-3
    np.testing.assert_allclose(scores_of(model, TEXTS), expected[:, 0], atol=1e-5)
    again = CrossEncoder.load(tmp_path, device)
    assert again.settings == reading()
    assert (scores_of(again, TEXTS) == scores_of(model, TEXTS)).all()


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_sentence_transformers_gives_the_same_scores(
    toy: Path, device: devices.Device, tmp_path: Path, pooling: str
) -> None:
    from sentence_transformers import CrossEncoder as Theirs

    model = made(toy, device, pooling=pooling)
    model.save(tmp_path)
    theirs = Theirs(str(tmp_path), device="cpu").predict(TEXTS)
    np.testing.assert_allclose(scores_of(model, TEXTS), theirs, atol=1e-5)
    assert np.abs(np.diff(theirs)).min() > 1e-3
    again = CrossEncoder.load(tmp_path, device)
    assert (scores_of(again, TEXTS) == scores_of(model, TEXTS)).all()
    again.save(tmp_path / "again")
    model.save(tmp_path / "twice")
    assert files.sha256_of(tmp_path / "again") == files.sha256_of(tmp_path / "twice")


def test_mean_pooling_is_the_mean_of_both_texts_tokens(toy: Path, device: devices.Device) -> None:
    model = made(toy, device, pooling="mean")
    [pair] = pairs_of(model, TEXTS[:1])
    ids = torch.from_numpy(model.join(pair).astype(np.int64))[None]
    types = torch.tensor([[0] * (2 + len(pair.query)) + [1] * (1 + len(pair.doc))])
    with torch.no_grad():
        model.model.eval()
        hidden = model.model["backbone"](input_ids=ids, token_type_ids=types).last_hidden_state
        expected = model.model["linear"](hidden[0].mean(dim=0)).item()
    assert model.score([pair], 1)[0] == pytest.approx(expected, abs=1e-6)


def release(folder: Path, toy: Path, labels: int) -> Path:
    """Make a reranker as somebody else would release it."""
    torch.manual_seed(labels)
    config = BertConfig.from_pretrained(toy / "start", num_labels=labels, initializer_range=0.2)
    BertForSequenceClassification(config).save_pretrained(folder)
    AutoTokenizer.from_pretrained(toy / "start").save_pretrained(folder)
    return folder


@pytest.mark.parametrize("labels", [1, 2])
def test_released_rerankers(toy: Path, device: devices.Device, tmp_path: Path, labels: int) -> None:
    folder = release(tmp_path, toy, labels)
    model = CrossEncoder(Source(str(folder), released=True), reading(), device)
    logits = reference(folder)
    if labels == 2:
        odds = torch.tensor(logits).softmax(dim=1)
        np.testing.assert_allclose(
            logits[:, 1] - logits[:, 0], (odds[:, 1] / odds[:, 0]).log(), atol=1e-5
        )
        logits = logits[:, 1:] - logits[:, :1]
    np.testing.assert_allclose(scores_of(model, TEXTS), logits[:, 0], atol=1e-5)


def test_what_is_no_reranker_is_refused(toy: Path, device: devices.Device, tmp_path: Path) -> None:
    with pytest.raises(
        ResiduumError,
        match=r"do not fit a BertForSequenceClassification: it lacks classifier\.bias",
    ):
        CrossEncoder(Source(str(toy / "start"), released=True), reading(), device)
    folder = str(release(tmp_path / "three", toy, 3))
    with pytest.raises(ResiduumError, match="gives 3 labels; a reranker has one or two"):
        CrossEncoder(Source(folder, released=True), reading(), device)
    folder = str(release(tmp_path / "one", toy, 1))
    with pytest.raises(ResiduumError, match="a released reranker has pooling cls"):
        CrossEncoder(Source(folder, released=True), reading(pooling="mean"), device)


def test_lengths_that_do_not_fit_are_refused(toy: Path, device: devices.Device) -> None:
    with pytest.raises(ResiduumError, match=r"reading\.length is 33, but .* at most 32 tokens"):
        made(toy, device, length=33)
    with pytest.raises(ResiduumError, match="query_length 27 leaves no room for a doc"):
        made(toy, device, query_length=27)


def test_a_query_is_cut_first_and_then_the_doc(toy: Path, device: devices.Device) -> None:
    model = made(toy, device)
    [long] = pairs_of(model, [("about river " * 50, "water here " * 50)])
    tokens = model.tokenizer.convert_ids_to_tokens(model.join(long))
    query, doc = ["about", "river"] * 4, [*["water", "here"] * 9, "water"][:19]
    assert tokens == ["[CLS]", *query, "[SEP]", *doc, "[SEP]"]
    lengths = model.lengths(np.array([2, 8]), np.array([3, 27]))
    assert lengths.tolist() == [8, 30]


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_a_score_does_not_depend_on_its_neighbours(
    toy: Path, device: devices.Device, pooling: str
) -> None:
    """To the last bit: lengths below, at and beyond the limit, in any order and selection."""
    model = made(toy, device, pooling=pooling)
    random = np.random.default_rng(3)
    words = [word for _, text in toy_docs() for word in text.split()]
    texts = [("about river", " ".join(random.choice(words, size=n % 40))) for n in range(120)]
    scores = scores_of(model, texts, 16)
    order = random.permutation(len(texts))
    assert (scores_of(model, [texts[i] for i in order], 16) == scores[order]).all()
    assert (scores_of(model, [texts[i] for i in order[:7]], 16) == scores[order[:7]]).all()
    alone = np.concatenate([scores_of(model, [text], 16) for text in texts[:40]])
    assert (alone == scores[:40]).all()


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_scores_of_bf16_keep_more_than_its_eight_bits(
    toy: Path, device: devices.Device, pooling: str
) -> None:
    exact = scores_of(made(toy, device, pooling=pooling), TEXTS)
    scores = scores_of(made(toy, devices.Device("cpu", "bf16"), pooling=pooling), TEXTS)
    np.testing.assert_allclose(scores, exact, atol=0.2)
    assert (torch.tensor(scores).bfloat16().float().numpy() != scores).all()


def test_no_pairs_give_no_scores(toy: Path, device: devices.Device) -> None:
    assert made(toy, device).score([], 4).shape == (0,)


def test_small_and_empty_pools_are_told(capfd: pytest.CaptureFixture[str]) -> None:
    pairs = [*some_pairs(2, 0), *some_pairs(3, 2), *some_pairs(4, 5)]
    assert usable(pairs, 4) == pairs[2:]
    options = capfd.readouterr().err
    assert "2 of 9 training pairs have no negative: left out" in options
    assert "3 of 9 training pairs have fewer than 4 negatives: some are taken twice" in options


def some_pairs(count: int, pool: int) -> list[Tuple]:
    names = [f"n{i}" for i in range(pool)]
    return [Tuple(f"q{i}", f"d{i}", 1.0, names, [0.0] * pool) for i in range(count)]


def livelier(start: Path, folder: Path) -> Path:
    """Copy a backbone with eight times its weights; of positions and token types as they are.

    At BERT's own scale of 0.02 all pairs begin with nearly one [CLS]: for hundreds of steps the
    gradient is little but rounding, which then decides where training lands, or whether it does.
    """
    shutil.copytree(start, folder)
    weights = load_file(folder / "model.safetensors")
    for name, values in weights.items():
        values *= 8 if values.ndim > 1 and "position" not in name and "type" not in name else 1
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    seal(folder / "model.safetensors")
    return folder


def train(
    toy: Path, output: Path, pooling: str = "mean", start: Path | None = None, **training: object
) -> Path:
    how = {"learning_rate": 0.002, "steps": 250, **training}
    spec = cross_encoder_spec(GROUP, pooling, **how)
    return train_toy(toy, output, spec, start=str(start or toy / "start"))


@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_the_toy_reranking_is_learned(
    toy: Path, device: devices.Device, tmp_path: Path, pooling: str
) -> None:
    start = livelier(toy / "start", tmp_path / "start")
    model = CrossEncoder.load(train(toy, tmp_path / "model", pooling, start), device)
    docs = [text for _, text in toy_docs()]
    grid = [(query, doc) for _, query in toy_queries() for doc in docs]
    assert order_share(scores_of(model, grid, 32).reshape(-1, len(docs))) > 0.9
    log = (tmp_path / "model" / "training.tsv").read_text().splitlines()
    assert log[0].endswith("pairs\tpositive\tnegative")
    losses = [float(row.split("\t")[1]) for row in log[1:]]
    # Equal scores would give log(1 + GROUP); over the runs that `order_share` names the last
    # 25 steps gave at most 0.19 of it.
    assert losses[0] == pytest.approx(math.log(1 + GROUP), abs=0.2)
    assert np.mean(losses[-25:]) < 0.25 * losses[0]
    artefact = json.loads((tmp_path / "model" / "manifest.json").read_text())["artefact"]
    assert artefact["pairs"] == len(toy_tuples())


def test_logistic_scores_are_logits_on_both_sides_of_0(
    toy: Path, device: devices.Device, tmp_path: Path
) -> None:
    """Three seeds put all pairs on their own side; all on one side are 7/8 of them."""
    start = livelier(toy / "start", tmp_path / "start")
    spec = cross_encoder_spec(loss="logistic", learning_rate=0.002, steps=250)
    folder = train_toy(toy, tmp_path / "model", spec, start=str(start))
    docs = toy_docs()
    grid = [(query, text) for _, query in toy_queries() for _, text in docs]
    scores = scores_of(CrossEncoder.load(folder, device), grid, 32).reshape(-1, len(docs))
    own = np.array([[doc.startswith(f"d{i}-") for doc, _ in docs] for i in range(len(scores))])
    assert ((scores > 0) == own).mean() > 0.95


def test_the_same_seed_gives_the_same_bytes(toy: Path, tmp_path: Path) -> None:
    one, two = (train(toy, tmp_path / name, steps=2) for name in ("one", "two"))
    assert contents(one) == contents(two)


def test_a_tuple_whose_doc_is_gone_is_named(toy: Path, tmp_path: Path) -> None:
    write_toy(tmp_path)
    (tmp_path / "start").symlink_to(toy / "start")
    make_corpus(tmp_path / "corpus", toy_docs()[1:])
    with pytest.raises(ResiduumError, match=r"corpus: doc_id d0-here of .*tuples"):
        train(tmp_path, tmp_path / "model")
    assert len(list(contracts.read_corpus(tmp_path / "corpus"))) == len(toy_docs()) - 1


def test_a_start_without_token_types_is_read_without(
    toy: Path, device: devices.Device, tmp_path: Path
) -> None:
    config = BertConfig.from_pretrained(toy / "start", type_vocab_size=1)
    BertModel(config).save_pretrained(tmp_path)
    AutoTokenizer.from_pretrained(toy / "start").save_pretrained(tmp_path)
    model = CrossEncoder(Source(str(tmp_path), new_head=True), reading(), device)
    assert not model.typed
    assert np.isfinite(scores_of(model, TEXTS)).all()
