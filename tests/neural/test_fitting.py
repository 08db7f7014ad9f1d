"""A step in passes is the step of the whole batch; bf16 touches products alone."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from killing import leave_half
from residuum.artefacts import contracts, files
from residuum.neural import fitting, padding
from residuum.neural.batches import Fold
from residuum.neural.devices import AdaptiveBatchSize
from residuum.neural.preflight import preflight
from residuum.neural.resumable import Saving, Snapshots, TrainingState
from tiny_models import toy_docs, toy_queries, toy_tuples
from toy_learners import (
    JOINT,
    ON_TEXTS,
    SPECS,
    WHOLE,
    assert_equal,
    gradients_of,
    made,
    take,
    write_toy,
)

NONE_KEPT = Snapshots(Path("nowhere"), steps=1, number=None)


# ATen's operations without a deterministic algorithm on CUDA, by how their names begin: those that
# torch.use_deterministic_algorithms lists (2.13), and kthvalue, which it leaves out.
RANDOM_ON_CUDA = (
    *("avg_pool3d_backward", "_adaptive_avg_pool", "adaptive_max_pool2d_backward"),
    *("fractional_max_pool", "max_unpool", "reflection_pad", "grid_sampler", "nll_loss2d"),
    *("upsample_linear1d_b", "upsample_bilinear2d_b", "upsample_bicubic2d_b", "upsample_trilinear"),
    *("_ctc_loss_backward", "_embedding_bag", "put", "histc", "bincount", "median", "nanmedian"),
    *("scatter_reduce", "kthvalue"),
)


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_toy(tmp_path_factory.mktemp("toy"))


@pytest.mark.parametrize("name", ["nll", "cross"])
def test_a_training_that_visits_few_pairs_reads_their_texts_alone(toy: Path, name: str) -> None:
    """One step of four of 24 pairs; where six steps visit all, the texts of all pairs are read."""
    few, every = (made(toy, name, batch_size=4, steps=steps) for steps in (1, 6))
    batch, pairs = few.batch(0), toy_tuples()
    assert {*few.queries._numbers} == {*batch.query_ids} < {pair.query_id for pair in pairs}
    assert {*few.docs._numbers} == {*batch.docs}
    assert {*every.docs._numbers} == {d for p in pairs for d in (p.positive, *p.negatives)}
    assert len(few.docs._numbers) < len(every.docs._numbers)
    for one, other in zip(few.forward(batch), every.forward(batch), strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize("name", [name for name in SPECS if name not in ON_TEXTS])
def test_a_fold_that_is_held_out_is_as_if_it_had_no_pair(
    toy: Path, tmp_path: Path, name: str
) -> None:
    fold = Fold("one", frozenset({"q0", "q3", "q4"}))
    rest = [pair for pair in toy_tuples() if pair.query_id not in fold.queries]
    contracts.write_tuples(tmp_path / "rest.jsonl.gz", rest)
    row, gradients, _ = take(made(toy, name, held_out=fold))
    expected, others, _ = take(made(toy, name, tuples=tmp_path / "rest.jsonl.gz"))
    assert row == expected != take(made(toy, name))[0]
    assert gradients.keys() == others.keys()
    assert all(np.array_equal(own, others[key]) for key, own in gradients.items())


def hold(
    learner: Any, limit: int, monkeypatch: pytest.MonkeyPatch, graph_limit: int = 7
) -> list[int]:
    """Let the memory end where more rows than a limit are given, after the forward pass."""
    whole, sizes = learner.forward, []

    def limited(batch: Any) -> Any:
        outputs = whole(batch)
        sizes.append(len(batch[0]))
        if sizes[-1] > min(limit, graph_limit if torch.is_grad_enabled() else limit):
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return outputs

    monkeypatch.setattr(learner, "forward", limited)
    return sizes


@pytest.mark.parametrize("name", SPECS)
def test_parts_add_up_to_the_gradient_and_the_log_of_the_whole(
    toy: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    learner = made(toy, name)
    log, expected, _ = take(learner)
    batch = learner.batch(0)
    loss = learner.losses(batch, learner.forward(batch), WHOLE).losses
    assert log["loss"] == pytest.approx(loss.mean().item(), rel=1e-6)
    assert learner.examples(batch) == len(loss)
    sizes = hold(learner, 2, monkeypatch)
    again, result, _ = take(learner)
    assert learner.joint == (name in JOINT)
    assert sizes == [7, 3, *[1] * (14 if learner.joint else 7)]
    assert again == pytest.approx(log, rel=1e-5)
    assert_equal(result, expected)


@pytest.mark.parametrize("name", [name for name in SPECS if name not in ("terms", "questions")])
def test_groups_give_the_gradient_and_the_log_of_the_whole_batch(
    toy: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    learner, cut = made(toy, name), []
    monkeypatch.setattr(padding, "together", lambda lengths, _: [np.arange(len(lengths))])
    log, expected, _ = take(learner)

    def groups(lengths: Sequence[int], _: Any) -> list[np.ndarray]:
        cut.append(np.array_split(np.random.default_rng(1).permutation(len(lengths)), 3))
        return cut[-1]

    monkeypatch.setattr(padding, "together", groups)
    again, result, _ = take(learner)
    assert cut
    assert again == pytest.approx(log, rel=1e-5)
    assert_equal(result, expected)


@pytest.mark.parametrize(
    "name", [name for name in SPECS if name not in ("terms", "questions", "masked")]
)
def test_cached_gradients_are_those_of_one_graph_with_the_same_dropout(
    toy: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reference keeps the graph of all parts, each with the random numbers of its part."""
    learner = made(toy, name, dropout=0.2)
    monkeypatch.setattr(learner, "joint", True)
    step = fitting._Step(learner, AdaptiveBatchSize("", ""), WHOLE, 0)
    parts = [step._forward(rows) for rows in (slice(0, 3), slice(3, 6), slice(6, 7))]
    outputs = [torch.cat(own) for own in zip(*parts, strict=True)]
    result = learner.losses(step.batch, outputs, WHOLE)
    learner.model.zero_grad()
    (result.losses.sum() / step.examples).backward()
    expected = gradients_of(learner)
    hold(learner, 3, monkeypatch)
    log, cached, _ = take(learner)
    assert log["loss"] == pytest.approx(result.losses.mean().item(), rel=1e-6)
    assert_equal(cached, expected)


