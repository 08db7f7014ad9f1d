"""Check that folders of vectors come from one model and are all shards of one corpus.

Usage: `check(folders, facts_of([*folders, queries])[:-1])`, `read(folder)`.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from residuum.artefacts import contracts, files, termvectors
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
    """Return the facts in the manifests of folders; vectors of different models are refused."""
    records = [json.loads(files.read_bytes(folder / "manifest.json")) for folder in folders]
    facts = [record["artefact"] for record in records]
    for folder, own in zip(folders, facts, strict=True):
        if own["weights"] != facts[0]["weights"]:
            raise ResiduumError(
                f"{folders[0]} and {folder} were made by different models (their weights differ). "
                "Encode both with the same checkpoint."
            )
    return facts


def check(folders: Sequence[Path], facts: Sequence[dict[str, Any]]) -> None:
    """Refuse folders that are not all shards of a corpus, each given once."""
    of = facts[0]["shard"]["of"]
    given = sorted((own["shard"]["of"], own["shard"]["number"]) for own in facts)
    if given != [(of, number) for number in range(of)]:
        named = ", ".join(f"{number} of {count}" for count, number in given)
        raise ResiduumError(
            f"{folders[0].parent}: given shards {named}; name each of the {of} shards once"
        )
