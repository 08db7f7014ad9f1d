"""The whole graph at scale smoke: it runs, repeats, resumes, and reruns only what it must.

The tests of this file share one copy of the project and run in order.
"""

import gzip
import hashlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import ir_measures
import nbformat
import numpy as np
import polars as pl
import psutil
import pytest

import forking
import recompute
from by_hand import best_products, reciprocal_ranks, relevant_of, run_of
from conftest import ROOT
from projects import PARTS, arguments, choose, copy_project, invoke, of_site, snakemake
from residuum.artefacts import termvectors, trec
from residuum.code.closure import Library, sha256
from residuum.inspect import provenance
from residuum.inspect.searching import Answer, Sample, Watch
from residuum.tuning.choosing import Record
from residuum.tuning.learned import Learned
from timings import phases_of_runs

pytestmark = pytest.mark.workflow
BASELINES = sorted(
    f"lexical-baselines-{path.stem}"
    for path in (ROOT / "config" / "papers" / "lexical-baselines").glob("*.yaml")
)
RESULTS = ["runs", "metrics", "tables", "significance", "tuning", "training", "ledger.tsv"]


def planned(project, *targets):
    """Return the output files that a dry run would make."""
    output = snakemake(project, *targets, options=["--dry-run", "--quiet", "progress"])
    made = re.findall(r"^    output: (.*)$", output, re.M)
    return {name for line in made for name in line.split(", ")}


def hashes(project):
    root = project / "results" / "smoke"
    files = [p for name in RESULTS for p in ([root / name] if "." in name else root.rglob("*"))]
    kept = [p for p in files if p.is_file() and p.relative_to(root).parts[0] in RESULTS]
    return {
        str(p.relative_to(root)): hashlib.sha256(p.read_bytes()).hexdigest()
        for p in kept
        if not p.name.endswith("manifest.json")
    }


