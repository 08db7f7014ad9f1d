"""Model cards: what they say is in manifests, and the lines that load a checkpoint run."""

import contextlib
import io
import json
import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import yaml
from huggingface_hub import ModelCard

from copying import train_copying, write_task
from residuum import lexical
from residuum.artefacts import files
from residuum.cli.errors import ResiduumError
from residuum.config.schema.encoder import Encoder as EncoderSchema
from residuum.config.schema.reading import Reading
from residuum.inspect import cards, checkpoints, provenance
from residuum.neural import devices
from residuum.neural.crossencoder import CrossEncoder
from residuum.neural.encoders import Encoder
from residuum.neural.pretrained import Source
from residuum.neural.termgate import Gating, TermGater
from residuum.neural.termweighter import TermWeighter, Weighting
from residuum.tuning.learned import Learned
from results_fixture import record
from tiny_models import ENCODER, make_backbone, make_corpus, toy_docs

DEVICE = devices.Device("cpu", "fp32")
SPEC = {
    "start": "start",
    "revision": None,
    "seed": 1,
    "model": {
        "kind": "dual-encoder",
        "train_on": "msmarco-train",
        "backbone": "bert-base",
        "loss": {"kind": "residual_margin", "xi": 1.0},
        "negatives": {"pools": {"errors": {"kind": "hits", "system": "bm25", "top": 50}}},
        "training": {"batch_size": 16, "steps": 20, "epochs": None},
    },
}


@pytest.fixture(scope="module")
def backbone(tmp_path_factory):
    folder = tmp_path_factory.mktemp("backbone")
    return make_backbone(folder / "made", make_corpus(folder / "corpus", toy_docs()))


def encoder(backbone, **changes):
    settings = EncoderSchema.model_validate({**ENCODER, **changes})
    return Encoder.class_for(settings)(Source(str(backbone), new_head=True), settings, DEVICE)


def reranker(backbone, pooling):
    reading = Reading(query_length=8, length=30, pooling=pooling)
    return CrossEncoder(Source(str(backbone), new_head=True), reading, DEVICE)


MADE = {
    "dense": ("dual-encoder", "sentence-transformers", encoder),
    "several": (
        "dual-encoder",
        "residuum",
        lambda b: encoder(b, pooling={"kind": "first", "vectors": 3}),
    ),
    "terms": (
        "dual-encoder",
        "residuum",
        lambda b: encoder(b, pooling="terms", query_marker="", doc_marker=""),
    ),
    "cls": ("cross-encoder", "sentence-transformers", lambda b: reranker(b, "cls")),
    "mean": ("cross-encoder", "sentence-transformers", lambda b: reranker(b, "mean")),
    "weights": (
        "term-weights",
        "residuum",
        lambda b: TermWeighter(
            Source(str(b), new_head=True), Weighting(length=24, scale=100), DEVICE
        ),
    ),
    "gate": (
        "term-gate",
        "residuum",
        lambda b: TermGater(Source(str(b), new_head=True), Gating(length=24), DEVICE),
    ),
}


def run(text):
    """Run the Python of a card and return its names and what it prints."""
    code = re.search(r"```python\n(.*?)```", text, re.S)[1]
    names, printed = {}, io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, names)
    assert printed.getvalue().strip()
    return SimpleNamespace(**names)


@pytest.mark.parametrize("name", MADE)
def test_the_lines_that_load_a_checkpoint_run(backbone, tmp_path, name):
    kind, reads, make = MADE[name]
    model = make(backbone)
    model.save(tmp_path)
    assert cards.library(tmp_path, kind)[0] == reads
    text = cards.how(tmp_path, kind, str(tmp_path))
    assert reads in text
    made = run(text)
    if name == "dense":
        expected = model.encode(["a doc", "another doc"], "doc", 2)
        assert np.allclose(made.docs * 0.25**0.5, expected, atol=1e-6)
    if name == "several":
        assert made.vectors.shape == (3, model.dimensions)


def test_the_lines_for_a_backbone_run(backbone):
    assert cards.library(backbone, "backbone") == ("transformers", "feature-extraction")
    run(cards.how(backbone, "backbone", str(backbone)))


