"""Encode the docs of a corpus, or of lists alone, shard by shard, and the queries of its splits.

Command: `python -m residuum.encode docs|candidates|queries ...`. Each shard is a job of its own,
whose memory holds that shard and which repeats alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from residuum.artefacts import contracts, files, manifest, trec
from residuum.artefacts.shards import ShardNumber
from residuum.cli import command
from residuum.cli.errors import ResiduumError
from residuum.cli.progress import track
from residuum.config.schema.reading import Windows
from residuum.neural import devices, foreign
from residuum.neural.encoders import Encoder, asker, check_alike
from residuum.neural.resumable import SNAPSHOTS
from residuum.neural.tokens import passages, windows_of

app = command.app(__doc__)

Model = Annotated[Path, typer.Option(help="checkpoint of a dual encoder")]
Snapshot = Annotated[
    int | None, typer.Option(help="number of a snapshot that the checkpoint holds", min=1)
]


@app.command("docs")
def encode_docs(
    corpus: command.Corpus,
    model: Model,
    shard: command.Shard,
    of: command.Of,
    batch_size: command.BatchSize,
    output: command.Folder,
    threads: command.Threads = 1,
    device: command.Device = "auto",
    precision: command.Precision = "auto",
    arithmetic: command.Arithmetic = "native",
    snapshot: Snapshot = None,
    windows: command.Windows = None,
) -> None:
    """Encode one shard of a corpus.

    A doc may have several vectors, one for each passage or token. All have its doc_id.
    """
    cut = windows_of(windows)
    positions = contracts.shard_of(corpus, shard, of)
    chosen = devices.choose(device, precision, threads, arithmetic)
    job = Job(model, snapshot, batch_size, threads, chosen, cut)
    records = contracts.read_docs(corpus, positions)
    numbered = ShardNumber(number=shard, of=of, docs=len(positions))
    job.write(output, records, numbered, [corpus / "manifest.json"])


@app.command("candidates")
def encode_candidates(
    corpus: command.Corpus,
    run: Annotated[Path, typer.Option(help="run of the candidates of all queries")],
    model: Model,
    shard: command.Shard,
    of: command.Of,
    batch_size: command.BatchSize,
    output: command.Folder,
    threads: command.Threads = 1,
    device: command.Device = "auto",
    precision: command.Precision = "auto",
    arithmetic: command.Arithmetic = "native",
    snapshot: Snapshot = None,
    windows: command.Windows = None,
) -> None:
    """Encode one shard of the docs that a run names; other docs of the corpus are left out.

    The named docs are cut into shards in the order of their ids. The whole corpus is read.
    """
    cut = windows_of(windows)
    named = trec.read_run(run)["doc_id"].unique().sort()
    positions = contracts.positions_of(shard, of, len(named), run)
    kept = {*named[positions.start : positions.stop]}
    records = [record for record in contracts.read_docs(corpus) if record["doc_id"] in kept]
    if len(records) < len(kept):
        lost = min(kept - {record["doc_id"] for record in records})
        raise ResiduumError(f"{run}: doc_id {lost} is no doc of {corpus}")
    chosen = devices.choose(device, precision, threads, arithmetic)
    job = Job(model, snapshot, batch_size, threads, chosen, cut)
    numbered = ShardNumber(number=shard, of=of, docs=len(records))
    job.write(output, records, numbered, [corpus / "manifest.json", run])


class Job(NamedTuple):
    """How docs are encoded: a checkpoint or its snapshot, a batch, a device, passages."""

    model: Path
    snapshot: int | None
    batch_size: int
    threads: int
    device: devices.Device
    windows: Windows | None

    def write(
        self,
        output: Path,
        records: Iterable[contracts.Record],
        shard: ShardNumber,
        inputs: Sequence[Path],
    ) -> None:
        """Write the vectors of docs with a manifest, whole or not at all."""
        weights, chosen = at(self.model, self.snapshot), self.device
        encoder = Encoder.load(weights, chosen)
        spec: dict[str, object] = {"batch_size": self.batch_size, "threads": self.threads}
        spec |= chosen._asdict() | ({"snapshot": self.snapshot} if self.snapshot else {})
        docs: Iterable[tuple[str, str]] = ((doc["doc_id"], doc["text"]) for doc in records)
        if form := self.windows:
            spec["windows"] = form.model_dump()
            docs = (
                (record["doc_id"], text)
                for record in track(records, "cut docs", shard["docs"], "docs")
                for text in passages(record, form, encoder.tokenizer, encoder.doc_room)
            )
        ids: list[str] = []

        def texts() -> Iterator[str]:
            for doc_id, text in docs:
                ids.append(doc_id)
                yield text

        vectors, counts = encoder.vectors(texts(), "doc", self.batch_size, shard["docs"])
        owners = [doc_id for doc_id, count in zip(ids, counts, strict=True) for _ in range(count)]
        each, least = int(max(counts, default=0)), int(min(counts, default=0))
        plain = (not form or least == each) and not encoder.head.late
        facts = {
            "dimensions": encoder.dimensions,
            "shard": shard,
            **encoder.sizes.facts(),
            **({"vectors": len(owners)} if len(owners) > shard["docs"] else {}),
            # With passages, a doc's vectors can be told apart if each passage has as many. Of
            # vectors of tokens none wins alone.
            **({"vectors_of_text": each} if each > 1 and plain else {}),
            "weights": foreign.weights_sha256(weights),
        }
        with files.whole_directory(output) as folder:
            encoder.write(folder, owners, vectors)
            manifest.write(folder, facts, spec, [*inputs, self.model], "residuum.encode")


@app.command("queries")
def encode_queries(
    split: command.Splits,
    model: Model,
    batch_size: command.BatchSize,
    output: command.Folder,
    threads: command.Threads = 1,
    device: command.Device = "auto",
    precision: command.Precision = "auto",
    arithmetic: command.Arithmetic = "native",
    snapshot: Snapshot = None,
    asking: Annotated[
        Path | None, typer.Option(help="checkpoint that reads queries, if it is not the docs'")
    ] = None,
) -> None:
    """Encode the queries of several splits, each into a folder of its own.

    With `asking`, vectors are those of that checkpoint, to be compared with docs' of `model`.
    """
    chosen = devices.choose(device, precision, threads, arithmetic)
    weights = at(model, snapshot)
    encoder, counts = Encoder.load(asker(asking or weights), chosen), {}
    if asking:
        made = manifest.facts(model, "a released encoder", "dimensions")["dimensions"]
        check_alike(model, made, asking, encoder.dimensions)
    paths = dict(command.pairs(split))
    spec = {"batch_size": batch_size, "threads": threads, **chosen._asdict()}
    spec |= {"snapshot": snapshot} if snapshot else {}
    with files.whole_directory(output) as folder:
        for name, path in paths.items():
            texts = trec.read_queries(path)
            vectors, each = encoder.vectors(list(texts.values()), "query", batch_size)
            owners = [query for query, n in zip(texts, each, strict=True) for _ in range(n)]
            encoder.write(folder / name, owners, vectors)
            counts[name] = len(texts)
        facts = {"queries": counts, **encoder.sizes.facts()}
        facts["weights"] = foreign.weights_sha256(weights)
        inputs = [*paths.values(), model, *([asking] if asking else [])]
        manifest.write(folder, facts, spec, inputs, "residuum.encode")


def at(model: Path, snapshot: int | None) -> Path:
    """Return the folder of a checkpoint's finished model, or of a snapshot."""
    if snapshot is None:
        return model
    folder = model / SNAPSHOTS / str(snapshot)
    if not folder.is_dir():
        had = sorted(int(path.name) for path in folder.parent.glob("*"))
        known = f"it has {', '.join(map(str, had))}" if had else "its training kept none"
        raise ResiduumError(f"{model}: no snapshot {snapshot}; {known} (training.snapshots)")
    return folder


if __name__ == "__main__":
    command.main(app)
