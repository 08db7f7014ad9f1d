"""Runs exported for others: what is written, that others' evaluators agree, what is refused."""

import json
import re
import shutil

import ir_measures
import polars as pl
import pytest
import pytrec_eval
import yaml
from ir_measures import AP, RR, R, nDCG
from typer.testing import CliRunner

from residuum import evaluate
from residuum.__main__ import app
from residuum.artefacts import manifest, trec
from residuum.cli.errors import ResiduumError
from residuum.inspect import exporting

# Docs d0 to d5 in this order, four of them tied; trec_eval would rank the tied ones d4 to d1.
SCORES = [3.0, 2.0, 2.0, 2.0, 2.0, 1.0]
QRELS = [("q1", "d1", 1), ("q1", "d3", 2), ("q1", "gone", 1), ("007", "d4", 1)]
YAML = """
title: Mine
licence: mine alone
access: ask me
citation: Me. Mine. 2026.
source: {kind: beir, folder: mine}
splits: {test: {}}
"""


@pytest.fixture
def results(tmp_path):
    """Lay three runs, one of them refused, with manifests and the metrics of one."""
    folder = tmp_path / "results" / "runs" / "mine" / "test"
    rows = [(q, f"d{n}", n + 1, score) for q in ("007", "q1") for n, score in enumerate(SCORES)]
    run = pl.DataFrame(rows, ["query_id", "doc_id", "rank", "score"], orient="row")
    bm25 = {"kind": "lexical", "bm25": {"k1": 0.9, "b": 0.4}, "analysis": {"stemmer": "porter"}}
    sum_of = {"kind": "fusion", "label": "", "parts": ["bm25", "dense"], "unretrieved": "minimum"}
    hybrid = {**sum_of, "interpolation": {"weighted": "bm25"}}
    for name, spec, facts in (
        ("bm25", bm25, {"index": {"anserini": "1.7.1"}}),
        ("dense.seed1", {"kind": "dense", "model": "dpr"}, {}),
        ("hybrid.seed1", hybrid, {"lambda": 0.5}),
    ):
        trec.write_run(folder / f"{name}.trec.gz", run, name)
        manifest.write(folder / f"{name}.trec.gz", facts, spec, [], "residuum.fusion")
    trec.write_refusal(folder / "refused.trec.gz", "no such file: theirs.txt")
    data = tmp_path / "results" / "data" / "mine" / "test"
    trec.write_qrels(data / "qrels.trec", QRELS)
    output = tmp_path / "results" / "metrics" / "mine" / "test" / "bm25.tsv"
    measures = ["RR@10", "nDCG@10", "AP@100", "R@100"]
    evaluate.run(folder / "bm25.trec.gz", data / "qrels.trec", measures, output)
    config = tmp_path / "config" / "datasets"
    config.mkdir(parents=True)
    (config / "mine.yaml").write_text(YAML)
    return tmp_path / "results"


def export(results, output="out", form="trec", runs=(), metadata=False):
    output = results.parent / output
    config = results.parent / "config"
    message = exporting.export("mine/test", results, output, runs, form, metadata, config)
    return output, message


def ours(results):
    metrics = trec.read_metrics(results / "metrics" / "mine" / "test" / "bm25.tsv")
    return {(measure, query): value for query, measure, value in metrics.iter_rows()}


def test_ir_measures_gives_the_values_that_the_project_gives(results):
    output, message = export(results)
    assert message.splitlines() == [
        f"{output}: bm25, dense.seed1, hybrid.seed1",
        "left out refused: no such file: theirs.txt",
    ]
    qrels = list(ir_measures.read_trec_qrels(str(results / "data/mine/test/qrels.trec")))
    run = list(ir_measures.read_trec_run(str(output / "bm25.trec")))
    measured = ir_measures.iter_calc([RR @ 10, nDCG @ 10, AP @ 100, R @ 100], qrels, run)
    theirs = {(str(m.measure), m.query_id): m.value for m in measured}
    assert theirs == pytest.approx(ours(results))
    assert theirs["RR@10", "q1"] == 0.5 and theirs["RR@10", "007"] == 0.2  # by hand: ranks 2 and 5


def test_pytrec_eval_gives_them_of_both_forms(results):
    lists = json.loads((export(results, "beir", "beir")[0] / "bm25.json").read_text())
    with open(export(results)[0] / "bm25.trec") as handle:
        runs = [pytrec_eval.parse_run(handle), lists]
    judged = {"q1": {"d1": 1, "d3": 2, "gone": 1}, "007": {"d4": 1}}
    evaluator = pytrec_eval.RelevanceEvaluator(judged, {"recip_rank", "ndcg_cut_10", "recall_100"})
    values = ours(results)
    for run in runs:
        for query, of in evaluator.evaluate(run).items():
            assert of["recip_rank"] == pytest.approx(values["RR@10", query])
            assert of["ndcg_cut_10"] == pytest.approx(values["nDCG@10", query])
            assert of["recall_100"] == pytest.approx(values["R@100", query])


