"""Encoders of terms: weights and gate as plain torch computes them; encoded, searched, refused."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest
import torch
from scipy.sparse import csr_array
from transformers import AutoModelForMaskedLM, AutoTokenizer

from contents import contents
from corpora import make_corpus
from killing import as_command, run_and_kill
from residuum import dense, encode, train
from residuum.artefacts import termvectors, trec
from residuum.cli.errors import ResiduumError
from residuum.config.schema.backbones import InverseCloze
from residuum.config.schema.models import TermGate
from residuum.neural import devices
from residuum.neural.encoders import Encoder
from residuum.neural.inputs import padded
from residuum.neural.pretrained import Source
from residuum.neural.termencoder import TermEncoder
from residuum.neural.termgate import TermGater
from residuum.vectors import nearest
from tiny_models import (
    TOPICS,
    as_options,
    inverse_cloze_spec,
    make_backbone,
    order_share,
    sharing_queries,
    term_gate_spec,
    terms_spec,
    toy_docs,
    train_arguments,
    train_toy,
    write_problem,
)

DEVICE = devices.Device("cpu", "fp32")
QUERIES = sharing_queries()
TEXTS = [
    "water here",
    "",
    "flour often flour there sound",
    "The MOTOR!",
    "about river",
    "frost " * 9,
]


class Made(NamedTuple):
    """The toy problem, a gate, a term encoder behind it, and one that has its own terms alone."""

    folder: Path
    gate: Path
    gated: Path
    literal: Path


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = tmp_path_factory.mktemp("toy")
    write_problem(folder, QUERIES, hidden=32, intermediate=64)
    gate = train_toy(folder, folder / "gate", term_gate_spec(steps=1000, learning_rate=0.005))
    spec = json.loads(terms_spec(0.7, steps=40, learning_rate=0.003)) | {"perturbation": {}}
    gated = train_toy(folder, folder / "gated", json.dumps(spec), gate=gate)
    literal = train_toy(folder, folder / "literal", terms_spec(steps=5))
    return Made(folder, gate, gated, literal)


def scores_at_tokens(folder: Path, text: str, length: int) -> tuple[torch.Tensor, list[int]]:
    """Return a checkpoint's scores (tokens, vocabulary) of all terms, and the text's token ids."""
    model, tokenizer = (
        form.from_pretrained(folder) for form in (AutoModelForMaskedLM, AutoTokenizer)
    )
    own = tokenizer(text, add_special_tokens=False)["input_ids"][: length - 2]
    ids = [tokenizer.cls_token_id, *own, tokenizer.sep_token_id]
    with torch.no_grad():
        return model.eval()(input_ids=torch.tensor([ids])).logits[0], own


def by_hand(folder: Path, text: str, length: int, threshold: float | None) -> np.ndarray:
    """Return a text's vector, from the weights of its checkpoint and of the gate in it."""
    scores, own = scores_at_tokens(folder, text, length)
    weights = scores.clamp(min=0).sum(dim=0)
    open_ = torch.zeros_like(weights, dtype=torch.bool)
    open_[own] = True
    if threshold:
        chances = torch.sigmoid(scores_at_tokens(folder / "gate", text, length)[0])
        open_ |= (chances >= threshold).any(dim=0)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    for special in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[QRY]", "[DOC]"):
        open_[tokenizer.convert_tokens_to_ids(special)] = False
    return (weights * open_).numpy()


def whole(rows: Any) -> np.ndarray:
    return np.asarray(rows.toarray())


@pytest.mark.parametrize(("kind", "length"), [("query", 12), ("doc", 24)])
def test_vectors_are_those_of_the_weights_in_plain_torch(toy: Made, kind: Any, length: int) -> None:
    """The gated one learned with matches masked: no token is when it encodes."""
    for folder, threshold in ((toy.gated, 0.7), (toy.literal, None)):
        vectors = whole(Encoder.load(folder, DEVICE).encode(TEXTS, kind, 3))
        expected = np.stack([by_hand(folder, text, length, threshold) for text in TEXTS])
        np.testing.assert_allclose(vectors, expected, atol=1e-4)
        assert ((vectors > 0) == (expected > 0)).all() and (vectors >= 0).all()


