"""Values of many rankings at once, against evaluating each ranking by itself."""

import random

import numpy as np
import polars as pl
import pytest

from residuum.artefacts import trec
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
