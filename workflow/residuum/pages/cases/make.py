"""Example docs that a rule picks from the ranked lists of several systems.

Command: `python -m residuum.pages.cases.make find ...`. A case is a query and a doc whose ranks
meet all conditions of the rule.
"""

import re
from collections.abc import Iterator
from itertools import islice, pairwise
from pathlib import Path
from typing import Annotated

import polars as pl
import typer

from residuum.artefacts import contracts, manifest, trec
from residuum.cli import command
from residuum.cli.errors import ResiduumError
from residuum.cli.progress import track
from residuum.pages import layout, notes
from residuum.pages.cases.entry import Cases, Condition
from residuum.pages.cases.job import BoundCases
from residuum.pages.layout import TextCell
from residuum.tuning.learned import read_all

app = command.app(__doc__)
LIMIT = 1000  # pairs written to the TSV
WORDS = 30  # words of an excerpt
SENTENCE = re.compile(r"[.!?]['\")\]]*$")
WORD = re.compile(r"\w+")
# Lucene 9's English stop words (EnglishAnalyzer.ENGLISH_STOP_WORDS_SET). They match no query.
STOP_WORDS = {
    *("a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is"),
    *("it", "no", "not", "of", "on", "or", "such", "that", "the", "their", "then", "there"),
    *("these", "they", "this", "to", "was", "will", "with"),
}


@app.command()
def find(
    spec: Annotated[str, typer.Option(help="BoundCases as JSON")],
    queries: command.Queries,
    qrels: command.Qrels,
    corpus: command.Corpus,
    lists: Annotated[list[str], typer.Option("--list", help="NAME=RUN, one per list")],
    output: command.Page,
    learning: command.Learning = None,
) -> None:
    """Write the pairs that meet the rule as .tsv and the first cases as .md and .tex."""
    job = command.parse_spec(BoundCases, spec)
    paths = command.named_paths("--list", lists, job.entry.lists)
    runs = {name: trec.read_run(path) for name, path in paths.items()}
    texts, judgements = trec.read_queries(queries), trec.read_qrels(qrels)
    judged = set(judgements["query_id"]) & set(texts)
    pairs = matching(job.entry, runs, judgements, judged)
    kept = pairs.filter((pl.int_range(pl.len()) < LIMIT) | pl.col("shown"))
    docs = _docs(corpus, set(kept["doc_id"]))
    query = pl.Series("query", [texts[name] for name in kept["query_id"]], dtype=pl.String)
    text = pl.Series("text", [docs[name] for name in kept["doc_id"]], dtype=pl.String)
    cut = pl.Series("excerpt", list(map(excerpt, query, text)), dtype=pl.String)
    table = kept.with_columns(query, text, cut)
    columns = ["query_id", "query", "doc_id", "relevance", *(f"rank.{name}" for name in runs)]
    written = table.select(*columns, "gain", "shown", "excerpt")
    made = page(job, pairs, len(judged), table)
    made.notes.extend(notes.of_learning(read_all(learning or [])))
    files = layout.write(output, written, made)
    counts = {"pairs": pairs.height, "written": table.height, "queries": len(judged)}
    inputs = [queries, qrels, corpus / "manifest.json", *paths.values(), *(learning or [])]
    manifest.write(output, counts, job, inputs, "residuum.pages.cases.make", files)


def matching(
    cases: Cases, runs: dict[str, pl.DataFrame], qrels: pl.DataFrame, judged: set[str]
) -> pl.DataFrame:
    """Return all pairs of judged queries that meet the rule, sorted by gain from the largest.

    Columns: query_id, doc_id, relevance (null if unjudged), rank.<list> (null if absent), gain
    (rank before minus rank after; an absent doc counts as one rank beyond the longest list),
    shown: the largest gain of its query, among the first `limit` queries. Ties: query_id, doc_id.
    """
    # If a list must hold the doc, only pairs of this list can meet the rule.
    needed = [c for c in cases.where if not (c.absent or c.or_absent)][:1]
    within = [runs[c.list].filter(_fits(c, "rank")) for c in needed] or runs.values()
    pairs = pl.concat(run.select(trec.PAIR) for run in within).unique()
    pairs = pairs.filter(pl.col("query_id").is_in(judged)).join(qrels, on=trec.PAIR, how="left")
    relevant = pl.col("relevance").fill_null(0) >= 1
    pairs = pairs.filter(relevant if cases.relevant else ~relevant)
    for name, run in runs.items():
        ranks = run.select(*trec.PAIR, pl.col("rank").alias(f"rank.{name}"))
        pairs = pairs.join(ranks, on=trec.PAIR, how="left")
    before, after = (
        pl.col(f"rank.{name}").fill_null(max(runs[name]["rank"], default=0) + 1)
        for name in (cases.before, cases.after)
    )
    pairs = pairs.filter(*(_fits(c, f"rank.{c.list}") for c in cases.where))
    pairs = pairs.with_columns(gain=before - after).sort(-pl.col("gain"), *trec.PAIR)
    first = pl.col("query_id").is_first_distinct()
    return pairs.with_columns(shown=first & (first.cast(pl.Int64).cum_sum() <= cases.limit))


