"""Released models with a Router: each side's vectors are sentence-transformers'."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer, SparseEncoder
from sentence_transformers.base.modules import Dense, Normalize, Router, Transformer
from sentence_transformers.sentence_transformer.modules import Pooling, StaticEmbedding
from sentence_transformers.sparse_encoder.modules import (
    MLMTransformer,
    SparseStaticEmbedding,
    SpladePooling,
)
from transformers import AutoModelForMaskedLM, AutoTokenizer

from corpora import make_corpus
from residuum import encode, rerank
from residuum import release as stage
from residuum.artefacts import shards, trec
from residuum.cli.errors import ResiduumError
from residuum.config.schema.models import Reads
from residuum.neural import devices, hub, release, routes
from residuum.neural.encoders import Encoder, asker
from residuum.neural.pretrained import Source
from tiny_models import make_backbone, toy_docs, toy_queries

CPU = devices.Device("cpu", "fp32")
TEXTS = [text for _, text in [*toy_docs(), *toy_queries()]] + ["", "The MOTOR!", "frost " * 40]
ROUTER = "router_config.json"
Modules = list[Any]


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a masked-language model of random weights."""
    folder = tmp_path_factory.mktemp("start")
    made = make_backbone(folder / "bare", make_corpus(folder / "corpus", toy_docs()))
    torch.manual_seed(2)
    config = AutoModelForMaskedLM.from_pretrained(made).config
    AutoModelForMaskedLM.from_config(config).save_pretrained(folder / "start")
    AutoTokenizer.from_pretrained(made).save_pretrained(folder / "start")
    return folder / "start"


def static(start: Path) -> SparseStaticEmbedding:
    tokenizer = AutoTokenizer.from_pretrained(start)
    torch.manual_seed(3)
    weights = torch.rand(len(tokenizer)) * (torch.rand(len(tokenizer)) > 0.2)  # some are 0
    return SparseStaticEmbedding(tokenizer, weights, frozen=True)


def masked(start: Path) -> Modules:
    made = Transformer(str(start), transformer_task="fill-mask", max_seq_length=24)
    return [made, SpladePooling("max", activation_function="log1p_relu")]


def legacy(start: Path) -> Modules:
    return [MLMTransformer(str(start), max_seq_length=24), SpladePooling("sum")]


def pooled(start: Path, pooling: str, length: int, *behind: Any) -> Modules:
    return [Transformer(str(start), max_seq_length=length), Pooling(16, pooling), *behind]


def projection(seed: int) -> Dense:
    torch.manual_seed(seed)
    return Dense(16, 6, activation_function=torch.nn.Tanh())


def shared(start: Path) -> tuple[Modules, Modules]:
    network = Transformer(str(start), max_seq_length=20)
    return [network, Pooling(16, "cls")], [network, Pooling(16, "mean")]


PROMPTS = {"query": "about frost: ", "document": "flour "}
DOT: dict[str, Any] = {"similarity_fn_name": "dot"}
SPARSE: dict[str, tuple[Callable[[Path], tuple[Modules, Modules]], dict[str, Any]]] = {
    "inference-free": (lambda start: ([static(start)], masked(start)), DOT),
    "an older class": (lambda start: ([static(start)], legacy(start)), DOT),
    "prompts": (lambda start: ([static(start)], masked(start)), {**DOT, "prompts": PROMPTS}),
    "docs static, too": (lambda start: ([static(start)], [static(start)]), DOT),
    "two networks": (lambda start: (legacy(start), masked(start)), DOT),
}
DENSE: dict[str, tuple[Callable[[Path], tuple[Modules, Modules]], dict[str, Any]]] = {
    "two networks": (lambda start: (pooled(start, "cls", 9), pooled(start, "mean", 20)), DOT),
    "layers": (
        lambda start: (
            pooled(start, "mean", 20, projection(1)), pooled(start, "mean", 20, projection(2))
        ), DOT,
    ),
    "one network": (shared, {**DOT, "prompts": PROMPTS}),
}  # fmt: skip


