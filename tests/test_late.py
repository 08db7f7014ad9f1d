"""Released late encoders: sentence-transformers' vectors, PyLate's, the original ColBERT's."""

import json
import shutil
import string
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from sentence_transformers import MultiVectorEncoder
from sentence_transformers.base.modules import Dense, Normalize, Transformer
from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask
from transformers import AutoConfig, AutoModel, AutoTokenizer

from corpora import make_corpus
from residuum import encode
from residuum import release as stage
from residuum.artefacts import shards, trec
from residuum.cli.errors import ResiduumError
from residuum.config.schema.models import Reads
from residuum.neural import devices, pretrained, release
from residuum.neural.encoders import Encoder
from residuum.neural.pretrained import Source
from residuum.vectors.nearest import Index
from tiny_models import make_backbone, toy_docs, toy_queries

CPU = devices.Device("cpu", "fp32")
DOCS = [text for _, text in toy_docs()] + ["", "The MOTOR, here!", "frost. " * 40, "nurse"]
QUERIES = [text for _, text in toy_queries()] + ["", "what is the winter market, here?" * 3]


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a backbone whose vocabulary has punctuation and two words for markers."""
    folder = tmp_path_factory.mktemp("start")
    texts = [*DOCS, *QUERIES] * 2
    words = make_corpus(folder / "words", [(f"w{n}", text) for n, text in enumerate(texts) if text])
    made = make_backbone(folder / "start", words, vocabulary=200)
    path = made / "tokenizer.json"
    held = json.loads(path.read_text())
    vocab = held["model"]["vocab"]
    for word in (",", "!", ".", "?", "[unused0]", "[unused1]"):
        vocab.setdefault(word, len(vocab))
    path.write_text(json.dumps(held))
    model = AutoModel.from_pretrained(made)
    torch.manual_seed(5)
    model.resize_token_embeddings(len(vocab), mean_resizing=False)
    for weights in model.parameters():
        weights.data.normal_(0, 0.3)
    model.save_pretrained(made)
    (made / "manifest.json").unlink()  # which names the files before
    return made


def late(start: Path, folder: Path, expansion: Any, skipped: Any = None, **how: Any) -> Path:
    torch.manual_seed(1)
    dense = Dense(16, 6, bias=False, activation_function=torch.nn.Identity(),
                  module_input_name="token_embeddings")  # fmt: skip
    transformer = Transformer(str(start), query_expansion=expansion, document_length=24)
    unit = Normalize(module_input_name="token_embeddings")
    mask = MultiVectorMask(skiplist_words=skipped)
    model = MultiVectorEncoder(modules=[transformer, dense, mask, unit], **how)
    model.save(str(folder))
    return folder


def take(folder: Path, output: Path, **keys: object) -> Encoder:
    shutil.rmtree(output, ignore_errors=True)
    stage.encoder(str(folder), json.dumps({"pooling": "tokens", **keys}), output)
    return Encoder.load(output, CPU)


def by_text(encoder: Encoder, texts: list[str], kind: Any, batch: int) -> list[np.ndarray]:
    vectors, counts = encoder.vectors(texts, kind, batch)
    return np.split(np.asarray(vectors), np.cumsum(counts)[:-1])


def assert_alike(ours: Encoder, theirs: MultiVectorEncoder) -> None:
    """Vectors within 1e-5 and scores within 1e-4 of sentence-transformers', batch sizes alike."""
    expected = {
        "query": theirs.encode_query(QUERIES, convert_to_numpy=True),
        "doc": theirs.encode_document(DOCS, convert_to_numpy=True),
    }
    for kind, texts in (("query", QUERIES), ("doc", DOCS)):
        for batch in (1, 64):
            made = by_text(ours, texts, kind, batch)
            assert list(map(len, made)) == list(map(len, expected[kind]))
            for one, other in zip(made, expected[kind], strict=True):
                np.testing.assert_allclose(one, other, atol=1e-5)
    scores = np.asarray(
        theirs.similarity(*(list(map(torch.tensor, some)) for some in expected.values()))
    )
    docs, queries = (
        ([f"{n}" for n, rows in enumerate(some) for _ in rows], np.concatenate(some))
        for some in (by_text(ours, DOCS, "doc", 8), by_text(ours, QUERIES, "query", 8))
    )
    for frame in Index(docs, None, "cpu").search(queries, len(DOCS)):
        for query, doc, score in frame.iter_rows():
            assert score == pytest.approx(scores[query, int(doc)], abs=1e-4)