def test_the_lines_for_a_question_generator_run(tmp_path):
    model = train_copying(write_task(tmp_path / "task", layers=1), tmp_path / "made", steps=1)
    text = cards.how(model, "question-generator", str(model))
    assert len(run(text).written) == 1


def reranked(first, reranker):
    return {"kind": "rerank", "first_stage": first, "reranker": reranker}


@pytest.fixture(scope="module")
def results(tmp_path_factory, backbone):
    """Return a results folder with a dual encoder, its runs, their metrics and manifests."""
    folder = tmp_path_factory.mktemp("cards") / "results" / "toy"
    data = folder / "data" / "cacm" / "train"
    for name in ("queries.tsv", "qrels.trec"):
        files.write_text(data / name, "x\n")
    record(data / "queries.tsv", {}, [], "residuum.data")
    start = Path(shutil.copytree(backbone, folder / "backbones" / "mini-bert"))
    model = folder / "models" / "clear" / "seed1"
    encoder(start).save(model)
    facts = {"pairs": 800, "steps": 20, "loss": 0.25}
    record(model, facts, [data / "queries.tsv", start], "residuum.train", **SPEC)
    other = folder / "models" / "reranker" / "seed1"
    files.write_text(other / "config.json", "{}")
    record(other, {}, [start], "residuum.train", model={"kind": "cross-encoder"})
    runs, rerank = folder / "runs" / "cacm" / "test", folder / "rerank" / "cacm" / "test"
    searched = folder / "hybrid" / "cacm" / "test" / "exact.seed1"
    index = folder / "index" / "cacm" / "wordpieces"
    for path, inputs in ((searched, [model]), (index, [start])):
        files.write_text(path / "part", "x\n")
        record(path, {}, inputs, "residuum.dense")
    bm25, alone, clear = (
        runs / f"{name}.trec.gz" for name in ("bm25", "clear-embedding.seed1", "clear.seed1")
    )
    docs = folder / "scores" / "cacm" / "test" / "bm25.on.clear-embedding.trec.gz"
    pairs = rerank / "monobert" / "shard-00000.trec.gz"
    made = [
        (bm25, [], {"kind": "lexical"}),
        (alone, [model], {"kind": "dense", "model": "clear"}),
        (clear, [bm25, alone], {"kind": "fusion", "parts": ["bm25", "clear-embedding"]}),
        (pairs, [other, bm25, clear], {}),
        (runs / "bm25-reranked.trec.gz", [bm25, pairs], reranked("bm25", "monobert")),
        (
            runs / "clear-reranked.seed1.trec.gz",
            [clear, pairs],
            reranked("clear", {"model": "reranker"}),
        ),
        (
            runs / "exact.seed1.trec.gz",
            [searched],
            {"kind": "hybrid", "parts": ["bm25-vectors", "clear-embedding"]},
        ),
        (docs, [bm25, alone], {"kind": "lexical"}),
        (
            runs / "clear.seed2.trec.gz",
            [bm25, docs],
            {"kind": "fusion", "parts": ["bm25", "clear-embedding"]},
        ),
        (runs / "clear-embedding.seed1@1.trec.gz", [model], {"kind": "dense"}),
        (runs / "bm25-wordpieces.trec.gz", [index], {"kind": "lexical"}),
    ]
    for number, (path, inputs, spec) in enumerate(made):
        files.write_text(path, f"{number}\n")
        record(path, {}, inputs, lexical.__name__, **spec)
        if path.parent == runs:
            metrics = (
                folder / "metrics" / "cacm" / "test" / f"{path.name.removesuffix('.trec.gz')}.tsv"
            )
            files.write_text(metrics, "x\n")
            means = {"RR@10": 0.05 + number / 20}
            record(metrics, {"queries": 52, "means": means}, [path], "residuum.evaluate")
    table = folder / "tables" / "clear-table1.tsv"
    files.write_text(table, "x\n")
    metrics = folder / "metrics" / "cacm" / "test" / "clear.seed1.tsv"
    scale = {"scale": "mini", "comparable": False, "reason": "generated."}
    printed = {"printed_in": "CLEAR, Table 1"}
    record(table, {}, [metrics], "residuum.pages.table.make", entry=printed, **scale)
    return folder