def save(model: Any, parts: tuple[Modules, Modules], folder: Path, *behind: Any, **how: Any) -> Any:
    """Write a model with a Router, and return the model that sentence-transformers reads."""
    router = Router.for_query_document(query_modules=parts[0], document_modules=parts[1])
    model(modules=[router, *behind], device="cpu", **how).save(str(folder))
    return model(str(folder), device="cpu")


def take(folder: Path, output: Path, **keys: object) -> tuple[Encoder, Encoder]:
    """Take a model in; return its encoders of queries and of docs."""
    shutil.rmtree(output, ignore_errors=True)
    stage.encoder(str(folder), json.dumps(keys), output)
    return Encoder.load(asker(output), CPU), Encoder.load(output, CPU)


def assert_alike(ours: tuple[Encoder, Encoder], theirs: Any, **how: Any) -> None:
    """Vectors within 1e-5, batches of 1 and 64 alike; and the scores of all pairs."""
    queries, docs = (
        np.asarray(encode(TEXTS, show_progress_bar=False, **how))
        for encode in (theirs.encode_query, theirs.encode_document)
    )
    made = []
    for reader, kind, expected in zip(ours, ("query", "doc"), (queries, docs), strict=True):
        for batch in (1, 64):
            rows: Any = reader.encode(TEXTS, kind, batch)
            rows = rows.toarray() if hasattr(rows, "toarray") else rows
            np.testing.assert_allclose(rows, expected, atol=1e-5)
        made.append(rows)
    np.testing.assert_allclose(made[0] @ made[1].T, theirs.similarity(queries, docs), atol=1e-4)
    assert np.abs(queries - docs).max() > 0.01, "the sides differ, so that a mix-up would fail"


@pytest.mark.parametrize("form", SPARSE)
def test_sparse_vectors_of_each_side(form: str, start: Path, tmp_path: Path) -> None:
    parts, how = SPARSE[form]
    made = parts(start)
    theirs = save(SparseEncoder, made, tmp_path / "released", **how)
    ours = take(tmp_path / "released", tmp_path / "taken")
    if form == "docs static, too":
        made = np.asarray(theirs.encode_query(TEXTS, convert_to_sparse_tensor=False))
        for side, kind in zip(ours, ("query", "doc"), strict=True):
            rows = side.encode(TEXTS, kind, 64).toarray()
            np.testing.assert_allclose(rows, made, atol=1e-5)
        return
    assert_alike(ours, theirs, convert_to_sparse_tensor=False)
    again = take(tmp_path / "taken", tmp_path / "again")
    assert_alike(again, theirs, convert_to_sparse_tensor=False)


def test_a_term_weighs_as_much_however_often_a_query_has_it(start: Path, tmp_path: Path) -> None:
    """By hand: the weights of the query's own terms, no other ones, and none of special tokens."""
    query = static(start)
    save(SparseEncoder, ([query], masked(start)), tmp_path / "released", **DOT)
    ours, _ = take(tmp_path / "released", tmp_path / "taken")
    once, twice = ours.encode(["motor here", "motor here motor"], "query", 8).toarray()
    ids = query.tokenizer.convert_tokens_to_ids(["motor", "here"])
    expected = np.zeros(len(once))
    expected[ids] = query.weight.detach().numpy()[ids]
    np.testing.assert_array_equal(once, expected.astype(np.float32))
    np.testing.assert_array_equal(once, twice)


@pytest.mark.parametrize("form", DENSE)
def test_dense_vectors_of_each_side(form: str, start: Path, tmp_path: Path) -> None:
    parts, how = DENSE[form]
    theirs = save(SentenceTransformer, parts(start), tmp_path / "released", **how)
    assert_alike(take(tmp_path / "released", tmp_path / "taken"), theirs)
    assert_alike(take(tmp_path / "taken", tmp_path / "again"), theirs)


