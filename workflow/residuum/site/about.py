"""Where results were made and what of: machines, versions, commits, collections.

Usage: `environments(folder)`, `collections(folder)`. Reads manifests alone. Must not know HTML.
"""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from residuum.inspect.addressing import PATHS
from residuum.inspect.text import flat
from residuum.site.folder import Folder

NOT_RECORDED = "not recorded"


class Collection(NamedTuple):
    """A corpus that the results are of: how many docs, and which edition of it."""

    name: str
    docs: str
    edition: str
    source: str


def environments(folder: Folder) -> list[tuple[str, list[tuple[str, int]]]]:
    """Return what was recorded of each thing, and in how many manifests: versions, CPU, commit."""
    counted: dict[str, Counter[str]] = {}
    for artefact in folder.graph.values():
        if artefact.manifest:
            for key, value in flat(artefact.manifest.environment):
                if key not in ("path", "command"):
                    name = key.removeprefix("packages.")
                    counted.setdefault(name, Counter())[str(value)] += 1
    return [(name, of.most_common()) for name, of in counted.items() if of != Counter({"{}": 1})]


def collections(folder: Folder) -> Iterator[Collection]:
    """Yield the corpora of the folder."""
    for path, artefact in folder.graph.items():
        at, made = PATHS.corpus.parse(f"{path}/manifest.json"), artefact.manifest
        if at and made:
            source = made.spec.get("source", made.spec)
            kind = str(source.get("kind", "")) if isinstance(source, dict) else ""
            docs, edition = (made.artefact.get(key) for key in ("docs", "edition"))
            yield Collection(
                at["dataset"], f"{docs:,}" if isinstance(docs, int) else NOT_RECORDED,
                str(edition or NOT_RECORDED), kind,
            )  # fmt: skip


def seeds(folder: Folder) -> list[str]:
    """Return the training seeds of the models behind the results."""
    named = (PATHS.checkpoint.parse(f"{path}/manifest.json") for path in folder.graph)
    return sorted({at["seed"] for at in named if at})
