"""Citations of residuum and of papers, and the texts that a collection's entry states.

Usage: `papers(["clear", "roc"])`, `stated_of("mine", entry)`.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import residuum
from residuum.artefacts import yamls
from residuum.cli.errors import ResiduumError
from residuum.config import entries
from residuum.config.roots import packaged
from residuum.config.schema.datasets import Dataset

CITATIONS = packaged("inspect/citations.yaml")


def papers(names: Iterable[str]) -> list[str]:
    """Return citations of papers by their short names; papers without a citation are skipped."""
    known = yamls.read(CITATIONS)
    return [str(known[name]) for name in names if name in known]


def software() -> str:
    """Return how to cite residuum, as BibTeX."""
    return (
        "@software{residuum,\n"
        "  title = {residuum: a reproducibility benchmark harness for hybrid retrieval},\n"
        "  author = {{The residuum maintainers}},\n"
        f"  version = {{{residuum.__version__}}},\n"
        "  note = {Apache-2.0}\n"
        "}"
    )


CONFIG = Path("config")  # default folder
UNKNOWN = "not recorded"


class Stated(NamedTuple):
    """A collection's texts for readers; none of them is empty."""

    title: str
    licence: str
    access: str
    citation: str


def known(config: Path, names: Iterable[str]) -> dict[str, Dataset]:
    """Return the entries of collections that a configuration folder has.

    A collection without an entry is skipped. A folder that is named and absent raises
    ResiduumError; the default folder may be absent.
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


def stated_of(dataset: str, entry: Dataset | None) -> Stated:
    """Return an entry's texts; the id replaces a missing title, UNKNOWN any other missing text."""
    if entry is None:
        return Stated(dataset, UNKNOWN, UNKNOWN, UNKNOWN)
    texts = (entry.licence, entry.access, entry.citation)
    return Stated(entry.title or dataset, *(text.strip() or UNKNOWN for text in texts))