def test_the_run_itself_would_not_give_them(results):
    """Its tied scores are in another order for trec_eval, which is why they are lowered."""
    run = trec.read_run(results / "runs/mine/test/bm25.trec.gz")
    lists = {"q1": {d: s for q, d, _, s in run.iter_rows() if q == "q1"}}
    evaluator = pytrec_eval.RelevanceEvaluator({"q1": {"d1": 1}}, {"recip_rank"})
    assert evaluator.evaluate(lists)["q1"]["recip_rank"] == 0.2


def test_a_dataset_of_hugging_face(results):
    output, _ = export(results, form="huggingface", runs=["hybrid.seed1", "bm25"])
    _, head, body = (output / "README.md").read_text().split("---\n", 2)
    assert yaml.safe_load(head)["configs"] == [
        {"config_name": name, "data_files": f"{name}.parquet"} for name in ("hybrid.seed1", "bm25")
    ]
    table = pl.read_parquet(output / "bm25.parquet")
    assert table.row(2) == ("007", "d2", 3, 1.9999999)
    assert table.columns == ["query_id", "doc_id", "rank", "score"]
    assert "- Licence: mine alone\n- Access: ask me\n- Citation: Me. Mine. 2026." in body
    assert re.search(r"\| run +\| AP@100 \| R@100 +\| RR@10 +\| nDCG@10 \|", body)
    assert re.search(r"\| bm25 +\| 0\.2667 \| 0\.8333 \| 0\.3500 \|", body)
    assert sorted(p.name for p in output.rglob("*") if p.is_file()) == [
        "README.md", "bm25.parquet", "hybrid.seed1.parquet",
    ]  # fmt: skip


def test_what_a_short_entry_leaves_out_is_not_recorded(results):
    short = "source: {kind: beir, folder: mine}\nsplits: {test: {}}\n"
    (results.parent / "config" / "datasets" / "mine.yaml").write_text(short)
    output, _ = export(results, form="huggingface", runs=["bm25"])
    text = (output / "README.md").read_text()
    assert "# Runs on mine, test\n" in text
    assert "## mine\n\n- Licence: not recorded\n- Access: not recorded\n" in text
    output, _ = export(results, "described", runs=["bm25"], metadata=True)
    assert "#     name: mine\n#     split: test\n" in (output / "bm25.trec").read_text()


def test_a_header_of_ir_metadata(results):
    output, _ = export(results, runs=["hybrid.seed1"], metadata=True)
    lines = (output / "hybrid.seed1.trec").read_text().splitlines()
    end = lines.index("# ir_metadata.end")
    assert lines[0] == "# ir_metadata.start"
    assert lines[end + 1] == "007 Q0 d0 1 3.0 hybrid.seed1"
    metadata = yaml.safe_load("\n".join(line.removeprefix("# ") for line in lines[1:end]))
    assert (metadata["schema version"], metadata["tag"]) == (0.1, "hybrid.seed1")
    assert metadata["method"]["retrieval"] == [
        {"name": "dense.seed1", "method": "dense", "model": "dpr"},
        {"name": "bm25", "method": "lexical", "bm25": {"k1": 0.9, "b": 0.4}},
        {
            "name": "hybrid.seed1", "method": "fusion", "unretrieved": "minimum",
            "interpolation": {"weighted": "bm25"}, "weight": 0.5,
            "weights": {"bm25": 0.5, "dense.seed1": 1.0}, "interpolates": ["bm25", "dense.seed1"],
        },
    ]  # fmt: skip
    assert metadata["method"]["indexing"] == {"stemmer": "porter"}
    assert metadata["data"] == {
        "test collection": {"name": "Mine", "split": "test", "source": "ask me"}
    }
    python = metadata["platform"]["software"]["libraries"]["python"]
    assert f"polars=={pl.__version__}" in python
    assert "actor" not in metadata