FIXED = {"strategy": "fixed", "attend": False, "length": 14}
FORMS: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "plain": (None, None, {}),
    "lengthened": (FIXED, [*string.punctuation], {}),
    "attended": ({**FIXED, "attend": True}, ["here", "nurse"], {}),
    "at least": ({**FIXED, "strategy": "min"}, None, {}),
    "prompts": (FIXED, None, {"prompts": {"query": "about frost: ", "document": "flour "}}),
}


@pytest.mark.parametrize("form", FORMS)
def test_vectors_are_those_of_sentence_transformers(form: str, start: Path, tmp_path: Path) -> None:
    """And what residuum writes of the model, sentence-transformers reads to the same vectors."""
    expansion, skipped, how = FORMS[form]
    folder = late(start, tmp_path / "released", expansion, skipped, **how)
    theirs = MultiVectorEncoder(str(folder), device="cpu")
    ours = take(folder, tmp_path / "taken")
    assert_alike(ours, theirs)
    assert_alike(ours, MultiVectorEncoder(str(tmp_path / "taken"), device="cpu"))


def test_a_query_has_the_same_vectors_whatever_queries_stand_beside_it(
    tmp_path: Path, start: Path
) -> None:
    """Of a wide model, whose texts share a room on a CPU, to the last digit."""
    config = AutoConfig.from_pretrained(start)
    config.hidden_size, config.intermediate_size, config.num_attention_heads = 256, 64, 2
    torch.manual_seed(2)
    AutoModel.from_config(config).save_pretrained(tmp_path / "wide")
    AutoTokenizer.from_pretrained(start).save_pretrained(tmp_path / "wide")
    pooling = {"kind": "tokens", "expanded": 14}
    lengths = {"query_length": 14, "doc_length": 24}
    spec = Reads.model_validate({"pooling": pooling, "similarity": "cosine", **lengths})
    source = Source(str(tmp_path / "wide"))
    (tmp_path / "taken").mkdir()
    ours = release.take(release.read(source, spec), source, tmp_path / "taken", CPU)
    together, counts = ours.vectors(QUERIES, "query", 64)
    alone = [ours.encode([query], "query", 64) for query in QUERIES]
    assert [len(rows) for rows in alone] == counts.tolist()
    assert np.array_equal(together, np.concatenate(alone))


METADATA = {"query_maxlen": 14, "doc_maxlen": 24, "mask_punctuation": True, "similarity": "cosine"}


def original(start: Path, folder: Path, **changes: object) -> Path:
    """Write the backbone as the original ColBERT writes a model: its layer among the weights."""
    shutil.copytree(start, folder)
    state = {f"bert.{key}": value for key, value in load_file(start / "model.safetensors").items()}
    torch.manual_seed(2)
    state["linear.weight"] = torch.randn(6, 16)
    save_file(state, folder / "model.safetensors", {"format": "pt"})
    changed(folder, "config.json", architectures=["HF_ColBERT"])
    (folder / "artifact.metadata").write_text(json.dumps({**METADATA, **changes}))
    return folder


def changed(folder: Path, name: str, **keys: object) -> None:
    path = folder / name
    path.write_text(json.dumps(json.loads(path.read_text()) | keys))


@cache
def loaded(folder: Path) -> tuple[Any, Any]:
    return AutoModel.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)