@pytest.fixture(scope="module", autouse=True)
def no_real_collections():
    """Run all of it as on a machine without data, whatever this one has."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("RESIDUUM_DATA", raising=False)
        yield


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """Return a copy of the project in which scale smoke has been run.

    Without RoC and ME-BERT, whose jobs each plan of the tests below would count; some make a few.
    """
    folder = tmp_path_factory.mktemp("project")
    copy_project(folder)
    choose(folder, "clear", "dualrm", "lexical-baselines")
    (folder / "output.txt").write_text(snakemake(folder))
    return folder


@pytest.fixture
def edited(project):
    """Return an editor of files of the project that puts them back afterwards.

    With their times, and with what residuum.code keeps of modules, so that nothing is read anew.
    """
    before = {}

    def edit(name, old, new):
        path = project / name
        text = path.read_text()
        for one in (path, path.parent / "__pycache__" / f"{path.stem}.statements"):
            if one.is_file() and one not in before:
                before[one] = one.read_bytes(), one.stat()
        assert old in text, (name, old)
        path.write_text(text.replace(old, new))

    yield edit
    for path, (data, times) in before.items():
        path.write_bytes(data)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def test_it_ends_with_where_the_pages_are_and_the_ledger(project):
    message = (project / "output.txt").read_text()
    tables = len([*(project / "results" / "smoke" / "tables").glob("*.md")])
    assert f"\nPages: {tables} in results/smoke/tables, " in message
    assert "w/ Constant Margin" not in message, "which a page requested by name would show"
    assert re.search(r"not run: no such file: \S*trec-covid/round2/GUIR_S2_run1\.txt\.", message)
    assert message.count("# Ledger, scale smoke") == 1
    end = message.split("# Ledger, scale smoke")[1]
    assert re.search(r"\| clear +\| comparisons +\|", end)
    assert "### " not in end and "results/smoke/tables/" not in end, "its summary, and it is last"


def test_the_table_rests_on_the_metrics_and_the_ledger_is_whole(project):
    results = project / "results" / "smoke"
    table = pl.read_csv(results / "tables" / "clear-table1.tsv", separator="\t")
    assert table.height == 9 * 5
    measured = table.filter(pl.col("measured").is_not_null())
    assert measured.height == table.height
    runs = {"bm25": "bm25", "clear": "clear.seed1", "bert-siamese": "bert-siamese.seed1"}
    for row, run in runs.items():
        path = results / "metrics" / "generated-smoke" / "dev" / f"{run}.tsv"
        values = pl.read_csv(path, separator="\t").filter(measure="RR@10")
        assert values.height == 60
        cell = table.filter(row=row, column="dev-rr")["measured"].item()
        assert cell == pytest.approx(values["value"].mean(), abs=1e-12)
    ledger = pl.read_csv(results / "ledger.tsv", separator="\t")
    baselines = ledger.filter(paper="lexical-baselines")
    assert sorted(set(baselines["table"])) == BASELINES
    ledger = ledger.filter(pl.col("paper") != "lexical-baselines")
    counts = ledger.group_by("table", "kind").len().sort("table", "kind").rows()
    # Counted in the papers: numbers (rerank depths included), and superscripts and arrows.
    # Unmarked are the pairs of printed numbers in favour of a row that none of those speaks of.
    assert counts == [
        ("clear-claims", "claim", 29),
        ("clear-table1", "comparison", 64 + 9), ("clear-table1", "no marker", 12),
        ("clear-table1", "number", 8 * 5),
        ("clear-table2", "comparison", 25), ("clear-table2", "no marker", 5),
        ("clear-table2", "number", 6 * 2 + 4),
        ("dualrm-claims", "claim", 20),
        ("dualrm-table1", "number", 3 * 2),
        ("dualrm-table2", "comparison", 64 + 9), ("dualrm-table2", "no marker", 12),
        ("dualrm-table2", "number", 8 * 5),
        ("dualrm-table4", "comparison", 25), ("dualrm-table4", "no marker", 5),
        ("dualrm-table4", "number", 6 * 2 + 4),
        ("dualrm-table5", "comparison", 17), ("dualrm-table5", "no marker", 1),
        ("dualrm-table5", "number", 4 * 3 - 1),
    ]  # fmt: skip
    sentences = ledger.filter(kind="claim")
    assert set(sentences.filter(verdict="not run")["row"]) == {"zero-shot-over-guir"}
    numbers = ledger.filter(kind="number")
    assert set(numbers["verdict"]) == {"not comparable", "not run"}
    absent = numbers.filter(verdict="not run")
    assert set(absent["row"]) == {"bm25", "guir"}
    assert all(reason.startswith("no such file") for reason in absent["reason"])


def test_published_baselines_of_absent_collections_are_not_run(project):
    ledger = pl.read_csv(project / "results" / "smoke" / "ledger.tsv", separator="\t")
    baselines = ledger.filter(paper="lexical-baselines")
    assert set(baselines["verdict"]) == {"not run"}
    cacm = baselines.filter(table="lexical-baselines-cacm")["reason"].unique().item()
    assert re.search(r"no such file: \S*cacm/docs\.jsonl, .* Access to cacm: put docs\.jsonl", cacm)
    message = (project / "output.txt").read_text()
    assert message.count(f"not run: {cacm}") == 1


def test_every_page_of_the_papers_is_made(project):
    results = project / "results" / "smoke"
    for folder, pages, kinds in [
        ("tables", ["clear-control", "clear-table1", "clear-table2", "dualrm-table1",
                    "dualrm-table2", "dualrm-table4", "dualrm-table5", *BASELINES],
         ["tsv", "md", "tex"]),
        ("cases", ["clear-table3", "clear-table4", "dualrm-table3"], ["tsv", "md", "tex"]),
        ("claims", ["clear-claims", "dualrm-claims"], ["tsv", "md", "tex"]),
        ("figures", ["clear-figure1", "dualrm-figure2"], ["tsv", "md", "pdf", "png"]),
    ]:  # fmt: skip
        made = {p.name for p in (results / folder).iterdir() if "manifest" not in p.name}
        assert made == {f"{page}.{kind}" for page in pages for kind in kinds}


def test_cells_tests_and_verdicts_are_those_of_a_recomputation(project):
    """Tables, sentences and figures are made again from runs and judgements, by other code."""
    results = project / "results" / "smoke"
    reports = recompute.recompute(results)
    assert not [one for report in reports for one in report.differences]
    rows = [pl.read_csv(path, separator="\t") for path in (results / "tables").glob("*.tsv")]
    measured = sum(table["measured"].count() for table in rows)
    found = (results / "significance").glob("*.tsv")
    tests = sum(pl.read_csv(path, separator="\t").height for path in found)
    pages = (results / "claims").glob("*.tsv")
    sentences = sum(pl.read_csv(path, separator="\t").height for path in pages)
    ledger = pl.read_csv(results / "ledger.tsv", separator="\t").height
    figures = (results / "figures").glob("*.tsv")
    points = sum(pl.read_csv(path, separator="\t")["mean"].count() for path in figures)
    assert sum(report.cells for report in reports) == measured + points
    assert sum(report.tests for report in reports) == tests
    assert sum(report.verdicts for report in reports) == ledger + sentences
    # No folder that lacks pages is equal by having nothing: Table 1 of CLEAR has 8 rows and a
    # control in 5 columns, its 28 pairs are tested in each, and DualRM's Table 2 repeats them.
    assert measured > 9 * 5 + 8 * 5 and tests > 2 * 28 * 5 and ledger > 2 * 125


@pytest.mark.parametrize(
    ("file", "column"),
    [
        ("tables/clear-table1.tsv", "measured"),
        ("significance/clear-table1.tsv", "p"),
        ("ledger.tsv", "verdict"),
    ],
)
def test_a_recomputation_finds_one_changed_value(project, tmp_path, file, column):
    results = project / "results" / "smoke"
    for path in results.iterdir():
        (tmp_path / path.name).symlink_to(path)
    folder = tmp_path / Path(file).parts[0]
    if folder.is_dir():
        folder.unlink()
        shutil.copytree(results / folder.name, folder)
    path = tmp_path / file
    table = pl.read_csv(results / file, separator="\t", infer_schema=False)
    chosen = pl.int_range(pl.len()) == table[column].is_not_null().arg_max()
    if file == "ledger.tsv":
        chosen = pl.col("table").eq("clear-table1") & pl.col("verdict").eq("inconclusive")
        chosen &= chosen.cum_sum() == 1
    other = pl.lit("holds") if column == "verdict" else pl.lit("0.87654321")
    path.unlink()
    table.with_columns(pl.when(chosen).then(other).otherwise(column).alias(column)).write_csv(
        path, separator="\t"
    )
    [report] = recompute.recompute(tmp_path, ["clear-table1"])
    assert report.differences and all(" found " in one for one in report.differences)


def test_a_pair_is_scored_once_for_all_first_stages(project):
    place = project / "results" / "smoke" / "rerank" / "generated-smoke" / "dev"
    shard = place / "bert-base-reranker" / "shard-00000.trec.gz"
    scores = trec.read_run(shard)
    record = json.loads(Path(f"{shard}.manifest.json").read_text())
    facts = record["artefact"]
    assert facts["pairs"] == scores.height == scores.select("query_id", "doc_id").unique().height
    assert facts["pairs_without_sharing"] == sum(facts["pairs_per_run"].values()) > facts["pairs"]


def test_ir_measures_gives_the_metrics_of_each_kind_of_system_from_the_written_run(project):
    results, kinds = project / "results" / "smoke", {}
    for path in sorted((results / "runs").rglob("*.trec.gz")):
        kind = json.loads(Path(f"{path}.manifest.json").read_text())["spec"]["kind"]
        measured = results / "metrics" / path.relative_to(results / "runs").parent
        if kind in kinds or not (measured / f"{path.name[:-8]}.tsv").is_file():
            continue
        lines = list(ir_measures.read_trec_run(str(path)))
        metrics = trec.read_metrics(measured / f"{path.name[:-8]}.tsv")
        metrics = metrics.filter(pl.col("measure").is_in(["RR@10", "nDCG@10", "AP@1000", "R@1000"]))
        if not metrics.height:
            continue
        kinds[kind] = b" Q0=" in gzip.decompress(path.read_bytes())
        split = results / "data" / path.relative_to(results / "runs").parent
        judged = list(ir_measures.read_trec_qrels(str(split / "qrels.trec")))
        names = map(ir_measures.parse_measure, metrics["measure"].unique())
        values = {(m.query_id, str(m.measure)): m.value
                  for m in ir_measures.iter_calc(names, judged, lines)}  # fmt: skip
        for query_id, measure, value in metrics.iter_rows():
            assert values.get((query_id, measure), 0.0) == value, (path, query_id, measure)
    assert {"lexical", "dense", "fusion", "rerank", "rrf"} <= {*kinds}
    assert kinds["lexical"], "no score ties here: nothing was lowered"


def test_every_artefact_of_a_run_has_its_log_time_and_manifest(project):
    results = project / "results" / "smoke"
    for run in (results / "runs").rglob("*.trec.gz"):
        assert run.with_name(run.name + ".manifest.json").is_file()
    assert len(list((results / "logs").rglob("*.log"))) == len(
        list((results / "benchmarks").rglob("*.tsv"))
    )


def test_a_benchmark_file_counts_the_forked_job(project):
    files = sorted((project / "results/smoke/benchmarks/train").rglob("*.tsv"))
    seconds = [pl.read_csv(path, separator="\t")["cpu_time"].item() for path in files]
    assert len(seconds) == 8 and min(seconds) > 0.5, "torch alone takes longer to make a model"


def test_every_manifest_holds_the_command_that_can_be_pasted(project):
    results = project / "results" / "smoke"
    for path in results.rglob("*manifest.json"):
        command = shlex.split(json.loads(path.read_text())["environment"]["command"])
        assert command[:2] == ["python", "-m"] and command[2].startswith("residuum."), path
    run = results / "runs" / "generated-smoke" / "dev" / "bm25.trec.gz"
    before = run.read_bytes()
    record = json.loads(run.with_name(f"{run.name}.manifest.json").read_text())
    run.unlink()
    words = [sys.executable, *shlex.split(record["environment"]["command"])[1:]]
    subprocess.run(words, cwd=project, env=reading(project), check=True, capture_output=True)
    assert run.read_bytes() == before


def reading(project):
    """Return an environment in which the project's package is found."""
    return {**os.environ, "PYTHONPATH": str(project / "workflow")}


