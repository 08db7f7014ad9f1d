"""Search embedding shards, exactly or not, gather their hits into runs, and score given pairs.

Command: `python -m residuum.dense search|gather|score ...`. Each shard is searched by a job of its
own, on a card where there is one; gather and score pass over all of them, one at a time. No model
is loaded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Annotated

import polars as pl
import typer
from pydantic import RootModel

from residuum.artefacts import files, manifest, shards, trec, winners
from residuum.artefacts.residual import Residual
from residuum.artefacts.termvectors import TermVectors
from residuum.cli import command
from residuum.cli.errors import ResiduumError, unknown
from residuum.code.tables import Kinds
from residuum.config.schema.search import Search
from residuum.config.schema.systems import DenseSystem
from residuum.neural import cards
from residuum.vectors.nearest import Index, pair_scores, use_threads, with_ids, won_by_others
from residuum.vectors.scores import distinct

app = command.app(__doc__)

Approximate = RootModel[Annotated[Search, Kinds("residuum.vectors.approximate:SEARCHES")] | None]
System = Annotated[str, typer.Option(help="JSON of DenseSystem")]


@app.command("search")
def search_shard(
    embeddings: Annotated[Path, typer.Option(help="folder of a shard of encoded docs")],
    queries: Annotated[Path, typer.Option(help="folder of encoded queries")],
    k: Annotated[int, typer.Option(min=1, help="docs of the shard per query")],
    output: command.Folder,
    threads: Annotated[int, typer.Option(min=1, help="CPU threads")] = 1,
    device: command.Device = "auto",
    judged_before: Annotated[
        list[str] | None,
        typer.Option(
            help="SPLIT=FILE: qrels of an earlier round of a split, or its queries; repeat"
        ),
    ] = None,
    split: Annotated[
        list[str] | None,
        typer.Option(
            help="split whose queries are searched for; repeat; default: all encoded splits"
        ),
    ] = None,
    spec: Annotated[str, typer.Option(help="JSON of Search; null compares all vectors")] = "null",
    first_passages: Annotated[
        bool, typer.Option("--first-passages", help="use only the first vector of each doc")
    ] = False,
) -> None:
    """Write, for each split, the shard's k docs per query with the largest inner product.

    An approximate search may miss some of these docs. The scores of the docs that it finds are
    exact. Docs that an earlier round judged for a query are left out, and so is the doc with the
    id of a query that is given with its split.
    """
    shard, encoded = shards.facts_of([embeddings, queries])
    shard_record = shards.number_of(embeddings, shard)
    manifest.facts(queries, "a folder of encoded queries", "queries")
    for name in split or ():
        if name not in encoded["queries"]:
            raise ResiduumError(f"{queries}: {unknown('encoded split', name, encoded['queries'])}")
    search = command.parse_spec(Approximate, spec).root
    docs = shards.read(embeddings, first_passages)
    use_threads(threads)
    sparse, counts = isinstance(docs, TermVectors), {}
    index = Index(docs, search, "cpu" if sparse else _device(device, threads, search))
    earlier = command.pairs(judged_before or [])
    with files.whole_directory(output) as folder:
        for name in split or encoded["queries"]:
            residual = Residual([path for judged, path in earlier if judged == name])
            query_vectors = shards.read(queries / name)
            frames = index.search(query_vectors, k + residual.most)
            named = (residual.left(with_ids(frame, query_vectors[0])) for frame in frames)
            run = pl.concat([trec.rank(hits, k) for hits in named])
            trec.write_hits(folder / f"{name}.parquet", run)
            if "vectors_of_text" in shard and not first_passages:
                each, top = shard["vectors_of_text"], trec.cut(run, winners.FIRST)
                winners.write(folder, name, won_by_others(docs, query_vectors, top, each))
            counts[name] = len(run)
        facts = {"shard": shard_record, "weights": shard["weights"], "hits": counts}
        setting = {"k": k, **({"search": search.model_dump(mode="json")} if search else {})}
        setting |= {"passages": "first"} if first_passages else {}
        inputs = [path / "manifest.json" for path in (embeddings, queries)]
        inputs += dict.fromkeys(path for _, path in earlier)
        manifest.write(folder, facts, setting, inputs, "residuum.dense")


@app.command("gather")
def gather(
    hits: Annotated[list[Path], typer.Option(help="folder that search made; all shards")],
    split: Annotated[
        list[str],
        typer.Option(help="split whose run is made; repeat for folds, each with hits of its own"),
    ],
    spec: System,
    tag: command.Tag,
    output: command.Run,
) -> None:
    """Merge the hits of all shards into the run of the best k docs per query.

    The best k of all are among the best k of each. Memory holds the run and one shard's hits. A
    fold's queries are answered by the hits of the model that has not seen the fold. For a model
    with several vectors a text, the manifest has the share of the first ten hits that other vectors
    than the first win.
    """
    system = command.parse_spec(DenseSystem, spec)
    best, others = pl.DataFrame(schema=trec.HITS), list[pl.DataFrame | None]()
    for path, name in _answers(hits, split):
        if manifest.read(path / manifest.FOLDER)["spec"]["k"] < system.k:
            raise ResiduumError(f"{path}: its search was less deep than k {system.k} of {tag}")
        both = pl.concat([best, trec.read_hits(path / f"{name}.parquet")])
        best = trec.rank(both, system.k).select(*trec.HITS)
        others.append(winners.read(path, name))
    run, known = trec.rank(best), [pairs for pairs in others if pairs is not None]
    facts = {}
    if len(known) == len(others) and (first := trec.cut(run, winners.FIRST)).height:
        won = first.join(pl.concat(known), on=trec.PAIR, how="semi")
        facts = {winners.SHARE: won.height / first.height}
    _write_run(output, run, tag, system, [path / "manifest.json" for path in hits], facts)


def _answers(hits: list[Path], splits: list[str]) -> Iterator[tuple[Path, str]]:
    """Yield (folder of a shard's hits, split) for all shards of each split."""
    for name in splits:
        folders = [path for path in hits if (path / f"{name}.parquet").is_file()]
        if not folders:
            raise ResiduumError(
                f"{hits[0].parent}: no hits for the queries of {name}. A training split is "
                "searched only at the depth of the systems that negatives are drawn from"
            )
        shards.check(folders, shards.facts_of(folders))
        yield from ((path, name) for path in folders)


@app.command("score")
def score_run(
    embeddings: Annotated[list[Path], typer.Option(help="folder of encoded docs; all shards")],
    queries: Annotated[
        list[Path],
        typer.Option(
            help="folder of a split's encoded queries; one for each fold, as the embeddings"
        ),
    ],
    run: Annotated[list[Path], typer.Option(help="run whose pairs are scored; repeat for more")],
    spec: System,
    tag: command.Tag,
    output: command.Run,
) -> None:
    """Write the inner product of each (query, doc) pair of other runs, as a run.

    With the queries of several folds, a query is scored by the vectors of its own fold. The first
    shards belong to the first queries, and so on.
    """
    system = command.parse_spec(DenseSystem, spec)
    pairs, query_vectors = trec.read_pairs(run), [shards.read(folder) for folder in queries]
    known = {query_id for ids, *_ in query_vectors for query_id in ids}
    lost = pairs.filter(~pl.col("query_id").is_in(known))
    if lost.height:
        raise ResiduumError(
            f"{lost['run'][0]}: query_id {lost['query_id'][0]} is not in "
            f"{', '.join(map(str, queries))} ({lost['query_id'].n_unique()} such ids)"
        )
    parts = []
    for vectors, folders in zip(query_vectors, _of_each(queries, embeddings), strict=True):
        ids = vectors[0]
        each = distinct(ids)
        rows = {"query_id": pl.Series(each, dtype=pl.String), "query": range(len(each))}
        numbered = pairs.join(pl.DataFrame(rows), on="query_id", maintain_order="left")
        docs = (shards.read(folder, system.first) for folder in folders)
        parts.append(with_ids(pair_scores(docs, vectors, numbered), ids))
    folders = [*embeddings, *(folder.parent for folder in queries)]
    inputs = [*(path / "manifest.json" for path in folders), *run]
    _write_run(output, trec.rank(pl.concat(parts)), tag, system, inputs)


def _of_each(queries: list[Path], folders: list[Path]) -> Iterator[list[Path]]:
    """Yield, for each folder of queries, an equal part of the shards, encoded by the same model."""
    bounds = [len(folders) * number // len(queries) for number in range(len(queries) + 1)]
    for folder, (start, end) in zip(queries, pairwise(bounds), strict=True):
        encoded = folders[start:end]
        shards.check(encoded, shards.facts_of([*encoded, folder.parent])[:-1])
        yield encoded


def _device(requested: str, threads: int, search: Search | None) -> str:
    """Return the device of a search, cpu or cuda; only loading torch (3 s) can tell for certain."""
    if requested not in ("auto", "cuda") or (requested == "auto" and not cards.possible()):
        return "cpu"
    if search:  # FAISS detects the device itself
        cards.take()
        return "cuda"
    from residuum.neural import devices

    chosen = devices.choose(requested, "fp32", threads).name
    return chosen if chosen == "cuda" else "cpu"


def _write_run(
    output: Path,
    run: pl.DataFrame,
    tag: str,
    system: DenseSystem,
    inputs: list[Path],
    more: Mapping[str, object] = MappingProxyType({}),
) -> None:
    trec.write_run(output, run, tag)
    facts = {"queries": run["query_id"].n_unique(), "hits": len(run), **more}
    manifest.write(output, facts, system, inputs, "residuum.dense")


if __name__ == "__main__":
    command.main(app)
