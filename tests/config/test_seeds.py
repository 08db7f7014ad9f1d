"""Seeds, and the driver's lock."""

import subprocess
import sys

import pytest

from conftest import ROOT
from residuum.cli.errors import ResiduumError
from residuum.config.specs import derive
from residuum.wiring import driver


def test_seeds_differ_by_name_and_seed_and_never_change():
    drawn = {derive(s, n) for s in (1, 2) for n in ("train", "negatives")}
    assert len(drawn) == 4
    # First four bytes of `printf 1/train | sha256sum`, as a big-endian integer.
    assert derive(1, "train") == int(_shell("printf 1/train | sha256sum")[:8], 16)


def _shell(command):
    return subprocess.run(command, shell=True, capture_output=True, text=True, check=True).stdout


def test_only_one_driver_works_in_a_folder_and_a_killed_one_does_not_block(tmp_path):
    lock = tmp_path / ".snakemake" / "residuum.lock"
    code = (
        "import sys, time; from pathlib import Path; from residuum.wiring import driver;"
        f"driver.hold_lock(Path({str(lock)!r})); print('held', flush=True); time.sleep(60)"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": str(ROOT / "workflow")},
    )
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(
        ResiduumError, match=f"{tmp_path}: process {holder.pid} on .* is writing it"
    ):
        driver.hold_lock(lock)
    holder.kill()
    holder.wait()
    driver.hold_lock(lock)
