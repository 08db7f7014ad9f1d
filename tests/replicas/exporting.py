"""residuum's own export of a replica: specs of the real YAMLs with the replica's counts as pins.

Usage: `exporting.corpus(folders, "cord19", exporting.dataset("cord19", replica), output)`. Runs in
a process of its own, since ir_datasets fixes its home when it is imported.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import forking
from conftest import ROOT
from replicas.truth import Replica
from residuum.config import entries
from residuum.config.schema.datasets import Dataset
from residuum.config.specs import canonical_json


class Folders(NamedTuple):
    """ir_datasets' home and the folder of RESIDUUM_DATA."""

    home: Path
    data: Path


def dataset(name: str, replica: Replica, **source: Any) -> Dataset:
    """Return a dataset of config/ with the counts of a replica as its only edition."""
    result = entries.parse(ROOT / "config" / "datasets" / f"{name}.yaml", Dataset)
    record = result.model_dump(mode="json", exclude_none=True)
    counts = replica.counts()
    pins = {}
    for split, entry in result.splits.items():
        known = counts["splits"].get(entry.irds or "nq-test")
        if known and not entry.holdout:
            pins[split] = known if result.judged(split) else known | {"qrels": 0, "relevance": {}}
    record["source"] |= source
    record["editions"] = [{"name": "replica", "docs": counts["docs"], "splits": pins}]
    if sample := record["source"].get("sample"):
        record["editions"][0]["docs"] = sample["docs"]
    return Dataset.model_validate(record)


def spec(entry: Dataset, which: str | None = None) -> str:
    """Return the specification that a rule would hand to the stage."""
    return canonical_json(entry.for_split(which) if which else entry.for_corpus())


def corpus(folders: Folders, name: str, entry: Dataset, output: Path) -> Any:
    """Run `residuum.data corpus`."""
    words = ["corpus", "--dataset", name, "--spec", spec(entry), "--output", str(output)]
    return run(folders, "residuum.data", *words)


def split(folders: Folders, name: str, entry: Dataset, which: str, output: Path, *more: str) -> Any:
    """Run `residuum.data split`; queries.tsv and qrels.trec go into the folder `output`."""
    words = ["split", "--dataset", name, "--name", which, "--spec", spec(entry, which)]
    files = ["--queries", str(output / "queries.tsv"), "--qrels", str(output / "qrels.trec")]
    return run(folders, "residuum.data", *words, *files, *more)


def docpairs(folders: Folders, name: str, entry: Dataset, which: str, output: Path) -> Any:
    """Run `residuum.data docpairs` on a split that is exported into the folder `output`."""
    chosen = canonical_json(entry.for_docpairs(which))
    words = ["docpairs", "--dataset", name, "--name", which, "--spec", chosen]
    files = ["--queries", str(output / "queries.tsv"), "--output", str(output / "docpairs.tsv.gz")]
    return run(folders, "residuum.data", *words, *files)


def run(folders: Folders, module: str, *words: str, **more: str) -> Any:
    """Run a module of residuum on the folders, without a network.

    `more` is environment: a process of its own has it from its start.
    """
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT / "workflow"),
        "PYTHONUTF8": "1",
        "IR_DATASETS_HOME": str(folders.home),
        "IR_DATASETS_TMP": str(folders.home / "tmp"),
        "IR_DATASETS_DL_TRIES": "1",
        "RESIDUUM_DATA": str(folders.data),
        "https_proxy": "http://127.0.0.1:9",  # nothing listens there: no network for this process
        "http_proxy": "http://127.0.0.1:9",
        **more,
    }
    if not more:
        return forking.run(module, list(words), environment)
    command = [sys.executable, "-m", module, *words]
    return subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True)
