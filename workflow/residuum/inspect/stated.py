"""What the entry of a collection states of it: title, licence, access, citation; all are optional.

Usage: `stated.of("mine", entry)`. Must not know where it is shown.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from residuum.cli.errors import ResiduumError
from residuum.config import entries
from residuum.config.schema.datasets import Dataset

CONFIG = Path("config")  # where it is looked for unless a folder is named
UNKNOWN = "not recorded"


class Stated(NamedTuple):
    """The texts of a collection that readers are shown, none of them empty."""

    title: str
    licence: str
    access: str
    citation: str


def known(config: Path, names: Iterable[str]) -> dict[str, Dataset]:
    """Return the entries of collections, those that a folder of configuration has.

    What it lacks is not recorded. The folder itself may be absent, but one that is named may not.
    """
    folder = config / "datasets"
    if config != CONFIG and not folder.is_dir():
        text = "Name the folder that the results were made with, or leave --config out"
        raise ResiduumError(f"--config {config}: no folder {folder}. {text}")
    held = entries.Folder(folder)
    try:
        return {name: held.entry(name, Dataset) for name in names if held.may_hold(name)}
    except ValueError as error:
        raise ResiduumError(str(error)) from None


def of(dataset: str, entry: Dataset | None) -> Stated:
    """Return an entry's texts: the dataset's id in place of a title, UNKNOWN for what it lacks."""
    if entry is None:
        return Stated(dataset, UNKNOWN, UNKNOWN, UNKNOWN)
    texts = (entry.licence, entry.access, entry.citation)
    return Stated(entry.title or dataset, *(text.strip() or UNKNOWN for text in texts))
