"""Training: it learns, it goes on after kill -9 with the same bytes, it tells what is wrong."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import forking
from contents import contents
from killing import WORKFLOW, as_command, run_and_kill
from residuum import train
from residuum.artefacts import contracts, files, trec
from residuum.cli.errors import ResiduumError
from residuum.config.schema.models import DualEncoder
from residuum.neural import devices
from residuum.neural.duals import DualLearner
from residuum.neural.encoders import Encoder
from residuum.neural.learners import Start
from residuum.neural.pretrained import Source
from residuum.neural.tokens import Texts
from tiny_models import (
    ANSWERS,
    as_options,
    model_spec,
    order_share,
    toy_docs,
    toy_queries,
    toy_tuples,
    train_arguments,
    train_toy,
    write_problem,
)


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_problem(tmp_path_factory.mktemp("toy"))


def learned(model: Path) -> float:
    """Return the share of pairs of docs that a model puts in order."""
    encoder = Encoder.load(model, devices.choose("cpu", "fp32", 1))
    queries = encoder.encode([text for _, text in toy_queries()], "query", 8)
    return order_share(queries @ encoder.encode([text for _, text in toy_docs()], "doc", 8).T)


def log(model: Path) -> list[list[float]]:
    lines = (model / "training.tsv").read_text().splitlines()
    assert lines[0] == "step\tloss\tactive\tlearning_rate\tpairs\tpositive\tnegative"
    return [[float(value) for value in line.split("\t")] for line in lines[1:]]


@pytest.mark.parametrize("loss", ["residual_margin", "constant_margin", "nll"])
def test_the_toy_retrieval_is_learned(
    toy: Path, tmp_path: Path, loss: str, capfd: pytest.CaptureFixture[str]
) -> None:
    spec = model_spec(loss, steps=200, learning_rate=0.005, dropout=0)
    model = train_toy(toy, tmp_path / "model", spec=spec)
    rows = np.array(log(model))
    # Over the runs that `order_share` names: at most 0.043, at least 2.7, at least 0.982.
    assert rows[-10:, 1].mean() < 0.1 * rows[:10, 1].mean()
    assert (rows[-10:, 5] > rows[-10:, 6] + 1).all()  # s_emb of positives and of negatives
    assert learned(model) > 0.9
    assert "warning" not in capfd.readouterr().err
    assert not (tmp_path / "model.work").exists()


def test_the_scores_in_the_log_are_those_of_the_step(toy: Path, tmp_path: Path) -> None:
    """The first step's, computed again from the start; for NLL the mean over the other docs."""
    spec = DualEncoder.model_validate_json(model_spec("nll", steps=1, dropout=0))
    texts = Texts(toy / "queries.tsv", toy / "corpus", "the tuples")
    cpu = devices.choose("cpu", "fp32", 1)
    start = Start(Source(str(toy / "start"), dropout=0, new_head=True), cpu, 1)
    learner = DualLearner(spec, start, toy / "tuples.jsonl.gz", texts)
    batch = learner.batch(0)
    logged = learner.losses(batch, learner.forward(batch), slice(0, 8)).logged
    queries, docs = dict(toy_queries()), dict(toy_docs())
    rows = learner.encoder.encode([queries[q] for q in batch.query_ids], "query", 8)
    columns = learner.encoder.encode([docs[d] for d in batch.positives], "doc", 8)
    known = {(pair.query_id, pair.positive) for pair in toy_tuples()}
    others = np.array([[(q, d) not in known for d in batch.positives] for q in batch.query_ids])
    expected = {"positive": (rows @ columns.T).diagonal(), "negative": (rows @ columns.T)[others]}
    means = {name: values.detach().mean().item() for name, values in logged.items()}
    assert means == pytest.approx({k: v.mean() for k, v in expected.items()}, abs=1e-5)


