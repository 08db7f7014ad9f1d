"""Exact search on a card: the very hits and runs of a CPU, kept or copied, and as memory ends."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch

from residuum.artefacts import trec
from residuum.vectors import exact, nearest
from toy_search import normal, toy

pytestmark = pytest.mark.cuda
DOCS, DIMENSIONS = 150_000, 256
TAKEN = 2**23  # bytes


@pytest.fixture(autouse=True)
def strictly(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Refuse operations that do not compute the same twice."""
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


@pytest.fixture(scope="module")
def vectors() -> np.ndarray:
    return normal(1, DOCS, DIMENSIONS) + np.float32(0.3)


@pytest.fixture(scope="module")
def queries() -> np.ndarray:
    return normal(2, 300, DIMENSIONS) + np.float32(0.3)


def run(index: nearest.Index, queries: np.ndarray, k: int) -> pl.DataFrame:
    hits = pl.concat(index.search(([], queries), k))
    return trec.rank(hits.with_columns(query_id=pl.col("query").cast(pl.String)), k)


def named(vectors: np.ndarray, each: int) -> tuple[list[str], np.ndarray]:
    return [f"d{row // each}" for row in range(len(vectors))], vectors


@pytest.mark.parametrize("kind", ["single", "ties", "several"])
@pytest.mark.parametrize("residual", [False, True])
def test_hits_and_run_have_the_bytes_of_a_cpu(tmp_path: Path, kind: str, residual: bool) -> None:
    made = toy(tmp_path, kind)
    for k in (1, 30, 400 if kind == "several" else 2500):
        expected = made.bytes_of(f"cpu{k}", k, residual)
        for device in ("cuda", "auto"):
            assert made.bytes_of(f"{device}{k}", k, residual, device) == expected, k


@pytest.mark.parametrize(("k", "each"), [(10, 1), (3000, 1), (500, 8)])
def test_many_vectors_give_the_run_of_a_cpu_kept_or_copied(
    vectors: np.ndarray, queries: np.ndarray, monkeypatch: pytest.MonkeyPatch, k: int, each: int
) -> None:
    docs = named(vectors, each)
    expected = run(nearest.Index(docs, None, "cpu"), queries, k)
    assert run(nearest.Index(docs, None, "cuda"), queries, k).equals(expected)
    monkeypatch.setattr(exact, "BLOCK", 4 * DIMENSIONS * 10_000)  # 15 blocks, by two streams
    blocks = nearest.Index(docs, None, "cuda")
    assert run(blocks, queries, k).equals(expected)
    monkeypatch.setattr(exact.Card, "_blocks", exact.Card._copied)
    for _ in range(3):
        assert run(blocks, queries, k).equals(expected)


def until_full() -> Iterator[torch.Tensor]:
    """Yield memory until there is no more, what lies free between other tensors included."""
    while True:
        try:
            yield torch.empty(TAKEN, dtype=torch.uint8, device="cuda")
        except torch.OutOfMemoryError:
            return


def test_a_card_with_little_memory_gives_the_same_run(
    vectors: np.ndarray, queries: np.ndarray, capfd: pytest.CaptureFixture[str]
) -> None:
    expected = run(nearest.Index(named(vectors, 1), None, "cuda"), queries, 100)
    total = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.empty_cache()
    torch.cuda.set_per_process_memory_fraction(
        (torch.cuda.memory_reserved() + vectors.nbytes) / total
    )
    taken = [*until_full()]
    del taken[-(vectors.nbytes // 2 // TAKEN) :]
    try:
        docs = nearest.Index(named(vectors, 1), None, "cuda")
        assert run(docs, queries, 100).equals(expected)
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    assert "at once from now on" in capfd.readouterr().err


def test_computed_scores_are_off_by_no_more_than_the_bound(
    vectors: np.ndarray, queries: np.ndarray
) -> None:
    card = exact.Card(vectors, "cuda")
    scores, rows = card.search(queries, 500, 1)
    query = np.repeat(np.arange(len(queries)), 500)
    own, near = card.products(queries, query, rows.ravel())
    allowed = (card.uncertain(queries) - trec.ROUNDING) / 2
    wrong = np.abs(scores.ravel() - own)
    assert (wrong <= allowed[query]).all()
    assert wrong.max() > 0, "float32 was not float64"
    sums = np.einsum("ij,ij->i", queries[query].astype(float), vectors[rows.ravel()].astype(float))
    lengths = np.linalg.norm(queries, axis=1).max() * np.linalg.norm(vectors, axis=1).max()
    assert np.abs(sums - own).max() <= 2 * exact.bound(DIMENSIONS, 53) * lengths
    turned = np.round(sums, trec.SCORE_DECIMALS) != np.round(own, trec.SCORE_DECIMALS)
    assert {*np.nonzero(turned)[0]} <= {*near} and len(near) < len(own) / 100
