"""Search embedding shards exactly, gather their hits into runs, and score given pairs.

python -m residuum.dense search --embeddings DIR --queries DIR --k 1000 --output DIR ...
python -m residuum.dense gather --hits DIR ... --split NAME --spec JSON --tag TEXT --output RUN
python -m residuum.dense score --embeddings DIR ... --queries DIR/NAME --run OTHER_RUN ... ...

Each shard is searched by a job of its own; gather and score pass over all of them, one at a time.
No model is loaded. Must not know how vectors are made or which systems use the runs.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import polars as pl
import typer

from residuum.artefacts import contracts, files, manifest, trec
from residuum.cli import command
from residuum.cli.errors import ResiduumError
from residuum.config.schema.systems import DenseSystem
from residuum.neural import search

app = command.app(__doc__)

System = Annotated[str, typer.Option(help="JSON of DenseSystem")]


@app.command("search")
def search_shard(
    embeddings: Annotated[Path, typer.Option(help="folder of a shard of encoded docs")],
    queries: Annotated[
        Path, typer.Option(help="folder of encoded queries; all splits are searched")
    ],
    k: Annotated[int, typer.Option(min=1, help="docs of the shard per query")],
    output: Annotated[Path, typer.Option(help="folder to write, whole or not at all")],
    threads: Annotated[int, typer.Option(help="CPU threads")] = 1,
    device: command.Device = "auto",
) -> None:
    """Write, for each split, the shard's k docs per query with the largest inner product."""
    shard, splits = _facts([embeddings, queries])
    ids, vectors = contracts.read_vectors(embeddings)
    gpu, counts = _gpu(device, threads), {}
    with files.whole_directory(output) as folder:
        for split in splits["queries"]:
            query_ids, rows = contracts.read_vectors(queries / split)
            frames = search.hits(ids, vectors, np.asarray(rows), k, gpu)
            run = pl.concat([trec.rank(_with_ids(frame, query_ids), k) for frame in frames])
            trec.write_hits(folder / f"{split}.parquet", run)
            counts[split] = len(run)
        facts = {"shard": shard["shard"], "weights": shard["weights"], "hits": counts}
        inputs = [path / "manifest.json" for path in (embeddings, queries)]
        manifest.write(folder, facts, {"k": k}, inputs, "residuum.dense")


@app.command("gather")
def gather(
    hits: Annotated[list[Path], typer.Option(help="folder that search made; all shards")],
    split: Annotated[str, typer.Option(help="split whose run is made")],
    spec: System,
    tag: command.Tag,
    output: command.Run,
) -> None:
    """Merge the hits of all shards into the run of the best k docs per query.

    Docs are ordered by score, then doc_id, whatever their shard: the best k of all are among the
    best k of each. Memory holds the run and the hits of one shard.
    """
    system = command.parse_spec(DenseSystem, spec)
    _check_shards(hits, _facts(hits))
    for path in hits:
        if _manifest(path)["spec"]["k"] < system.k:
            raise ResiduumError(f"{path}: searched less deep than k {system.k} of {tag}")
    best = pl.DataFrame(schema=trec.HITS)
    for path in hits:
        both = pl.concat([best, trec.read_hits(path / f"{split}.parquet")])
        best = trec.rank(both, system.k).select(*trec.HITS)
    _write_run(output, trec.rank(best), tag, system, [path / "manifest.json" for path in hits])


@app.command("score")
def score_run(
    embeddings: Annotated[list[Path], typer.Option(help="folder of encoded docs; all shards")],
    queries: Annotated[Path, typer.Option(help="folder of a split's encoded queries")],
    run: Annotated[list[Path], typer.Option(help="run whose pairs are scored; repeat for more")],
    spec: System,
    tag: command.Tag,
    output: command.Run,
) -> None:
    """Write the inner product of each (query, doc) pair of other runs, as a run."""
    system = command.parse_spec(DenseSystem, spec)
    folders = [*embeddings, queries.parent]
    _check_shards(embeddings, _facts(folders)[:-1])
    ids, vectors = contracts.read_vectors(queries)
    numbers = pl.DataFrame({"query_id": pl.Series(ids, dtype=pl.String), "query": range(len(ids))})
    pairs = trec.read_pairs(run).join(numbers, on="query_id", how="left", maintain_order="left")
    unknown = pairs.filter(pl.col("query").is_null())
    if unknown.height:
        raise ResiduumError(
            f"{unknown['run'][0]}: query_id {unknown['query_id'][0]} is not in {queries} "
            f"({unknown['query_id'].n_unique()} such ids)"
        )
    shards = (contracts.read_vectors(path) for path in embeddings)
    scored = trec.rank(_with_ids(search.pair_scores(shards, vectors, pairs), ids))
    inputs = [*(path / "manifest.json" for path in folders), *run]
    _write_run(output, scored, tag, system, inputs)


def _gpu(device: str, threads: int) -> bool:
    """Fix FAISS's threads; say whether it searches on a GPU: where it has one that is allowed."""
    import faiss

    faiss.omp_set_num_threads(threads)
    count = faiss.get_num_gpus() if hasattr(faiss, "StandardGpuResources") else 0
    if device == "cuda" and not count:
        print("FAISS sees no GPU (faiss-cpu?): searching on the CPU", file=sys.stderr)
    return device in ("auto", "cuda") and count > 0


def _manifest(folder: Path) -> dict[str, Any]:
    return dict(json.loads(files.read_bytes(folder / "manifest.json")))


def _facts(folders: Sequence[Path]) -> list[dict[str, Any]]:
    """Return what the manifests of folders say of them; all must stem from one model."""
    facts = [_manifest(folder)["artefact"] for folder in folders]
    for folder, own in zip(folders, facts, strict=True):
        if own["weights"] != facts[0]["weights"]:
            raise ResiduumError(
                f"{folders[0]} and {folder} were made by different models (their weights differ). "
                "Encode both with the same checkpoint."
            )
    return facts


def _check_shards(folders: Sequence[Path], facts: Sequence[dict[str, Any]]) -> None:
    """Refuse folders that are not all shards of one corpus, each once."""
    of = facts[0]["shard"]["of"]
    given = sorted((own["shard"]["of"], own["shard"]["number"]) for own in facts)
    if given != [(of, number) for number in range(of)]:
        named = ", ".join(f"{number} of {count}" for count, number in given)
        raise ResiduumError(
            f"{folders[0].parent}: given shards {named}; name each of the {of} shards once"
        )


def _with_ids(scored: pl.DataFrame, query_ids: list[str]) -> pl.DataFrame:
    ids = pl.Series("query_id", query_ids, pl.String)[scored["query"]]
    return scored.select(ids, "doc_id", "score")


def _write_run(
    output: Path, run: pl.DataFrame, tag: str, system: DenseSystem, inputs: list[Path]
) -> None:
    trec.write_run(output, run, tag)
    facts = {"queries": run["query_id"].n_unique(), "hits": len(run)}
    manifest.write(output, facts, system, inputs, "residuum.dense")


if __name__ == "__main__":
    command.main(app)
