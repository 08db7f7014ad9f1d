"""What jobs take on a toy of 1,000 docs of 1,000 bytes, by hand; and that rules declare it.

Its backbone has 65,536 weights in two layers of width 64, 129,536 in all. A doc of 1,000 bytes is
224 tokens, of which the encoders read 100.
"""

import math
from dataclasses import replace

import pytest

from plan_fixture import MODEL, SYSTEM, named, registry
from residuum.config.schema.scales import Learning
from residuum.wiring import sizes
from residuum.wiring.estimates import Estimate, Estimates
from residuum.wiring.resources import Resources

TOY = registry()
ESTIMATES = Estimates(TOY)
DEV = {"dataset": "toy", "split": "dev"}
CORPUS = {"dataset": "toy", "model": "dual", "seed": "1"}
QUERY = 8 * 2 * 65_536
DOC = 100 * 2 * 65_536


def test_a_corpus_is_compressed_and_exported_at_the_stated_rates():
    result = ESTIMATES.corpus(named(dataset="toy"))
    assert result.disk == pytest.approx(0.36e6)
    assert result.core_s == pytest.approx(1e6 / 20e6)
    index = ESTIMATES.index(named(dataset="toy", index="en"))
    assert (index.disk, index.core_s) == pytest.approx((0.5e6, 1e6 / 2.5e6))


def test_a_search_takes_its_least_time_on_a_small_corpus():
    result = ESTIMATES.search(named(**DEV, run="bm25"))
    assert result.core_s == pytest.approx(20 * 0.003)
    assert result.disk == 11 * 20 * 10


def test_a_search_grows_with_the_corpus():
    edition = TOY.datasets["toy"].editions[1].model_copy(update={"docs": 8_840_000})
    dataset = TOY.datasets["toy"].model_copy(update={"editions": [edition]})
    large = replace(TOY, datasets={"toy": dataset})
    result = Estimates(large).search(named(**DEV, run="bm25"))
    assert result.core_s == pytest.approx(20 / 13)


def test_tuning_rm3_ranks_at_all_settings_at_once_and_searches_for_the_run():
    result = ESTIMATES.search(named(**DEV, run="tuned"))  # 2 * 2 settings
    docs = TOY.datasets["toy"].editions[-1].docs
    each = 0.006 + 4 * 35e-6 + 0.2 * docs / 1e6
    assert result.core_s == pytest.approx(20 * (0.003 * 2.5 + each))


def test_a_measure_that_looks_deep_costs_the_tuning_of_rm3_nothing():
    tuned = TOY.systems["tuned"]
    deep = tuned.rm3.model_copy(update={"measures": {"dev": "AP@1000"}})
    systems = {"tuned": tuned.model_copy(update={"rm3": deep})}
    result = Estimates(replace(TOY, systems=systems)).search(named(**DEV, run="tuned"))
    assert result == ESTIMATES.search(named(**DEV, run="tuned"))


def test_mining_searches_for_each_training_query_and_scores_what_it_draws():
    result = ESTIMATES.negatives(named(model="dual"))
    assert result.core_s == pytest.approx(60 * 0.003 + 60 * 3 * 5e-6 + 1e6 / 20e6)
    assert result.disk == 11 * 60 * 4
    assert ESTIMATES.negatives(named(model="inbatch")).core_s == pytest.approx(1e6 / 20e6)


def test_scoring_another_system_takes_its_docs_of_all_seeds():
    result = ESTIMATES.lexical_scores(named(**DEV, run="bm25", other="vectors"))
    assert result.disk == 11 * 20 * 10 * 2
    assert result.core_s == pytest.approx(20 * 0.003 + 400 * 5e-6)


def test_a_depth_curve_measures_every_pair_at_every_depth():
    result = ESTIMATES.depths(named(**DEV, reranker="role"))
    assert result.core_s == pytest.approx(20 * (8 + 3 + 3) * 2 * 1e-6)


def test_a_cut_and_a_measurement_read_the_run_once():
    assert ESTIMATES.run(named(**DEV, run="deep")).disk == 11 * 20 * 10
    assert ESTIMATES.measures(named(**DEV, run="deep")).core_s == pytest.approx(200 * 1e-6)


