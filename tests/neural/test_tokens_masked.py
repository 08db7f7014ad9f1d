"""Masked matches: which tokens, how many, the same for parts of a batch, never when encoding."""

import json
from pathlib import Path

import numpy as np
import pytest

from residuum.cli.errors import ResiduumError
from residuum.config.schema.models import CrossEncoder, DualEncoder
from residuum.neural import devices, tokens
from residuum.neural.crossencoder import CrossLearner
from residuum.neural.duals import DualLearner
from residuum.neural.encoders import Encoder
from residuum.neural.learners import ContrastiveLearner, Start
from residuum.neural.pretrained import Source
from residuum.neural.tokens import Texts
from tiny_models import cross_encoder_spec, model_spec, train_toy, write_problem

# Docs of the toy problem that hold words of their queries, so that there is something to mask.
QUERIES = [(f"q{i}", f"water sound here there often {i}") for i in range(8)]


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_problem(tmp_path_factory.mktemp("toy"), QUERIES)


def learner(toy: Path, kind: str, share: float | None = 0.5) -> ContrastiveLearner:
    texts = Texts(toy / "queries.tsv", toy / "corpus", "the tuples")
    start = Start(Source(str(toy / "start"), new_head=True), devices.choose("cpu", "auto", 1), 1)
    text = model_spec() if kind == "dual" else cross_encoder_spec()
    spec = json.loads(text) | {"perturbation": share if share is None else {"share": share}}
    if kind == "dual":
        return DualLearner(DualEncoder.model_validate(spec), start, toy / "tuples.jsonl.gz", texts)
    model = CrossEncoder.model_validate(spec)
    return CrossLearner(model, start, toy / "tuples.jsonl.gz", texts)


def test_only_tokens_of_both_that_are_not_special_are_masked() -> None:
    query, doc = np.array([1, 7, 8, 2], np.int32), np.array([1, 5, 7, 6, 7, 2], np.int32)
    result = tokens.masked(query, doc, [0, 1, 2], 9, 1.0, np.random.default_rng(1))
    assert result.tolist() == [1, 5, 9, 6, 9, 2] and result.dtype == np.int32
    same = tokens.masked(query, doc, [0, 1, 2], 9, 0.0, np.random.default_rng(1))
    assert same.tolist() == doc.tolist()


def test_each_of_many_is_masked_with_the_share_as_its_probability() -> None:
    doc = np.full(100_000, 7, np.int32)
    result = tokens.masked(doc[:1], doc, [], 9, 0.15, np.random.default_rng(3))
    assert 0.147 < (result == 9).mean() < 0.153


@pytest.mark.parametrize("kind", ["dual", "cross"])
def test_a_batch_is_masked_where_query_and_doc_agree_and_as_its_parts_are(
    toy: Path, kind: str
) -> None:
    model = learner(toy, kind)
    mask, special = model.encoder.tokenizer.mask_token_id, model.encoder.tokenizer.all_special_ids
    batch = model.batch(2)
    rows = list(range(len(batch.query_ids)))
    plain = model.docs.tokens(batch.positives)
    masked_tokens = model.tokens_of(batch, rows, batch.positives)
    changed = 0
    for query, before, after in zip(
        model.queries.tokens(batch.query_ids), plain, masked_tokens, strict=True
    ):
        places = np.flatnonzero(before != after)
        assert (after[places] == mask).all()
        assert {*before[places]} <= {*query} - {*special}
        changed += len(places)
    assert changed
    part = model.part(batch, slice(3, 7))
    again = model.tokens_of(part, range(4), part.positives)
    assert [row.tolist() for row in again] == [row.tolist() for row in masked_tokens[3:7]]
    later = model.tokens_of(model.batch(9), rows, model.batch(9).positives)
    assert any(mask in row for row in later)


@pytest.mark.parametrize("kind", ["dual", "cross"])
def test_outputs_are_those_of_masked_docs(toy: Path, kind: str) -> None:
    """All masked: a doc of words that its query has gives what one of masks alone gives."""
    model, plain = learner(toy, kind, 1.0), learner(toy, kind, None)
    for one in (model, plain):
        one.model.eval()
    batch = model.batch(0)
    different = [
        (left.detach().numpy() != right.detach().numpy()).any()
        for left, right in zip(model.forward(batch), plain.forward(batch), strict=True)
    ]
    assert different == ([False, True, True] if kind == "dual" else [True])


def test_masks_differ_from_visit_to_visit(toy: Path) -> None:
    model = learner(toy, "dual")
    seen: dict[tuple[str, str], set[str]] = {}
    for step in range(12):
        batch = model.batch(step)
        tokens = model.tokens_of(batch, range(len(batch.query_ids)), batch.positives)
        for pair, row in zip(
            zip(batch.query_ids, batch.positives, strict=True), tokens, strict=True
        ):
            seen.setdefault(pair, set()).add(str(row.tolist()))
    assert max(map(len, seen.values())) > 1


def test_a_share_of_nothing_trains_as_without_and_encoding_masks_nothing(
    toy: Path, tmp_path: Path
) -> None:
    def trained(name: str, **changes: object) -> Path:
        spec = json.loads(model_spec(steps=4, dropout=0.0)) | changes
        return train_toy(toy, tmp_path / name, json.dumps(spec))

    bare = trained("bare")
    none, some = trained("none", perturbation={"share": 0.0}), trained("some", perturbation={})
    weights = [(folder / "model.safetensors").read_bytes() for folder in (bare, none, some)]
    assert weights[0] == weights[1] != weights[2]
    encoder = Encoder.load(some, devices.choose("cpu", "auto", 1))
    tokens = list(encoder.tokenise(["water sound"], "doc"))
    assert encoder.tokenizer.mask_token_id not in tokens[0]


def test_a_tokenizer_without_a_mask_is_refused(toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original = Encoder.__init__

    def without(self: Encoder, *arguments: object) -> None:
        original(self, *arguments)  # type: ignore[arg-type]  # as it was called
        self.tokenizer.mask_token = None

    monkeypatch.setattr(Encoder, "__init__", without)
    with pytest.raises(ResiduumError, match="has no mask token"):
        learner(toy, "dual")
