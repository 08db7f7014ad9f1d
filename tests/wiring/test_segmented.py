"""Collections that are cut from others: what their exports read, and why they may have none."""

from types import SimpleNamespace

import pytest

from conftest import ROOT
from residuum.config import loading
from residuum.config.registry import Registry, SplitId
from residuum.pages.inputs import page_spec
from residuum.wiring import sizes
from residuum.wiring.availability import all_available, why_no_export, why_unavailable
from residuum.wiring.corpora import Exports
from residuum.wiring.estimates import Estimates
from residuum.wiring.models import Models, answers_read
from residuum.wiring.pages import why_not_made
from residuum.wiring.paths import Paths
from residuum.wiring.resources import Resources
from residuum.wiring.runs import Listed, Runs, shards_alone

DATA = "r/data/generated-pages-mini"


@pytest.fixture(scope="module")
def mini() -> Registry:
    return loading.load(ROOT / "config", {"scale": "mini", "papers": ["mebert"]})


@pytest.fixture(scope="module")
def full() -> Registry:
    return loading.load(ROOT / "config", {"scale": "full", "papers": ["mebert"]})


def named(**wildcards: str) -> SimpleNamespace:
    return SimpleNamespace(**wildcards)


def test_a_corpus_is_cut_from_the_docs_that_play_its_role(mini: Registry, full: Registry) -> None:
    exports, corpus = Exports(mini, Paths("r"), all_available), named(dataset="ict-50")
    assert exports.segmented_from(corpus) == [f"{DATA}/corpus/manifest.json"]
    assert exports.tokenizer(corpus) == ["r/backbones/mini-bert/manifest.json"]
    assert exports.tokenizer_option(corpus) == "--vocabulary r/backbones/mini-bert"
    plain = named(dataset="generated-mini")
    assert exports.segmented_from(plain) == exports.tokenizer(plain) == []
    assert exports.tokenizer_option(plain) == ""
    of_hub = Exports(full, Paths("r"), all_available)
    assert of_hub.segmented_from(corpus) == ["r/data/wikipedia-sample/corpus/manifest.json"]
    assert of_hub.tokenizer(corpus) == [], "the hub's files are no inputs"
    assert "google-bert/bert-base-uncased --revision 86b5e" in of_hub.tokenizer_option(corpus)


def test_a_split_reads_its_own_corpus_or_the_questions_it_takes(mini: Registry) -> None:
    exports = Exports(mini, Paths("r"), all_available)
    containing = named(dataset="ict-400", split="tune")
    assert exports.judged_by(containing) == ["r/data/ict-400/corpus/manifest.json"]
    assert exports.questions(containing) == []
    taken = named(dataset="nq-50", split="test")
    assert exports.judged_by(taken) == []
    files = [f"{DATA}/dev/queries.tsv", f"{DATA}/dev/answers.jsonl"]
    assert exports.questions(taken) == files
    by_answers = named(dataset="nq-50", split="tune")  # mini judges it by its answers
    assert exports.judged_by(by_answers) == ["r/data/nq-50/corpus/manifest.json"]
    assert exports.questions(by_answers)[0] == f"{DATA}/tune/queries.tsv"


