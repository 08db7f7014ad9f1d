"""Several processes that torchrun starts train what one process trains; one of them writes."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError
from safetensors.numpy import load_file

from contents import contents
from killing import WORKFLOW, run_and_kill
from residuum import pretrain
from residuum import train as stage
from residuum.artefacts import files, trec
from residuum.cli.errors import ResiduumError
from residuum.config.schema.scales import Config
from residuum.neural import processes
from tiny_models import as_options, model_spec, sharing_queries, train_arguments, write_problem
from toy_learners import ON_TEXTS, of_each_kind

HOW = {"steps": 8, "batch_size": 7, "learning_rate": 0.001, "dropout": 0.0}  # 7: shares of 3 and 4
# Adam moves a weight by up to the learning rate however small its gradient is, so that rounding of
# one that is nearly nothing shows; wrong sums of gradients move most weights by whole steps.
NEAR = HOW["learning_rate"] / 10
SPECS = {
    **of_each_kind(**HOW),
    "short": json.dumps({**json.loads(model_spec(**HOW)), "loss": "nll", "group": 2}),
    "dropout": model_spec(**{**HOW, "dropout": 0.1}),
}
LIMIT = 240  # seconds; a bound on hanging
DRIVER = """
import json, sys
from contextlib import nullcontext
from pathlib import Path
import torch
from residuum import pretrain, train
from residuum.neural import processes
from residuum.neural.encoders import Encoder

def short(forward):
    # the second process runs out of memory with more than four texts and a graph
    def limited(self, tokens, kind):
        if processes.rank() == 1 and torch.is_grad_enabled() and len(tokens) > 4:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return forward(self, tokens, kind)
    return limited

def work(folder):
    whole = Encoder.forward
    for name, told in json.loads((folder / "two.json").read_text()).items():
        Encoder.forward = short(whole) if name == "short" else whole
        paths = {key: Path(told[key]) for key in ("corpus", "work", "output")}
        if name in ("masked", "next", "cloze"):
            keys = ("start", "spec", "threads", "device")
            places = {"work": paths["work"], "output": paths["output"]}
            pretrain.adapt([paths["corpus"]], **{key: told[key] for key in keys}, **places)
        else:
            train.train(**{**told, **paths})

def gradients():
    docs, rows = torch.tensor([[1.0], [2.0], [4.0]]), processes.share(3)
    every = processes.rows_of_all(docs[rows], rows, 3)
    other, unused = (torch.nn.Parameter(torch.zeros(2)) for _ in range(2))
    other.grad = torch.tensor([1.0, 10.0]) * (1 + processes.rank())
    processes.add_up_gradients([other, unused])
    return processes.values_of_all((every.tolist(), other.grad.tolist()))

folder = Path(sys.argv[1])
with processes.joined("cpu"):
    processes.joined = lambda device: nullcontext()  # gloo cannot be joined twice in a process
    work(folder)
    told = gradients()
    if not processes.rank():
        (folder / "gradients.json").write_text(json.dumps(told))
