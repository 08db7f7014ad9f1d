"""Exact hybrid search against brute force: sparse and dense vectors, shards, weights, ties."""

import json
import math
import weakref
from collections import Counter
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import sparse

from residuum import dense, fusion, hybrid
from residuum.artefacts import contracts, files, manifest, termvectors, trec
from residuum.artefacts.termvectors import TermVectors
from residuum.cli.errors import ResiduumError
from residuum.config import entries
from residuum.config.schema.systems import HybridSystem
from residuum.vectors import hybrid as vectors

WEIGHTS = [0.0, 0.5, 1.5, 6.0, 1e6]
TERMS = [f"t{number:02d}" for number in range(30)]
QUERIES = [f"q{number}" for number in range(7)]
DOCS = [f"d{number:03d}" for number in range(101)]


def system(**changes):
    entry = {
        "kind": "hybrid",
        "parts": ["bm25", "de"],
        "interpolation": {
            "weighted": "bm25", "grid": WEIGHTS, "tune_on": "dev", "measure": "RR@10",
        },
        "k": 10,
    }  # fmt: skip
    return json.dumps(entry | changes)


class Made:
    """Vectors of docs and queries: sparse ones, and dense ones of which docs have one to three."""

    def __init__(self, folder: Path, single: bool = False) -> None:
        random = np.random.default_rng(3)
        self.folder, weights = folder, random.random((len(DOCS), len(TERMS)))
        weights[random.random(weights.shape) < 0.8] = 0
        self.sparse = weights.astype(np.float32)
        terms = random.random((len(QUERIES), len(TERMS))) < 0.2
        self.sparse_queries = terms.astype(np.float32)
        counts = np.ones(len(DOCS), int) if single else random.integers(1, 4, len(DOCS))
        self.owners = np.repeat(np.arange(len(DOCS)), counts)
        self.dense = random.normal(size=(len(self.owners), 8)).astype(np.float32)
        self.dense[self.owners == 5] = self.dense[self.owners == 4][0]  # equal docs
        self.sparse[5] = self.sparse[4]
        self.dense_queries = random.normal(size=(len(QUERIES), 8)).astype(np.float32)

    def write(self, lexical: int, neural: int) -> dict[str, list[str]]:
        """Write both parts in so many shards; return the options that name them."""
        root = self.folder / f"{lexical}-{neural}"
        made = {"bm25": self._sparse(root, lexical), "de": self._dense(root, neural)}
        options: dict[str, list[str]] = {"embeddings": [], "queries": []}
        for part, folders in made.items():
            options["embeddings"] += [f"{part}={folder}" for folder in folders]
            options["queries"].append(f"{part}={root / part / 'queries' / 'dev'}")
        return options

    def _sparse(self, root: Path, of: int) -> list[Path]:
        folders, rows = [], sparse.csr_array
        for number, own in enumerate(np.array_split(np.arange(len(DOCS)), of)):
            used = np.flatnonzero(self.sparse[own].any(axis=0))  # a shard has its own terms
            terms = [TERMS[column] for column in used]
            folders.append(root / "bm25" / f"shard-{number}")
            ids = [DOCS[doc] for doc in own]
            termvectors.write(folders[-1], ids, terms, rows(self.sparse[own][:, used]))
            record(folders[-1], "1", shard={"number": number, "of": of, "docs": len(own)})
        queries = root / "bm25" / "queries"
        termvectors.write(queries / "dev", QUERIES, TERMS, rows(self.sparse_queries))
        record(queries, "1", queries={"dev": len(QUERIES)})
        return folders

    def _dense(self, root: Path, of: int) -> list[Path]:
        folders = []
        for number, own in enumerate(np.array_split(np.arange(len(DOCS)), of)):
            mine = np.isin(self.owners, own)
            folders.append(root / "de" / f"shard-{number}")
            ids = [DOCS[doc] for doc in self.owners[mine]]
            contracts.write_vectors(folders[-1], ids, self.dense[mine])
            record(folders[-1], "2", shard={"number": number, "of": of, "docs": len(own)})
        queries = root / "de" / "queries"
        contracts.write_vectors(queries / "dev", QUERIES, self.dense_queries)
        record(queries, "2", queries={"dev": len(QUERIES)})
        return folders

    def scores(self, weight: float) -> np.ndarray:
        """Return the score of each query and doc, in double precision."""
        lexical = self.sparse_queries.astype(float) @ self.sparse.astype(float).T
        each = self.dense_queries.astype(float) @ self.dense.astype(float).T
        best = np.full((len(QUERIES), len(DOCS)), -np.inf)
        for row, owner in enumerate(self.owners):
            best[:, owner] = np.maximum(best[:, owner], each[:, row])
        return weight * lexical + best

    def lists(self, weight: float, k: int = 10) -> dict[str, list[tuple[str, float]]]:
        """Return the best docs of each query, equal scores by doc_id."""
        made = {}
        for query, own in zip(QUERIES, self.scores(weight).round(6), strict=True):
            order = sorted(range(len(DOCS)), key=lambda doc, own=own: (-own[doc], DOCS[doc]))
            made[query] = [(DOCS[doc], own[doc]) for doc in order[:k]]
        return made


