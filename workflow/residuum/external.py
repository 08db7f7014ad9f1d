"""Take in what others made: a TREC run, checked as our own, or a corpus's term weights.

Command: `python -m residuum.external accept ...`, or `weights ...`. For a refused run, the reason
is written instead, and the tables show it.
"""

import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import polars as pl
import typer

from residuum.artefacts import contracts, files, manifest, released, residual, trec
from residuum.artefacts.streams import DiskDict, disk_dict
from residuum.cli import command
from residuum.cli.errors import ResiduumError
from residuum.config.schema.models import ReleasedWeights
from residuum.config.schema.systems import ExternalSystem

app = command.app(__doc__)
NAMED = 5  # docs without a line that a message names


@app.command()
def accept(
    run: Annotated[Path, typer.Option(help="TREC run file, plain or gzipped")],
    queries: command.Queries,
    corpus: command.Corpus,
    spec: Annotated[str, typer.Option(help="schema.ExternalSystem as JSON")],
    tag: command.Tag,
    output: command.Run,
    judged_before: command.JudgedBefore = None,
    md5: Annotated[str | None, typer.Option(help="published MD5 of the run, unpacked")] = None,
) -> None:
    """Check a run against the queries and the corpus, and write it in our form.

    Docs that an earlier round judged for a query are removed and counted, as NIST does with
    submitted runs.
    """
    system, earlier = command.parse_spec(ExternalSystem, spec), residual.Residual(judged_before)
    try:
        _check_md5(run, md5, system.source)
        ranked, asked = trec.read_run(run), list(trec.read_queries(queries))
        ranked = ranked.with_row_index("line", 1)
        if system.others:
            ranked = ranked.filter(pl.col("query_id").is_in(asked))
    except ResiduumError as error:
        fault = str(error)
    else:
        fault = _misfit(run, ranked, asked, corpus)
    if fault:
        print(f"error: {fault}\nThe rows of {tag} are not run.", file=sys.stderr)
        trec.write_refusal(output, fault)
        facts: dict[str, object] = {"not_run": fault}
    else:
        left = earlier.left(ranked.drop("line")).with_columns(rank=trec.POSITION)
        facts = {"hits": left.height, "answered": left["query_id"].n_unique()}
        facts |= {residual.REMOVED: ranked.height - left.height} if earlier.paths else {}
        trec.write_run(output, left, tag)
    inputs = [run, queries, corpus / "manifest.json", *earlier.paths]
    manifest.write(output, facts, system, inputs, "residuum.external")


def _check_md5(path: Path, published: str | None, source: str) -> None:
    """Refuse a file whose MD5 is not the published MD5, if that is known."""
    if published is None:
        return
    found = hashlib.md5(files.read_bytes(path), usedforsecurity=False).hexdigest()
    if found != published:
        fault = f"its MD5 is {found}, the published run has {published}"
        raise ResiduumError(f"{path}: {fault}: it is another one, cut short or edited. {source}")


def _misfit(path: Path, run: pl.DataFrame, required: list[str], corpus: Path) -> str:
    """Describe why a run does not fit the queries or the corpus; "" if it does."""
    ranked, unknown = set(run["query_id"]), set(run["doc_id"])
    if others := sorted(ranked.difference(required)):
        return (
            f"{path}: query {others[0]} is not in the split ({len(others)} such queries). Is the "
            "run of other topics?"
        )
    if not ranked:
        return f"{path}: none of the split's queries is in it. Is the run of other topics?"
    if missing := [query_id for query_id in required if query_id not in ranked]:
        return (
            f"{path}: no line for query {missing[0]} ({len(missing)} of {len(required)} queries "
            "lack a list). Use the whole run."
        )
    unknown.difference_update(doc_id for doc_id, _ in contracts.read_corpus(corpus))
    if not unknown:
        return ""
    lines = run.filter(pl.col("doc_id").is_in(list(unknown)))
    line, query_id, doc_id = lines.select("line", "query_id", "doc_id").row(0)
    return (
        f"{path}, line {line}: query {query_id}, doc {doc_id} is not in {corpus} "
        f"({len(unknown)} such docs). Is the run of another edition of the corpus?"
    )


@app.command()
def weights(
    file: Annotated[list[Path], typer.Option(help="term weights, one doc per line; repeat")],
    corpus: command.Corpus,
    spec: Annotated[str, typer.Option(help="schema.ReleasedWeights as JSON")],
    output: command.Folder,
) -> None:
    """Write the term weights of a corpus in our form, each doc once, in the corpus's order.

    A doc without a line gets no words. `least` of the spec is the least share of docs with a line.
    """
    form = command.parse_spec(ReleasedWeights, spec)
    with files.whole_directory(output) as folder, disk_dict(output) as held:
        _hold(held, file)
        docs = _InOrder(held, corpus)
        shards = contracts.write_term_weights(folder, docs)
        docs.check(form.least, file)
        facts = {"docs": docs.count, "shards": shards, **docs.facts()}
        manifest.write(folder, facts, form, [*file, corpus / "manifest.json"], "residuum.external")


def _hold(held: DiskDict, paths: list[Path]) -> None:
    for path in paths:
        for doc_id, tfs in released.read(path):
            if not held.add(doc_id, json.dumps(tfs)):
                raise ResiduumError(
                    f"{path}: doc {doc_id} has two lines, in this file or in a file before it. "
                    "Give each part of the weights once"
                )


class _InOrder:
    """The weights of a corpus's docs in its order; the counts are complete after reading."""

    def __init__(self, held: DiskDict, corpus: Path) -> None:
        self.held, self.corpus = held, corpus
        self.count = self.words = self.tf = self.empty = self.lacking = 0
        self.named: list[str] = []  # first docs without a line

    def __iter__(self) -> Iterator[tuple[str, dict[str, int]]]:
        for doc_id, _ in contracts.read_corpus(self.corpus):
            text = self.held.pop(doc_id)
            if text is None:
                self.lacking += 1
                self.named += [doc_id] * (self.lacking <= NAMED)
            tfs = json.loads(text or "{}")
            self.count += 1
            self.words, self.tf = self.words + len(tfs), self.tf + sum(tfs.values())
            self.empty += not tfs
            yield doc_id, tfs

    def check(self, least: float, paths: list[Path]) -> None:
        """Raise ResiduumError if docs are left over or too many lack a line; warn of any lack."""
        if left := len(self.held):
            raise ResiduumError(
                f"{paths[0]}: doc {self.held.first()} is not in {self.corpus} ({left} such docs). "
                "Are the weights of another edition of the corpus?"
            )
        if not self.lacking:
            return
        names = ", ".join(self.named) + ", ..." * (self.lacking > NAMED)
        fault = f"{self.lacking} of {self.count} docs have no line in the weights: {names}"
        if self.count - self.lacking < least * self.count:
            raise ResiduumError(
                f"{paths[0]}: {fault}. Give every file of them; if they leave out docs without a "
                f"word, lower `least`, which is {least:g}"
            )
        print(f"warning: {fault}; they have no word", file=sys.stderr)

    def facts(self) -> dict[str, object]:
        """Return the counts for the manifest."""
        docs = max(self.count, 1)
        return {
            "words_per_doc": round(self.words / docs, 3),
            "tf_per_doc": round(self.tf / docs, 3),
            "docs_without_a_word": self.empty,
            "docs_without_a_line": self.lacking,
        }


if __name__ == "__main__":
    command.main(app)
