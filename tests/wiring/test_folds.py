"""Training by folds at scale full: trainings, paths and inputs of RoC's models on Robust04."""

import json
import re
from types import SimpleNamespace

import pytest

from conftest import ROOT
from residuum.cli.errors import ResiduumError
from residuum.config import loading
from residuum.config.registry import Registry, SplitId
from residuum.pages import notes
from residuum.pages.jobs import Bound
from residuum.pages.table.bind import TableInputs
from residuum.wiring import sizes
from residuum.wiring.availability import all_available
from residuum.wiring.base import Constraints
from residuum.wiring.corpora import Corpora, encoded_splits
from residuum.wiring.estimates import Estimates
from residuum.wiring.models import Models, models_judged, trained_by_folds
from residuum.wiring.paths import Paths
from residuum.wiring.runs import Runs

OF = "robust04.test-mcdonald"
FOLDS = [f"mcdonald{n}" for n in range(1, 6)]
DENSE = {"dataset": "robust04", "split": "test-mcdonald", "run": "dpr-ei-embedding.seed2"}


@pytest.fixture(scope="module")
def full() -> Registry:
    return loading.load(ROOT / "config", {"scale": "full", "papers": ["roc"]})


@pytest.fixture(scope="module")
def models(full: Registry) -> Models:
    return Models(full, Paths(), all_available)


def job(**wildcards: str) -> SimpleNamespace:
    return SimpleNamespace(**wildcards)


def test_an_id_names_the_fold_that_a_training_has_not_seen(full: Registry) -> None:
    model = f"dpr@{OF}"
    assert full.model_for("dpr", "robust04") == model
    assert full.trainings(model) == [f"{model}.{fold}" for fold in FOLDS]
    assert full.answering(model, "test-mcdonald") == {f"{model}.{fold}": fold for fold in FOLDS}
    assert full.answering(model, "mcdonald3") == {f"{model}.mcdonald3": "mcdonald3"}
    with pytest.raises(ResiduumError, match=r"dpr is trained for each fold .*: fold3"):
        full.answering(model, "fold3")
    own = f"{model}.mcdonald3"
    assert (full.fold_of(own), full.folds(own), full.trainings(own)) == ("mcdonald3", FOLDS, [own])
    assert full.train_split(own) == full.train_split(model) == ("robust04", "test-mcdonald")
    assert full.answering(own.replace(".mcdonald3", ""), "mcdonald3") == {own: "mcdonald3"}


def test_elsewhere_a_model_is_one_training(full: Registry) -> None:
    for name, dataset in (("dpr", "nq-250k"), ("dpr", "msmarco-passage"), ("clear", "robust04")):
        model = full.model_for(name, dataset)
        assert (full.folds(model), full.fold_of(model)) == ([], None)
        assert full.answering(model, "any") == {model: "any"}
    ids = full.model_ids()
    of_nq = ("100", "200", "250k", "400", "50", "dpr")
    named = sorted(name for name in ids if name.startswith("dpr@nq"))
    assert named == [f"dpr@nq-{name}.train" for name in of_nq]
    expression = Constraints(full).model
    assert re.fullmatch(expression, f"dpr@{OF}.mcdonald1")
    assert not re.fullmatch(expression, f"dpr@{OF}-mcdonald1"), "a point is no other character"


def test_a_training_holds_its_fold_out_and_shares_the_tuples(models: Models) -> None:
    wildcards = job(model=f"dpr-ei@{OF}.mcdonald2", seed="1")
    assert models.tuples(wildcards) == [f"training/dpr@{OF}/tuples.jsonl.gz"]
    assert models.held_out(wildcards) == "--held-out mcdonald2"
    assert models.folds(wildcards) == [f"data/robust04/{fold}/queries.tsv" for fold in FOLDS]
    assert json.loads(models.spec(wildcards))["training"]["snapshots"] is None
    elsewhere = job(model="dpr-ei@nq-250k.train", seed="1")
    assert (models.folds(elsewhere), models.held_out(elsewhere)) == ([], "")
    assert json.loads(models.spec(elsewhere))["training"]["snapshots"] == 10
    with pytest.raises(ResiduumError, match=rf"is trained for each fold .*{OF}\.mcdonald1, "):
        models.folds(job(model=f"dpr@{OF}", seed="1"))


def test_a_gate_is_of_the_same_fold(models: Models) -> None:
    gate = models.gate(job(model=f"sparterm@{OF}.mcdonald4", seed="3"))
    assert gate == [f"models/sparterm-gate@{OF}.mcdonald4/seed3/manifest.json"]


