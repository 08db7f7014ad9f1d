"""Full's graph on the replicas: each collection's table, dense runs on each, what is absent."""

import json
import os
import shutil
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import polars as pl
import pytest
import yaml

import wordnets
from conftest import ROOT
from projects import choose, copy_project, snakemake
from replicas import hub, msmarco_passage, writing
from replicas.truth import Replica
from residuum.artefacts import contracts, trec
from residuum.config import entries
from residuum.config.schema.datasets import Dataset, Edition
from residuum.inspect import dryrun
from residuum.wiring.paths import Paths

pytestmark = pytest.mark.workflow
DATASETS = ["msmarco-passage", "msmarco-passage-raw", "msmarco-document", "nq-dpr", "nq-250k",
            "robust04", "cord19", "nfcorpus", "car", "wikipedia"]  # fmt: skip
TABLES = ["msmarco_passage", "msmarco_document", "nq", "robust04", "nfcorpus"]
# CLEAR, trained on MS MARCO passages, on the collections whose tables hold BM25 alone.
HYBRIDS = ["msmarco-document/dev", "nq-dpr/test", "nq-250k/dev", "robust04/test", "nfcorpus/test"]
# Of RoC: a model of coCondenser's start with both objectives, trained on the collection; the
# folds of McDonald et al.; adverse queries. Its whole graph takes minutes.
OURS = "cocondenser-ei@nq-250k.train"
ROC = ["metrics/nq-250k/test/cocondenser-ei-embedding.seed1.tsv",
       "metrics/robust04/test-mcdonald/bm25-default.tsv",
       "runs/msmarco-passage/dev-adverse/bm25-default.trec.gz"]  # fmt: skip


class Made(NamedTuple):
    """A copy of the project whose scale replica is made, and what its collections hold."""

    project: Path
    env: dict[str, str]
    replicas: dict[str, Replica]

    @property
    def results(self) -> Path:
        """Return the results of the scale."""
        return self.project / "results" / "replica"

    def table(self, name: str) -> pl.DataFrame:
        """Return a table as it was written."""
        return pl.read_csv(self.results / "tables" / f"{name}.tsv", separator="\t")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("replica")
    (folder / "project").mkdir()
    project = copy_project(folder / "project")
    choose(project, "clear", "dualrm", "lexical-baselines")
    home, data = folder / "irds", folder / "data"
    replicas = writing.write_all(home, data)
    msmarco_passage.write_weights(replicas["msmarco-passage"], data)
    wordnets.write(data / "wordnet" / "dict", wordnets.OF_PLACES)
    texts = [" ".join(map(str, doc.values())) for r in replicas.values() for _, doc in r.docs]
    hub.write(folder / "hf", texts)
    homes = {"IR_DATASETS_HOME": str(home), "RESIDUUM_DATA": str(data)}
    env = os.environ | hub.offline(folder / "hf") | homes
    expected = [f"results/replica/metrics/{split}/clear.seed1.tsv" for split in HYBRIDS]
    expected += [f"results/replica/{path}" for path in ROC]
    snakemake(project, "all", *expected, env=env, scale="replica")
    return Made(project, env, replicas)


def pinned(name):
    scale = yaml.safe_load((ROOT / "config" / "scales" / "replica.yaml").read_text())
    return [Edition.model_validate(edition) for edition in scale["editions"][name]]


@pytest.mark.parametrize("name", DATASETS)
def test_the_scale_pins_what_the_replicas_hold(made, name):
    dataset = entries.parse(ROOT / "config" / "datasets" / f"{name}.yaml", Dataset)
    (edition,) = pinned(name)
    whole = dataset.source.docs
    collection = whole if whole in made.replicas else whole.partition("/")[0]
    assert edition.docs == made.replicas[collection].counts()["docs"]
    counts = {s: c for r in made.replicas.values() for s, c in r.counts()["splits"].items()}
    for split, pin in edition.splits.items():
        entry = dataset.splits[split]
        true = counts[entry.irds or Path(entry.questions or "nq-test").name.partition(".")[0]]
        assert pin.queries == true["queries"]
        if dataset.judged(split):
            assert (pin.qrels, pin.relevance) == (true["qrels"], true["relevance"])