def residuum(project, *arguments):
    """Run the command and return what it printed; a failure fails the test."""
    words = [*map(str, arguments)]
    done = forking.run("residuum.__main__", words, reading(project), project)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_bundle_of_it_makes_every_page_again_elsewhere(project, tmp_path):
    archive = tmp_path / "smoke.tar.gz"
    residuum(project, "bundle", "write", "--results", "results/smoke", "--output", archive)
    message = residuum(project, "bundle", "verify", archive)
    made = 12 + len(BASELINES)
    assert f"{made} pages made again byte for byte, 3 carried; no fault" in message


def test_systems_are_timed_by_searches_that_give_their_runs(project):
    """Each phase of a search is timed where it occurs; the report shows the times then."""
    results, dense = project / "results" / "smoke", {"encode", "search"}
    runs = {
        **{"bm25": {"search"}, "bm25-rm3": {"search"}, "deepct.seed1": {"search"}},
        **{"bert-siamese.seed1": dense, "clear.seed1": {*dense, "score", "fuse"}},
        "bm25-bert-base": {"search", "rerank"},
    }
    assert phases_of_runs(results, "generated-smoke/dev", *runs) == runs
    second = {  # a second round, of which docs that the first one judged are left out
        **{"bm25-fields": {"search"}, "bm25-rrf": {"search", "fuse"}},
        "zero-shot.seed1": {*dense, "score", "fuse"},
    }
    assert phases_of_runs(results, "generated-articles-smoke/judged", *second) == second
    words = "time clear/table1 --results results/smoke --queries 20 --repeats 1"
    command = shlex.split(words)
    output = forking.run("residuum.__main__", command, os.environ, project, merged=True).stdout
    kept = results / "timings" / "systems" / "clear-table1.tsv"
    shown = {line.split("\t")[0] for line in kept.read_text().splitlines()[1:]}
    cells = pl.read_csv(results / "tables" / "clear-table1.tsv", separator="\t")
    measured = cells.filter(pl.col("measured").is_not_null())
    assert shown == {*measured.filter(column="dev-rr")["row"]}, output
    assert "not those of the run" not in output and "cannot be timed" not in output, output
    assert "results/smoke/report/index.html" in planned(project)
    snakemake(project)
    page = (results / "report" / "smoke" / "clear-table1.html").read_text()
    assert '<a href="files/clear-table1-time.pdf">PDF by time</a>' in page
    assert "<h2>Effectiveness and cost</h2>" in page
    assert "The time is that of a query, of 20 at once. Threads: 1. Measured on " in page
    kept.unlink()
    snakemake(project)


@pytest.mark.parametrize("at_once", [1, None])
def test_a_query_without_a_hit_of_a_part_is_timed_as_the_others(project, at_once):
    """BM25 is made to lose all hits of one of two queries; then both parts are."""
    results, runs = project / "results" / "smoke", "runs/generated-smoke/dev"
    names = [f"{name}.trec.gz" for name in ("bm25", "clear-embedding.seed1", "clear.seed1")]
    lost, kept = sorted(trec.read_run(results / runs / names[0])["query_id"].unique())[:2]
    for parts in (names[:1], names[:2]):
        sample = Sample(at_once=at_once, repeats=1)
        watch = Watch(results, provenance.read(results), [lost, kept], sample)
        for name in parts:
            lists = watch.answer(results / runs / name).of([kept])
            watch._answers[f"{runs}/{name}"] = Answer(lists, {})
        answer = watch.answer(results / runs / names[2])
        assert {*answer.lists["query_id"]} == {kept, *([lost] if len(parts) == 1 else [])}


def test_snakemake_reports_every_page_and_a_second_run_does_nothing(project, tmp_path):
    report = tmp_path / "report.html"
    message = snakemake(project, options=["--report", str(report)])
    shown = re.findall(r"Adding (\S+)\.(?:md|png) ", message)
    places = ("tables", "cases", "claims", "figures")
    made = [p for place in places for p in (project / "results/smoke" / place).glob("*.md")]
    assert sorted(shown) == sorted(["ledger", *(path.stem for path in made)])
    assert "w/ Constant Margin" in report.read_text()
    assert "Nothing to be done" in snakemake(project)


def test_two_cells_are_explained_down_to_corpus_topics_and_qrels(project):
    message = residuum(
        project, "explain", "clear/table1/clear/dev-rr", "--results", "results/smoke"
    )
    for source in ("corpus", "dev", "tune", "train"):
        assert re.search(rf"^\[\d+\] data/generated-smoke/{source}$", message, re.M)
    assert "lambda 0." in message and "] models/clear/seed1" in message
    for folder in (
        "hits/generated-smoke/clear/seed1/top1000",
        "embeddings/generated-smoke/clear/seed1",
    ):
        assert f"] {folder}/shard-{{00000,00001}}" in message
    assert "] embeddings/generated-smoke.queries/clear/seed1" in message
    cell = "dualrm/table5/dualrm/ndcg"
    message = residuum(project, "explain", cell, "--results", "results/smoke")
    assert "] models/zero-shot/seed1" in message
    assert "comparisons" in residuum(project, "ledger", "--results", "results/smoke")


