"""Torch's exact search, here on the CPU: FAISS's hits and bytes, in blocks, and as memory ends."""

import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
import torch

from killing import WORKFLOW
from residuum import dense
from residuum.artefacts import trec
from residuum.cli.errors import ResiduumError
from residuum.neural import cards
from residuum.vectors import exact, nearest
from residuum.vectors.approximate import SEARCHES, Found, VectorIndex
from toy_search import Toy, normal, toy


def search_by_torch(monkeypatch: pytest.MonkeyPatch, device: str = "cpu") -> None:
    """Have all exact searches be done as on a card."""
    monkeypatch.setattr(nearest, "_exact", lambda vectors, _: exact.Card(vectors, device).index())


def small_blocks(monkeypatch: pytest.MonkeyPatch, dimensions: int, scores: int = 500) -> None:
    """Have 100 vectors in a block, and few scores at once."""
    monkeypatch.setattr(exact, "BLOCK", 400 * dimensions)
    monkeypatch.setattr(exact, "SCORES", scores)
    monkeypatch.setattr(exact, "FEWEST", 50)


def found(ids: list[str], vectors: np.ndarray, queries: np.ndarray, k: int) -> pl.DataFrame:
    frames = nearest.Index((ids, vectors), None, "cpu").search(([], queries), k)
    return trec.rank(pl.concat(frames).with_columns(query_id=pl.col("query").cast(pl.String)), k)


def brute(vectors: np.ndarray, queries: np.ndarray, k: int) -> list[list[str]]:
    """Return the ids, d0 and so on, of the best vectors by sums of float64."""
    products = queries.astype(np.float64) @ vectors.astype(np.float64).T
    return [[f"d{row}" for row in np.argsort(-own, kind="stable")[:k]] for own in products]


@pytest.mark.parametrize("kind", ["single", "ties", "several"])
@pytest.mark.parametrize("residual", [False, True])
def test_hits_and_run_have_the_bytes_of_a_cpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, residual: bool
) -> None:
    """Of depths up to more than FAISS's 2048 on a card, and with blocks smaller than the docs."""
    made = toy(tmp_path, kind)
    depths = (1, 30, 400 if kind == "several" else 2500)
    expected = [made.bytes_of(f"cpu{k}", k, residual) for k in depths]
    search_by_torch(monkeypatch)
    assert [made.bytes_of(f"whole{k}", k, residual) for k in depths] == expected
    small_blocks(monkeypatch, 16)
    assert [made.bytes_of(f"blocks{k}", k, residual) for k in depths] == expected


def test_a_block_may_hold_fewer_vectors_than_hits_are_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    vectors, queries = normal(6, 900, 8), normal(7, 11, 8)
    small_blocks(monkeypatch, 8)
    index = exact.Card(vectors, "cpu")
    scores, rows = index.search(queries, 700, 1)
    products = queries.astype(np.float64) @ vectors.astype(np.float64).T
    assert all(len({*own}) == 700 for own in rows)
    np.testing.assert_allclose(scores, -np.sort(-products, axis=1)[:, :700], atol=1e-5)
    np.testing.assert_allclose(scores, np.take_along_axis(products, rows, axis=1), atol=1e-5)
    assert (index.compared(), index.compared()) == (11 * 900, 0)


def test_less_is_compared_at_once_when_the_memory_of_a_card_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    made, better, most, tried = toy(tmp_path, "single"), exact._better, 130, list[int]()
    expected = made.bytes_of("cpu", 40, False)

    def full(best: object, scores: torch.Tensor, *rest: int) -> object:
        tried.append(scores.numel())
        if scores.numel() > most:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return better(best, scores, *rest)

    search_by_torch(monkeypatch)
    small_blocks(monkeypatch, 24, scores=10_000)
    monkeypatch.setattr(exact, "_better", full)
    assert made.bytes_of("full", 40, False) == expected
    assert list(dict.fromkeys(tried))[:3] == [1200, 12 * 50, 6 * 25], "queries and vectors"
    assert "25 at once from now on\n" in capfd.readouterr().err
    most = 0
    with pytest.raises(ResiduumError, match="or set device: cpu"):
        made.bytes_of("fuller", 40, False)


