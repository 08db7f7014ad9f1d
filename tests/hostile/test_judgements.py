"""Judgements that make every measure 0: refused where no number could be another, else said."""

import polars as pl
import pytest
from typer.testing import CliRunner

from residuum import data, evaluate
from residuum.__main__ import app
from residuum.artefacts import trec
from residuum.cli.errors import ResiduumError
from residuum.config.schema.datasets import Dataset
from residuum.config.specs import canonical_json

RUN = {"query_id": ["q1", "q1", "q2"], "doc_id": ["d1", "d2", "d2"], "score": [2.0, 1.0, 1.0]}
TWO = "q1 0 d1 1\nq2 0 d2 1\n"


def export(folder, monkeypatch, qrels, docs="d1\tone\nd2\ttwo\n", **split):
    """Export the split of a collection in files as the data stage does."""
    monkeypatch.setenv("RESIDUUM_DATA", str(folder))
    files = {"docs.tsv": docs, "queries.tsv": "q1\tone\nq2\ttwo\n", "q.trec": qrels}
    for name, text in files.items():
        (folder / name).write_text(text)
    texts = dict.fromkeys(["title", "description", "licence", "citation", "access"], "x")
    test = {"queries": "queries.tsv", **(split or {"qrels": "q.trec"})}
    source = {"kind": "files", "corpus": "docs.tsv"}
    entry = {**texts, "source": source, "splits": {"test": test}, "editions": [PIN]}
    spec = canonical_json(Dataset.model_validate(entry).for_split("test"))
    output = folder / "queries.out", folder / "qrels.out"
    data.split("mine", "test", spec, *output)
    return output[1]


PIN = {"name": "x", "docs": 2}


@pytest.mark.parametrize(
    ("qrels", "message"),
    [
        ("", r"q\.trec: the file is empty"),
        ("q1 0 d1 0\nq2 0 d2 0\n", r"1 or above \(the highest relevance is 0\)"),
        ("q1 0 d1 -1\n", r"1 or above \(the highest relevance is -1\)"),
        ("q1 0 D1 1\nq2 0 D2 1\n", r"none of the 2 judged docs, such as D1, D2, is in .*docs\.tsv"),
    ],
)
def test_a_split_whose_every_number_would_be_zero_is_refused(tmp_path, monkeypatch, qrels, message):
    with pytest.raises(ResiduumError, match=message):
        export(tmp_path, monkeypatch, qrels)
    assert not list(tmp_path.glob("*.out"))


@pytest.mark.parametrize("qrels", [TWO, "q1 0 D1 1\nq2 0 d2 0\n"])
def test_a_judged_doc_of_the_corpus_is_enough(tmp_path, monkeypatch, qrels):
    written = export(tmp_path, monkeypatch, qrels)
    assert written.read_text() == qrels


def test_a_split_without_judgements_may_say_so(tmp_path, monkeypatch):
    written = export(tmp_path, monkeypatch, "", unjudged=True)
    assert "no public judgements" in written.read_text()


def evaluated(folder, qrels, *measures):
    trec.write_run(folder / "run.trec.gz", trec.rank(pl.DataFrame(RUN)), "x")
    (folder / "q.trec").write_text(qrels)
    output = folder / "m.tsv"
    evaluate.run(folder / "run.trec.gz", folder / "q.trec", list(measures), output)
    return trec.read_metrics(output)["value"].to_list()


@pytest.mark.parametrize(
    ("qrels", "measures", "message"),
    [
        ("q1 0 d1 0\nq2 0 d2 0\n", ["RR@10", "nDCG@10"], r"judged 1 or .*is 0\).*RR@10, nDCG@10 w"),
        (
            TWO,
            ["RR@10", "AP(rel=2)@10"],
            r"q\.trec: no doc is judged 2 or .*is 1\).*AP\(rel=2\)@10 w",
        ),
    ],
)
def test_a_measure_that_no_judgement_serves_is_refused(tmp_path, qrels, measures, message):
    with pytest.raises(ResiduumError, match=message):
        evaluated(tmp_path, qrels, *measures)
    assert not (tmp_path / "m.tsv").exists()


def test_a_measure_of_judgements_of_any_grade_is_computed(tmp_path):
    assert evaluated(tmp_path, "q1 0 d1 0\nq2 0 d2 0\n", "Judged@1") == [1.0, 1.0]


def test_a_zero_that_is_one_is_no_fault(tmp_path, capsys):
    assert evaluated(tmp_path, "q1 0 d9 1\nq2 0 d2 0\n", "RR@10") == [0.0, 0.0]
    assert "warning" not in capsys.readouterr().err, "a judged doc is in a list"


def test_a_run_without_any_judged_doc_is_said(tmp_path, capsys):
    assert evaluated(tmp_path, "q1 0 D1 1\nq2 0 D2 1\n", "RR@10") == [0.0, 0.0]
    message = "run.trec.gz: no list holds a doc that is judged for its query"
    assert message in capsys.readouterr().err


def compared(folder, qrels, measure):
    (folder / "q.trec").write_text(qrels)
    for name in ("a", "b"):
        (folder / f"{name}.trec").write_text("q1 Q0 d1 1 2 x\nq2 Q0 d2 1 2 x\n")
    files = [str(folder / name) for name in ("q.trec", "a.trec", "b.trec")]
    return CliRunner().invoke(app, ["compare", *files, "--measures", measure])


def test_compare_refuses_a_level_without_judgements_and_says_unknown_docs(tmp_path):
    done = compared(tmp_path, TWO, "AP(rel=2)@10")
    assert isinstance(done.exception, ResiduumError)
    assert "no doc is judged 2 or above" in str(done.exception)
    done = compared(tmp_path, "q1 0 D1 1\nq2 0 D2 1\n", "RR@10")
    assert "a: no list holds a judged doc. Are the qrels of its corpus?" in done.output
