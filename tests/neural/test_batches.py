"""The batch stream: resumable at any step, uniform negatives, a fixed order, known positives."""

from collections import Counter
from collections.abc import Callable

import pytest

from residuum.artefacts.contracts import Tuple
from residuum.cli.errors import ResiduumError
from residuum.neural.batches import (
    Batch,
    EpochSampler,
    QuerySampler,
    Visit,
    draw_batch,
    in_fixed_order,
    other_positives,
)


def pairs(count: int, pool: int = 4) -> list[Tuple]:
    names = [f"n{i}" for i in range(pool)]
    scores = [float(i) for i in range(pool)]
    return [Tuple(f"q{i}", f"d{i}", 10.0 + i, names, scores) for i in range(count)]


def stream(count: int, batch_size: int, seed: int, group: int = 1) -> Callable[[int], Batch]:
    """Return what gives the batch of a step."""
    sampler = EpochSampler(count, batch_size, seed)
    return lambda step: draw_batch(pairs(count), group, sampler.visits(step))


def test_a_stream_started_later_gives_the_identical_batches() -> None:
    whole = [stream(10, 4, seed=1)(step) for step in range(12)]
    late = stream(10, 4, seed=1)
    assert [late(step) for step in range(7, 12)] == whole[7:]


def test_each_epoch_visits_every_pair_once_in_its_own_order() -> None:
    batches = stream(12, 4, seed=1)
    visits = [query for step in range(6) for query in batches(step).query_ids]
    assert sorted(visits[:12]) == sorted(visits[12:]) == sorted(f"q{i}" for i in range(12))
    assert visits[:12] != visits[12:]


def test_visits_of_a_step_follow_from_its_number_alone() -> None:
    visits = [v.number for step in range(5) for v in EpochSampler(10, 4, seed=1).visits(step)]
    assert sorted(visits[:10]) == sorted(visits[10:]) == list(range(10))


def test_seeds_differ() -> None:
    assert stream(50, 8, seed=1)(0) != stream(50, 8, seed=2)(0)


def test_rows_belong_together() -> None:
    batch = stream(20, 8, seed=3)(5)
    for i, query in enumerate(batch.query_ids):
        assert batch.positives[i] == query.replace("q", "d")
        positive, negative = batch.lexical[i]
        assert positive == 10.0 + int(query[1:])
        assert batch.negatives[i] == [f"n{negative:.0f}"]


@pytest.mark.parametrize("group", [1, 2, 3])
def test_as_many_visits_as_negatives_take_each_as_often_and_no_doc_twice_at_once(
    group: int,
) -> None:
    batches = stream(10, 4, seed=1, group=group)
    visits = [
        visit
        for batch in map(batches, range(20))  # 80 visits: of each of 10 pairs 8, with 4 negatives
        for visit in zip(batch.query_ids, batch.negatives, strict=True)
    ]
    for query in {query for query, _ in visits}:
        taken = [docs for other, docs in visits if other == query]
        assert all(len({*docs}) == group for docs in taken)
        for some in (taken[:4], taken[4:], taken[2:6]):
            counts = Counter(doc for docs in some for doc in docs)
            assert counts == dict.fromkeys(("n0", "n1", "n2", "n3"), group)


@pytest.mark.parametrize("epoch", [0, 1, 2])
def test_at_any_visit_each_negative_is_as_likely(epoch: int) -> None:
    """Of 4,000 draws, 20 pairs with 200 seeds, each of 4 negatives has 1,000, to 5 deviations."""
    drawn = Counter(doc for seed in range(200) for (doc,) in stream(20, 20, seed)(epoch).negatives)
    assert set(drawn) == {"n0", "n1", "n2", "n3"}
    assert all(abs(count - 1000) < 5 * (4000 * 0.25 * 0.75) ** 0.5 for count in drawn.values())


def test_pairs_and_seeds_start_at_negatives_of_their_own() -> None:
    first = {seed: stream(20, 20, seed)(0) for seed in (1, 2)}
    of_pair = [dict(zip(b.query_ids, b.negatives, strict=True)) for b in first.values()]
    assert of_pair[0] != of_pair[1]
    assert len({doc for (doc,) in of_pair[0].values()}) == 4


def test_a_batch_larger_than_the_pairs_is_full() -> None:
    assert Counter(stream(3, 9, seed=1)(0).query_ids) == {"q0": 3, "q1": 3, "q2": 3}


def test_steps_of_epochs() -> None:
    sampler = EpochSampler(100, 32, seed=1)
    assert [sampler.steps(epochs) for epochs in (1, 2, 0.5, 0.001)] == [4, 7, 2, 1]