def test_nothing_judged_in_the_earlier_round_is_in_a_run_and_pages_and_cells_say_so(project):
    results = project / "results" / "smoke"
    articles = "generated-articles-smoke"
    before = trec.read_qrels(results / "data" / articles / "earlier" / "qrels.trec")
    runs = sorted((results / "runs" / articles / "judged").glob("*.trec.gz"))
    assert {"bm25-fields", "bm25-rrf", "zero-shot", "zero-shot-embedding"} <= {
        p.name.split(".")[0] for p in runs
    }
    for path in runs:
        run = trec.read_run(path)
        assert run.join(before, on=trec.PAIR, how="semi").height == 0, path
    assert not (results / "runs" / articles / "earlier").exists()
    text = f"{articles}/judged is residual: docs that {articles}/earlier judged for a query are"
    assert text in (results / "tables" / "dualrm-table5.md").read_text()
    message = residuum(
        project, "explain", "dualrm/table5/dualrm/ndcg", "--results", "results/smoke"
    )
    assert f"data/{articles}/earlier" in message


def test_touching_every_file_reruns_nothing(project):
    tops = [project / part for part in [*PARTS, "results"]]
    paths = [path for top in tops for path in [top, *top.rglob("*")]]
    before = {p: p.stat() for p in paths if p.is_file() and "__pycache__" not in p.parts}
    for path in before:
        path.touch()
    made = planned(project)
    for path, times in before.items():  # those of modules are how Python knows what it compiled
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert made == set()


def test_a_lost_shard_repeats_alone_with_what_follows_from_it(project, tmp_path):
    lost = "embeddings/generated-smoke/clear/seed1/shard-00001"
    shutil.move(project / "results" / "smoke" / lost, tmp_path / "aside")
    try:
        made = planned(project, f"results/smoke/{lost}/manifest.json", "all")
    finally:
        shutil.move(tmp_path / "aside", project / "results" / "smoke" / lost)
    names = {n.removeprefix("results/smoke/") for n in made if not n.endswith(".manifest.json")}
    before = ("data/", "index/", "training/", "backbones/", "models/", "embeddings/", "hits/")
    assert {n for n in names if n.startswith(before)} == {
        f"{lost}/manifest.json",
        "hits/generated-smoke/clear/seed1/top1000/shard-00001/manifest.json",
    }
    splits = ("tune", "dev", "judged")
    assert {n for n in names if n.startswith(("runs/", "scores/")) and "embedding" in n} == {
        *(f"runs/generated-smoke/{split}/clear-embedding.seed1.trec.gz" for split in splits),
        *(f"scores/generated-smoke/{split}/{pair}.trec.gz" for split in splits
          for pair in ("clear-embedding.seed1.on.bm25", "bm25.on.clear-embedding")),
    }  # fmt: skip
    assert {"runs/generated-smoke/dev/clear.seed1.trec.gz", "ledger.tsv"} <= names


def test_editing_bm25_reruns_its_descendants_only(project, edited):
    """And no system beside it in its file, such as the one with RM3."""
    edited("config/systems/clear.yaml", "k1: 0.6, b: 0.8}\n    k", "k1: 0.9, b: 0.8}\n    k")
    made = planned(project)
    names = {name.removeprefix("results/smoke/") for name in made}
    assert "runs/generated-smoke/dev/bm25.trec.gz" in names
    assert "training/clear/tuples.jsonl.gz" in names, "its negatives are BM25's errors"
    assert "tables/clear-table1.tsv" in names
    assert not {n for n in names if n.startswith(("data/", "index/", "backbones/"))}
    assert not {n for n in names if "bm25-rm3" in n or "cloze-start" in n}


def test_a_deeper_grid_scores_more_pairs(project, edited):
    edited("config/scales/smoke.yaml", "depth: {grid: [5, 10, 20]}", "depth: {grid: [5, 10, 30]}")
    made = {name.removeprefix("results/smoke/") for name in planned(project)}
    for split in ("tune", "dev", "judged"):
        assert f"rerank/generated-smoke/{split}/bert-base-reranker/shard-00000.trec.gz" in made
    assert not {
        name for name in made if name.startswith(("models/", "metrics/")) and "bert" not in name
    }


PACKAGE = "workflow/residuum"
PAGES = {"significance", "tables", "figures", "cases", "claims"}
PAGES |= {"ledger.tsv", "ledger.md", "ledger.tsv.manifest.json", "report"}


def test_words_that_no_result_holds_rerun_nothing(project, edited):
    for path in (project / PACKAGE).rglob("*.py"):
        text = path.read_text()
        edited(path, text, text.replace('"""', '"""In other words: ', 1) + "\n# and no more\n")
    for name, old, new in [
        ("cli/errors.py", "Did you mean", "Is it"),
        ("cli/progress.py", ", about {(total", ", {(total"),
        ("cli/command.py", "missing key", "no key"),
        ("config/schema/base.py", "unknown key;", "no such key;"),
        ("config/schema/training.py", "give exactly one of epochs", "choose one of epochs"),
        ("data.py", "whose docs hold the answers", "whose docs have the answers"),
        ("collections/editions.py", "A download may be ", "A file may be "),
        ("collections/faults.py", "the JSON is broken", "the JSON is damaged"),
        ("lexical.py", "Run again, or give", "Try once more, or give"),
        ("collections/places.py", "lower passages or raise", "take fewer passages or raise"),
        ("neural/preflight.py", "the start ranks these", "the start puts these"),
        ("negatives.py", "pairs are left out: a doc", "pairs are not used: a doc"),
        ("tuning/evaluation.py", "the qrels are empty", "the qrels have no line"),
    ]:
        edited(f"{PACKAGE}/{name}", old, new)
    assert planned(project) == set()


def test_a_new_kind_reruns_nothing(project, edited):
    entry = '    {\n        "new": "residuum.neural.duals:DualLearner",\n'
    edited(f"{PACKAGE}/neural/learners.py", "    {\n", entry)
    table = "LOSSES: OpenTable[type[Objective]] = OpenTable(\n    {\n"
    loss = 'class Soft(Nll):\n    kind: Literal["soft"]\n\n\n' + table
    loss += '        "soft": "residuum.neural.losses:Soft",\n'
    edited(f"{PACKAGE}/neural/losses.py", table, loss)
    member = 'class Soft(Strict):\n    kind: Literal["soft"]\n\n\nSystem = Annotated[\n    Soft | '
    edited(f"{PACKAGE}/config/schema/systems.py", "System = Annotated[\n    ", member)
    assert planned(project) == set()