def test_modules_behind_a_router_belong_to_both_sides(start: Path, tmp_path: Path) -> None:
    parts = DENSE["two networks"][0](start)
    theirs = save(SentenceTransformer, parts, tmp_path / "released", Normalize())
    assert_alike(take(tmp_path / "released", tmp_path / "taken"), theirs)


def test_routes_are_found_as_a_router_finds_them(start: Path, tmp_path: Path) -> None:
    """By task and modality before the names of routes; and by the files of older versions."""
    short, long = DENSE["two networks"][0](start)
    mapped = {("query", "text"): "short", ("document", None): "long", (None, "text"): "query"}
    router = Router({"query": long, "short": short, "long": long}, route_mappings=mapped)
    model = SentenceTransformer(modules=[router], device="cpu", **DOT)
    model.save(str(tmp_path / "released"))
    theirs = SentenceTransformer(str(tmp_path / "released"), device="cpu")
    assert_alike(take(tmp_path / "released", tmp_path / "taken"), theirs)
    save(SentenceTransformer, (short, long), tmp_path / "older", **DOT)
    (tmp_path / "older" / ROUTER).rename(tmp_path / "older" / "config.json")
    listed = json.loads((tmp_path / "older" / "modules.json").read_text())
    listed[0]["type"] = "sentence_transformers.models.Asym"
    (tmp_path / "older" / "modules.json").write_text(json.dumps(listed))
    assert_alike(take(tmp_path / "older", tmp_path / "taken"), theirs)


def test_a_network_may_lie_in_a_folder_of_the_model(start: Path, tmp_path: Path) -> None:
    folder = tmp_path / "released"
    modules = pooled(start, "mean", 20, projection(1))
    SentenceTransformer(modules=modules, device="cpu", **DOT).save(str(folder))
    listed = json.loads((folder / "modules.json").read_text())
    listed[0]["path"] = "0_Transformer"
    (folder / "modules.json").write_text(json.dumps(listed))
    (folder / "0_Transformer").mkdir()
    for path in folder.iterdir():
        if path.is_file() and path.name not in ("modules.json", release.MODEL):
            path.rename(folder / "0_Transformer" / path.name)
    theirs = SentenceTransformer(str(folder), device="cpu")
    ours = take(folder, tmp_path / "taken")[1].encode(TEXTS, "doc", 8)
    np.testing.assert_allclose(np.asarray(ours), theirs.encode(TEXTS), atol=1e-5)


def test_keys_of_an_entry_replace_those_of_the_docs(start: Path, tmp_path: Path) -> None:
    """A pooling is that of docs; lengths and prompts are each side's."""
    theirs = save(SparseEncoder, SPARSE["inference-free"][0](start), tmp_path / "released", **DOT)
    keys = {"pooling": "splade", "query_length": 2, "query_prompt": "winter "}
    ours = take(tmp_path / "released", tmp_path / "taken", **keys)
    assert [side.settings.pooling.kind for side in ours] == ["static", "splade"]
    expected = theirs.encode(["winter frost", "winter often"], task="query",
                             convert_to_sparse_tensor=False)  # fmt: skip
    made = ours[0].encode(["frost here", "often there"], "query", 8)
    np.testing.assert_allclose(made.toarray(), expected, atol=1e-5)


