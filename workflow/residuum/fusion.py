"""Fuse a lexical and a dense run: lambda * lexical + dense over the union of both lists.

Command: `python -m residuum.fusion tune|fuse ...`. Source: CLEAR Eq. 8 and section 4.
Must not know Lucene or torch: what a list lacks comes as a file of scores.
"""

import json
import sys
from pathlib import Path
from typing import Annotated

import polars as pl
import typer

from residuum.core import command, files, manifest, trec
from residuum.core.errors import ResiduumError
from residuum.core.schema import FusionSystem
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
    qrels: Annotated[Path, typer.Option(help="qrels of the tuning split")],
    output: Annotated[Path, typer.Option(help="JSON to write")],
    lexical_on_dense: LexicalOnDense = None,
    dense_on_lexical: DenseOnLexical = None,
) -> None:
    """Choose lambda on the tuning split: best mean, the first of the grid among equals."""
    from residuum.evaluate import evaluate

    system = command.parse_spec(FusionSystem, spec)
    measure = system.weight.measure
    if measure is None:
        raise ResiduumError(f"weight is fixed at {system.weight.value}: there is nothing to tune")
    inputs = [lexical, dense, qrels, lexical_on_dense, dense_on_lexical]
    pairs = union(system, lexical, dense, lexical_on_dense, dense_on_lexical)
    judgements = trec.read_qrels(qrels)
    tried = []
    for weight in system.weight.grid:
        metrics = evaluate(combine(pairs, weight, system.k), judgements, [measure])
        tried.append({"lambda": weight, measure: metrics["value"].mean()})
    best = max(tried, key=lambda point: point[measure])
    at_edge = best["lambda"] in (min(system.weight.grid), max(system.weight.grid))
    if at_edge:
        print(f"warning: lambda {best['lambda']} sits at an edge of its grid", file=sys.stderr)
    record = {"lambda": best["lambda"], "at_edge": at_edge, "measure": measure, "tried": tried}
    record["queries"] = judgements["query_id"].n_unique()
    files.write_text(output, json.dumps(record, indent=1) + "\n")
    _write_manifest(output, record, system, inputs)


@app.command()
def fuse(
    spec: SpecText,
    lexical: Lexical,
    dense: Dense,
    tag: Annotated[str, typer.Option(help="last column of the run")],
    output: Annotated[Path, typer.Option(help="run to write")],
    tuning: Annotated[
        Path | None, typer.Option(help="JSON of tune; none for a fixed value")
    ] = None,
    lexical_on_dense: LexicalOnDense = None,
    dense_on_lexical: DenseOnLexical = None,
) -> None:
    """Write the fused run with the lambda that tune chose, or with the spec's fixed one."""
    system = command.parse_spec(FusionSystem, spec)
    weight = _weight(system, tuning)
    pairs = union(system, lexical, dense, lexical_on_dense, dense_on_lexical)
    trec.write_run(output, combine(pairs, weight, system.k), tag)
    inputs = [lexical, dense, tuning, lexical_on_dense, dense_on_lexical]
    _write_manifest(output, {"lambda": weight}, system, inputs)


def _weight(system: FusionSystem, tuning: Path | None) -> float:
    if system.weight.value is not None:
        return system.weight.value
    if tuning is None:
        raise ResiduumError("weight is chosen on a tuning split: give --tuning, written by tune")
    return float(json.loads(files.read_bytes(tuning))["lambda"])


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


def combine(pairs: pl.DataFrame, weight: float, k: int) -> pl.DataFrame:
    """Rank by `weight * lexical + dense` (CLEAR Eq. 8) and cut at k."""
    score = (weight * pl.col("lexical") + pl.col("dense")).alias("score")
    return trec.rank(pairs.select(*PAIR, score), k)


if __name__ == "__main__":
    command.main(app)
