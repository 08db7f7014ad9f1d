"""Fixtures that more than one test file uses."""

import os
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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start the end-to-end file first, so that workers that share the files end together."""
    items.sort(key=lambda item: "workflow" not in item.keywords)
