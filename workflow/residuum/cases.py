"""Example docs that a rule picks from the ranked lists of several systems.

Command: `python -m residuum.cases find ...`. A case is a query and a doc whose ranks meet all
conditions of the rule. Must not know how the lists were made.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Annotated, NamedTuple

import polars as pl
import typer

from residuum.artefacts import contracts, manifest, trec
from residuum.artefacts.trec import PAIR, STOP_WORDS
from residuum.cli import command
from residuum.cli.errors import ResiduumError
from residuum.cli.progress import track
from residuum.config.schema.papers import Cases, Condition
from residuum.pages import layout
from residuum.pages.layout import TextCell
from residuum.wiring.bound import BoundCases

app = command.app(__doc__)
LIMIT = 1000  # pairs written to the TSV
WORDS = 30  # words of an excerpt
SENTENCE = re.compile(r"[.!?]['\")\]]*$")
WORD = re.compile(r"\w+")


class Matches(NamedTuple):
    """Pairs that meet the rule, most gained first, and how many queries were examined."""

    pairs: pl.DataFrame
    queries: int


@app.command()
def find(
    spec: Annotated[str, typer.Option(help="BoundCases as JSON")],
    queries: command.Queries,
    qrels: command.Qrels,
    corpus: command.Corpus,
    lists: Annotated[list[str], typer.Option("--list", help="NAME=RUN, one per list")],
    output: command.Page,
) -> None:
    """Write the pairs that meet the rule as .tsv and the first cases as .md and .tex."""
    job = command.parse_spec(BoundCases, spec)
    paths = command.named_paths("--list", lists, job.cases.lists)
    runs = {name: trec.read_run(path) for name, path in paths.items()}
    texts = trec.read_queries(queries)
    matches = matching(job.cases, runs, trec.read_qrels(qrels), texts)
    kept = matches.pairs.filter((pl.int_range(pl.len()) < LIMIT) | pl.col("shown"))
    table = _table(job.cases, kept, texts, corpus)
    layout.write(output, table.drop("text"), page(job, matches, table))
    counts = {"pairs": matches.pairs.height, "written": table.height, "queries": matches.queries}
    inputs = [queries, qrels, corpus / "manifest.json", *paths.values()]
    manifest.write(output, counts, job, inputs, "residuum.cases")


def matching(
    cases: Cases, runs: dict[str, pl.DataFrame], qrels: pl.DataFrame, texts: dict[str, str]
) -> Matches:
    """Return all pairs of judged queries that meet the rule, most gained first.

    Columns: query_id, doc_id, relevance (null if unjudged), rank.<list> (null if absent), gain
    (rank before minus rank after; an absent doc counts as one rank beyond the longest list),
    shown: the largest gain of its query, among the first `limit` queries. Ties: query_id, doc_id.
    """
    judged = sorted(set(qrels["query_id"]) & set(texts))
    pairs = _candidates(cases, runs).filter(pl.col("query_id").is_in(judged))
    pairs = pairs.join(qrels, on=PAIR, how="left")
    relevant = pl.col("relevance").fill_null(0) >= 1
    pairs = pairs.filter(relevant if cases.relevant else ~relevant)
    for name, run in runs.items():
        ranks = run.select(*PAIR, pl.col("rank").alias(f"rank.{name}"))
        pairs = pairs.join(ranks, on=PAIR, how="left")
    met = pairs.filter(pl.all_horizontal(_fits(condition) for condition in cases.where))
    gain = _beyond(cases.before, runs) - _beyond(cases.after, runs)
    ordered = met.with_columns(gain.alias("gain")).sort(
        "gain", *PAIR, descending=[True, False, False]
    )
    first = pl.col("query_id").is_first_distinct()
    shown = (first & (first.cast(pl.Int64).cum_sum() <= cases.limit)).alias("shown")
    return Matches(ordered.with_columns(shown), len(judged))


def _candidates(cases: Cases, runs: dict[str, pl.DataFrame]) -> pl.DataFrame:
    """Return the pairs that may meet the rule: those in the lists where a doc must stand."""
    needed = [c for c in cases.where if not (c.absent or c.or_absent)]
    if not needed:
        return pl.concat([run.select(PAIR) for run in runs.values()]).unique()
    first, *others = needed
    pairs = runs[first.list].filter(_within(first, "rank")).select(PAIR)
    for condition in others:
        run = runs[condition.list].filter(_within(condition, "rank"))
        pairs = pairs.join(run, on=PAIR, how="semi")
    return pairs


def _within(condition: Condition, column: str) -> pl.Expr:
    bounds = pl.col(column) >= (condition.at_least or 1)
    return bounds if condition.at_most is None else bounds & (pl.col(column) <= condition.at_most)


def _fits(condition: Condition) -> pl.Expr:
    column = f"rank.{condition.list}"
    if condition.absent:
        return pl.col(column).is_null()
    return _within(condition, column).fill_null(condition.or_absent)


def _beyond(name: str, runs: dict[str, pl.DataFrame]) -> pl.Expr:
    longest = max(runs[name]["rank"], default=0)
    return pl.col(f"rank.{name}").fill_null(longest + 1)


def _table(cases: Cases, pairs: pl.DataFrame, texts: dict[str, str], corpus: Path) -> pl.DataFrame:
    """Give each pair its query and an excerpt of its doc."""
    docs = _docs(corpus, set(pairs["doc_id"]))
    queries = [texts[query_id] for query_id in pairs["query_id"]]
    read = [docs[doc_id] for doc_id in pairs["doc_id"]]
    columns = {"query": queries, "excerpt": list(map(excerpt, queries, read)), "text": read}
    table = pairs.with_columns(pl.Series(k, v, dtype=pl.String) for k, v in columns.items())
    ranks = [f"rank.{name}" for name in cases.lists]
    start = ["query_id", "query", "doc_id", "relevance", *ranks]
    return table.select(*start, "gain", "shown", "excerpt", "text")


def _docs(corpus: Path, ids: set[str]) -> dict[str, str]:
    """Stream the corpus for some docs; one that it lacks is an error."""
    docs: dict[str, str] = {}
    total = contracts.corpus_manifest(corpus)["docs"]
    for doc_id, text in track(contracts.read_corpus(corpus), "read", total, "docs"):
        if len(docs) == len(ids):
            break
        if doc_id in ids:
            docs[doc_id] = text
    if missing := sorted(ids - set(docs)):
        raise ResiduumError(f"{corpus}: lacks the doc {missing[0]} ({len(missing)} such docs)")
    return docs


def excerpt(query: str, text: str) -> str:
    """Return about 30 words of a doc around the sentence that holds most words of the query."""
    words = text.split()
    shared = _words(query)
    held = [_words(word) & shared for word in words]
    ends = [i + 1 for i, word in enumerate(words) if SENTENCE.search(word)]
    cuts = [0, *(end for end in ends if end < len(words)), len(words)]
    a, b = max(pairwise(cuts), key=lambda span: len(set().union(*held[slice(*span)])))
    starts = range(a, max(a, b - WORDS) + 1)
    start = max(starts, key=lambda i: len(set().union(*held[i : i + WORDS])))
    start = min(start, max(0, len(words) - WORDS))
    end = start + WORDS
    before, after = ["..."] * (start > 0), ["..."] * (end < len(words))
    return " ".join([*before, *words[start:end], *after])


def _words(text: str) -> set[str]:
    return set(WORD.findall(text.lower())) - STOP_WORDS


def _bold(text: str, words: set[str]) -> TextCell:
    spans = [match.span() for match in WORD.finditer(text) if match[0].lower() in words]
    return TextCell(text, bold=tuple(spans))


def page(job: BoundCases, matches: Matches, table: pl.DataFrame) -> layout.Layout:
    """Lay the first cases out: query, excerpt, ranks before and after, ranks in other lists."""
    cases = job.cases
    others = [name for name in cases.lists if name not in (cases.before, cases.after)]
    rows = [list(_line(cases, others, case)) for case in table.filter("shown").rows(named=True)]
    return layout.Layout(
        title=cases.title,
        printed_in=cases.printed_in,
        header=["Query", "Doc", "Judged", *others, f"{cases.before} → {cases.after}"],
        rows=rows,
        notes=_notes(job, matches, len(rows)),
        align=[r"p{.2\linewidth}", r"p{.45\linewidth}", *"l" * (2 + len(others))],
    )


def _line(
    cases: Cases, others: list[str], case: Mapping[str, str | int | None]
) -> Iterator[TextCell]:
    query, relevance = str(case["query"]), case["relevance"]
    shared = _words(query) & _words(str(case["text"]))
    yield _bold(query, shared)
    yield _bold(str(case["excerpt"]), shared)
    yield TextCell("unjudged" if relevance is None else str(relevance))
    ranks = {name: case[f"rank.{name}"] for name in cases.lists}
    shown = {n: "not retrieved" if rank is None else str(rank) for n, rank in ranks.items()}
    yield from (TextCell(shown[name]) for name in others)
    yield TextCell(f"{shown[cases.before]} → {shown[cases.after]}")


def _notes(job: BoundCases, matches: Matches, shown: int) -> list[str]:
    cases = job.cases
    conditions = "; ".join(in_words(condition) for condition in cases.where)
    kind = "judged relevant (1 or more)" if cases.relevant else "judged 0 or unjudged"
    queries, met = matches.pairs["query_id"].n_unique(), matches.pairs.height
    lists = ", ".join(f"{name}: {job.runs[name]}" for name in cases.lists)
    unjudged = matches.pairs["relevance"].null_count()
    return [
        f"Rule: docs {kind}; {conditions}. One case per query, most ranks gained first.",
        f"{met} pairs of {queries} queries meet it, of {matches.queries} judged queries examined; "
        f"{shown or 'none'} shown.",
        *([f"{unjudged} of these pairs are unjudged, which does not mean not relevant."]
          if unjudged else []),
        "Bold: words of the query that the doc has in the same form, without stop words.",
        f"Lists: {lists}. Split {job.place} in the role of {cases.role}.",
        f"Scale {job.scale}: {job.reason}",
    ]  # fmt: skip


def in_words(condition: Condition) -> str:
    """Write a condition as a reader would say it: rank 50 or later, or not retrieved, by bm25."""
    if condition.absent:
        return f"not retrieved by {condition.list}"
    least, most = condition.at_least, condition.at_most
    if least and most:
        bounds = f"rank {least} to {most}"
    elif least or most:
        bounds = f"rank {least} or later" if least else f"among the first {most}"
    else:
        bounds = "retrieved"
    return f"{bounds}{', or not retrieved,' if condition.or_absent else ''} by {condition.list}"


if __name__ == "__main__":
    command.main(app)
