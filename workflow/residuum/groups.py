"""The queries of a split in groups: by the length of their relevant docs, by how hard they are, or
by the folds that the split names.

Command: `python -m residuum.groups lengths ...`, `... halves ...`, `... folds ...`. Every judged
query is in one group, so that sizes add up.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Annotated

import polars as pl
import typer

from residuum.artefacts import contracts, groupings, manifest, trec
from residuum.artefacts.groupings import Line
from residuum.cli import command
from residuum.cli.errors import ResiduumError
from residuum.cli.progress import track
from residuum.config.schema.groupings import EASY, HARD, NO_DOC, Folds, Halves, Lengths

app = command.app(__doc__)
Output = Annotated[Path, command.written("groups TSV to write")]


@app.command()
def lengths(
    spec: Annotated[str, typer.Option(help="grouping of kind lengths as JSON")],
    qrels: command.Qrels,
    corpus: command.Corpus,
    output: Output,
) -> None:
    """Group queries by the words of their relevant docs (1 or more), the mean of several."""
    job, judged = command.parse_spec(Lengths, spec), trec.read_qrels(qrels)
    relevant = judged.filter(pl.col("relevance") >= 1)
    counts = words(corpus, set(relevant["doc_id"]))
    lengths_of: dict[str, list[int]] = {q: [] for q in judged["query_id"].unique().sort()}
    for query, doc in relevant.select(*trec.PAIR).iter_rows():
        lengths_of[query] += [counts[doc]] if doc in counts else []
    made = groupings.write(output, by_length(lengths_of, job.width))
    _record(output, made, job, [qrels, corpus / "manifest.json"])


@app.command()
def halves(
    spec: Annotated[str, typer.Option(help="grouping of kind halves as JSON")],
    metrics: Annotated[list[Path], typer.Option(help="metrics of a run of the system; repeat")],
    output: Output,
) -> None:
    """Group queries into the half of lower values of a measure and the half of higher ones."""
    job = command.parse_spec(Halves, spec)
    values = pl.concat(map(trec.read_metrics, metrics)).filter(measure=job.measure)
    if values.is_empty():
        raise ResiduumError(f"{metrics[0]}: no values of {job.measure}")
    means = values.group_by("query_id").agg(pl.col("value").mean())
    _record(output, groupings.write(output, by_halves(dict(means.iter_rows()))), job, metrics)


@app.command()
def folds(
    spec: Annotated[str, typer.Option(help="grouping of kind folds as JSON")],
    qrels: command.Qrels,
    fold: Annotated[list[Path], typer.Option(help="queries of a fold: <fold>/queries.tsv; repeat")],
    output: Output,
) -> None:
    """Group queries by the folds of their split. A group has the name of its fold's folder."""
    job, judged = command.parse_spec(Folds, spec), {*trec.read_qrels(qrels)["query_id"]}
    members = {path.parent.name: {*trec.read_queries(path)} for path in fold}
    lines = [(name, q, None) for name, ids in members.items() for q in sorted(ids & judged)]
    if lost := sorted(judged - {query for _, query, _ in lines}):
        text = f"query {lost[0]} is in none of the folds {', '.join(members)}"
        more = f"({len(lost)} such queries); folds divide all queries of a split"
        raise ResiduumError(f"{qrels}: {text} {more}")
    _record(output, groupings.write(output, lines), job, [qrels, *fold])


def words(corpus: Path, docs: set[str]) -> dict[str, int]:
    """Return the number of words, separated by white space, in each of the docs' texts."""
    count = contracts.corpus_manifest(corpus)["docs"]
    stream = track(contracts.read_corpus(corpus), "count words", count, "docs")
    found = ((doc, len(text.split())) for doc, text in stream if doc in docs)
    return dict(islice(found, len(docs)))


def by_length(lengths_of: Mapping[str, list[int]], width: int) -> Iterator[Line]:
    """Yield (group, query, mean length), shortest first; `0-40` means from 0 to below 40.

    Queries without a length form the last group.
    """
    means = {q: sum(counts) / len(counts) if counts else None for q, counts in lengths_of.items()}
    for query, mean in sorted(means.items(), key=lambda item: (_group(item[1], width), item[0])):
        low = width * int(_group(mean, width)) if mean is not None else 0
        yield (NO_DOC if mean is None else f"{low}-{low + width}"), query, mean


def _group(mean: float | None, width: int) -> float:
    return float("inf") if mean is None else mean // width


def by_halves(values: Mapping[str, float]) -> Iterator[Line]:
    """Yield (group, query, value) of two halves by value; ties go by a hash of the ids.

    The lower half is hard (Wei and Zou, EMNLP 2019); with an odd number it is the smaller half.
    Within a half, queries are sorted by id.
    """
    ordered = sorted(values, key=lambda query: (values[query], _hash(query)))
    half = len(ordered) // 2
    for group, queries in ((HARD, ordered[:half]), (EASY, ordered[half:])):
        yield from ((group, query, values[query]) for query in sorted(queries))


def _hash(query_id: str) -> str:
    return hashlib.sha256(query_id.encode()).hexdigest()


def _record(
    output: Path, made: groupings.Groups, job: Lengths | Halves | Folds, inputs: Iterable[Path]
) -> None:
    sizes = {group: len(queries) for group, queries in made.members.items()}
    cuts = [str(cut) for cut in made.cuts()]
    print(" ".join([", ".join(f"{n} {group}" for group, n in sizes.items()) + ".", *cuts]))
    facts = {"queries": sum(sizes.values()), "groups": sizes, "cuts": cuts}
    spec = job.model_dump(mode="json", exclude={"description", "budgets"})
    manifest.write(output, facts, spec, inputs, "residuum.groups")


if __name__ == "__main__":
    command.main(app)
