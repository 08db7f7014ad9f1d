"""The checklist of reproducibility tracks: each answer is from a file, or says what is missing."""

import json
import re
from pathlib import Path

import pytest
import yaml

import residuum
from conftest import ROOT
from residuum import ledger
from residuum.artefacts import files
from residuum.cli.errors import ResiduumError
from residuum.config.schema.base import Strict
from residuum.inspect import checklist, citing, recorded
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


def test_the_version_that_asks_is_not_that_of_the_results(results):
    path = results / "metrics" / "data" / "dev" / "base.tsv.manifest.json"
    commit = "a" * 40
    made_by = json.loads(path.read_text())
    made_by["environment"]["git_commit"] = commit
    path.write_text(json.dumps(made_by))
    text = checklist.write(results, CONFIG)
    assert text.splitlines()[2].startswith(f"Written by residuum {residuum.__version__} from")
    code = answer(text, "Which code")
    assert f"commit {commit}: 1 artefacts" in code and residuum.__version__ not in code
    assert "version of residuum that made them: not recorded" in code


def test_pins_of_the_checkout_are_stated_where_they_agree(tmp_path):
    lock, conda = tmp_path / "requirements.lock", tmp_path / "envs" / "neural.yaml"
    files.write_text(lock, "# all\nIr_Datasets==0.6.3\ntorch==2.13.0\nother==1\n")
    files.write_text(conda, "dependencies:\n  - numpy =2.4\n  - pip:\n      - torch==2.12.0\n")
    recorded = {"ir-datasets": {"0.6.3"}, "torch": {"2.13.0"}, "numpy": {"2.4.6"}}
    assert [*checklist.files(tmp_path)] == [lock, conda]
    says = "- `requirements.lock` of this checkout pins the versions that are recorded: "
    assert checklist.compared(lock, recorded) == f"{says}ir-datasets, torch"
    assert checklist.compared(conda, recorded) == (
        "- `envs/neural.yaml` of this checkout is not what the results were made with: "
        "torch 2.13.0 recorded, 2.12.0 pinned"
    )
    assert "torch 2.9 recorded" in checklist.compared(lock, {"torch": {"2.9", "2.13.0"}})
    assert checklist.compared(lock, {"faiss-gpu": {"1"}}).endswith("pins none of them")


def test_what_was_made_and_not_trained_is_no_trained_model(results):
    settings = {"kind": "backbone", "corpora": ["dev"], "seed": 1}
    untrained = {"kind": "dual-encoder", "training": {"steps": 0}}
    for name, facts, spec in (
        ("backbones/mini-bert", {"vocabulary": 9}, settings),
        ("models/still/seed1", {"steps": 0}, {"seed": 1, "model": untrained}),
    ):
        files.write_text(results / name / "config.json", "{}")
        write_manifest(results / name, facts, [], "residuum.pretrain", **spec)
    text = checklist.write(results, CONFIG)
    models = answer(text, "Which models were trained")
    assert "Made, not trained: `mini-bert`, `still`." in models
    assert "mini-bert" not in models.partition("Made,")[0]
    assert "mini-bert" not in answer(text, "How many trainings")


def test_a_depth_was_tuned_where_its_curve_is_and_not_where_it_is_used(results):
    curve = results / "rerank" / "data" / "tune" / "mono.depths.tsv"
    files.write_text(curve, "x\n")
    write_manifest(curve, {}, [], "residuum.rerank")
    tried = [Tried(setting={"depth": n}, means=[n / 100]) for n in (5, 10)]
    chosen = Choice(setting={"depth": 10}, queries=9, mean=0.1)
    for split in ("dev", "judged"):
        path = results / "tuning" / "data" / split / "reranked.json"
        made_of = Record(choices=[chosen], measure="RR@10", queries=9, tried=tried)
        made_of.write(path, Spec(), [curve], "residuum.rerank")
    rows = [row for row in made(results).tunings() if row[0] == "reranked"]
    assert rows == [
        ["reranked", "data/tune", "RR@10 of 9 queries", "2: depth 5 to 10", "depth 10", "no"]
    ]


def test_the_papers_and_the_scale_are_those_of_the_pages(results):
    text = checklist.write(results.rename(results.with_name("moved")), CONFIG)
    assert text.startswith("# Artifact checklist, toy\n") and "--config scale=toy " in text
    assert "@software{residuum," in answer(text, "Whose work")


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


def test_time_and_memory_are_sums_and_maxima_of_benchmark_files(results):
    assert made(results).spent() == [
        ["train", "2", "1:30:00", "1:00:00", "900"],
        ["fusion", "1", "36 s", "0.0 s", "0"],
        ["all", "3", "1:30:36", "1:00:00", "900"],
    ]
    for path in (results / "benchmarks").rglob("*.tsv"):
        path.unlink()
    assert answer(checklist.write(results, CONFIG), "How long").strip() == recorded.UNKNOWN


def test_settings_of_systems_stand_once_whatever_the_seeds(results):
    systems = dict(made(results).systems())
    assert set(systems) == {"base", "ours", "ablation"}
    assert "bm25.k1 0.9" in systems["base"]


def test_a_known_collection_has_its_licence(results, monkeypatch):
    corpus = results / "data" / "cacm" / "corpus"
    files.write_text(corpus / "part", "x")
    write_manifest(corpus, {"docs": 3204}, [], "residuum.data", source={"kind": "files"})
    rows = {row[0]: row for row in made(results).collections()}
    entry = made(results).known["cacm"]
    assert rows["cacm"][2:5] == ["3,204", "not recorded", "kind files"]
    assert rows["cacm"][5:] == [entry.licence, entry.access, entry.citation]
    assert rows["data"][5:] == ["not recorded"] * 3
    (results / "datasets").mkdir()
    short = "source: {kind: beir, folder: mine}\nsplits: {dev: {}}\n"
    (results / "datasets" / "data.yaml").write_text(short)
    rows = {row[0]: row for row in Recorded.read(results, results).collections()}
    assert rows["data"][1] == "data" and rows["data"][5:] == ["not recorded"] * 3
    monkeypatch.chdir(results)
    assert not Recorded.read(results, Path("config")).known


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


def test_residuum_is_cited_as_its_citation_file_says():
    cff = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    fields = dict(re.findall(r"^  (\w+) = \{+(.*?)\}+,?$", citing.software(), re.M))
    [author] = cff["authors"]
    assert fields == {
        "title": cff["title"],
        "author": author["name"],
        "version": cff["version"],
        "note": cff["license"],
    }
    assert cff["version"] == residuum.__version__
