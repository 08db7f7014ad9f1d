"""AnswerAccuracy@k: does one of the first k docs hold an answer to the question, as DPR counts?

Usage: `values(run, answers, docs, ["AnswerAccuracy@20"])`; no command of its own. Text is what
counts, not judgements: Karpukhin et al., Dense Passage Retrieval, EMNLP 2020, section 3.2 and their
evaluation script. Must not know systems, or where answers come from.
"""

import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from residuum.core.measures import cutoff

BORDER = "\x1f"  # between tokens; no token holds a control character


def tokens(text: str) -> list[str]:
    """Split a text as DPR does: canonical decomposition, runs of letters, digits and marks, or
    single characters that are neither space nor control; in lower case."""
    import regex

    found = regex.findall(r"[\p{L}\p{N}\p{M}]+|[^\p{Z}\p{C}]", unicodedata.normalize("NFD", text))
    return [token.lower() for token in found]


def _sequence(text: str) -> str:
    return BORDER.join(["", *tokens(text), ""])


def values(
    run: pl.DataFrame,
    answers: Mapping[str, list[str]],
    docs: Iterable[Mapping[str, Any]],
    measures: Iterable[str],
) -> pl.DataFrame:
    """Return query_id, measure, value (0 or 1) for all questions x measures.

    `docs` are the corpus's records, read once; a doc's passage is its field `body`, or its text
    where it has none. Titles are not searched.
    """
    depths = {name: depth for name in measures if (depth := cutoff(name))}
    found = first_ranks(run, answers, docs, max(depths.values()))
    rows = [
        (query_id, name, float(found.get(query_id, depth + 1) <= depth))
        for query_id in answers
        for name, depth in depths.items()
    ]
    form = {"query_id": pl.String, "measure": pl.String, "value": pl.Float64}
    return pl.DataFrame(rows, schema=form, orient="row")


def first_ranks(
    run: pl.DataFrame,
    answers: Mapping[str, list[str]],
    docs: Iterable[Mapping[str, Any]],
    depth: int,
) -> dict[str, int]:
    """Return, for each question that has one, the rank of the first doc that holds an answer."""
    sought = {query_id: list(map(_sequence, texts)) for query_id, texts in answers.items()}
    places: dict[str, list[tuple[str, int]]] = defaultdict(list)
    near = run.filter(pl.col("rank") <= depth).select("doc_id", "query_id", "rank")
    for doc_id, query_id, rank in near.iter_rows():
        if query_id in sought:
            places[doc_id].append((query_id, rank))
    best: dict[str, int] = {}
    for doc in docs:
        open_places = places.get(doc["doc_id"])
        if not open_places:
            continue
        passage = _sequence(doc.get("body", doc["text"]))
        for query_id, rank in open_places:
            if rank < best.get(query_id, depth + 1) and _holds(passage, sought[query_id]):
                best[query_id] = rank
    return best


def _holds(passage: str, answers: list[str]) -> bool:
    """Say whether an answer's tokens stand in a row in a passage; one without tokens never does."""
    return any(answer in passage for answer in answers if answer != BORDER)