def record(folder: Path, weights: str, **facts: object) -> None:
    artefact = {"weights": weights, **facts}
    manifest.write(folder, artefact, {}, [], "residuum.encode")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return Made(tmp_path_factory.mktemp("hybrid"))


@pytest.fixture(scope="module")
def searched(made):
    return search(made, 2, 3)


def search(made, lexical, neural, **changes):
    output = made.folder / f"hits-{lexical}-{neural}-{len(changes)}"
    hybrid.search(system(**changes), output=output, **made.write(lexical, neural))
    return output


def run_by(folder: Path, weight: float, k: int = 10):
    hits = pl.read_parquet(folder / f"{weight!r}.parquet")
    lists = {query: [] for query in QUERIES}
    for query, doc, score in trec.rank(hits, k).select("query_id", "doc_id", "score").iter_rows():
        lists[query].append((doc, score))
    return lists


@pytest.mark.parametrize("weight", WEIGHTS)
def test_lists_are_those_of_all_products(made, searched, weight):
    for query, found in run_by(searched, weight).items():
        expected = made.lists(weight)[query]
        assert [doc for doc, _ in found] == [doc for doc, _ in expected]
        scores = [score for _, score in found]
        assert scores == pytest.approx([score for _, score in expected], abs=2e-6, rel=1e-12)


@pytest.mark.parametrize("weight", WEIGHTS)
def test_docs_may_count_by_their_first_passages_alone(made, weight):
    output = made.folder / f"first-{weight}"
    options = made.write(2, 3)
    hybrid.search(system(), output=output, first_passages=["de"], **options)
    first = np.flatnonzero(np.append(True, np.diff(made.owners) > 0))
    lexical = made.sparse_queries.astype(float) @ made.sparse.astype(float).T
    sums = weight * lexical + made.dense_queries.astype(float) @ made.dense[first].astype(float).T
    for query, own in zip(QUERIES, sums.round(6), strict=True):
        order = sorted(range(len(DOCS)), key=lambda doc, own=own: (-own[doc], DOCS[doc]))
        assert [doc for doc, _ in run_by(output, weight)[query]] == [DOCS[d] for d in order[:10]]


@pytest.mark.parametrize("shards", [(1, 1), (3, 2), (5, 5), (101, 4)])
def test_shards_do_not_show(made, searched, shards):
    other = search(made, *shards)
    for weight in WEIGHTS:
        name = f"{weight!r}.parquet"
        assert (other / name).read_bytes() == (searched / name).read_bytes()


@pytest.mark.parametrize("queries", [1, 3, 10**4])
@pytest.mark.parametrize("values", [1, 300, 10**6])
def test_how_much_is_searched_at_once_does_not_show(made, searched, values, queries, monkeypatch):
    monkeypatch.setattr(vectors, "VALUES_AT_ONCE", values)
    monkeypatch.setattr(vectors, "QUERIES_AT_ONCE", queries)
    output = made.folder / f"hits-{values}-{queries}-at-once"
    hybrid.search(system(k=4), output=output, **made.write(2, 3))
    for weight in WEIGHTS:
        assert run_by(output, weight, 4) == run_by(searched, weight, 4)


