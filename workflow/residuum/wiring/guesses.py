"""How many docs a collection may have of which nothing is pinned: its files' bytes over a doc's.

Usage: `guessed_docs(dataset, 1000)`. Must not read what is in a file.
"""

from residuum.config import roots
from residuum.config.schema.datasets import Dataset

LEAST = 1000  # docs, where files are few, absent or on the hub
UNZIPPED = 3  # bytes of text for each of its gzip data


def guessed_docs(dataset: Dataset, doc_bytes: int) -> int:
    """Return the docs that would fill the files of a corpus, each of so many bytes; LEAST or more.

    Estimates of time and room follow from it, and no result.
    """
    named = [roots.files_of(roots.data() / name) for name in dataset.source_files(None)]
    paths = [path for files in named for path in files if path.is_file()]
    sizes = (path.stat().st_size * (UNZIPPED if path.suffix == ".gz" else 1) for path in paths)
    return max(LEAST, sum(sizes) // doc_bytes)
