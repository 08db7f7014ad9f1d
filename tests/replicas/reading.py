"""ir_datasets in a process of its own, since it fixes its home when it is imported.

Usage: `read(home, docs=["dpr-w100"], splits=["dpr-w100/natural-questions/dev"])`. Nothing can be
downloaded there: what is not in the home is an error. Must not know any collection.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

PROGRAM = """
import json, sys
import ir_datasets

def release(date, path):
    from ir_datasets.datasets.cord19 import Cord19Docs
    from ir_datasets.util import Download, home_path
    base = home_path() / "cord19"
    packed = Download([], str(base / path))  # no Path: Cord19Docs asks it how it ends
    return Cord19Docs(packed, base / f"{date}.fulltext", date, include_fulltext=True)

def rows(items):
    found = []
    try:
        for item in items():
            row = {k: v for k, v in item._asdict().items() if not isinstance(v, bytes)}
            found.append(row)
    except Exception as error:
        return {"rows": found, "error": f"{type(error).__name__}: {error}"}
    return {"rows": found}

wanted, found = json.loads(sys.argv[1]), {"docs": {}, "queries": {}, "qrels": {}}
for name in wanted["docs"]:
    found["docs"][name] = rows(lambda: ir_datasets.load(name).docs_iter())
for date, path in wanted["releases"]:
    found["docs"][date] = rows(lambda: release(date, path).docs_iter())
for name in wanted["splits"]:
    data = ir_datasets.load(name)
    found["queries"][name] = rows(data.queries_iter)
    if data.has_qrels():
        found["qrels"][name] = rows(data.qrels_iter)
print(json.dumps(found))
"""


def read(
    home: Path,
    docs: list[str] | None = None,
    splits: list[str] | None = None,
    releases: list[tuple[str, str]] | None = None,
) -> dict[str, Any]:
    """Return {"docs" | "queries" | "qrels": {id: {"rows": [...], "error": "..."}}}.

    Rows are what ir_datasets gave before it ended or failed, without fields of bytes; `error`
    is there where it failed. A release is a date of CORD-19 and its file below cord19/.
    """
    expected = {"docs": docs or [], "splits": splits or [], "releases": releases or []}
    environment = {
        **os.environ,
        "IR_DATASETS_HOME": str(home),
        "IR_DATASETS_TMP": str(home / "tmp"),
        "IR_DATASETS_DL_TRIES": "1",
        "https_proxy": "http://127.0.0.1:9",  # nothing listens there: no network for this process
        "http_proxy": "http://127.0.0.1:9",
    }
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(expected)],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout)


def queries(outcome: dict[str, Any], split: str, field: str = "text") -> dict[str, str]:
    """Return {query_id: text} of a split; a failure of ir_datasets fails the test."""
    result = outcome["queries"][split]
    assert "error" not in result, result["error"]
    texts = [(q["query_id"], q[field]) for q in result["rows"]]
    assert len(dict(texts)) == len(texts)
    return dict(texts)


def qrels(outcome: dict[str, Any], split: str) -> list[tuple[str, str, int]]:
    """Return (query_id, doc_id, relevance) of a split; a failure of ir_datasets fails the test."""
    result = outcome["qrels"][split]
    assert "error" not in result, result["error"]
    return [(q["query_id"], q["doc_id"], q["relevance"]) for q in result["rows"]]


def docs(outcome: dict[str, Any], name: str) -> list[tuple[str, dict[str, Any]]]:
    """Return (doc_id, other fields) of a collection; a failure of ir_datasets fails the test."""
    result = outcome["docs"][name]
    assert "error" not in result, result["error"]
    return [(row.pop("doc_id"), row) for row in map(dict, result["rows"])]
