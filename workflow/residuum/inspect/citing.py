"""How residuum and the papers of config/papers are cited.

Usage: `citing.papers(["clear", "roc"])`. Must not know results.
"""

from collections.abc import Iterable

import residuum
from residuum.artefacts import yamls
from residuum.config.roots import packaged

CITATIONS = packaged("inspect/citations.yaml")


def papers(names: Iterable[str]) -> list[str]:
    """Return how papers are cited, by their short names, without those that nobody entered."""
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
