"""Fuse the runs of several systems: a weighted sum of their scores, and the choice of the weight.

Command: `python -m residuum.fusion tune|fuse ...`. Source: CLEAR Eq. 8 and section 4, where
lambda weighs the lexical run: lambda * lexical + dense.
Must not know Lucene or torch: what a list lacks comes as a file of scores.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import polars as pl
import typer

from residuum.artefacts import manifest, trec
from residuum.cli import command
from residuum.cli.errors import ResiduumError
from residuum.config.measures import cutoff
from residuum.config.schema.systems import FusionSystem
from residuum.tuning import folds, fused
from residuum.tuning.choosing import choose
from residuum.tuning.record import Record
from residuum.tuning.values import of_rankings

app = command.app(__doc__)
LAMBDA = "lambda"

SpecText = Annotated[str, typer.Option(help="schema.FusionSystem as JSON")]
Runs = Annotated[list[str], typer.Option(help="a part and its run: SYSTEM=RUN; repeat for each")]
Scores = Annotated[
    list[str] | None,
    typer.Option(
        help="a part with true scores and a file of them: SYSTEM=SCORES; one for each other part"
    ),
]


@app.command()
def tune(
    spec: SpecText,
    run: Runs,
    qrels: command.Qrels,
    output: Annotated[Path, typer.Option(help="JSON to write")],
    scores: Scores = None,
    fold: command.Folds = None,
) -> None:
    """Choose lambda on the tuning split: best mean, the first of the grid among equals.

    Where the split has folds, each gets the lambda that is best on the others.
    """
    system = command.parse_spec(FusionSystem, spec)
    grid, measure = system.interpolation.grid, system.interpolation.measure
    if grid is None or measure is None:
        raise ResiduumError(
            f"lambda is fixed at {system.interpolation.value}: there is nothing to tune"
        )
    judgements = trec.read_qrels(qrels)
    query_ids = judgements["query_id"].unique().sort().to_list()
    depth = min(system.k, cutoff(measure) or system.k)
    unions = _lists(system, run, scores).unions(query_ids)
    pairs = pl.concat(fused.contenders(some, grid, depth) for some in unions)
    runs = [fused.ranked(pairs, weight, depth) for weight in grid]
    values = of_rankings(runs, judgements, measure)
    settings: list[dict[str, int | float]] = [{LAMBDA: weight} for weight in grid]
    record = choose(settings, values, query_ids, measure, _fold_of(query_ids, fold or []))
    inputs = [*_paths(run), qrels, *_paths(scores or []), *(fold or [])]
    record.write(output, system, inputs, "residuum.fusion")


def _fold_of(judged: list[str], paths: list[Path]) -> dict[str, int]:
    """Return the fold of each query; those without judgements are in one too, and get a lambda."""
    queries = [trec.read_queries(path) for path in paths]
    asked = [*judged, *(query_id for ids in queries for query_id in ids)] if queries else []
    return folds.named(list(dict.fromkeys(asked)), queries)


@app.command()
def fuse(
    spec: SpecText,
    run: Runs,
    tag: command.Tag,
    output: command.Run,
    tuning: Annotated[
        Path | None, typer.Option(help="JSON of tune; none for a fixed value")
    ] = None,
    scores: Scores = None,
) -> None:
    """Write the fused run with the lambda that tune chose, or with the spec's fixed one."""
    system = command.parse_spec(FusionSystem, spec)
    record = _record(system, tuning)
    lists = _lists(system, run, scores)
    trec.write_run(output, _fused(system, lists, record, tuning), tag)
    inputs = [*_paths(run), *([tuning] if tuning else []), *_paths(scores or [])]
    manifest.write(output, record.facts(), system, inputs, "residuum.fusion")


def _record(system: FusionSystem, tuning: Path | None) -> Record:
    if system.interpolation.value is not None:
        return Record.fixed({LAMBDA: system.interpolation.value})
    if tuning is None:
        raise ResiduumError("lambda is chosen on a tuning split: give --tuning, written by tune")
    return Record.read(tuning)


def _fused(
    system: FusionSystem, lists: fused.Lists, record: Record, tuning: Path | None
) -> Iterator[pl.DataFrame]:
    for pairs in lists.unions():
        yield fused.ranked(pairs, _weights(pairs, record, tuning), system.k)


def _weights(pairs: pl.DataFrame, record: Record, tuning: Path | None) -> pl.Series | float:
    """Return the lambda of every pair: one for all, or that of its query's fold."""
    if not record.fold_of:
        return float(record.setting[LAMBDA])
    of_query = {query_id: setting[LAMBDA] for query_id, setting in record.of_queries().items()}
    strange = pairs.filter(~pl.col("query_id").is_in(list(of_query)))["query_id"]
    if strange.len():
        raise ResiduumError(
            f"{tuning}: query {strange[0]} is in none of its folds. A lambda that was chosen by "
            "cross-validation serves the split it was chosen on: let interpolation.tune_on name "
            "that one"
        )
    return pairs["query_id"].replace_strict(of_query, return_dtype=pl.Float64)


def _lists(system: FusionSystem, run: list[str], scores: list[str] | None) -> fused.Lists:
    files: dict[str, list[Path]] = {}
    for text in scores or []:
        part, _, path = text.partition("=")
        files.setdefault(part, []).append(Path(path))
    runs = command.named_paths("--run", run, system.parts)
    return fused.Lists(system, runs, files)


def _paths(named: list[str]) -> list[Path]:
    return [Path(text.partition("=")[2]) for text in named]


if __name__ == "__main__":
    command.main(app)
