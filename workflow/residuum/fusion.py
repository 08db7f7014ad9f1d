"""Fuse a lexical and a dense run: lambda * lexical + dense over the union of both lists.

Command: `python -m residuum.fusion tune|fuse ...`. Source: CLEAR Eq. 8 and section 4.
Must not know Lucene or torch: what a list lacks comes as a file of scores.
"""

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import polars as pl
import typer

from residuum import folds
from residuum.core import command, files, manifest, trec
from residuum.core.errors import ResiduumError
from residuum.core.schema.systems import FusionSystem
from residuum.core.trec import PAIR

app = command.app(__doc__)

SpecText = Annotated[str, typer.Option(help="schema.FusionSystem as JSON")]
Lexical = Annotated[Path, typer.Option(help="run of the lexical system")]
Dense = Annotated[Path, typer.Option(help="run of the dense system")]
LexicalOnDense = Annotated[
    Path | None, typer.Option(help="lexical scores of the dense run's docs, for true_score")
]
DenseOnLexical = Annotated[
    Path | None, typer.Option(help="dense scores of the lexical run's docs, for true_score")
]


@app.command()
def tune(
    spec: SpecText,
    lexical: Lexical,
    dense: Dense,
    qrels: command.Qrels,
    output: Annotated[Path, typer.Option(help="JSON to write")],
    lexical_on_dense: LexicalOnDense = None,
    dense_on_lexical: DenseOnLexical = None,
    fold: command.Folds = None,
) -> None:
    """Choose lambda on the tuning split: best mean, the first of the grid among equals.

    Where the split has folds, each gets the lambda that is best on the others.
    """
    from residuum.evaluate import evaluate

    system = command.parse_spec(FusionSystem, spec)
    measure = system.weight.measure
    if measure is None:
        raise ResiduumError(f"weight is fixed at {system.weight.value}: there is nothing to tune")
    inputs = [lexical, dense, qrels, lexical_on_dense, dense_on_lexical]
    pairs = union(system, lexical, dense, lexical_on_dense, dense_on_lexical)
    judgements = trec.read_qrels(qrels)
    values = {
        weight: evaluate(combine(pairs, weight, system.k), judgements, [measure])
        for weight in system.weight.grid
    }
    queries = [trec.read_queries(path) for path in fold or []]
    record = _by_fold(values, queries) if queries else _best(values, measure)
    record |= {"measure": measure, "queries": judgements["query_id"].n_unique()}
    files.write_text(output, json.dumps(record, indent=1) + "\n")
    _write_manifest(output, record, system, [*inputs, *(fold or [])])


def _best(values: dict[float, pl.DataFrame], measure: str) -> dict[str, Any]:
    """Return the lambda with the best mean, and the means of all."""
    tried = [{"lambda": weight, measure: m["value"].mean()} for weight, m in values.items()]
    best = max(tried, key=lambda point: point[measure])
    at_edge = best["lambda"] in (min(values), max(values))
    if at_edge:
        print(f"warning: lambda {best['lambda']} sits at an edge of its grid", file=sys.stderr)
    return {"lambda": best["lambda"], "at_edge": at_edge, "tried": tried}


def _by_fold(values: dict[float, pl.DataFrame], queries: list[dict[str, str]]) -> dict[str, Any]:
    """Return the lambda of each fold, chosen on the others' queries, and the fold of each query.

    Queries without judgements are in a fold too, so that they get a lambda.
    """
    judged = next(iter(values.values()))["query_id"].to_list()
    fold_of = folds.named([query_id for ids in queries for query_id in ids], queries)
    folds.named(judged, queries)
    assert all(found["query_id"].to_list() == judged for found in values.values())
    table = np.array([found["value"].to_numpy() for found in values.values()])
    choices = folds.choose(table, np.array([fold_of[query_id] for query_id in judged]))
    weights = list(values)
    return {
        "folds": [
            {
                "queries": choice.queries,
                "chosen": {"lambda": weights[choice.setting]},
                "value_on_others": choice.value_on_others,
                "value_held_out": choice.value_held_out,
                "at_edge": folds.edges({"lambda": weights[choice.setting]}, {"lambda": weights}),
            }
            for choice in choices
        ],
        "fold_of": fold_of,
    }


@app.command()
def fuse(
    spec: SpecText,
    lexical: Lexical,
    dense: Dense,
    tag: command.Tag,
    output: command.Run,
    tuning: Annotated[
        Path | None, typer.Option(help="JSON of tune; none for a fixed value")
    ] = None,
    lexical_on_dense: LexicalOnDense = None,
    dense_on_lexical: DenseOnLexical = None,
) -> None:
    """Write the fused run with the lambda that tune chose, or with the spec's fixed one."""
    system = command.parse_spec(FusionSystem, spec)
    chosen = _chosen(system, tuning)
    pairs = union(system, lexical, dense, lexical_on_dense, dense_on_lexical)
    run = combine(pairs, _weights(pairs, chosen, tuning), system.k)
    trec.write_run(output, run, tag)
    inputs = [lexical, dense, tuning, lexical_on_dense, dense_on_lexical]
    _write_manifest(output, {k: v for k, v in chosen.items() if k != "fold_of"}, system, inputs)