def test_few_sums_are_kept_of_many_docs(monkeypatch):
    """Of 20,000 docs in a hundred blocks, what may be the best ten is some dozens."""
    random, scored, kept = np.random.default_rng(9), vectors._scored, []
    rows = random.normal(size=(20_000, 4)).astype(np.float32)
    queries = ["q"], random.normal(size=(1, 4)).astype(np.float32)
    docs = vectors.docs_of(([f"d{n:05d}" for n in range(len(rows))], rows), queries)

    def counted(block, of, near, start):
        kept.append(int(near.sum()))
        return scored(block, of, near, start)

    monkeypatch.setattr(vectors, "_scored", counted)
    blocks = [[docs.some(n, n + 200)] for n in range(0, len(rows), 200)]
    best = vectors.search(blocks, [queries], [[1.0]], 10)
    scores = (rows.astype(float) @ queries[1].astype(float).T)[:, 0]
    assert {*best["doc_id"]} == {f"d{n:05d}" for n in np.argsort(scores)[-10:]}
    assert len(kept) == 100 and 10 <= sum(kept) < 200


def test_what_is_no_longer_near_the_best_is_dropped_and_does_not_show(monkeypatch):
    """Two weights by which other docs are the best; sums rise, so that each block has new ones."""
    rows = np.random.default_rng(4).random((2000, 2)).astype(np.float32)
    rows += np.linspace(0, 9, 2000, dtype=np.float32)[:, None]
    ids, queries = [f"d{n:04d}" for n in range(2000)], (["q"], np.eye(2, dtype=np.float32)[:1])
    others = (["q"], np.eye(2, dtype=np.float32)[1:])
    docs = vectors.docs_of((ids, rows), queries)
    blocks = [[docs.some(n, n + 50)] * 2 for n in range(0, 2000, 50)]
    lists, held, drop = [], [], vectors._may_be_best

    def counted(scored, coefficients, k):
        held.append(len(scored))
        return drop(scored, coefficients, k)

    monkeypatch.setattr(vectors, "_may_be_best", counted)
    for most in (10**6, 10):
        monkeypatch.setattr(vectors, "ROWS_KEPT", most)
        lists.append(vectors.search(blocks, [queries, others], [[1.0, 0.0], [0.2, 1.0]], 3))
    assert lists[0].equals(lists[1])
    assert len(held) > 10 and max(held) <= 2 * 10 + 2 * 50
    for number, weights in enumerate(([1.0, 0.0], [0.2, 1.0])):
        best = np.argsort(rows.astype(float) @ weights)[-3:]
        assert {*lists[1].filter(weight=number)["doc_id"]} == {ids[doc] for doc in best}


def test_a_shard_goes_before_the_next_of_its_part_is_read():
    terms = TermVectors(["q"], ["t"], sparse.csr_array(np.ones((1, 1), np.float32)))
    queries = {"sparse": terms, "dense": (["q"], np.ones((1, 1), np.float32))}
    made = {"sparse": [], "dense": []}

    def read(name, number):
        assert not [shard for shard in made[name] if shard() is not None], name
        ids = [f"d{number}{doc}" for doc in range(10)]
        rows = np.arange(10.0, dtype=np.float32)[:, None] + number
        given = (ids, rows)
        if name == "sparse":
            given = TermVectors(ids, ["t"], sparse.csr_array(rows))
        docs = vectors.docs_of(given, queries[name])
        made[name].append(weakref.ref(docs.vectors.rows if name == "sparse" else rows))
        return docs

    parts = [map(partial(read, name), range(4)) for name in made]
    blocks = vectors.in_blocks(parts, 1)
    best = vectors.search(blocks, [*queries.values()], [[1.0, 1.0]], 1)
    assert best["doc_id"].to_list() == ["d39"]
    assert [len(shards) for shards in made.values()] == [4, 4]