def test_what_is_cut_lacks_what_its_source_lacks(
    full: Registry, tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RESIDUUM_DATA", str(tmp_path))
    why = why_no_export(full, "nq-100", None, "test")
    assert why and "nq-test.qa.csv" in why and "Access to wikipedia:" in why
    assert why_no_export(full, "ict-100", None, "test") is None, "ir_datasets gets the articles"
    (tmp_path / "nq").mkdir()
    (tmp_path / "nq" / "nq-test.qa.csv").touch()
    assert why_no_export(full, "nq-100", None, "test") is None
    other = loading.load(ROOT / "config", {"scale": "nfcorpus", "papers": ["mebert"]})
    unbound = why_no_export(other, "ict-100", None)
    assert unbound and "wikipedia-sample" in unbound
    test = SplitId("nq-100", "test")
    assert why_unavailable(other, "bm25-unigrams", test, all_available) is not None


def test_positives_come_from_answers_where_nothing_is_judged(
    mini: Registry, full: Registry
) -> None:
    model = "de-bert-768@nq-400.train"
    assert answers_read(mini, model) == SplitId("nq-400", "train")
    assert answers_read(mini, "de-bert-768@ict-400.train") is None
    models = Models(mini, Paths("r"), all_available)
    assert '"by_answers":true' in models.mined_spec(named(model=model))
    assert "by_answers" not in models.mined_spec(named(model="de-bert-768@ict-400.train"))
    assert mini.learned_on(model) == SplitId("nq-400", "tune"), "judged at this scale"
    assert full.learned_on(model) is None, "nothing tells"
    assert sizes.queries(full, SplitId("nq-400", "train")) == 79168
    assert sizes.pairs(full, SplitId("nq-400", "train")) == 5 * 79168
    # 2,000,000 docs of 2,900 bytes, 4.5 of a token, which takes 12; 2,000 MB beside them.
    memory = Resources(full).export_mb(named(dataset="ict-50"))
    assert memory == 2000 + int(2_000_000 * 2900 / 4.5 * 12) // 10**6


def test_lambda_by_answers_reads_them_and_no_judgements(mini: Registry) -> None:
    runs, at = Runs(mini, Paths("r"), all_available), {"dataset": "nq-50", "split": "tune"}
    by_answers = named(**at, run="hybrid-me-bert-nq-50.seed1")
    assert runs.tuned_by(by_answers) == []
    answers, corpus = "r/data/nq-50/tune/answers.jsonl", "r/data/nq-50/corpus/manifest.json"
    assert runs.tuned_by_texts(by_answers) == [answers, corpus]
    judged = named(dataset="ict-50", split="tune", run="hybrid-me-bert-uni.seed1")
    assert runs.tuned_by(judged) == ["r/data/ict-50/tune/qrels.trec"]
    assert runs.tuned_by_texts(judged) == []


def test_lines_are_drawn_from_their_table_in_its_rows_order(mini: Registry) -> None:
    from residuum.pages.lines.bind import LinesInputs
    from residuum.pages.lines.job import BoundLines

    page = "mebert-figure4"
    assert LinesInputs(mini, Paths("r"), all_available).table(named(page=page)) == (
        "r/tables/mebert-a1ict.tsv"
    )
    bound = BoundLines.model_validate_json(page_spec(mini, page, all_available))
    assert bound.labels[:2] == [
        ("cross-attention", "Cross-Attention"), ("hybrid-uni", "HYBRID-ME-BERT-uni"),
    ]  # fmt: skip
    shown_at = [[point.at for point in panel.points] for panel in bound.entry.panels]
    assert shown_at == [["50", "100", "200", "400"]] * 2
    assert why_not_made(mini, page, all_available) is None


def test_candidates_are_encoded_alone_where_they_are_few_of_a_corpus(
    mini: Registry, full: Registry
) -> None:
    """Of full's 39,000,000 passages of 50 wordpieces, 3,610 queries put 200 each into order."""
    at = {"dataset": "nq-50", "split": "test", "run": "de-bert-64.seed1"}
    reranked = named(**at, other="candidates-unigrams")
    test, model = SplitId("nq-50", "test"), "de-bert-64@nq-50.train"
    asked = full.datasets["nq-50"].splits["test"].questions_of
    queries = sizes.queries(full, test)
    assert asked and queries * 200 == sizes.listed(full, test, "candidates-unigrams") < 10**6
    alone = Listed(full, Paths("r"), all_available)
    shards = shards_alone(full, test, model, "candidates-unigrams")
    folder = "r/embeddings/nq-50/test.on.candidates-unigrams"
    assert alone.scoring(reranked) == [
        f"{folder}/{model}/seed1/shard-{n:05d}/manifest.json" for n in range(shards)
    ]
    job = named(**at, other="candidates-unigrams", model=model, seed="1", shard="00000")
    assert alone.lists(job) == "r/runs/nq-50/test/candidates-unigrams.trec.gz"
    assert alone.shard(job) == f"--shard 0 --of {shards}"
    estimates = Estimates(full)
    few, all_docs = estimates.listed_vectors(job), estimates.doc_vectors(job)
    assert few.disk * shards < 0.05 * all_docs.disk * full.shards("nq-50", model)
    searched = named(**at, other="bm25-unigrams")
    assert estimates.dense_scores(reranked).core_s < estimates.dense_scores(searched).core_s
    assert not any(".on." in path for path in alone.scoring(searched)), "its hits are of all docs"
    small = Listed(mini, Paths("r"), all_available).scoring(reranked)
    assert small == ["r/embeddings/nq-50/de-bert-64@nq-50.train/seed1/shard-00000/manifest.json"]