def test_a_triplet_is_a_query_and_two_docs():
    result = ESTIMATES.training(named(model="dual", seed="1"))
    assert result.steps == 60 * 2 / 4
    assert result.operations == pytest.approx(3 * 30 * 4 * (QUERY + 2 * DOC))
    assert result.disk == 4 * 129_536
    held = 2 * (4 * 2 * 100) * 50 * 64  # two layers, 4 pairs of docs of 100 tokens
    assert result.card == pytest.approx(16 * 129_536 + held)


def test_in_batch_training_reads_one_doc():
    base = 2 * 12 * (4 * 768**2 + 2 * 768 * 3072)
    texts = sum(n * base for n in (8, 100))
    assert ESTIMATES.training(named(model="inbatch", seed="1")).operations == pytest.approx(
        3 * 30 * 4 * texts
    )


def test_a_cross_encoder_reads_pairs_up_to_its_limit():
    pair = 50 * 2 * 65_536
    result = ESTIMATES.training(named(model="cross", seed="1"))
    assert result.operations == pytest.approx(3 * 30 * 4 * 2 * pair)


def test_a_training_keeps_as_many_models_as_it_has_snapshots():
    model = TOY.models["dual"]
    ten = model.training.model_copy(update={"snapshots": 10})
    kept = replace(TOY, models={"dual": model.model_copy(update={"training": ten}),
                                "small": TOY.models["small"]})  # fmt: skip
    result = Estimates(kept).training(named(model="dual", seed="1"))
    assert result.disk == 10 * 4 * 129_536


def test_a_control_that_takes_no_step_computes_nothing():
    start = TOY.models["dual"].model_copy(update={"trained": False})
    kept = replace(TOY, models={**TOY.models, "start": start})
    result = Estimates(kept).training(named(model="start", seed="1"))
    assert (result.operations, result.steps) == (0, 0) and result.disk == 4 * 129_536


LEARNING = {"candidates": "bm25", "top": 3, "measure": "RR@10"}


def told(**split):
    """Return the toy whose tuning split, of 10 queries, tells if a model learned."""
    dataset = TOY.datasets["toy"]
    splits = {**dataset.splits, "tune": dataset.splits["tune"].model_copy(update=split)}
    own = type(dataset.own)(train="train", tune="tune")
    data = {"toy": dataset.model_copy(update={"splits": splits, "own": own})}
    learning = Learning.model_validate(LEARNING)
    scale = TOY.scale.model_copy(update={"learning": learning})
    return Estimates(replace(TOY, datasets=data, scales={"toy": scale}))


def test_whether_a_model_learned_takes_the_docs_of_a_run_and_all_relevant_ones():
    doc = (1000 / 4.5 + 2) * 2 * 65_536
    result = told().held_out(named(model="dual", seed="1"))
    assert result.operations == pytest.approx(2 * (10 * 3 + 10) * doc), "the model, and its start"
    assert result.disk == 11 * (10 * 3 + 10)
    cross = told().held_out(named(model="cross", seed="1"))
    assert cross.operations == pytest.approx(2 * 40 * 50 * 2 * 65_536), "pairs of 50 tokens"


def test_where_answers_judge_most_of_what_tells_it_are_docs_that_hold_one():
    answered = told(relevant_by="answers", holdout=None, irds="toy/dev")  # 1,000, not pinned
    pairs = 1000 * 3 + 0.002 * 1000 * 1000  # a doc of 500 holds an answer of a query
    result = answered.held_out(named(model="dual", seed="1"))
    assert result.disk == 11 * pairs
    doc = (1000 / 4.5 + 2) * 2 * 65_536
    assert result.operations == pytest.approx(2 * 1000 * doc), "no doc of the corpus twice"