def test_it_is_one_search_over_concatenated_vectors(tmp_path):
    import faiss

    made = Made(tmp_path, single=True)
    found = search(made, 2, 3)
    for weight in WEIGHTS[:4]:
        docs = np.hstack([made.sparse, made.dense]).astype(np.float32)
        queries = np.hstack([weight * made.sparse_queries, made.dense_queries]).astype(np.float32)
        index = faiss.IndexFlatIP(docs.shape[1])
        index.add(docs)
        scores, rows = index.search(queries, 10)
        for number, query in enumerate(QUERIES):
            own = run_by(found, weight)[query]
            assert [score for _, score in own] == pytest.approx(scores[number], abs=1e-4)
            clear = np.diff(scores[number], append=-np.inf) < -1e-4
            ends = np.flatnonzero(clear) + 1
            for end in ends:  # equal docs may be in another order
                assert {doc for doc, _ in own[:end]} == {DOCS[row] for row in rows[number, :end]}


def test_no_weight_is_the_dense_run_and_a_large_one_has_the_order_of_the_lexical(made, searched):
    de = [f.partition("=")[2] for f in made.write(2, 3)["embeddings"] if f.startswith("de=")]
    hits = [made.folder / f"dense-{number}" for number in range(len(de))]
    for folder, output in zip(de, hits, strict=True):
        dense.search_shard(Path(folder), made.folder / "2-3" / "de" / "queries", 10, output)
    spec = json.dumps({"kind": "dense", "model": "de", "k": 10})
    dense.gather(hits, ["dev"], spec, "de", made.folder / "de.trec.gz")
    run = trec.read_run(made.folder / "de.trec.gz").select("query_id", "doc_id", "score")
    own = trec.rank(pl.read_parquet(searched / "0.0.parquet"), 10)
    assert own.select("query_id", "doc_id", "score").equals(run)
    lexical = made.sparse_queries.astype(float) @ made.sparse.astype(float).T
    for query, found in run_by(searched, 1e6).items():
        values = [lexical[QUERIES.index(query), DOCS.index(doc)] for doc, _ in found]
        assert values == sorted(values, reverse=True)
        assert values[-1] == pytest.approx(np.sort(lexical[QUERIES.index(query)])[-10], abs=1e-6)


def test_what_no_list_of_a_part_holds_is_found_where_a_union_misses_it(tmp_path):
    """Doc `both` is fourth in each list, and the best by the sum."""
    lexical = {"a": 3.0, "b": 2.9, "c": 2.8, "both": 2.7, "x": 0, "y": 0, "z": 0}
    neural = {"a": 0, "b": 0, "c": 0, "both": 2.7, "x": 3.0, "y": 2.9, "z": 2.8}
    ids = list(lexical)
    rows = sparse.csr_array(np.array([[lexical[doc]] for doc in ids], np.float32))
    bm25 = TermVectors(ids, ["term"], rows)
    de = ids, np.array([[neural[doc]] for doc in ids], np.float32)
    terms = TermVectors(["q"], ["term"], sparse.csr_array(np.ones((1, 1), np.float32)))
    queries = [terms, (["q"], np.ones((1, 1), np.float32))]
    block = [vectors.docs_of(*both) for both in zip((bm25, de), queries, strict=True)]
    found = vectors.search([block], queries, [[1.0, 1.0]], 1)
    assert found.select("doc_id", "score").row(0) == ("both", pytest.approx(5.4))
    runs = []
    for name, scores in (("bm25", lexical), ("de", neural)):
        best = sorted(scores.items(), key=lambda item: -item[1])[:3]
        rows = [("q", doc, score) for doc, score in best]
        frame = pl.DataFrame(rows, schema=["query_id", "doc_id", "score"], orient="row")
        trec.write_run(tmp_path / f"{name}.trec.gz", trec.rank(frame), name)
        runs.append(f"{name}={tmp_path / name}.trec.gz")
    union = {"kind": "fusion", "parts": ["bm25", "de"], "unretrieved": "minimum", "k": 10}
    union["interpolation"] = {"weighted": "bm25", "value": 1.0}
    fusion.fuse(json.dumps(union), runs, "u", tmp_path / "union.trec.gz")
    assert "both" not in [*trec.read_run(tmp_path / "union.trec.gz")["doc_id"]]


