"""A sweep against FAISS built apart: what is found and compared, by effort; seconds lie apart."""

import json
from collections.abc import Sequence
from pathlib import Path

import faiss
import numpy as np
import polars as pl
import pytest

from residuum import sweep
from residuum.artefacts import contracts, trec
from residuum.cli.errors import ResiduumError
from residuum.config import entries
from residuum.config.schema.sweeps import Sweep

DOCS, QUERIES, DIMENSIONS, K, LISTS = 1200, 12, 8, 10, 20
IVF = {"kind": "ivf", "nlist": LISTS, "nprobe": 1}
SWEEP = {"search": IVF, "then": [3, LISTS], "k": K, "repeats": 2}


@pytest.fixture(scope="module")
def vectors() -> np.ndarray:
    random = np.random.default_rng(5)
    centres = random.normal(size=(30, DIMENSIONS))
    rows = centres[random.integers(30, size=DOCS)] + 0.4 * random.normal(size=(DOCS, DIMENSIONS))
    return rows.astype(np.float32)


@pytest.fixture(scope="module")
def queries() -> np.ndarray:
    return np.random.default_rng(6).normal(size=(QUERIES, DIMENSIONS)).astype(np.float32)


def relevant(query: int) -> str:
    """Return the doc that is judged for a query."""
    return f"d{97 * query:04d}"


def written(folder: Path, vectors: np.ndarray, queries: np.ndarray, of: int) -> list[Path]:
    """Write shards, queries and judgements; the last query has none."""
    folders = []
    for number, rows in enumerate(np.array_split(np.arange(len(vectors)), of)):
        folders.append(folder / f"shard{number}")
        contracts.write_vectors(folders[-1], [f"d{row:04d}" for row in rows], vectors[rows])
        facts = {"shard": {"number": number, "of": of, "docs": len(rows)}, "weights": "w"}
        (folders[-1] / "manifest.json").write_text(json.dumps({"artefact": facts}))
    contracts.write_vectors(
        folder / "asked" / "dev", [f"q{n:02d}" for n in range(QUERIES)], queries
    )
    record = {"queries": {"dev": QUERIES}, "weights": "w"}
    (folder / "asked" / "manifest.json").write_text(json.dumps({"artefact": record}))
    lines = [f"q{n:02d} 0 {relevant(n)} 1\n" for n in range(QUERIES - 1)]
    (folder / "qrels.txt").write_text("".join(lines))
    return folders


def measured(
    folder: Path, shards: Sequence[Path], made: dict | None = None, name: str = "one"
) -> tuple[pl.DataFrame, dict, dict]:
    """Return curve, facts and timing of a sweep."""
    output, timing = folder / f"{name}.tsv", folder / f"{name}.json"
    sweep.measure(
        list(shards),
        folder / "asked" / "dev",
        folder / "qrels.txt",
        ["RR@10"],
        json.dumps(made or SWEEP),
        "toy",
        output,
        timing,
    )
    record = json.loads((folder / f"{name}.tsv.manifest.json").read_text())
    return trec.read_curve(output, "effort"), record["artefact"], json.loads(timing.read_text())


def value(curve: pl.DataFrame, effort: int, query: int, measure: str) -> float:
    [found] = curve.filter(effort=effort, query_id=f"q{query:02d}", measure=measure)["value"]
    return float(found)


def by_hand(found: Sequence[int], query: int) -> float:
    """Return the reciprocal rank of the judged doc among rows."""
    ids = [f"d{row:04d}" for row in found]
    return 1 / (1 + ids.index(relevant(query))) if relevant(query) in ids else 0.0


def test_curve_and_cost_are_those_of_faiss(
    tmp_path: Path, vectors: np.ndarray, queries: np.ndarray
) -> None:
    curve, facts, _ = measured(tmp_path, written(tmp_path, vectors, queries, 1))
    centres = faiss.IndexFlatIP(DIMENSIONS)
    index = faiss.IndexIVFFlat(centres, DIMENSIONS, LISTS, faiss.METRIC_INNER_PRODUCT)
    index.train(vectors)
    index.add(vectors)
    exact = np.argsort(-(queries.astype(float) @ vectors.T.astype(float)), axis=1)[:, :K]
    sizes = np.array([index.invlists.list_size(number) for number in range(LISTS)])
    for effort in (0, 1, 3, LISTS):
        index.nprobe = effort or LISTS
        found = index.search(queries, K)[1] if effort else exact
        for query in range(QUERIES - 1):
            assert value(curve, effort, query, "RR@10") == by_hand(found[query], query)
            share = len({*found[query]} & {*exact[query]}) / K
            assert value(curve, effort, query, "recall") == pytest.approx(share)
        nearest = centres.search(queries, effort)[1] if effort else np.zeros((0, 1), int)
        expected = sizes[nearest].sum() / QUERIES + LISTS if effort else DOCS
        assert facts["vectors_compared"][str(effort)] == pytest.approx(expected)
    assert (facts["vectors"], facts["dimensions"], facts["indexes"]) == (DOCS, DIMENSIONS, 1)
    assert {*curve["query_id"]} == {f"q{n:02d}" for n in range(QUERIES - 1)}, "judged ones"
    assert 0 < curve.filter(effort=1, measure="recall")["value"].mean() < 1, "something is missed"


