"""What training, encoding, searching and reranking take on a toy, by hand.

Its backbone has 65,536 weights in two layers of width 64, 129,536 in all. A doc of 1,000 bytes is
224 tokens, of which the encoders read 100.
"""

import pytest

from plan_fixture import named, registry
from residuum.asking import modelcosts

TOY = registry()
CORPUS = {"dataset": "toy", "model": "dual", "seed": "1"}
QUERY = 8 * (2 * 65_536 + 4 * 2 * 8 * 64)
DOC = 100 * (2 * 65_536 + 4 * 2 * 100 * 64)


def test_a_triplet_is_a_query_and_two_docs():
    found = modelcosts.train(TOY, named(model="dual", seed="1"))
    assert found.steps == 60 * 2 / 4
    assert found.operations == pytest.approx(3 * 30 * 4 * (QUERY + 2 * DOC))
    assert found.disk == 4 * 129_536
    # 4 pairs of docs of 100 tokens, two layers, one head
    held = 2 * (4 * 2 * 100) * (34 * 64 + 5 * 1 * 100)
    assert found.card == pytest.approx(16 * 129_536 + held)


def test_in_batch_training_reads_one_doc():
    base = 2 * 12 * (4 * 768**2 + 2 * 768 * 3072)
    texts = sum(n * (base + 4 * 12 * n * 768) for n in (8, 100))
    assert modelcosts.train(TOY, named(model="inbatch", seed="1")).operations == pytest.approx(
        3 * 30 * 4 * texts
    )


def test_a_cross_encoder_reads_pairs_up_to_its_limit():
    pair = 50 * (2 * 65_536 + 4 * 2 * 50 * 64)
    found = modelcosts.train(TOY, named(model="cross", seed="1"))
    assert found.operations == pytest.approx(3 * 30 * 4 * 2 * pair)


def test_shards_share_the_corpus():
    shard = modelcosts.encode_docs(TOY, named(**CORPUS, shard="0"))  # 300 docs a shard: four
    assert shard.operations == pytest.approx(1000 * DOC / 4)
    assert shard.disk == 4 * 64 * 1000 / 4


def test_encoding_takes_the_queries_of_all_searched_splits():
    queries = modelcosts.encode_queries(TOY, named(**CORPUS))
    assert queries.operations == pytest.approx((20 + 10) * QUERY)  # dev and tune
    assert queries.disk == 4 * 64 * 30


def test_exact_search_multiplies_every_vector_with_every_query():
    shard = modelcosts.dense_search(TOY, named(**CORPUS, k="10", shard="3"))
    assert shard.core_s == pytest.approx(2 * 64 * 250 * 30 / 60e9)
    assert shard.disk == 11 * 30 * 10
    run = {"dataset": "toy", "split": "dev", "run": "vectors.seed1"}
    gathered = modelcosts.gather(TOY, named(**run))
    assert gathered.core_s == pytest.approx(4 * 200 * 3e-6)


def test_reranking_reads_every_pair_once():
    found = modelcosts.rerank(TOY, named(dataset="toy", split="dev", reranker="role"))
    tokens = 10 + 1000 / 4.5 + 2
    large = 24 * (4 * 1024**2 + 2 * 1024 * 4096)
    assert found.operations == pytest.approx(280 * tokens * (2 * large + 4 * 24 * tokens * 1024))
    layer = 4 * 512 * (34 * 1024 + 5 * 16 * 512)
    assert found.card == pytest.approx(4 * (large + (30522 + 514) * 1024) + layer)