def test_memory_that_ends_on_the_way_back_lets_all_begin_anew(
    toy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    learner = made(toy, "dpr")
    _, expected, _ = take(learner)
    sizes = hold(learner, 7, monkeypatch, graph_limit=2)
    _, result, batch_size = take(learner)
    assert sizes == [7, 3, 3, 1, 3, *[1] * 14]
    assert batch_size.facts() == {"largest_batch": 1}
    assert_equal(result, expected)


def test_what_fitted_is_kept_for_the_rest_and_told(
    toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    learner = made(toy, "residual_margin")
    sizes = hold(learner, 3, monkeypatch)
    preflight(learner)  # keeps to what fits as well, and leaves nothing behind
    assert sizes[:6] == [7, 4, 2, 2, 2, 1]
    sizes.clear()
    monkeypatch.setattr(fitting, "preflight", lambda learner: {})
    capfd.readouterr()
    fitting.run(learner, 1, [], Saving(tmp_path / "work"), tmp_path / "model", "residuum.train")
    assert sizes == [7, 3, 3, 1, 3, 3, 1]
    assert capfd.readouterr().err.count("a batch of 7 training examples does not fit") == 1
    artefact = json.loads((tmp_path / "model" / "manifest.json").read_text())["artefact"]
    assert artefact["largest_batch"] == 3
    assert artefact["steps"] == 2


def test_the_log_has_a_column_for_each_of_several_losses(toy: Path) -> None:
    log, _, _ = take(made(toy, "several"))
    assert list(log) == ["loss", "active", "positive", "negative", "residual_margin", "nll"]
    assert log["loss"] == pytest.approx(2 * log["residual_margin"] + 0.5 * log["nll"])


def test_candidates_are_the_batch_and_all_that_was_drawn(toy: Path) -> None:
    """Against brute force with NumPy: s_emb of the best vectors, columns, and what is ignored."""
    learner = made(toy, "vectors")
    learner.model.eval()
    batch = learner.batch(0)
    seen = learner.candidates(batch, learner.forward(batch), slice(2, 5))
    docs = [*batch.positives, *(doc for group in batch.negatives for doc in group)]
    texts, queries = dict(toy_docs()), dict(toy_queries())
    ids = batch.query_ids[2:5]
    rows = learner.encoder.encode([queries[query] for query in ids], "query", 1)
    expected = np.empty((3, 21))
    for column, doc in enumerate(docs):
        vectors = learner.encoder.encode([texts[doc]], "doc", 1)
        assert vectors.shape == (4, 16)
        expected[:, column] = (rows @ vectors.T).max(axis=1)
    np.testing.assert_allclose(seen.scores.detach().numpy(), expected, atol=1e-5)
    known = {(pair.query_id, pair.positive) for pair in toy_tuples()}
    ignored = [
        [(q, d) in known and j != 2 + i for j, d in enumerate(docs)] for i, q in enumerate(ids)
    ]
    assert seen.ignore.tolist() == ignored
    assert seen.positive.tolist() == [2, 3, 4]
    own = [[2 + i, 7 + 2 * (2 + i), 8 + 2 * (2 + i)] for i in range(3)]
    np.testing.assert_allclose(
        seen.sampled.detach().numpy(), np.take_along_axis(expected, np.array(own), 1), atol=1e-5
    )


@pytest.mark.parametrize("name", SPECS)
def test_bf16_is_used_in_training_and_kept_out_of_what_lasts(
    toy: Path, tmp_path: Path, name: str
) -> None:
    learner = made(toy, name, "bf16")
    first = next(part for part in learner.model.modules() if isinstance(part, torch.nn.Linear))
    seen: set[torch.dtype] = set()
    first.register_forward_hook(lambda part, given, made: seen.add(made.dtype))
    fitting.fit(learner, TrainingState(Saving(tmp_path, 0), "mark"), NONE_KEPT)
    assert seen == {torch.bfloat16}
    lasting = [*learner.model.parameters(), *gradients_of(learner).values()]
    assert {str(some.dtype).removeprefix("torch.") for some in lasting} == {"float32"}


def test_the_optimiser_keeps_float32(toy: Path, tmp_path: Path) -> None:
    state = TrainingState(Saving(tmp_path, 0), "mark")
    fitting.fit(made(toy, "nll", "bf16"), state, NONE_KEPT)
    kept = torch.load(state.path, weights_only=True)["optimizer"]["state"]
    assert {value.dtype for some in kept.values() for value in some.values()} == {torch.float32}


def test_what_a_kill_left_half_written_goes_before_the_work_goes_on(
    toy: Path, tmp_path: Path
) -> None:
    learner = made(toy, "nll", "fp32")
    fitting.fit(learner, TrainingState(Saving(tmp_path, 0), "mark"), NONE_KEPT)
    leave_half(tmp_path / "state.pt")
    fitting.fit(learner, TrainingState(Saving(tmp_path, 0), "mark"), NONE_KEPT)
    assert [path.name for path in tmp_path.iterdir()] == ["state.pt"]


def test_another_process_of_a_training_may_delete_first_what_a_kill_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def deleted_meanwhile(folder: Path, _: str) -> list[Path]:
        found = [*tmp_path.iterdir()]
        for path in found:
            path.unlink()
        return found

    leave_half(tmp_path / "state.pt")
    monkeypatch.setattr(Path, "glob", deleted_meanwhile)
    files.drop_unfinished(tmp_path)
    assert not list(tmp_path.iterdir())


class Operations(TorchDispatchMode):
    """Note the operations of ATen, backward ones too, that CUDA computes in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.all: set[str] = set()
        self.random: set[str] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.overloadpacket.__name__
        self.all.add(name)
        summed = name.startswith("cumsum") and args[0].is_floating_point()
        if summed or name.startswith(RANDOM_ON_CUDA):
            self.random.add(name)
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("name", SPECS)
def test_a_step_has_a_deterministic_algorithm_on_cuda(toy: Path, name: str) -> None:
    """Without one it would end there, with an error that names the operation."""
    learner = made(toy, name, dropout=0.1)
    with Operations() as operations:
        take(learner)
        preflight(learner)
    assert {"mm", "native_layer_norm_backward"} <= operations.all, "backward ones are seen"
    assert not operations.random


def test_what_has_no_deterministic_algorithm_is_seen() -> None:
    with Operations() as operations:
        torch.ones(3, dtype=torch.int64).cumsum(0)
        assert not operations.random
        torch.ones(3).cumsum(0)
        torch.nn.functional.cross_entropy(torch.ones(1, 2, 3), torch.zeros(1, 3).long())
    assert operations.random == {"cumsum", "nll_loss2d_forward"}
