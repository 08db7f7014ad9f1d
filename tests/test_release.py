"""Released encoders: their vectors are sentence-transformers', and what is not done is refused."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer, SparseEncoder
from sentence_transformers.base.modules import Dense, Normalize, Transformer
from sentence_transformers.sentence_transformer.modules import Pooling
from sentence_transformers.sparse_encoder.modules import MLMTransformer, SpladePooling
from transformers import AutoModelForMaskedLM, AutoTokenizer

from residuum import release as stage
from residuum.cli.errors import ResiduumError
from residuum.config.schema.encoder import Encoder as EncoderSchema
from residuum.config.schema.models import Reads
from residuum.neural import devices, hub, release
from residuum.neural.encoders import Encoder
from residuum.neural.pretrained import Source
from tiny_models import ENCODER, model_spec, toy_docs, toy_queries, train_toy, write_problem

CPU = devices.Device("cpu", "fp32")
TEXTS = [text for _, text in [*toy_docs(), *toy_queries()]] + ["", "The MOTOR!", "frost " * 40]
PROMPTS = {"query": "about frost: ", "document": "flour "}


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_problem(tmp_path_factory.mktemp("toy"))


def saved(
    toy: Path, folder: Path, *behind: Any, pooling: str = "mean", length: int = 20, **how: Any
) -> Path:
    """Write the toy backbone and modules behind its pooling as sentence-transformers does."""
    transformer = Transformer(str(toy / "start"), max_seq_length=length)
    model = SentenceTransformer(modules=[transformer, Pooling(16, pooling), *behind], **how)
    model.save(str(folder))
    return folder


def take(folder: Path, output: Path, **keys: object) -> Encoder:
    shutil.rmtree(output, ignore_errors=True)
    stage.encoder(str(folder), json.dumps(keys), output)
    return Encoder.load(output, CPU)


def assert_alike(ours: Encoder, theirs: SentenceTransformer) -> None:
    """Batch sizes alike, within 1e-5 of sentence-transformers, queries and docs."""
    for kind, encode in (("query", theirs.encode_query), ("doc", theirs.encode_document)):
        expected = np.asarray(encode(TEXTS, show_progress_bar=False))
        for batch in (1, 64):
            made = np.asarray(ours.encode(TEXTS, kind, batch))
            assert made.shape == expected.shape
            np.testing.assert_allclose(made, expected, atol=1e-5)


def dense(activation: Any, bias: bool = True) -> Dense:
    torch.manual_seed(1)
    return Dense(16, 6, bias=bias, activation_function=activation)


FORMS: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    **{
        name: ((), {"pooling": name, "similarity_fn_name": "dot"})
        for name in release.kinds_by_mode()
    },
    "normalised": ((Normalize(),), {}),
    "cosine alone": ((), {"similarity_fn_name": "cosine"}),
    "prompts": ((Normalize(),), {"prompts": PROMPTS}),
    "default prompt": ((Normalize(),), {"prompts": {"s": "bread "}, "default_prompt_name": "s"}),
    "dense": ((dense(torch.nn.Identity()),), {"similarity_fn_name": "dot"}),
    "dense to more": (
        (Dense(16, 24, activation_function=torch.nn.Identity()),),
        {"similarity_fn_name": "dot"},
    ),
    "dense without bias": ((dense(torch.nn.Tanh(), bias=False), Normalize()), {}),
}


@pytest.mark.parametrize("form", FORMS)
def test_vectors_are_those_of_sentence_transformers(form: str, toy: Path, tmp_path: Path) -> None:
    """And what residuum writes of the model, sentence-transformers reads to the same vectors."""
    behind, how = FORMS[form]
    folder = saved(toy, tmp_path / "released", *behind, **how)
    theirs = SentenceTransformer(str(folder), device="cpu")
    ours = take(folder, tmp_path / "taken")
    if form == "cosine alone":  # their vectors are longer; the scores are cosines there too
        queries, docs = (theirs.encode(TEXTS, normalize_embeddings=True) for _ in "qd")
        np.testing.assert_allclose(np.asarray(ours.encode(TEXTS, "doc", 8)), docs, atol=1e-5)
        np.testing.assert_allclose(np.asarray(ours.encode(TEXTS, "query", 8)), queries, atol=1e-5)
        return
    assert_alike(ours, theirs)
    assert_alike(ours, SentenceTransformer(str(tmp_path / "taken"), device="cpu"))


def test_the_entry_s_keys_replace_those_of_the_files(toy: Path, tmp_path: Path) -> None:
    folder = saved(toy, tmp_path / "released", Normalize(), prompts=PROMPTS)
    ours = take(folder, tmp_path / "taken", query_prompt="winter ", doc_prompt="", doc_length=9)
    theirs = SentenceTransformer(str(folder), device="cpu")
    queries = theirs.encode(TEXTS, prompt="winter ")
    np.testing.assert_allclose(np.asarray(ours.encode(TEXTS, "query", 8)), queries, atol=1e-5)
    theirs.max_seq_length = 9
    docs = theirs.encode(TEXTS, prompt="")
    np.testing.assert_allclose(np.asarray(ours.encode(TEXTS, "doc", 8)), docs, atol=1e-5)


def test_first_dimensions_are_compared_by_their_cosine(toy: Path, tmp_path: Path) -> None:
    """As similarity of vectors that sentence-transformers cuts (truncate_dim)."""
    folder = saved(toy, tmp_path / "released", Normalize())
    ours = take(folder, tmp_path / "taken", dimensions=5)
    theirs = SentenceTransformer(str(folder), device="cpu", truncate_dim=5)
    expected = theirs.similarity(theirs.encode(TEXTS), theirs.encode(TEXTS))
    queries, docs = (np.asarray(ours.encode(TEXTS, kind, 8)) for kind in ("query", "doc"))
    assert docs.shape == (len(TEXTS), 5)
    np.testing.assert_allclose(queries @ docs.T, expected, atol=1e-5)


def test_files_of_older_versions_and_cuts_of_the_files_are_read(toy: Path, tmp_path: Path) -> None:
    """A length in sentence_roberta_config.json, first dimensions in the model's own file."""
    folder = saved(toy, tmp_path / "released", Normalize())
    (folder / release.TEXTS).unlink()
    (folder / "sentence_roberta_config.json").write_text('{"max_seq_length": 4}')
    changed(folder, release.MODEL, truncate_dim=6, similarity_fn_name="dot")
    ours, theirs = take(folder, tmp_path / "taken"), SentenceTransformer(str(folder), device="cpu")
    made = np.asarray(ours.encode(TEXTS, "doc", 8))
    assert made.shape == (len(TEXTS), 6) == theirs.encode(TEXTS).shape
    theirs.similarity_fn_name = "cosine"  # ours are scaled again after the cut
    expected = theirs.similarity(theirs.encode(TEXTS), theirs.encode(TEXTS))
    np.testing.assert_allclose(made @ made.T, expected, atol=1e-5)
    again = SentenceTransformer(str(tmp_path / "taken"), device="cpu")
    assert again.encode(TEXTS).shape == (len(TEXTS), 6)