def test_shards_are_searched_each_by_an_index_of_its_own(
    tmp_path: Path, vectors: np.ndarray, queries: np.ndarray
) -> None:
    (tmp_path / "whole").mkdir()
    whole, *_ = measured(tmp_path / "whole", written(tmp_path / "whole", vectors, queries, 1))
    curve, facts, _ = measured(tmp_path, written(tmp_path, vectors, queries, 3))
    assert facts["indexes"] == 3 and facts["vectors_compared"]["0"] == DOCS
    for effort in (0, LISTS):  # both look at everything
        assert curve.filter(effort=effort).equals(whole.filter(effort=effort))


def test_more_effort_compares_and_finds_more(
    tmp_path: Path, vectors: np.ndarray, queries: np.ndarray
) -> None:
    graph = {"kind": "hnsw", "m": 4, "ef_search": 4, "ef_construction": 8}
    shards = written(tmp_path, vectors, queries, 1)
    for search, then in ((IVF, [2, 5, LISTS]), (graph, [150, 1200])):
        made = {**SWEEP, "search": search, "then": then}
        curve, facts, _ = measured(tmp_path, shards, made)
        efforts = Sweep.model_validate(made).efforts()
        shares = [curve.filter(effort=n, measure="recall")["value"].mean() for n in efforts]
        compared = [facts["vectors_compared"][str(n)] for n in efforts]
        assert shares == sorted(shares) and shares[0] < shares[-1]
        assert compared == sorted(compared) and compared[0] < compared[-1]


def test_a_search_that_finds_fewer_is_not_repeated_deeper(
    tmp_path: Path, vectors: np.ndarray, queries: np.ndarray
) -> None:
    """One list has some 60 docs: of 500 its search finds that share and no more."""
    shards = written(tmp_path, vectors, queries, 1)
    curve, facts, _ = measured(tmp_path, shards, {**SWEEP, "k": 500})
    one = curve.filter(effort=1, measure="recall")["value"].to_numpy()
    assert facts["vectors_compared"]["1"] < 200
    assert one.max() < 0.4 and curve.filter(effort=LISTS, measure="recall")["value"].min() == 1.0


def test_seconds_lie_apart_and_nothing_else_differs(
    tmp_path: Path, vectors: np.ndarray, queries: np.ndarray
) -> None:
    shards = written(tmp_path, vectors, queries, 2)
    _, one, timing = measured(tmp_path, shards, name="one")
    _, two, _ = measured(tmp_path, shards, name="two")
    assert (tmp_path / "one.tsv").read_bytes() == (tmp_path / "two.tsv").read_bytes()
    assert one == two and "second" not in json.dumps(one)
    assert {*timing["seconds_per_query"]} == {"0", "1", "3", str(LISTS)}
    for effort, took in timing["seconds_per_query"].items():
        assert len(took) == 2 and min(took) > 0
        assert timing["median"][effort] == pytest.approx(sum(took) / 2)
    assert (timing["threads"], timing["queries"]) == (1, QUERIES)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"then": [1]}, "then has to rise, from above the nprobe 1 of search"),
        ({"then": [5, 5]}, "then has to rise, from above the nprobe 1 of search"),
        ({"then": [5, 21]}, "then:.*nprobe: 21 of 20 lists; give at most as many"),
        ({"then": []}, "then"),
        ({"search": {"kind": "hnsw", "nprobe": 3}}, "nprobe: unknown key"),
    ],
)
def test_efforts_that_cannot_be_are_refused(changes: dict[str, object], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        entries.validate("x.yaml", {**SWEEP, **changes}, Sweep)


def test_vectors_of_two_models_are_refused(
    tmp_path: Path, vectors: np.ndarray, queries: np.ndarray
) -> None:
    shards = written(tmp_path, vectors, queries, 2)
    record = json.loads((shards[1] / "manifest.json").read_text())
    record["artefact"]["weights"] = "other"
    (shards[1] / "manifest.json").write_text(json.dumps(record))
    with pytest.raises(ResiduumError, match="made by different models"):
        measured(tmp_path, shards)
    with pytest.raises(ResiduumError, match="name each of the 2 shards once"):
        measured(tmp_path, shards[:1])