def _chosen(system: FusionSystem, tuning: Path | None) -> dict[str, Any]:
    """Return {"lambda": value}, or the folds with a lambda each and the fold of each query."""
    if system.weight.value is not None:
        return {"lambda": system.weight.value}
    if tuning is None:
        raise ResiduumError("weight is chosen on a tuning split: give --tuning, written by tune")
    record = json.loads(files.read_bytes(tuning))
    return {key: record[key] for key in ("lambda", "folds", "fold_of") if key in record}


def _weights(pairs: pl.DataFrame, chosen: dict[str, Any], tuning: Path | None) -> pl.Series | float:
    """Return the lambda of every pair: one for all, or that of its query's fold."""
    if "folds" not in chosen:
        return float(chosen["lambda"])
    values = [fold["chosen"]["lambda"] for fold in chosen["folds"]]
    of_query = {query_id: values[fold] for query_id, fold in chosen["fold_of"].items()}
    strange = pairs.filter(~pl.col("query_id").is_in(list(of_query)))["query_id"]
    if strange.len():
        raise ResiduumError(
            f"{tuning}: query {strange[0]} is in none of its folds. A lambda that was chosen by "
            "cross-validation serves the split it was chosen on: let weight.tune_on name that one"
        )
    return pairs["query_id"].replace_strict(of_query, return_dtype=pl.Float64)


def _write_manifest(
    output: Path, artefact: dict[str, object], system: FusionSystem, inputs: list[Path | None]
) -> None:
    manifest.write(
        manifest.beside(output),
        artefact=artefact,
        spec=system.model_dump(mode="json"),
        inputs=[path for path in inputs if path],
        module="residuum.fusion",
    )


def union(
    system: FusionSystem,
    lexical: Path,
    dense: Path,
    lexical_on_dense: Path | None,
    dense_on_lexical: Path | None,
) -> pl.DataFrame:
    """Return query_id, doc_id, lexical, dense for the docs that either list holds."""
    missing = system.missing
    runs = {"lexical": trec.read_run(lexical), "dense": trec.read_run(dense)}
    sides = [
        _side("lexical", runs, missing.lexical, lexical_on_dense),
        _side("dense", runs, missing.dense, dense_on_lexical),
    ]
    pairs = sides[0].join(sides[1], on=PAIR, how="full", coalesce=True)
    pairs = _filled(pairs, "lexical", runs["lexical"], missing.lexical, lexical_on_dense)
    return _filled(pairs, "dense", runs["dense"], missing.dense, dense_on_lexical)


def _side(
    name: str, runs: dict[str, pl.DataFrame], missing: str, scores: Path | None
) -> pl.DataFrame:
    """Return one system's scores: those of its list, and its true ones of the other's docs."""
    own = runs[name].select(*PAIR, pl.col("score").alias(name))
    if missing == "minimum":
        return own
    if scores is None:
        raise ResiduumError(f"missing.{name} is true_score: its scores file is needed")
    (other,) = (run for key, run in runs.items() if key != name)
    true = trec.read_run(scores).select(*PAIR, pl.col("score").alias(name))
    wanted = true.join(other, on=PAIR, how="semi").join(own, on=PAIR, how="anti")
    return pl.concat([own, wanted])


def _filled(
    pairs: pl.DataFrame, name: str, run: pl.DataFrame, missing: str, scores: Path | None
) -> pl.DataFrame:
    """Give each pair that one system's list lacks what `missing` says: the minimum, or an error."""
    if missing == "minimum":
        lowest = run.group_by("query_id").agg(pl.col("score").min().alias("lowest"))
        joined = pairs.join(lowest, on="query_id", how="left")
        filled = pl.coalesce(name, "lowest", pl.lit(0.0)).alias(name)
        return joined.with_columns(filled).drop("lowest")
    lacking = pairs.filter(pl.col(name).is_null())
    if lacking.height:
        query_id, doc_id = lacking.sort(PAIR).row(0)[:2]
        raise ResiduumError(
            f"{scores}: no {name} score for query {query_id}, doc {doc_id} "
            f"({lacking.height} pairs lack one). Delete the file and run again."
        )
    return pairs


def combine(pairs: pl.DataFrame, weight: float | pl.Series, k: int) -> pl.DataFrame:
    """Rank by `weight * lexical + dense` (CLEAR Eq. 8) and cut at k; weights may be per pair."""
    score = (weight * pl.col("lexical") + pl.col("dense")).alias("score")
    return trec.rank(pairs.select(*PAIR, score), k)


if __name__ == "__main__":
    command.main(app)
