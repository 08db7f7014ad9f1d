"""Predict the term frequencies of a corpus with a trained term weighter (DeepCT).

Command: `python -m residuum.termweights predict ...`. Killed and started again it goes on at the
first part that is missing.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated, Any

import typer

from residuum.artefacts import contracts, files, manifest
from residuum.cli import command
from residuum.cli.progress import track
from residuum.neural import devices, foreign
from residuum.neural.resumable import MARK, fingerprint, open_folder
from residuum.neural.termweighter import TermWeighter

app = command.app(__doc__)


@app.command("predict")
def predict(
    corpus: command.Corpus,
    model: Annotated[Path, typer.Option(help="checkpoint of a term-weights model")],
    batch_size: command.BatchSize,
    output: command.Folder,
    threads: command.Threads = 1,
    device: command.Device = "auto",
    precision: command.Precision = "auto",
    arithmetic: command.Arithmetic = "native",
    part_docs: Annotated[int, typer.Option(help="docs in a part")] = contracts.DOCS_PER_SHARD,
) -> None:
    """Predict a corpus; memory holds one part of the docs."""
    chosen = devices.choose(device, precision, threads, arithmetic)
    spec = {"part_docs": part_docs, "batch_size": batch_size, "threads": threads}
    spec |= chosen._asdict()
    inputs = [corpus / "manifest.json", model]
    folder = output.with_name(f"{output.name}.partial")
    with files.alone(folder):
        open_folder(folder, fingerprint("residuum.termweights", spec, inputs))
        weighter = TermWeighter.load(model, chosen)
        total = contracts.corpus_manifest(corpus)["docs"]
        records = []
        firsts = range(0, total, part_docs)
        for number, first in enumerate(track(firsts, "predict", total=len(firsts), unit="parts")):
            done = folder / f"part-{number:05d}.done"
            if not done.exists():
                positions = range(first, min(first + part_docs, total))
                docs = dict(contracts.read_corpus(corpus, positions))
                tfs = weighter.predict(list(docs.values()), batch_size)
                record = _write_part(folder, number, dict(zip(docs, tfs, strict=True)))
                files.write_text(done, json.dumps(record))
            records.append(json.loads(done.read_text()))
        sums = {name: sum(record[name] for record in records) for name in ("words", "tf", "empty")}
        shards = [{key: record[key] for key in ("name", "docs", "sha256")} for record in records]
        facts = {
            "docs": total,
            "shards": shards,
            "words_per_doc": round(sums["words"] / max(total, 1), 3),
            "tf_per_doc": round(sums["tf"] / max(total, 1), 3),
            "docs_without_a_word": sums["empty"],
            **weighter.sizes.facts(),
            "weights": foreign.weights_sha256(model),
        }
        parts = [folder / shard["name"] for shard in shards]
        manifest.write(folder, facts, spec, inputs, "residuum.termweights", parts)
        for path in folder.glob("*.done"):
            path.unlink()
        files.replace_directory(folder, output)
        (output / MARK).unlink()  # last, because it marks the parts as residuum's


def _write_part(folder: Path, number: int, tfs: dict[str, dict[str, int]]) -> dict[str, Any]:
    """Write a part beside the finished parts; return its shard's facts and its counts."""
    path = folder / f"part-{number:05d}.jsonl.gz"
    with files.scratch(path) as alone:
        [shard] = contracts.write_term_weights(alone, tfs.items(), per_shard=len(tfs))
        os.replace(alone / shard["name"], path)
    return {
        **shard,
        "name": path.name,
        "words": sum(map(len, tfs.values())),
        "tf": sum(sum(words.values()) for words in tfs.values()),
        "empty": sum(not words for words in tfs.values()),
    }


if __name__ == "__main__":
    command.main(app)
