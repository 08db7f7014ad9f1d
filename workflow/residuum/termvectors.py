"""Weigh the terms of docs and queries as Lucene's BM25 does: sparse vectors, or projected ones.

Command: `python -m residuum.termvectors docs|queries ...`. The product of a query's vector and a
doc's is BM25's score. Search, fusion and training take these vectors as they take dense ones.
"""

import hashlib
from pathlib import Path
from typing import Annotated, Any

import typer

from residuum.artefacts import contracts, files, manifest, termvectors, trec
from residuum.artefacts.shards import ShardNumber
from residuum.cli import command
from residuum.cli.errors import ResiduumError
from residuum.cli.progress import track
from residuum.config.schema.analyses import IndexForm
from residuum.config.schema.base import Positive, Strict
from residuum.config.schema.systems import LexicalSystem
from residuum.config.specs import canonical_json
from residuum.lucene import jvm
from residuum.lucene.termweights import Weighed, Weigher
from residuum.vectors.projection import project

app = command.app(__doc__)

Index = Annotated[
    Path, typer.Option(help="folder of the index that the weights of BM25 are read from")
]
SpecText = Annotated[str, typer.Option("--spec", help="JSON of Vectors: the model with its system")]


class Vectors(Strict):
    """A model of lexical vectors, with its system written out."""

    kind: str
    system: LexicalSystem
    dimensions: Positive | None = None
    seed: int = 1


@app.command("docs")
def weigh_docs(
    index: Index,
    corpus: command.Corpus,
    shard: command.Shard,
    of: command.Of,
    spec: SpecText,
    output: command.Folder,
    threads: command.JavaThreads = 1,
) -> None:
    """Write the vectors of one shard of a corpus; an empty doc has a vector of zeros."""
    model, positions = command.parse_spec(Vectors, spec), contracts.shard_of(corpus, shard, of)
    weigher = opened(index, model, threads)
    ids, texts = zip(*contracts.read_corpus(corpus, positions), strict=True)
    vectors = weigher.docs(track(texts, "weigh docs", len(texts), "docs"))
    facts: dict[str, Any] = {"shard": ShardNumber(number=shard, of=of, docs=len(positions))}
    inputs = [index / "manifest.json", corpus / "manifest.json"]
    with files.whole_directory(output) as folder:
        facts |= _write(folder, list(ids), vectors, model)
        _record(folder, facts, model, index, inputs)


@app.command("queries")
def weigh_queries(
    index: Index,
    split: command.Splits,
    spec: SpecText,
    output: command.Folder,
    threads: command.JavaThreads = 1,
) -> None:
    """Write the vectors of the queries of several splits, each into a folder of its own."""
    model, counts = command.parse_spec(Vectors, spec), {}
    weigher = opened(index, model, threads)
    paths = dict(command.pairs(split))
    with files.whole_directory(output) as folder:
        for name, path in paths.items():
            texts = trec.read_queries(path)
            _write(folder / name, list(texts), weigher.queries(texts.values()), model)
            counts[name] = len(texts)
        inputs = [index / "manifest.json", *paths.values()]
        _record(folder, {"queries": counts}, model, index, inputs)


def opened(index: Path, model: Vectors, threads: int) -> Weigher:
    """Open an index for a model; its analysis and fields must be those of the model's system."""
    record = _facts(index)
    form = IndexForm.model_validate({k: record[k] for k in ("analysis", "fields", "joined")})
    if form != model.system.index():
        needed = model.system.index().index_id()
        raise ResiduumError(f"{index} is {form.index_id()}, but the system requires {needed}")
    jvm.expect(record["docs"])
    return Weigher(index / "lucene", model.system, threads)


def _facts(index: Path) -> dict[str, Any]:
    return manifest.facts(index, "an index", "docs", "analysis", "fields", "joined")


def _write(folder: Path, ids: list[str], vectors: Weighed, model: Vectors) -> dict[str, Any]:
    """Write sparse or projected vectors; return the number of their dimensions as a fact."""
    terms, rows = vectors
    if model.dimensions is None:
        termvectors.write(folder, ids, terms, rows)
        return {"terms": len(terms)}
    contracts.write_vectors(folder, ids, project(rows, terms, model.dimensions, model.seed))
    return {"dimensions": model.dimensions}


def _record(
    folder: Path, facts: dict[str, Any], model: Vectors, index: Path, inputs: list[Path]
) -> None:
    """Write the manifest; `weights` identifies the model and index that vectors come from."""
    both = {"index": _facts(index), "model": model.model_dump(mode="json")}
    weights = hashlib.sha256(canonical_json(both).encode()).hexdigest()
    manifest.write(folder, facts | {"weights": weights}, model, inputs, "residuum.termvectors")


if __name__ == "__main__":
    command.main(app)
