"""The project's folder, and the two outside: that of your own files, and ir_datasets' home."""

import os
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
# Files in a dataset of the Hugging Face hub, as huggingface_hub's file system writes them; at a
# commit, since a branch moves, and below it.
HUB = re.compile(
    r"hf://datasets/(?P<id>\w[\w.-]*/\w[\w.-]*)@(?P<revision>[0-9a-f]{40})"
    r"(?:/(?P<path>(?:(?!\.\.?(?:/|$))[^/\n]+)(?:/(?!\.\.?(?:/|$))[^/\n]+)*))?"
)


def packaged(name: str) -> Path:
    """Return a file of the package; residuum.code reads the name, which is written out."""
    return Path(__file__).resolve().parents[1] / name


def data() -> Path:
    """Return the folder of your own files: RESIDUUM_DATA, or data/ in the working directory."""
    return Path(os.environ.get("RESIDUUM_DATA") or "data")


def as_it_lies(path: Path) -> Path:
    """Return the path of a file of yours, or of the same gzipped where that alone exists."""
    packed = path.with_name(f"{path.name}.gz")
    return packed if packed.is_file() and not path.exists() else path


def files_of(path: Path, below: str = "**/*") -> list[Path]:
    """Return a file of yours, or the files of a folder that fit a pattern, by their names."""
    if not path.is_dir():
        return [as_it_lies(path)]
    named = ((file, file.relative_to(path).parts) for file in path.glob(below))
    return sorted(f for f, parts in named if f.is_file() and not any(p[0] == "." for p in parts))


def hub() -> Path:
    """Return the hub's cache: HF_HUB_CACHE, or hub/ in HF_HOME, which is in your home's .cache."""
    home = os.environ.get("HF_HOME", Path.home() / ".cache" / "huggingface")
    return Path(os.environ.get("HF_HUB_CACHE", Path(home) / "hub"))


def irds() -> Path:
    """Return ir_datasets' home: IR_DATASETS_HOME, or .ir_datasets in yours."""
    return Path(os.environ.get("IR_DATASETS_HOME") or Path.home() / ".ir_datasets")
