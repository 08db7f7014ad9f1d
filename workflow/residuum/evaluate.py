"""Per-query metrics of a run: ir_measures on ranks, every judged query present.

Measures of our own are functions of other modules: residuum.config.measures has their table.
Command: `python -m residuum.evaluate run ...`. Must not know systems, models or tables.
"""

import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import polars as pl
import typer

from residuum.artefacts import contracts, indexes, manifest, trec
from residuum.cli import command
from residuum.cli.errors import NotRun, ResiduumError
from residuum.cli.progress import track
from residuum.config import measures

app = command.app(__doc__)


@app.command()
def run(
    run: Annotated[Path, typer.Option(help="TREC run")],
    qrels: command.Qrels,
    measure: Annotated[list[str], typer.Option(help="ir_measures name, may be repeated")],
    output: Annotated[Path, typer.Option(help="metrics TSV to write")],
    answers: Annotated[
        Path | None, typer.Option(help="answers.jsonl, for measures by answers")
    ] = None,
    corpus: Annotated[Path | None, typer.Option(help="corpus folder, for the same")] = None,
) -> None:
    """Write query_id, measure, value for every judged query; missing from the run = 0.

    Where the run was refused, the metrics are too, with its reason. The manifest says of the index
    that was searched what the run's does.
    """
    texts = [answers, corpus / "manifest.json"] if answers and corpus else []
    try:
        metrics = _metrics(trec.read_run(run), measure, Sources(qrels, answers, corpus))
        trec.write_metrics(output, metrics)
        averages = means(metrics)
        facts: dict[str, object] = {"queries": metrics["query_id"].n_unique(), "means": averages}
        shown = ", ".join(f"{name} {value:.4f}" for name, value in averages.items())
        print(f"{shown} ({facts['queries']} queries)", file=sys.stderr)
        facts |= {"index": index} if (index := indexes.recorded(run)) else {}
    except NotRun as reason:
        trec.write_refusal(output, str(reason))
        facts = {"not_run": str(reason)}
    spec = {"measures": sorted(measure), "ties": "evaluated on ranks"}
    inputs = [run, *([manifest.beside(run)] if "index" in facts else []), qrels, *texts]
    manifest.write(output, facts, spec, inputs, "residuum.evaluate")


class Sources(NamedTuple):
    """What measures read beside a run."""

    qrels: Path
    answers: Path | None = None
    corpus: Path | None = None

    def read(self, reads: measures.Reads, names: Sequence[str]) -> tuple[object, ...]:
        """Return what the function of our own measures takes behind the run."""
        if reads == "judgements":
            return (trec.read_qrels(self.qrels),)
        if not (self.answers and self.corpus):
            raise ResiduumError(f"{', '.join(names)}: give --answers and --corpus")
        count = contracts.corpus_manifest(self.corpus)["docs"]
        docs = track(contracts.read_docs(self.corpus), "look for answers", count, "docs")
        return contracts.read_answers(self.answers), docs


def _metrics(run: pl.DataFrame, names: list[str], sources: Sources) -> pl.DataFrame:
    """Evaluate by ir_measures and by the functions of our own measures, as the names require."""
    groups: dict[str | None, list[str]] = {}
    for name in names:
        groups.setdefault(measures.own(name), []).append(name)
    theirs = groups.pop(None, [])
    parts = [evaluate(run, trec.read_qrels(sources.qrels), theirs)] if theirs else []
    for own, ours in groups.items():
        read = sources.read(measures.OWN[str(own)].reads, ours)
        parts.append(measures.VALUES[str(own)](run, *read, ours))
    return pl.concat(parts)


def evaluate(run: pl.DataFrame, qrels: pl.DataFrame, names: list[str]) -> pl.DataFrame:
    """Return query_id, measure, value for all judged queries x measures.

    Rank stands in for score, because ir_measures' providers break ties in different ways.
    """
    if not qrels.height:
        raise ResiduumError("the qrels are empty: there is nothing to evaluate against")
    judged = qrels["query_id"].unique().sort()
    values = _values(run, qrels, names)
    grid = pl.DataFrame({"query_id": judged}).join(pl.DataFrame({"measure": names}), how="cross")
    joined = grid.join(values, on=["query_id", "measure"], how="left", maintain_order="left")
    return joined.with_columns(pl.col("value").fill_null(0.0))


def _values(run: pl.DataFrame, qrels: pl.DataFrame, names: list[str]) -> pl.DataFrame:
    """Return the values that ir_measures computes, under every name that a measure goes by."""
    import ir_measures

    spelt: dict[str, list[str]] = {}
    for name in names:
        spelt.setdefault(str(measures.parse(name)), []).append(name)
    numbers = qrels.select("query_id").unique().sort("query_id").with_row_index("number", 1)
    judged = _numbered(qrels, numbers)
    ranked = _numbered(run, numbers).with_columns(
        (pl.col("rank").max() + 1 - pl.col("rank")).cast(pl.Float64).alias("score")
    )
    parsed = [measures.parse(name) for name in spelt]
    try:
        nested = _nested(judged, "relevance"), _nested(ranked, "score")
        values = list(ir_measures.iter_calc(parsed, *nested))
    except Exception as error:  # what a provider raises is its own affair
        text = " ".join(str(error).split())
        raise ResiduumError(f"ir_measures cannot compute {', '.join(spelt)}: {text}") from None
    ids = dict(zip(numbers["number"].cast(pl.String), numbers["query_id"], strict=True))
    rows = [
        (ids[m.query_id], name, float(m.value)) for m in values for name in spelt[str(m.measure)]
    ]
    return pl.DataFrame(rows, schema=trec.METRICS, orient="row")


def _numbered(table: pl.DataFrame, numbers: pl.DataFrame) -> pl.DataFrame:
    """Keep the judged queries, each under its number: some providers read no other ids."""
    joined = table.join(numbers, on="query_id", how="inner", maintain_order="left")
    return joined.drop("query_id").with_columns(pl.col("number").cast(pl.String).alias("query_id"))


def _nested(frame: pl.DataFrame, column: str) -> dict[str, dict[str, float]]:
    lists = frame.group_by("query_id", maintain_order=True).agg("doc_id", column)
    return {q: dict(zip(ids, values, strict=True)) for q, ids, values in lists.iter_rows()}


def means(metrics: pl.DataFrame) -> dict[str, float]:
    """Return the mean of each measure over queries, exactly rounded: no order of adding shows."""
    parts = metrics.sort("measure").partition_by("measure", as_dict=True, maintain_order=True)
    return {str(name): math.fsum(part["value"]) / part.height for (name,), part in parts.items()}


if __name__ == "__main__":
    command.main(app)
