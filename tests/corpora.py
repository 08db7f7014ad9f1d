"""Small corpora for tests, in the form that the data stage writes, and indexes of them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import polars as pl

from conftest import ROOT
from residuum import lexical
from residuum.artefacts import contracts
from residuum.cli import command
from residuum.config.schema.systems import LexicalSystem

PORTER = {"stemmer": "porter", "stopwords": "lucene"}
RM3 = {"value": {"feedback_docs": 10, "feedback_terms": 10, "original_query_weight": 0.5}}


def make_corpus(
    folder: Path,
    docs: list[tuple[str, str | dict[str, str]]],
    per_shard: int = contracts.DOCS_PER_SHARD,
) -> Path:
    """Write docs, of a text or of several fields, as a corpus folder and return the folder."""
    folder.mkdir(parents=True)
    fields = ((i, doc if isinstance(doc, dict) else {"text": doc}) for i, doc in docs)
    return _described(folder, contracts.write_corpus(folder, fields, per_shard), len(docs))


def make_weights(folder: Path, docs: list[tuple[str, dict[str, int]]]) -> Path:
    """Write term weights as a folder with its manifest and return the folder."""
    folder.mkdir(parents=True)
    return _described(folder, contracts.write_term_weights(folder, docs), len(docs))


def digests_of_other_processes(module: str, spec: dict, form: str = "c") -> set[str]:
    """Return what two processes of other hash seeds make of a generated collection's spec.

    A digest is the SHA-256 of the JSON of `form`, an expression of the collection `c`.
    """
    program = (
        "import json, sys, hashlib; from types import SimpleNamespace as N;"
        f"from residuum.collections.{module} import generate;"
        "c = generate(N(**json.loads(sys.argv[1])));"
        f"print(hashlib.sha256(json.dumps({form}).encode()).hexdigest())"
    )
    words = [sys.executable, "-c", program, json.dumps(spec)]
    paths = os.environ | {"PYTHONPATH": str(ROOT / "workflow")}
    return {
        subprocess.check_output(words, env=paths | {"PYTHONHASHSEED": seed}, text=True).strip()
        for seed in ("0", "4242")
    }


def _described(folder: Path, shards: list[dict], docs: int) -> Path:
    artefact = {"docs": docs, "edition": "test", "shards": shards}
    (folder / "manifest.json").write_text(json.dumps({"artefact": artefact}))
    return folder


def spec(k: int = 1000, analysis: dict | None = None, **more) -> str:
    """Return a lexical system as JSON, BM25 with 0.9 and 0.4 if nothing else is asked for."""
    bm25 = {"k1": 0.9, "b": 0.4}
    entry = {"kind": "lexical", "label": "x", "bm25": bm25, "k": k, **more}
    return json.dumps({**entry, "analysis": analysis or PORTER})


def system(**options) -> LexicalSystem:
    """Return what `spec` writes as JSON."""
    return command.parse_spec(LexicalSystem, spec(**options))


def form(analysis: dict | None = None, **more) -> str:
    """Return the form of an index as JSON."""
    return json.dumps({"analysis": analysis or PORTER, **more})


def make_index(folder: Path, docs: list[tuple], analysis: dict | None = None, **more) -> Path:
    """Write docs as a corpus, index it and return the folder of the index."""
    corpus = make_corpus(folder / "corpus", docs)
    lexical.index(corpus, form(analysis, **more), folder / "index", threads=2)
    return folder / "index"


def hits(index: Path, text: str, k: int = 10, **options) -> dict[str, float]:
    """Return the scores of the docs that one query finds."""
    result = lexical.open_index(index, system(**options)).search([("q", text)], k)
    return dict(pl.concat(result).select("doc_id", "score").iter_rows())
