"""Train a dual encoder on (query, positive, negative) tuples, as CLEAR section 3.3 describes.

python -m residuum.train train --tuples F --corpus DIR --queries TSV --start DIR_OR_HUB_ID
    --spec JSON --seed 1 --threads 1 --work DIR --output DIR

Killed and started again it goes on from its last checkpoint and ends with the same bytes.
Must not know where the tuples come from or how the model will be searched.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from residuum.core import command, contracts, files, manifest, schema, trec
from residuum.core.errors import ResiduumError
from residuum.core.progress import track
from residuum.core.seeds import derive
from residuum.neural import batches, devices, losses
from residuum.neural.encoders import Encoder
from residuum.neural.resume import Saved, fingerprint, say
from residuum.neural.tokens import Tokens

if TYPE_CHECKING:
    from torch import Tensor

    Loss = schema.ResidualMargin | schema.ConstantMargin | schema.Nll

LOG_COLUMNS = ("step", "loss", "active", "learning_rate", "pairs")
app = command.app(__doc__)


class Material(NamedTuple):
    """What training draws from: the stream of ids, their tokens, the known positives."""

    stream: batches.Stream
    queries: Tokens
    docs: Tokens
    positives: batches.Positives


@app.command("train")
def train(
    tuples: Annotated[Path, typer.Option(help="training tuples, .jsonl.gz")],
    corpus: Annotated[Path, typer.Option(help="corpus folder that holds the tuples' docs")],
    queries: Annotated[Path, typer.Option(help="queries.tsv of the training split")],
    start: Annotated[str, typer.Option(help="Hugging Face folder or hub id to start from")],
    spec: Annotated[str, typer.Option(help="JSON of schema.DualEncoder")],
    seed: Annotated[int, typer.Option(help="seed of batches, negatives and dropout")],
    work: Annotated[Path, typer.Option(help="folder of the resumable checkpoint")],
    output: Annotated[Path, typer.Option(help="folder of the finished checkpoint")],
    revision: Annotated[str | None, typer.Option(help="hub commit of --start")] = None,
    threads: Annotated[int, typer.Option(help="CPU threads; the last digits depend on it")] = 1,
    device: Annotated[str, typer.Option(help="auto, cuda, mps or cpu")] = "auto",
    precision: Annotated[str, typer.Option(help="auto, fp32 or bf16")] = "auto",
) -> None:
    """Train a dual encoder and write its checkpoint."""
    form = command.parse_spec(schema.DualEncoder, spec)
    chosen = devices.choose(device, precision, threads)
    encoder = Encoder.start(start, revision, form.encoder, chosen, form.training.dropout)
    material = gather(encoder, form, seed, tuples, corpus, queries)
    steps = form.training.steps or material.stream.steps(form.training.epochs or 1)
    inputs = [tuples, queries, corpus / "manifest.json", *([Path(start)] if _local(start) else [])]
    setting = {
        "model": form.model_dump(mode="json"),
        "start": start,
        "revision": getattr(encoder.model.config, "_commit_hash", None) or revision,
        "seed": seed,
        "threads": threads,
        "device": chosen.name,
        "precision": chosen.precision,
    }
    saved = Saved(work, fingerprint("residuum.train", setting, inputs))
    log = fit(encoder, form, material, seed, steps, saved)
    with files.whole_directory(output) as folder:
        encoder.save(folder)
        files.write_text(folder / "training.tsv", _tsv(log))
        manifest.write(
            folder / "manifest.json",
            artefact={"pairs": len(material.stream.pairs), "steps": steps, "loss": log[-1][1]},
            spec=setting,
            inputs=inputs,
            module="residuum.train",
        )
    shutil.rmtree(work, ignore_errors=True)


def fit(
    encoder: Encoder,
    form: schema.DualEncoder,
    material: Material,
    seed: int,
    steps: int,
    saved: Saved,
) -> list[list[float]]:
    """Train in place from the last saved step to the end; return the log, a row per step."""
    import torch

    how = form.training
    optimizer = torch.optim.Adam(encoder.model.parameters(), lr=how.learning_rate)
    log = saved.restore(encoder.model, optimizer)
    encoder.model.train()
    todo = range(len(log), steps)
    for step in track(todo, "train", total=len(todo), unit="steps"):
        torch.manual_seed(derive(seed, "dropout", str(step)))
        pair_losses = batch_losses(encoder, material, step, form.loss)
        loss = pair_losses.mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        active = (pair_losses > 0).float().mean()
        pairs = (step + 1) * how.batch_size
        log.append([step + 1, _finite(loss, step), active.item(), how.learning_rate, pairs])
        if (step + 1) % how.checkpoint_every == 0 and step + 1 < steps:
            saved.keep(encoder.model, optimizer, log)
    return log


def batch_losses(encoder: Encoder, material: Material, step: int, loss: Loss) -> Tensor:
    """Return the losses (batch,) of one step's pairs; queries and docs share the encoder."""
    batch = material.stream.batch(step)
    queries = encoder.forward(material.queries.of(batch.query_ids))
    docs = encoder.forward(material.docs.of([*batch.positives, *batch.negatives]))
    if loss.kind == "nll":
        ignore = docs.new_tensor(material.positives.ignore(batch)).bool()
        return losses.in_batch_nll(queries @ docs.T, ignore)
    positives, negatives = docs.split(len(queries))
    return losses.triplet_hinge(
        (queries * positives).sum(dim=1),
        (queries * negatives).sum(dim=1),
        _margin(batch, loss, like=docs),
    )