def test_a_run_is_gathered_from_each_folds_own_hits(full: Registry) -> None:
    corpora, paths = Corpora(full, Paths(), all_available), Paths()
    hits = corpora.shards(paths.hits)(job(**DENSE))
    assert hits == [
        f"hits/robust04/dpr-ei@{OF}.{fold}/seed2/top1000/shard-{n:05d}/manifest.json"
        for fold in FOLDS for n in range(2)
    ]  # fmt: skip
    assert corpora.answered(job(**DENSE)) == " ".join(f"--split {fold}" for fold in FOLDS)
    folder = f"embeddings/robust04.queries/dpr-ei@{OF}"
    assert corpora.asked(job(**DENSE)).split(" --queries ")[1:] == [
        f"{folder}.{fold}/seed2/{fold}" for fold in FOLDS[1:]
    ]
    own = job(**{**DENSE, "split": "mcdonald2"})
    assert (
        corpora.answered(own) == "--split mcdonald2" and len(corpora.shards(paths.hits)(own)) == 2
    )
    with pytest.raises(ResiduumError, match=r"@4: .*no snapshots; ask for dpr-ei-embedding\.seed2"):
        corpora.answered(job(**{**DENSE, "run": "dpr-ei-embedding.seed2@4"}))
    for fold in FOLDS:
        assert encoded_splits(full, "robust04", f"dpr@{OF}.{fold}", 1) == [fold]


def test_a_reranker_scores_a_fold_by_the_training_that_has_not_seen_it(full: Registry) -> None:
    runs = Runs(full, Paths(), all_available)
    name = full.reranker("bm25-interaction")
    wildcards = job(dataset="robust04", split="test-mcdonald", reranker=name)
    trained = [f"models/interaction-bert@{OF}.{fold}/seed1" for fold in FOLDS]
    assert runs.reranker_files(wildcards) == [f"{folder}/manifest.json" for folder in trained]
    assert runs.reranker(wildcards) == " ".join(f"--model {folder}" for folder in trained)
    folds = [f"data/robust04/{fold}/queries.tsv" for fold in FOLDS]
    assert runs.reranked_folds(wildcards) == folds
    elsewhere = job(dataset="nq-250k", split="test", reranker=name)
    assert runs.reranker(elsewhere) == "--model models/interaction-bert@nq-250k.train/seed1"
    assert runs.reranked_folds(elsewhere) == []


def test_one_verdict_is_made_of_what_all_trainings_held_out(
    full: Registry, models: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, own = job(model=f"dpr@{OF}", seed="1"), job(model=f"dpr@{OF}.mcdonald2", seed="1")
    held = models.trainings(Paths().held_out)(whole)
    assert held == [f"learning/dpr@{OF}.{fold}/seed1.tsv" for fold in FOLDS]
    assert models.learned_on(Paths().qrels)(whole) == "data/robust04/test-mcdonald/qrels.trec"
    assert models.learned_on(Paths().qrels)(own) == "data/robust04/mcdonald2/qrels.trec"
    assert models.candidates(own) == "runs/robust04/test-mcdonald/bm25.trec.gz"
    monkeypatch.setattr("residuum.wiring.models.why_no_export", lambda *given: None)
    assert models_judged(full, "dpr-sum", 2, "robust04") == [f"dpr@{OF}/seed2"]


def test_a_page_says_which_models_are_trained_by_folds(full: Registry) -> None:
    topics, questions = SplitId("robust04", "test-mcdonald"), SplitId("nq-250k", "test")
    systems = ("dpr-sum", "bm25-interaction", "clear", "bm25-default")
    cells = [(system, split) for system in systems for split in (topics, questions, None)]
    folds = trained_by_folds(full, cells)
    assert folds == {f"dpr@{OF}": FOLDS, f"interaction-bert@{OF}": FOLDS}
    made = {"id": "roc-table4", "scale": "full", "reason": "none"}
    assert list(notes.of_runs(Bound.model_construct(**made))) == []
    [line, _] = notes.of_runs(Bound.model_construct(**made, by_folds=folds))
    assert line == (
        f"dpr@{OF} is trained once for each of {', '.join(FOLDS)}, on the queries of the other "
        "folds. Each query is answered by the training that has not seen it."
    )


def test_arithmetic_is_read_of_all_trainings(full: Registry) -> None:
    parts = TableInputs(full, Paths(), all_available)
    read = [*parts._behind("dpr-embedding", SplitId("robust04", "test-mcdonald"))]
    assert len(read) == 2 * 5 * 3 and f"models/dpr@{OF}.mcdonald5/seed3/manifest.json" in read


def test_a_training_has_four_fifths_of_the_pairs_and_a_fold_a_fifth_of_the_queries(
    full: Registry,
) -> None:
    every, estimates = sizes.examples(full, f"dpr@{OF}"), Estimates(full)
    assert every == 16381 + 1031
    assert sizes.pairs(full, SplitId("robust04", "mcdonald1")) == round(every / 5)
    assert sizes.examples(full, f"dpr@{OF}.mcdonald1") == round(0.8 * every)
    trained = estimates.training(job(model=f"dpr@{OF}.mcdonald1", seed="1"))
    assert trained.steps == -(-10 * round(0.8 * every) // 10)
    search = estimates.dense_search(
        job(dataset="robust04", model=f"dpr@{OF}.mcdonald1", seed="1", shard="00000", k="1000")
    )
    assert search.disk == 11 * 50 * 1000
    scores = job(**{**DENSE, "run": "dpr-embedding.seed1"}, other="bm25-default")
    five = estimates.dense_scores(scores).core_s
    one = estimates.dense_scores(job(**{**vars(scores), "run": "clear-embedding.seed1"})).core_s
    assert five - one == pytest.approx(4 * 4 * 768 * 528_155 / 1e6 / 500), "500 MB a second"
