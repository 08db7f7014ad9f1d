"""Models kept on the way of a training are those of trainings that end there."""

import json
from pathlib import Path
from typing import Any

import pytest

from contents import contents
from killing import as_command, run_and_kill
from residuum import train
from residuum.artefacts import files
from residuum.cli.errors import ResiduumError
from tiny_models import as_options, model_spec, train_arguments, write_problem

WEIGHTS = "model.safetensors"


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("toy")
    write_problem(folder)
    return folder


def trained(toy: Path, output: Path, **training: Any) -> Path:
    train.train(**train_arguments(toy, output, spec=model_spec(**training)))
    return output


def test_a_snapshot_is_a_training_told_to_stop_there(toy: Path, tmp_path: Path) -> None:
    model = trained(toy, tmp_path / "model", steps=10, snapshots=4)
    assert json.loads((model / "manifest.json").read_text())["artefact"]["snapshots"] == [
        2,
        5,
        8,
        10,
    ]
    assert sorted(path.name for path in (model / "snapshots").iterdir()) == ["1", "2", "3"]
    for number, steps in enumerate([2, 5, 8], start=1):
        short = trained(toy, tmp_path / str(steps), steps=steps)
        kept = model / "snapshots" / str(number)
        assert files.sha256(kept / WEIGHTS) == files.sha256(short / WEIGHTS)
        assert {path.name for path in kept.iterdir()} == {
            path.name
            for path in short.iterdir()
            if path.name not in ("manifest.json", "training.tsv")
        }
    without = trained(toy, tmp_path / "without", steps=10)
    assert files.sha256(model / WEIGHTS) == files.sha256(without / WEIGHTS)
    own = json.loads((model / "manifest.json").read_text())["files"]
    assert f"snapshots/3/{WEIGHTS}" in own, "its hash is checked where it is read"


@pytest.mark.parametrize("seen", ["work/snapshots/2", "work/snapshots/4", "work/state.pt"])
def test_killed_training_ends_with_the_same_snapshots(
    toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seen: str
) -> None:
    spec = model_spec(steps=60, snapshots=6)
    as_command(monkeypatch, "residuum.train", "train", spec)
    whole = trained(toy, tmp_path / "whole", steps=60, snapshots=6)
    arguments = train_arguments(toy, tmp_path / "killed", spec=spec, save_every=0)
    options = as_options(arguments)
    path = tmp_path / f"killed.{seen}"
    run_and_kill(["residuum.train", "train", *options], when=path.exists)
    train.train(**arguments)
    assert contents(tmp_path / "killed") == contents(whole)


@pytest.mark.parametrize(
    ("training", "message"),
    [
        ({"steps": 4, "snapshots": 9},
         r"training: snapshots: 9 of a training of 4 steps; give at most as many"),
        ({"steps": None, "epochs": 1, "snapshots": 999},
         r"training\.snapshots: 999, but the training has \d+ steps"),
    ],
)  # fmt: skip
def test_more_snapshots_than_steps_are_refused(
    toy: Path, tmp_path: Path, training: dict[str, Any], message: str
) -> None:
    with pytest.raises(ResiduumError, match=message):
        trained(toy, tmp_path / "model", **training)
    assert not (tmp_path / "model").exists()
