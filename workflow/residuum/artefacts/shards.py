"""Check that folders of vectors come from one model and are all shards of one corpus.

Usage: `check(folders, facts_of([*folders, queries])[:-1])`, `read(folder)`.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from residuum.artefacts import contracts, manifest, termvectors
from residuum.artefacts.termvectors import TermVectors
from residuum.cli.errors import ResiduumError


def read(folder: Path, first: bool = False) -> tuple[list[str], np.ndarray] | TermVectors:
    """Return the ids and the vectors of a folder, dense or sparse.

    With `first`, only the first of a doc's dense vectors is returned; they are consecutive.
    """
    if (folder / termvectors.NAMES[-1]).is_file():
        return termvectors.read(folder)
    ids, vectors = contracts.read_vectors(folder)
    if not first:
        return ids, vectors
    kept = [row for row, doc_id in enumerate(ids) if row == 0 or ids[row - 1] != doc_id]
    return [ids[row] for row in kept], vectors[kept]


def facts_of(folders: Sequence[Path]) -> list[dict[str, Any]]:
    """Return what the manifests of folders say of them; all must stem from one model."""
    facts = [manifest.facts(folder, "a folder of vectors", "weights") for folder in folders]
    for folder, own in zip(folders, facts, strict=True):
        if own["weights"] != facts[0]["weights"]:
            raise ResiduumError(
                f"{folders[0]} and {folder} were made by different models (their weights differ). "
                "Encode both with the same checkpoint."
            )
    return facts


def place_of(folder: Path, facts: dict[str, Any]) -> dict[str, Any]:
    """Return which of how many shards a folder of vectors is; one of no docs is an error."""
    if "shard" not in facts:
        raise ResiduumError(f"{folder}: not a shard of encoded docs; name the folders of those")
    return dict(facts["shard"])


def check(folders: Sequence[Path], facts: Sequence[dict[str, Any]]) -> None:
    """Refuse folders that are not all shards of one corpus, each once."""
    places = [place_of(*each) for each in zip(folders, facts, strict=True)]
    of, given = places[0]["of"], sorted((place["of"], place["number"]) for place in places)
    if given != [(of, number) for number in range(of)]:
        named = ", ".join(f"{number} of {count}" for count, number in given)
        raise ResiduumError(
            f"{folders[0].parent}: given shards {named}; name each of the {of} shards once"
        )
