"""Code dependencies, seeds and the driver's lock."""

import subprocess
import sys

import pytest

from conftest import ROOT
from residuum.core import driver, seeds
from residuum.core.errors import ResiduumError
from residuum.core.sources import sources


def names(module):
    package = ROOT / "workflow" / "residuum"
    return {path.relative_to(package).as_posix() for path in sources(module)}


def test_a_stage_depends_on_itself_and_on_what_it_imports_anywhere():
    found = names("residuum.fusion")
    assert {"fusion.py", "evaluate.py", "core/trec.py", "core/files.py"} <= found
    assert "core/errors.py" in found, "an import of an import counts"
    assert not {"ledger.py", "tables.py", "train.py"} & found


def test_imports_inside_functions_count():
    assert "collections/places.py" in names("residuum.data")


def test_unknown_module_is_refused():
    with pytest.raises(ValueError, match=r"no module residuum\.fusoin"):
        sources("residuum.fusoin")


def test_seeds_differ_by_name_and_seed_and_never_change():
    drawn = {seeds.derive(s, n) for s in (1, 2) for n in ("train", "negatives")}
    assert len(drawn) == 4
    # First four bytes of `printf 1/train | sha256sum`, as a big-endian integer.
    assert seeds.derive(1, "train") == int(_shell("printf 1/train | sha256sum")[:8], 16)


def _shell(command):
    return subprocess.run(command, shell=True, capture_output=True, text=True, check=True).stdout


def test_only_one_driver_works_in_a_folder_and_a_killed_one_does_not_block(tmp_path):
    lock = tmp_path / ".snakemake" / "residuum.lock"
    code = (
        "import sys, time; from pathlib import Path; from residuum.core import driver;"
        f"driver.hold_lock(Path({str(lock)!r})); print('held', flush=True); time.sleep(60)"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": str(ROOT / "workflow")},
    )
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(ResiduumError, match="another snakemake process works in"):
        driver.hold_lock(lock)
    holder.kill()
    holder.wait()
    driver.hold_lock(lock)