@pytest.mark.parametrize("name", TABLES)
def test_each_collections_table_is_filled(made, name):
    table = made.table(f"lexical-baselines-{name}")
    assert table["measured"].null_count() == 0, table.filter(pl.col("measured").is_null())
    assert table["measured"].max() > 0.05, "retrieval finds something"
    page = (made.results / "tables" / f"lexical-baselines-{name}.md").read_text()
    assert "Index of the published numbers: documents" in page


def test_released_weights_are_searched_as_our_own_are(made):
    table = made.table("lexical-baselines-deepct")
    assert table["measured"].null_count() == 0 and table["measured"].max() > 0.05
    folder = made.results / "weights" / "msmarco-passage-raw" / "deepct-released"
    artefact = json.loads((folder / "manifest.json").read_text())["artefact"]
    assert (artefact["docs"], artefact["docs_without_a_line"]) == (600, 1)
    docs = dict(made.replicas["msmarco-passage"].docs)
    for record in contracts.read_docs(folder):
        words = docs[record["doc_id"]]["text"].lower().split() if record["weights"] else []
        assert record["weights"] == {word: len(word) for word in words}


def test_clears_and_dualrms_tables_are_filled_but_for_somebody_elses_run(made):
    for number in (1, 2):
        table = made.table(f"clear-table{number}").filter(pl.col("column") != "depth")
        assert table["measured"].null_count() == 0
    zero_shot = made.table("dualrm-table5")
    assert set(zero_shot.filter(pl.col("measured").is_null())["row"]) == {"bm25", "guir"}
    assert zero_shot.filter(row="fields", column="ndcg")["measured"].item() > 0.2


def test_dualrm_is_trained_on_the_training_triples_as_models_of_its_own(made):
    tuples = contracts.read_tuples(made.results / "training" / "dualrm" / "tuples.jsonl.gz")
    home = Path(made.env["IR_DATASETS_HOME"]) / "msmarco-passage" / "train"
    lines = (home / "small.triples.qidpid.tsv").read_text().splitlines()
    official = [tuple(line.split("\t")) for line in lines]
    own = trec.read_queries(made.results / "data" / "msmarco-passage" / "train" / "queries.tsv")
    first = [row for row in official if row[0] in own][:200]
    assert len(official) == 1280 and len(first) == 200
    relevant = set(made.replicas["msmarco-passage"].qrels["msmarco-passage/train"])
    expected = [row for row in first if (row[0], row[2], 1) not in relevant]
    assert sorted((t.query_id, t.positive, *t.negatives) for t in tuples) == sorted(expected)
    for table in ("table2", "table4"):
        page = made.table(f"dualrm-{table}").filter(pl.col("column") != "depth")
        assert page["measured"].null_count() == 0
    ledger = pl.read_csv(made.results / "ledger.tsv", separator="\t")
    again = ledger.filter(table="dualrm-table2", kind="number").drop_nulls("same_as")["row"]
    assert set(again) == {"bm25", "bm25-rm3", "deepct", "deepct-rm3"}, "no model behind CLEAR's"


def test_no_number_is_compared_with_the_papers(made):
    ledger = pl.read_csv(made.results / "ledger.tsv", separator="\t").filter(kind="number")
    assert set(ledger["verdict"]) == {"not comparable", "not run"}
    absent = ledger.filter(verdict="not run")
    assert set(absent["table"]) == {"lexical-baselines-cacm", "dualrm-table5"}
    cacm = absent.filter(table="lexical-baselines-cacm")["reason"][0]
    assert "Access to cacm: put docs.jsonl" in cacm
    index = ledger.filter(table="lexical-baselines-robust04")["reason"][0]
    assert "528,030" in index and "2,500" in index


