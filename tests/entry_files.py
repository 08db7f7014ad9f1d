"""Copies of config/ for tests, each entry in a file of its own; messages without lines' numbers."""

import json
import re
import shutil
import textwrap
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


def several(**entries: object) -> str:
    """Write a file that holds several entries."""
    return f"{SEVERAL}:\n" + textwrap.indent(yaml.safe_dump(entries, sort_keys=False), "  ")


def unlined(message: object) -> str:
    """Return a message without the numbers of lines behind its files, which other tests check."""
    return re.sub(r"(\.yaml):\d+", r"\1", str(message))