@pytest.fixture
def qrels(made, tmp_path):
    """The doc that is seventh by weight 1.5 is relevant."""
    rows = [(query, docs[6][0], 1) for query, docs in made.lists(1.5).items()]
    trec.write_qrels(tmp_path / "qrels.trec", rows)
    return tmp_path / "qrels.trec"


def test_the_weight_with_the_best_mean_is_chosen_and_gathered(made, searched, qrels, tmp_path):
    relevant = {query: docs[6][0] for query, docs in made.lists(1.5).items()}
    means = []
    for weight in WEIGHTS:
        lists = {q: [doc for doc, _ in own] for q, own in made.lists(weight).items()}
        ranks = [lists[q].index(doc) + 1 if doc in lists[q] else math.inf
                 for q, doc in relevant.items()]  # fmt: skip
        means.append(sum(1 / rank for rank in ranks) / len(ranks))
    best = WEIGHTS[means.index(max(means))]
    hybrid.tune(system(), searched, qrels, tmp_path / "tuning.json")
    record = json.loads((tmp_path / "tuning.json").read_text())
    assert record["choices"][0]["setting"] == {"lambda": best}
    tried = [(each["setting"]["lambda"], each["means"][0]) for each in record["tried"]]
    assert tried == [(w, pytest.approx(m, abs=1e-12)) for w, m in zip(WEIGHTS, means, strict=True)]
    tuned = tmp_path / "tuning.json"
    hybrid.gather(system(), searched, "h", tmp_path / "run.trec.gz", tuned)
    run = trec.read_run(tmp_path / "run.trec.gz")
    for query, own in made.lists(best).items():
        assert [*run.filter(query_id=query)["doc_id"]] == [doc for doc, _ in own]


def test_a_fixed_weight_needs_no_tuning(made, tmp_path):
    fixed = {"interpolation": {"weighted": "bm25", "value": 1.5}}
    found = search(made, 2, 3, **fixed)
    hybrid.gather(system(**fixed), found, "h", tmp_path / "run.trec.gz")
    run = trec.read_run(tmp_path / "run.trec.gz")
    assert [*run.filter(query_id="q0")["doc_id"]] == [doc for doc, _ in made.lists(1.5)["q0"]]
    with pytest.raises(ResiduumError, match=r"lambda is fixed at 1\.5: there is nothing to tune"):
        hybrid.tune(system(**fixed), found, tmp_path / "no", tmp_path / "no.json")
    with pytest.raises(ResiduumError, match="give --tuning if lambda is tuned"):
        hybrid.gather(system(), found, "h", tmp_path / "other.trec.gz")


def test_folds_are_gathered_by_the_weight_of_the_others(made, searched, qrels, tmp_path):
    folds = []
    for name, own in (("one", QUERIES[:3]), ("two", QUERIES[3:])):
        folds.append(tmp_path / name / "queries.tsv")
        trec.write_queries(folds[-1], [(query, "text") for query in own])
    tuned = tmp_path / "tuning.json"
    hybrid.tune(system(), searched, qrels, tuned, folds)
    chosen = [each["setting"]["lambda"] for each in json.loads(tuned.read_text())["choices"]]
    hybrid.gather(system(), searched, "h", tmp_path / "run.trec.gz", tuned)
    run = trec.read_run(tmp_path / "run.trec.gz")
    for query in QUERIES:
        weight = chosen[0] if query in QUERIES[:3] else chosen[1]
        expected = [doc for doc, _ in made.lists(weight)[query]]
        assert [*run.filter(query_id=query)["doc_id"]] == expected