"""


def torchrun(*command: str | Path) -> tuple[int, str]:
    """Run a Python command in two processes; return exit status and standard error."""
    start = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "--no-python"]
    words = [sys.executable, *start, "--", sys.executable, *map(str, command)]
    env = {**os.environ, "PYTHONPATH": str(WORKFLOW)}
    process = subprocess.Popen(words, env=env, stderr=subprocess.PIPE, text=True)
    try:
        message = process.communicate(timeout=LIMIT)[1]
    except subprocess.TimeoutExpired:
        process.terminate()  # torchrun then ends its processes; a kill would leave them
        message = process.communicate()[1]
    return process.returncode, message


def arguments(folder: Path, name: str, output: str) -> dict[str, Any]:
    """Return the arguments of `train` with the model below a folder."""
    corpus = folder / ("words" if name in ON_TEXTS else "corpus")
    changes = {"queries": folder / "sharing.tsv"} if name == "sparse" else {}
    return train_arguments(folder, folder / output / name, SPECS[name], corpus=corpus, **changes)


def train_alone(folder: Path, name: str) -> None:
    parsed = arguments(folder, name, "one")
    if name in ON_TEXTS:
        keys = ("start", "spec", "work", "output", "threads", "device")
        pretrain.adapt([parsed["corpus"]], **{key: parsed[key] for key in keys})
    else:
        stage.train(**parsed)


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the toy problem, trained by `one` process and by `two`."""
    folder = write_problem(tmp_path_factory.mktemp("toy"))
    trec.write_queries(folder / "sharing.tsv", sharing_queries())
    for name in SPECS:
        train_alone(folder, name)
    work = {name: arguments(folder, name, "two") for name in SPECS}
    (folder / "two.json").write_text(json.dumps(work, default=str))
    (folder / "driver.py").write_text(DRIVER)
    status, message = torchrun(folder / "driver.py", folder)
    assert status == 0, message
    (folder / "said").write_text(message)
    return folder


def log(model: Path) -> np.ndarray:
    """Return the log; of the mean scores only their difference, which shared biases leave alone."""
    lines = (model / "training.tsv").read_text().splitlines()[1:]
    rows = np.array([[float(value) for value in line.split("\t")] for line in lines])
    return np.hstack([rows[:, :5], rows[:, 5:6] - rows[:, 6:]])


def weights(model: Path) -> dict[str, np.ndarray]:
    """Return the weights, but neither the attention keys' bias nor the last biases before a score.

    Softmax cancels what all keys, or all scores of a cross-encoder's group, share: the gradient
    is nothing but rounding, which Adam enlarges.
    """
    result = {}
    for path in sorted(model.rglob("*.safetensors")):
        result |= {f"{path.name} {name}": value for name, value in load_file(path).items()}
    free = ("key.bias", "linear.bias", "0.output.LayerNorm.bias")
    return {name: value for name, value in result.items() if not name.endswith(free)}