def test_vectors_that_a_card_cannot_keep_are_copied_for_each_search(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    vectors, queries, clone = normal(8, 500, 8), normal(9, 4, 8), torch.Tensor.clone
    kept = []

    def full(tensor: torch.Tensor) -> torch.Tensor:
        kept.append(len(tensor))
        if len(kept) > 3:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return clone(tensor)

    small_blocks(monkeypatch, 8)
    expected = exact.Card(vectors, "cpu").search(queries, 60, 1)
    monkeypatch.setattr(torch.Tensor, "clone", full)
    card = exact.Card(vectors, "cpu")
    assert kept == [100] * 4 and not card._kept
    for scores, other in zip(card.search(queries, 60, 1), expected, strict=True):
        np.testing.assert_allclose(scores, other, rtol=1e-5)
    assert card._longest == pytest.approx(np.linalg.norm(vectors, axis=1).max())


def test_blocks_are_copied_by_two_streams_that_wait_for_each_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A stand-in for a card: what waits for what, and the hits of the real code on the CPU."""
    acts, empty = list[str](), torch.empty
    numbers = iter(range(1000))

    def record(name: str) -> Callable[..., None]:
        return lambda *_: acts.append(name)

    def event() -> SimpleNamespace:
        number = next(numbers)
        return SimpleNamespace(synchronize=record(f"wait {number}"), record=record(f"end {number}"))

    def on_cpu(*shape: object, pin_memory: bool = False, device: object = None, **rest: object):
        return empty(*shape, **rest)

    copying = SimpleNamespace(wait_stream=record("copying waits"))
    computing = SimpleNamespace(wait_stream=record("computing waits"))
    monkeypatch.setattr(torch, "empty", on_cpu)
    monkeypatch.setattr(torch.cuda, "Event", event)
    monkeypatch.setattr(torch.cuda, "Stream", lambda: copying)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda: computing)
    monkeypatch.setattr(torch.cuda, "stream", lambda _: nullcontext())
    small_blocks(monkeypatch, 8)
    vectors, queries = normal(10, 250, 8), normal(11, 6, 8)
    card = exact.Card(vectors, "cuda")
    assert acts == [
        "copying waits",
        *("wait 0", "computing waits", "end 0"),
        *("wait 1", "computing waits", "end 1"),
        *("wait 0", "computing waits", "end 0"),
    ]
    expected = np.argsort(-(queries @ vectors.T), axis=1)[:, :20]
    for keep in (True, False):
        card._keep = keep
        assert (card.search(queries, 20, 1)[1] == expected).all()
        sums, _ = card.products(queries, np.array([0, 5, 5]), np.array([249, 0, 120]))
        own = queries[[0, 5, 5]].astype(float) * vectors[[249, 0, 120]].astype(float)
        np.testing.assert_allclose(sums, own.sum(axis=1), rtol=1e-12)


def test_hits_hold_where_float32_cancels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores of 1 and less are sums of millions: as computed, they are in no order at all."""
    vectors, queries = normal(12, 400, 64), normal(13, 8, 64)
    large = np.float32(3000) * np.abs(normal(14, 400, 1))
    vectors = np.hstack([vectors / 64, large, -large])
    queries = np.hstack([queries, np.full((8, 2), 1000, np.float32)])
    ids = [f"d{row}" for row in range(400)]
    expected = brute(vectors, queries, 10)
    computed = np.argsort(-(queries @ vectors.T), axis=1)[:, :10]
    assert sorted(f"d{row}" for row in computed[0]) != sorted(expected[0])
    search_by_torch(monkeypatch)
    run = found(ids, vectors, queries, 10)
    assert [own["doc_id"].to_list() for own in run.partition_by("query_id")] == expected


def test_a_run_is_a_cpus_however_far_the_sums_of_a_card_may_be_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Scores are multiples of 2^-7, so that one of 16 lies halfway between two of six decimals."""
    random, near_half = np.random.default_rng(15), exact.near_half
    vectors = (random.integers(-9, 9, size=(600, 6)) / 128).astype(np.float32)
    queries = random.integers(-3, 4, size=(9, 6)).astype(np.float32)
    made = Toy(tmp_path, [f"d{row}" for row in range(600)], vectors, queries)
    expected = made.bytes_of("cpu", 50, False)

    def other(scores: torch.Tensor, off: float) -> torch.Tensor:
        """Shift sums as far as another order may, before it is asked which may be rounded so."""
        scores += off * torch.from_numpy(random.choice([-1, 1], size=len(scores)))
        return near_half(scores, off)

    search_by_torch(monkeypatch)
    monkeypatch.setattr(exact, "near_half", other)
    assert made.bytes_of("off", 50, False) == expected
    monkeypatch.setattr(exact, "near_half", lambda *sums: other(*sums)[:0])
    assert made.bytes_of("not mended", 50, False) != expected


def test_scores_near_a_half_are_those_that_an_error_may_round_otherwise() -> None:
    random, off = np.random.default_rng(16), 1e-9
    sums = random.normal(size=20_000) * 100
    sums[:500] = (np.arange(500) + 0.5) / 10**6 + random.uniform(-2, 2, 500) * off

    def rounded(scores: np.ndarray) -> np.ndarray:
        return pl.Series(scores).round(trec.SCORE_DECIMALS).to_numpy()

    turned = (rounded(sums + off) != rounded(sums)) | (rounded(sums - off) != rounded(sums))
    near = exact.near_half(torch.from_numpy(sums), off).numpy()
    assert turned.sum() > 200 and {*np.nonzero(turned)[0]} <= {*near}
    assert (near >= 500).sum() < 80, "2e-9 of each 1e-6: 39 of 19,500"


@pytest.mark.parametrize("each", [2, 5])
def test_the_first_hits_of_docs_are_those_that_a_loop_finds(
    monkeypatch: pytest.MonkeyPatch, each: int
) -> None:
    random = np.random.default_rng(17)
    ids = [f"d{row // each if row % 7 else row}" for row in range(600)]
    of = nearest._Dense(ids, normal(18, 600, 4), exact.Card(normal(18, 600, 4), "cpu").index())
    rows = np.array([random.permutation(600)[:200] for _ in range(23)])
    rows[3, 50:], rows[4] = -1, -1
    scores = -np.sort(-random.normal(size=rows.shape).astype(np.float32), axis=1)
    for at_once in (1, 3 * len(of.names), 10**6):
        monkeypatch.setattr(nearest, "SEEN_AT_ONCE", at_once)
        firsts = of._firsts(rows)
        for k in (1, 40, 150):
            floor = of._floor(normal(19, 23, 4) * 0, scores, rows, firsts, k)
            for query, own in enumerate(rows):
                seen = by_loop(ids, own)
                assert np.nonzero(firsts[query])[0].tolist() == seen
                if len(seen) < k:
                    assert floor[query] == -np.inf
                    continue
                width = nearest.TIE * (np.abs(scores[query][own >= 0]).max() + 0.01)
                assert floor[query] == pytest.approx(scores[query, seen[k - 1]] - width, abs=1e-6)


def by_loop(ids: list[str], rows: np.ndarray) -> list[int]:
    """Return the places of hits before which none is of the same doc."""
    places: dict[str, int] = {}
    for place, row in enumerate(rows):
        if row >= 0:
            places.setdefault(ids[row], place)
    return [*places.values()]


def test_torch_is_asked_for_a_card_only_where_there_may_be_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(cards, "possible", lambda: True)
    assert dense.device_of("auto", 1, None) == dense.device_of("mps", 1, None) == "cpu"
    with pytest.raises(ResiduumError, match="cuda"):
        dense.device_of("cuda", 1, None)
    ivf = SEARCHES["ivf"].model_validate({"kind": "ivf", "nlist": 4, "nprobe": 1})
    assert dense.device_of("auto", 1, ivf) == "cuda", "FAISS is asked then"
    made = toy(tmp_path, "single")
    words = [
        "search",
        "--embeddings",
        "docs",
        "--queries",
        "queries",
        "--k",
        "3",
        "--output",
        "out",
    ]
    code = (
        f"import sys; sys.argv[1:] = {words}\n"
        "from residuum import dense\n"
        "try: dense.command.main(dense.app)\n"
        "finally: print(' '.join(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=made.folder,
        env={"PYTHONPATH": str(WORKFLOW), "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    assert (made.folder / "out" / "dev").is_dir()
    assert "faiss" in done.stdout.split() and "torch" not in done.stdout.split()


def test_a_card_is_looked_for_by_its_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.delenv(cards.NAMES, raising=False)
    monkeypatch.setattr(cards.ctypes, "CDLL", asked.append)
    assert cards.possible() and asked == ["libcuda.so.1"]
    for name in ("CUDA_VISIBLE_DEVICES", cards.NAMES):
        monkeypatch.setenv(name, "")
        assert not cards.possible()
        monkeypatch.delenv(name)


class OnCard:
    """A stand-in for FAISS's copy of an index on a card."""

    def __init__(self, index: object) -> None:
        self.index, self.searched, self.nprobe = index, list[tuple[int, int]](), 0

    def search(self, queries: np.ndarray, depth: int) -> Found:
        self.searched.append((depth, self.nprobe))
        self.index.nprobe = self.nprobe
        return self.index.search(queries, depth)


def test_lists_are_searched_on_a_card_as_deep_as_it_goes(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    import faiss

    vectors, queries, copies = normal(20, 3000, 8), normal(21, 5, 8), list[OnCard]()

    def built(device: str, **changes: object) -> VectorIndex:
        setting = {"kind": "ivf", "nlist": 12, "nprobe": 2, **changes}
        return SEARCHES[str(setting["kind"])].model_validate(setting).build(vectors, device)

    def copied(resources: object, card: int, index: object) -> OnCard:
        copies.append(OnCard(index))
        return copies[-1]

    assert built("cuda").search(queries, 9, 2)[1].shape == (5, 9)
    assert "FAISS finds no card" in capfd.readouterr().err, "faiss-cpu has none"
    monkeypatch.setattr(faiss, "StandardGpuResources", object, raising=False)
    monkeypatch.setattr(faiss, "get_num_gpus", lambda: 1, raising=False)
    monkeypatch.setattr(faiss, "index_cpu_to_gpu", copied, raising=False)
    by_card, by_cpu = built("cuda"), built("cpu")
    for depth, effort in ((9, 2), (2048, 12), (2049, 12), (9, 3)):
        own, expected = (index.search(queries, depth, effort) for index in (by_card, by_cpu))
        assert all((a == b).all() for a, b in zip(own, expected, strict=True))
    [copy] = copies
    assert copy.searched == [(9, 2), (2048, 12), (9, 3)]
    assert capfd.readouterr().err.count("\n") == 1
    built("cuda", code="pq", code_size=4)
    SEARCHES["hnsw"].model_validate({"kind": "hnsw", "ef_search": 9}).build(vectors, "cuda")
    assert capfd.readouterr().err.count("only kind ivf with code flat is\n") == 2
    assert len(copies) == 1