def test_a_spec_of_no_trained_kind_is_refused(toy: Path, tmp_path: Path) -> None:
    spec = json.dumps({**json.loads(model_spec()), "kind": "backbone"})
    with pytest.raises(ResiduumError, match=r"--spec: .*dual-encoder"):
        train_toy(toy, tmp_path / "model", spec=spec)


def test_an_untrained_start_does_not_know_the_toy_problem(toy: Path, tmp_path: Path) -> None:
    model = train_toy(toy, tmp_path / "model", spec=model_spec(steps=1, learning_rate=1e-9))
    assert 0.4 < learned(model) < 0.6


def test_the_log_and_the_manifest_say_what_was_done(toy: Path, tmp_path: Path) -> None:
    model = train_toy(toy, tmp_path / "model", spec=model_spec(epochs=1, steps=None))
    rows = log(model)
    pairs = len(toy_tuples())
    assert [row[0] for row in rows] == [1, 2, 3]  # an epoch of 24 pairs in batches of 8
    assert rows[-1][2:5] == [rows[-1][2], 0.01, 24]
    assert 0 < rows[0][2] <= 1
    record = json.loads((model / "manifest.json").read_text())
    artefact = record["artefact"]
    assert artefact.pop("preflight")["examples"] == 24  # all of them
    assert artefact == {"pairs": pairs, "steps": 3, "loss": pytest.approx(rows[-1][1])}
    assert record["spec"]["seed"] == 1
    assert record["spec"]["device"] == "cpu"


def test_seeds_differ_and_one_seed_repeats(toy: Path, tmp_path: Path) -> None:
    spec = model_spec(steps=5)
    one, again = (train_toy(toy, tmp_path / name, spec=spec) for name in ("one", "again"))
    other = train_toy(toy, tmp_path / "other", spec=spec, seed=2)
    assert contents(one) == contents(again)
    assert files.sha256(one / "model.safetensors") != files.sha256(other / "model.safetensors")


BERTS = {
    **{"optimizer": "bert-adam", "warmup": 0.1, "decay": "bert"},
    **{"weight_decay": 0.01, "clip_norm": 1.0},
}


@pytest.mark.parametrize("how", [{}, BERTS], ids=["plain", "bert"])
def test_killed_training_goes_on_and_ends_with_the_same_bytes(
    toy: Path,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    how: dict[str, Any],
) -> None:
    spec = model_spec(steps=200, **how)
    as_command(monkeypatch, "residuum.train", "train", spec)
    whole = train_toy(toy, tmp_path / "whole", spec=spec)
    arguments = train_arguments(toy, tmp_path / "killed", spec=spec, save_every=0)
    options = as_options(arguments)
    state = tmp_path / "killed.work" / "state.pt"
    run_and_kill(["residuum.train", "train", *options], when=state.exists)
    assert not (tmp_path / "killed").exists()
    capfd.readouterr()
    train.train(**arguments)
    assert "resuming after step" in capfd.readouterr().err
    assert contents(tmp_path / "killed") == contents(whole)
    assert not (tmp_path / "killed.work").exists()


def test_edits_restart_a_half_finished_training_only_where_it_reaches_them(
    toy: Path, tmp_path: Path
) -> None:
    package = tmp_path / "workflow" / "residuum"
    shutil.copytree(WORKFLOW / "residuum", package)
    output = tmp_path / "model"
    output.write_text("a file where the folder belongs, so that no run is ever finished")
    spec = model_spec(steps=6)
    arguments = train_arguments(toy, output, spec=spec, save_every=0)
    options = as_options(arguments)

    def run() -> str:
        environment = {**os.environ, "PYTHONPATH": str(package.parent)}
        done = forking.run("residuum.train", ["train", *options], environment, tmp_path)
        assert done.returncode and "train: " in done.stderr
        return done.stderr

    def edit(name: str, old: str, new: str) -> None:
        text = (package / name).read_text()
        assert old in text
        (package / name).write_text(text.replace(old, new, 1))

    assert "state.pt" not in run()
    edit("neural/fitting.py", "import math\n", "import math  # for what is not finite\n")
    edit("neural/masking.py", "MASKED, RANDOM = 0.8", "MASKED, RANDOM = 0.7")
    edit("vectors/nearest.py", "SPARE = 64", "SPARE = 65")
    assert "resuming after step 5" in run()
    edit("neural/losses.py", "(margin - s_emb_pos", "(2 * margin - s_emb_pos")
    assert "stale checkpoint (data, spec, seed or code changed): restarting" in run()


