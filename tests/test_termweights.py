"""Term weights: they are learned, folded to words, written in parts, and survive kill -9."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForTokenClassification, AutoTokenizer

from contents import contents
from corpora import make_corpus
from killing import leave_half, run_and_kill
from residuum import termweights
from residuum.artefacts import contracts, files
from residuum.cli.errors import ResiduumError
from residuum.config.schema.models import TermWeights
from residuum.neural import devices, fitting
from residuum.neural.devices import AdaptiveBatchSize
from residuum.neural.learners import Start
from residuum.neural.pretrained import Source
from residuum.neural.termweighter import TermLearner, TermWeighter, Weighting, build_examples
from residuum.neural.tokens import Texts
from tiny_models import model_spec, term_weights_spec, toy_docs, train_toy, write_problem

QUERIES = [("q0", "the water source"), ("q1", "what sound waters here"), ("q2", "flour")]
DOCS = [
    ("d0", "What water here, sound for waters!"),
    ("d1", "a flour there"),
    ("d2", "sound sound"),
]
PAIRS = [("q0", "d0"), ("q1", "d0"), ("q2", "d1"), ("q2", "d0"), ("q2", "d1")]


@pytest.fixture(scope="module")
def device() -> devices.Device:
    return devices.choose("cpu", "fp32", threads=1)


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The toy problem with queries that name the answer and no other word of the doc."""
    answers = [text.split()[0] for _, text in toy_docs()[::3]]
    queries = [(f"q{i}", f"about {answer.rstrip('s')}s") for i, answer in enumerate(answers)]
    return write_problem(tmp_path_factory.mktemp("toy"), queries)


