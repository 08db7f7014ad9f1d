"""NFCorpus laid out as BEIR has it gives the numbers that ir_datasets' road gives, to the digit."""

import pytest

from conftest import ROOT, irds_process
from corpora import form
from corpora import spec as bm25
from residuum import data, evaluate, lexical
from residuum.artefacts import contracts, trec
from residuum.config import entries
from residuum.config.schema.datasets import Dataset
from residuum.config.specs import canonical_json

# What ir_datasets has of the collection and its splits, written as BEIR's own files are.
LAY = """
import json, sys
from pathlib import Path
import ir_datasets
folder = Path(sys.argv[1])
(folder / "qrels").mkdir(parents=True)
def write(name, records):
    lines = (json.dumps(record, ensure_ascii=False) + "\\n" for record in records)
    (folder / name).write_text("".join(lines), encoding="utf-8")
docs = ir_datasets.load("nfcorpus").docs_iter()
write("corpus.jsonl", ({"_id": d.doc_id, "title": d.title, "text": d.abstract} for d in docs))
queries = []
for split in ("train", "dev", "test"):
    data = ir_datasets.load(f"nfcorpus/{split}")
    queries += [{"_id": q.query_id, "text": q.title} for q in data.queries_iter()]
    rows = [f"{q.query_id}\\t{q.doc_id}\\t{q.relevance}\\n" for q in data.qrels_iter()]
    text = "query-id\\tcorpus-id\\tscore\\n" + "".join(rows)
    (folder / "qrels" / f"{split}.tsv").write_text(text)
write("queries.jsonl", queries)
"""
MEASURES = ["nDCG@10", "R@100", "AP@1000", "RR@10"]


@pytest.mark.shared_data
def test_a_folder_of_beir_gives_the_numbers_of_ir_datasets(official_home, tmp_path, monkeypatch):
    done = irds_process(official_home, "-c", LAY, tmp_path / "mine")
    assert done.returncode == 0, done.stderr
    theirs = entries.parse(ROOT / "config/datasets/nfcorpus.yaml", Dataset)
    ours = Dataset.model_validate({"source": {"kind": "beir", "folder": "mine"},
                                   "splits": {"train": {}, "dev": {}, "test": {}}})  # fmt: skip
    for verb, spec, options in (
        ("corpus", theirs.for_corpus(), ["--output", tmp_path / "irds" / "corpus"]),
        ("split", theirs.for_split("test"), ["--name", "test", *outputs(tmp_path / "irds")]),
    ):
        command = ["-m", "residuum.data", verb, "--dataset", "nfcorpus"]
        done = irds_process(official_home, *command, "--spec", canonical_json(spec), *options)
        assert done.returncode == 0, done.stderr
    monkeypatch.setenv("RESIDUUM_DATA", str(tmp_path))
    data.corpus("mine", canonical_json(ours.for_corpus()), tmp_path / "beir" / "corpus")
    queries, qrels = outputs(tmp_path / "beir")[1::2]
    data.split("mine", "test", canonical_json(ours.for_split("test")), queries, qrels)
    assert len(trec.read_queries(queries)) == 325
    assert len(list(contracts.read_corpus(tmp_path / "beir" / "corpus"))) == 3395
    made = [measured(tmp_path / name) for name in ("irds", "beir")]
    assert made[0] == made[1] and made[0].count("\n") == 1 + 325 * len(MEASURES)


def outputs(folder):
    return ["--queries", folder / "queries.tsv", "--qrels", folder / "qrels.trec"]


def measured(folder):
    """Index, search and evaluate, and return the metrics as they are written."""
    lexical.index(folder / "corpus", form(), folder / "index", threads=1)
    run = folder / "run.trec.gz"
    lexical.search(folder / "index", folder / "queries.tsv", bm25(), "x", run, 1)
    evaluate.run(run, folder / "qrels.trec", MEASURES, folder / "metrics.tsv")
    return (folder / "metrics.tsv").read_text()
