"""Folders of random docs and queries, as the stage `encode` leaves them, searched by `dense`."""

import json
from pathlib import Path

import numpy as np

from residuum import dense
from residuum.artefacts import contracts, trec


def normal(seed: int, count: int, dimensions: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(count, dimensions)).astype(np.float32)


class Toy:
    """A folder of docs and queries, as the stage `encode` leaves them, searched by the stage."""

    def __init__(self, folder: Path, ids: list[str], vectors: np.ndarray, queries: np.ndarray):
        self.folder = folder
        names = [f"q{number}" for number in range(len(queries))]
        contracts.write_vectors(folder / "docs", ids, vectors)
        contracts.write_vectors(folder / "queries" / "dev", names, queries)
        for path, facts in (("docs", {"shard": {"number": 0, "of": 1}}), ("queries", {})):
            record = {"artefact": {"weights": "w", "queries": {"dev": len(queries)}, **facts}}
            (folder / path / "manifest.json").write_text(json.dumps(record))
        judged = [(q, d) for q in names[::2] for d in dict.fromkeys(ids[::97])]
        trec.write_qrels(folder / "qrels", ((q, d, 1) for q, d in judged))

    def bytes_of(self, name: str, k: int, residual: bool, device: str = "cpu") -> tuple[bytes, ...]:
        """Return the hits of the shard and the run that is made of them."""
        output, run = self.folder / name, self.folder / f"{name}.trec.gz"
        earlier = [f"dev={self.folder / 'qrels'}"] if residual else None
        folders = self.folder / "docs", self.folder / "queries"
        dense.search_shard(*folders, k, output, 1, device, judged_before=earlier)
        spec = json.dumps({"kind": "dense", "label": "test", "model": "test", "k": k})
        dense.gather([output], ["dev"], spec, "test", run)
        return (output / "dev" / "00000.parquet").read_bytes(), run.read_bytes()


def toy(folder: Path, kind: str) -> Toy:
    random = np.random.default_rng(5)
    if kind == "single":
        vectors, queries, each = normal(1, 3000, 24) * 3, normal(2, 12, 24), 1
    elif kind == "ties":  # a handful of scores, and more ties than hits to spare
        vectors = random.integers(-1, 2, size=(3000, 5)).astype(np.float32)
        queries, each = random.integers(-1, 2, size=(12, 5)).astype(np.float32), 1
    else:
        vectors, queries, each = normal(3, 3000, 16), normal(4, 12, 16), 6
    return Toy(folder, [f"d{row // each}" for row in range(3000)], vectors, queries)
