"""Example docs that a rule picks from the ranked lists of several systems.

Command: `python -m residuum.cases find ...`. A case is a query and a doc whose ranks meet all
conditions of the rule. Must not know how the lists were made.
"""

import re
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import polars as pl
import typer

from residuum.core import command, contracts, files, manifest, pages, schema, trec
from residuum.core.errors import ResiduumError, unknown
from residuum.core.progress import track
from residuum.core.trec import PAIR
from residuum.core.words import STOP_WORDS
from residuum.wiring.bound import BoundCases

app = command.app(__doc__)
LIMIT = 1000  # pairs written to the TSV
WORDS = 30  # words of an excerpt
SENTENCE = re.compile(r"[.!?]['\")\]]*$")
WORD = re.compile(r"\w+")


class Found(NamedTuple):
    """Pairs that meet the rule, most gained first, and how many queries were looked at."""

    pairs: pl.DataFrame
    queries: int


@app.command()
def find(
    spec: Annotated[str, typer.Option(help="BoundCases as JSON")],
    queries: Annotated[Path, typer.Option(help="queries.tsv of the split")],
    qrels: Annotated[Path, typer.Option(help="TREC qrels of the split")],
    corpus: Annotated[Path, typer.Option(help="corpus folder")],
    lists: Annotated[list[str], typer.Option("--list", help="NAME=RUN, one per list")],
    output: Annotated[Path, typer.Option(help="TSV to write; .md and .tex go beside it")],
) -> None:
    """Write the pairs that meet the rule as .tsv and the first cases as .md and .tex."""
    job = command.parse_spec(BoundCases, spec)
    paths = _paths(job, lists)
    runs = {name: trec.read_run(path) for name, path in paths.items()}
    texts = trec.read_queries(queries)
    found = matching(job.cases, runs, trec.read_qrels(qrels), texts)
    kept = found.pairs.filter((pl.int_range(pl.len()) < LIMIT) | pl.col("shown"))
    table = _table(job.cases, kept, texts, corpus)
    columns = table.select(pl.exclude("text"))
    files.write_text(output, columns.write_csv(separator="\t", quote_style="necessary"))
    pages.write(output, page(job, found, table))
    manifest.write(
        manifest.beside(output),
        artefact={"pairs": found.pairs.height, "written": table.height, "queries": found.queries},
        spec=job.model_dump(mode="json"),
        inputs=[queries, qrels, corpus / "manifest.json", *paths.values()],
        module="residuum.cases",
    )


def _paths(job: BoundCases, options: list[str]) -> dict[str, Path]:
    given = {name: Path(path) for name, _, path in (option.partition("=") for option in options)}
    wanted = list(job.cases.lists)
    for name in given:
        if name not in wanted:
            raise ResiduumError(f"--list {name}: {unknown('list', name, wanted)}")
    if missing := [name for name in wanted if name not in given]:
        raise ResiduumError(f"no run is given for the list {missing[0]}: --list {missing[0]}=RUN")
    return {name: given[name] for name in wanted}


def matching(
    cases: schema.Cases, runs: dict[str, pl.DataFrame], qrels: pl.DataFrame, texts: dict[str, str]
) -> Found:
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
    return Found(ordered.with_columns(shown), len(judged))


def _candidates(cases: schema.Cases, runs: dict[str, pl.DataFrame]) -> pl.DataFrame:
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


def _within(condition: schema.Condition, column: str) -> pl.Expr:
    bounds = pl.col(column) >= (condition.at_least or 1)
    return bounds if condition.at_most is None else bounds & (pl.col(column) <= condition.at_most)


def _fits(condition: schema.Condition) -> pl.Expr:
    column = f"rank.{condition.list}"
    if condition.absent:
        return pl.col(column).is_null()
    return _within(condition, column).fill_null(condition.or_absent)


def _beyond(name: str, runs: dict[str, pl.DataFrame]) -> pl.Expr:
    longest = runs[name]["rank"].max() or 0
    return pl.col(f"rank.{name}").fill_null(longest + 1)


