"""Fixed vectors beside a training: looked up by id, projected alike, logged, and felt."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch
from scipy.sparse import csr_array

from residuum.artefacts import termvectors
from residuum.cli.errors import ResiduumError
from residuum.config.schema.models import DualEncoder
from residuum.neural import devices
from residuum.neural.duals import DualLearner
from residuum.neural.fixed import FixedVectors
from residuum.neural.learners import Start
from residuum.neural.pretrained import Source
from residuum.neural.tokens import Texts
from residuum.vectors.projection import project
from tiny_models import (
    model_spec,
    sharing_queries,
    toy_docs,
    toy_queries,
    train_toy,
    write_problem,
)


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The toy problem with the words' counts as vectors: docs in two shards, queries."""
    folder = write_problem(tmp_path_factory.mktemp("toy"))
    docs = toy_docs()
    write_counts(folder / "fixed" / "shard-0", docs[::2])
    write_counts(folder / "fixed" / "shard-1", docs[1::2])
    write_counts(folder / "fixed" / "queries" / "train", toy_queries())
    write_counts(folder / "fixed" / "sharing" / "train", sharing_queries())
    for part in ("shard-0", "shard-1", "queries", "sharing"):
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
    fixed = {"fixed": shards(toy), "fixed_queries": [str(toy / "fixed" / "queries" / "train")]}
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


def residual(**keys: object) -> str:
    base = json.loads(model_spec("nll", dropout=0.0, batch_size=10, steps=30))
    base["loss"] = {"kind": "residual_nll", "lambda_train": 3.0}
    return json.dumps(base | {"fixed": {"model": "bm25-vectors"}} | keys)


def in_common(query: str, doc: str) -> int:
    """Return the product of the counts of a query and a doc of the toy problem."""
    asked, words = dict(sharing_queries())[query].split(), dict(toy_docs())[doc].split()
    return sum(asked.count(word) * words.count(word) for word in {*words})


def test_scores_are_products_of_both_texts_whichever_shard_and_role_they_are_of(toy: Path) -> None:
    folder, queries = toy / "fixed" / "sharing" / "train", ["q3", "q0"]
    docs = ["d3-often", "d0-here", "d3-there"]
    fixed = FixedVectors(shards(toy), folder, 3)
    fixed.keep("query", {*queries})
    fixed.keep("doc", {*docs, "d5-here"})
    scores = fixed.scores(queries, docs)
    assert scores.dtype == np.float32
    assert scores.tolist() == [[2, 0, 2], [0, 2, 0]], "an answer stands twice in its docs"
    mixed = FixedVectors(shards(toy), {"real": folder, "made": folder}, 3)
    keys = [f"{role}/{query}" for role in ("made", "real") for query in queries]
    mixed.keep("query", {*keys})
    mixed.keep("doc", {*docs})
    assert mixed.scores(keys, docs).tolist() == scores.tolist() * 2


@pytest.mark.parametrize("negatives", [0, 2])
def test_bm25_of_all_candidates_stands_inside_the_softmax(toy: Path, negatives: int) -> None:
    keys: dict[str, object] = {}
    if negatives:
        pools = {"errors": {"kind": "hits", "system": "bm25", "top": 100}}
        keys["negatives"] = {"pools": pools, "scores": "bm25", "per_pair": 20}
        keys["group"] = negatives
    spec = DualEncoder.model_validate_json(residual(**keys))
    fixed = FixedVectors(shards(toy), toy / "fixed" / "sharing" / "train", 1)
    source = Source(str(toy / "start"), dropout=0, new_head=True)
    start = Start(source, devices.choose("cpu", "fp32", 1), 1, fixed)
    texts = Texts(toy / "queries.tsv", toy / "corpus", "the tuples")
    learner = DualLearner(spec, start, toy / "tuples.jsonl.gz", texts)
    batch = learner.batch(0)
    seen = learner.candidates(batch, learner.forward(batch), rows := slice(3, 7))
    counted = [[in_common(query, doc) for doc in batch.docs] for query in batch.query_ids[rows]]
    assert len(batch.docs) == 10 * (1 + negatives) and counted[0].count(2) < len(batch.docs)
    assert seen.fixed is None and seen.fixed_scores is not None
    assert seen.fixed_scores.tolist() == counted
    [loss] = learner.objectives
    scores = (seen.scores + 3 * torch.tensor(counted)).masked_fill(seen.ignore, float("-inf"))
    by_hand = torch.nn.functional.cross_entropy(scores, seen.positive, reduction="none")
    torch.testing.assert_close(loss.losses(seen), by_hand)


@pytest.mark.parametrize("mixed", [False, True])
def test_what_bm25_tells_is_not_learned_once_more(toy: Path, tmp_path: Path, mixed: bool) -> None:
    """BM25 puts every doc of the toy problem in order, so that the loss is small at once.

    Without BM25 the first loss is that of a start that has learned nothing.
    """
    keys: dict[str, object] = {}
    folder = toy / "fixed" / "sharing" / "train"
    files: dict[str, object] = {"fixed": shards(toy)}
    files["fixed_queries"] = [f"real={folder}", f"made={folder}"] if mixed else [str(folder)]
    if mixed:
        keys["train_on"] = {"real": 0.5, "made": 0.5}
        for option, name in (("tuples", "tuples.jsonl.gz"), ("queries", "queries.tsv")):
            files[option] = [f"{role}={toy / name}" for role in ("real", "made")]
    folder = train_toy(toy, tmp_path / "residual", residual(**keys), **files)
    first = pl.read_csv(folder / "training.tsv", separator="\t")["loss"][0]
    manifest = json.loads((folder / "manifest.json").read_text())
    assert any("fixed/sharing/manifest.json" in path for path in manifest["inputs"])
    keys |= {"loss": {"kind": "nll"}, "fixed": None}
    del files["fixed"], files["fixed_queries"]
    folder = train_toy(toy, tmp_path / "plain", residual(**keys), **files)
    plain = pl.read_csv(folder / "training.tsv", separator="\t")["loss"][0]
    assert first < 0.1 < 1 < plain


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
