"""Values of many rankings at once, against evaluating each ranking by itself."""

import random

import numpy as np
import polars as pl
import pytest

from residuum.artefacts import trec
from residuum.config import measures
from residuum.tuning.evaluation import evaluate, of_rankings


@pytest.mark.parametrize("measure", ["RR@10", "nDCG@3", "AP", "P@4", "Judged@4", "Rprec", "Bpref"])
def test_distinct_rankings_stand_for_all(measure):
    source = random.Random(7)
    docs = [f"d{number}" for number in range(7)]
    pairs = [(q, d, source.randint(0, 2)) for q in "abcd" for d in source.sample(docs, 3)]
    qrels = pl.DataFrame(pairs, schema=["query_id", "doc_id", "relevance"], orient="row")
    runs = []
    for _ in range(12):  # of queries b to e in lists of 1 to 5 docs: a has none, e no judgements
        lists = {q: source.sample(docs, source.randint(1, 5)) for q in "bcde"}
        rows = [
            (q, doc, -float(n)) for q, ranking in lists.items() for n, doc in enumerate(ranking)
        ]
        runs.append(trec.rank(pl.DataFrame(rows, schema=trec.HITS, orient="row")))
    alone = [evaluate(run, qrels, [measure])["value"].to_numpy() for run in runs]
    assert of_rankings(runs, qrels, measure).tolist() == np.array(alone).tolist()


def judged_first(run, qrels, names):
    """Say whether the first doc of each query is judged."""
    queries = qrels.select("query_id").unique().sort("query_id")
    first = run.filter(rank=1).join(qrels, on=["query_id", "doc_id"], how="semi")
    value = pl.col("query_id").is_in(first["query_id"].to_list()).cast(pl.Float64)
    return pl.concat(queries.select("query_id", pl.lit(n).alias("measure"), value.alias("value"))
                     for n in names)  # fmt: skip


JUDGED_FIRST = measures.Own("Share of queries whose first doc is judged", judged_first)


def test_a_measure_of_ours_is_evaluated_and_tuned_by_as_others_are(monkeypatch):
    monkeypatch.setitem(measures.BY_JUDGEMENTS.entries, "Known", f"{__name__}:JUDGED_FIRST")
    assert measures.fault("Known@1", ["judgements"]) is None
    assert measures.words("Known@1") == f"{JUDGED_FIRST.words} at 1 (Known@1)"
    judged = pl.DataFrame({"query_id": ["q1", "q2"], "doc_id": ["a", "x"], "relevance": [0, 1]})
    docs = {"query_id": ["q1", "q1", "q2", "q2"], "rank": [1, 2, 1, 2]}
    good, poor = (
        pl.DataFrame({**docs, "doc_id": ids})
        for ids in (["a", "b", "x", "y"], ["a", "b", "y", "x"])
    )
    rows = evaluate(poor, judged, ["RR@10", "Known@1"]).sort("query_id", "measure").rows()
    assert rows == [("q1", "Known@1", 1.0), ("q1", "RR@10", 0.0),
                    ("q2", "Known@1", 0.0), ("q2", "RR@10", 0.5)]  # fmt: skip
    assert of_rankings([good, poor], judged, "Known@1").tolist() == [[1.0, 1.0], [1.0, 0.0]]