@pytest.fixture
def config(tmp_path):
    """Return a config folder with a collection and the model's entry."""
    from conftest import ROOT

    folder = tmp_path / "config"
    for name in ("datasets/cacm.yaml", "models/clear.yaml"):
        (folder / name).parent.mkdir(parents=True)
        shutil.copy(ROOT / "config" / name, folder / name)
    return folder


def test_a_card_is_one_that_a_hub_reads(results, config, tmp_path):
    message = cards.write(results, "clear", 1, tmp_path / "made" / "card", config)
    assert "models/clear/seed1" in message
    read = ModelCard.load(tmp_path / "made" / "card" / "README.md")
    assert read.data.library_name == "sentence-transformers"
    assert read.data.datasets == ["cacm"] and "dual-encoder" in read.data.tags
    values = {r.metric_name: r.metric_value for r in read.data.eval_results}
    assert values == pytest.approx({"RR@10 of clear-embedding.seed1": 0.1}), "of the model alone"
    for run, parts in (("clear", "bm25, clear"), ("exact", "bm25-vectors, clear")):
        assert re.search(rf"\| {run}\.seed1 +\| {parts}-embedding +\| 52 ", read.text)
    assert {r.dataset_split for r in read.data.eval_results} == {"test"}
    for text in ("residual_margin", "| batch_size", "CLEAR, Table 1", "Pairs: 800", "0.25"):
        assert text in read.text, text
    entry = yaml.safe_load((config / "datasets" / "cacm.yaml").read_text())
    assert entry["licence"] in read.text and entry["citation"] in read.text
    models = yaml.safe_load((config / "models" / "clear.yaml").read_text())["entries"]
    assert models["clear"]["description"] in read.text
    assert "No verdict on learning" in read.text


def test_the_folder_holds_the_checkpoint_as_it_was_and_loads(results, config, tmp_path):
    cards.write(results, "clear", 1, tmp_path / "card", config)
    source = results / "models" / "clear" / "seed1"
    kept = {p.relative_to(source) for p in source.rglob("*") if p.is_file()}
    made = {p.relative_to(tmp_path / "card") for p in (tmp_path / "card").rglob("*") if p.is_file()}
    assert made == {*kept, Path("README.md")}
    assert all(
        (tmp_path / "card" / name).read_bytes() == (source / name).read_bytes() for name in kept
    )
    text = (tmp_path / "card" / "README.md").read_text()
    run(text.replace("OWNER/NAME", str(tmp_path / "card")))


def test_runs_say_what_else_they_are_made_of(results):
    graph = provenance.read(results)
    checkpoint = checkpoints.find(results, graph, "clear", 1)
    assert {r.run: r.made_of for r in checkpoints.results_of(checkpoint)} == {
        "clear-embedding.seed1": (),
        "clear.seed1": ("bm25", "clear-embedding"),
        "exact.seed1": ("bm25-vectors", "clear-embedding"),
        "clear-reranked.seed1": ("clear", "reranker"),
    }, "not of another seed, whose docs are scored in one file with this one's, nor of a snapshot"
    other = checkpoints.find(results, graph, "reranker", 1)
    assert {r.run: r.made_of for r in checkpoints.results_of(other)} == {
        "bm25-reranked": ("bm25", "monobert"),
        "clear-reranked.seed1": ("clear", "reranker"),
    }
    start = checkpoints.find(results, graph, "mini-bert", 1)
    assert not checkpoints.results_of(start), "of words that its tokenizer cut"
    assert checkpoints.pages_of(checkpoint) == {"clear-table1": "CLEAR, Table 1"}


def test_what_an_entry_leaves_out_is_not_recorded(results, config, tmp_path):
    source = "source: {kind: beir, folder: mine}\nsplits: {train: {}, test: {}}\n"
    (config / "datasets" / "cacm.yaml").write_text(source)
    cards.write(results, "clear", 1, tmp_path / "card", config)
    text = (tmp_path / "card" / "README.md").read_text()
    assert "name: cacm, test" in text
    assert re.search(r"\| cacm/train +\| cacm +\| not recorded +\| not recorded +\|", text)
    assert "\n- cacm: not recorded\n" in text
    assert "\n@software{residuum,\n" in text


