"""How many docs a collection may have of which nothing is pinned: its files' bytes over a doc's.

Usage: `guessed_docs(dataset, 1000)`. Must not read what is in a file.
"""

from residuum.config import roots
from residuum.config.registry import Registry
from residuum.config.schema.datasets import Dataset
from residuum.wiring.answers import kept

LEAST = 1000  # docs, where files are few, absent or on the hub
UNZIPPED = 3  # bytes of text for each of its gzip data


@kept
def guess(registry: Registry, dataset: str, doc_bytes: int) -> int:
    """Return `guessed_docs` of a dataset, looked for once: a graph asks for it at every job."""
    return guessed_docs(registry.datasets[dataset], doc_bytes)


def guessed_docs(dataset: Dataset, doc_bytes: int) -> int:
    """Return the docs that would fill the files of a corpus, each of so many bytes; LEAST or more.

    Estimates of time and room follow from it, and no result.
    """
    named = {name: dataset.within(name) for name in dataset.source_files(None)}
    every = (
        path for n, within in named.items() for path in roots.files_of(roots.data() / n, within)
    )
    paths = [path for path in every if path.is_file()]
    sizes = (path.stat().st_size * (UNZIPPED if path.suffix == ".gz" else 1) for path in paths)
    return max(LEAST, sum(sizes) // doc_bytes)