def test_in_a_plan_of_other_sizes_one_job_stands_for_all_shards():
    """10,000 docs by 300 a shard are 34 shards; of a real run each is a job."""
    edition = TOY.datasets["toy"].editions[1].model_copy(update={"docs": 10_000})
    dataset = TOY.datasets["toy"].model_copy(update={"editions": [edition]})
    real = replace(TOY, datasets={"toy": dataset})
    config = TOY.config.model_copy(update={"docs": {"toy": 10_000}})
    imagined, searched = replace(real, config=config), named(**CORPUS, k="10", shard="0")
    shards = {}
    for registry_ in (real, imagined):
        estimates = Estimates(registry_)
        jobs = (estimates.doc_vectors, estimates.dense_search, estimates.doc_term_vectors)
        shards[registry_] = [job(searched).shards for job in jobs]
        assert estimates.index(named(dataset="toy", index="en")).shards == 1
        assert estimates.dense_search(searched).core_s == pytest.approx(
            2 * 64 * (10_000 / 34) * 30 / 60e9
        )
    assert shards == {real: [1, 1, 1], imagined: [34, 34, 34]}
    assert [*imagined.numbered(34)] == [0]
    assert len(real.numbered(34)) == 34
    assert [*imagined.numbered(0)] == []


def test_only_a_plan_of_other_sizes_declares_shards():
    asked = TOY.config.model_copy(update={"docs": {"toy": 1000}})
    declared = [
        Resources(each).card(Estimates(each).doc_vectors, 1)
        for each in (TOY, replace(TOY, config=asked))
    ]
    assert "shards" not in declared[0]
    assert declared[1]["shards"](named(**CORPUS, shard="0")) == 4


def test_shards_share_the_corpus():
    shard = ESTIMATES.doc_vectors(named(**CORPUS, shard="0"))  # 300 docs a shard: four
    assert shard.operations == pytest.approx(1000 * DOC / 4)
    assert shard.disk == 4 * 64 * 1000 / 4


def test_encoding_takes_the_queries_of_all_searched_splits():
    queries = ESTIMATES.query_vectors(named(**CORPUS))
    assert queries.operations == pytest.approx((20 + 10) * QUERY)  # dev and tune
    assert queries.disk == 4 * 64 * 30


def test_vectors_of_others_are_read_and_a_program_is_asked():
    """Of 768 numbers of 4 bytes each; 1,000 docs in four shards; 20 queries of dev, 10 of tune."""
    given = {
        "kind": "released-vectors",
        "source": "ask them",
        "docs": {"toy": "d.npz"},
        "queries": {"dev": "q.npz"},
        "similarity": "dot",
    }
    asked = {"kind": "program", "command": ["it"], "similarity": "dot"}
    models = {"given": MODEL.validate_python(given), "asked": MODEL.validate_python(asked)}
    estimates = Estimates(replace(TOY, models={**TOY.models, **models}))
    jobs = {name: named(**{**CORPUS, "model": name, "seed": "0"}, shard="0") for name in models}
    docs, queries = estimates.taken_docs(jobs["given"]), estimates.taken_queries(jobs["given"])
    assert docs.disk == 4 * 768 * 250
    assert docs.core_s == pytest.approx(1e6 / 20e6 / 4 + 4 * 768 * 250 / 500e6)
    assert queries.disk == 4 * 768 * 20, "of the split that the entry names"
    assert queries.core_s == pytest.approx(4 * 768 * 1000 / 500e6)
    docs, queries = estimates.asked_docs(jobs["asked"]), estimates.asked_queries(jobs["asked"])
    assert (docs.disk, docs.core_s) == (4 * 4 * 768 * 250, 250 / 50)
    assert (queries.disk, queries.core_s) == (4 * 4 * 768 * 30, 30 / 50)


def test_exact_search_multiplies_every_vector_with_every_query():
    shard = ESTIMATES.dense_search(named(**CORPUS, k="10", shard="3"))
    assert shard.core_s == pytest.approx(2 * 64 * 250 * 30 / 60e9)
    assert shard.disk == 11 * 30 * 10
    run = {"dataset": "toy", "split": "dev", "run": "vectors.seed1"}
    gathered = ESTIMATES.run(named(**run))
    assert gathered.core_s == pytest.approx(4 * 200 * 1e-6)


