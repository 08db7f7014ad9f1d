"""A corpus worked off in parts by one job: what a killed or an earlier job has finished is kept.

Usage: `open_folder(folder, mark)` with `resume.fingerprint(...)` as its mark, then
`work_off(corpus, size, done, make, "predict")`. Memory holds one part of the docs.
Must not know what is made of a part.
"""

import shutil
from collections.abc import Callable
from pathlib import Path

from residuum.artefacts import contracts, files
from residuum.artefacts.streams import chunks
from residuum.cli.progress import track
from residuum.neural.resume import log

MARK = "fingerprint"
Part = list[tuple[str, str]]


def open_folder(folder: Path, mark: str) -> Path:
    """Keep what earlier runs of the same work left, drop any other; return the mark's file."""
    path = Path(folder) / MARK
    held = folder.exists() and any(folder.iterdir())  # Snakemake makes empty folders
    if held and not (path.exists() and path.read_text() == mark):
        log(f"{folder}: stale parts (data, spec, model or code changed): restarting")
        shutil.rmtree(folder)
    files.write_text(path, mark)
    return path


def work_off(
    corpus: Path,
    size: int,
    done: Callable[[int], bool],
    make: Callable[[int, Part], None],
    what: str,
) -> int:
    """Make each part of `size` (doc_id, text) that is not done; return the number of parts."""
    total = contracts.corpus_manifest(corpus)["docs"]
    numbers = range(-(-total // size))
    if all(map(done, numbers)):
        return len(numbers)
    docs = track(contracts.read_corpus(corpus), what, total=total, unit="docs")
    for number, part in enumerate(chunks(docs, size)):
        if not done(number):
            make(number, part)
    return len(numbers)
