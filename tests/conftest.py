"""Fixtures that more than one test file uses."""

import gc
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Return the folder of real collections, or skip where a machine has none."""
    folder = Path(os.environ.get("RESIDUUM_DATA", ROOT.parent / "shared" / "data"))
    if not (folder / "cacm" / "docs.jsonl").is_file():
        pytest.skip(f"no real collections at {folder}; set RESIDUUM_DATA to where they are")
    return folder.resolve()


@pytest.fixture(scope="session")
def official_home(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy the official files into a home of ir_datasets of our own, where it may write.

    It looks for its home once per process: read there by `irds_process`.
    """
    home = tmp_path_factory.mktemp("irds") / "home"
    shutil.copytree(shared_data / "ir_datasets", home)
    for path in [home, *home.rglob("*")]:
        path.chmod(path.stat().st_mode | stat.S_IWUSR)
    topics = home / "disks45" / "04.testset.gz"
    topics.parent.mkdir(exist_ok=True)
    shutil.copy(home / "trec-robust04" / "queries.gz", topics)
    return home


@pytest.fixture(scope="session")
def results(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Yield a small results folder with a page of every kind; tests read it, and change copies."""
    from contents import contents
    from results_fixture import build

    folder = build(tmp_path_factory.mktemp("here") / "results" / "toy")
    made = contents(folder)
    yield folder
    assert contents(folder) == made, "a test changed what others read"


@pytest.fixture(scope="session")
def archive(results: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a bundle of the small results folder."""
    from residuum.inspect import bundling

    path = tmp_path_factory.mktemp("bundle") / "toy.tar.gz"
    bundling.write(results, path)
    return path


@pytest.fixture(scope="session")
def _config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from entry_files import copy

    return copy(tmp_path_factory.mktemp("project") / "config")


@pytest.fixture
def config(_config: Path) -> Iterator[Path]:
    """Lend a copy of config/, each entry in a file of its own, whose files a test may damage."""
    from entry_files import restored

    with restored(_config):
        yield _config


@pytest.fixture
def forked_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fork the dry runs of plans: each would load Snakemake anew."""
    import forking
    from residuum.inspect import dryrun

    monkeypatch.setattr(dryrun, "Popen", forking.Started)


def irds_process(home: Path, *arguments: object) -> "subprocess.CompletedProcess[str]":
    """Run Python with a home of ir_datasets and without a network."""
    environment = {
        **os.environ,
        "IR_DATASETS_HOME": str(home),
        "PYTHONPATH": str(ROOT / "workflow"),
        "HTTPS_PROXY": "http://127.0.0.1:9",
        "HTTP_PROXY": "http://127.0.0.1:9",
    }
    words = [sys.executable, *map(str, arguments)]
    return subprocess.run(words, env=environment, capture_output=True, text=True)


# The files that take longest, the longest first.
LONGEST = [
    *("test_smoke.py", "test_replica_workflow.py", "test_registry.py", "test_lengths.py"),
    *("test_bioasq.py", "test_your_folder.py", "test_interrupts.py", "test_processes.py"),
    *("test_folds.py", "test_synthetic.py", "test_planning_sizes.py", "test_planning_dryrun.py"),
]


def pytest_configure(config: pytest.Config) -> None:
    """Let workers take files in the order below: else they begin with those of most tests."""
    config.option.loadscopereorder = False
    gc.disable()  # until all is imported


def pytest_collection_finish() -> None:
    """Let no garbage collection look through what imports and the collection of tests made."""
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start the longest files first, so that workers that share the files end together."""
    order = {name: number for number, name in enumerate(LONGEST)}
    ends = len(LONGEST)
    items.sort(key=lambda item: order.get(item.path.name, ends + ("workflow" not in item.keywords)))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test marked `cuda` where torch sees no card, as CI has none.

    `tests/gpu/measure.sh` runs these tests on a card, and fails where none of them passes.
    """
    if not item.get_closest_marker("cuda"):
        return
    import torch

    if not torch.cuda.is_available():
        pytest.skip(f"torch {torch.__version__} sees no card; on one: bash tests/gpu/measure.sh")
