"""Lexical vectors as a stage makes them: searched and scored as dense ones, by shard, refused."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from corpora import make_corpus
from residuum import dense, lexical, termvectors
from residuum.artefacts import contracts, shards, trec
from residuum.artefacts import termvectors as files
from residuum.cli.errors import ResiduumError
from residuum.vectors import nearest
from residuum.vectors.projection import project

ANALYSIS = {"language": "en", "stemmer": "porter", "stopwords": "lucene"}
SYSTEM = {"kind": "lexical", "analysis": ANALYSIS, "bm25": {"k1": 0.9, "b": 0.4}, "k": 20}
MODEL = {"kind": "lexical-vectors", "system": SYSTEM}
DENSE = {"kind": "dense", "model": "bm25-vectors", "k": 20}
QUERIES = [
    ("q1", "river banks"),
    ("007", "bread and bread"),
    ("q3", "the of"),
    ("q4", "word3 word9"),
]
DOCS = [
    ("d1", "the river and its bank"),
    ("d2", "bread, flour, bread"),
    ("d3", ""),
    ("d4", "a river of bread"),
    *((f"f{i}", " ".join(f"word{i % n}" for n in range(1, 4 + i % 9))) for i in range(1, 60)),
]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus, its index, queries, a run of Lucene's, the vectors in two shards."""
    folder = tmp_path_factory.mktemp("vectors")
    make_corpus(folder / "corpus", DOCS)
    lexical.index(folder / "corpus", json.dumps({"analysis": ANALYSIS}), folder / "index")
    trec.write_queries(folder / "queries.tsv", QUERIES)
    lexical.search(
        folder / "index",
        folder / "queries.tsv",
        json.dumps(SYSTEM),
        "bm25",
        folder / "bm25.trec.gz",
    )
    weigh(folder, MODEL, "vectors")
    return folder


def weigh(folder: Path, model: dict[str, object], name: str) -> None:
    spec = json.dumps(model)
    for shard in (0, 1):
        output = folder / name / f"shard-{shard}"
        termvectors.weigh_docs(folder / "index", folder / "corpus", shard, 2, spec, output)
    split = [f"dev={folder / 'queries.tsv'}"]
    termvectors.weigh_queries(folder / "index", split, spec, folder / name / "queries")


def searched(folder: Path, name: str) -> pl.DataFrame:
    """Search the shards, gather their hits and return the run."""
    hits = []
    for shard in (0, 1):
        hits.append(folder / name / f"hits-{shard}")
        dense.search_shard(
            folder / name / f"shard-{shard}", folder / name / "queries", 20, hits[-1], device="cpu"
        )
    run = folder / name / "run.trec.gz"
    dense.gather(hits, ["dev"], json.dumps(DENSE), "vectors", run)
    return trec.read_run(run)


def test_an_exact_search_of_them_is_lucenes_run(made: Path) -> None:
    lucene, own = trec.read_run(made / "bm25.trec.gz"), searched(made, "vectors")
    assert {*lucene["query_id"]} == {"q1", "007", "q4"} and len(lucene) > 20
    both = lucene.join(own, on=["query_id", "doc_id"], how="full", suffix="_own")
    assert both.null_count().sum_horizontal().item() == 0, "the same docs"
    np.testing.assert_allclose(both["score"], both["score_own"], rtol=1e-5)


def test_scores_of_given_pairs_are_lucenes(made: Path, tmp_path: Path) -> None:
    run = tmp_path / "scores.trec.gz"
    shards = [made / "vectors" / f"shard-{n}" for n in (0, 1)]
    queries = made / "vectors" / "queries" / "dev"
    given = [made / "bm25.trec.gz"]
    dense.score_run(shards, [queries], given, json.dumps(DENSE), "vectors", run)
    both = trec.read_run(given[0]).join(
        trec.read_run(run), on=["query_id", "doc_id"], suffix="_own"
    )
    assert len(both) == len(trec.read_run(given[0]))
    np.testing.assert_allclose(both["score"], both["score_own"], rtol=1e-5)


def test_projected_ones_are_dense_and_those_of_the_projection(made: Path) -> None:
    weigh(made, MODEL | {"dimensions": 32, "seed": 5}, "projected")
    for shard in (0, 1):
        ids, rows = contracts.read_vectors(made / "projected" / f"shard-{shard}")
        raw = files.read(made / "vectors" / f"shard-{shard}")
        assert ids == raw.ids and rows.shape == (len(ids), 32)
        np.testing.assert_array_equal(rows, project(raw.rows, raw.terms, 32, 5))
    run = searched(made, "projected")
    assert run.group_by("query_id").len()["len"].to_list() == [20] * len(QUERIES)
    assert run.filter(query_id="q1", rank=1)["doc_id"].item() in ("d1", "d4")


def test_an_empty_doc_has_zeros_and_stays_in_its_place(made: Path) -> None:
    first = files.read(made / "vectors" / "shard-0")
    assert first.ids == [doc_id for doc_id, _ in DOCS[: len(DOCS) // 2]]
    assert not first.rows.toarray()[2].any() and first.rows.toarray()[3].any()


def test_vectors_of_two_models_or_sparse_and_dense_ones_are_not_mixed(
    made: Path, tmp_path: Path
) -> None:
    weigh(made, MODEL | {"dimensions": 16}, "other")
    with pytest.raises(ResiduumError, match="were made by different models"):
        dense.search_shard(
            made / "vectors" / "shard-0",
            made / "other" / "queries",
            5,
            tmp_path / "out",
            device="cpu",
        )
    with pytest.raises(ResiduumError, match="one side has sparse vectors"):
        docs = nearest.Index(shards.read(made / "vectors" / "shard-0"), None, device="cpu")
        docs.search(shards.read(made / "other" / "queries" / "dev"), 5)
    with pytest.raises(ResiduumError, match=r"search hnsw: these vectors are sparse\. Leave"):
        hnsw = json.dumps({"kind": "hnsw", "ef_search": 9})
        dense.search_shard(
            made / "vectors" / "shard-0",
            made / "vectors" / "queries",
            5,
            tmp_path / "out",
            spec=hnsw,
        )


def test_an_index_of_another_analysis_is_refused(made: Path, tmp_path: Path) -> None:
    other = MODEL | {"system": SYSTEM | {"analysis": ANALYSIS | {"stemmer": "krovetz"}}}
    with pytest.raises(ResiduumError, match="index is en-porter-lucene, but the system requires"):
        termvectors.weigh_docs(
            made / "index", made / "corpus", 0, 1, json.dumps(other), tmp_path / "out"
        )
    assert not (tmp_path / "out").exists()