def test_runs_and_rerankings_read_queries_by_their_own_modules(start: Path, tmp_path: Path) -> None:
    theirs = save(SparseEncoder, SPARSE["inference-free"][0](start), tmp_path / "released", **DOT)
    take(tmp_path / "released", tmp_path / "taken")
    trec.write_queries(tmp_path / "queries.tsv", toy_queries())
    corpus = make_corpus(tmp_path / "corpus", toy_docs())
    encode.encode_queries([f"dev={tmp_path / 'queries.tsv'}"], tmp_path / "taken", 8,
                          tmp_path / "queries", device="cpu")  # fmt: skip
    ids, terms, rows = shards.read(tmp_path / "queries" / "dev")
    texts = [dict(toy_queries())[name] for name in ids]
    columns = theirs.tokenizer.convert_tokens_to_ids(terms)
    queries = np.asarray(theirs.encode_query(texts, convert_to_sparse_tensor=False))
    np.testing.assert_allclose(rows.toarray(), queries[:, columns], atol=1e-5)
    doc = toy_docs()[1]
    (tmp_path / "run").write_text("".join(f"{q} Q0 {doc[0]} 1 1 x\n" for q, _ in toy_queries()))
    rerank.score([tmp_path / "run"], [1], tmp_path / "queries.tsv", corpus,
                 [str(tmp_path / "taken")], '{"batch_size": 8}', tmp_path / "store",
                 tmp_path / "pairs.gz", device="cpu")  # fmt: skip
    weights = np.asarray(theirs.encode_document([doc[1]], convert_to_sparse_tensor=False))[0]
    for query, _, _, score in trec.read_run(tmp_path / "pairs.gz").iter_rows():
        assert score == pytest.approx(float(queries[ids.index(query)] @ weights), abs=1e-5)


def test_another_models_own_side_of_queries_reads_them(start: Path, tmp_path: Path) -> None:
    """A model named for queries has a Router, too: its docs' network reads no query."""
    for name, seed in (("one", 1), ("two", 2)):
        parts = pooled(start, "mean", 20, projection(seed)), pooled(start, "cls", 9, projection(3))
        theirs = save(SentenceTransformer, parts, tmp_path / name, **DOT)
        take(tmp_path / name, tmp_path / f"taken {name}")
    trec.write_queries(tmp_path / "queries.tsv", toy_queries())
    encode.encode_queries([f"dev={tmp_path / 'queries.tsv'}"], tmp_path / "taken one", 8,
                          tmp_path / "queries", device="cpu",
                          asking=tmp_path / "taken two")  # fmt: skip
    _, vectors = shards.read(tmp_path / "queries" / "dev")
    expected = theirs.encode_query([text for _, text in toy_queries()])
    np.testing.assert_allclose(vectors, expected, atol=1e-5)


