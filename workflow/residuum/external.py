"""Take in an external run: a TREC run file, validated as ours are.

Command: `python -m residuum.external accept ...`. The reason of a refused file takes the place of
the run and shows in the tables. Must not know how the run was made or which table shows it.
"""

import sys
from pathlib import Path
from typing import Annotated

import polars as pl
import typer

from residuum.artefacts import contracts, manifest, residual, trec
from residuum.cli import command
from residuum.cli.errors import ResiduumError
from residuum.config.schema.systems import ExternalSystem

app = command.app(__doc__)


@app.command()
def accept(
    run: Annotated[Path, typer.Option(help="TREC run file, plain or gzipped")],
    queries: command.Queries,
    corpus: command.Corpus,
    spec: Annotated[str, typer.Option(help="schema.ExternalSystem as JSON")],
    tag: command.Tag,
    output: command.Run,
    judged_before: command.JudgedBefore = None,
) -> None:
    """Check a run against the queries and the corpus, and write it in our form.

    Docs that an earlier round judged for a query are taken out and counted, as NIST does with what
    is sent in.
    """
    system, earlier = command.parse_spec(ExternalSystem, spec), residual.Residual(judged_before)
    try:
        ranked = trec.read_run(run)
    except ResiduumError as error:
        fault = str(error)
    else:
        fault = _misfit(run, ranked, list(trec.read_queries(queries)), corpus)
    if fault:
        print(f"error: {fault}\nThe rows of {tag} are not run.", file=sys.stderr)
        trec.write_refusal(output, fault)
        facts: dict[str, object] = {"not_run": fault}
    else:
        left = earlier.left(ranked).with_columns(rank=trec.POSITION)
        facts = {"hits": left.height, "answered": left["query_id"].n_unique()}
        facts |= {residual.REMOVED: ranked.height - left.height} if earlier.paths else {}
        trec.write_run(output, left, tag)
    inputs = [run, queries, corpus / "manifest.json", *earlier.paths]
    manifest.write(output, facts, system, inputs, "residuum.external")


def _misfit(path: Path, run: pl.DataFrame, required: list[str], corpus: Path) -> str:
    """Describe why a run is not of these queries and this corpus; "" if it is of both."""
    ranked, unknown = set(run["query_id"]), set(run["doc_id"])
    if others := sorted(ranked.difference(required)):
        return (
            f"{path}: query {others[0]} is not in the split ({len(others)} such queries). Is the "
            "run of other topics?"
        )
    if missing := [query_id for query_id in required if query_id not in ranked]:
        return (
            f"{path}: no line for query {missing[0]} ({len(missing)} of {len(required)} queries "
            "lack a list). Use the whole run."
        )
    unknown.difference_update(doc_id for doc_id, _ in contracts.read_corpus(corpus))
    if not unknown:
        return ""
    lines = run.with_row_index("line", 1).filter(pl.col("doc_id").is_in(list(unknown)))
    line, query_id, doc_id = lines.select("line", "query_id", "doc_id").row(0)
    return (
        f"{path}, line {line}: query {query_id}, doc {doc_id} is not in {corpus} "
        f"({len(unknown)} such docs). Is the run of another edition of the corpus?"
    )


if __name__ == "__main__":
    command.main(app)
