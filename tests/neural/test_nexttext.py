"""Pairs of texts: cuts by hand, the loss by plain transformers in float64, a toy that learns it."""

import json
import math
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy
from transformers import AutoModelForMaskedLM, AutoTokenizer

from corpora import make_corpus
from residuum import pretrain
from residuum.artefacts import contracts
from residuum.cli.errors import ResiduumError
from residuum.config.schema.backbones import Adapted, NextText
from residuum.config.schema.encoder import Encoder as EncoderSchema
from residuum.config.schema.scales import ADAPTED as KINDS
from residuum.config.schema.scales import STARTS
from residuum.neural import devices
from residuum.neural.encoders import Encoder
from residuum.neural.learners import ADAPTED as LEARNERS
from residuum.neural.learners import Start
from residuum.neural.nexttext import NextBatch, NextLearner, cut
from residuum.neural.preflight import preflight
from residuum.neural.pretrained import Source
from tiny_models import ANSWERS, TOPICS, make_backbone, next_text_spec, write_problem

CPU = devices.Device("cpu", "fp32")


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_problem(tmp_path_factory.mktemp("toy"))


def learner(toy: Path, texts: list[str] | None = None, **changes: Any) -> NextLearner:
    """Return a learner on the toy's texts, or on others."""
    spec = NextText.model_validate(json.loads(next_text_spec()) | changes)
    start = Start(Source(str(toy / "start"), dropout=0.0, new_head=True), CPU, 1)
    read = [text for _, text in contracts.read_corpus(toy / "words")]
    return NextLearner(spec, start, read if texts is None else texts)


def test_a_text_is_cut_where_a_word_starts_if_one_does() -> None:
    random = np.random.default_rng(1)
    starts = np.array([True, True, False, True, False, False, True, True])

    def places(least: int, starts: np.ndarray = starts) -> set[int]:
        return {cut(starts, least, random) for _ in range(200)}

    assert places(1) == {1, 3, 6, 7}, "each half has a token"
    assert places(2) == {3, 6}
    assert places(4) == {4}, "no word starts there"
    assert places(1, np.array([True, False])) == {1}


def test_a_batch_holds_halves_that_make_up_their_docs(toy: Path) -> None:
    texts = ["river water here often", "bread flour there", "water", ""]
    made, again = learner(toy, texts=texts), learner(toy, texts=texts)
    words, seen = made.tokenizer.convert_ids_to_tokens, set()
    assert made.usable.tolist() == [0, 1], "one word has no halves"
    for step in range(4):
        batch = made.batch(step)
        for first, second in zip(batch.first, batch.second, strict=True):
            for half in (first, second):
                assert words(half.doc)[0] == "[CLS]" and words(half.doc)[-1] == "[SEP]"
                assert half.chosen.sum() == max(1, round(0.15 * (len(half.doc) - 2)))
                assert (half.row == half.doc)[~half.chosen].all()
            assert not words(second.doc)[1].startswith("##")
            seen.add((*first.doc[1:-1], *second.doc[1:-1]))
        for one, other in zip(batch.first, again.batch(step).first, strict=True):
            assert (one.row == other.row).all(), "by seed and step"
    assert seen == {tuple(made.tokenizer(text)["input_ids"][1:-1]) for text in texts[:2]}


def test_both_halves_with_their_special_tokens_keep_to_the_length(toy: Path) -> None:
    long = " ".join(["river", "water", "here"] * 30)
    made = learner(toy, texts=[long], length=20, least=5)
    sizes = set()
    for step in range(10):
        batch = made.batch(step)
        sizes |= {(len(a.doc), len(b.doc)) for a, b in zip(batch.first, batch.second, strict=True)}
    assert {sum(pair) for pair in sizes} == {20}
    assert {min(pair) for pair in sizes} >= {7} and min(map(min, sizes)) == 7, "5 and two marks"


def by_transformers(folder: Path, batch: NextBatch) -> tuple[list[float], list[float], float]:
    """Return each doc's sum of losses, each pair's loss, and hidden tokens: halves one by one."""
    model = AutoModelForMaskedLM.from_pretrained(folder).double().eval()
    sums, vectors, hidden = [0.0] * len(batch.first), [], 0
    for side in batch:
        for number, half in enumerate(side):
            with torch.no_grad():
                made = model(torch.tensor([half.row.tolist()]), output_hidden_states=True)
            target = torch.where(torch.tensor(half.chosen), torch.tensor(half.doc).long(), -100)
            sums[number] += cross_entropy(made.logits[0], target, reduction="sum").item()
            vectors.append(made.hidden_states[-1][0, 0].numpy())
            hidden += int(half.chosen.sum())
    first, second = np.split(np.array(vectors), 2)
    scores = np.exp(first @ second.T)
    return sums, (-np.log(np.diag(scores) / scores.sum(axis=1))).tolist(), hidden


