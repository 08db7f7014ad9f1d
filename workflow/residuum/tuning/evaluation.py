"""Values of measures on ranks, by ir_measures or our own: of one run, or of many rankings at once.

Usage: `evaluate(run, qrels, ["RR@10"])`, `values = of_rankings(runs, qrels, "RR@10")`.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import polars as pl

from residuum.artefacts import trec
from residuum.cli.errors import ResiduumError
from residuum.config import measures
from residuum.tuning.answers import Answers, Docs, holders
from residuum.tuning.choosing import Values

Texts = Callable[[], tuple[Answers, Docs]]
UNJUDGED = " "  # begins what stands for an unjudged doc: no id has a space


def evaluate(
    run: pl.DataFrame, qrels: pl.DataFrame, names: Sequence[str], texts: Texts | None = None
) -> pl.DataFrame:
    """Return query_id, measure, value for all judged queries x measures; 0 without a list.

    Measures by answers read `texts`, the answers and the docs of the corpus, in place of the qrels.
    """
    by_family: dict[tuple[str | None, int | None], list[str]] = {}  # None: of ir_measures
    for name in names:
        family = measures.project_measure(name)
        depth = None if family else measures.cutoff(name)
        by_family.setdefault((family, depth), []).append(name)
    parts: list[pl.DataFrame] = []
    for (family, depth), alike in by_family.items():
        if family is None:  # some providers sort all docs, however few a measure reads
            parts.append(_by_ir_measures(trec.cut(run, depth) if depth else run, qrels, alike))
        elif family in measures.BY_JUDGEMENTS:
            parts.append(measures.BY_JUDGEMENTS[family].values(run, qrels, alike))
        elif texts:
            parts.append(measures.BY_ANSWERS[family].values(run, *texts(), alike))
        else:
            text = "by answers, which residuum.evaluate reads with --answers and --corpus"
            more = "elsewhere take Success@k on qrels made of the answers (docs/datasets.md)"
            raise ResiduumError(f"{', '.join(alike)}: {text}; {more}")
    return pl.concat(parts)


def _by_ir_measures(run: pl.DataFrame, qrels: pl.DataFrame, names: list[str]) -> pl.DataFrame:
    """Evaluate all judged queries, in the order of their ids.

    Ranks replace scores, because ir_measures' providers break ties in different ways. Numbers
    replace query ids, because some providers read no other ids.
    """
    import ir_measures

    if not qrels.height:
        raise ResiduumError("the qrels are empty: there is nothing to evaluate against")
    spelt: dict[str, list[str]] = {}
    for name in names:
        spelt.setdefault(str(measures.parse(name)), []).append(name)
    judged = qrels.select("query_id").unique().sort("query_id")
    numbers = judged.with_row_index("number", 1).cast(pl.String)
    score = (pl.col("rank").max() + 1 - pl.col("rank")).cast(pl.Float64)
    # pytrec_eval writes outside its memory where a query's grades are all negative.
    grade = pl.col("relevance").clip(lower_bound=0)
    nested = _nested(qrels, numbers, grade), _nested(run, numbers, score)
    try:
        values = list(ir_measures.iter_calc(map(measures.parse, spelt), *nested))
    except ZeroDivisionError:
        raise ResiduumError(
            f"ir_measures cannot compute {', '.join(spelt)}: a query's list holds too few docs for "
            "it, or none of one kind, and it divides by their count. Choose another measure"
        ) from None
    except Exception as error:  # providers raise any error
        text = " ".join(str(error).split())
        raise ResiduumError(f"ir_measures cannot compute {', '.join(spelt)}: {text}") from None
    ids = dict(numbers.iter_rows())
    rows = [
        (ids[m.query_id], name, float(m.value)) for m in values for name in spelt[str(m.measure)]
    ]
    grid = judged.join(pl.DataFrame({"measure": names}), how="cross")
    computed = pl.DataFrame(rows, schema=trec.METRICS, orient="row")
    joined = grid.join(computed, on=["query_id", "measure"], how="left", maintain_order="left")
    return joined.with_columns(pl.col("value").fill_null(0.0))


def _nested(table: pl.DataFrame, ids: pl.DataFrame, value: pl.Expr) -> dict[str, dict[str, float]]:
    judged = table.join(ids, on="query_id", maintain_order="left")
    judged = judged.select("number", "doc_id", value=value)
    lists = judged.group_by("number", maintain_order=True).agg("doc_id", "value")
    return {
        number: dict(zip(ids, values, strict=True)) for number, ids, values in lists.iter_rows()
    }


def means(metrics: pl.DataFrame) -> dict[str, float]:
    """Return the mean of each measure over queries."""
    parts = metrics.sort("measure").partition_by("measure", as_dict=True, maintain_order=True)
    return {str(name): measures.mean(name, part["value"]) for (name,), part in parts.items()}


def refuse_unjudged(averages: Mapping[str, float], qrels: pl.DataFrame, source: str) -> None:
    """Refuse a measure whose mean is 0 because no doc is judged as relevant as it requires.

    `averages` are means by measure; `source` names the origin of the qrels in the message.
    """
    named = [name for name, mean in averages.items() if not mean and _asks(name, qrels)]
    if named:
        least, most = measures.level(named[0]), qrels["relevance"].to_numpy().max()
        raise ResiduumError(
            f"{source}: no doc is judged {least} or above (the highest relevance is {most}), so "
            f"that {', '.join(named)} would be 0 for every query. Use qrels with such judgements, "
            "or a measure of a lower level."
        )


def _asks(name: str, qrels: pl.DataFrame) -> bool:
    """Say whether a measure requires more relevance than any doc is judged to have."""
    if measures.reads(name) == "answers":
        return False
    return qrels.filter(pl.col("relevance") >= measures.level(name)).is_empty()


def of_rankings(runs: Sequence[pl.DataFrame], qrels: pl.DataFrame, measure: str) -> Values:
    """Return the values, shape (runs, queries), queries in the order of their sorted ids.

    Each run has query_id, doc_id and rank, no deeper than the measure looks.
    """
    stacked = pl.concat(run.select(*trec.PAIR, "rank", run=pl.lit(n)) for n, run in enumerate(runs))
    query_ids = qrels["query_id"].unique().sort()
    lists = pl.DataFrame({"run": range(len(runs))}).join(query_ids.to_frame(), how="cross")
    lengths = stacked.group_by("run", "query_id").agg(pl.len().alias("length"))
    judged = stacked.join(qrels, on=trec.PAIR).sort("run", "query_id", "rank")
    ranks = judged.group_by("run", "query_id").agg("rank", "doc_id")
    for known in (lengths, ranks):
        lists = lists.join(known, on=["run", "query_id"], how="left", maintain_order="left")
    return of_ranks(lists, qrels, measure).reshape(len(runs), len(query_ids))


def of_ranks(lists: pl.DataFrame, qrels: pl.DataFrame, measure: str) -> np.ndarray:
    """Return the value of each list, given its query_id, length, and judged docs with their ranks.

    `rank` and `doc_id` are lists of one length, null for none. A value depends on nothing else.
    Neighbouring settings mostly have the same of it, so each distinct ranking is evaluated once.
    """
    key = pl.struct("query_id", "length", "rank", "doc_id").rank("dense").cast(pl.String)
    lists = lists.with_columns(same=key)
    distinct = lists.unique("same", keep="first", maintain_order=True)
    held = distinct.select("same", "rank", "doc_id").explode("rank", "doc_id").drop_nulls()
    rankings = distinct.select("same", rank=pl.int_ranges(1, pl.col("length").fill_null(0) + 1))
    rankings = rankings.explode("rank").drop_nulls()
    rankings = rankings.join(held, on=["same", "rank"], how="left", maintain_order="left")
    unjudged = UNJUDGED + pl.col("rank").cast(pl.String)
    rankings = rankings.with_columns(pl.col("doc_id").fill_null(unjudged))
    judgements = qrels.join(distinct.select("query_id", "same"), on="query_id").drop("query_id")
    by_ranking = {"same": "query_id"}
    metrics = evaluate(rankings.rename(by_ranking), judgements.rename(by_ranking), [measure])
    values = lists.join(metrics, left_on="same", right_on="query_id", maintain_order="left")
    return values["value"].to_numpy()


def answer_accuracy(
    run: pl.DataFrame, answers: Answers, docs: Docs, names: Sequence[str]
) -> pl.DataFrame:
    """Return query_id, measure, value: 1 if one of the first k docs holds an answer, as DPR counts.

    All questions have a value, 0 or 1. `docs` are the corpus's records, read once.
    """
    depths = {name: depth for name in names if (depth := measures.cutoff(name))}
    deepest = max(depths.values())
    ranks: dict[str, list[tuple[str, int]]] = defaultdict(list)
    near = run.filter((pl.col("rank") <= deepest) & pl.col("query_id").is_in(list(answers)))
    for doc_id, query_id, rank in near.select("doc_id", "query_id", "rank").iter_rows():
        ranks[doc_id].append((query_id, rank))
    best = dict.fromkeys(answers, deepest + 1)  # rank of the first doc that holds an answer
    for doc_id, answered in holders(docs, answers, ranks):
        for query_id, rank in ranks[doc_id]:
            if query_id in answered:
                best[query_id] = min(rank, best[query_id])
    rows = [(q, name, float(best[q] <= depth)) for q in answers for name, depth in depths.items()]
    return pl.DataFrame(rows, schema=trec.METRICS, orient="row")


ANSWER_ACCURACY = measures.Own(
    "Share of questions answered by the docs", answer_accuracy, same="Success"
)