@pytest.mark.parametrize(
    ("name", "old", "new", "folders"),
    [
        ("pages/cases/entry.py", "limit: Positive = Field(3", "limit: Positive = Field(4",
         PAGES),
        ("tuning/evaluation.py", "float(m.value)", "float(m.value) / 2",
         PAGES | {"metrics", "tuning", "rerank", "runs"}),
        ("neural/crossencoder.py", "[scores.view(len(", "[2 * scores.view(len(",
         PAGES | {"models", "metrics", "tuning", "rerank", "runs"}),
        ("collections/words/articles.yaml", "airborne", "windborne", None),
    ],
)  # fmt: skip
def test_an_edit_reruns_what_it_can_change_and_what_follows(
    project, edited, name, old, new, folders
):
    edited(f"{PACKAGE}/{name}", old, new)
    made = {path.removeprefix("results/smoke/") for path in planned(project)}
    parts = {path.split("/")[0] for path in made}
    if folders is None:
        assert "data/generated-articles-smoke/corpus/manifest.json" in made
        assert not {path for path in made if "/generated-smoke" in path and "articles" not in path}
    else:
        assert parts and parts <= folders
    if "models" in parts and folders:
        assert {path for path in made if path.startswith("models/")} == {
            "models/reranker-base/seed1/manifest.json", "models/reranker-large/seed2/manifest.json",
        }  # fmt: skip


# A change in a module of each of twelve stages; an artefact that is made anew; the stages whose
# own jobs it reaches.
ALTERED = [
    ("collections/worlds.py", "ZIPF_OFFSET = 2", "ZIPF_OFFSET = 3",
     "data/generated-smoke/tune/queries.tsv", {"data"}),
    ("lexical.py", "track(sorted(texts.items())", "track(sorted(texts.items())[1:]",
     "runs/generated-smoke/dev/bm25.trec.gz", {"lexical"}),
    ("negatives.py", ".seed, query_id, positive)", ".seed, positive, query_id)",
     "training/clear/tuples.jsonl.gz", {"negatives"}),
    ("neural/backbones.py", "DECIMALS = 6", "DECIMALS = 3", "backbones/mini-bert", {"pretrain"}),
    ("neural/fitting.py", "(step + 1) * how.batch_size", "(step + 2) * how.batch_size",
     "models/clear/seed1", {"pretrain", "train"}),
    ("neural/termweighter.py", "value >= 1}", "value >= 2}",
     "weights/generated-smoke/deepct/seed1", {"termweights", "train"}),
    ("neural/encoders.py", "sqrt(self.", "sqrt(2 * self.",
     "embeddings/generated-smoke.queries/clear/seed1", {"encode", "pretrain", "train"}),
    ("vectors/scores.py", "np.empty((count, vectors.shape[1]))",
     "np.empty((count, vectors.shape[1]), np.float16)",
     "scores/generated-smoke/dev/clear-embedding.seed1.on.bm25.trec.gz", {"dense"}),
    ("tuning/evaluation.py", "float(m.value)", "float(m.value) / 2",
     "metrics/generated-smoke/dev/bm25.tsv", {"evaluate", "fusion", "rerank", "rm3"}),
    ("paired/classical.py", "LEVEL = 0.95", "LEVEL = 0.9",
     "significance/clear-table1.tsv",
     {"significance", "pages.figure.make", "pages.claims.make", "pages.table.make"}),
    ("pages/figure/make.py", ":.3f", ":.2f", "figures/clear-figure1.tsv",
     {"pages.figure.make"}),
    ("pages/verdicts.py", "round(a - b, 6)", "round(a - b, 2)", "ledger.tsv", {"ledger"}),
]  # fmt: skip


def stale(project):
    """Return {artefact: stage} of those whose manifests name other code than the project has."""
    library, result = Library(project / PACKAGE), {}
    for path in (project / "results" / "smoke").rglob("*manifest.json"):
        made = json.loads(path.read_text())["code"]
        kinds = made["kinds"] and frozenset(made["kinds"])
        if made["sha256"] != sha256(made["module"], made["verb"], kinds, library):
            name = path.relative_to(project).as_posix()
            result[name] = made["module"].removeprefix("residuum.")
    return result


def remade(project, artefact, aside):
    """Make an artefact again by the command in its manifest; say whether its bytes differ."""
    path = project / "results" / "smoke" / artefact
    folder = path if path.is_dir() else path.parent
    beside = path / "manifest.json" if path.is_dir() else Path(f"{path}.manifest.json")
    words = shlex.split(json.loads(beside.read_text())["environment"]["command"])
    shutil.copytree(folder, aside)
    assert words[:2] == ["python", "-m"]
    try:
        done = forking.run(words[2], words[3:], reading(project), project)
        assert done.returncode == 0, done.stderr
        return contents(folder) != contents(aside)
    finally:
        shutil.rmtree(folder)
        shutil.move(aside, folder)


def contents(folder):
    """Return the bytes of the files of a folder, without manifests, which hold the code's hash."""
    files = [p for p in folder.rglob("*") if p.is_file() and "manifest.json" not in p.name]
    return {p.relative_to(folder): p.read_bytes() for p in files}


@pytest.mark.parametrize(("name", "old", "new", "artefact", "stages"), ALTERED)
def test_a_change_of_code_is_seen_where_it_changes_bytes(
    project, edited, tmp_path, name, old, new, artefact, stages
):
    edited(f"{PACKAGE}/{name}", old, new)
    result = stale(project)
    assert set(result.values()) == stages
    path = f"results/smoke/{artefact}"
    assert {f"{path}/manifest.json", f"{path}.manifest.json"} & set(result)
    assert remade(project, artefact, tmp_path / "aside")


def test_all_that_was_made_by_other_code_is_planned(project, edited):
    assert stale(project) == {}
    for name, old, new, _, _ in ALTERED:
        edited(f"{PACKAGE}/{name}", old, new)
    assert set(stale(project)) <= planned(project)


def pages_of(*tables):
    return {
        *(f"significance/{t}.tsv{m}" for t in tables for m in ("", ".manifest.json")),
        *(f"tables/{t}.{kind}" for t in tables for kind in ("tsv", "md", "tex")),
        *(f"tables/{t}.tsv.manifest.json" for t in tables),
        "ledger.tsv", "ledger.md", "ledger.tsv.manifest.json", "report/index.html",
    }  # fmt: skip


def claims_of(page):
    forms = (f"claims/{page}.{kind}" for kind in ("tsv", "md", "tex", "tsv.manifest.json"))
    return {*forms, *(f"significance/{page}.tsv{m}" for m in ("", ".manifest.json"))}