def test_saved_work_of_another_spec_is_discarded_with_a_note(
    toy: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("residuum.artefacts.files.whole_directory", interrupted)
    with pytest.raises(KeyboardInterrupt):
        train_toy(toy, tmp_path / "model", spec=model_spec(steps=6), save_every=0)
    assert (tmp_path / "model.work" / "state.pt").exists()
    monkeypatch.undo()
    model = train_toy(toy, tmp_path / "model", spec=model_spec(steps=5))
    assert (
        "stale checkpoint (data, spec, seed or code changed): restarting" in capfd.readouterr().err
    )
    expected = train_toy(toy, tmp_path / "fresh", spec=model_spec(steps=5))
    assert contents(model) == contents(expected)


def interrupted(path: Path) -> None:
    raise KeyboardInterrupt


def test_a_damaged_state_is_discarded_with_a_note(
    toy: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "model.work").mkdir()
    (tmp_path / "model.work" / "state.pt").write_bytes(b"half a file")
    train_toy(toy, tmp_path / "model", spec=model_spec(steps=2))
    assert "cannot be read, restarting" in capfd.readouterr().err


def test_a_loss_that_is_no_number_names_its_step(toy: Path, tmp_path: Path) -> None:
    with pytest.raises(ResiduumError, match=r"the loss became (nan|inf) at step [2-9]"):
        train_toy(toy, tmp_path / "model", spec=model_spec(learning_rate=1e30))
    assert not (tmp_path / "model").exists()


def test_a_doc_or_query_that_is_absent_is_named(toy: Path, tmp_path: Path) -> None:
    strange = contracts.Tuple("q0", "d0-here", 1.0, ["nowhere"], [0.0])
    contracts.write_tuples(tmp_path / "tuples.jsonl.gz", [strange])
    with pytest.raises(ResiduumError, match=r"corpus: doc_id nowhere of .*tuples.* \(1 such ids\)"):
        train_toy(toy, tmp_path / "model", model_spec(), tuples=tmp_path / "tuples.jsonl.gz")
    trec.write_queries(tmp_path / "queries.tsv", toy_queries()[1:])
    with pytest.raises(ResiduumError, match=r"queries\.tsv: query_id q0 of .*tuples"):
        train_toy(toy, tmp_path / "model", model_spec(), queries=tmp_path / "queries.tsv")


def test_pairs_without_negatives_are_counted(
    toy: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    bare = [pair._replace(negatives=[], negative_scores=[]) for pair in toy_tuples()[:3]]
    contracts.write_tuples(tmp_path / "tuples.jsonl.gz", [*bare, *toy_tuples()[3:]])
    train_toy(
        toy, tmp_path / "model", tuples=tmp_path / "tuples.jsonl.gz", spec=model_spec(steps=1)
    )
    assert "3 of 24 training pairs have no negative: left out" in capfd.readouterr().err


def test_the_state_of_torch_outside_is_not_needed(toy: Path, tmp_path: Path) -> None:
    """Dropout follows from the seed and the step, whatever random numbers were drawn before."""
    spec = model_spec(steps=3)
    one = train_toy(toy, tmp_path / "one", spec=spec)
    torch.rand(17)
    two = train_toy(toy, tmp_path / "two", spec=spec)
    assert contents(one) == contents(two)


def test_every_topic_has_its_answer() -> None:
    assert len(ANSWERS) == len(toy_queries())


def in_folds(toy: Path, folder: Path) -> list[str]:
    """Write two folds of the toy problem's queries, by half; return them as options name them."""
    written = []
    for name, rows in (("one", toy_queries()[:4]), ("two", toy_queries()[4:])):
        (folder / name).mkdir(parents=True)
        trec.write_queries(folder / name / "queries.tsv", rows)
        written.append(f"{name}={folder / name / 'queries.tsv'}")
    return written


def of_half(model: Path, first: int) -> float:
    """Return the share of pairs of docs that a model puts in order for four of the topics.

    The other docs are those of these topics alone, of which the model saw all or none.
    """
    encoder = Encoder.load(model, devices.choose("cpu", "fp32", 1))
    queries, docs = toy_queries()[first : first + 4], toy_docs()[3 * first : 3 * first + 12]
    rows = encoder.encode([text for _, text in queries], "query", 8)
    scores = rows @ encoder.encode([text for _, text in docs], "doc", 8).T
    own = np.repeat(np.eye(4, dtype=bool), 3, axis=1)
    return float(
        np.mean([row[mine][:, None] > row[~mine] for row, mine in zip(scores, own, strict=True)])
    )


def test_what_only_a_folds_queries_carry_is_learned_without_it_by_no_one(
    toy: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A topic's docs share no word with its query: which answer it, its own pairs alone tell."""
    spec, fold = model_spec(steps=200, learning_rate=0.005, dropout=0), in_folds(toy, tmp_path)
    shares = {}
    for held_out in ("one", "two"):
        model = train_toy(toy, tmp_path / held_out / "m", spec=spec, fold=fold, held_out=held_out)
        shares[held_out] = (of_half(model, 0), of_half(model, 4))
        record = json.loads((model / "manifest.json").read_text())
        assert record["artefact"]["pairs"] == 12
        kept = {"fold": held_out, "pairs": 12, "pairs_left": 12, "queries": 4, "queries_left": 4}
        assert record["artefact"]["held_out"] == kept
        assert record["spec"]["held_out"] == held_out
        assert {option.partition("=")[2] for option in fold} < {*record["inputs"]}
        text = f"fold {held_out} is held out: 12 of 24 pairs are left, of 4 queries"
        assert text in capfd.readouterr().err
    assert shares["two"][0] > 0.9 and shares["one"][1] > 0.9, shares
    assert shares["one"][0] < 0.75 and shares["two"][1] < 0.75, shares


def test_faulty_folds_are_refused(toy: Path, tmp_path: Path) -> None:
    fold, spec = in_folds(toy, tmp_path), model_spec(steps=1)

    def training(*folds: str, out: str | None = "one") -> None:
        train_toy(toy, tmp_path / "model", spec=spec, fold=[*folds], held_out=out)

    with pytest.raises(ResiduumError, match=r"query q4 is in 0 of the 1 folds \(none\)"):
        training(fold[0])
    twice = f"twice={tmp_path / 'one' / 'queries.tsv'}"
    with pytest.raises(ResiduumError, match=r"query q0 is in 2 of the 3 folds \(1, 3\)"):
        training(*fold, twice)
    with pytest.raises(ResiduumError, match="--held-out: no fold 'onne'; known: one, two"):
        training(*fold, out="onne")
    with pytest.raises(ResiduumError, match="--fold: name the fold that is left out"):
        training(*fold, out=None)
    (tmp_path / "none").mkdir()
    trec.write_queries(tmp_path / "none" / "queries.tsv", [])
    with pytest.raises(ResiduumError, match=r"none/queries\.tsv: a fold without a query"):
        training(*fold, f"none={tmp_path / 'none' / 'queries.tsv'}", out="none")
    trec.write_queries(tmp_path / "one" / "queries.tsv", toy_queries())
    with pytest.raises(ResiduumError, match="no training pair is left"):
        training(fold[0])