def test_drawn_folds_choose_as_a_plain_loop_does(made, tmp_path):
    # A third of the queries has the seventh doc by 1.5, the others the first by the last weight.
    lists = {weight: made.lists(weight) for weight in WEIGHTS}
    relevant = {
        query: lists[1.5][query][6][0] if n % 3 == 0 else lists[WEIGHTS[-1]][query][0][0]
        for n, query in enumerate(QUERIES)
    }
    trec.write_qrels(tmp_path / "qrels.trec", [(q, doc, 1) for q, doc in relevant.items()])
    weighting = {"weighted": "bm25", "grid": WEIGHTS, "measure": "RR@10", "folds": 3, "seed": 2}
    drawn = system(interpolation=weighting)
    found = search(made, 2, 3, interpolation=weighting, label="drawn")
    hybrid.tune(drawn, found, tmp_path / "qrels.trec", tmp_path / "tuning.json")
    made_of = json.loads((tmp_path / "tuning.json").read_text())

    def total(weight, fold):
        asked = [q for q in QUERIES if made_of["fold_of"][q] != fold]
        ranks = {q: [doc for doc, _ in lists[weight][q]] for q in asked}
        found = (q for q in asked if relevant[q] in ranks[q])
        return math.fsum(1 / (1 + ranks[q].index(relevant[q])) for q in found)

    for fold, choice in enumerate(made_of["choices"]):
        best = max(WEIGHTS, key=lambda weight, fold=fold: total(weight, fold))
        assert choice["setting"] == {"lambda": best}
    assert sorted(Counter(made_of["fold_of"].values()).values()) == [2, 2, 3]


def test_docs_judged_before_leave_the_lists_before_they_are_cut(made, tmp_path):
    gone = {query: [doc for doc, _ in own[:2]] for query, own in made.lists(1.5).items()}
    trec.write_qrels(tmp_path / "old.trec", [(q, doc, 0) for q in gone for doc in gone[q]])
    output = tmp_path / "hits"
    hybrid.search(
        system(), output=output, judged_before=[tmp_path / "old.trec"], **made.write(2, 3)
    )
    for query, found in run_by(output, 1.5).items():
        assert [doc for doc, _ in found] == [doc for doc, _ in made.lists(1.5, 12)[query][2:]]


def test_parts_that_do_not_belong_together_are_refused(made, tmp_path):
    options = made.write(2, 3)
    with pytest.raises(ResiduumError, match="'x=here': no part 'x'; known: bm25, de"):
        hybrid.search(system(), ["x=here"], options["queries"], tmp_path / "h")
    with pytest.raises(ResiduumError, match="no folder of de; write de=FOLDER"):
        hybrid.search(system(), options["embeddings"][:2], options["queries"], tmp_path / "h")
    with pytest.raises(ResiduumError, match="name each of the 3 shards once"):
        hybrid.search(system(), options["embeddings"][:-1], options["queries"], tmp_path / "h")
    shorter = Made(tmp_path / "other")
    shorter.owners = np.where(shorter.owners == 100, 99, shorter.owners)
    mixed = [*options["embeddings"][:2], *shorter.write(2, 3)["embeddings"][2:]]
    with pytest.raises(ResiduumError, match="differ in docs, or in their order, at doc d100"):
        hybrid.search(system(), mixed, options["queries"], tmp_path / "h")
    assert not (tmp_path / "h").exists()


@pytest.mark.parametrize(
    ("interpolation", "says"),
    [
        ({"weighted": "bm25", "grid": "exact", "tune_on": "dev", "measure": "RR@10"},
         r"interpolation\.grid: a hybrid search has no exact grid"),
        ({"weighted": "bm25", "value": 1.0, "others": {"bm25": 2.0}}, "has its weight from value"),
    ],
)  # fmt: skip
def test_interpolations_that_no_search_has(interpolation, says):
    with pytest.raises(ValueError, match=says):
        entries.validate("x.yaml", json.loads(system(interpolation=interpolation)), HybridSystem)


def test_manifests_name_all_that_was_read(made, searched):
    record = json.loads(files.read_bytes(searched / "manifest.json"))
    assert len(record["inputs"]) == 2 + 3 + 2
    assert record["artefact"]["weights"] == WEIGHTS and record["artefact"]["queries"] == 7
