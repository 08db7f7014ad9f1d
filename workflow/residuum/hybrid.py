"""Exact hybrid search: the docs with the largest weighted sums of several models' inner products.

Command: `python -m residuum.hybrid search|tune|gather ...`. Source: Ma et al. 2020 (BioASQ), 3.
One pass compares every doc with every query by all weights of a grid. Runs of parts are not read.
No model is loaded.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import polars as pl
import typer

from residuum.artefacts import files, manifest, shards, trec
from residuum.artefacts.residual import Residual
from residuum.cli import command
from residuum.cli.errors import ResiduumError, unknown
from residuum.cli.progress import track
from residuum.config.measures import cutoff
from residuum.config.schema.systems import HybridSystem
from residuum.tuning.choosing import LAMBDA, Record, Setting, choose, folds_of
from residuum.tuning.evaluation import of_rankings
from residuum.vectors import hybrid
from residuum.vectors.nearest import with_ids
from residuum.vectors.scores import Vectors, distinct

app = command.app(__doc__)
SpecText = Annotated[str, typer.Option(help="schema.HybridSystem as JSON")]
Hits = Annotated[Path, typer.Option(help="folder that search made for a split")]


@app.command()
def search(
    spec: SpecText,
    embeddings: Annotated[
        list[str],
        typer.Option(help="PART=FOLDER of encoded docs; repeat for all shards of all parts"),
    ],
    queries: Annotated[
        list[str], typer.Option(help="PART=FOLDER of a split's encoded queries; one for each part")
    ],
    output: command.Folder,
    first_passages: Annotated[
        list[str] | None, typer.Option(help="PART of which only each doc's first vector is used")
    ] = None,
    judged_before: command.JudgedBefore = None,
) -> None:
    """Write, for each weight, the k docs per query with the largest sum.

    Docs that an earlier round judged for a query are left out.
    """
    system, residual = command.parse_spec(HybridSystem, spec), Residual(judged_before)
    folders, of_queries = _by_part(system, embeddings), _by_part(system, queries)
    for part in system.parts:
        if len(of_queries[part]) != 1:
            raise ResiduumError(f"--queries: {part} has {len(of_queries[part])} folders, not one")
        facts = shards.facts_of([*folders[part], of_queries[part][0].parent])
        shards.check(folders[part], facts[:-1])
    vectors = [shards.read(of_queries[part][0]) for part in system.parts]
    ids = distinct(vectors[0][0])
    if any(distinct(query_ids) != ids for query_ids, *_ in vectors):
        raise ResiduumError(f"{queries[0]}: the parts have other queries, or in another order")
    factors = [system.coefficients(weight) for weight in system.weights()]
    first = first_passages or []
    docs = [
        docs_of_part(part, folders[part], queries_of_part, part in first)
        for part, queries_of_part in zip(system.parts, vectors, strict=True)
    ]
    k = system.k + residual.most
    hits = hybrid.search(hybrid.in_blocks(docs, k), vectors, factors, k)
    with files.whole_directory(output) as folder:
        for number, weight in enumerate(system.weights()):
            named = with_ids(hits.filter(weight=number), ids)
            trec.write_hits(folder / _file(weight), trec.rank(residual.left(named), system.k))
        facts = {"queries": len(ids), "weights": system.weights()}
        facts |= {"first_passages": first} if first else {}
        inputs = [path / "manifest.json" for part in system.parts for path in folders[part]]
        inputs += [of_queries[part][0].parent / "manifest.json" for part in system.parts]
        manifest.write(folder, facts, system, [*inputs, *residual.paths], "residuum.hybrid")


def _by_part(system: HybridSystem, given: Sequence[str]) -> dict[str, list[Path]]:
    """Return {part: folders} in the order of the system's parts; a missing part is refused."""
    folders: dict[str, list[Path]] = {part: [] for part in system.parts}
    for text, (part, folder) in zip(given, command.pairs(given), strict=True):
        if part not in folders:
            raise ResiduumError(f"'{text}': {unknown('part', part, system.parts)}")
        folders[part].append(folder)
    if lacking := [part for part in folders if not folders[part]]:
        raise ResiduumError(f"no folder of {lacking[0]}; write {lacking[0]}=FOLDER")
    return folders