def test_a_row_more_reruns_its_table_and_what_it_needs(project, edited):
    table = "config/papers/clear/table2.yaml"
    row = "  - {id: bm25, index: 1, group: no reranker, label: BM25, system: bm25}\n"
    more = row.replace("id: bm25, index: 1", "id: default, index: 7").replace(
        "system: bm25", "system: bm25-tuned-passage"
    )
    edited(table, row, row + more)
    made = {name.removeprefix("results/smoke/") for name in planned(project)}
    splits = ("dev", "judged")
    assert made == pages_of("clear-table2") | claims_of("clear-claims") | {
        f"{kind}/generated-smoke/{split}/bm25-tuned-passage.{form}{manifest}"
        for kind, form in (("runs", "trec.gz"), ("metrics", "tsv"))
        for split in splits
        for manifest in ("", ".manifest.json")
    }


def test_a_row_less_reruns_its_table_only(project, edited):
    table = "config/papers/clear/table1.yaml"
    lines = (project / table).read_text().splitlines(keepends=True)
    gone = [line for line in lines if "clear-random" in line]
    assert len(gone) == 2, "the row, and what the paper prints of it"
    edited(table, "".join(lines), "".join(line for line in lines if line not in gone))
    claims = "config/papers/clear/claims.yaml"
    first, *others = (project / claims).read_text().split("  - id: ")
    kept = [claim for claim in others if "clear-random" not in claim]
    edited(claims, "  - id: ".join([first, *others]), "  - id: ".join([first, *kept]))
    made = {name.removeprefix("results/smoke/") for name in planned(project)}
    assert made == pages_of("clear-table1") | claims_of("clear-claims")


def test_a_new_reranker_is_one_file_and_scores_its_own_pairs_only(project):
    new = project / "config" / "systems" / "bm25-mine.yaml"
    new.write_text("base: bm25-bert-base\nreranker: {model: reranker-base, seed: 3}\n")
    target = "results/smoke/metrics/generated-smoke/dev/bm25-mine.tsv"
    try:
        made = {name.removeprefix("results/smoke/") for name in planned(project, target)}
        assert planned(project) == set(), "nothing that the papers' pages need"
    finally:
        new.unlink()
    assert {name for name in made if "manifest" not in name or name.startswith("models/")} == {
        "models/reranker-base/seed3/manifest.json",
        "rerank/generated-smoke/dev/reranker-base@seed3/shard-00000.trec.gz",
        "rerank/generated-smoke/tune/reranker-base@seed3/shard-00000.trec.gz",
        "rerank/generated-smoke/tune/reranker-base@seed3.depths.tsv",
        "runs/generated-smoke/dev/bm25-mine.trec.gz",
        "tuning/generated-smoke/dev/bm25-mine.json",
        "metrics/generated-smoke/dev/bm25-mine.tsv",
    }


def external_run(project, damage):
    """Return an environment whose data folder holds an external run, damaged as asked."""
    data = project / "their-data"
    path = data / "trec-covid" / "round2" / "GUIR_S2_run1.txt"
    path.parent.mkdir(parents=True, exist_ok=True)
    ours = project / "results/smoke/runs/generated-articles-smoke/judged/bm25-fields.trec.gz"
    path.write_text(damage(gzip.decompress(ours.read_bytes()).decode()))
    return {**os.environ, "RESIDUUM_DATA": str(data)}


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda text: text, None),
        (lambda text: re.sub(r"Q0 \S+ 1 ", "Q0 no-such-doc 1 ", text, count=1), "no-such-doc"),
    ],
)
def test_a_faulty_external_run_empties_its_row_only(project, damage, says):
    """Other faults are those of tests/test_external.py."""
    env = external_run(project, damage)
    snakemake(project, env=env)
    page = (project / "results/smoke/tables/dualrm-table5.md").read_text()
    table = pl.read_csv(project / "results/smoke/tables/dualrm-table5.tsv", separator="\t")
    measured = table.filter(pl.col("measured").is_not_null())["row"].unique().to_list()
    assert {"fields", "rrf", "neural", "dualrm"} <= set(measured)
    if says is None:
        values = table.filter(pl.col("row").is_in(["fields", "guir"]))["measured"].to_list()
        assert values[:3] == values[3:], "it is our own run by another name"
        assert "removed from external runs as NIST does with submissions: 0 of guir." in page
    else:
        assert "guir" not in measured
        assert says in page and says in table.filter(row="guir")["not_run"][0]


def test_an_absent_hub_model_empties_its_rows_only(project, edited):
    edited(
        "config/scales/smoke.yaml",
        "bert-large-reranker: {model: reranker-large, seed: 2}",
        "bert-large-reranker: {hub: nobody/nothing, revision: main, reading: {}}",
    )
    message = snakemake(project, env={**os.environ, "HF_HUB_OFFLINE": "1"})
    assert message.count("not run: no model 'nobody/nothing' at revision main") == 1
    table = pl.read_csv(project / "results/smoke/tables/clear-table2.tsv", separator="\t")
    empty = table.filter(pl.col("measured").is_null() & (pl.col("column") != "depth"))
    assert set(empty["row"]) == {"bm25-large", "clear-large"}
    assert set(empty["not_run"]) == {
        "no model 'nobody/nothing' at revision main: not in the cache ($HF_HOME), and "
        "HF_HUB_OFFLINE is set"
    }
    assert "not run" in (project / "results/smoke/ledger.tsv").read_text()


def answered(results, run):
    """Return the questions that a run answers in ten docs, and how many there are."""
    split = "generated-smoke/questions"
    relevant = relevant_of(results / "data" / split)
    ranks = reciprocal_ranks(run_of(results / "runs" / split / f"{run}.trec.gz"), relevant)
    queries = (results / "data" / split / "qrels.trec").read_text().splitlines()
    hits = {query for query, rank in ranks.items() if rank}
    return hits, len({line.split()[0] for line in queries})


