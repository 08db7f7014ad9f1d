"""Per-query metrics of a run: ir_measures on ranks, every judged query present.

AnswerAccuracy@k, by answers instead of judgements, is residuum.accuracy's.
Command: `python -m residuum.evaluate run ...`. Must not know systems, models or tables.
"""

import difflib
import math
import re
import sys
from pathlib import Path
from typing import Annotated, Any

import polars as pl
import typer

from residuum import accuracy
from residuum.core import answers as core_answers
from residuum.core import command, contracts, indexes, manifest, trec
from residuum.core.errors import NotRun, ResiduumError
from residuum.core.progress import track

app = command.app(__doc__)


@app.command()
def run(
    run: Annotated[Path, typer.Option(help="TREC run")],
    qrels: command.Qrels,
    measure: Annotated[list[str], typer.Option(help="ir_measures name, may be repeated")],
    output: Annotated[Path, typer.Option(help="metrics TSV to write")],
    answers: Annotated[
        Path | None, typer.Option(help="answers.jsonl, for AnswerAccuracy@k")
    ] = None,
    corpus: Annotated[Path | None, typer.Option(help="corpus folder, for AnswerAccuracy@k")] = None,
) -> None:
    """Write query_id, measure, value for every judged query; missing from the run = 0.

    Where the run was refused, the metrics are too, with its reason. The manifest says of the index
    that was searched what the run's does.
    """
    texts = [answers, corpus / "manifest.json"] if answers and corpus else []
    try:
        metrics = _metrics(trec.read_run(run), qrels, measure, answers, corpus)
        trec.write_metrics(output, metrics)
        facts = {"queries": metrics["query_id"].n_unique(), "means": means(metrics)}
        shown = ", ".join(f"{name} {value:.4f}" for name, value in facts["means"].items())
        print(f"{shown} ({facts['queries']} queries)", file=sys.stderr)
        facts |= {"index": index} if (index := indexes.recorded(run)) else {}
    except NotRun as reason:
        trec.write_refusal(output, str(reason))
        facts = {"not_run": str(reason)}
    manifest.write(
        manifest.beside(output),
        artefact=facts,
        spec={"measures": sorted(measure), "ties": "evaluated on ranks"},
        inputs=[run, *([manifest.beside(run)] if "index" in facts else []), qrels, *texts],
        module="residuum.evaluate",
    )


def _metrics(
    run: pl.DataFrame,
    qrels: Path,
    measures: list[str],
    answers: Path | None,
    corpus: Path | None,
) -> pl.DataFrame:
    """Evaluate by judgements and by answers, whichever the measures ask for."""
    judged = [name for name in measures if accuracy.cutoff(name) is None]
    parts = [evaluate(run, trec.read_qrels(qrels), judged)] if judged else []
    matched = [name for name in measures if name not in judged]
    if matched and not (answers and corpus):
        raise ResiduumError(f"{', '.join(matched)}: give --answers and --corpus")
    if matched and answers and corpus:
        docs = track(
            contracts.read_docs(corpus),
            "look for answers",
            contracts.corpus_manifest(corpus)["docs"],
            "docs",
        )
        parts.append(accuracy.values(run, core_answers.read(answers), docs, matched))
    return pl.concat(parts)


def evaluate(run: pl.DataFrame, qrels: pl.DataFrame, measures: list[str]) -> pl.DataFrame:
    """Return query_id, measure, value for all judged queries x measures.

    Rank stands in for score, because ir_measures' providers break ties in different ways.
    """
    if not qrels.height:
        raise ResiduumError("the qrels are empty: there is nothing to evaluate against")
    judged = qrels["query_id"].unique().sort()
    values = _values(run, qrels, measures)
    grid = pl.DataFrame({"query_id": judged}).join(pl.DataFrame({"measure": measures}), how="cross")
    joined = grid.join(values, on=["query_id", "measure"], how="left", maintain_order="left")
    return joined.with_columns(pl.col("value").fill_null(0.0))


def parse(measure: str) -> Any:
    """Read an ir_measures name; an unknown one is a ResiduumError that names what is close."""
    import ir_measures

    try:
        parsed = ir_measures.parse_measure(measure)
        parsed.validate_params()
    except (NameError, ValueError, SyntaxError, AssertionError) as error:
        said = re.sub(r"invalid param (\w+)=<object.*", r"it needs a \1", str(error))
        near = _close(re.split(r"[@(]", measure)[0])
        raise ResiduumError(f"cannot read the measure '{measure}': {said}.{near}") from None
    return parsed


def _close(name: str) -> str:
    from ir_measures.measures import registry

    if name in registry:
        return " A measure is written as in nDCG@10, AP(rel=2)@1000, RR."
    spelt = {known.casefold(): known for known in reversed(registry)}
    near = difflib.get_close_matches(name.casefold(), list(spelt), n=3, cutoff=0.5)
    found = [spelt[known] for known in near] or ["AP", "nDCG", "P", "R", "RR", "Rprec"]
    return f" {'Close' if near else 'Known, among others'}: {', '.join(found)}."


def _values(run: pl.DataFrame, qrels: pl.DataFrame, measures: list[str]) -> pl.DataFrame:
    """Return the values that ir_measures computes, under every name that a measure goes by."""
    import ir_measures

    names: dict[str, list[str]] = {}
    for name in measures:
        names.setdefault(str(parse(name)), []).append(name)
    numbers = qrels.select("query_id").unique().sort("query_id").with_row_index("number", 1)
    judged = _numbered(qrels, numbers)
    ranked = _numbered(run, numbers).with_columns(
        (pl.col("rank").max() + 1 - pl.col("rank")).cast(pl.Float64).alias("score")
    )
    asked = [parse(name) for name in names]
    try:
        found = list(
            ir_measures.iter_calc(asked, _nested(judged, "relevance"), _nested(ranked, "score"))
        )
    except Exception as error:  # what a provider raises is its own affair
        said = " ".join(str(error).split())
        raise ResiduumError(f"ir_measures cannot compute {', '.join(names)}: {said}") from None
    ids = dict(zip(numbers["number"].cast(pl.String), numbers["query_id"], strict=True))
    rows = [
        (ids[m.query_id], name, float(m.value)) for m in found for name in names[str(m.measure)]
    ]
    form = {"query_id": pl.String, "measure": pl.String, "value": pl.Float64}
    return pl.DataFrame(rows, schema=form, orient="row")


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
