"""Search, gathering and pair scores against brute force: ties, shards, docs of many vectors."""

import json
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
import pytest

from contents import contents
from killing import WORKFLOW
from residuum import dense, evaluate
from residuum.artefacts import contracts, files, manifest, trec, winners
from residuum.artefacts.hits import read, write
from residuum.cli.errors import ResiduumError
from residuum.vectors import nearest


def spec(k: int) -> str:
    return json.dumps({"kind": "dense", "label": "test", "model": "test", "k": k})


def found(folder: Path, split: str) -> pl.DataFrame:
    """Return the hits of a shard for a split."""
    return pl.concat(one for [one] in read([folder], split))


def cut(ids: list[str], vectors: np.ndarray, of: int) -> list[nearest.Shard]:
    """Cut docs into shards as encode does, whatever their number of vectors."""
    counts = list(Counter(ids).values())
    ends = [sum(counts[: len(counts) * shard // of]) for shard in range(of + 1)]
    return [(ids[a:b], vectors[a:b]) for a, b in pairwise(ends)]


def result(shards: list[nearest.Shard], queries: np.ndarray, k: int) -> pl.DataFrame:
    """Search and merge as the stage does; query ids are the row numbers."""
    parts = [
        part
        for shard in shards
        for part in nearest.Index(shard, None, device="cpu").search(([], queries), k)
    ]
    scored = pl.concat(parts).with_columns(query_id=pl.col("query").cast(pl.String))
    return trec.rank(scored, k)


def brute(ids: list[str], vectors: np.ndarray, queries: np.ndarray, k: int) -> pl.DataFrame:
    """Score everything in float64, a doc by its best vector; rank by score, then doc_id."""
    rows = []
    for query, scores in enumerate(queries.astype(np.float64) @ vectors.T.astype(np.float64)):
        best: dict[str, float] = {}
        for doc_id, score in zip(ids, scores, strict=True):
            best[doc_id] = max(score, best.get(doc_id, -np.inf))
        rounded = [(-round(score, 6), doc_id) for doc_id, score in best.items()]
        for place, (score, doc_id) in enumerate(sorted(rounded)[:k], start=1):
            rows.append((str(query), doc_id, place, -score))
    run = pl.DataFrame(rows, schema=["query_id", "doc_id", "rank", "score"], orient="row")
    return run.sort("query_id", "rank")


def compare(one: pl.DataFrame, other: pl.DataFrame) -> None:
    assert one.select("query_id", "doc_id", "rank").rows() == (
        other.select("query_id", "doc_id", "rank").rows()
    )
    np.testing.assert_allclose(one["score"], other["score"], atol=1e-9)


@pytest.fixture(scope="module")
def random() -> np.random.Generator:
    return np.random.default_rng(7)


@pytest.mark.parametrize("k", [1, 10, 200, 500])
@pytest.mark.parametrize("of", [1, 3, 28])
def test_search_is_brute_force(random: np.random.Generator, k: int, of: int) -> None:
    vectors = random.normal(size=(200, 12)).astype(np.float32)
    queries = random.normal(size=(9, 12)).astype(np.float32)
    ids = [f"d{i:03d}" for i in random.permutation(200)]
    compare(result(cut(ids, vectors, of), queries, k), brute(ids, vectors, queries, k))


@pytest.mark.parametrize("of", [1, 6])
def test_ties_at_the_last_rank_go_by_doc_id(random: np.random.Generator, of: int) -> None:
    """Integers make exact ties: 300 docs have a handful of scores, more than the spare hits."""
    vectors = random.integers(0, 2, size=(300, 4)).astype(np.float32)
    queries = random.integers(0, 2, size=(8, 4)).astype(np.float32)
    ids = [f"d{i:03d}" for i in random.permutation(300)]
    for k in (1, 5, 100):
        compare(result(cut(ids, vectors, of), queries, k), brute(ids, vectors, queries, k))


def test_a_doc_with_several_vectors_scores_by_its_best(random: np.random.Generator) -> None:
    vectors = random.normal(size=(240, 6)).astype(np.float32)
    queries = random.normal(size=(5, 6)).astype(np.float32)
    ids = [f"d{i // 3:03d}" if i < 120 else f"e{i:03d}" for i in range(240)]
    for k in (3, 50, 400):
        run = result(cut(ids, vectors, 4), queries, k)
        compare(run, brute(ids, vectors, queries, k))
    assert len(run) == 5 * 160


def test_many_queries_and_docs_agree_with_brute_force_scores(random: np.random.Generator) -> None:
    vectors = random.normal(size=(3000, 16)).astype(np.float32)
    queries = random.normal(size=(60, 16)).astype(np.float32)
    ids = [f"d{i:04d}" for i in range(3000)]
    one, cuts = result(cut(ids, vectors, 1), queries, 100), cut(ids, vectors, 5)
    assert one.equals(result(cuts, queries, 100))
    compare(one, brute(ids, vectors, queries, 100))


def test_a_doc_without_a_vector_is_named() -> None:
    shards = cut(["a", "b"], np.ones((2, 3), np.float32), 2)
    pairs = pl.DataFrame({"query": [0, 0], "doc_id": ["a", "zzz"]})
    with pytest.raises(ResiduumError, match=r"doc_id zzz has no vector \(1 such docs\)"):
        nearest.pair_scores(shards, ([], np.ones((1, 3), np.float32)), pairs)


def test_queries_are_searched_in_groups_that_bound_memory(
    random: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors = random.normal(size=(50, 8)).astype(np.float32)
    queries = random.normal(size=(7, 8)).astype(np.float32)
    [shard] = cut([f"d{i}" for i in range(50)], vectors, 1)
    docs = nearest.Index(shard, None, device="cpu")
    [whole] = docs.search(([], queries), 5)
    monkeypatch.setattr(nearest, "HITS_AT_ONCE", 11)
    parts = list(docs.search(([], queries), 5))
    assert [part["query"].n_unique() for part in parts] == [2, 2, 2, 1]
    assert pl.concat(parts).equals(whole)


class Made(NamedTuple):
    """Vectors of docs and of two splits' queries; docs have one, two or three vectors."""

    folder: Path
    ids: list[str]
    vectors: np.ndarray
    queries: np.ndarray

    def shards(self, of: int) -> list[Path]:
        """Return the folders of the docs' vectors cut into shards, written once."""
        folders = [self.folder / f"{of}" / f"shard-{number:05d}" for number in range(of)]
        if not folders[0].exists():
            for number, shard in enumerate(cut(self.ids, self.vectors, of)):
                contracts.write_vectors(folders[number], *shard)
                describe(folders[number], shard={"number": number, "of": of})
        return folders

    @property
    def requested(self) -> Path:
        """Return the folder of the queries' vectors."""
        return self.folder / "queries"

    def hits(self, folder: Path, of: int, k: int) -> list[Path]:
        """Search every shard, as one job each."""
        outputs = [folder / f"by{of}" / str(number) for number in range(of)]
        for shard, output in zip(self.shards(of), outputs, strict=True):
            dense.search_shard(shard, self.requested, k, output, device="cpu")
        return outputs

    def run(self, folder: Path, of: int, k: int) -> Path:
        """Search in shards, gather, and return the run of split dev."""
        output = folder / f"{of}.trec.gz"
        dense.gather(self.hits(folder, of, k), ["dev"], spec(k), "test", output)
        return output


def describe(folder: Path, **facts: object) -> None:
    record = {"artefact": {"weights": "0" * 64, **facts}}
    (folder / "manifest.json").write_text(json.dumps(record))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Small integers make many ties, within a shard and across the borders of shards."""
    folder, random = tmp_path_factory.mktemp("dense"), np.random.default_rng(3)
    names = [f"d{number:03d}" for number in random.permutation(90)]
    ids = [name for name in names for _ in range(1 + int(name[1:]) % 3)]
    vectors = random.integers(-1, 2, size=(len(ids), 5)).astype(np.float32)
    queries = random.integers(-1, 2, size=(12, 5)).astype(np.float32)
    contracts.write_vectors(folder / "queries" / "dev", [str(i) for i in range(12)], queries)
    contracts.write_vectors(folder / "queries" / "few", ["x", "y"], queries[:2])
    describe(folder / "queries", queries={"dev": 12, "few": 2})
    return Made(folder, ids, vectors, queries)


@pytest.mark.parametrize("k", [1, 7, 30, 500])
def test_the_merged_run_is_that_of_one_shard_byte_for_byte(
    made: Made, tmp_path: Path, k: int
) -> None:
    one = made.run(tmp_path, 1, k)
    run = trec.read_run(one)
    expected = brute(made.ids, made.vectors, made.queries, k)
    compare(run, expected)
    assert len(run) == 12 * min(k, 90), "k may exceed the docs: every doc, no more"
    for of in (2, 3, 8, 90):
        assert made.run(tmp_path, of, k).read_bytes() == one.read_bytes(), of


def test_real_scores_survive_in_the_hits(random: np.random.Generator, tmp_path: Path) -> None:
    ids = [f"d{number}" for number in range(400)]
    vectors = random.normal(size=(400, 24), scale=3).astype(np.float32)
    queries = random.normal(size=(12, 24), scale=3).astype(np.float32)
    real = Made(tmp_path, ids, vectors, queries)
    contracts.write_vectors(real.requested / "dev", [str(i) for i in range(12)], queries)
    describe(real.requested, queries={"dev": 12})
    one = real.run(tmp_path, 1, 50)
    compare(trec.read_run(one), brute(ids, vectors, queries, 50))
    assert real.run(tmp_path, 7, 50).read_bytes() == one.read_bytes()


def test_hits_of_a_shard_are_its_best_docs_of_every_split(made: Made, tmp_path: Path) -> None:
    folders = made.hits(tmp_path, 3, 4)
    (ids, vectors) = cut(made.ids, made.vectors, 3)[1]
    hits = found(folders[1], "dev")
    compare(trec.rank(hits), brute(ids, vectors, made.queries, 4))
    few = found(folders[1], "few")
    assert few["query_id"].unique(maintain_order=True).to_list() == ["x", "y"]
    record = json.loads((folders[1] / "manifest.json").read_text())
    assert record["artefact"]["hits"] == {"dev": 48, "few": 8}
    assert list(record["inputs"]) == [
        str(made.shards(3)[1] / "manifest.json"),
        str(made.requested / "manifest.json"),
    ]


def test_hits_may_be_deeper_than_the_run_but_not_less_deep(made: Made, tmp_path: Path) -> None:
    deep = made.hits(tmp_path, 2, 30)
    dense.gather(deep, ["dev"], spec(7), "test", tmp_path / "cut.trec.gz")
    whole = made.run(tmp_path / "seven", 2, 7)
    assert (tmp_path / "cut.trec.gz").read_bytes() == whole.read_bytes()
    mixed = [deep[0], made.hits(tmp_path / "deeper", 2, 31)[1]]
    with pytest.raises(ResiduumError, match=r"searched at k 31, and .*by2/0 at k 30\. Search all"):
        dense.gather(mixed, ["dev"], spec(7), "test", tmp_path / "no.trec.gz")
    with pytest.raises(ResiduumError, match="its search was less deep than k 31 of test"):
        dense.gather(deep, ["dev"], spec(31), "test", tmp_path / "no.trec.gz")


@pytest.mark.parametrize("given", [[0, 1], [0, 1, 1], [0, 1, 2, 2]])
def test_anything_but_every_shard_once_is_refused(
    made: Made, tmp_path: Path, given: list[int]
) -> None:
    hits, shards = made.hits(tmp_path, 3, 4), made.shards(3)
    with pytest.raises(ResiduumError, match=r"0 of 3, 1 of 3.*; name each of the 3 shards once"):
        dense.gather([hits[n] for n in given], ["dev"], spec(4), "test", tmp_path / "no.trec.gz")
    run = made.run(tmp_path, 3, 4)
    with pytest.raises(ResiduumError, match="name each of the 3 shards once"):
        dense.score_run(
            [shards[n] for n in given],
            [made.requested / "dev"],
            [run],
            spec(4),
            "t",
            tmp_path / "no",
        )
    assert not (tmp_path / "no.trec.gz").exists()


def test_shards_of_another_number_are_refused(made: Made, tmp_path: Path) -> None:
    mixed = [made.hits(tmp_path, 2, 4)[0], made.hits(tmp_path, 3, 4)[1]]
    with pytest.raises(ResiduumError, match=r"given shards 0 of 2, 1 of 3; name each of the 2"):
        dense.gather(mixed, ["dev"], spec(4), "test", tmp_path / "no.trec.gz")


def test_gathering_loads_neither_torch_nor_faiss(made: Made, tmp_path: Path) -> None:
    hits = [word for path in made.hits(tmp_path, 2, 4) for word in ("--hits", str(path))]
    words = ["gather", *hits, "--split", "dev", "--spec", spec(4), "--tag", "test"]
    code = (
        f"import sys; sys.argv[1:] = {[*words, '--output', str(tmp_path / 'run.trec.gz')]}\n"
        "from residuum import dense\n"
        "try: dense.command.main(dense.app)\n"
        "finally: print(' '.join(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": str(WORKFLOW)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert (tmp_path / "run.trec.gz").is_file()
    assert not {"torch", "transformers", "faiss"} & set(done.stdout.split())


@pytest.mark.parametrize("of", [1, 5])
def test_score_agrees_with_the_run(made: Made, tmp_path: Path, of: int) -> None:
    run = trec.read_run(made.run(tmp_path, of, 20))
    other = run.filter(pl.col("query_id") != "3").with_columns(score=-pl.col("rank").cast(float))
    trec.write_run(tmp_path / "other.trec.gz", trec.rank(other), "other")
    files_in = (made.shards(of), [made.requested / "dev"], [tmp_path / "other.trec.gz"])
    dense.score_run(*files_in, spec(20), "test", tmp_path / "score.trec.gz")
    scored = trec.read_run(tmp_path / "score.trec.gz")
    assert scored.equals(run.filter(pl.col("query_id") != "3"))


def test_score_refuses_queries_it_does_not_know(made: Made, tmp_path: Path) -> None:
    strange = pl.DataFrame({"query_id": ["q77"], "doc_id": ["d001"], "score": [1.0]})
    trec.write_run(tmp_path / "other.trec.gz", trec.rank(strange), "other")
    files_in = (made.shards(2), [made.requested / "dev"], [tmp_path / "other.trec.gz"])
    with pytest.raises(ResiduumError, match=r"other\.trec\.gz: query_id q77 is not in .*queries"):
        dense.score_run(*files_in, spec(20), "test", tmp_path / "no.trec.gz")


def test_vectors_of_another_model_are_refused(made: Made, tmp_path: Path) -> None:
    ids, vectors = cut(made.ids, made.vectors, 2)[0]
    contracts.write_vectors(tmp_path / "shard", ids, vectors)
    describe(tmp_path / "shard", shard={"number": 0, "of": 2}, weights="1" * 64)
    with pytest.raises(ResiduumError, match="made by different models"):
        dense.search_shard(tmp_path / "shard", made.requested, 4, tmp_path / "no", device="cpu")
    shards, run = [tmp_path / "shard", made.shards(2)[1]], made.run(tmp_path, 2, 4)
    with pytest.raises(ResiduumError, match="made by different models"):
        dense.score_run(
            shards, [made.requested / "dev"], [run], spec(4), "t", tmp_path / "no.trec.gz"
        )


def test_the_same_shard_searched_twice_gives_the_same_bytes(made: Made, tmp_path: Path) -> None:
    one, two = (made.hits(tmp_path / name, 2, 9)[0] for name in ("one", "two"))
    assert contents(one) == contents(two)


MERGING = """
import resource, sys
from pathlib import Path
from residuum import dense
from residuum.artefacts import trec
folders, run = [Path(path) for path in sys.argv[2:4]], Path(sys.argv[4])
dense.gather(folders, ["dev"], sys.argv[1], "test", run)
assert sum(table.height for [table] in trec.read_together([run], 1 << 20)) == int(sys.argv[5])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


def test_the_memory_of_a_merge_does_not_grow_with_the_queries(tmp_path: Path) -> None:
    """All lines of the larger one would take more than 200 MB."""
    megabytes = []
    for queries in (2_000, 10_000):
        folders, k = [tmp_path / f"{queries}.{number}" for number in range(2)], 100
        for number, folder in enumerate(folders):
            parts = (
                pl.DataFrame(
                    {
                        "query_id": [f"q{query:05d}" for query in range(first, first + 200)],
                        "doc_id": [[f"d{2 * rank + number}" for rank in range(k)]] * 200,
                        "score": [[float(k - rank) for rank in range(k)]] * 200,
                    }
                ).explode("doc_id", "score")
                for first in range(0, queries, 200)
            )
            assert write(folder, "dev", parts) == queries * k
            shard = {"number": number, "of": 2, "docs": k}
            record = {"artefact": {"weights": "0" * 64, "shard": shard}, "spec": {"k": k}}
            (folder / "manifest.json").write_text(json.dumps(record))
        words = [spec(k), *map(str, folders), str(tmp_path / "run.trec.gz"), str(queries * k)]
        done = subprocess.run(
            [sys.executable, "-c", MERGING, *words],
            env={"PYTHONPATH": str(WORKFLOW)},
            capture_output=True,
            text=True,
            check=True,
        )
        megabytes.append(int(done.stdout))
    assert megabytes[1] < megabytes[0] + 50


class Folds(NamedTuple):
    """Two folds of the queries, each encoded and searched by a model of its own."""

    shards: list[Path]
    queries: list[Path]
    hits: list[Path]
    expected: pl.DataFrame


@pytest.fixture
def folds(made: Made, tmp_path: Path) -> Folds:
    """The second model's vectors are the first one's with the opposite sign."""
    shards, queries, hits, runs = [], [], [], []
    half = len(made.queries) // 2
    for fold, sign, rows in (("one", 1, slice(0, half)), ("two", -1, slice(half, None))):
        weights, vectors = ("1" if sign == 1 else "2") * 64, sign * made.vectors
        queries.append(tmp_path / f"queries-{fold}" / fold)
        names = [str(row) for row in range(len(made.queries))][rows]
        contracts.write_vectors(queries[-1], names, made.queries[rows])
        describe(queries[-1].parent, queries={fold: len(names)}, weights=weights)
        for number, part in enumerate(cut(made.ids, vectors, 2)):
            shards.append(tmp_path / f"shard-{fold}-{number}")
            contracts.write_vectors(shards[-1], *part)
            describe(shards[-1], shard={"number": number, "of": 2}, weights=weights)
            hits.append(tmp_path / f"hits-{fold}-{number}")
            dense.search_shard(shards[-1], queries[-1].parent, 7, hits[-1], device="cpu")
        runs.append(
            brute(made.ids, vectors, made.queries, 7).filter(pl.col("query_id").is_in(names))
        )
    return Folds(shards, queries, hits, pl.concat(runs).sort("query_id", "rank"))


def test_a_query_is_answered_by_the_model_of_its_fold(folds: Folds, tmp_path: Path) -> None:
    dense.gather(folds.hits, ["one", "two"], spec(7), "test", tmp_path / "run.trec.gz")
    compare(trec.read_run(tmp_path / "run.trec.gz"), folds.expected)
    dense.gather(folds.hits[2:], ["two"], spec(7), "test", tmp_path / "two.trec.gz")
    own = set(trec.read_run(tmp_path / "two.trec.gz")["query_id"])
    compare(
        trec.read_run(tmp_path / "two.trec.gz"),
        folds.expected.filter(pl.col("query_id").is_in(own)),
    )
    with pytest.raises(ResiduumError, match="no hits for the queries of two"):
        dense.gather(folds.hits[:2], ["one", "two"], spec(7), "test", tmp_path / "no.trec.gz")
    with pytest.raises(ResiduumError, match="given shards 0 of 2; name each of the 2 shards once"):
        dense.gather(folds.hits[:3], ["one", "two"], spec(7), "test", tmp_path / "no.trec.gz")


def test_a_query_is_scored_by_the_model_of_its_fold(folds: Folds, tmp_path: Path) -> None:
    trec.write_run(tmp_path / "other.trec.gz", folds.expected, "other")
    others, output = [tmp_path / "other.trec.gz"], tmp_path / "scored.trec.gz"
    dense.score_run(folds.shards, folds.queries, others, spec(7), "test", output)
    compare(trec.read_run(output), folds.expected)
    with pytest.raises(ResiduumError, match="made by different models"):
        dense.score_run(folds.shards, folds.queries[::-1], others, spec(7), "test", output)
    with pytest.raises(ResiduumError, match=r"query_id \d+ is not in .*queries-one/one"):
        dense.score_run(folds.shards[:2], folds.queries[:1], others, spec(7), "test", output)


@pytest.mark.parametrize("of", [1, 4])
def test_first_passages_alone_are_searched_as_if_docs_had_no_others(
    made: Made, tmp_path: Path, of: int
) -> None:
    first = [n for n, doc_id in enumerate(made.ids) if n == 0 or made.ids[n - 1] != doc_id]
    hits = []
    for number, shard in enumerate(made.shards(of)):
        hits.append(tmp_path / str(number))
        dense.search_shard(shard, made.requested, 7, hits[-1], device="cpu", first_passages=True)
    output, scored = tmp_path / "run.trec.gz", tmp_path / "scored.trec.gz"
    system = json.dumps({**json.loads(spec(7)), "passages": "first"})
    dense.gather(hits, ["dev"], system, "test", output)
    ids = [made.ids[row] for row in first]
    compare(trec.read_run(output), brute(ids, made.vectors[first], made.queries, 7))
    dense.score_run(made.shards(of), [made.requested / "dev"], [output], system, "test", scored)
    assert trec.read_run(scored).equals(trec.read_run(output))


@pytest.mark.parametrize("each", [2, 6])
@pytest.mark.parametrize("of", [1, 3])
def test_hits_that_other_vectors_win_are_counted_over_shards(
    tmp_path: Path, each: int, of: int
) -> None:
    """Docs of six vectors: passages of two, or one text of six. Loops find each winner's place."""
    random = np.random.default_rng(3)
    ids, queries = [f"d{n // 6:02d}" for n in range(240)], random.normal(size=(9, 5))
    vectors, queries = random.normal(size=(240, 5)).astype("f4"), queries.astype("f4")
    vectors[::each] *= 1.5  # first vectors win more often than chance, and not always
    shards, hits = [], []
    for number, (doc_ids, rows) in enumerate(cut(ids, vectors, of)):
        shards.append(tmp_path / f"shard{number}")
        with files.whole_directory(shards[-1]) as folder:
            contracts.write_vectors(folder, doc_ids, rows)
            facts = {"weights": "w", "shard": {"number": number, "of": of, "docs": 0}}
            facts["vectors_of_text"] = each
            manifest.write(folder, facts, {}, [], "residuum.encode")
    with files.whole_directory(tmp_path / "queries") as folder:
        contracts.write_vectors(folder / "dev", [f"q{n}" for n in range(9)], queries)
        manifest.write(folder, {"weights": "w", "queries": {"dev": 9}}, {}, [], "residuum.encode")
    for number, shard in enumerate(shards):
        hits.append(tmp_path / f"hits{number}")
        dense.search_shard(shard, tmp_path / "queries", 20, hits[-1], device="cpu")
    dense.gather(hits, ["dev"], spec(20), "test", tmp_path / "run.trec.gz")
    run = trec.cut(trec.read_run(tmp_path / "run.trec.gz"), 10)
    others = 0
    for query_id, doc_id in run.select("query_id", "doc_id").iter_rows():
        rows = [row for row, name in enumerate(ids) if name == doc_id]
        scores = [float(queries[int(query_id[1:])].astype(float) @ vectors[row]) for row in rows]
        others += scores.index(max(scores)) % each > 0
    assert 0 < others < 90
    assert winners.recorded(tmp_path / "run.trec.gz") == others / 90
    qrels, metrics = tmp_path / "qrels", tmp_path / "metrics.tsv"
    trec.write_qrels(qrels, [("q0", "d01", 1)])
    evaluate.run(tmp_path / "run.trec.gz", qrels, ["RR@10"], metrics)
    assert winners.recorded(metrics) == others / 90


def test_one_vector_a_text_has_no_other_to_win(made: Made, tmp_path: Path) -> None:
    hits = [tmp_path / "0"]
    dense.search_shard(made.shards(1)[0], made.requested, 7, hits[0], device="cpu")
    dense.gather(hits, ["dev"], spec(7), "test", tmp_path / "run.trec.gz")
    assert winners.recorded(tmp_path / "run.trec.gz") is None
    assert found(hits[0], "dev").columns == ["query_id", "doc_id", "score"]
