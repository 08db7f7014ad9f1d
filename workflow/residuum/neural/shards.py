"""A corpus worked off in shards: what a killed or an earlier job has finished is kept.

Usage: `open_folder(folder, fingerprint(...))`, then `work_off(corpus, size, done, make, "encode")`.
Memory holds one shard of docs. Must not know what is made of a shard.
"""

import shutil
from collections.abc import Callable
from pathlib import Path

from residuum.core import contracts, files, schema
from residuum.core.chunks import chunks
from residuum.core.progress import track
from residuum.neural.resume import say

MARK = "fingerprint"
Shard = list[tuple[str, str]]


class Encoding(schema.Strict):
    """How a corpus is cut for a model: docs per shard, and texts per batch."""

    shard_docs: schema.Positive
    batch_size: schema.Positive


def open_folder(folder: Path, mark: str) -> Path:
    """Keep what earlier runs of the same work left, drop any other; return the mark's file."""
    path = Path(folder) / MARK
    held = folder.exists() and any(folder.iterdir())  # Snakemake makes empty folders
    if held and not (path.exists() and path.read_text() == mark):
        say(f"{folder}: made from other data, spec, model or code, starting afresh")
        shutil.rmtree(folder)
    files.write_text(path, mark)
    return path


def work_off(
    corpus: Path,
    size: int,
    done: Callable[[int], bool],
    make: Callable[[int, Shard], None],
    what: str,
) -> int:
    """Make each shard of (doc_id, text) that is not done; return the number of shards."""
    total = contracts.corpus_manifest(corpus)["docs"]
    numbers = range(-(-total // size))
    if all(map(done, numbers)):
        return len(numbers)
    docs = track(contracts.read_corpus(corpus), what, total=total, unit="docs")
    for number, shard in enumerate(chunks(docs, size)):
        if not done(number):
            make(number, shard)
    return len(numbers)
