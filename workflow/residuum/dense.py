"""Encode a corpus into embedding shards, search them exactly, and score given pairs.

python -m residuum.dense encode  --corpus DIR --model DIR --spec JSON --output DIR
python -m residuum.dense queries --split NAME=TSV ... --model DIR --spec JSON --output DIR
python -m residuum.dense search  --embeddings DIR --queries DIR/NAME --spec JSON --tag TEXT ...
python -m residuum.dense score   ... --run OTHER_RUN ...: s_emb of the pairs of another run

Encode and queries load the model; search and score work on vectors and start fast.
Killed and started again, encode goes on at the first shard that is missing.
Must not know how the model was trained or which systems use the runs.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import numpy as np
import polars as pl
import typer

from residuum.core import command, contracts, files, manifest, schema, trec
from residuum.core.chunks import chunks
from residuum.core.errors import ResiduumError
from residuum.core.progress import track
from residuum.neural import devices, search
from residuum.neural.encoders import Encoder
from residuum.neural.resume import fingerprint, say

WEIGHTS = "model.safetensors"
app = command.app(__doc__)


class Encoding(schema.Strict):
    """How a corpus is cut for encoding: docs per shard, and texts per batch."""

    shard_docs: schema.Positive
    batch_size: schema.Positive


Corpus = Annotated[Path, typer.Option(help="corpus folder")]
Model = Annotated[Path, typer.Option(help="checkpoint of a dual encoder")]
Embeddings = Annotated[Path, typer.Option(help="folder that encode made")]
Queries = Annotated[Path, typer.Option(help="folder of a split that queries made")]
System = Annotated[str, typer.Option(help="JSON of schema.DenseSystem")]
Tag = Annotated[str, typer.Option(help="name of the system in the run")]
Run = Annotated[Path, typer.Option(help="run file, .trec.gz")]
Threads = Annotated[int, typer.Option(help="CPU threads; the last digits depend on it")]
Device = Annotated[str, typer.Option(help="auto, cuda, mps or cpu")]
Precision = Annotated[str, typer.Option(help="auto, fp32 or bf16")]


@app.command("encode")
def encode(
    corpus: Corpus,
    model: Model,
    spec: Annotated[str, typer.Option(help="JSON of shard_docs and batch_size")],
    output: Annotated[Path, typer.Option(help="folder of the embedding shards")],
    threads: Threads = 1,
    device: Device = "auto",
    precision: Precision = "auto",
) -> None:
    """Encode a corpus; memory holds one shard of docs."""
    form = command.parse_spec(Encoding, spec)
    chosen = devices.choose(device, precision, threads)
    setting = {**form.model_dump(), "threads": threads, **chosen._asdict()}
    inputs = [corpus / "manifest.json", model]
    folder = output.with_name(f"{output.name}.partial")
    mark = _resume(folder, fingerprint("residuum.dense", setting, inputs))
    encoder = Encoder.load(model, chosen)
    facts = _write_shards(folder, corpus, encoder, form)
    manifest.write(
        folder / "manifest.json",
        artefact={**facts, "weights": files.sha256(model / WEIGHTS)},
        spec=setting,
        inputs=inputs,
        module="residuum.dense",
    )
    mark.unlink()
    files.replace_directory(folder, output)


def _resume(folder: Path, mark: str) -> Path:
    """Keep what an interrupted run of the same work left; return the file that marks it."""
    path = folder / "fingerprint"
    if folder.exists() and not (path.exists() and path.read_text() == mark):
        say(f"{folder}: made from other data, spec, model or code, starting afresh")
        shutil.rmtree(folder)
    files.write_text(path, mark)
    return path


def _write_shards(folder: Path, corpus: Path, encoder: Encoder, form: Encoding) -> dict[str, int]:
    total = contracts.corpus_manifest(corpus)["docs"]
    docs = track(contracts.read_corpus(corpus), "encode", total=total, unit="docs")
    shards = 0
    for number, shard in enumerate(chunks(docs, form.shard_docs)):
        path = folder / f"shard-{number:05d}"
        if not path.exists():
            vectors = encoder.encode([text for _, text in shard], "doc", form.batch_size)
            contracts.write_shard(path, [doc_id for doc_id, _ in shard], vectors)
        shards = number + 1
    return {"docs": total, "dimensions": encoder.dimensions, "shards": shards}


@app.command("queries")
def encode_queries(
    split: Annotated[list[str], typer.Option(help="split and its queries.tsv: dev=PATH")],
    model: Model,
    spec: Annotated[str, typer.Option(help="JSON of shard_docs and batch_size")],
    output: Annotated[Path, typer.Option(help="folder of the query embeddings, one per split")],
    threads: Threads = 1,
    device: Device = "auto",
    precision: Precision = "auto",
) -> None:
    """Encode the queries of several splits, so that search and score need no model."""
    form = command.parse_spec(Encoding, spec)
    chosen = devices.choose(device, precision, threads)
    encoder = Encoder.load(model, chosen)
    paths = {name: Path(path) for name, _, path in (text.partition("=") for text in split)}
    counts = {}
    with files.whole_directory(output) as folder:
        for name, path in paths.items():
            texts = trec.read_queries(path)
            vectors = encoder.encode(list(texts.values()), "query", form.batch_size)
            contracts.write_shard(folder / name / "shard-00000", list(texts), vectors)
            counts[name] = len(texts)
        manifest.write(
            folder / "manifest.json",
            artefact={"queries": counts, "weights": files.sha256(model / WEIGHTS)},
            spec={**form.model_dump(), "threads": threads, **chosen._asdict()},
            inputs=[*paths.values(), model],
            module="residuum.dense",
        )


@app.command("search")
def search_corpus(
    embeddings: Embeddings,
    queries: Queries,
    spec: System,
    tag: Tag,
    output: Run,
    threads: Threads = 1,
    device: Device = "auto",
) -> None:
    """Write the run of the k docs with the largest inner product, per query."""
    form = command.parse_spec(schema.DenseSystem, spec)
    names, vectors = _read_queries(embeddings, queries)
    shards = partial(contracts.read_shards, embeddings)
    found = search.candidates(shards, vectors, form.k, gpu=_gpu(device, threads))
    run = trec.rank(_named(search.pair_scores(shards, vectors, found), names), k=form.k)
    trec.write_run(output, run, tag)
    _write_manifest(output, run, form, [embeddings, queries.parent])


@app.command("score")
def score_run(
    embeddings: Embeddings,
    queries: Queries,
    run: Annotated[Path, typer.Option(help="run whose pairs are scored")],
    spec: System,
    tag: Tag,
    output: Run,
) -> None:
    """Write the inner product of each (query, doc) pair of another run, as a run."""
    form = command.parse_spec(schema.DenseSystem, spec)
    names, vectors = _read_queries(embeddings, queries)
    pairs = _numbered(run, trec.read_run(run), names, queries)
    shards = partial(contracts.read_shards, embeddings)
    scored = trec.rank(_named(search.pair_scores(shards, vectors, pairs), names))
    trec.write_run(output, scored, tag)
    _write_manifest(output, scored, form, [embeddings, queries.parent], [run])


def _gpu(device: str, threads: int) -> bool:
    """Fix FAISS's threads; say whether it searches on a GPU: where it has one that is wanted."""
    import faiss

    faiss.omp_set_num_threads(threads)
    count = faiss.get_num_gpus() if hasattr(faiss, "StandardGpuResources") else 0
    return device in ("auto", "cuda") and count > 0