def test_pairs_have_one_order_in_whatever_order_they_are_stored() -> None:
    stored = pairs(31)
    ordered = in_fixed_order(stored)
    assert sorted(pair.query_id for pair in ordered) == sorted(pair.query_id for pair in stored)
    assert in_fixed_order(stored[::-1]) == ordered != stored


def test_groups_follow_from_seed_and_step_and_hold_distinct_negatives() -> None:
    batches = [stream(10, 3, seed=1, group=3)(step) for step in range(8)]
    late = stream(10, 3, seed=1, group=3)
    assert [late(step) for step in range(5, 8)] == batches[5:]
    assert stream(10, 3, seed=2, group=3)(0) != batches[0]
    groups = [group for batch in batches for group in batch.negatives]
    assert all(len({*group}) == 3 for group in groups)
    assert {doc for group in groups for doc in group} == {"n0", "n1", "n2", "n3"}


def test_a_pool_smaller_than_the_group_repeats() -> None:
    (group,) = draw_batch(pairs(1, pool=2), 5, [Visit(0, 7, 0)]).negatives
    assert group == ["n1", "n0", "n1", "n0", "n1"]


def test_without_groups_a_batch_has_positives_only() -> None:
    bare = Tuple("q9", "d9", 1.0, [], [])
    batch = draw_batch([bare], 0, [Visit(0, 7, 0), Visit(0, 7, 1)])
    assert batch == Batch(["q9"] * 2, ["d9"] * 2, [[], []], [[1.0], [1.0]], [7, 8])
    assert batch.docs == ["d9", "d9"]


def test_no_pairs_is_an_error() -> None:
    with pytest.raises(ResiduumError, match="no training pair is left"):
        EpochSampler(0, 4, seed=1)


def test_known_positives_are_no_negatives_in_any_column() -> None:
    """By hand: positives a, b, c, a, then the sampled negatives of each pair."""
    known = {"q1": {"a", "b"}, "q2": {"c"}, "q3": {"a"}}
    negatives = [["x", "c"], ["c", "y"], ["a", "b"], ["b", "z"]]
    batch = Batch(["q1", "q1", "q2", "q3"], ["a", "b", "c", "a"], negatives, [], [])
    expected = [
        [0, 1, 0, 1, 0, 0, 0, 0, 1, 1, 1, 0],
        [1, 0, 0, 1, 0, 0, 0, 0, 1, 1, 1, 0],
        [0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0],
        [1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0],
    ]
    assert other_positives(batch, slice(0, 4), known).astype(int).tolist() == expected
    assert other_positives(batch, slice(1, 3), known).astype(int).tolist() == expected[1:3]


def test_queries_are_visited_alike_and_their_pairs_in_turn() -> None:
    """One query has six pairs and three have two: by pairs it would own half of the training."""
    owners = ["big"] * 6 + ["a", "a", "b", "b", "c", "c"]
    pairs = [Tuple(q, f"{q}{i}", 1.0, ["n0", "n1"], [0.0, 0.0]) for i, q in enumerate(owners)]
    sampler = QuerySampler(pairs, 4, seed=1)
    assert sampler.steps(2) == EpochSampler(len(pairs), 4, 1).steps(2) == 6
    visits = [visit for step in range(6) for visit in sampler.visits(step)]
    seen = [pairs[visit.number] for visit in visits]
    assert Counter(pair.query_id for pair in seen) == {"big": 6, "a": 6, "b": 6, "c": 6}
    # six visits: each of the big query's pairs once, each of the others' thrice
    assert {pair.positive for pair in seen if pair.query_id == "big"} == {
        f"big{i}" for i in range(6)
    }
    assert set(Counter(p.positive for p in seen if p.query_id != "big").values()) == {3}
    epochs = [visit.epoch for visit in visits if owners[visit.number] == "a"]
    assert sorted(epochs)[-1] - sorted(epochs)[0] <= 3, "its pairs' own, by which negatives turn"
    assert sampler.visits(3) == QuerySampler(pairs, 4, seed=1).visits(3)


def test_all_tuples_of_a_pair_stand_together_in_their_own_order() -> None:
    triples = [pair._replace(negatives=[f"m{i}"]) for pair in pairs(31) for i in range(3)]
    ordered = in_fixed_order(triples)
    assert [p.query_id for p in ordered[::3]] == [p.query_id for p in in_fixed_order(pairs(31))]
    assert [p.negatives[0] for p in ordered[:6]] == ["m0", "m1", "m2"] * 2