def test_circles_of_roc_are_those_of_plain_python_and_its_ablation_stands_beside(project):
    pages = ["results/smoke/venn/roc-figure1.md", "results/smoke/tables/roc-table4.md"]
    snakemake(project, *pages, config="papers=[roc]")
    results = project / "results" / "smoke"
    cells = pl.read_csv(results / "venn" / "roc-figure1.tsv", separator="\t")
    sparse, _ = answered(results, "bm25-default")
    for row, run in (("a", "dpr-embedding.seed1"), ("b", "clear-dpr-embedding.seed1")):
        dense, count = answered(results, run)
        shares = {"dense": dense, "lexical": sparse, "residual": dense - sparse,
                  "overlap": dense & sparse}  # fmt: skip
        for name, queries in shares.items():
            cell = cells.filter(row=row, column=name)["measured"].item()
            assert cell == pytest.approx(len(queries) / count, abs=1e-12), (row, name)
        ratio = cells.filter(row=row, column="RoC")["measured"].item()
        assert ratio == pytest.approx(len(dense - sparse) / len(dense), abs=1e-12)
    table = pl.read_csv(results / "tables" / "roc-table4.tsv", separator="\t")
    assert table["measured"].null_count() == 0 and table.height == 5 * 3, "a control beside"
    reports = recompute.recompute(results, ["roc-figure1", "roc-table4"], verdicts=False)
    assert [report.cells for report in reports] == [3 * 6, 5 * 3] and reports[1].tests
    assert not [one for report in reports for one in report.differences]
    assert (
        "Replaced at this scale by other systems: dpr-e by dpr-ei, dpr-i by dpr-ei, "
        "dpr-tuned by dpr-ei." in (results / "tables" / "roc-table4.md").read_text()
    )


def dense(folders, terms):
    """Return ids and float64 vectors of folders of sparse ones, with columns of their own."""
    parts = [termvectors.read(folder) for folder in folders]
    terms = terms or sorted({term for part in parts for term in part.terms})
    rows = np.zeros((sum(len(part.ids) for part in parts), len(terms)))
    ids = [one for part in parts for one in part.ids]
    for n, row in enumerate(row for part in parts for row in part.rows.toarray()):
        part = next(part for part in parts if ids[n] in part.ids)
        for term, value in zip(part.terms, row, strict=True):
            if value and term in terms:
                rows[n, terms.index(term)] = value
    return ids, rows, terms


def test_margins_of_projections_are_those_of_dense_arrays(project):
    """All pairs of BM25 and of Boolean vectors of the scale, with nothing of the stage."""
    pages = [f"results/smoke/dimensions/mebert-figure{n}.md" for n in (2, 3)]
    snakemake(project, *pages, config="papers=[mebert]")
    results = project / "results" / "smoke"
    root = results / "embeddings"
    shards = sorted((root / "generated-smoke" / "bm25-unigram-vectors" / "seed1").glob("shard-*"))
    ids, docs, terms = dense(shards, None)
    asked = root / "generated-smoke.queries" / "bm25-unigram-vectors" / "seed1" / "dev"
    names, queries, _ = dense([asked], terms)
    for of, present in (("luan2021", False), ("luan2021-boolean", True)):
        q, d = ((x > 0).astype(float) if present else x for x in (queries, docs))
        margins = {}
        for n, query in enumerate(q):
            scores = d @ query
            best = min(range(len(ids)), key=lambda i, s=scores: (-s[i], ids[i]))
            gaps = scores[best] - scores
            some = gaps > 1e-9
            apart = np.linalg.norm(d[best] - d[some], axis=1)
            margins[names[n]] = np.sort(gaps[some] / (np.linalg.norm(query) * apart))
        folder = results / "fidelity" / "generated-smoke" / "dev" / of
        facts = json.loads((folder / "manifest.json").read_text())["artefact"]
        every = np.concatenate([*margins.values()])
        assert facts["pairs"] == len(every)
        assert facts["least_margin"] == pytest.approx(every.min(), rel=1e-9)
        table = pl.read_csv(folder / "margins.tsv", separator="\t").filter(length="all")
        expected = {(q, n): own[n - 1] for q, own in margins.items() for n in (1, 10)}
        written = {(query, n): margin for _, query, n, margin in table.iter_rows()}
        assert written == pytest.approx(expected, rel=1e-9)
        most = facts["most_terms"]
        assert not present or every.min() >= (2 * most["query"] * most["doc"]) ** -0.5
    cells = pl.read_csv(results / "dimensions" / "mebert-figure2.tsv", separator="\t")
    slope, constant = (
        cells.filter(row="bm25", column=name)["measured"].item() for name in ("slope", "constant")
    )
    assert 0 < slope < constant == pytest.approx(8.764053)
    assert cells.filter(row="bm25", column="least-margin")["reported"].item() == 6.8e-6


def test_pages_are_found_by_the_best_vector_of_their_passages(project):
    """ME-BERT's documents: windows x 4 vectors a page, with nothing of the stage."""
    snakemake(project, "results/smoke/tables/mebert-table2document.md", config="papers=[mebert]")
    results, dataset = project / "results" / "smoke", "generated-pages-smoke"
    best, ids = best_products(results, dataset, f"me-bert-document@{dataset}.train/seed1", "judged")
    counts = Counter(ids)
    assert len(counts) == 40 and all(n % 4 == 0 and n >= 4 * 5 for n in counts.values())
    run = run_of(results / "runs" / dataset / "judged" / "me-bert-document.seed1.trec.gz")
    for query, docs in run.items():
        assert docs == pytest.approx({doc: best[query][doc] for doc in docs}, abs=2e-6)
    table = pl.read_csv(results / "tables" / "mebert-table2document.tsv", separator="\t")
    assert table["measured"].null_count() == 0 and table.height == 5 * 3
    [report] = recompute.recompute(results, ["mebert-table2document"], verdicts=False)
    assert report.cells == 5 * 3 and report.tests == 2 * 10 and not report.differences
    holes = table.filter(row="me-bert", column="holes")["measured"].item()
    qrels = (results / "data" / dataset / "judged" / "qrels.trec").read_text().splitlines()
    judged = {(query, doc) for query, _, doc, _ in map(str.split, qrels)}
    first = {q: sorted(own, key=lambda d, own=own: (-own[d], d))[:10] for q, own in best.items()}
    unjudged = [sum((q, d) not in judged for d in docs) / 10 for q, docs in first.items()]
    assert holes == pytest.approx(np.mean(unjudged), abs=1e-12)