def test_texts_are_lowercased_where_the_files_say_so(toy: Path, tmp_path: Path) -> None:
    folder = saved(toy, tmp_path / "released", Normalize())
    path = folder / "tokenizer.json"
    cased = json.loads(path.read_text())
    cased["normalizer"] = {"type": "BertNormalizer", "lowercase": False, "clean_text": True,
                           "handle_chinese_chars": True, "strip_accents": False}  # fmt: skip
    path.write_text(json.dumps(cased))
    changed(folder, "tokenizer_config.json", do_lower_case=False)
    upper, lower = ["The MOTOR", "FROST there"], ["the motor", "frost there"]

    def vectors(texts: list[str]) -> np.ndarray:
        return np.asarray(take(folder, tmp_path / "taken").encode(texts, "doc", 2))

    assert np.abs(vectors(upper) - vectors(lower)).max() > 1e-3, "cased"
    changed(folder, release.TEXTS, do_lower_case=True)
    np.testing.assert_array_equal(vectors(upper), vectors(lower))


def test_a_prompt_of_passages_is_that_of_docs(toy: Path, tmp_path: Path) -> None:
    folder = saved(toy, tmp_path / "released", Normalize())
    changed(folder, release.MODEL, prompts={"query": "about ", "passage": "frost "})
    ours, theirs = take(folder, tmp_path / "taken"), SentenceTransformer(str(folder), device="cpu")
    docs = theirs.encode(TEXTS, prompt="frost ")
    np.testing.assert_allclose(np.asarray(ours.encode(TEXTS, "doc", 8)), docs, atol=1e-5)


