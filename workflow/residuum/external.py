"""Take in a run that somebody else made: a TREC run file, validated as ours are.

Command: `python -m residuum.external accept ...`. A file that breaks the contract is refused: its
reason takes the place of the run, is printed, and shows in the tables; the other rows are made.
Must not know how the run was made or which table shows it.
"""

import sys
from pathlib import Path
from typing import Annotated, Any

import polars as pl
import typer

from residuum.core import command, contracts, manifest, trec
from residuum.core.errors import ResiduumError
from residuum.core.schema import ExternalSystem

app = command.app(__doc__)


@app.command()
def accept(
    run: Annotated[Path, typer.Option(help="TREC run file, plain or gzipped")],
    queries: Annotated[Path, typer.Option(help="queries.tsv of the split")],
    corpus: Annotated[Path, typer.Option(help="corpus folder")],
    spec: Annotated[str, typer.Option(help="schema.ExternalSystem as JSON")],
    tag: Annotated[str, typer.Option(help="last column of the run")],
    output: Annotated[Path, typer.Option(help="run to write")],
) -> None:
    """Check a run against the queries and the corpus, and write it in our form."""
    system = command.parse_spec(ExternalSystem, spec)
    try:
        found = trec.read_run(run)
        check(run, found, list(trec.read_queries(queries)), corpus)
        trec.write_run(output, found, tag)
        facts: dict[str, Any] = {"hits": found.height, "answered": found["query_id"].n_unique()}
    except ResiduumError as error:
        print(f"error: {error}\nThe rows of {tag} are not run.", file=sys.stderr)
        trec.write_refusal(output, str(error))
        facts = {"not_run": str(error)}
    manifest.write(
        manifest.beside(output),
        artefact=facts,
        spec=system.model_dump(mode="json"),
        inputs=[run, queries, corpus / "manifest.json"],
        module="residuum.external",
    )


def check(path: Path, run: pl.DataFrame, query_ids: list[str], corpus: Path) -> None:
    """Refuse a run with a doc that the corpus lacks, or without a list for each query."""
    odd = sorted(set(run["query_id"]) - set(query_ids))
    if odd:
        raise ResiduumError(
            f"{path}: query {odd[0]} is not in the split ({len(odd)} such queries). Is the run of "
            "other topics?"
        )
    lacking = [query_id for query_id in query_ids if query_id not in set(run["query_id"])]
    if lacking:
        raise ResiduumError(
            f"{path}: no line for query {lacking[0]} ({len(lacking)} of {len(query_ids)} queries "
            "lack a list). Use the whole run."
        )
    wanted = set(run["doc_id"])
    wanted.difference_update(doc_id for doc_id, _ in contracts.read_corpus(corpus))
    if wanted:
        lines = run.with_row_index("line", 1).filter(pl.col("doc_id").is_in(list(wanted)))
        line, query_id, doc_id = lines.select("line", "query_id", "doc_id").row(0)
        raise ResiduumError(
            f"{path}, line {line}: query {query_id}, doc {doc_id} is not in {corpus} "
            f"({len(wanted)} such docs). Is the run of another edition of the corpus?"
        )


if __name__ == "__main__":
    command.main(app)
