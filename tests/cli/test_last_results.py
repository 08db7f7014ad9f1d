"""Without `--results` a command reads the results of the last run that wrote a ledger."""

import os
from pathlib import Path

import pytest

from residuum.__main__ import last_results


@pytest.fixture
def ledgers(tmp_path, monkeypatch):
    """Return a function that writes a scale's ledger with a time, below the working directory."""
    monkeypatch.chdir(tmp_path)

    def write(scale, seconds):
        path = tmp_path / "results" / scale / "ledger.tsv"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        os.utime(path, (seconds, seconds))

    return write


def test_the_folder_of_the_newest_ledger_is_read_and_named_where_there_are_several(ledgers, capsys):
    ledgers("mine", 100)
    assert last_results() == Path("results/mine") and capsys.readouterr().err == ""
    ledgers("mini", 200)
    assert last_results() == Path("results/mini")
    ledgers("mine", 300)
    assert last_results() == Path("results/mine")
    line = "results/mine is of the last run; --results names another folder\n"
    assert capsys.readouterr().err.endswith(line)


def test_without_a_ledger_it_is_minis(ledgers, tmp_path):
    (tmp_path / "results" / "smoke" / "tables").mkdir(parents=True)
    assert last_results() == Path("results/mini")
