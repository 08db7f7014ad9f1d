"""Judgements made of answers: docs of a corpus that hold an answer are relevant.

Usage: `judgements.write(qrels, "nq/dev", rows.queries, rows.answers, corpus)`, or
`judgements.of_pairs(pairs, answers, corpus)` for given docs alone.
"""

from array import array
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path

import polars as pl

from residuum.artefacts import contracts, files, trec
from residuum.artefacts.streams import disk_list
from residuum.cli.errors import ResiduumError
from residuum.cli.progress import track
from residuum.tuning.answers import holders, tokens

LOOK = "look for answers"  # of progress


def write(
    qrels: Path,
    where: str,
    queries: Sequence[tuple[str, str]],
    answers: Mapping[str, list[str]],
    corpus: Path,
) -> dict[str, int]:
    """Write each doc that holds an answer as relevant, at level 1; return the counts.

    A query that no doc answers counts too: the first doc is judged not relevant to it. Memory holds
    8 bytes for each pair, and nothing else of the corpus.
    """
    _check(where, queries, answers)
    held = {query_id: array("Q") for query_id, _ in queries}

    def doc_ids() -> Iterator[str]:
        total = contracts.corpus_manifest(corpus)["docs"]
        docs = track(contracts.read_docs(corpus), f"judge {where} by answers", total, "docs")
        for number, (doc_id, queries) in enumerate(holders(docs, answers)):
            for query_id in queries:
                held[query_id].append(number)
            yield doc_id

    with disk_list(qrels, doc_ids()) as ids:
        if not len(ids):
            raise ResiduumError(f"{where}: no doc of {corpus} holds an answer to any query")
        first = next(contracts.read_corpus(corpus, range(1)))[0]
        relevant = ((q, ids[number], 1) for q, numbers in held.items() for number in numbers)
        unanswered = [query_id for query_id, numbers in held.items() if not numbers]
        trec.write_qrels(qrels, chain(relevant, ((q, first, 0) for q in unanswered)))
    pairs = sum(map(len, held.values()))
    return {"qrels": pairs + len(unanswered), "relevant": pairs, "unanswered": len(unanswered)}


def of_corpus(answers: Path, corpus: Path) -> dict[str, list[int]]:
    """Return, for each question, a 1 for each doc of the corpus that holds an answer to it."""
    texts = contracts.read_answers(answers)
    held: dict[str, list[int]] = {query_id: [] for query_id in sorted(texts)}
    total = contracts.corpus_manifest(corpus)["docs"]
    for _, queries in holders(track(contracts.read_docs(corpus), LOOK, total, "docs"), texts):
        for query_id in queries:
            held[query_id].append(1)
    return held


def of_pairs(pairs: pl.DataFrame, answers: Path, corpus: Path) -> pl.DataFrame:
    """Judge pairs (query_id, doc_id) of questions: relevance 1 if the doc holds an answer, else 0.

    Returns query_id, doc_id, relevance in the order of the pairs. The corpus is read once. Raises
    ResiduumError for a query without answers.
    """
    texts, queries = contracts.read_answers(answers), dict[str, set[str]]()
    for query_id, doc_id in pairs.select(*trec.PAIR).iter_rows():
        if query_id not in texts:
            raise ResiduumError(f"{answers}: no answers of query {query_id}. {files.REMAKE}")
        queries.setdefault(doc_id, set()).add(query_id)
    total = contracts.corpus_manifest(corpus)["docs"]
    read = track(contracts.read_docs(corpus), LOOK, total, "docs")
    held = {
        (query_id, doc_id)
        for doc_id, answered in holders(read, texts, queries)
        for query_id in answered & queries[doc_id]
    }
    rows = ((q, d, int((q, d) in held)) for q, d in pairs.select(*trec.PAIR).iter_rows())
    names = {"query_id": pl.String, "doc_id": pl.String, "relevance": pl.Int64}
    return pl.DataFrame(list(rows), schema=names, orient="row")


def of_lists(
    pairs: pl.DataFrame, query_ids: Sequence[str], answers: Path, corpus: Path
) -> pl.DataFrame:
    """Judge pairs by answers, and give each query a judged doc of no list.

    A query without a list is then judged too, and counts.
    """
    judged = of_pairs(pairs, answers, corpus)
    rows = {"query_id": query_ids, "doc_id": "", "relevance": 0}
    return pl.concat([judged, pl.DataFrame(rows, schema_overrides=judged.schema)])


def _check(
    where: str, queries: Sequence[tuple[str, str]], answers: Mapping[str, list[str]]
) -> None:
    for query_id, _ in queries:
        if not (texts := answers.get(query_id)):
            text = "has no answer, so that no doc could be relevant to it"
            raise ResiduumError(f"{where}: query {query_id} {text}. Add one or remove the query.")
        if empty := [text for text in texts if not tokens(text)]:
            text = "holds no letter, digit or sign, so that nothing could match it"
            raise ResiduumError(f"{where}: query {query_id}: the answer {empty[0]!r} {text}")
