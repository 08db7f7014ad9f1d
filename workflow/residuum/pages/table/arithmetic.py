"""Notes on the arithmetic behind a page: the precision of matrix products and the device.

Usage: `notes(manifests)`. Manifests say what was used; the configuration may say only `auto`.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from residuum.artefacts import manifest
from residuum.wiring.paths import Paths

PATHS = Paths()


def notes(manifests: Sequence[Path]) -> Iterator[str]:
    """Yield a note per precision and device, with its trainings, encodings and scores."""
    named: dict[str, dict[str, None]] = {}
    for path in manifests:
        spec = manifest.read(path)["spec"]
        device = spec.get("device") or spec.get("name")  # encode records a device's own fields
        named.setdefault(f"{spec['precision']} on {device}", {})[_named(path)] = None
    for arithmetic, names in sorted(named.items()):
        yield f"Matrix products in {arithmetic}: {', '.join(sorted(names))}."


def _named(path: Path) -> str:
    if of := PATHS.checkpoint.parse(path):
        return f"training of {of['model']}"
    if of := PATHS.query_embeddings.parse(path):
        return f"encoding by {of['model']}"
    of = PATHS.pairs.manifest.parse(path) or {}
    return f"scores of {of.get('reranker', path.name)}"
