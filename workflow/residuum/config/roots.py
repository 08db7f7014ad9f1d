"""The folders of the project, of the user's files, of the hub's cache and of ir_datasets."""

import os
import re
from pathlib import Path
from typing import Literal, NamedTuple

ROOT = Path(__file__).resolve().parents[3]
# Files in a dataset of the Hugging Face hub, as huggingface_hub's file system writes them. The
# revision is a commit, since branches move.
HUB = re.compile(
    r"hf://datasets/(?P<id>\w[\w.-]*/\w[\w.-]*)@(?P<revision>[0-9a-f]{40})"
    r"(?:/(?P<path>(?:(?!\.\.?(?:/|$))[^/\n]+)(?:/(?!\.\.?(?:/|$))[^/\n]+)*))?"
)


def packaged(name: str) -> Path:
    """Return a file of the package. Write `name` as a literal: residuum.code reads it."""
    return Path(__file__).resolve().parents[1] / name


def data() -> Path:
    """Return the folder of the user's files: RESIDUUM_DATA, or data/ in the working directory."""
    return Path(os.environ.get("RESIDUUM_DATA") or "data")


def address(path: Path) -> str:
    """Return how manifests name a user's file: `RESIDUUM_DATA/...`, alike on every machine.

    A file outside the folder of the user's files keeps its path.
    """
    below = path.is_relative_to(data())
    return str(Path("RESIDUUM_DATA", path.relative_to(data())) if below else path)


def as_it_lies(path: Path) -> Path:
    """Return the path of a user's file, or that of its gzipped form if only this exists."""
    packed = path.with_name(f"{path.name}.gz")
    return packed if packed.is_file() and not path.exists() else path


class Within(NamedTuple):
    """The files of a folder to read: they match `glob` and, if given, one of `endings`."""

    glob: str = "**/*"
    endings: tuple[str, ...] = ()


EVERY = Within()


def files_of(path: Path, within: Within = EVERY) -> list[Path]:
    """Return a user's file, or the files of a folder sorted by path, without hidden files."""
    if not path.is_dir():
        return [as_it_lies(path)]
    named = ((file, file.relative_to(path).parts) for file in path.glob(within.glob))
    shown = (f for f, parts in named if f.is_file() and not any(p[0] == "." for p in parts))
    return sorted(f for f in shown if not within.endings or ending(f) in within.endings)


def ending(path: Path) -> str:
    """Return the last ending of a name other than .gz, in lower case: the form of the file."""
    return next((s for s in map(str.lower, reversed(path.suffixes)) if s != ".gz"), "")


def hub() -> Path:
    """Return the hub's cache: HF_HUB_CACHE, or hub/ in HF_HOME (~/.cache/huggingface)."""
    home = os.environ.get("HF_HOME", Path.home() / ".cache" / "huggingface")
    return Path(os.environ.get("HF_HUB_CACHE", Path(home) / "hub"))


def snapshot(kind: Literal["models", "datasets"], name: str, revision: str) -> Path:
    """Return the folder of a revision of a model or a dataset in the hub's cache."""
    folder = hub() / f"{kind}--{name.replace('/', '--')}"
    ref = folder / "refs" / revision
    return folder / "snapshots" / (ref.read_text().strip() if ref.is_file() else revision)


def irds() -> Path:
    """Return ir_datasets' home: IR_DATASETS_HOME, or ~/.ir_datasets."""
    return Path(os.environ.get("IR_DATASETS_HOME") or Path.home() / ".ir_datasets")