def test_reranking_reads_every_pair_once():
    result = ESTIMATES.pair_scores(named(dataset="toy", split="dev", reranker="role"))
    tokens = 10 + 1000 / 4.5 + 2
    large = 24 * (4 * 1024**2 + 2 * 1024 * 4096)
    assert result.operations == pytest.approx(280 * tokens * 2 * large)
    layer = 4 * 512 * 50 * 1024
    assert result.card == pytest.approx(4 * (large + (30522 + 514) * 1024) + layer)


def test_reranking_by_vectors_reads_every_text_once_and_multiplies_every_pair():
    """200 pairs of 20 queries: 200 docs at most of 1,000, each with 50 vectors of 6 dimensions."""
    theirs = {
        "kind": "released-encoder", "hub": "org/bert-base", "revision": "x", "pooling": "tokens",
        "query_length": 8, "doc_length": 50, "dimensions": 6,
    }  # fmt: skip
    by = {
        "kind": "rerank", "first_stage": "bm25", "reranker": {"model": "late"},
        "depth": {"grid": [5, 10], "value": "largest"},
    }  # fmt: skip
    toy = replace(
        TOY,
        models={**TOY.models, "late": MODEL.validate_python(theirs)},
        systems={**TOY.systems, "by": SYSTEM.validate_python(by)},
    )
    result = Estimates(toy).pair_scores(named(**DEV, reranker="late@seed0"))
    layers = 12 * (4 * 768**2 + 2 * 768 * 3072)
    assert result.operations == pytest.approx(2 * layers * (200 * 50 + 20 * 8))
    assert result.core_s == pytest.approx(2 * 200 * 50 * 32 * 6 / 60e9)
    assert result.disk == 2 * 11 * 200


def test_fixed_assumptions_show_their_numbers():
    assert all(f"{float(number):.3g}" in number.text for number in sizes.ALL)
    # 13 queries a second over MS MARCO's 8.84 million passages, as published
    assert pytest.approx(1 / 13) == sizes.SEARCH * 8.84
    assert len(sizes.ALL) > 20


def resources(**config):
    return Resources(replace(TOY, config=TOY.config.model_copy(update=config)))


def test_a_job_declares_its_start_and_is_limited_to_a_quarter_and_four_times_its_estimate():
    made = resources().cpu(lambda w: Estimate(disk=2.5e6, core_s=7200), mem_mb=4000)
    assert (made["gpu"], made["disk_mb"](None), made["core_s"](None)) == (0, 3, 7201)
    assert made["runtime"](None, threads=4, attempt=1) == 15 + 4 * 30


def test_a_job_that_is_tried_again_has_more_time_and_memory():
    made = resources().cpu(lambda w: Estimate(core_s=7200), mem_mb=4000)
    assert made["runtime"](None, threads=4, attempt=2) == 2 * (15 + 4 * 30)
    assert [made["mem_mb"](None, attempt=attempt) for attempt in (1, 2, 3)] == [4000, 8000, 12000]
    made = resources().card(lambda w: Estimate(), mem_mb=lambda w: 500)
    assert made["mem_mb"](None, attempt=2) == 1000


def test_a_card_takes_its_share_of_its_speed_and_a_step_its_least():
    card = resources(tflops=100, utilisation=0.5, device="cuda", gpus=2)
    work, steps = Estimate(operations=1e15, card=3.5e9), Estimate(operations=1e15, steps=2000)
    assert card.card(lambda w: work, mem_mb=1)["gpu_s"](None) == 20
    assert card.card(lambda w: work, mem_mb=1)["gpu_mb"](None) == 3500
    made = card.training(lambda w: steps, mem_mb=1000)
    assert (made["gpu_s"](None), made["gflop"](None)) == (math.ceil(2000 * sizes.STEP_S), 10**6)
    few = Estimate(operations=1e15, steps=500)
    assert card.training(lambda w: few, mem_mb=1)["gpu_s"](None) == 20 > 500 * sizes.STEP_S
    assert (made["gpu"], made["mem_mb"](named(model="dual"), 1)) == (2, 2000), (
        "60 pairs take nothing"
    )


def test_without_a_card_the_limit_follows_from_the_cores():
    made = resources(device="cpu").card(lambda w: Estimate(operations=60e9 * 7200), mem_mb=1)
    assert made["runtime"](None, threads=2, attempt=1) == 15 + 4 * 60