@pytest.mark.parametrize("split", HYBRIDS)
def test_dense_and_hybrid_runs_exist_for_every_collection(made, split):
    metrics = trec.read_metrics(made.results / "metrics" / split / "clear.seed1.tsv")
    dataset, _, name = split.partition("/")
    pin = pinned(dataset)[0].splits[name]
    judged = pin.queries - (1 if split == "robust04/test" else 0)  # topic 672 has no judgement
    assert metrics["query_id"].n_unique() == judged
    for system in ("clear-embedding.seed1", "clear.seed1"):
        run = trec.read_run(made.results / "runs" / split / f"{system}.trec.gz")
        assert run["query_id"].n_unique() == pin.queries


@pytest.mark.parametrize("paper", ["roc", "mebert"])
def test_a_page_is_planned_for_each_file_of_a_paper(made, paper):
    """Within 3,000 jobs: no collection of full's size is left in the scale."""
    how = {"config": f"papers={paper}", "options": ["--dry-run", "--quiet", "host"]}
    jobs = dryrun.read(snakemake(made.project, "all", env=made.env, scale="replica", **how))
    planned = {path for job in jobs for path in job.outputs}
    paths = Paths("results/replica")
    files = sorted((ROOT / "config" / "papers" / paper).glob("*.yaml"))
    kinds = {path.stem: yaml.safe_load(path.read_text())["kind"] for path in files}
    pages = {paths.pages[kind].fill(page=f"{paper}-{name}") for name, kind in kinds.items()}
    assert len(pages) >= 9 and pages <= planned and len(jobs) < 3000


def test_a_start_is_that_of_the_collection_at_the_commit_where_its_branch_stood(made):
    folder = made.results / "models" / OURS / "seed1"
    record = json.loads((folder / "manifest.json").read_text())["spec"]
    name = "Luyu/co-condenser-wiki"
    assert (record["start"], record["revision"]) == (
        name, hub.commit({"hub": name, "revision": "main"})
    )  # fmt: skip


def test_the_dimensions_of_car_are_measured(made):
    page = "results/replica/dimensions/mebert-figure2.tsv"
    snakemake(made.project, page, env=made.env, scale="replica", config="papers=[mebert]")
    cells = pl.read_csv(made.project / page, separator="\t")
    least = cells.filter(column="least-margin")
    assert set(least["row"]) == {"bm25", "boolean", "gaussian"}
    assert least["measured"].null_count() == 0 and 0 < least["measured"].min() < 0.2


def test_no_negative_of_roc_holds_an_answer(made):
    tuples = contracts.read_tuples(made.results / "training/dpr@nq-250k.train/tuples.jsonl.gz")
    holders = made.replicas["dpr-w100"].holders["dpr-w100/natural-questions/train"]
    drawn = [(one.query_id, doc) for one in tuples for doc in one.negatives]
    assert len(drawn) > 100
    assert not [pair for pair in drawn if pair[1] in holders[pair[0]]]
    metrics = trec.read_metrics(made.results / ROC[0])
    assert metrics["query_id"].n_unique() == 60


def test_adverse_queries_find_other_docs_and_mcdonalds_folds_all_topics(made):
    adverse, plain = (
        trec.read_run(made.results / "runs/msmarco-passage" / split / "bm25-default.trec.gz")
        for split in ("dev-adverse", "dev")
    )
    assert {*adverse["query_id"]} == {*plain["query_id"]} and not adverse.equals(plain)
    mcdonald, others = (
        trec.read_metrics(made.results / "metrics/robust04" / split / "bm25-default.tsv")
        for split in ("test-mcdonald", "test")
    )
    both = {*mcdonald["measure"]} & {*others["measure"]}
    assert both and mcdonald["query_id"].n_unique() == 249, "672 has no judgement"
    one, two = (of.filter(pl.col("measure").is_in(both)).sort(of.columns[:2])
                for of in (mcdonald, others))  # fmt: skip
    assert one.equals(two), "plain BM25 chooses nothing by folds"