def test_a_verdict_on_learning_stands_in_the_card(results, config, tmp_path):
    path = results / "learning" / "clear" / "seed1.json"
    verdict = Learned(
        split_ref="cacm/train",
        learned=False,
        reason="RR@10 0.1 is no better",
        measure="RR@10",
        examples=9,
        means={"trained": 0.1, "start": 0.1},
        better=1,
        worse=1,
    )
    verdict.write(path)
    try:
        cards.write(results, "clear", 1, tmp_path / "card", config)
    finally:
        path.unlink()
    text = (tmp_path / "card" / "README.md").read_text()
    assert "not learned" in text and "RR@10 0.1 is no better" in text


@pytest.mark.parametrize(
    ("model", "seed", "says"),
    [
        (
            "claer",
            1,
            "no checkpoint 'claer'; known: clear, mini-bert, reranker. Did you mean clear?",
        ),
        ("clear", 2, "model clear has no seed 2; made: clear seed 1"),
    ],
)
def test_an_unknown_checkpoint_names_those_that_are_known(
    results, config, tmp_path, model, seed, says
):
    with pytest.raises(ResiduumError, match=re.escape(says)):
        cards.write(results, model, seed, tmp_path / "card", config)
    assert not (tmp_path / "card").exists()


def test_an_edited_checkpoint_and_a_folder_that_exists_are_refused(results, config, tmp_path):
    copy = Path(shutil.copytree(results, tmp_path / "results" / "toy"))
    path = copy / "models" / "clear" / "seed1" / "residuum.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "doc_length": 9}))
    with pytest.raises(ResiduumError, match=r"residuum\.json: not as its manifest records it"):
        cards.write(copy, "clear", 1, tmp_path / "card", config)
    assert not [p for p in tmp_path.iterdir() if "card" in p.name], "nothing is left"
    with pytest.raises(ResiduumError, match=r"exists\. Name another folder with --output"):
        cards.write(results, "clear", 1, tmp_path / "results", config)


def test_a_backbone_has_a_card_too(results, config, tmp_path):
    cards.write(results, "mini-bert", 1, tmp_path / "card", config)
    text = (tmp_path / "card" / "README.md").read_text()
    assert "kind backbone" in text and "made without training" in text
    assert "| made with" in text and "trained on" not in text
    assert "No run of this checkpoint was evaluated." in text


def test_a_card_tells_no_training_of_what_was_not_trained(results, config, tmp_path):
    copy = Path(shutil.copytree(results, tmp_path / "results" / "moved"))
    path = copy / "models" / "clear" / "seed1" / "manifest.json"
    made = json.loads(path.read_text())
    made["artefact"] = {"steps": 0, "pairs": 800, "preflight": {"loss": 1.0}}
    path.write_text(json.dumps(made))
    cards.write(copy, "clear", 1, tmp_path / "card", config)
    text = (tmp_path / "card" / "README.md").read_text()
    assert "A model of kind dual-encoder, made from" in text and "made without training" in text
    for absent in ("residual_margin", "batch_size", "trained on", "Negatives", "first step"):
        assert absent not in text
    assert "datasets" not in ModelCard.load(tmp_path / "card" / "README.md").data.to_dict()


def test_a_card_says_the_scale_and_if_its_numbers_compare(results, config, tmp_path):
    copy = Path(shutil.copytree(results, tmp_path / "results" / "moved"))
    cards.write(copy, "clear", 1, tmp_path / "card", config)
    text = (tmp_path / "card" / "README.md").read_text()
    assert "`models/clear/seed1` of scale mini." in text
    assert "\nScale mini: numbers do not compare with the papers'; generated.\n" in text


@pytest.mark.parametrize(
    ("kind", "negatives", "says"),
    [
        ("dual-encoder", {"pools": {}, "seed": 1}, cards.IN_BATCH),
        ("term-weights", {"pools": {}, "seed": 1}, ""),
        ("term-gate", {"pools": {}, "same_as": "dpr"}, "same_as dpr"),
    ],
)
def test_negatives_are_told_of_models_that_have_some(results, kind, negatives, says):
    made = provenance.read(results)["models/clear/seed1"].manifest
    model = {"kind": kind, "negatives": negatives}
    other = made.model_copy(update={"spec": {"model": model}})
    checkpoint = checkpoints.Checkpoint(results, provenance.Graph(), "models/clear/seed1", other)
    assert cards._negatives(checkpoint) == says
