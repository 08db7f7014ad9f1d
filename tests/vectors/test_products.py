"""Products of sparse vectors against dense ones in plain Python; ties; another vocabulary."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from residuum.artefacts.termvectors import TermVectors
from residuum.vectors import products


def vectors(prefix: str, rows: list[dict[str, float]]) -> TermVectors:
    terms = sorted({term for row in rows for term in row})
    dense = [[row.get(term, 0.0) for term in terms] for row in rows]
    matrix = csr_array(np.array(dense, dtype=np.float32))
    return TermVectors([f"{prefix}{i}" for i in range(len(rows))], terms, matrix)


def random_rows(count: int, names: str, seed: int) -> list[dict[str, float]]:
    random = np.random.default_rng(seed)
    return [
        {name: float(np.float32(random.random())) for name in names if random.random() < 0.4}
        for _ in range(count)
    ]


DOCS = random_rows(200, "abcdefgh", 1)
QUERIES = [*random_rows(70, "defghijk", 2), {}, {"z": 1.0}]


def by_hand() -> list[list[float]]:
    return [
        [sum(v * doc.get(t, 0.0) for t, v in query.items()) for doc in DOCS] for query in QUERIES
    ]


@pytest.mark.parametrize("k", [1, 10, 500])
def test_the_best_are_those_of_plain_python(k: int) -> None:
    found: dict[int, dict[int, float]] = {number: {} for number in range(len(QUERIES))}
    for query, doc, score in products.best(vectors("q", QUERIES), vectors("d", DOCS), k):
        for row in zip(query.tolist(), doc.tolist(), score.tolist(), strict=True):
            found[row[0]][row[1]] = row[2]
    for number, scores in enumerate(by_hand()):
        shared = {i: score for i, score in enumerate(scores) if score > 0}
        least = sorted(shared.values(), reverse=True)[:k][-1] if shared else 0
        expected = {i: score for i, score in shared.items() if score >= least}
        assert found[number] == pytest.approx(expected, rel=1e-12)


def test_all_that_tie_with_the_last_are_kept() -> None:
    docs = vectors("d", [{"a": 1.0}, {"a": 2.0}, {"a": 1.0, "b": 5.0}, {"b": 1.0}, {"a": 0.5}])
    ((_, numbers, scores),) = products.best(vectors("q", [{"a": 1.0}]), docs, 2)
    assert dict(zip(numbers.tolist(), scores.tolist(), strict=True)) == {0: 1.0, 1: 2.0, 2: 1.0}


def test_pairs_have_the_scores_of_plain_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "PAIRS_AT_ONCE", 97)
    random = np.random.default_rng(3)
    left, right = random.integers(len(QUERIES), size=500), random.integers(len(DOCS), size=500)
    scores = products.pairs(vectors("q", QUERIES), vectors("d", DOCS), left, right)
    expected = by_hand()
    assert scores == pytest.approx([expected[q][d] for q, d in zip(left, right, strict=True)])