def stages(results, name, spec, facts=()):
    """Return what the header says of how a run was made, by stage."""
    path = results / "runs" / "mine" / "test" / f"{name}.trec.gz"
    trec.write_run(path, trec.read_run(path.with_name("bm25.trec.gz")), name)
    manifest.write(path, dict(facts), spec, [], "residuum.fusion")
    output, _ = export(results, runs=[name], metadata=True)
    lines = (output / f"{name}.trec").read_text().splitlines()
    kept = lines[1 : lines.index("# ir_metadata.end")]
    method = yaml.safe_load("\n".join(line.removeprefix("# ") for line in kept))["method"]
    return method, {stage.pop("name"): stage for stage in method["retrieval"]}


def test_a_part_without_a_run_stays_with_its_weight(results):
    spec = {
        "kind": "hybrid",
        "parts": ["bm25-vectors", "dense", "other"],
        "interpolation": {"weighted": "bm25-vectors", "others": {"other": 0.25}},
    }
    _, made = stages(results, "exact.seed1", spec, {"lambda": 2.0})
    assert set(made) == {"exact.seed1", "dense.seed1"}
    assert made["exact.seed1"]["interpolates"] == ["bm25-vectors", "dense.seed1", "other"]
    weights = {"bm25-vectors": 2.0, "dense.seed1": 1.0, "other": 0.25}
    assert made["exact.seed1"]["weights"] == weights


def test_candidates_say_how_many_docs_are_whose(results):
    parts = [{"system": "bm25", "top": 30}, {"system": "theirs", "top": 9}]
    spec = {"kind": "candidates", "parts": parts, "random": 5}
    _, made = stages(results, "pool", spec)
    assert made["pool"] == {"method": "candidates", "candidates": parts, "random": 5}
    assert made["bm25"]["bm25"] == {"k1": 0.9, "b": 0.4}


def test_a_first_stage_without_a_run_stays(results):
    spec = {"kind": "rerank", "first_stage": "theirs", "reranker": "mono"}
    _, made = stages(results, "order", spec)
    assert made == {"order": {"method": "rerank", "reranks": "theirs", "reranker": "mono"}}


def test_analyses_that_differ_stand_with_their_runs(results):
    other = {"kind": "lexical", "analysis": {"words": "bioclean"}}
    stages(results, "words", other)
    shutil.rmtree(results.parent / "out")
    method, made = stages(results, "both", {"kind": "rrf", "parts": ["bm25", "words"]})
    assert "indexing" not in method
    assert made["bm25"]["analysis"] == {"stemmer": "porter"}
    assert made["words"]["analysis"] == {"words": "bioclean"}
    assert made["both"] == {"method": "rrf", "interpolates": ["bm25", "words"]}


def test_measures_of_a_run_are_its_goal(results):
    output, _ = export(results, runs=["bm25"], metadata=True)
    text = (output / "bm25.trec").read_text()
    assert "# research goal:\n#   evaluation:\n#     reported measures:\n#     - AP@100\n" in text
    assert "#     retrieval toolkit:\n" in text and "#       - anserini==1.7.1\n" in text


def test_a_folder_that_exists_stays(results):
    output, _ = export(results, runs=["bm25"])
    before = (output / "bm25.trec").read_bytes()
    with pytest.raises(ResiduumError, match=r"out: exists\. Name another folder"):
        export(results)
    assert [path.name for path in output.iterdir()] == ["bm25.trec"]
    assert (output / "bm25.trec").read_bytes() == before


def test_nothing_is_left_of_an_export_that_failed(results):
    path = results / "runs" / "mine" / "test" / "hybrid.seed1.trec.gz"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(ResiduumError, match="not the file that was made"):
        export(results)
    with pytest.raises(ResiduumError, match="no run to export; refused: no such file"):
        export(results, runs=["refused"])
    assert not list(results.parent.glob("*out*"))


@pytest.mark.parametrize(
    ("place", "runs", "message"),
    [
        ("mine/dev", [], "no split with runs 'mine/dev'; known: mine/test"),
        ("mine", [], "no split with runs 'mine'; known: mine/test"),
        ("mine/test", ["bm52"], r"no run 'bm52'; known: .*Did you mean bm25\?"),
    ],
)
def test_what_is_unknown_is_named(results, place, runs, message):
    with pytest.raises(ResiduumError, match=message):
        exporting.export(place, results, results / "o", runs, "trec", False, results)


def test_the_command(results):
    words = ["export", "mine/test", "--results", str(results), "--form", "beir", "--run", "bm25"]
    output = results.parent / "o"
    done = CliRunner().invoke(app, [*words, "--output", str(output)])
    assert done.exit_code == 0, done.output
    assert [path.name for path in output.iterdir()] == ["bm25.json"]
    done = CliRunner().invoke(app, [*words, "--output", str(output) + "2", "--ir-metadata"])
    assert "not beir" in str(done.exception)
