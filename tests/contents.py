"""What two artefacts hold, to compare them byte for byte wherever they lie."""

import json
from pathlib import Path


def contents(artefact: Path) -> dict[str, object]:
    """Return the bytes of a file or of all files below a folder, by their names in it.

    A manifest records where it was written, which alone may differ.
    """
    files = sorted(p for p in artefact.rglob("*") if p.is_file()) or [artefact]
    return {path.relative_to(artefact).as_posix(): _read(path) for path in files}


def _read(path: Path) -> object:
    if not path.name.endswith("manifest.json"):
        return path.read_bytes()
    record = json.loads(path.read_text())
    del record["environment"]["path"]
    return json.dumps(record)
