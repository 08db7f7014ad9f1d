"""Train a model of any trained kind on tuples: dual encoder, term weights, cross-encoder.

Command: `python -m residuum.train train ...`.
Killed and started again it goes on from its last checkpoint and ends with the same bytes.
On several GPUs: torchrun --standalone --nproc-per-node N --no-python -- python -m residuum.train
Must not know where the tuples come from, what a kind's losses are or who uses the model.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import pydantic
import typer

from residuum.cli import command
from residuum.config.schema.models import Trained
from residuum.neural import devices, fitting, processes
from residuum.neural.learners import KINDS, Start
from residuum.neural.pretrained import Source
from residuum.neural.tokens import Texts

app = command.app(__doc__)


@app.command("train")
def train(
    tuples: Annotated[Path, typer.Option(help="training tuples, .jsonl.gz")],
    corpus: command.Corpus,
    queries: command.Queries,
    start: command.Start,
    spec: Annotated[str, typer.Option(help="JSON of a trained kind, as DualEncoder")],
    seed: Annotated[int, typer.Option(help="seed of batches, negatives and dropout")],
    work: command.Work,
    output: Annotated[Path, typer.Option(help="folder of the finished checkpoint")],
    revision: command.Revision = None,
    threads: command.Threads = 1,
    device: command.Device = "auto",
    precision: command.Precision = "auto",
    arithmetic: command.Arithmetic = "native",
) -> None:
    """Train a model and write its checkpoint."""
    model = command.parse_spec(pydantic.RootModel[Trained], spec).root
    source = Source(start, revision, model.training.dropout)
    begin = Start(source, devices.choose(device, precision, threads, arithmetic), seed)
    inputs = [tuples, queries, corpus / "manifest.json"]
    with processes.joined(begin.device.name):
        learner = KINDS[model.kind](model, begin, tuples, Texts(queries, corpus, str(tuples)))
        fitting.run(learner, threads, inputs, work, output, "residuum.train")


if __name__ == "__main__":
    command.main(app)
