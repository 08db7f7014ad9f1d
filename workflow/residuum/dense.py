"""Search embedding shards, exactly or not, gather their hits into runs, and score given pairs.

Command: `python -m residuum.dense search|gather|score ...`. Each shard is searched by a job of its
own, on a card where there is one; gather and score pass over all of them, one at a time. No model
is loaded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Annotated

import polars as pl
import typer
from pydantic import RootModel

from residuum.artefacts import files, hits, manifest, shards, trec, winners
from residuum.artefacts.residual import Residual
from residuum.artefacts.termvectors import TermVectors
from residuum.cli import command
from residuum.cli.errors import ResiduumError, unknown
from residuum.code.tables import Kinds
from residuum.config.schema.search import Search
from residuum.config.schema.systems import DenseSystem
from residuum.neural import cards
from residuum.vectors.nearest import Index, pair_scores, use_threads, with_ids, won_by_others
from residuum.vectors.scores import Vectors, distinct, in_order

app = command.app(__doc__)

Approximate = RootModel[Annotated[Search, Kinds("residuum.vectors.approximate:SEARCHES")] | None]
System = Annotated[str, typer.Option(help="JSON of DenseSystem")]
BYTES_AT_ONCE = 1 << 26  # of each run whose pairs are scored: for each part all ids are read again


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
    index = Index(docs, search, "cpu" if sparse else device_of(device, threads, search))
    earlier = command.pairs(judged_before or [])
    with files.whole_directory(output) as folder:
        each = None if first_passages else shard.get("vectors_of_text")
        for name in split or encoded["queries"]:
            residual = Residual([path for judged, path in earlier if judged == name])
            some = in_order(shards.read(queries / name), hits.queries_at_once(k + residual.most))
            parts = (best_docs(index, docs, vectors, k, residual, each) for vectors in some)
            counts[name] = hits.write(folder, name, parts)
        facts = {"shard": shard_record, "weights": shard["weights"], "hits": counts}
        setting = {"k": k, **({"search": search.model_dump(mode="json")} if search else {})}
        setting |= {"passages": "first"} if first_passages else {}
        inputs = [path / "manifest.json" for path in (embeddings, queries)]
        inputs += dict.fromkeys(path for _, path in earlier)
        manifest.write(folder, facts, setting, inputs, "residuum.dense")


def best_docs(
    index: Index,
    docs: Vectors,
    queries: Vectors,
    k: int,
    residual: Residual,
    each: int | None,
) -> pl.DataFrame:
    """Return the best k docs of some queries, with the columns of a file of hits.

    `each` is the number of vectors of a text, where a model has several.
    """
    frames = index.search(queries, k + residual.most)
    named = (residual.left(with_ids(frame, queries[0])) for frame in frames)
    run = trec.rank(pl.concat(named), k)
    best = run.select(*trec.HITS)
    if each is None:
        return best
    assert not isinstance(docs, TermVectors), "only dense vectors are several of a text"
    assert not isinstance(queries, TermVectors), "only dense vectors are several of a text"
    won = won_by_others(docs, queries, trec.cut(run, winners.FIRST), each)
    won = won.with_columns(pl.lit(value=True).alias(trec.OTHER))
    marked = best.join(won, on=trec.PAIR, how="left", maintain_order="left")
    return marked.with_columns(pl.col(trec.OTHER).fill_null(value=False))


@app.command("gather")
def gather(
    folders: Annotated[
        list[Path], typer.Option("--hits", help="folder that search made; all shards")
    ],
    split: Annotated[
        list[str],
        typer.Option(help="split whose run is made; repeat for folds, each with hits of its own"),
    ],
    spec: System,
    tag: command.Tag,
    output: command.Run,
) -> None:
    """Merge the hits of all shards into the run of the best k docs per query.

    The best k of all are among the best k of each. Memory holds the lists of some thousand queries,
    or the run where it is of folds. A fold's queries are answered by the hits of the model that has
    not seen the fold. For a model with several vectors a text, the manifest has the share of the
    first ten hits that other vectors than the first win.
    """
    system, facts = command.parse_spec(DenseSystem, spec), dict[str, float]()

    def merged() -> Iterator[pl.DataFrame]:
        first = won = 0
        for name in split:
            for tables in hits.read(_answers(folders, name, system.k, tag), name):
                best, others = pl.DataFrame(schema=trec.HITS), list[pl.DataFrame]()
                for table in tables:
                    both = pl.concat([best, table.select(*trec.HITS)])
                    best = trec.rank(both, system.k).select(*trec.HITS)
                    if trec.OTHER in table.columns:
                        others.append(table.filter(trec.OTHER))
                run = trec.rank(best)
                if others:
                    top = trec.cut(run, winners.FIRST)
                    first += top.height
                    won += top.join(pl.concat(others), on=trec.PAIR, how="semi").height
                yield run
        facts.update({winners.SHARE: won / first} if first else {})

    lists = merged() if len(split) == 1 else [trec.rank(pl.concat(merged()))]
    inputs = [path / "manifest.json" for path in folders]
    _write_run(output, lists, tag, system, inputs, facts)


def _answers(folders: list[Path], split: str, k: int, tag: str) -> list[Path]:
    """Return the folders of all shards that were searched for a split, deep enough."""
    answers = [path for path in folders if hits.holds(path, split)]
    if not answers:
        raise ResiduumError(
            f"{folders[0].parent}: no hits for the queries of {split}. A training split is "
            "searched only at the depth of the systems that negatives are drawn from"
        )
    shards.check(answers, shards.facts_of(answers))
    depths = [manifest.read(path / manifest.FOLDER)["spec"]["k"] for path in answers]
    for path, depth in zip(answers, depths, strict=True):
        if depth < k:
            raise ResiduumError(f"{path}: its search was less deep than k {k} of {tag}")
        if depth != depths[0]:  # their files hold other queries
            raise ResiduumError(
                f"{path}: searched at k {depth}, and {answers[0]} at k {depths[0]}. Search all "
                "shards at one depth"
            )
    return answers


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
    vectors = [shards.read(folder) for folder in queries]
    numbered = [numbers(ids) for ids, *_ in vectors]
    known = {query_id for some in numbered for query_id in some["query_id"]}
    answers = list(zip(vectors, numbered, of_each(queries, embeddings), strict=True))

    def lists() -> Iterator[pl.DataFrame]:
        for pairs in trec.read_pairs(run, BYTES_AT_ONCE):
            lost = pairs.filter(~pl.col("query_id").is_in(known))
            if lost.height:
                raise ResiduumError(
                    f"{lost['run'][0]}: query_id {lost['query_id'][0]} is not in "
                    f"{', '.join(map(str, queries))}"
                )
            parts = []
            for query_vectors, each, folders in answers:
                numbered = pairs.join(each, on="query_id", maintain_order="left")
                docs = (shards.read(folder, system.first) for folder in folders)
                scored = pair_scores(docs, query_vectors, numbered)
                parts.append(with_ids(scored, query_vectors[0]))
            yield trec.rank(pl.concat(parts))

    folders = [*embeddings, *(folder.parent for folder in queries)]
    inputs = [*(path / "manifest.json" for path in folders), *run]
    _write_run(output, lists(), tag, system, inputs)


def numbers(ids: Sequence[str]) -> pl.DataFrame:
    """Return query_id and its number, given the query of each vector."""
    each = distinct(ids)
    return pl.DataFrame({"query_id": pl.Series(each, dtype=pl.String), "query": range(len(each))})


def of_each(queries: list[Path], folders: list[Path]) -> Iterator[list[Path]]:
    """Yield, for each folder of queries, an equal part of the shards, encoded by the same model."""
    bounds = [len(folders) * number // len(queries) for number in range(len(queries) + 1)]
    for folder, (start, end) in zip(queries, pairwise(bounds), strict=True):
        encoded = folders[start:end]
        shards.check(encoded, shards.facts_of([*encoded, folder.parent])[:-1])
        yield encoded


def device_of(requested: str, threads: int, search: Search | None) -> str:
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
    lists: Iterable[pl.DataFrame],
    tag: str,
    system: DenseSystem,
    inputs: list[Path],
    more: Mapping[str, object] = MappingProxyType({}),
) -> None:
    """Write a run that comes in parts, and its manifest with `more`, which the lists may fill."""
    written = trec.write_run(output, lists, tag)
    manifest.write(output, {**written._asdict(), **more}, system, inputs, "residuum.dense")


if __name__ == "__main__":
    command.main(app)
