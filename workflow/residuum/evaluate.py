"""Per-query metrics of a run, by ir_measures and by the table of residuum.config.measures.

Command: `python -m residuum.evaluate run ...`. Must not know systems, models or tables.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import polars as pl
import typer

from residuum.artefacts import contracts, indexes, manifest, trec
from residuum.cli import command
from residuum.cli.errors import NotRun, ResiduumError
from residuum.cli.progress import track
from residuum.config import measures
from residuum.tuning.evaluation import evaluate, means

app = command.app(__doc__)


@app.command()
def run(
    run: Annotated[Path, typer.Option(help="TREC run")],
    qrels: command.Qrels,
    measure: Annotated[list[str], typer.Option(help="ir_measures name, may be repeated")],
    output: Annotated[Path, typer.Option(help="metrics TSV to write")],
    answers: Annotated[Path | None, typer.Option(help="for measures by answers")] = None,
    corpus: Annotated[Path | None, typer.Option(help="corpus folder, for the same")] = None,
) -> None:
    """Write query_id, measure, value for every judged query; missing from the run = 0.

    Where the run was refused, so are the metrics. The manifest has the index of the run's.
    """
    inputs = [qrels, *([answers, corpus / "manifest.json"] if answers and corpus else [])]
    try:
        metrics = _metrics(trec.read_run(run), measure, qrels, answers, corpus)
        trec.write_metrics(output, metrics)
        averages = means(metrics)
        facts: dict[str, object] = {"queries": metrics["query_id"].n_unique(), "means": averages}
        shown = ", ".join(f"{name} {value:.4f}" for name, value in averages.items())
        print(f"{shown} ({facts['queries']} queries)", file=sys.stderr)
        if index := indexes.recorded(run):
            facts["index"] = index
            inputs = [manifest.beside(run), *inputs]
    except NotRun as reason:
        trec.write_refusal(output, str(reason))
        facts = {"not_run": str(reason)}
    spec = {"measures": sorted(measure), "ties": "evaluated on ranks"}
    manifest.write(output, facts, spec, [run, *inputs], "residuum.evaluate")


def _metrics(
    run: pl.DataFrame, names: list[str], qrels: Path, answers: Path | None, corpus: Path | None
) -> pl.DataFrame:
    """Evaluate by ir_measures and by the functions of our own measures, as the names require."""
    groups: dict[str | None, list[str]] = {}
    for name in names:
        groups.setdefault(measures.own(name), []).append(name)
    parts = []
    for own, group in groups.items():
        compute: Callable[..., pl.DataFrame] = measures.VALUES[own] if own else evaluate
        if measures.reads(group[0]) == "judgements":
            parts.append(compute(run, trec.read_qrels(qrels), group))
        elif answers and corpus:
            count = contracts.corpus_manifest(corpus)["docs"]
            docs = track(contracts.read_docs(corpus), "look for answers", count, "docs")
            parts.append(compute(run, contracts.read_answers(answers), docs, group))
        else:
            raise ResiduumError(f"{', '.join(group)}: give --answers and --corpus")
    return pl.concat(parts)


if __name__ == "__main__":
    command.main(app)