def of_colbert(folder: Path, text: str, query: bool, attend: bool) -> np.ndarray:
    """Return the vectors of a text as ColBERT's code makes them, one text at a time."""
    model, tokenizer = loaded(folder)
    length = METADATA["query_maxlen" if query else "doc_maxlen"]
    words = tokenizer(text, add_special_tokens=False)["input_ids"][: int(length) - 3]
    marker = tokenizer.convert_tokens_to_ids("[unused0]" if query else "[unused1]")
    ids = [tokenizer.cls_token_id, marker, *words, tokenizer.sep_token_id]
    read = len(ids)
    ids += [tokenizer.mask_token_id] * (int(length) - read) if query else []
    mask = [1] * read + [int(attend)] * (len(ids) - read)
    with torch.no_grad():
        states = model(torch.tensor([ids]), torch.tensor([mask])).last_hidden_state[0]
    rows = states @ load_file(folder / "model.safetensors")["linear.weight"].T
    skipped = {tokenizer.convert_tokens_to_ids(mark) for mark in string.punctuation}
    kept = [query or n not in skipped - {tokenizer.unk_token_id} for n in ids]
    return torch.nn.functional.normalize(rows[torch.tensor(kept)], dim=-1).numpy()


@pytest.mark.parametrize("attend", [False, True])
def test_an_original_colbert_has_its_own_vectors(attend: bool, start: Path, tmp_path: Path) -> None:
    """By a plain loop over texts, and by sentence-transformers, which reads that form too."""
    folder = original(start, tmp_path / "released", attend_to_mask_tokens=attend)
    ours = take(folder, tmp_path / "taken")
    for kind, texts in (("query", QUERIES), ("doc", DOCS)):
        for text, made in zip(texts, by_text(ours, texts, kind, 8), strict=True):
            expected = of_colbert(folder, text, kind == "query", attend)
            assert made.shape == expected.shape
            np.testing.assert_allclose(made, expected, atol=1e-5)
    comma = len(of_colbert(folder, "here , there", False, attend))
    assert comma == len(of_colbert(folder, "here there", False, attend)), "no vector of a comma"
    assert_alike(ours, MultiVectorEncoder(str(folder), device="cpu"))


def test_pylate_s_files_are_read(start: Path, tmp_path: Path) -> None:
    """Two modules; markers, lengths and [MASK] are in the model's own file."""
    folder = late(start, tmp_path / "released", None)
    listed = json.loads((folder / "modules.json").read_text())[:2]
    listed[0]["type"] = "sentence_transformers.models.Transformer"
    listed[1]["type"] = "pylate.models.Dense.Dense"
    (folder / "modules.json").write_text(json.dumps(listed))
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 30}')
    path = folder / listed[1]["path"] / "config.json"
    dense = json.loads(path.read_text())
    path.write_text(json.dumps({key: dense[key] for key in dense if not key.startswith("module_")}))
    changed(folder, "config_sentence_transformers.json", model_type="ColBERT", prompts={},
            query_prefix="[unused0] ", document_prefix="[unused1] ", query_length=13,
            document_length=20, attend_to_expansion_tokens=False, similarity_fn_name="cosine",
            skiplist_words=["here"])  # fmt: skip
    ours = take(folder, tmp_path / "taken")
    assert_alike(ours, MultiVectorEncoder(str(folder), device="cpu"))
    assert {len(rows) for rows in by_text(ours, QUERIES, "query", 8)} == {13}