def test_what_the_hub_does_not_tell_is_not_taken_as_absent(
    toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cache may hold a model's weights, and not the files that say how they are read."""
    source = Source("some/model", "0" * 40)
    monkeypatch.setattr(hub, "had", lambda *_: None)
    monkeypatch.setattr(hub, "lacks", lambda *_: False)
    with pytest.raises(ResiduumError, match=r"file residuum.json is not known.*hf download"):
        release.read(source, Reads())
    plain = EncoderSchema.model_validate(ENCODER)
    assert release.drops(source, plain) == [], "no start is refused for that"


def test_a_plain_folder_is_read_by_the_entry_s_keys(toy: Path, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    for name in ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"):
        shutil.copyfile(toy / "start" / name, plain / name)
    with pytest.raises(ResiduumError, match=r"no modules.json.*Give pooling and similarity"):
        take(plain, tmp_path / "taken")
    ours = take(plain, tmp_path / "taken", pooling="cls", similarity="cosine")
    theirs = SentenceTransformer(modules=[Transformer(str(plain)), Pooling(16, "cls"), Normalize()])
    assert_alike(ours, theirs)
    assert ours.settings.doc_length == 32, "as many as the model has positions"


def test_a_checkpoint_of_ours_is_read_as_it_was_trained(toy: Path, tmp_path: Path) -> None:
    trained = train_toy(toy, tmp_path / "trained", spec=model_spec("nll", steps=5))
    before, after = Encoder.load(trained, CPU), take(trained, tmp_path / "taken")
    for kind in ("query", "doc"):
        expected, made = (np.asarray(one.encode(TEXTS, kind, 8)) for one in (before, after))
        np.testing.assert_array_equal(made, expected)


def changed(folder: Path, name: str, **keys: object) -> None:
    path = folder / name
    path.write_text(json.dumps(json.loads(path.read_text()) | keys))


TOKENS: dict[str, object] = {"processing_kwargs": {"text": {"max_length": 4}}}
REFUSED: Mapping[str, tuple[str, dict[str, object], str]] = {
    "two poolings": ("1_Pooling/config.json", {"pooling_mode": ["cls", "mean"]}, "poolings cls"),
    "instructor": ("1_Pooling/config.json", {"include_prompt": False}, "include_prompt is false"),
    "distance": (release.MODEL, {"similarity_fn_name": "euclidean"}, "euclidean.*Known: cosine"),
    "a task": (release.TEXTS, {"transformer_task": "any-to-any"}, "transformer_task 'any-to-any'"),
    "a setting": (release.TEXTS, TOKENS, "processing_kwargs"),
    "a template": (release.TEXTS, {"modality_config": {"message": {}}}, "chat template"),
    "code": ("config.json", {"auto_map": {"AutoModel": "my.Model"}}, "auto_map: AutoModel is code"),
    "cut weights": (release.MODEL, {"max_active_dims": 3}, "max_active_dims"),
    "a pooler": (
        release.TEXTS,
        {"modality_config": {"text": {"method_output_name": "pooler_output"}}},
        "pooler_output",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_not_done_is_refused_by_name(what: str, toy: Path, tmp_path: Path) -> None:
    folder = saved(toy, tmp_path / "released")
    name, keys, match = REFUSED[what]
    changed(folder, name, **keys)
    with pytest.raises(ResiduumError, match=match):
        take(folder, tmp_path / "taken")
    assert not (tmp_path / "taken").exists(), "whole or not at all"


def test_a_module_that_is_not_known_is_refused(toy: Path, tmp_path: Path) -> None:
    folder = saved(toy, tmp_path / "released")
    listed = json.loads((folder / "modules.json").read_text())
    listed.append(
        {"idx": 2, "name": "2", "path": "2_Router", "type": "sentence_transformers.models.Router"}
    )
    (folder / "modules.json").write_text(json.dumps(listed))
    with pytest.raises(ResiduumError, match="the module Router"):
        take(folder, tmp_path / "taken")


def test_a_class_of_its_own_and_a_network_that_is_not_there_are_refused(
    toy: Path, tmp_path: Path
) -> None:
    folder = saved(toy, tmp_path / "released")
    listed = json.loads((folder / "modules.json").read_text())
    for key, value, match in (
        ("type", "my_code.Pooling", "my_code.Pooling, which is code of its own"),
        ("path", "0_Transformer", "no folder 0_Transformer"),
    ):
        number = int(key == "type")
        other = [{**one, key: value} if one["idx"] == number else one for one in listed]
        (folder / "modules.json").write_text(json.dumps(other))
        with pytest.raises(ResiduumError, match=match):
            take(folder, tmp_path / "taken")


def test_more_dimensions_than_there_are_are_refused(toy: Path, tmp_path: Path) -> None:
    folder = saved(toy, tmp_path / "released", Normalize())
    with pytest.raises(
        ResiduumError, match=r"first 32 dimensions are asked for, .* vectors have 16"
    ):
        take(folder, tmp_path / "taken", dimensions=32)


def test_sparse_vectors_are_compared_by_products_alone(toy: Path, tmp_path: Path) -> None:
    folder = masked(toy, tmp_path / "masked")
    for keys, match in (
        ({"similarity": "cosine"}, "similarity: cosine"),
        ({"dimensions": 4}, "dimensions"),
    ):
        with pytest.raises(ResiduumError, match=f"{match}: vectors have a dimension for each term"):
            take(folder, tmp_path / "taken", pooling="splade", doc_length=9, **keys)


def test_a_similarity_that_nobody_names_is_asked_for(toy: Path, tmp_path: Path) -> None:
    """sentence-transformers would take the cosine; scores of many older models are products."""
    folder = saved(toy, tmp_path / "released")
    changed(folder, release.MODEL, similarity_fn_name=None)
    with pytest.raises(ResiduumError, match="Give similarity: cosine, which"):
        take(folder, tmp_path / "taken")
    assert not take(folder, tmp_path / "taken", similarity="dot").settings.normalise


def masked(toy: Path, folder: Path) -> Path:
    """Write a masked-language model of random weights with the toy backbone's vocabulary."""
    torch.manual_seed(2)
    config = AutoModelForMaskedLM.from_pretrained(toy / "start").config
    AutoModelForMaskedLM.from_config(config).save_pretrained(folder)
    AutoTokenizer.from_pretrained(toy / "start").save_pretrained(folder)
    return folder


@pytest.mark.parametrize(
    ("over", "activation"), [("max", "relu"), ("sum", "relu"), ("max", "log1p_relu")]
)
def test_splade_s_weights_are_those_of_sentence_transformers(
    over: Any, activation: Any, toy: Path, tmp_path: Path
) -> None:
    pooling = SpladePooling(over, activation_function=activation)
    base = MLMTransformer(str(masked(toy, tmp_path / "masked")), max_seq_length=24)
    theirs = SparseEncoder(modules=[base, pooling], device="cpu")
    theirs.save(str(tmp_path / "released"))
    ours = take(tmp_path / "released", tmp_path / "taken")
    expected = theirs.encode_document(TEXTS, convert_to_sparse_tensor=False).numpy()
    for batch in (1, 64):
        made = ours.encode(TEXTS, "doc", batch).toarray()
        np.testing.assert_allclose(made, expected, atol=1e-5)
    assert (expected > 0).any(axis=1).all(), "each text has a weight"


def test_splade_without_files_of_sentence_transformers_has_its_pooling_named(
    toy: Path, tmp_path: Path
) -> None:
    """By a plain loop over all terms: log(1 + ReLU), the largest over tokens."""
    folder = masked(toy, tmp_path / "masked")
    ours = take(folder, tmp_path / "taken", pooling="splade", doc_length=24)
    model = AutoModelForMaskedLM.from_pretrained(folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    rows = ours.encode(TEXTS[:6], "doc", 4).toarray()
    for text, row in zip(TEXTS, rows, strict=False):
        with torch.no_grad():
            scores = model(**tokenizer(text, return_tensors="pt")).logits[0]
        expected = [float(np.log1p(max(0.0, *term.tolist()))) for term in scores.T]
        np.testing.assert_allclose(row, expected, atol=1e-5)


def test_a_training_says_what_it_drops_of_its_start(toy: Path, tmp_path: Path) -> None:
    folder = saved(toy, tmp_path / "released", Normalize(), prompts={"query": "about "})
    described = release.read(Source(str(folder)), Reads())
    plain = EncoderSchema.model_validate({**ENCODER, "pooling": "cls"})
    lost = release.dropped(described, plain)
    assert lost == ["normalise: true", 'query_prompt: "about "', "pooling: mean"]
    kept = EncoderSchema.model_validate({**ENCODER, "normalise": True, "query_prompt": "about "})
    assert release.dropped(described, kept) == []
    assert release.drops(Source(str(folder)), plain) == lost
    assert release.drops(Source(str(toy / "start")), plain) == [], "no file says how it is read"
