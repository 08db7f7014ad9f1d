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
from collections.abc import Mapping, Sequence
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
    said, asked = _facts([embeddings, queries])
    ids, vectors = contracts.read_vectors(embeddings)
    gpu, counts = _gpu(device, threads), {}
    with files.whole_directory(output) as folder:
        for split in asked["queries"]:
            names, wanted = contracts.read_vectors(queries / split)
            found = search.hits(ids, vectors, np.asarray(wanted), k, gpu)
            run = pl.concat([trec.rank(_named(part, names), k) for part in found])
            trec.write_hits(folder / f"{split}.parquet", run)
            counts[split] = len(run)
        facts = {"shard": said["shard"], "weights": said["weights"], "hits": counts}
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
    form = command.parse_spec(DenseSystem, spec)
    _check_whole(hits, _facts(hits))
    shallow = [path for path in hits if _read(path)["spec"]["k"] < form.k]
    if shallow:
        raise ResiduumError(f"{shallow[0]}: searched less deep than k {form.k} of {tag}")
    best = pl.DataFrame(schema=trec.HITS)
    for path in hits:
        found = trec.read_hits(path / f"{split}.parquet")
        best = trec.rank(pl.concat([best, found]), form.k).select(*trec.HITS)
    run = trec.rank(best)
    trec.write_run(output, run, tag)
    _describe_run(output, run, form, [path / "manifest.json" for path in hits])


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
    form = command.parse_spec(DenseSystem, spec)
    folders = [*embeddings, queries.parent]
    _check_whole(embeddings, _facts(folders)[:-1])
    names, vectors = contracts.read_vectors(queries)
    pairs = _numbered(trec.read_pairs(run), names, queries)
    shards = (contracts.read_vectors(path) for path in embeddings)
    scored = trec.rank(_named(search.pair_scores(shards, vectors, pairs), names))
    trec.write_run(output, scored, tag)
    _describe_run(output, scored, form, [*(path / "manifest.json" for path in folders), *run])


def _gpu(device: str, threads: int) -> bool:
    """Fix FAISS's threads; say whether it searches on a GPU: where it has one that is wanted."""
    import faiss

    faiss.omp_set_num_threads(threads)
    count = faiss.get_num_gpus() if hasattr(faiss, "StandardGpuResources") else 0
    if device == "cuda" and not count:
        print("FAISS sees no GPU (faiss-cpu?): searching on the CPU", file=sys.stderr)
    return device in ("auto", "cuda") and count > 0


def _read(folder: Path) -> dict[str, Any]:
    return dict(json.loads(files.read_bytes(folder / "manifest.json")))


def _facts(folders: Sequence[Path]) -> list[dict[str, Any]]:
    """Return what the manifests of folders say of them; all must stem from one model."""
    facts = [_read(folder)["artefact"] for folder in folders]
    for folder, said in zip(folders, facts, strict=True):
        if said["weights"] != facts[0]["weights"]:
            raise ResiduumError(
                f"{folders[0]} and {folder} were made by different models (their weights differ). "
                "Encode both with the same checkpoint."
            )
    return facts


def _check_whole(folders: Sequence[Path], facts: Sequence[Mapping[str, Any]]) -> None:
    """Refuse folders that are not all shards of one corpus, each once."""
    of = facts[0]["shard"]["of"]
    found = sorted((said["shard"]["of"], said["shard"]["number"]) for said in facts)
    if found != [(of, number) for number in range(of)]:
        named = ", ".join(f"{number} of {count}" for count, number in found)
        raise ResiduumError(
            f"{folders[0].parent}: given shards {named}; name each of the {of} shards once"
        )


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


def _describe_run(output: Path, run: pl.DataFrame, form: DenseSystem, inputs: list[Path]) -> None:
    facts = {"queries": run["query_id"].n_unique(), "hits": len(run)}
    manifest.write(output, facts, form, inputs, "residuum.dense")


if __name__ == "__main__":
    command.main(app)