def test_the_loss_is_the_mean_over_hidden_tokens_plus_that_over_pairs(
    toy: Path, tmp_path: Path
) -> None:
    made = learner(toy)
    made.save(tmp_path)
    batch = made.batch(0)
    sums, pairs, hidden = by_transformers(tmp_path, batch)
    made.model.double().eval()
    whole = slice(0, len(batch.first))
    result = made.losses(batch, made.forward(batch), whole)
    assert result.losses.mean().item() == pytest.approx(sum(sums) / hidden + np.mean(pairs))
    assert result.logged["masked"].mean().item() == pytest.approx(sum(sums) / hidden)
    np.testing.assert_allclose(result.logged["pair"].detach(), pairs, rtol=1e-5)
    some = made.losses(batch, made.forward(batch), slice(2, 5)).losses
    expected = [sums[i] * len(sums) / hidden + pairs[i] for i in range(2, 5)]
    np.testing.assert_allclose(some.detach(), expected, rtol=1e-5)
    equal = made.losses(batch, made.indifferent(batch), whole).losses.mean().item()
    assert equal == pytest.approx(math.log(len(made.tokenizer)) + math.log(len(sums)))


FILLERS = ["here", "there", "often", "about", "never", "under"]


def texts_of(seed: int, rounds: int) -> list[tuple[str, str]]:
    """Return the halves of a text for each topic and round, the second one in other words."""
    random = np.random.default_rng(seed)

    def half(word: str) -> str:
        return " ".join(random.permutation([word, word, *random.choice(FILLERS, 3)]))

    return [
        (half(one), half(two))
        for _ in range(rounds)
        for one, two in zip(TOPICS, ANSWERS, strict=True)
    ]


def own_halves_best(folder: Path) -> float:
    """Return how often the own half is best of eight, of texts that no training read."""
    shape = {"query_length": 24, "doc_length": 24, "pooling": "cls"}
    settings = EncoderSchema.model_validate({**shape, "query_marker": "", "doc_marker": ""})
    encoder, hits = Encoder(Source(str(folder)), settings, CPU), []
    sides = zip(*texts_of(2, 8), strict=True)
    first, second = (np.asarray(encoder.encode(side, "doc", 8)) for side in sides)
    for place in range(0, len(first), 8):
        scores = first[place : place + 8] @ second[place : place + 8].T
        hits += (scores.argmax(axis=1) == np.arange(8)).tolist()
    return float(np.mean(hits))


def test_pairs_are_learned_of_texts_whose_halves_share_no_word(tmp_path: Path) -> None:
    """The start has read every word by itself. Chance is 1/8; four seeds gave 0.89 to 1."""
    words = [(f"w{i}", word) for i, word in enumerate([*TOPICS, *ANSWERS, *FILLERS] * 4)]
    start = make_backbone(tmp_path / "start", make_corpus(tmp_path / "words", words))
    docs = [(f"d{i}", " ".join(halves)) for i, halves in enumerate(texts_of(1, 20))]
    corpus, out = make_corpus(tmp_path / "corpus", docs), tmp_path / "out"
    how = {"steps": 150, "batch_size": 16, "learning_rate": 0.01}
    spec = json.dumps({**json.loads(next_text_spec(**how)), "least": 5})
    pretrain.adapt([corpus], str(start), spec, tmp_path / "work", out, device="cpu")
    before, after = own_halves_best(start), own_halves_best(out)
    assert before < 0.4 and after > 0.8, (before, after)
    names, *rows = [line.split("\t") for line in (out / "training.tsv").read_text().splitlines()]
    log = {name: [float(row[i]) for row in rows] for i, name in enumerate(names)}
    assert names[-3:] == ["masked", "pair", "best"]
    both = np.add(log["masked"], log["pair"])
    np.testing.assert_allclose(log["loss"], both, rtol=1e-5)
    for name in ("masked", "pair"):
        assert np.mean(log[name][-20:]) < 0.8 * np.mean(log[name][:20]), name
    record = json.loads((out / "manifest.json").read_text())["artefact"]["preflight"]
    assert record["positives_best"] < 0.4


def test_a_checkpoint_is_a_masked_language_model_of_transformers(toy: Path, tmp_path: Path) -> None:
    made = learner(toy)
    assert preflight(made)["examples"] == 104  # at least 100, in batches of 8
    made.save(tmp_path)
    model, report = AutoModelForMaskedLM.from_pretrained(tmp_path, output_loading_info=True)
    assert not report["missing_keys"] and not report["unexpected_keys"]
    assert AutoTokenizer.from_pretrained(tmp_path)("")["input_ids"] == [*made.before, *made.behind]
    own = made.model.state_dict()
    assert all(torch.equal(value, own[name]) for name, value in model.state_dict().items())


def test_what_cannot_be_cut_in_two_is_refused(toy: Path) -> None:
    with pytest.raises(ResiduumError, match="no doc of at least 16 tokens"):
        learner(toy, least=8)
    with pytest.raises(ResiduumError, match="length 24 leaves 20 tokens for two halves of 11"):
        learner(toy, least=11)
    with pytest.raises(ResiduumError, match=r"length is 33, but .* reads at most 32 tokens"):
        learner(toy, length=33)


def test_one_list_of_kinds_serves_the_learners_the_schemas_and_the_scales() -> None:
    forms = get_args(get_args(Adapted)[0])
    kinds = {get_args(form.model_fields["kind"].annotation)[0] for form in forms}
    assert kinds == {*LEARNERS} == {*KINDS} < {*STARTS}