def test_without_a_gate_a_text_has_its_own_terms_and_with_one_those_that_it_opens(
    toy: Made,
) -> None:
    literal, gated = (Encoder.load(folder, DEVICE) for folder in (toy.literal, toy.gated))
    texts = [text for _, text in toy_docs()]
    topics = literal.tokenizer.convert_tokens_to_ids(TOPICS)
    opened = 0
    for number, text in enumerate(texts):
        own = {*literal.tokenizer(text, add_special_tokens=False)["input_ids"]}
        assert {*literal.encode([text], "doc", 1).indices} <= own
        others = {*gated.encode([text], "doc", 1).indices} - own
        assert others <= {*topics}, "what queries have, and this doc has not"
        opened += topics[number // 3] in others
    assert opened > 5


def test_a_term_is_open_from_the_threshold_on(toy: Made, tmp_path: Path) -> None:
    scores, own = scores_at_tokens(toy.gated / "gate", "water here", 24)
    chances = torch.sigmoid(scores).max(dim=0).values
    term = AutoTokenizer.from_pretrained(toy.gated).convert_tokens_to_ids("river")
    for threshold, opened in (
        (float(chances[term]) - 1e-4, True),
        (float(chances[term]) + 1e-4, False),
    ):
        settings = json.loads((toy.gated / "residuum.json").read_text())
        settings["pooling"]["gate"]["threshold"] = threshold
        encoder = TermEncoder(
            Source(str(toy.gated)), Encoder.schema.model_validate(settings), DEVICE
        )
        rows = [*encoder.tokenise(["water here"], "doc")]
        [terms], [present] = encoder._opened(rows, padded(rows, 0, "cpu")[1])
        active = {*terms[present].tolist()}
        assert (term in active) is opened
        assert active >= {*own}


def test_a_gates_logits_are_the_best_scores_with_gradient_and_without(toy: Made) -> None:
    """Of texts of several lengths; a fixed gate takes them one by one, one in training together."""
    gate = TermGater.load(toy.gate, DEVICE)
    gate.model.eval()
    read = [*gate.tokenise(TEXTS, "doc")]
    expected = torch.stack([scores_at_tokens(toy.gate, text, 24)[0].amax(dim=0) for text in TEXTS])
    for learning in (True, False):
        with torch.set_grad_enabled(learning):
            logits = gate.logits(read)
        assert logits.requires_grad is learning
        torch.testing.assert_close(logits.detach(), expected)


@pytest.mark.parametrize("of", ["gated", "literal"])
def test_gradients_are_those_of_the_scores_of_all_terms(toy: Made, of: str) -> None:
    folder = getattr(toy, of)
    encoder = TermEncoder(Source(str(folder)), Encoder.load(folder, DEVICE).settings, DEVICE)
    encoder.model.eval()
    rows = [*encoder.tokenise(TEXTS, "doc")]
    vectors = encoder.forward(rows, "doc")[:, 0]
    torch.manual_seed(3)
    slopes = torch.randn(vectors.shape)
    (vectors * slopes).sum().backward()
    plain = AutoModelForMaskedLM.from_pretrained(folder).eval()
    for row, vector, slope in zip(rows, vectors.detach(), slopes, strict=True):
        ids = torch.from_numpy(row.astype(np.int64))[None]
        weights = plain(input_ids=ids).logits[0].relu().sum(dim=0)
        torch.testing.assert_close(weights[vector > 0], vector[vector > 0])
        (weights * (vector > 0) * slope).sum().backward()
    own = dict(encoder.model.named_parameters())
    for name, some in plain.named_parameters():
        assert some.grad is not None and some.grad.abs().max() > 0
        torch.testing.assert_close(own[name].grad, some.grad, rtol=1e-4, atol=1e-5)


def test_padding_and_order_do_not_change_a_vector(toy: Made) -> None:
    encoder = Encoder.load(toy.gated, DEVICE)
    alone = np.concatenate([whole(encoder.encode([text], "doc", 1)) for text in TEXTS])
    np.testing.assert_allclose(whole(encoder.encode(TEXTS, "doc", 6)), alone, atol=1e-4)
    assert encoder.encode([], "doc", 6).shape == (0, encoder.dimensions)


def test_it_learns_and_the_gate_stays_as_it_was(toy: Made) -> None:
    for path in (toy.gate / "model.safetensors", toy.gate / "residuum.json"):
        assert path.read_bytes() == (toy.gated / "gate" / path.name).read_bytes()
    encoder = Encoder.load(toy.gated, DEVICE)
    queries, docs = ([text for _, text in of] for of in (QUERIES, toy_docs()))
    scores = encoder.encode(queries, "query", 8) @ encoder.encode(docs, "doc", 8).T
    assert order_share(scores.toarray()) > 0.9
    names = (dict(QUERIES), dict(toy_docs()))
    pairs = [(query, doc) for query in names[0] for doc in names[1]]
    relevance = encoder.relevance(*names, pairs, 4)
    np.testing.assert_allclose(relevance, scores.toarray().ravel(), rtol=1e-5, atol=1e-5)


def encoded(model: Path, folder: Path, docs: Sequence[tuple[str, str]], queries: Any) -> list[Path]:
    """Encode docs in two shards, and queries; return the shards."""
    corpus = make_corpus(folder / "corpus", docs)
    trec.write_queries(folder / "queries.tsv", queries)
    shards = [folder / f"shard-{n}" for n in (0, 1)]
    for number, output in enumerate(shards):
        encode.encode_docs(corpus, model, number, 2, 4, output, device="cpu")
    split = [f"dev={folder / 'queries.tsv'}"]
    encode.encode_queries(split, model, 4, folder / "encoded", device="cpu")
    return shards


def dense_matrix(folders: Sequence[Path], terms: list[str]) -> tuple[list[str], np.ndarray]:
    """Return ids and vectors of folders, with these terms as columns."""
    ids, rows = [], []
    for vectors in map(termvectors.read, folders):
        ids += vectors.ids
        for row in vectors.rows.toarray():
            of = dict(zip(vectors.terms, row, strict=True))
            rows.append([float(of.get(term, 0)) for term in terms])
    return ids, np.array(rows)


@pytest.mark.parametrize("of", ["gated", "literal"])
def test_the_dense_road_finds_what_brute_force_finds(toy: Made, tmp_path: Path, of: str) -> None:
    """With its own terms alone, a text of special tokens, or of none, is empty and scores 0.

    Which terms a gate opens for such a text depends on its training.
    """
    model = getattr(toy, of)
    docs = [*toy_docs(), ("empty", ""), ("mask", "[MASK]")]
    queries = [*QUERIES, ("007", "[SEP] [PAD]")]
    shards = encoded(model, tmp_path, docs, queries)
    system = json.dumps({"kind": "dense", "model": "sparterm", "k": 7})
    hits = []
    for n, shard in enumerate(shards):
        hits.append(tmp_path / f"hits-{n}")
        dense.search_shard(shard, tmp_path / "encoded", 7, hits[-1], device="cpu")
    dense.gather(hits, ["dev"], system, "sparterm", tmp_path / "run.trec.gz")
    folders = [*shards, tmp_path / "encoded" / "dev"]
    terms = sorted({term for folder in folders for term in termvectors.read(folder).terms})
    (doc_ids, of_docs), (query_ids, of_queries) = (
        dense_matrix(some, terms) for some in (shards, folders[-1:])
    )
    products = dict(zip(query_ids, of_queries @ of_docs.T, strict=True))
    run = trec.read_run(tmp_path / "run.trec.gz")
    for query, scores in products.items():
        own = run.filter(pl.col("query_id") == query)
        expected = sorted((score for score in scores if score), reverse=True)[:7]
        np.testing.assert_allclose(own["score"], expected, rtol=1e-5)
        for doc, score in own.select("doc_id", "score").iter_rows():
            assert score == pytest.approx(scores[doc_ids.index(doc)], rel=1e-5)
    if of == "gated":
        return
    assert "007" not in {*run["query_id"]} and not products["007"].any()
    pairs = [("007", "d0-here", 2.0), ("007", "empty", 1.0), ("q1", "empty", 1.0)]
    other = pl.DataFrame(pairs, schema=trec.HITS, orient="row")
    trec.write_run(tmp_path / "other.trec.gz", trec.rank(other), "other")
    dense.score_run(
        shards, folders[-1:], [tmp_path / "other.trec.gz"], system, "x", tmp_path / "scored.trec.gz"
    )
    assert trec.read_run(tmp_path / "scored.trec.gz")["score"].to_list() == [0, 0, 0]


def test_a_shard_and_queries_without_any_term_have_no_hits(toy: Made, tmp_path: Path) -> None:
    docs, queries = [("d1", ""), ("d2", "[MASK]")], [("q1", ""), ("q2", "[SEP]")]
    shards = encoded(toy.literal, tmp_path, docs, queries)
    assert termvectors.read(shards[0]).terms == []
    dense.search_shard(shards[0], tmp_path / "encoded", 5, tmp_path / "hits", device="cpu")
    assert trec.read_hits(tmp_path / "hits" / "dev" / "00000.parquet").is_empty()


def test_a_doc_of_several_passages_scores_by_the_best_and_is_one_hit(tmp_path: Path) -> None:
    """Products by hand: of d1 2 and 6, of d2 3, of d3 1 and 0; two docs are asked for."""
    ids, rows = ["d1", "d2", "d1", "d3", "d3"], [[2, 0], [0, 3], [1, 5], [1, 0], [0, 0]]
    docs = termvectors.TermVectors(ids, ["a", "b"], csr_array(np.array(rows, np.float32)))
    query = termvectors.TermVectors(["q"], ["a", "b"], csr_array(np.ones((1, 2), np.float32)))
    hits = pl.concat(nearest.Index(docs, None, device="cpu").search(query, 2))
    best = hits.sort("score", descending=True).head(2)
    assert best.rows() == [(0, "d1", 6.0), (0, "d2", 3.0)]
    assert hits["doc_id"].n_unique() == hits.height


def test_killed_encoding_leaves_nothing_and_comes_to_the_same_bytes(
    toy: Made, tmp_path: Path
) -> None:
    docs = [(f"{key}-{n}", f"{text} {n}") for n in range(20) for key, text in toy_docs()]
    corpus = make_corpus(tmp_path / "corpus", docs)
    arguments = {"corpus": corpus, "model": toy.gated, "shard": 0, "of": 1, "batch_size": 1}
    arguments |= {"threads": 1, "device": "cpu"}
    encode.encode_docs(**arguments, output=tmp_path / "whole")
    arguments["output"] = tmp_path / "killed"
    words = [w for k, v in arguments.items() for w in (f"--{k.replace('_', '-')}", str(v))]
    before = {*tmp_path.iterdir()}
    run_and_kill(["residuum.encode", "docs", *words], lambda: {*tmp_path.iterdir()} != before)
    assert not (tmp_path / "killed").exists(), "whole or not at all"
    encode.encode_docs(**arguments)
    assert contents(tmp_path / "killed") == contents(tmp_path / "whole")


def test_killed_training_behind_a_gate_goes_on_and_ends_with_the_same_bytes(
    toy: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = json.loads(terms_spec(0.7, steps=60)) | {"perturbation": {}}
    spec = json.dumps(record)
    as_command(monkeypatch, "residuum.train", "train", spec)
    whole = train_toy(toy.folder, tmp_path / "whole", spec, gate=toy.gate)
    arguments = train_arguments(toy.folder, tmp_path / "killed", spec, gate=toy.gate, save_every=0)
    words = as_options(arguments)
    state = tmp_path / "killed.work" / "state.pt"
    run_and_kill(["residuum.train", "train", *words], state.exists)
    assert not (tmp_path / "killed").exists()
    train.train(**arguments)
    assert contents(tmp_path / "killed") == contents(whole)


def test_a_checkpoint_saves_as_it_was_read(toy: Made, tmp_path: Path) -> None:
    encoder = Encoder.load(toy.gated, DEVICE)
    encoder.save(tmp_path / "one")
    again = Encoder.load(tmp_path / "one", DEVICE)
    assert isinstance(again, TermEncoder) and again.settings == encoder.settings
    again.save(tmp_path / "two")
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    assert (whole(again.encode(TEXTS, "doc", 2)) == whole(encoder.encode(TEXTS, "doc", 2))).all()


def test_what_does_not_fit_is_refused(toy: Made, tmp_path: Path) -> None:
    with pytest.raises(ResiduumError, match="give --gate, the checkpoint of test"):
        train_toy(toy.folder, tmp_path / "none", terms_spec(0.7))
    with pytest.raises(ResiduumError, match=r"names none in encoder\.pooling\.gate; leave it out"):
        train_toy(toy.folder, tmp_path / "none", terms_spec(), gate=toy.gate)
    make_backbone(tmp_path / "start", make_corpus(tmp_path / "words", [("d", "other words here")]))
    with pytest.raises(ResiduumError, match=r"its vocabulary is not that of .*start. Start both"):
        start = {"start": str(tmp_path / "start")}
        train_toy(toy.folder, tmp_path / "none", terms_spec(0.7), gate=toy.gate, **start)
    spec = json.loads(terms_spec()) | {"fixed": {"model": "bm25-vectors"}, "loss": None}
    spec["losses"] = [{"kind": "nll"}, {"kind": "orthogonality"}]
    with pytest.raises(
        ResiduumError, match=r"needs dense vectors .* not one whose pooling is terms"
    ):
        train_toy(toy.folder, tmp_path / "none", json.dumps(spec))
    with pytest.raises(ResiduumError, match="threshold: Input should be less than 1"):
        train_toy(toy.folder, tmp_path / "none", terms_spec(1.0))
    assert not (tmp_path / "none").exists()


def test_what_learns_no_weights_of_terms_refuses_them() -> None:
    cloze = json.loads(inverse_cloze_spec())
    cloze["encoder"] |= {"pooling": "terms"}
    with pytest.raises(ValueError, match="a start for all models has a dense one, such as mean"):
        InverseCloze.model_validate(cloze)
    gate = json.loads(term_gate_spec())
    pools = {"errors": {"kind": "hits", "system": "bm25", "top": 9}}
    sampled = {"negatives": {"pools": pools, "scores": "bm25", "per_pair": 1}}
    with pytest.raises(ValueError, match="learns from pairs alone: leave out the pools"):
        TermGate.model_validate(gate | sampled)
    with pytest.raises(ValueError, match="a term-gate model has no choice of visits; leave it out"):
        TermGate.model_validate(gate | {"training": {**gate["training"], "visits": "queries"}})
