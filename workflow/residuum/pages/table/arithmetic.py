"""What a page says of the arithmetic behind it: the precision of matrix products and the device.

Usage: `notes(manifests)`. They are read, not the configuration, where `auto` may stand. Must not
know how a job chooses them.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from residuum.artefacts import files
from residuum.wiring.paths import Paths

PATHS = Paths()


def notes(manifests: Sequence[Path]) -> Iterator[str]:
    """Yield a sentence per precision and device: what was computed so; none without manifests."""
    named: dict[str, dict[str, None]] = {}
    for path in manifests:
        spec = json.loads(files.read_bytes(path))["spec"]
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