@pytest.mark.parametrize("name", [name for name in SPECS if name != "dropout"])
def test_two_processes_take_the_steps_of_one(toy: Path, name: str) -> None:
    one, two = (weights(toy / part / name) for part in ("one", "two"))
    assert one.keys() == two.keys()
    for key in one:
        np.testing.assert_allclose(two[key], one[key], atol=NEAR, err_msg=key)
    parsed = [log(toy / part / name) for part in ("two", "one")]
    np.testing.assert_allclose(*(rows[0] for rows in parsed), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(*parsed, rtol=1e-4, atol=1e-4)


def test_the_manifest_counts_the_processes(toy: Path) -> None:
    for folder, count in (("one", 1), ("two", 2)):
        record = json.loads((toy / folder / "nll" / "manifest.json").read_text())
        assert record["spec"]["processes"] == count
    assert contents(toy / "one" / "nll") != contents(toy / "two" / "nll")


def test_one_process_speaks_and_cleans_up(toy: Path) -> None:
    message = (toy / "said").read_text().splitlines()
    assert sum("train: 8 steps in" in line for line in message) == len(SPECS)
    (record,) = (toy / "two" / "short").glob("manifest.json")
    assert json.loads(record.read_text())["artefact"]["largest_batch"] == 1
    assert sorted(path.name for path in (toy / "two").iterdir()) == sorted(SPECS)


def test_rows_are_gathered_and_gradients_added_up(toy: Path) -> None:
    parsed = json.loads((toy / "gradients.json").read_text())
    assert [every for every, _ in parsed] == [[[1.0], [2.0], [4.0]]] * 2
    assert [added for _, added in parsed] == [[1.0 + 2.0, 10.0 + 20.0]] * 2


def test_dropout_follows_from_the_seed_and_is_another_for_each_process(toy: Path) -> None:
    """Interrupted at the end, two processes go on from the state of step 7 to the same bytes."""
    parsed = arguments(toy, "dropout", "again") | {"save_every": 0}
    options = as_options(parsed)
    parsed["output"].parent.mkdir()
    parsed["output"].write_text("a file where the folder belongs")
    command = ["-m", "residuum.train", "train", *options]
    status, message = torchrun(*command)
    assert status != 0
    assert (parsed["work"] / "state.pt").exists(), message
    parsed["output"].unlink()
    status, message = torchrun(*command)
    assert status == 0, message
    assert message.count("resuming after step 7") == 1
    two = toy / "two" / "dropout"
    for name in ("model.safetensors", "training.tsv"):
        assert files.sha256(parsed["output"] / name) == files.sha256(two / name)
    assert np.abs(log(two)[0, 1] - log(toy / "one" / "dropout")[0, 1]) > 1e-4


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a process with its parent")
def test_a_killed_torchrun_leaves_no_process(toy: Path) -> None:
    parsed = arguments(toy, "dropout", "endless")
    spec = model_spec(**{**HOW, "steps": 1_000_000})
    parsed |= {"spec": spec, "output": toy / "endless", "save_every": 0}
    options = as_options(parsed)
    start = ["torch.distributed.run", "--standalone", "--nproc-per-node", "2", "--no-python", "--"]
    command = [*start, sys.executable, "-m", "residuum.train", "train", *options]
    run_and_kill(command, when=(parsed["work"] / "state.pt").exists, limit=LIMIT)
    give_up = time.monotonic() + 20
    while left := processes_that_name(parsed["work"]):
        if time.monotonic() > give_up:
            for number in left:
                os.kill(number, signal.SIGKILL)
            raise AssertionError(f"{len(left)} processes outlived torchrun")
        time.sleep(0.05)


def processes_that_name(path: Path) -> list[int]:
    """Return the running processes that have a path on their command line."""
    result = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if str(path).encode() in entry.read_bytes():
                result.append(int(entry.parent.name))
        except OSError:
            continue  # it ended meanwhile
    return result


def test_a_batch_smaller_than_the_processes_is_refused(
    toy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "count", lambda: 4)
    with pytest.raises(ResiduumError, match=r"training\.batch_size 3 .* 4 processes.*`gpus` to 3"):
        processes.share(3)


def test_several_gpus_need_the_device_cuda() -> None:
    base = {"scale": "smoke", "papers": ["clear"], "gpus": 2}
    assert Config.model_validate({**base, "device": "cuda"}).gpus == 2
    with pytest.raises(ValidationError, match=r"gpus: .*device: cuda, not auto"):
        Config.model_validate(base)


@pytest.mark.parametrize(("size", "shares"), [(7, [1, 2, 2, 2]), (8, [2] * 4), (4, [1] * 4)])
def test_shares_cover_a_batch_in_order(
    monkeypatch: pytest.MonkeyPatch, size: int, shares: list[int]
) -> None:
    monkeypatch.setattr(processes, "count", lambda: 4)
    rows: list[int] = []
    for rank, expected in enumerate(shares):
        monkeypatch.setattr(processes, "rank", lambda rank=rank: rank)
        own = range(size)[processes.share(size)]
        assert len(own) == expected
        rows += own
    assert rows == list(range(size))


def test_more_processes_than_cards_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for key in ("TORCHELASTIC_RUN_ID", "LOCAL_RANK"):
        monkeypatch.setenv(key, "0")
    for key in ("WORLD_SIZE", "LOCAL_WORLD_SIZE"):
        monkeypatch.setenv(key, "4")
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    refusal = pytest.raises(ResiduumError, match=r"started 4 processes .* shows 2 GPUs")
    with refusal, processes.joined("cuda"):
        pass
    with pytest.raises(ResiduumError, match="cuda or cpu, not mps"), processes.joined("mps"):
        pass
