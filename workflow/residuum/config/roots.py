"""The project's folder, and the two outside: that of your own files, and ir_datasets' home."""

import os
import re
from pathlib import Path
from typing import Literal, NamedTuple

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


class Within(NamedTuple):
    """Which files of a folder are read: those that fit a glob, with one of these endings if any."""

    glob: str = "**/*"
    endings: tuple[str, ...] = ()


EVERY = Within()


def files_of(path: Path, within: Within = EVERY) -> list[Path]:
    """Return a file of yours, or files of a folder, by their names; hidden ones are left out."""
    if not path.is_dir():
        return [as_it_lies(path)]
    named = ((file, file.relative_to(path).parts) for file in path.glob(within.glob))
    shown = (f for f, parts in named if f.is_file() and not any(p[0] == "." for p in parts))
    return sorted(f for f in shown if not within.endings or ending(f) in within.endings)


def ending(path: Path) -> str:
    """Return the last ending of a name but .gz, in lower case; it says which form a file has."""
    return next((s for s in map(str.lower, reversed(path.suffixes)) if s != ".gz"), "")


def hub() -> Path:
    """Return the hub's cache: HF_HUB_CACHE, or hub/ in HF_HOME, which is in your home's .cache."""
    home = os.environ.get("HF_HOME", Path.home() / ".cache" / "huggingface")
    return Path(os.environ.get("HF_HUB_CACHE", Path(home) / "hub"))


def snapshot(kind: Literal["models", "datasets"], name: str, revision: str) -> Path:
    """Return where a revision of a model or a dataset lies in the hub's cache, if it does."""
    folder = hub() / f"{kind}--{name.replace('/', '--')}"
    ref = folder / "refs" / revision
    return folder / "snapshots" / (ref.read_text().strip() if ref.is_file() else revision)


def irds() -> Path:
    """Return ir_datasets' home: IR_DATASETS_HOME, or .ir_datasets in yours."""
    return Path(os.environ.get("IR_DATASETS_HOME") or Path.home() / ".ir_datasets")