def _fits(condition: Condition, column: str) -> pl.Expr:
    """Return whether the rank in a column meets a condition. The rank of an absent doc is null."""
    rank = pl.col(column)
    if condition.absent:
        return rank.is_null()
    fits = rank >= (condition.at_least or 1)
    if condition.at_most is not None:
        fits &= rank <= condition.at_most
    return fits.fill_null(condition.or_absent)


def _docs(corpus: Path, ids: set[str]) -> dict[str, str]:
    total = contracts.corpus_manifest(corpus)["docs"]
    stream = track(contracts.read_corpus(corpus), "read", total, "docs")
    docs = dict(islice(((doc_id, text) for doc_id, text in stream if doc_id in ids), len(ids)))
    if missing := sorted(ids - set(docs)):
        raise ResiduumError(f"{corpus}: lacks the doc {missing[0]} ({len(missing)} such docs)")
    return docs


def excerpt(query: str, text: str) -> str:
    """Return 30 words of a doc around the sentence with the most words of the query."""
    words = text.split()
    shared = _words(query)
    held = [_words(word) & shared for word in words]
    ends = [i for i, word in enumerate(words[:-1], start=1) if SENTENCE.search(word)]
    cuts = pairwise([0, *ends, len(words)])
    a, b = max(cuts, key=lambda span: len(set().union(*held[slice(*span)])))
    starts = range(a, max(a, b - WORDS) + 1)
    start = max(starts, key=lambda i: len(set().union(*held[i : i + WORDS])))
    start = min(start, max(0, len(words) - WORDS))
    end = start + WORDS
    return "... " * (start > 0) + " ".join(words[start:end]) + " ..." * (end < len(words))


def _words(text: str) -> set[str]:
    return set(WORD.findall(text.lower())) - STOP_WORDS


def page(job: BoundCases, pairs: pl.DataFrame, examined: int, table: pl.DataFrame) -> layout.Layout:
    """Lay out the cases shown in `table`.

    `pairs` are all pairs that meet the rule; `examined` is the number of judged queries.
    """
    cases = job.entry
    others = [name for name in cases.lists if name not in (cases.before, cases.after)]
    rows = []
    for case in table.filter("shown").iter_rows(named=True):
        shared = _words(case["query"]) & _words(case["text"])
        ranks = {name: case[f"rank.{name}"] or "not retrieved" for name in cases.lists}
        relevance = "unjudged" if case["relevance"] is None else str(case["relevance"])
        before_after = f"{ranks[cases.before]} → {ranks[cases.after]}"
        plain = [relevance, *(str(ranks[name]) for name in others), before_after]
        texts = [_bold(case["query"], shared), _bold(case["excerpt"], shared)]
        rows.append([*texts, *map(TextCell, plain)])
    header = ["Query", "Doc", "Judged", *others, f"{cases.before} → {cases.after}"]
    align = r"p{.2\linewidth}p{.45\linewidth}" + "l" * (2 + len(others))
    notes = list(_notes(job, pairs, examined, len(rows)))
    return layout.page(cases, header, rows, notes, align)


def _bold(text: str, words: set[str]) -> TextCell:
    spans = [match.span() for match in WORD.finditer(text) if match[0].lower() in words]
    return TextCell(text, bold=spans)


def _notes(job: BoundCases, pairs: pl.DataFrame, examined: int, shown: int) -> Iterator[str]:
    cases = job.entry
    conditions = "; ".join(in_words(condition) for condition in cases.where)
    kind = "judged relevant (1 or more)" if cases.relevant else "judged 0 or unjudged"
    yield f"Rule: docs {kind}; {conditions}. One case per query, most ranks gained first."
    meeting = f"{pairs.height} pairs of {pairs['query_id'].n_unique()} queries meet the rule"
    yield f"{meeting}; {examined} judged queries examined; {shown or 'none'} shown."
    if unjudged := pairs["relevance"].null_count():
        yield f"{unjudged} of these pairs are unjudged, which does not mean not relevant."
    yield "Bold: words of the query that the doc has in the same form, without stop words."
    depths = {name: f", reranked to depth {depth:,}" for name, depth in job.depths.items()}
    lists = "; ".join(f"{name}: {job.runs[name]}{depths.get(name, '')}" for name in cases.lists)
    yield f"Lists: {lists}. Split {job.split} in the role of {cases.role}."
    yield from notes.of_runs(job)
    yield from notes.of_scale(job)


def in_words(condition: Condition) -> str:
    """Write a condition in words: `rank 50 or later, or not retrieved, by bm25`."""
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
