"""Runs, judgements and vectors of results read and computed anew, with nothing of the stages."""

import gzip
from collections import defaultdict

import numpy as np
from scipy import sparse


def run_of(path):
    """Return the scores of each query's docs, in the order of the file.

    A line whose score was lowered has the exact one in its second column (docs/contracts.md).
    """
    run = defaultdict(dict)
    with gzip.open(path, "rt") as file:
        for query, exact, doc, _, score, _ in map(str.split, file):
            run[query][doc] = float(exact.partition("=")[2] or score)
    return dict(run)


def relevant_of(folder):
    """Return the pairs of query and doc that a split's qrels have as relevant."""
    lines = (folder / "qrels.trec").read_text().splitlines()
    return {(query, doc) for query, _, doc, level in map(str.split, lines) if int(level) > 0}


def reciprocal_ranks(run, relevant):
    """Return each query's reciprocal rank among its first ten docs."""
    return {
        query: next((1 / n for n, d in enumerate([*docs][:10], 1) if (query, d) in relevant), 0.0)
        for query, docs in run.items()
    }


def best_products(results, dataset, model, split, first=False):
    """Return each query's score of each doc, its best vector's product; each vector's doc_id.

    Or the product of its first vector.
    """
    shards = sorted((results / "embeddings" / dataset / model).glob("shard-*"))
    ids = [one for shard in shards for one in (shard / "ids.txt").read_text().split()]
    vectors = np.concatenate([np.load(shard / "vectors.npy") for shard in shards])
    queries = results / "embeddings" / f"{dataset}.queries" / model / split
    products = np.load(queries / "vectors.npy").astype(float) @ vectors.astype(float).T
    scores = {}
    for query, row in zip((queries / "ids.txt").read_text().split(), products, strict=True):
        own = defaultdict(lambda: -np.inf)
        for doc, product in zip(ids, row, strict=True):
            own[doc] = own[doc] if first and doc in own else max(own[doc], product)
        scores[query] = dict(own)
    return scores, ids


def term_products(results, dataset, model, split):
    """Return each query's score of each doc, by sparse vectors with a dimension for each term."""
    docs = [
        _term_rows(shard)
        for shard in sorted((results / "embeddings" / dataset / model).glob("shard-*"))
    ]
    [queries] = [_term_rows(results / "embeddings" / f"{dataset}.queries" / model / split)]
    every = {doc: row for shard in docs for doc, row in shard.items()}
    return {
        query: {doc: sum(w * row.get(t, 0.0) for t, w in own.items()) for doc, row in every.items()}
        for query, own in queries.items()
    }


def _term_rows(folder):
    terms = (folder / "terms.txt").read_text().splitlines()
    ids = (folder / "ids.txt").read_text().splitlines()
    rows = sparse.load_npz(folder / "vectors.npz").tocoo()
    weights = {one: {} for one in ids}
    for row, column, weight in zip(rows.row, rows.col, rows.data, strict=True):
        weights[ids[row]][terms[column]] = float(weight)
    return weights
