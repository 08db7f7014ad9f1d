"""Take in a released encoder: read it as its own files say, and write it as a checkpoint.

Command: `python -m residuum.release encoder ...`. Nothing is trained. A model of the hub is kept
with the results, so that they can be made again without the hub.
"""

from pathlib import Path
from typing import Annotated

import typer

from residuum.artefacts import files, manifest
from residuum.cli import command
from residuum.config.schema.models import Reads
from residuum.neural import devices, foreign, hub, release
from residuum.neural.pretrained import Source
from residuum.neural.resumable import log

app = command.app(__doc__)


@app.command()
def encoder(
    start: command.Start,
    spec: Annotated[str, typer.Option(help="schema.Reads as JSON")],
    output: command.Folder,
    revision: command.Revision = None,
    pickled: command.Pickled = False,
    threads: command.Threads = 1,
) -> None:
    """Write a released encoder as a checkpoint, which has no training and no seed."""
    form = command.parse_spec(Reads, spec)
    source = Source(start, revision, pickled=pickled)
    chosen = devices.choose("cpu", "fp32", threads)
    described = release.read(source, form)
    with files.whole_directory(output) as folder:
        made = release.take(described, source, folder, chosen)
        facts = {
            "dimensions": made.dimensions,
            "read": release.summary(described),
            "weights": foreign.weights_sha256(folder),
        }
        inputs = [Path(start)] if Path(start).is_dir() else []
        at = None if inputs else hub.commit(start, revision) or revision
        given = {
            "model": {"kind": "released-encoder", **form.model_dump(mode="json")},
            "start": start,
            "revision": at,
        }
        manifest.write(folder, facts, given, inputs, "residuum.release")
    log(f"{start}: {facts['read']}")


if __name__ == "__main__":
    command.main(app)
