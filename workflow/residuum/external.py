"""Take in an external run: a TREC run file, validated as ours are.

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
from residuum.core.schema.systems import ExternalSystem

app = command.app(__doc__)


@app.command()
def accept(
    run: Annotated[Path, typer.Option(help="TREC run file, plain or gzipped")],
    queries: command.Queries,
    corpus: command.Corpus,
    spec: Annotated[str, typer.Option(help="schema.ExternalSystem as JSON")],
    tag: command.Tag,
    output: command.Run,
) -> None:
    """Check a run against the queries and the corpus, and write it in our form."""
    system = command.parse_spec(ExternalSystem, spec)
    asked = list(trec.read_queries(queries))
    found, fault = _read(run, asked)
    if found is not None and (strange := _strange_doc(run, found, corpus)):
        fault = strange
    facts: dict[str, Any] = {"not_run": fault}
    if found is None or fault:
        print(f"error: {fault}\nThe rows of {tag} are not run.", file=sys.stderr)
        trec.write_refusal(output, str(fault))
    else:
        trec.write_run(output, found, tag)
        facts = {"hits": found.height, "answered": found["query_id"].n_unique()}
    manifest.write(
        manifest.beside(output),
        artefact=facts,
        spec=system.model_dump(mode="json"),
        inputs=[run, queries, corpus / "manifest.json"],
        module="residuum.external",
    )


def _read(path: Path, asked: list[str]) -> tuple[pl.DataFrame | None, str | None]:
    """Return the run, or what is wrong with its form or its queries."""
    try:
        found = trec.read_run(path)
        _check_queries(path, found, asked)
    except ResiduumError as error:
        return None, str(error)
    return found, None


def _check_queries(path: Path, run: pl.DataFrame, asked: list[str]) -> None:
    there = set(run["query_id"])
    odd = sorted(there - set(asked))
    if odd:
        raise ResiduumError(
            f"{path}: query {odd[0]} is not in the split ({len(odd)} such queries). Is the run of "
            "other topics?"
        )
    lacking = [query_id for query_id in asked if query_id not in there]
    if lacking:
        raise ResiduumError(
            f"{path}: no line for query {lacking[0]} ({len(lacking)} of {len(asked)} queries "
            "lack a list). Use the whole run."
        )


def _strange_doc(path: Path, run: pl.DataFrame, corpus: Path) -> str | None:
    """Say which doc of the run the corpus lacks; faults of the corpus itself are raised."""
    wanted = set(run["doc_id"])
    wanted.difference_update(doc_id for doc_id, _ in contracts.read_corpus(corpus))
    if not wanted:
        return None
    lines = run.with_row_index("line", 1).filter(pl.col("doc_id").is_in(list(wanted)))
    line, query_id, doc_id = lines.select("line", "query_id", "doc_id").row(0)
    return (
        f"{path}, line {line}: query {query_id}, doc {doc_id} is not in {corpus} "
        f"({len(wanted)} such docs). Is the run of another edition of the corpus?"
    )


if __name__ == "__main__":
    command.main(app)
