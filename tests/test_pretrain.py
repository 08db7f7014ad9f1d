"""The backbone: the same bytes twice, the shape of its spec, embeddings that know the corpus."""

import json
from pathlib import Path

import numpy as np
import pytest
from transformers import AutoModel, AutoTokenizer

from corpora import make_corpus
from residuum import pretrain
from residuum.core import files
from residuum.core.errors import ResiduumError
from residuum.neural import lsa
from tiny_models import BACKBONE, make_backbone

WORDS = [["river", "water", "boat"], ["bread", "flour", "oven"], ["music", "sound", "drum"]]
DOCS = [
    (f"d{i}", " ".join([*WORDS[i % 3], *WORDS[i % 3][: 1 + i % 2], f"filler{i % 7}"]))
    for i in range(60)
]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_corpus(tmp_path_factory.mktemp("pretrain") / "corpus", DOCS)


def test_the_same_corpus_gives_the_same_bytes(corpus: Path, tmp_path: Path) -> None:
    one, two = (make_backbone(tmp_path / name, corpus) for name in ("one", "two"))
    assert files.sha256_tree(one) == files.sha256_tree(two)


def test_another_seed_gives_other_weights(corpus: Path, tmp_path: Path) -> None:
    one = make_backbone(tmp_path / "one", corpus)
    pretrain.backbone(corpus, json.dumps({**BACKBONE, "seed": 2}), tmp_path / "two", threads=1)
    weights = "model.safetensors"
    assert files.sha256(one / weights) != files.sha256(tmp_path / "two" / weights)
    assert files.sha256(one / "tokenizer.json") == files.sha256(tmp_path / "two" / "tokenizer.json")


def test_it_is_a_hugging_face_model_of_the_shape_asked_for(corpus: Path, tmp_path: Path) -> None:
    folder = make_backbone(tmp_path / "made", corpus)
    model, tokenizer = AutoModel.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    config = model.config
    assert (config.hidden_size, config.num_hidden_layers, config.num_attention_heads) == (16, 1, 2)
    assert (config.vocab_size, tokenizer.model_max_length) == (len(tokenizer), 32)
    assert tokenizer.tokenize("[QRY] river") == ["[QRY]", "river"]
    artefact = json.loads((folder / "manifest.json").read_text())["artefact"]
    assert artefact["vocabulary"] == len(tokenizer)
    assert artefact["lsa_dimensions"] == 16


def test_words_of_one_topic_start_close_together(corpus: Path, tmp_path: Path) -> None:
    folder = make_backbone(tmp_path / "made", corpus)
    table = AutoModel.from_pretrained(folder).embeddings.word_embeddings.weight.detach().numpy()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    ids = tokenizer.convert_tokens_to_ids([word for topic in WORDS for word in topic])
    unit = table[ids] / np.linalg.norm(table[ids], axis=1, keepdims=True)
    closeness = (unit @ unit.T).reshape(3, 3, 3, 3).mean(axis=(1, 3))
    assert closeness.diagonal().min() > 0.8
    assert closeness[~np.eye(3, dtype=bool)].max() < 0.3
    lengths = np.linalg.norm(table[ids], axis=1)
    np.testing.assert_allclose(lengths, 0.02 * 16**0.5, rtol=1e-4)


def test_lsa_gives_no_more_dimensions_than_the_corpus_has() -> None:
    docs = [np.array([1, 2, 2]), np.array([2, 3]), np.array([3, 1, 1])]
    vectors = lsa.token_vectors(docs, vocabulary=6, dimensions=64, seed=1, threads=1)
    assert vectors.shape == (6, 2)
    assert (vectors[[0, 4, 5]] == 0).all()
    np.testing.assert_allclose(np.linalg.norm(vectors[1:4], axis=1), 1, atol=1e-5)


def test_heads_must_divide_hidden(corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(ResiduumError, match="hidden 16 must be a multiple of heads 3"):
        pretrain.backbone(corpus, json.dumps({**BACKBONE, "heads": 3}), tmp_path / "no", threads=1)
    assert not (tmp_path / "no").exists()