def docs_of_part(
    part: str, folders: Sequence[Path], queries: Vectors, first: bool
) -> Iterator[hybrid.Docs]:
    """Yield the shards of a part by their numbers, with all vectors of a doc or only its first."""
    numbers = [facts["shard"]["number"] for facts in shards.facts_of(folders)]
    ordered = [folder for _, folder in sorted(zip(numbers, folders, strict=True))]
    for folder in track(ordered, f"search {part}", len(ordered), "shards"):
        yield hybrid.docs_of(shards.read(folder, first), queries)


def _file(weight: float) -> str:
    return f"{weight!r}.parquet"


@app.command()
def tune(
    spec: SpecText,
    hits: Hits,
    qrels: command.Qrels,
    output: Annotated[Path, command.written("JSON to write")],
    fold: command.Folds = None,
) -> None:
    """Choose lambda on the tuning split: the best mean, and of equal means the first of the grid.

    If the split has folds, or the spec draws some, each fold gets the lambda that is best on the
    other folds.
    """
    system = command.parse_spec(HybridSystem, spec)
    measure = system.interpolation.measure
    if measure is None:
        text = f"lambda is fixed at {system.interpolation.value}: there is nothing to tune"
        raise ResiduumError(text)
    depth = min(system.k, cutoff(measure) or system.k)
    judged = trec.read_qrels(qrels)
    query_ids = judged["query_id"].unique().sort().to_list()
    tried = [trec.rank(trec.read_hits(hits / _file(w)), depth) for w in system.weights()]
    known = {query_id for run in tried for query_id in run["query_id"].unique()}
    folds = folds_of(system.interpolation, known, query_ids, fold)
    values = of_rankings(tried, judged, measure)
    settings: list[Setting] = [{LAMBDA: weight} for weight in system.weights()]
    record = choose(settings, values, query_ids, measure, folds)
    inputs = [hits / "manifest.json", qrels, *(fold or [])]
    record.write(output, system, inputs, "residuum.hybrid")


@app.command()
def gather(
    spec: SpecText,
    hits: Hits,
    tag: command.Tag,
    output: command.Run,
    tuning: Annotated[
        Path | None, typer.Option(help="JSON that tune wrote, unless lambda is fixed")
    ] = None,
) -> None:
    """Write the run with the chosen or fixed weight; each query of a fold has the fold's weight."""
    system = command.parse_spec(HybridSystem, spec)
    if (tuning is None) == (system.interpolation.value is None):
        raise ResiduumError("give --tuning if lambda is tuned, and only then")
    known = manifest.facts(hits, "a folder of hits", "weights")["weights"]
    inputs = [hits / "manifest.json", *([tuning] if tuning else [])]
    if tuning is None:
        [weight] = system.weights()
        run, facts = trec.read_hits(hits / _file(weight)), dict[str, object]({LAMBDA: weight})
    else:
        record = Record.read(tuning)
        run, facts = _chosen(hits, record, known), record.facts()
    ranked = trec.rank(run, system.k)
    trec.write_run(output, ranked, tag)
    facts |= {"queries": ranked["query_id"].n_unique(), "hits": len(ranked)}
    manifest.write(output, facts, system, inputs, "residuum.hybrid")


def _chosen(hits: Path, record: Record, known: Sequence[float]) -> pl.DataFrame:
    """Return the hits of each query at the weight chosen for the query."""
    of_queries: Mapping[str, Setting] = record.of_queries()
    settings = [choice.setting for choice in record.choices]
    parts = []
    for weight in dict.fromkeys(float(setting[LAMBDA]) for setting in settings):
        if weight not in known:
            raise ResiduumError(
                f"{hits}: not searched with lambda {weight}. Delete the folder and run again"
            )
        found = trec.read_hits(hits / _file(weight))
        if record.fold_of:
            ids = [q for q, setting in of_queries.items() if float(setting[LAMBDA]) == weight]
            found = found.filter(pl.col("query_id").is_in(ids))
        parts.append(found)
    return pl.concat(parts)


if __name__ == "__main__":
    command.main(app)
