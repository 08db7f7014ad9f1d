"""What jobs read from elsewhere: files of datasets, models of the hub."""

from collections import Counter
from dataclasses import replace

import pytest

from plan_fixture import registry
from residuum.inspect import planning
from residuum.inspect.dryrun import Job

TOY = registry()


@pytest.fixture(autouse=True)
def homes(monkeypatch, tmp_path):
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path / "irds"))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.delenv("HF_HUB_CACHE", raising=False)
    return tmp_path


def job(rule, **wildcards):
    return Job(rule, wildcards, [], ["x"], 1, Counter())


def test_files_are_those_of_the_splits_that_jobs_export():
    corpus, tune = job("data_corpus", dataset="toy"), job("data_split", dataset="toy", split="tune")
    result = planning.required(TOY, [corpus, tune, tune, job("lexical_index", dataset="toy")])
    assert [file.name for file in result["toy"]] == ["toy/docs.gz", "toy/t.gz"]
    assert planning.required(TOY, [job("lexical_index", dataset="toy")]) == {}


def test_what_is_local_is_not_to_come(homes):
    jobs = [job("data_corpus", dataset="toy"), job("data_split", dataset="toy", split="train")]
    files = planning.required(TOY, jobs)
    irds = homes / "irds"
    assert planning.homes(TOY, files) == {irds: 720}
    (irds / "toy").mkdir(parents=True)
    (irds / "toy/docs.gz").write_bytes(b"x" * 700)
    assert planning.homes(TOY, planning.required(TOY, jobs)) == {irds: 20}
    (irds / "toy/t.gz").write_bytes(b"x" * 20)
    assert planning.homes(TOY, planning.required(TOY, jobs)) == {}


def test_what_is_unpacked_needs_more_than_the_downloads(homes):
    dataset = TOY.datasets["toy"].model_copy(update={"disk_gb": 3})
    large = replace(TOY, datasets={"toy": dataset})
    files = planning.required(TOY, [job("data_corpus", dataset="toy")])
    assert planning.homes(large, files) == {homes / "irds": 3e9}


def test_models_are_those_that_jobs_start_from_or_score_with():
    jobs = [
        job("train_train", model="inbatch", seed="1"),
        job("train_train", model="inbatch", seed="2"),
        job("train_train", model="dual", seed="1"),  # starts from a backbone made here
        job("rerank_score", dataset="toy", split="dev", reranker="role"),
    ]
    base, large = planning.required(TOY, jobs)["hub"]
    assert (base.name, large.name) == ("org/bert-base", "org/bert-large")
    assert base.bytes == pytest.approx(440e6, rel=0.02)  # google-bert's model.safetensors
    assert large.bytes == pytest.approx(1.34e9, rel=0.02)
    assert base.url == "https://huggingface.co/org/bert-base/tree/main"


def test_a_model_in_the_cache_is_available(homes):
    start = job("train_train", model="inbatch", seed="1")
    assert not planning.required(TOY, [start])["hub"][0].available
    folder = homes / "hf/hub/models--org--bert-base"
    (folder / "refs").mkdir(parents=True)
    (folder / "refs/main").write_text("abc")
    (folder / "snapshots/abc").mkdir(parents=True)
    assert not planning.required(TOY, [start])["hub"][0].available, "nothing in it yet"
    (folder / "snapshots/abc/config.json").write_text("{}")
    model = planning.required(TOY, [start])["hub"][0]
    assert model.available
    assert planning.homes(TOY, {"hub": [model]}) == {}
