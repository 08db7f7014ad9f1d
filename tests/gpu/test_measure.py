"""The measurement runs from end to end on small models; a step that fails stops no other."""

import json
import math
import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from conftest import ROOT
from gpu import parity, product, resuming, steps, timing
from gpu.launching import STOPPED, launch
from gpu.read import records_of
from gpu.records import Records
from gpu.setting import Setting, Shape

SAID = "import sys; print('said', flush=True); sys.exit({})"


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Run the script as CONTRIBUTING.md has it; return the folder of the results, and its words."""
    out = tmp_path_factory.mktemp("gpu") / "out"
    done = subprocess.run(
        ["bash", "tests/gpu/measure.sh", "--device", "cpu", "--tiny"],
        cwd=ROOT,
        env={**os.environ, "OUT": str(out), "PYTHON": sys.executable},
        capture_output=True,
        text=True,
    )
    log = (out / "log.txt").read_text()[-3000:] if out.is_dir() else ""
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr}\n{log}"
    return out, done.stdout


def test_every_step_reports_and_none_fails(measured: tuple[Path, str]) -> None:
    out, said = measured
    records = records_of([out / "results.jsonl"])
    assert [*records] == [*steps.STEPS] == [*range(9)]
    for step, own in records.items():
        assert not [record for record in own if "failed" in record]
        numbers = [r["value"] for r in own if not isinstance(r.get("value", ""), str)]
        assert len(numbers) > (step != 1), "a step measures more than its seconds"
        assert all(math.isfinite(number) and number >= 0 for number in numbers)
        assert own[-1]["name"] == "seconds" and own[-1]["limit"] == steps.STEPS[step].seconds
    assert all(f"**{number}. {step.title}**" in said for number, step in steps.STEPS.items())
    assert (out / "table.md").read_text() in said


def test_results_are_few_small_files(measured: tuple[Path, str]) -> None:
    out, _ = measured
    assert sorted(os.listdir(out)) == ["log.txt", "results.jsonl", "table.md"]
    assert max(path.stat().st_size for path in out.iterdir()) < 2**20


def test_steps_find_on_a_cpu_what_must_hold_there(measured: tuple[Path, str]) -> None:
    """A resumed training has the same bytes; halves give the gradient of the whole; and so on."""
    records = records_of([measured[0] / "results.jsonl"])
    values = {
        (step, record["name"]): record.get("value")
        for step, own in records.items()
        for record in own
    }
    assert values[4, "files of the resumed training"].startswith("equal, all ")
    for name in ("clear", "dpr"):
        assert values[5, f"{name}: examples at once, of 8"] == 4
        assert 0 <= values[5, f"{name}: difference of the gradients"] < 1e-5
    assert values[2, "natural lengths, fp32: least cosine to their vectors"] > 0.9999
    assert values[7, "torch, 3,000 docs, 40 queries, k 20: seconds"] > 0, "both found the same"
    assert values[4, "the steps alone"] < values[4, "24 steps by the command"]
    assert values[8, "the batches alone"] <= values[8, "wall seconds"]
    assert 0 < values[8, "part of the wall that is computing"] < 1
    lengths = values[2, "tokens of a text of natural length"]
    assert 6 < lengths < 12, "half of the longest, 16, by its median"


def test_a_profile_of_a_card_is_counted_by_hand() -> None:
    """Of two steps in 10 ms: 6 ms of kernels; the CPU's own events are no kernels."""

    def event(key: str, count: int, micro: float = 0.0, device: str = "CPU") -> SimpleNamespace:
        own = {"self_device_time_total": micro, "device_type": f"DeviceType.{device}"}
        return SimpleNamespace(key=key, count=count, **own)

    found = timing.counted(
        [
            event("aten::scaled_dot_product_attention", 24),
            event("aten::_to_copy", 197, 900.0),
            event("aten::_local_scalar_dense", 3),
            event("cudaLaunchKernel", 300),
            event("cudaLaunchKernelExC", 57),
            event("cudaStreamSynchronize", 4),
            event("cudaDeviceSynchronize", 2),
            event("void pytorch_flash::flash_fwd_kernel<...>", 24, 1500.0, "CUDA"),
            event("sm90_xmma_gemm_bf16bf16", 72, 4200.0, "CUDA"),
            event("Memcpy DtoH (Device -> Pinned)", 5, 300.0, "CUDA"),
        ],
        0.01,
    )
    assert found == {
        "casts": 197,
        "items": 3,
        "launches": 357,
        "waits": {"cudaStreamSynchronize": 4},
        "copies": {"Memcpy DtoH (Device -> Pinned)": 5},
        "attention": {"void pytorch_flash::flash_fwd_kernel<...>": 24},
        "busy": 0.6,
        "largest": {
            "sm90_xmma_gemm_bf16bf16": 0.7,
            "void pytorch_flash::flash_fwd_kernel<...>": 0.25,
            "Memcpy DtoH (Device -> Pinned)": 0.05,
        },
    }


