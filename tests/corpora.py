"""Small corpora for tests, in the form that the data stage writes."""

import json
from pathlib import Path

from residuum.core import contracts


def make_corpus(folder: Path, docs: list[tuple[str, str]]) -> Path:
    """Write docs as a corpus folder with its manifest and return the folder."""
    folder.mkdir(parents=True)
    shards = contracts.write_corpus(folder, ((i, {"text": text}) for i, text in docs))
    artefact = {"docs": len(docs), "edition": "test", "shards": shards}
    (folder / "manifest.json").write_text(json.dumps({"artefact": artefact}))
    return folder
