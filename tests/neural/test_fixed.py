"""Fixed vectors beside a training: looked up by id, projected alike, logged, and felt."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.sparse import csr_array

from residuum.artefacts import termvectors
from residuum.cli.errors import ResiduumError
from residuum.neural.fixed import FixedVectors
from residuum.vectors.projection import project
from tiny_models import model_spec, toy_docs, toy_queries, train_toy, write_problem


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The toy problem with the words' counts as vectors: docs in two shards, queries."""
    folder = write_problem(tmp_path_factory.mktemp("toy"))
    docs = toy_docs()
    write_counts(folder / "fixed" / "shard-0", docs[::2])
    write_counts(folder / "fixed" / "shard-1", docs[1::2])
    write_counts(folder / "fixed" / "queries" / "train", toy_queries())
    for part in ("shard-0", "shard-1", "queries"):
        (folder / "fixed" / part / "manifest.json").write_text("{}")
    return folder


def write_counts(folder: Path, texts: list[tuple[str, str]]) -> None:
    terms = sorted({word for _, text in texts for word in text.split()})
    rows = [[text.split().count(term) for term in terms] for _, text in texts]
    ids = [key for key, _ in texts]
    termvectors.write(folder, ids, terms, csr_array(np.array(rows, np.float32)))


def shards(toy: Path) -> list[Path]:
    return [toy / "fixed" / "shard-0", toy / "fixed" / "shard-1"]


def spec(weight: float, **training: object) -> str:
    base = json.loads(model_spec("nll", dropout=0.0, **training))
    base["losses"] = [base.pop("loss"), {"kind": "orthogonality", "weight": weight}]
    return json.dumps(base | {"fixed": {"model": "bm25-vectors", "seed": 3}})


def trained(toy: Path, output: Path, weight: float, **training: object) -> pl.DataFrame:
    """Train with fixed vectors and return the log."""
    fixed = {"fixed": shards(toy), "fixed_queries": toy / "fixed" / "queries" / "train"}
    folder = train_toy(toy, output, spec(weight, **training), **fixed)
    return pl.read_csv(folder / "training.tsv", separator="\t")


def test_they_are_the_projections_of_the_ids_asked_for_in_their_order(toy: Path) -> None:
    fixed = FixedVectors(shards(toy), toy / "fixed" / "queries" / "train", 3)
    docs = dict(toy_docs())
    some = ["d3-often", "d0-here", "d3-there"]
    fixed.keep("doc", {*some, "d5-here"})
    counted = [{word: docs[key].split().count(word) for word in docs[key].split()} for key in some]
    terms = sorted({word for words in counted for word in words})
    rows = csr_array(np.array([[words.get(t, 0) for t in terms] for words in counted], np.float32))
    np.testing.assert_allclose(
        fixed.vectors("doc", some, 24), project(rows, terms, 24, 3), atol=1e-6
    )
    assert (
        fixed.vectors("doc", some[::-1], 24)[0].tolist()
        == fixed.vectors("doc", some, 24)[2].tolist()
    )
    with pytest.raises(ResiduumError, match=r"doc_id nobody has no vector \(1 such ids\)"):
        fixed.keep("doc", {"d0-here", "nobody"})


def test_a_heavy_weight_makes_vectors_orthogonal_and_the_log_shows_it(
    toy: Path, tmp_path: Path
) -> None:
    log = trained(toy, tmp_path / "heavy", 100.0, steps=50)
    assert {"ortho_query", "ortho_doc", "nll", "orthogonality"} <= {*log.columns}
    sums = log["ortho_query"] + log["ortho_doc"]
    np.testing.assert_allclose(sums, log["orthogonality"], rtol=1e-6)
    np.testing.assert_allclose(log["nll"] + 100 * log["orthogonality"], log["loss"], rtol=1e-5)
    assert log["orthogonality"].tail(5).mean() < 0.1 * log["orthogonality"].head(1).item()
    light = trained(toy, tmp_path / "light", 1e-9, steps=50)
    assert light["orthogonality"].tail(5).mean() > 5 * log["orthogonality"].tail(5).mean()


def test_without_their_files_or_a_loss_that_reads_them_the_model_is_refused(
    toy: Path, tmp_path: Path
) -> None:
    with pytest.raises(ResiduumError, match="give --fixed and --fixed-queries, made by bm25-vect"):
        train_toy(toy, tmp_path / "none", spec(1.0))
    unread = json.loads(model_spec("nll")) | {"fixed": {"model": "bm25-vectors"}}
    with pytest.raises(ResiduumError, match="no loss reads fixed vectors"):
        train_toy(toy, tmp_path / "unread", json.dumps(unread))
    lacking = json.loads(spec(1.0))
    del lacking["fixed"]
    with pytest.raises(ResiduumError, match="orthogonality needs vectors of the same texts"):
        train_toy(toy, tmp_path / "lacking", json.dumps(lacking))