def test_a_rate_is_chosen_among_those_that_a_model_was_trained_at(project, edited):
    """Two trainings of one model decide for the models of a budget; the record has both.

    It trains a model anew that pages show, so that it stands behind the tests of the whole graph.
    """
    grid = "{grid: [1.0e-4, 1.0e-3], of: bert-siamese, role: msmarco-tune, measure: RR@10}"
    budget = "  triplet:\n    training:\n      {steps: "
    rate = "batch_size: 16, learning_rate: "
    short = f"{budget}10, {rate}{grid}, d"
    edited("config/scales/smoke.yaml", f"{budget}20, {rate}1.0e-3, d", short)
    how = "learning: {candidates: bm25, top: 100, measure: RR@10}\n"
    edited("config/scales/smoke.yaml", "\nbudgets:\n", f"\n{how}budgets:\n")
    checkpoint = "models/zero-shot/seed1/manifest.json"
    made = {
        name.removeprefix("results/smoke/")
        for name in planned(project, f"results/smoke/{checkpoint}")
    }
    record = "rates/generated-smoke/tune/bert-siamese.json"
    tried = {f"models/bert-siamese@rate-{rate}/seed1/manifest.json" for rate in ("0.0001", "0.001")}
    assert tried | {record, checkpoint} <= made and "models/clear/seed1/manifest.json" not in made
    judged = "results/smoke/learning/zero-shot/seed1.json"
    assert judged in planned(project, "results/smoke/tables/dualrm-table5.md")
    snakemake(project, judged)
    results = project / "results" / "smoke"
    chosen = Record.read(results / record)
    assert [one.setting for one in chosen.tried] == [{"learning_rate": r} for r in (1e-4, 1e-3)]
    spec = json.loads((results / checkpoint).read_text())["spec"]["model"]
    assert {"learning_rate": spec["training"]["learning_rate"]} == chosen.choices[0].setting
    verdict = Learned.read(project / judged)
    assert verdict.examples == 40 and verdict.preflight["loss_of_equal_scores"] > 0


def test_steps_are_chosen_by_the_curve_of_a_model(project, edited):
    """One training that keeps its models decides for the models of a budget."""
    rule = "{most: 8, every: 4, of: bert-siamese, role: msmarco-tune, measure: RR@10}"
    budget = "  triplet:\n    training:\n      {steps: "
    edited("config/scales/smoke.yaml", f"{budget}20,", f"{budget}{rule},")
    how = "learning: {candidates: bm25, top: 100, measure: RR@10}\n"
    edited("config/scales/smoke.yaml", "\nbudgets:\n", f"\n{how}budgets:\n")
    checkpoint = "results/smoke/models/clear-random/seed1/manifest.json"
    record = "results/smoke/steps/generated-smoke/tune/bert-siamese@steps-8.json"
    curve = "results/smoke/models/bert-siamese@steps-8/seed1/manifest.json"
    assert {record, curve} <= planned(project, checkpoint)
    assert record in planned(project, "results/smoke/tables/clear-table1.md"), "the page names it"
    snakemake(project, checkpoint)
    chosen = Record.read(project / record)
    assert [one.setting for one in chosen.tried] == [{"steps": n} for n in (0, 4, 8)]
    made = json.loads((project / checkpoint).read_text())
    assert {"steps": made["artefact"]["steps"]} == chosen.choices[0].setting


def test_two_faults_come_in_one_message_and_nothing_is_lost(project, edited):
    before = hashes(project)
    edited("config/systems/clear.yaml", "parts: [bm25,", "parts: [bm52,")
    edited("config/models/clear.yaml", "xi: 1.0", "xii: 1.0")
    status, message = invoke(project)
    assert status != 0
    assert "no system 'bm52'" in message and "Did you mean bm25?" in message
    assert "loss.xii: unknown key; valid: kind, lambda_train, weight, xi" in message
    assert hashes(project) == before


def kill_when(project, pattern, *targets):
    """Kill Snakemake amid a job once a path matches, on one core: all below it must end too."""
    process = subprocess.Popen(
        [sys.executable, "-m", "snakemake", *arguments(*targets, cores=1)],
        cwd=project,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    below, words = [], ""
    # Two parents, shell, tee, what stands for Python, the job: while one starts there are fewer.
    while process.poll() is None and not (
        len(below) >= 6 and "client.py" in words and any(project.glob(pattern))
    ):
        time.sleep(0.05)
        below = psutil.Process(process.pid).children(recursive=True)
        with suppress(psutil.NoSuchProcess):  # kept ones are there without a job
            words = " ".join(word for one in below for word in one.cmdline())
    process.kill()
    assert process.wait() == -signal.SIGKILL, f"ended before {pattern} appeared"
    _, alive = psutil.wait_procs(below, timeout=60)  # a bound on hanging, not a benchmark
    assert not alive


def test_the_notebooks_run_on_it_and_are_kept_with_what_they_show(project, tmp_path):
    """Kept outputs are of scale mini; here each cell shows as many things, of the same kinds."""
    paths = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
    assert len(paths) == 4
    for path in paths:
        kept, again = (nbformat.read(path, as_version=4) for _ in range(2))
        place = project
        if path.stem == "own-collection":  # it writes entries and results
            place = copy_project(tmp_path)
        for cell in again.cells:
            cell.source = re.sub(r"\bmini\b", "smoke", cell.source)
        of_site("notebooks").run(again, place)
        cells = [cell for cell in kept.cells if cell.cell_type == "code"]
        assert [cell.execution_count for cell in cells] == [*range(1, len(cells) + 1)]
        assert sum(bool(cell.outputs) for cell in cells) >= len(cells) - 2
        for old, new in zip(kept.cells, again.cells, strict=True):
            assert shown_kinds(old) == shown_kinds(new), old.source
        assert SHOWN[path.stem](project) in json.dumps(again.cells)


def mean_of_bm25(project):
    """Return BM25's mean as a notebook prints it, from the values per query."""
    path = project / "results" / "smoke" / "metrics" / "generated-smoke" / "dev" / "bm25.tsv"
    values = pl.read_csv(path, separator="\t").filter(measure="RR@10")["value"]
    return f"| 1 BM25  | {values.mean():.4f} "


SHOWN = {
    "compare": mean_of_bm25,
    "what-dense-finds": lambda project: "| 3 fusion | ",
    "reproduced-table": lambda project: "clear/table1/clear/dev-rr in ../../results/smoke",
    "own-collection": lambda project: "|  | 1 BM25       | ",
}


def shown_kinds(cell):
    """Return the kinds of what a cell shows: streams, and forms of values."""
    return [sorted(one.get("data", [one.output_type])) for one in cell.get("outputs", [])]


def test_killed_twice_it_resumes_on_one_core_and_without_preload_to_the_same_bytes(project):
    before = hashes(project)
    shutil.rmtree(project / "results" / "smoke")
    metrics = "results/smoke/metrics/generated-smoke/dev"
    expected = [f"{metrics}/clear.seed1.tsv"]
    kill_when(project, "results/smoke/logs/train/*", *expected)
    kill_when(project, "results/smoke/embeddings/*/*/*/shard-*", *expected)
    snakemake(project, *expected, cores=1, config="preload=false")
    after = hashes(project)
    assert {name.partition("/")[0] for name in after} >= {"runs", "metrics", "tuning", "training"}
    assert after == {name: before[name] for name in after}