def _table(
    cases: schema.Cases, pairs: pl.DataFrame, texts: dict[str, str], corpus: Path
) -> pl.DataFrame:
    """Give each pair its query and an excerpt of its doc."""
    docs = _docs(corpus, set(pairs["doc_id"]))
    query = [texts[query_id] for query_id in pairs["query_id"]]
    found = [excerpt(q, docs[doc_id]) for q, doc_id in zip(query, pairs["doc_id"], strict=True)]
    table = pairs.with_columns(
        pl.Series("query", query, dtype=pl.String),
        pl.Series("excerpt", found, dtype=pl.String),
        pl.Series("text", [docs[doc_id] for doc_id in pairs["doc_id"]], dtype=pl.String),
    )
    ranks = [f"rank.{name}" for name in cases.lists]
    start = ["query_id", "query", "doc_id", "relevance", *ranks]
    return table.select(*start, "gain", "shown", "excerpt", "text")


def _docs(corpus: Path, wanted: set[str]) -> dict[str, str]:
    """Stream the corpus for the wanted docs; one that it lacks is an error."""
    docs: dict[str, str] = {}
    total = contracts.corpus_manifest(corpus)["docs"]
    for doc_id, text in track(contracts.read_corpus(corpus), "read", total, "docs"):
        if len(docs) == len(wanted):
            break
        if doc_id in wanted:
            docs[doc_id] = text
    if missing := sorted(wanted - set(docs)):
        raise ResiduumError(f"{corpus}: lacks the doc {missing[0]} ({len(missing)} such docs)")
    return docs


def excerpt(query: str, text: str) -> str:
    """Return about 30 words of a doc around the sentence that holds most words of the query."""
    words = text.split()
    wanted = _words(query)
    held = [_words(word) & wanted for word in words]
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


def _bold(text: str, words: set[str]) -> pages.Cell:
    spans = [match.span() for match in WORD.finditer(text) if match[0].lower() in words]
    return pages.Cell(text, bold=tuple(spans))


def page(job: BoundCases, found: Found, table: pl.DataFrame) -> pages.Page:
    """Lay the first cases out: query, excerpt, ranks before and after, ranks in other lists."""
    cases = job.cases
    others = [name for name in cases.lists if name not in (cases.before, cases.after)]
    shown = table.filter("shown").rows(named=True)
    return pages.Page(
        title=cases.title,
        place=cases.place,
        header=["Query", "Doc", "Judged", *others, f"{cases.before} → {cases.after}"],
        rows=[_line(cases, others, case) for case in shown],
        notes=_notes(job, found, len(shown)),
        align=[r"p{.2\linewidth}", r"p{.45\linewidth}", *"l" * (2 + len(others))],
    )


def _line(cases: schema.Cases, others: list[str], case: dict[str, Any]) -> list[pages.Cell]:
    shared = _words(case["query"]) & _words(case["text"])
    ranks = f"{_rank(case, cases.before)} → {_rank(case, cases.after)}"
    return [
        _bold(case["query"], shared),
        _bold(case["excerpt"], shared),
        pages.Cell("unjudged" if case["relevance"] is None else str(case["relevance"])),
        *(pages.Cell(_rank(case, name)) for name in others),
        pages.Cell(ranks),
    ]


def _rank(case: dict[str, Any], name: str) -> str:
    rank = case[f"rank.{name}"]
    return "not retrieved" if rank is None else str(rank)


def _notes(job: BoundCases, found: Found, shown: int) -> list[str]:
    cases = job.cases
    conditions = "; ".join(in_words(condition) for condition in cases.where)
    kind = "judged relevant (1 or more)" if cases.relevant else "judged 0 or unjudged"
    queries, met = found.pairs["query_id"].n_unique(), found.pairs.height
    lists = ", ".join(f"{name}: {job.runs[name]}" for name in cases.lists)
    unjudged = found.pairs["relevance"].null_count()
    return [
        f"Rule: docs {kind}; {conditions}. One case per query, most ranks gained first.",
        f"{met} pairs of {queries} queries meet it, of {found.queries} judged queries looked at; "
        f"{shown if shown else 'none is'} shown.",
        *([f"{unjudged} of these pairs are unjudged: nobody said that the doc is not relevant."]
          if unjudged else []),
        "Bold: words of the query that the doc holds as they are, function words aside.",
        f"Lists: {lists}. Split {job.place} in the role of {cases.role}.",
        f"Scale {job.scale}: {job.reason}",
    ]  # fmt: skip


def in_words(condition: schema.Condition) -> str:
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
