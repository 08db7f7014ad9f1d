"""Encode a corpus into embedding shards, search them exactly, and score given pairs.

python -m residuum.dense encode --corpus DIR --split NAME=TSV ... --model DIR --spec JSON
    --output DIR --queries-output DIR
python -m residuum.dense search --embeddings DIR --queries DIR/NAME --spec JSON --tag TEXT ...
python -m residuum.dense score  ... --run OTHER_RUN ...: s_emb of the pairs of another run

Encode loads the model; search and score work on vectors and start fast. Started again after a
kill or with other splits, encode makes the shards of the corpus that are missing, and the queries.
Must not know how the model was trained or which systems use the runs.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import polars as pl
import typer

from residuum.core import command, contracts, files, manifest, schema, trec
from residuum.core.errors import ResiduumError
from residuum.neural import devices, pretrained, search
from residuum.neural.encoders import Encoder
from residuum.neural.resume import fingerprint
from residuum.neural.shards import Encoding, Shard, open_folder, work_off

app = command.app(__doc__)


Corpus = Annotated[Path, typer.Option(help="corpus folder")]
Model = Annotated[Path, typer.Option(help="checkpoint of a dual encoder")]
Embeddings = Annotated[Path, typer.Option(help="folder that encode made")]
Queries = Annotated[Path, typer.Option(help="folder of a split that encode made")]
System = Annotated[str, typer.Option(help="JSON of schema.DenseSystem")]
Tag = Annotated[str, typer.Option(help="name of the system in the run")]
Run = Annotated[Path, typer.Option(help="run file, .trec.gz")]
Threads = Annotated[int, typer.Option(help="CPU threads; the last digits depend on it")]
Device = Annotated[str, typer.Option(help="auto, cuda, mps or cpu")]
Precision = Annotated[str, typer.Option(help="auto, fp32 or bf16")]


@app.command("encode")
def encode(
    corpus: Corpus,
    split: Annotated[list[str], typer.Option(help="split and its queries.tsv: dev=PATH")],
    model: Model,
    spec: Annotated[str, typer.Option(help="JSON of shard_docs and batch_size")],
    output: Annotated[Path, typer.Option(help="folder of the embedding shards")],
    queries_output: Annotated[Path, typer.Option(help="folder of the query embeddings")],
    threads: Threads = 1,
    device: Device = "auto",
    precision: Precision = "auto",
) -> None:
    """Encode a corpus, one shard of docs in memory, and the queries of several splits."""
    form = command.parse_spec(Encoding, spec)
    chosen = devices.choose(device, precision, threads)
    setting = {**form.model_dump(), "threads": threads, **chosen._asdict()}
    open_folder(output, _fingerprint(setting, corpus, model))
    encoder = Encoder.load(model, chosen)
    facts = _encode_docs(encoder, corpus, output, form)
    _finish(output, facts, setting, model, [corpus / "manifest.json"])
    paths = {name: Path(path) for name, _, path in (text.partition("=") for text in split)}
    with files.whole_directory(queries_output) as folder:
        counts = _encode_queries(encoder, paths, folder, form)
        _finish(folder, {"queries": counts}, setting, model, paths.values())


def _fingerprint(setting: dict[str, Any], corpus: Path, model: Path) -> str:
    """Cover what vectors follow from: docs and model, but no record of how those were made."""
    shards = contracts.corpus_manifest(corpus)["shards"]
    parts = pretrained.parts(model)
    return fingerprint("residuum.dense", {**setting, "corpus": shards}, parts)


def _encode_docs(encoder: Encoder, corpus: Path, folder: Path, form: Encoding) -> dict[str, int]:
    def path(number: int) -> Path:
        return folder / f"shard-{number:05d}"

    def make(number: int, shard: Shard) -> None:
        vectors = encoder.encode([text for _, text in shard], "doc", form.batch_size)
        contracts.write_shard(path(number), [doc_id for doc_id, _ in shard], vectors)

    made = work_off(corpus, form.shard_docs, lambda number: path(number).exists(), make, "encode")
    total = contracts.corpus_manifest(corpus)["docs"]
    return {"docs": total, "dimensions": encoder.dimensions, "shards": made}


def _encode_queries(
    encoder: Encoder, paths: Mapping[str, Path], folder: Path, form: Encoding
) -> dict[str, int]:
    """Write a folder of vectors for each split, so that search and score need no model."""
    counts = {}
    for name, path in paths.items():
        texts = trec.read_queries(path)
        vectors = encoder.encode(list(texts.values()), "query", form.batch_size)
        contracts.write_shard(folder / name / "shard-00000", list(texts), vectors)
        counts[name] = len(texts)
    return counts


def _finish(
    folder: Path,
    facts: Mapping[str, Any],
    setting: Mapping[str, Any],
    model: Path,
    inputs: Iterable[Path],
) -> None:
    manifest.write(
        folder / "manifest.json",
        artefact={**facts, "weights": files.sha256(model / pretrained.WEIGHTS)},
        spec=setting,
        inputs=[*inputs, model],
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
    run: Annotated[list[Path], typer.Option(help="run whose pairs are scored; repeat for more")],
    spec: System,
    tag: Tag,
    output: Run,
) -> None:
    """Write the inner product of each (query, doc) pair of other runs, as a run."""
    form = command.parse_spec(schema.DenseSystem, spec)
    names, vectors = _read_queries(embeddings, queries)
    pairs = _numbered(trec.read_pairs(run), names, queries)
    shards = partial(contracts.read_shards, embeddings)
    scored = trec.rank(_named(search.pair_scores(shards, vectors, pairs), names))
    trec.write_run(output, scored, tag)
    _write_manifest(output, scored, form, [embeddings, queries.parent], run)


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


def _numbered(pairs: pl.DataFrame, names: list[str], queries: Path) -> pl.DataFrame:
    """Return the pairs with each query's row number."""
    rows = pl.DataFrame({"query_id": pl.Series(names, dtype=pl.String), "query": range(len(names))})
    strange = pairs.join(rows, on="query_id", how="anti")
    if strange.height:
        raise ResiduumError(
            f"{strange['run'][0]}: query_id {strange['query_id'][0]} is not in {queries} "
            f"({strange['query_id'].n_unique()} such ids)"
        )
    return pairs.join(rows, on="query_id", how="left", maintain_order="left").select(
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
