"""Files that are opened for reading are told, in their order, and no others."""

import gzip
from pathlib import Path

from residuum.collections import faults


def test_files_read_below_the_folder_are_told_in_order(tmp_path):
    home, other = tmp_path / "home", tmp_path / "other"
    for folder in (home, other):
        folder.mkdir()
        (folder / "a").write_text("a")
    with gzip.open(home / "b.gz", "wb") as handle:
        handle.write(b"b")
    with faults.opened_below(home) as seen:
        Path(home / "a").read_text()
        with gzip.open(home / "b.gz") as handle:
            handle.read()
        (other / "a").read_bytes()
        (home / "written").write_text("new")
        Path(home / "a").read_bytes()
        assert seen == [home / "a", home / "b.gz", home / "a"]
    Path(home / "b.gz").read_bytes()
    assert len(seen) == 3, "nothing is told after the end"


def test_watches_within_each_other_end_on_their_own(tmp_path):
    (tmp_path / "a").write_text("a")
    (tmp_path / "b").write_text("b")
    with faults.opened_below(tmp_path) as outer:
        with faults.opened_below(tmp_path) as inner:
            (tmp_path / "a").read_text()
        (tmp_path / "b").read_text()
    assert inner == [tmp_path / "a"]
    assert outer == [tmp_path / "a", tmp_path / "b"]
