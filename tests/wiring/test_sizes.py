"""Sizes of a toy, by hand, and of published models and collections."""

import json
from dataclasses import replace

import pytest
import yaml

from conftest import ROOT
from plan_fixture import DATASET, named, registry, with_triples
from residuum.config import loading
from residuum.config.registry import SplitId
from residuum.config.schema.datasets import Dataset
from residuum.config.schema.reading import Windows
from residuum.config.schema.scales import FromPath
from residuum.config.schema.training import Training
from residuum.wiring import sizes
from residuum.wiring.estimates import Estimates

TOY = registry()


def full():
    base = yaml.safe_load((ROOT / "config" / "config.yaml").read_text())
    return loading.load(ROOT / "config", {**base, "scale": "full"})


def test_queries_are_the_pins_without_what_is_held_out_of_them():
    requested = {
        name: sizes.queries(TOY, SplitId("toy", name)) for name in ("train", "tune", "dev")
    }
    assert requested == {"train": 100, "tune": 10, "dev": 20}
    assert sizes.queries(TOY, SplitId("toy", "open")) == sizes.UNPINNED_QUERIES


def test_pairs_count_the_levels_that_are_positive():
    assert sizes.pairs(TOY, SplitId("toy", "train")) == 40 + 30 - 10
    assert sizes.pairs(full(), SplitId("msmarco-passage", "train")) == 532_761 - 500


def test_steps_follow_from_epochs_and_batches():
    how = {"learning_rate": 1, "batch_size": 28}

    def count(**more):
        return sizes.steps(Training(**how, **more), 532_261)

    assert count(epochs=8) == 152_075  # 8 * 532,261 / 28 = 152,074.6
    assert count(steps=7) == 7


def test_rocs_trainings_at_full_are_as_long_as_its_batches_of_ten_make_them():
    made = Estimates(full())
    epochs = full().models["dpr"].training.epochs
    marco = made.training(named(model="dpr@msmarco-passage.train", seed="1"))
    assert marco.steps == -(-epochs * (532_761 - 500) // 10)
    questions = made.training(named(model="dpr-ei@nq-250k.train", seed="1"))
    assert questions.steps == -(-epochs * 58_880 // 10), "one marked passage for each question"


def test_counting_docs_reads_each_corpus_once():
    made = Estimates(full()).characteristics(named(page="roc-table2"))
    text = 8_841_823 * 340 + 250_000 * 630 + 528_155 * 3000
    assert made.core_s == pytest.approx(2 + text / 20e6)
    queries = Estimates(full()).characteristics(named(page="dualrm-table1"))
    assert queries.core_s == 2, "none where splits alone are counted"


def test_a_corpus_has_the_docs_of_its_largest_edition():
    assert sizes.docs(TOY, "toy") == 1000
    assert sizes.text_bytes(full(), "msmarco-passage") == 8_841_823 * 340


def test_docs_are_as_long_as_the_largest_edition_with_a_length_says():
    def length(*editions):
        pins = [{"name": str(n), **keys} for n, keys in enumerate(editions)]
        entry = Dataset.model_validate({**DATASET, "editions": pins})
        return sizes.doc_bytes(replace(TOY, datasets={"toy": entry}), "toy")

    assert length({"docs": 10, "doc_bytes": 300}, {"docs": 20, "doc_bytes": 400}) == 400
    assert length({"docs": 10, "doc_bytes": 300}, {"docs": 20}) == 300
    assert length({"docs": 10}) == 1000, "a guess"


def test_docs_of_a_plan_are_as_long_as_before():
    base = yaml.safe_load((ROOT / "config" / "config.yaml").read_text())
    larger = {**base, "scale": "full", "docs": {"msmarco-passage": 10**9}}
    planned = loading.load(ROOT / "config", larger)
    assert sizes.text_bytes(planned, "msmarco-passage") == 340 * 10**9


def test_an_export_does_not_depend_on_the_length_of_docs():
    dataset = full().datasets["msmarco-passage"]
    editions = [one.model_copy(update={"doc_bytes": None}) for one in dataset.editions]
    other = dataset.model_copy(update={"editions": editions})
    assert dataset.editions != editions
    assert dataset.for_corpus() == other.for_corpus()
    assert dataset.for_split("dev") == other.for_split("dev")
    assert dataset.for_docpairs("train") == other.for_docpairs("train")


def test_tokens_end_at_what_the_model_reads():
    assert sizes.doc_tokens(full(), "msmarco-passage", 512) == pytest.approx(340 / 4.5 + 2)
    assert sizes.doc_tokens(full(), "msmarco-passage", 64) == 64


def test_shapes_have_the_published_parameters():
    base, large = sizes.shape_of_hub("org/bert-base"), sizes.shape_of_hub("org/BERT-Large-x")
    assert base.parameters == pytest.approx(110e6, rel=0.02)  # Devlin et al. 2019
    assert large.parameters == pytest.approx(340e6, rel=0.02)
    mini = sizes.shape_of_hub("nreimers/MiniLM-L6-H384-uncased")
    assert mini[:3] == (6, 384, 1536)
    assert mini.parameters == pytest.approx(22.7e6, rel=0.02)  # its model card


def test_a_model_has_the_shape_of_what_it_starts_from():
    shape = sizes.shape(TOY, "cross")
    assert shape == (2, 64, 128, 486, 0)
    assert shape.layer_parameters == 2 * (4 * 64 * 64 + 2 * 64 * 128) == 65_536
    assert shape.parameters == 65_536 + 1000 * 64
    assert sizes.shape(TOY, "inbatch") == sizes.BASE


def test_a_model_in_a_folder_says_its_shape(tmp_path):
    options = {"num_hidden_layers": 3, "hidden_size": 96, "intermediate_size": 200, "vocab_size": 9}
    (tmp_path / "config.json").write_text(json.dumps(options))
    assert sizes.shape(TOY, FromPath(path=str(tmp_path))) == (3, 96, 200, 9, 0)
    within = tmp_path / "document_0_Transformer"  # as a model with a Router has its network
    within.mkdir()
    (tmp_path / "config.json").rename(within / "config.json")
    assert sizes.shape(TOY, FromPath(path=str(tmp_path))) == (3, 96, 200, 9, 0)


def test_docs_in_windows_have_a_vector_for_each_passage():
    windows = Windows(length=100, stride=50, body="body", expected=4)
    dataset = TOY.datasets["toy"].model_copy(update={"windows": windows})
    inside = replace(TOY, datasets={"toy": dataset})
    assert sizes.vectors(inside, "toy", "dual") == 1000 * 4
    assert sizes.vectors(TOY, "toy", "dual") == 1000


def test_a_reranked_run_is_as_long_as_its_first_stage():
    assert sizes.hits(TOY, "deep") == sizes.hits(TOY, "bm25") == 10


def test_a_model_of_official_triples_is_trained_on_as_many_as_it_takes():
    toy = with_triples(first=70)
    assert sizes.examples(toy, "official") == sizes.examples(toy, "follower") == 70
    assert sizes.examples(toy, "dual") == sizes.pairs(toy, toy.bound_split("train")) == 60
    assert sizes.examples(with_triples(first=None), "official") == 500, "pinned"
