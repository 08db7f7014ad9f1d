"""The batch stream: resumable at any step, uniform negatives, disjoint parts, known positives."""

from collections import Counter

import pytest

from residuum.core.contracts import Tuple
from residuum.core.errors import ResiduumError
from residuum.neural.batches import Batch, Positives, Stream, Visits, part_of, with_negatives


def pairs(count: int, pool: int = 4) -> list[Tuple]:
    names = [f"n{i}" for i in range(pool)]
    scores = [float(i) for i in range(pool)]
    return [Tuple(f"q{i}", f"d{i}", 10.0 + i, names, scores) for i in range(count)]


def test_a_stream_started_later_gives_the_identical_batches() -> None:
    whole = [Stream(pairs(10), 4, seed=1).batch(step) for step in range(12)]
    late = Stream(pairs(10), 4, seed=1)
    assert [late.batch(step) for step in range(7, 12)] == whole[7:]


def test_each_epoch_visits_every_pair_once_in_its_own_order() -> None:
    stream = Stream(pairs(12), 4, seed=1)
    visits = [query for step in range(6) for query in stream.batch(step).query_ids]
    assert sorted(visits[:12]) == sorted(visits[12:]) == sorted(f"q{i}" for i in range(12))
    assert visits[:12] != visits[12:]


def test_visits_of_a_step_follow_from_its_number_alone() -> None:
    visits = [number for step in range(5) for number, _ in Visits(10, 4, seed=1).of(step)]
    assert sorted(visits[:10]) == sorted(visits[10:]) == list(range(10))


def test_seeds_differ() -> None:
    assert Stream(pairs(50), 8, seed=1).batch(0) != Stream(pairs(50), 8, seed=2).batch(0)


def test_rows_belong_together() -> None:
    batch = Stream(pairs(20), 8, seed=3).batch(5)
    for i, query in enumerate(batch.query_ids):
        assert batch.positives[i] == query.replace("q", "d")
        assert batch.positive_scores[i] == 10.0 + int(query[1:])
        assert batch.negatives[i] == f"n{batch.negative_scores[i]:.0f}"


def test_negatives_are_drawn_uniformly_and_anew_each_visit() -> None:
    stream = Stream(pairs(20), 20, seed=1)
    drawn = Counter(doc for step in range(200) for doc in stream.batch(step).negatives)
    assert set(drawn) == {"n0", "n1", "n2", "n3"}
    assert all(abs(count - 1000) < 150 for count in drawn.values())  # 5 standard deviations


def test_a_batch_larger_than_the_pairs_is_full() -> None:
    assert Counter(Stream(pairs(3), 9, seed=1).batch(0).query_ids) == {"q0": 3, "q1": 3, "q2": 3}


def test_steps_of_epochs() -> None:
    stream = Stream(pairs(100), 32, seed=1)
    assert [stream.steps(epochs) for epochs in (1, 2, 0.5, 0.001)] == [4, 7, 2, 1]


def test_parts_are_disjoint_equal_and_cover_everything_in_any_order() -> None:
    all_pairs = pairs(31)
    parts = [part_of(all_pairs, (i, 3)) for i in (1, 2, 3)]
    assert sorted(p.query_id for part in parts for p in part) == sorted(
        p.query_id for p in all_pairs
    )
    assert sorted(len(part) for part in parts) == [10, 10, 11]
    assert part_of(all_pairs[::-1], (2, 3)) == parts[1]


def test_pairs_without_negatives_are_left_out() -> None:
    bare = Tuple("q9", "d9", 1.0, [], [])
    assert with_negatives([*pairs(2), bare]) == pairs(2)
    assert Stream([bare], 2, seed=1).batch(0) == Batch(["q9"] * 2, ["d9"] * 2, [], [], [])


def test_no_pairs_is_an_error() -> None:
    with pytest.raises(ResiduumError, match="no training pair is left"):
        Stream([], 4, seed=1)


def test_known_positives_are_no_negatives() -> None:
    known = Positives(
        [Tuple(q, d, 0.0, [], []) for q, d in [("q1", "a"), ("q1", "b"), ("q2", "c"), ("q3", "a")]]
    )
    batch = Batch(["q1", "q1", "q2", "q3"], ["a", "b", "c", "a"], [], [], [])
    assert known.ignore(batch).astype(int).tolist() == [
        [0, 1, 0, 1],
        [1, 0, 0, 1],
        [0, 0, 0, 0],
        [1, 0, 0, 0],
    ]