@pytest.fixture(scope="module")
def model(toy: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("model") / "terms"
    return train_toy(toy, output, term_weights_spec(steps=150, dropout=0))


def weighter_of(toy: Path, device: devices.Device, length: int = 24) -> TermWeighter:
    return TermWeighter(
        Source(str(toy / "start"), new_head=True), Weighting(length=length, scale=100), device
    )


def test_the_words_that_queries_use_are_learned(model: Path, device: devices.Device) -> None:
    rows = [line.split("\t") for line in (model / "training.tsv").read_text().splitlines()]
    assert rows[0] == ["step", "loss", "active", "learning_rate", "pairs"]
    assert float(rows[-1][1]) < 0.1 * float(rows[1][1])
    # Seeds 1 to 4 all give 100 and 0.
    for own in TermWeighter.load(model, device).predict([text for _, text in toy_docs()], 4):
        answer, other = next(iter(own)), list(own)[1:]
        assert own[answer] > 80
        assert all(own[word] < 20 for word in other)
    assert json.loads((model / "manifest.json").read_text())["artefact"]["pairs"] == len(toy_docs())


def test_examples_hold_the_recall_of_each_word(
    toy: Path, device: devices.Device, tmp_path: Path
) -> None:
    corpus = make_corpus(tmp_path / "corpus", DOCS)
    (tmp_path / "queries.tsv").write_text("".join(f"{i}\t{text}\n" for i, text in QUERIES))
    pairs = [contracts.Tuple(query, doc, 0.0, [], []) for query, doc in PAIRS]
    texts = Texts(tmp_path / "queries.tsv", corpus, "the pairs")
    weighter = weighter_of(toy, device)
    queries = dict(texts.read("query", {query for query, _ in PAIRS}))
    docs = texts.read("doc", {doc for _, doc in PAIRS})
    first, second = build_examples(weighter, pairs, queries, docs).targets
    [doc] = weighter.tokenise([DOCS[0][1]])
    assert doc.words == ["what", "water", "here", ",", "sound", "for", "waters", "!"]
    np.testing.assert_allclose(first, [0, 2 / 3, 0, 0, 1 / 3, 0, 2 / 3, 0], atol=1e-6)
    np.testing.assert_allclose(second, [0, 1, 0])


@pytest.mark.parametrize("at_once", [3, 2, 1])
def test_the_loss_of_a_batch_is_the_mean_over_its_words(
    toy: Path,
    device: devices.Device,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    at_once: int,
) -> None:
    """Docs of 1, 2 and 5 words: 8 words, each with a weight of 1/8, however memory divides them."""
    docs = [("d0", "water"), ("d1", "flour sound"), ("d2", "flour often flour here motor")]
    corpus = make_corpus(tmp_path / "corpus", docs)
    texts = Texts(toy / "queries.tsv", corpus, "the pairs")
    tuples = corpus.with_name("tuples.jsonl.gz")
    pairs = [contracts.Tuple("q0", doc_id, 0.0, [], []) for doc_id, _ in docs]
    contracts.write_tuples(tuples, pairs)
    spec = TermWeights.model_validate_json(term_weights_spec(steps=1, batch_size=3, dropout=0))
    learner = TermLearner(
        spec,
        Start(Source(str(toy / "start"), dropout=0.0, new_head=True), device, 1),
        tuples,
        texts,
    )
    monkeypatch.setattr(learner, "batch", lambda step: learner.all)
    with torch.no_grad():
        weights = learner.forward(learner.all)[0].double()
    targets = torch.tensor([1.0, *[0.0] * 7], dtype=torch.float64)  # q0 is "about waters"
    sizes = AdaptiveBatchSize("training examples", "length")
    sizes.limit = at_once
    row = fitting.set_gradients(learner, sizes, slice(0, 3), 0).read()
    assert row["loss"] == pytest.approx(((weights - targets) ** 2).sum().item() / 8, rel=1e-5)
    slope = learner.model.classifier.bias.grad.item()  # d/db: each weight is w . T + b
    assert slope == pytest.approx((2 * (weights - targets)).sum().item() / 8, rel=1e-4)


def test_a_word_is_read_at_its_first_subword_within_the_length(
    toy: Path, device: devices.Device
) -> None:
    weighter = weighter_of(toy, device, length=8)
    [doc] = weighter.tokenise(["water xyzzy waterhere sound sound"])
    tokens = weighter.tokenizer.convert_ids_to_tokens(doc.ids)
    assert len(tokens) == 8 and tokens[-1] == "[SEP]"
    starts = [
        i for i, t in enumerate(tokens) if not t.startswith("##") and t not in ("[CLS]", "[SEP]")
    ]
    assert doc.places == starts
    assert doc.words == ["water", "xyzzy", "waterhere", "sound", "sound"][: len(starts)]


def test_a_checkpoint_is_a_token_classifier(model: Path, device: devices.Device) -> None:
    theirs = AutoModelForTokenClassification.from_pretrained(model).eval()
    tokenizer = AutoTokenizer.from_pretrained(model)
    with torch.no_grad():
        logits = theirs(**tokenizer("water here", return_tensors="pt")).logits[0, :, 0]
    weighter = TermWeighter.load(model, device)
    weighter.model.eval()
    ours = weighter.forward(weighter.tokenise(["water here"]))
    assert ours.tolist() == pytest.approx(logits[1:3].tolist(), abs=1e-6)
    assert not list(model.rglob("*.bin"))


def test_batches_and_order_do_not_change_predictions(model: Path, device: devices.Device) -> None:
    weighter = TermWeighter.load(model, device)
    texts = ["water here", "", "flour often flour there", "sound", "!"]
    alone = [weighter.predict([text], 1)[0] for text in texts]
    assert weighter.predict(texts, 3) == alone
    assert alone[1] == {}
    assert weighter.predict([], 3) == []


def predicting(corpus: Path, model: Path, output: Path, part_docs: int) -> dict[str, Any]:
    """Return the arguments of `predict`."""
    base = {"corpus": corpus, "model": model, "batch_size": 4, "output": output}
    return {**base, "threads": 1, "device": "cpu", "part_docs": part_docs}


def test_predictions_are_written_in_parts(toy: Path, model: Path, tmp_path: Path) -> None:
    termweights.predict(**predicting(toy / "corpus", model, tmp_path / "tfs", 10))
    result = {d["doc_id"]: d["weights"] for d in contracts.read_docs(tmp_path / "tfs")}
    assert list(result) == [doc_id for doc_id, _ in toy_docs()]
    artefact = json.loads((tmp_path / "tfs" / "manifest.json").read_text())["artefact"]
    assert [shard["docs"] for shard in artefact["shards"]] == [10, 10, 4]
    assert artefact["docs"] == 24
    words, sums = (sum(map(f, result.values())) / 24 for f in (len, lambda own: sum(own.values())))
    assert artefact["words_per_doc"] == pytest.approx(words, abs=1e-3)
    assert artefact["tf_per_doc"] == pytest.approx(sums, abs=1e-3)
    assert artefact["docs_without_a_word"] == 0
    assert artefact["weights"] == files.sha256(model / "model.safetensors")
    names = sorted(path.name for path in (tmp_path / "tfs").iterdir())
    assert names == ["manifest.json", *(f"part-0000{i}.jsonl.gz" for i in range(3))]
    assert not (tmp_path / "tfs.partial").exists()


def test_killed_prediction_goes_on_at_the_first_missing_part(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docs = [(f"c{i}", f"{text} {i}") for i, (_, text) in enumerate(toy_docs() * 10)]
    many = make_corpus(tmp_path / "corpus", docs)
    termweights.predict(**predicting(many, model, tmp_path / "whole", 1))
    arguments = predicting(many, model, tmp_path / "killed", 1)
    options = [
        word
        for key, value in arguments.items()
        for word in (f"--{key.replace('_', '-')}", str(value))
    ]
    second = tmp_path / "killed.partial" / "part-00001.done"
    run_and_kill(["residuum.termweights", "predict", *options], when=second.exists)
    leave_half(second.parent / "part-00002.done")
    assert not (tmp_path / "killed").exists()
    read: list[str] = []
    predict = TermWeighter.predict

    def recording(self: TermWeighter, texts: list[str], batch_size: int) -> Any:
        read.extend(texts)
        return predict(self, texts, batch_size)

    monkeypatch.setattr(TermWeighter, "predict", recording)
    termweights.predict(**arguments)
    assert docs[1][1] not in read and docs[-1][1] in read
    assert contents(tmp_path / "killed") == contents(tmp_path / "whole")


def test_a_checkpoint_of_another_kind_is_refused(
    toy: Path, device: devices.Device, tmp_path: Path
) -> None:
    dual = train_toy(toy, tmp_path / "dual", model_spec(steps=1))
    with pytest.raises(ResiduumError, match=r"residuum\.json: .*key"):
        TermWeighter.load(dual, device)


def test_seeds_differ_and_one_seed_repeats(toy: Path, tmp_path: Path) -> None:
    spec = term_weights_spec(steps=4)
    one, again = (train_toy(toy, tmp_path / name, spec) for name in ("one", "again"))
    other = train_toy(toy, tmp_path / "other", spec, seed=2)
    assert contents(one) == contents(again)
    assert files.sha256(one / "model.safetensors") != files.sha256(other / "model.safetensors")


def test_no_positive_is_an_error(toy: Path, tmp_path: Path) -> None:
    contracts.write_tuples(tmp_path / "tuples.jsonl.gz", [])
    form = TermWeights.model_validate_json(term_weights_spec())
    texts = Texts(toy / "queries.tsv", toy / "corpus", "the tuples")
    start = Start(Source(str(toy / "start"), new_head=True), devices.Device("cpu", "fp32"), 1)
    with pytest.raises(ResiduumError, match="no training pair is left"):
        TermLearner(form, start, tmp_path / "tuples.jsonl.gz", texts)
