"""Check that folders of vectors come from one model and are all shards of one corpus.

Usage: `check(folders, facts_of([*folders, queries])[:-1])`, `read(folder)`.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict

import numpy as np

from residuum.artefacts import contracts, manifest, termvectors
from residuum.artefacts.manifest import Facts
from residuum.artefacts.termvectors import TermVectors
from residuum.cli.errors import ResiduumError


class ShardNumber(TypedDict):
    """A manifest's record of a shard of vectors: its number, from 0, of how many, and its docs."""

    number: int
    of: int
    docs: int


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


def facts_of(folders: Sequence[Path]) -> list[Facts]:
    """Return what the manifests of folders say of them; all must stem from one model."""
    facts = [manifest.facts(folder, "a folder of vectors", "weights") for folder in folders]
    for folder, recorded in zip(folders, facts, strict=True):
        if recorded["weights"] != facts[0]["weights"]:
            raise ResiduumError(
                f"{folders[0]} and {folder} were made by different models (their weights differ). "
                "Encode both with the same checkpoint."
            )
    return facts


def number_of(folder: Path, facts: Facts) -> ShardNumber:
    """Return which shard a folder of vectors is; a folder without docs raises ResiduumError."""
    if "shard" not in facts:
        raise ResiduumError(f"{folder}: not a shard of encoded docs; name the folders of those")
    record: ShardNumber = facts["shard"]
    return record


def check(folders: Sequence[Path], facts: Sequence[Facts]) -> None:
    """Refuse folders that are not all shards of one corpus, each once."""
    shards = [number_of(*each) for each in zip(folders, facts, strict=True)]
    total, given = shards[0]["of"], sorted((shard["of"], shard["number"]) for shard in shards)
    if given != [(total, number) for number in range(total)]:
        named = ", ".join(f"{number} of {count}" for count, number in given)
        raise ResiduumError(
            f"{folders[0].parent}: given shards {named}; name each of the {total} shards once"
        )
