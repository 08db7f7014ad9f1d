"""The checklist of reproducibility tracks: every answer is of a file, or says that none has it."""

import re

import pytest

from conftest import ROOT
from residuum import ledger
from residuum.artefacts import files
from residuum.cli.errors import ResiduumError
from residuum.config.schema.base import Strict
from residuum.inspect import checklist, recorded
from residuum.inspect.recorded import Recorded
from residuum.pages import grids
from residuum.pages.verdicts import LedgerRow
from residuum.tuning.choosing import Choice, Record, Tried
from results_fixture import build, change, seal
from results_fixture import record as write_manifest

CONFIG = ROOT / "config"
BENCHMARK = "s\th:m:s\tmax_rss\tmax_vms\tcpu_time\n{s}\t0:00:02\t{rss}\t4.26\t{cpu}\n"


class Spec(Strict):
    kind: str = "fusion"


@pytest.fixture
def results(tmp_path):
    folder = build(tmp_path / "results" / "toy")
    for name, row in {
        "train/a.seed1": {"s": 3600, "rss": 100.5, "cpu": 1800},
        "train/b.seed1": {"s": 1800, "rss": 900, "cpu": 1800},
        "fusion/c": {"s": 36, "rss": "NA", "cpu": "-"},
    }.items():
        files.write_text(folder / "benchmarks" / f"{name}.tsv", BENCHMARK.format(**row))
    tried = [
        Tried(setting={"lambda": value, "k": 10 * i}, means=[value])
        for i, value in enumerate((0.0, 0.25, 0.5), start=1)
    ]
    chosen = Choice(setting={"lambda": 0.5, "k": 30}, at_edge=["lambda"], queries=12, mean=0.5)
    Record(choices=[chosen], measure="RR@10", queries=12, tried=tried).write(
        folder / "tuning" / "data" / "dev" / "ours.seed1.json", Spec(), [], "residuum.fusion"
    )
    model = folder / "models" / "clear" / "seed2"
    files.write_text(model / "config.json", "{}")
    spec = {
        "seed": 2,
        "device": "cpu",
        "precision": "fp32",
        "arithmetic": "native",
        "model": {"kind": "dual-encoder", "loss": {"kind": "nll"}, "training": {"batch_size": 16}},
    }
    split = folder / "data" / "data" / "dev" / "queries.tsv"
    write_manifest(model, {"steps": 20, "loss": 0.5}, [split], "residuum.train", **spec)
    return folder


def made(results):
    return Recorded.read(results, CONFIG)


def answer(text, question):
    """Return what stands under a question, up to the next one or a heading."""
    start = text.index(f"**{question}")
    return re.split(r"\n\*\*|\n## ", text[start:])[0].partition("\n\n")[2]


def test_every_question_is_answered_and_none_without_a_source(results):
    text = checklist.write(results, CONFIG)
    questions = [one for several in checklist.QUESTIONS.values() for one in several]
    assert len({one.text for one in questions}) == len(questions)
    for one in questions:
        assert answer(text, one.text).strip(), one.text
        assert set(one.checklists) <= {checklist.ACM, checklist.ML, checklist.IR, checklist.NEURIPS}
    assert {who for one in questions for who in one.checklists} == {
        checklist.ACM,
        checklist.ML,
        checklist.IR,
        checklist.NEURIPS,
    }


def test_it_counts_what_the_ledger_does_and_says_how_the_pages_are_tested(results):
    text = checklist.write(results, CONFIG)
    rows = grids.rows(results / "ledger.tsv", LedgerRow)
    assert ledger.counts(rows) in text
    assert "numbers compare with the papers'; a toy." in text
    tests = answer(text, "Which tests")
    assert re.search(r"\| toy-table1 +\| test permutation; alpha 0\.05; .*\| \d+ ", tests)


def test_data_models_and_tuning_are_those_of_the_files(results):
    text = checklist.write(results, CONFIG)
    assert re.search(r"\| data +\| data +\| 20 ", answer(text, "Which data"))
    used = answer(text, "How many examples")
    assert re.search(r"\| data/dev \| 12 +\| 12 +\| evaluation, training, tuning ", used)
    [row] = made(results).models()
    assert row[:3] == ["clear", "dual-encoder", "2"] and row[-1] == "not recorded"
    assert row[4] == "loss nll; batch_size 16" and row[5:7] == ["20", "0.5"]
    [row] = made(results).tunings()
    assert row == [
        "ours.seed1",
        "data/dev",
        "RR@10 of 12 queries",
        "3: lambda 0 to 0.5; k 10 to 30",
        "lambda 0.5; k 30",
        "lambda",
    ]
    assert "trained on: cpu fp32 native" in text
    trainings = answer(text, "How many trainings")
    assert re.search(r"\| clear +\| 1 +\| 2 ", trainings)


def test_hours_and_memory_are_sums_and_maxima_of_benchmark_files(results):
    assert made(results).spent() == [
        ["fusion", "1", "0.010", "0.000", "0"],
        ["train", "2", "1.500", "1.000", "900"],
        ["all", "3", "1.510", "1.000", "900"],
    ]
    for path in (results / "benchmarks").rglob("*.tsv"):
        path.unlink()
    assert answer(checklist.write(results, CONFIG), "How long").strip() == recorded.UNKNOWN


def test_settings_of_systems_stand_once_whatever_the_seeds(results):
    systems = dict(made(results).systems())
    assert set(systems) == {"base", "ours", "ablation"}
    assert "bm25.k1 0.9" in systems["base"]


def test_a_known_collection_has_its_licence(results):
    corpus = results / "data" / "cacm" / "corpus"
    files.write_text(corpus / "part", "x")
    write_manifest(corpus, {"docs": 3204}, [], "residuum.data", source={"kind": "files"})
    rows = {row[0]: row for row in made(results).collections()}
    entry = made(results).known["cacm"]
    assert rows["cacm"][2:4] == ["3,204", "kind files"]
    assert rows["cacm"][4:] == [entry.licence, entry.access, entry.citation]
    assert rows["data"][4:] == ["not recorded"] * 3
    (results / "datasets").mkdir()
    short = "source: {kind: beir, folder: mine}\nsplits: {dev: {}}\n"
    (results / "datasets" / "data.yaml").write_text(short)
    rows = {row[0]: row for row in Recorded.read(results, results).collections()}
    assert rows["data"][1] == "data" and rows["data"][4:] == ["not recorded"] * 3
    elsewhere = Recorded.read(results, results / "no-config")
    assert not elsewhere.known


def test_files_that_changed_since_are_named(results):
    assert "no file changed since" in checklist.write(results, CONFIG)
    change(results / "metrics" / "data" / "dev" / "base.tsv", "q00", "q99")
    text = answer(checklist.write(results, CONFIG), "Are the results complete")
    assert "changed since: metrics/data/dev/base.tsv" in text


def test_the_reasons_of_what_is_not_run_stand_with_their_pages(results):
    path = results / "ledger.tsv"
    change(path, f"\t{grids.rows(path, LedgerRow)[0].verdict}\t", "\tnot run\t")
    header, first, *others = path.read_text().splitlines()
    files.write_text(path, "\n".join([header, f"{first} | why", *others, ""]))
    seal(path)
    reasons = answer(checklist.write(results, CONFIG), "What was not run")
    assert "toy-table1" in reasons and "\\| why" in reasons


def test_unfinished_results_are_refused(tmp_path):
    with pytest.raises(ResiduumError, match=r"no ledger\.tsv, so its pages are not finished"):
        checklist.write(tmp_path, CONFIG)