def test_the_flop_of_a_forward_pass_are_those_of_its_products(tmp_path: Path) -> None:
    """Against the products that torch counts in transformers' own BERT, at three lengths."""
    import torch
    from torch.utils.flop_counter import FlopCounterMode
    from transformers import BertConfig, BertModel

    config = BertConfig(
        vocab_size=9,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=128,
        attn_implementation="eager",
    )
    model = BertModel(config, add_pooling_layer=False).eval()
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        for length in (3, 5, 8):
            model(torch.ones(1, length, dtype=torch.int64))
    assert Shape(32, 2, 9).flop(np.array([3, 5, 8])) == counter.get_total_flops()


def test_what_a_command_said_is_its_last_word(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("a/b: train: 3 steps in 1.5 s\na/b: train: 6 steps in 2.5 s\na/c: x in 9.0 s\n")
    assert product.seconds_said(log, Path("a/b")) == 2.5
    assert product.seconds_said(log, Path("a/d")) is None


def test_natural_lengths_are_as_they_are_said_to_be(tmp_path: Path) -> None:
    drawn = Setting("cuda", False, tmp_path, tmp_path).natural(100_000)
    assert 66 < drawn.mean() < 71
    assert drawn.max() == 128 and 0.03 < (drawn == 128).mean() < 0.06


def test_the_plan_fits_its_time() -> None:
    assert sum(step.seconds for step in steps.STEPS.values()) <= 550, "20 s are for unpacking"


def test_a_process_is_stopped_with_all_that_it_started(tmp_path: Path) -> None:
    """The child's child would write a file a second later, and does not."""
    late, begun = tmp_path / "late", tmp_path / "begun"
    child = f"import time; open({str(begun)!r}, 'w'); time.sleep(1); open({str(late)!r}, 'w')"
    words = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    process = launch(["-c", words], tmp_path / "log", leads=True)
    assert process.wait(60, enough=begun.is_file) is STOPPED
    time.sleep(1.5)
    assert begun.is_file() and not late.is_file()


@pytest.mark.parametrize("status", [0, 3])
def test_a_process_gives_its_status_and_its_words_go_to_the_log(
    tmp_path: Path, status: int
) -> None:
    process = launch(["-c", SAID.format(status)], tmp_path / "log")
    assert process.wait(60) == status
    assert (tmp_path / "log").read_text() == "said\n"


def test_a_step_that_is_too_slow_is_stopped(tmp_path: Path) -> None:
    process = launch(["-c", "import time; time.sleep(60)"], tmp_path / "log", leads=True)
    assert process.wait(0.1) is STOPPED
    assert steps.failure(STOPPED, 0.1) == "stopped after 0 s"
    assert steps.failure(-11, 60) == "ended by signal 11"
    assert not steps.failure(1, 60), "it has recorded its error by itself"


def test_no_step_begins_when_the_time_is_over_and_all_are_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["steps", "--output", str(tmp_path), "--seconds", "1", "--steps", "3", "7"]
    monkeypatch.setattr(sys, "argv", words)
    assert steps.main() == 1
    lines = (tmp_path / "results.jsonl").read_text().splitlines()
    assert [json.loads(line)["step"] for line in lines] == [3, 7]
    assert all("not begun: 1 s" in json.loads(line)["failed"] for line in lines)


def test_an_error_of_a_part_is_recorded_and_the_next_part_begins(tmp_path: Path) -> None:
    records = Records(tmp_path / "results.jsonl", 6)
    with records.part("one"):
        raise RuntimeError("no\nmemory")
    with records.part("other"):
        records.add("rate", 2.0, "pairs/s")
    first, second = map(json.loads, (tmp_path / "results.jsonl").read_text().splitlines())
    assert first == {"step": 6, "name": "one", "failed": "RuntimeError: no memory"}
    assert second == {"step": 6, "name": "rate", "value": 2.0, "unit": "pairs/s"}
    assert records.failures == 1


REPORT = """<testsuites><testsuite>
<testcase name="a"/><testcase name="b"><failure message="off by 3">..</failure></testcase>
<testcase name="c"><skipped message="no card"/></testcase>
<testcase name="d"><skipped message="no card"/></testcase>
</testsuite></testsuites>"""


def test_parity_tells_what_failed_and_why_others_were_skipped(tmp_path: Path) -> None:
    (tmp_path / "report.xml").write_text(REPORT)
    records = Records(tmp_path / "results.jsonl", 1)
    parity.report(tmp_path / "report.xml", "cpu", records)
    own = records_of([records.path])[1]
    assert [r["value"] for r in own if "value" in r] == [1, 1, 2]
    assert [r["failed"] for r in own if "failed" in r] == ["off by 3"]
    assert [r["skipped"] for r in own if "skipped" in r] == ["2 of 4: no card"]


def test_a_card_whose_parity_was_skipped_has_not_passed(tmp_path: Path) -> None:
    (tmp_path / "report.xml").write_text(REPORT.replace('<testcase name="a"/>', "").replace(
        '<testcase name="b"><failure message="off by 3">..</failure></testcase>', ""
    ))  # fmt: skip
    records = Records(tmp_path / "results.jsonl", 1)
    parity.report(tmp_path / "report.xml", "cpu", records)
    with pytest.raises(AssertionError, match="none of 2 tests passed"):
        parity.report(tmp_path / "report.xml", "cuda", records)


def test_checkpoints_are_compared_by_all_files_but_what_names_the_command(tmp_path: Path) -> None:
    for name, loss in (("one", "0.5"), ("other", "0.5"), ("third", "0.4")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "training.tsv").write_text(f"step\tloss\n1\t0.9\n2\t{loss}\n")
        (tmp_path / name / "manifest.json").write_text(name)
    one = tmp_path / "one"
    assert resuming.compared(one, tmp_path / "other") == "equal, all 1"
    expected = "different: training.tsv; first step that differs: 2"
    assert resuming.compared(one, tmp_path / "third") == expected


def test_some_steps_leave_the_results_of_the_others(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    for step in (0, 2, 7):
        Records(path, step).add("value", step)
    steps.drop(path, [2, 3])
    assert [*records_of([path])] == [0, 7]
    steps.drop(tmp_path / "none.jsonl", [1])
    assert (tmp_path / "none.jsonl").read_bytes() == b""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--device"], "--device (nothing); known: cuda, cpu"),
        (["--device", "gpu"], "--device gpu; known: cuda, cpu"),
        (["--steps", "2,3"], '--steps 2,3; give numbers from 0 to 8, as "2 3"'),
        (["--steps", "2", "3"], "unknown option 3; known: "),
    ],
)
def test_options_that_say_nothing_are_refused_in_a_line(words: list[str], said: str) -> None:
    command = ["bash", "tests/gpu/measure.sh", *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith(f"measure.sh: {said}") and done.stderr.count("\n") == 1


def test_an_interpreter_without_the_packages_is_named(tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S "$@"\n')
    bare.chmod(0o755)
    done = subprocess.run(
        ["bash", "tests/gpu/measure.sh", "--device", "cpu", "--tiny"],
        cwd=ROOT,
        env={**os.environ, "OUT": str(tmp_path / "out"), "PYTHON": str(bare)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert f"{bare} lacks torch, " in done.stderr and "PYTHON=.venv/bin/python" in done.stderr