def test_nothing_that_round_1_judged_is_in_a_run_of_round_2(made):
    before = set(made.replicas["cord19"].qrels["cord19/trec-covid/round1"])
    before = {(query_id, doc_id) for query_id, doc_id, _ in before}
    runs = sorted((made.results / "runs" / "cord19" / "round2").glob("*.trec.gz"))
    assert {"bm25-fields", "bm25-rrf", "zero-shot-embedding", "zero-shot"} <= {
        path.name.partition(".")[0] for path in runs
    }
    for path in runs:
        pairs = trec.read_run(path).select("query_id", "doc_id").rows()
        assert len(pairs) > 35 * 100 and not before & set(pairs)
    page = (made.results / "tables" / "dualrm-table5.md").read_text()
    assert "cord19/round2 is residual: docs that cord19/round1 judged for a query are" in page


def test_accuracy_is_that_of_the_passages_that_hold_an_answer(made):
    run = trec.read_run(made.results / "runs" / "nq-dpr" / "test" / "bm25-default.trec.gz")
    holders = made.replicas["dpr-w100"].holders["nq-test"]
    ranks = {
        query: [
            rank for doc, rank in part.select("doc_id", "rank").iter_rows() if doc in holders[query]
        ]
        for (query,), part in run.partition_by("query_id", as_dict=True).items()
    }
    share = sum(min(ranks.get(q, [999]), default=999) <= 20 for q in holders) / len(holders)
    measured = made.table("lexical-baselines-nq").filter(column="top-20")["measured"].item()
    assert measured == pytest.approx(share, abs=1e-9) and 0.2 < share < 1


def test_a_split_that_answers_judge_has_the_passages_that_hold_one_as_relevant(made):
    judged = trec.read_qrels(made.results / "data" / "nq-250k" / "dev" / "qrels.trec")
    holders = made.replicas["dpr-w100"].holders["dpr-w100/natural-questions/dev"]
    expected = {(query_id, doc) for query_id, docs in holders.items() for doc in docs}
    assert set(judged.filter(relevance=1).select("query_id", "doc_id").rows()) == expected
    assert set(judged["query_id"]) == set(holders), "those that no passage answers count as well"


def test_long_documents_have_several_vectors_and_stand_once_in_a_run(made):
    folder = made.results / "embeddings" / "msmarco-document" / "clear" / "seed1"
    shards = sorted(folder.glob("shard-*"))
    facts = [json.loads((s / "manifest.json").read_text())["artefact"] for s in shards]
    assert len(shards) == 4 and sum(fact["shard"]["docs"] for fact in facts) == 600
    assert sum(fact["vectors"] for fact in facts) > 700
    path = made.results / "runs" / "msmarco-document" / "dev" / "clear-embedding.seed1.trec.gz"
    run = trec.read_run(path)
    assert max(Counter(run.select("query_id", "doc_id").iter_rows()).values()) == 1
    assert run.group_by("query_id").len()["len"].unique().to_list() == [600], "every doc, k 1000"


def test_a_second_run_does_nothing(made):
    assert "Nothing to be done" in snakemake(made.project, "all", env=made.env, scale="replica")


def test_a_licensed_collection_that_is_absent_empties_its_table_only(made, tmp_path):
    home = tmp_path / "irds"
    shutil.copytree(made.env["IR_DATASETS_HOME"], home, copy_function=os.link)
    shutil.rmtree(home / "disks45" / "corpus")
    env = {**made.env, "IR_DATASETS_HOME": str(home)}
    before = made.table("lexical-baselines-msmarco_passage")
    message = snakemake(made.project, "all", env=env, scale="replica")
    table = made.table("lexical-baselines-robust04")
    assert table["measured"].null_count() == table.height
    for part in ("ask NIST for TREC disks 4 and 5", f"{home}/disks45/corpus", "below ir_datasets'"):
        assert part in table["not_run"][0] and part in message
    assert made.table("lexical-baselines-msmarco_passage").equals(before)
