"""Predict the term frequencies of a corpus with a trained term weighter (DeepCT).

python -m residuum.termweights predict --corpus DIR --model DIR --batch-size N --output DIR

Killed and started again it goes on at the first part that is missing.
Must not know how the model was trained or which index takes the frequencies.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from residuum.artefacts import contracts, files, manifest
from residuum.cli import command
from residuum.neural import devices, pretrained
from residuum.neural.parts import Part, open_folder, work_off
from residuum.neural.resume import fingerprint
from residuum.neural.termweighter import TermWeighter

app = command.app(__doc__)
COUNTS = ("words", "frequencies", "empty")


@app.command("predict")
def predict(
    corpus: command.Corpus,
    model: Annotated[Path, typer.Option(help="checkpoint of a term-weights model")],
    batch_size: command.BatchSize,
    output: Annotated[Path, typer.Option(help="folder of the predicted term frequencies")],
    threads: command.Threads = 1,
    device: command.Device = "auto",
    precision: command.Precision = "auto",
    part_docs: Annotated[int, typer.Option(help="docs in a part")] = contracts.DOCS_PER_SHARD,
) -> None:
    """Predict a corpus; memory holds one part of the docs."""
    chosen = devices.choose(device, precision, threads)
    sizes = {"part_docs": part_docs, "batch_size": batch_size}
    setting = {**sizes, "threads": threads, **chosen._asdict()}
    inputs = [corpus / "manifest.json", model]
    folder = output.with_name(f"{output.name}.partial")
    mark = open_folder(folder, fingerprint("residuum.termweights", setting, inputs))
    weighter = TermWeighter.load(model, chosen)
    facts = {**_facts(_predict_parts(weighter, corpus, folder, **sizes)), **weighter.sizes.facts()}
    facts |= {"weights": files.sha256(model / pretrained.WEIGHTS)}
    manifest.write(folder, facts, setting, inputs, "residuum.termweights")
    for path in (*folder.glob("*.done"), mark):
        path.unlink()
    files.replace_directory(folder, output)


def _predict_parts(
    weighter: TermWeighter, corpus: Path, folder: Path, part_docs: int, batch_size: int
) -> list[dict[str, Any]]:
    """Predict the parts that are missing; return the record of each."""

    def note(number: int) -> Path:
        return folder / f"part-{number:05d}.done"

    def make(number: int, part: Part) -> None:
        frequencies = weighter.predict([text for _, text in part], batch_size)
        docs = [(doc_id, own) for (doc_id, _), own in zip(part, frequencies, strict=True)]
        record = {**_write_part(folder, number, docs), **_counts(frequencies)}
        files.write_text(note(number), json.dumps(record))

    parts = work_off(corpus, part_docs, lambda n: note(n).exists(), make, "predict")
    return [json.loads(note(number).read_text()) for number in range(parts)]


def _write_part(
    folder: Path, number: int, docs: Sequence[tuple[str, dict[str, int]]]
) -> dict[str, Any]:
    """Write one part beside the finished ones and give it its number."""
    name = f"part-{number:05d}.jsonl.gz"
    with files.whole_directory(folder / f"part-{number:05d}") as alone:
        [record] = contracts.write_term_weights(alone, docs, per_shard=len(docs))
        os.replace(alone / record["name"], folder / name)
    (folder / f"part-{number:05d}").rmdir()
    return {**record, "name": name}


def _counts(frequencies: Sequence[dict[str, int]]) -> dict[str, int]:
    """Count words, their frequencies, and docs without a word."""
    return {
        "words": sum(len(own) for own in frequencies),
        "frequencies": sum(sum(own.values()) for own in frequencies),
        "empty": sum(not own for own in frequencies),
    }


def _facts(records: list[dict[str, Any]]) -> dict[str, Any]:
    docs = sum(record["docs"] for record in records)
    sums = {name: sum(record[name] for record in records) for name in COUNTS}
    kept = ("name", "docs", "sha256")
    return {
        "docs": docs,
        "shards": [{key: record[key] for key in kept} for record in records],
        "words_per_doc": round(sums["words"] / max(docs, 1), 3),
        "tf_per_doc": round(sums["frequencies"] / max(docs, 1), 3),
        "docs_without_a_word": sums["empty"],
    }


if __name__ == "__main__":
    command.main(app)
