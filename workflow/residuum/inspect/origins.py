"""Of which corpora, by which seeds and in which environments artefacts were made: by manifests.

Usage: `environments(graph)`, `corpora(graph)`, `seeds(graph)`. Must not know what is asked of them.
"""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from residuum.artefacts.manifest import FOLDER
from residuum.inspect.provenance import Graph
from residuum.inspect.stated import UNKNOWN
from residuum.inspect.text import flat, listed
from residuum.wiring.paths import Paths

PATHS = Paths()


class Corpus(NamedTuple):
    """A corpus that results are of; what its manifest lacks is UNKNOWN."""

    name: str
    docs: str
    edition: str
    source: str


def corpora(graph: Graph) -> Iterator[Corpus]:
    """Yield the corpora in the order of their paths."""
    for path, artefact in graph.items():
        at, made = PATHS.corpus.parse(f"{path}/{FOLDER}"), artefact.manifest
        if at and made:
            docs, source = made.artefact.get("docs"), made.spec.get("source")
            yield Corpus(
                name=at["dataset"],
                docs=f"{docs:,}" if isinstance(docs, int) else UNKNOWN,
                edition=str(made.artefact.get("edition") or UNKNOWN),
                source=listed(source) if isinstance(source, dict) else UNKNOWN,
            )


def environments(graph: Graph) -> dict[str, Counter[str]]:
    """Return what manifests record of each thing, a package as packages.NAME: how many say so."""
    counted: dict[str, Counter[str]] = {}
    for artefact in graph.values():
        for key, value in flat(artefact.manifest.environment if artefact.manifest else {}):
            if key not in ("", "path", "command") and value not in (None, {}):
                counted.setdefault(key, Counter())[str(value)] += 1
    return counted


def seeds(graph: Graph) -> list[str]:
    """Return the training seeds of the checkpoints."""
    places = (PATHS.checkpoint.parse(f"{path}/{FOLDER}") for path in graph)
    return sorted({at["seed"] for at in places if at})
