"""AnswerAccuracy@k: does one of the first k docs hold an answer to the question, as DPR counts?

Usage: `values(run, answers, docs, ["AnswerAccuracy@20"])`. Text counts, not judgements: Karpukhin
et al., Dense Passage Retrieval, EMNLP 2020, section 3.2 and their evaluation script.
"""

import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping

import polars as pl

from residuum.artefacts.trec import METRICS
from residuum.config.measures import cutoff

BORDER = "\x1f"  # between tokens; no token holds a control character


def tokens(text: str) -> list[str]:
    """Split a text as DPR does: canonical decomposition, runs of letters, digits and marks, or
    single characters that are neither space nor control; in lower case."""
    import regex

    text = unicodedata.normalize("NFD", text)
    return [token.lower() for token in regex.findall(r"[\p{L}\p{N}\p{M}]+|[^\p{Z}\p{C}]", text)]


def values(
    run: pl.DataFrame,
    answers: Mapping[str, list[str]],
    docs: Iterable[Mapping[str, str]],
    measures: Iterable[str],
) -> pl.DataFrame:
    """Return query_id, measure, value (0 or 1) for all questions x measures.

    `docs` are the corpus's records, read once; a doc's passage is its field `body`, or its text
    where it has none. Titles are not searched.
    """
    depths = {name: depth for name in measures if (depth := cutoff(name))}
    deepest = max(depths.values())
    required = {q: set(map(_sequence, texts)) - {BORDER} for q, texts in answers.items()}
    ranks: dict[str, list[tuple[str, int]]] = defaultdict(list)
    near = run.filter((pl.col("rank") <= deepest) & pl.col("query_id").is_in(list(answers)))
    for doc_id, query_id, rank in near.select("doc_id", "query_id", "rank").iter_rows():
        ranks[doc_id].append((query_id, rank))
    best = dict.fromkeys(answers, deepest + 1)  # rank of the first doc that holds an answer
    for doc in docs:
        if doc["doc_id"] in ranks:
            passage = _sequence(doc.get("body", doc["text"]))
            for query_id, rank in ranks[doc["doc_id"]]:
                if rank < best[query_id] and any(a in passage for a in required[query_id]):
                    best[query_id] = rank
    rows = [(q, name, float(best[q] <= depth)) for q in answers for name, depth in depths.items()]
    return pl.DataFrame(rows, schema=METRICS, orient="row")


def _sequence(text: str) -> str:
    return BORDER.join(["", *tokens(text), ""])