def test_a_plain_folder_is_read_by_the_entry_s_keys(start: Path, tmp_path: Path) -> None:
    tokens = {"kind": "tokens", "expanded": 14, "skipped": "punctuation"}
    keys = {"pooling": tokens, "query_prompt": "[unused0] ", "query_length": 14, "doc_length": 20}
    with pytest.raises(ResiduumError, match="Give similarity"):
        take(start, tmp_path / "taken", **keys)
    ours = take(start, tmp_path / "taken", similarity="cosine", **keys)
    theirs = MultiVectorEncoder(
        modules=[
            Transformer(str(start), query_expansion=FIXED, document_length=20),
            MultiVectorMask(skiplist_words=[*string.punctuation]),
            Normalize(module_input_name="token_embeddings"),
        ],
        prompts={"query": "[unused0] "},
    )
    theirs._register_prefix_tokens({"query": "[unused0] "})
    assert_alike(ours, theirs)


def test_another_length_of_queries_lengthens_them(start: Path, tmp_path: Path) -> None:
    folder = original(start, tmp_path / "released")
    ours = take(folder, tmp_path / "taken", query_length=20)
    assert {len(rows) for rows in by_text(ours, QUERIES, "query", 8)} == {20}


REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
    "another sum": (release.MODEL, {"similarity_fn_name": "meanmaxsim"}, "meanmaxsim.*maxsim"),
    "another token": (
        release.TEXTS, {"query_expansion": {**FIXED, "token": "[PAD]"}}, r"token '\[PAD\]'",
    ),
    "skipped in queries": (
        "2_MultiVectorMask/config.json", {"skiplist_tasks": ["query"]}, "skiplist_tasks",
    ),
    "kept alone": ("2_MultiVectorMask/config.json", {"keep_only_token_ids": [3]}, "keep_only"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_not_done_is_refused_by_name(what: str, start: Path, tmp_path: Path) -> None:
    folder = late(start, tmp_path / "released", FIXED)
    name, keys, match = REFUSED[what]
    changed(folder, name, **keys)
    with pytest.raises(ResiduumError, match=match):
        take(folder, tmp_path / "taken")


def test_vectors_of_tokens_have_to_be_named(start: Path, tmp_path: Path) -> None:
    folder = original(start, tmp_path / "released")
    with pytest.raises(ResiduumError, match="Give pooling: tokens"):
        release.read(Source(str(folder)), Reads())
    (folder / "artifact.metadata").write_text('{"similarity": "l2"}')
    with pytest.raises(ResiduumError, match="similarity l2"):
        take(folder, tmp_path / "taken")


def test_queries_and_docs_are_written_with_an_id_for_each_vector(
    start: Path, tmp_path: Path
) -> None:
    take(original(start, tmp_path / "released"), tmp_path / "taken")
    trec.write_queries(tmp_path / "queries.tsv", toy_queries())
    make_corpus(tmp_path / "corpus", toy_docs())
    encode.encode_queries([f"dev={tmp_path / 'queries.tsv'}"], tmp_path / "taken", 8,
                          tmp_path / "queries", device="cpu")  # fmt: skip
    ids, vectors = shards.read(tmp_path / "queries" / "dev")
    assert ids == [query for query, _ in toy_queries() for _ in range(14)]
    assert vectors.shape == (len(ids), 6)
    encode.encode_docs(tmp_path / "corpus", tmp_path / "taken", 0, 1, 8, tmp_path / "docs",
                       device="cpu")  # fmt: skip
    [facts] = shards.facts_of([tmp_path / "docs"])
    assert facts["vectors"] > len(toy_docs()) and "vectors_of_text" not in facts


def test_a_marker_that_the_vocabulary_has_changes_no_embedding(start: Path) -> None:
    """New markers begin as [CLS] does; the last words of the vocabulary stay as they are."""
    model, tokenizer = pretrained.load(AutoModel, Source(str(start)), ("[unused0]", "[NEW]"))
    rows = model.get_input_embeddings().weight.detach().numpy()
    before = load_file(start / "model.safetensors")["embeddings.word_embeddings.weight"].numpy()
    np.testing.assert_array_equal(rows[: len(before)], before)
    np.testing.assert_array_equal(rows[len(before) :], before[[tokenizer.cls_token_id]])
