"""The project's folder, and the two outside: that of your own files, and ir_datasets' home."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def packaged(name: str) -> Path:
    """Return a file of the package; residuum.code reads the name, which is written out."""
    return Path(__file__).resolve().parents[1] / name


def data() -> Path:
    """Return the folder of your own files: RESIDUUM_DATA, or data/ in the working directory."""
    return Path(os.environ.get("RESIDUUM_DATA") or "data")


def files_of(path: Path) -> list[Path]:
    """Return a file of yours, or the gzipped XML files of a folder of yours, by their names."""
    return sorted(path.glob("*.xml.gz")) if path.is_dir() else [path]


def irds() -> Path:
    """Return ir_datasets' home: IR_DATASETS_HOME, or .ir_datasets in yours."""
    return Path(os.environ.get("IR_DATASETS_HOME") or Path.home() / ".ir_datasets")
