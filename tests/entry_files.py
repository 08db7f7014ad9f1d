"""Copies of config/ for tests, each entry in a file of its own; messages without lines' numbers."""

import json
import os
import re
import shutil
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml

from conftest import ROOT
from residuum.config.entries import SEVERAL, Folder


def copy(folder: Path) -> Path:
    """Copy config/ and give each entry a file that is named by its id, for a test to edit."""
    shutil.copytree(ROOT / "config", folder)
    for kind in sorted(path for path in folder.iterdir() if path.is_dir()):
        held = Folder(kind).locations
        made = {
            name: yaml.safe_dump(json.loads(json.dumps(one.read())))
            for name, one in held.items()
            if one.inside
        }
        for path in {held[name].path for name in made}:
            path.unlink()
        for name, text in made.items():
            (kind / f"{name}.yaml").write_text(text, encoding="utf-8")
    return folder


@contextmanager
def restored(folder: Path) -> Iterator[None]:
    """Put the files of a folder back at the end of the block, and delete new ones.

    A test that is lent a folder in this way finds at its paths the texts that others have read, and
    reads no file anew that it does not edit.
    """
    before = {path: (path.read_bytes(), path.stat()) for path in _files(folder)}
    try:
        yield
    finally:
        for path in {*_files(folder)} - before.keys():
            path.unlink()
        for path, (data, stat) in before.items():
            if not path.is_file() or _written(path.stat()) != _written(stat):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
        for path in sorted(folder.rglob("*"), reverse=True):
            if path.is_dir() and not any(path.iterdir()):
                path.rmdir()


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() or path.is_symlink()]


def _written(stat: os.stat_result) -> tuple[int, int, int]:
    return stat.st_mtime_ns, stat.st_size, stat.st_ino


def several(**entries: object) -> str:
    """Write a file that holds several entries."""
    return f"{SEVERAL}:\n" + textwrap.indent(yaml.safe_dump(entries, sort_keys=False), "  ")


def unlined(message: object) -> str:
    """Return a message without the numbers of lines behind its files, which other tests check."""
    return re.sub(r"(\.yaml):\d+", r"\1", str(message))