def _margin(batch: batches.Batch, loss: Loss, like: Tensor) -> Tensor | float:
    if loss.kind == "constant_margin":
        return loss.margin
    positive = like.new_tensor(batch.positive_scores)
    negative = like.new_tensor(batch.negative_scores)
    return losses.residual_margin(positive, negative, loss.xi, loss.lambda_train)


def _finite(loss: Tensor, step: int) -> float:
    value = float(loss.item())
    if not math.isfinite(value):
        raise ResiduumError(
            f"the loss became {value} at step {step + 1}. Lower training.learning_rate, or "
            "encoder.score_scale if scores overflow; nothing was written to the output"
        )
    return value


def gather(
    encoder: Encoder, form: schema.DualEncoder, seed: int, tuples: Path, corpus: Path, queries: Path
) -> Material:
    """Read the tuples, choose the part trained on, and tokenise the texts it needs, once."""
    pairs = contracts.read_tuples(tuples)
    chosen = _chosen(pairs, form)
    stream = batches.Stream(chosen, form.training.batch_size, seed)
    docs = {doc for pair in chosen for doc in (pair.positive, *pair.negatives)}
    texts = _wanted(contracts.read_corpus(corpus), docs, "doc", tuples, corpus)
    asked = {pair.query_id for pair in chosen}
    words = _wanted(trec.read_queries(queries).items(), asked, "query", tuples, queries)
    return Material(
        stream,
        Tokens(words, lambda text: encoder.tokenise(text, "query")),
        Tokens(texts, lambda text: encoder.tokenise(text, "doc")),
        batches.Positives(pairs),
    )


def _chosen(pairs: list[contracts.Tuple], form: schema.DualEncoder) -> list[contracts.Tuple]:
    part = batches.part_of(pairs, form.training.part)
    if form.loss.kind == "nll":
        return [pair._replace(negatives=[], negative_scores=[]) for pair in part]
    kept = batches.with_negatives(part)
    if len(kept) < len(part):
        say(f"{len(part) - len(kept)} of {len(part)} training pairs have no negative: left out")
    return kept


def _wanted(
    texts: Iterable[tuple[str, str]], ids: set[str], kind: str, tuples: Path, source: Path
) -> Iterator[tuple[str, str]]:
    missing = set(ids)
    for key, text in texts:
        if key in ids:
            missing.discard(key)
            yield key, text
    if missing:
        example = min(missing)
        raise ResiduumError(
            f"{tuples}: {kind}_id {example} is not in {source} ({len(missing)} such ids). "
            "Remake the tuples from this collection."
        )


def _local(start: str) -> bool:
    return Path(start).is_dir()


def _tsv(log: list[list[float]]) -> str:
    rows = ["\t".join(f"{value:.9g}" for value in row) for row in log]
    return "\n".join(["\t".join(LOG_COLUMNS), *rows]) + "\n"


if __name__ == "__main__":
    command.main(app)