def _read_queries(embeddings: Path, queries: Path) -> tuple[list[str], np.ndarray]:
    """Return query ids and vectors, made by the model that made the docs' embeddings."""
    weights = [
        json.loads(files.read_bytes(folder / "manifest.json"))["artefact"]["weights"]
        for folder in (embeddings, queries.parent)
    ]
    if weights[0] != weights[1]:
        raise ResiduumError(
            f"{embeddings} and {queries} were made by different models (their weights differ). "
            "Encode both with the same checkpoint."
        )
    shards = list(contracts.read_shards(queries))
    ids = [query_id for shard, _ in shards for query_id in shard]
    return ids, np.concatenate([np.asarray(vectors) for _, vectors in shards])


def _numbered(path: Path, run: pl.DataFrame, names: list[str], queries: Path) -> pl.DataFrame:
    """Return the run's pairs with each query's row number."""
    rows = pl.DataFrame({"query_id": pl.Series(names, dtype=pl.String), "query": range(len(names))})
    strange = run.join(rows, on="query_id", how="anti")["query_id"]
    if len(strange):
        raise ResiduumError(
            f"{path}: query_id {strange[0]} is not in {queries} ({strange.n_unique()} such ids)"
        )
    return run.join(rows, on="query_id", how="left", maintain_order="left").select(
        "query", "doc_id"
    )


def _named(scored: pl.DataFrame, names: list[str]) -> pl.DataFrame:
    ids = pl.Series("query_id", names, pl.String)[scored["query"]]
    return scored.select(ids, "doc_id", "score")


def _write_manifest(
    output: Path,
    run: pl.DataFrame,
    form: schema.DenseSystem,
    folders: list[Path],
    inputs: Sequence[Path] = (),
) -> None:
    manifest.write(
        manifest.beside(output),
        artefact={"queries": run["query_id"].n_unique(), "hits": len(run)},
        spec=form.model_dump(mode="json"),
        inputs=[*(folder / "manifest.json" for folder in folders), *inputs],
        module="residuum.dense",
    )


if __name__ == "__main__":
    command.main(app)