def test_a_model_of_the_hub_is_read_from_its_folders(
    start: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a cache without a network; before the first job it counts as had."""
    home = tmp_path / "hub" / "models--org--routed"
    theirs = save(
        SparseEncoder, SPARSE["inference-free"][0](start), home / "snapshots" / ("a" * 40), **DOT
    )
    (home / "snapshots" / ("a" * 40) / ".gitattributes").touch()
    (home / "refs").mkdir()
    (home / "refs" / "main").write_text("a" * 40)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert hub.missing("org/routed", "main") is None
    assert hub.missing("org/other", "main") is not None
    stage.encoder("org/routed", "{}", tmp_path / "taken", revision="main")
    ours = tuple(Encoder.load(at, CPU) for at in (asker(tmp_path / "taken"), tmp_path / "taken"))
    assert_alike(ours, theirs, convert_to_sparse_tensor=False)


def edited(folder: Path, name: str, change: Callable[[Any], None]) -> None:
    held = json.loads((folder / name).read_text())
    change(held)
    (folder / name).write_text(json.dumps(held))


STATIC = "query_0_SparseStaticEmbedding"
REFUSED: dict[str, tuple[str, Callable[[Any], Any], str]] = {
    "no route": (ROUTER, lambda held: held["structure"].pop("query"), "no route for query"),
    "a lost class": (ROUTER, lambda held: held["types"].pop(STATIC), f"no class of {STATIC}"),
    "no types": (ROUTER, lambda held: held.pop("types"), "does not name the modules of routes"),
    "an odd route": (
        ROUTER, lambda held: held["parameters"].update(route_mappings={"__import__('os')": "x"}),
        "does not name the modules of routes",
    ),
    "its own code": (
        ROUTER, lambda held: held["types"].update({STATIC: "theirs.Static"}), "code of its own",
    ),
    "a module more": (
        ROUTER, lambda held: held["structure"]["query"].append("document_1_SpladePooling"),
        "modules SparseStaticEmbedding, SpladePooling",
    ),
    "weights elsewhere": (
        f"{STATIC}/config.json", lambda held: held.update(path="idf.json"), "path: weights in a",
    ),
    "another folder": (
        ROUTER, lambda held: (held["types"].update({"../x": held["types"][STATIC]}),
                              held["structure"].update(query=["../x"])), "leads out of the folder",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_not_done_is_refused_by_name(what: str, start: Path, tmp_path: Path) -> None:
    save(SparseEncoder, SPARSE["inference-free"][0](start), tmp_path / "released", **DOT)
    name, change, match = REFUSED[what]
    edited(tmp_path / "released", name, change)
    with pytest.raises(ResiduumError, match=match):
        take(tmp_path / "released", tmp_path / "taken")
    assert not (tmp_path / "taken").exists()


def test_another_module_before_vectors_of_words_is_refused(start: Path, tmp_path: Path) -> None:
    """Vectors of words without a network are known for sparse vectors alone."""
    words = StaticEmbedding(AutoTokenizer.from_pretrained(start), embedding_dim=16)
    save(SentenceTransformer, ([words], pooled(start, "mean", 9)), tmp_path / "released", **DOT)
    with pytest.raises(ResiduumError, match="asks for the module StaticEmbedding"):
        take(tmp_path / "released", tmp_path / "taken")


def test_sides_that_cannot_be_compared_are_refused(start: Path, tmp_path: Path) -> None:
    parts = pooled(start, "mean", 9), pooled(start, "mean", 9, projection(1))
    save(SentenceTransformer, parts, tmp_path / "dense", **DOT)
    with pytest.raises(ResiduumError, match=r"queries have 16 dimensions, and those of docs .* 6"):
        take(tmp_path / "dense", tmp_path / "taken")
    save(SparseEncoder, SPARSE["inference-free"][0](start), tmp_path / "sparse", **DOT)
    path = tmp_path / "sparse" / STATIC / "tokenizer.json"
    path.write_text(path.read_text().replace('"motor"', '"rotor"'))
    with pytest.raises(ResiduumError, match="queries have another vocabulary than its docs"):
        take(tmp_path / "sparse", tmp_path / "taken")
    (tmp_path / "sparse" / STATIC / "model.safetensors").unlink()
    with pytest.raises(ResiduumError, match=rf"{STATIC}: no model.safetensors"):
        take(tmp_path / "sparse", tmp_path / "taken")


def test_a_changed_reader_of_queries_is_found(start: Path, tmp_path: Path) -> None:
    """The manifest of a checkpoint records the files of its encoder of queries."""
    save(SparseEncoder, SPARSE["inference-free"][0](start), tmp_path / "released", **DOT)
    take(tmp_path / "released", tmp_path / "taken")
    path = tmp_path / "taken" / "queries" / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-1] + b"\0")
    with pytest.raises(ResiduumError, match=r"queries/model.safetensors: .* manifest records"):
        asker(tmp_path / "taken")


def test_a_note_says_how_each_side_is_read(start: Path, tmp_path: Path) -> None:
    save(SparseEncoder, SPARSE["inference-free"][0](start), tmp_path / "released", **DOT)
    described = release.read(Source(str(tmp_path / "released")), Reads())
    assert release.summary(described) == (
        "pooling splade, inner products, 24 tokens of a query, 24 of a doc; queries apart: pooling "
        "static, inner products, 32 tokens of a query, 32 of a doc"
    )


def test_files_without_a_list_of_modules_are_refused() -> None:
    with pytest.raises(ResiduumError, match="no list of modules"):
        routes.of(lambda name: {} if name == "modules.json" else None, ResiduumError)
