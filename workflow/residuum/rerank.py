"""Score candidates with a cross-encoder once, for all first stages and all depths, and cut.

python -m residuum.rerank score --run RUN ... --depth N --model DIR ... --output PAIRS.trec.gz
python -m residuum.rerank depths --run NAME=RUN ... --scores PAIRS.trec.gz ... --output TSV
python -m residuum.rerank cut --run RUN --scores PAIRS.trec.gz --curve TSV ... --output RUN

Only score loads the model; killed and started again, or asked for more, it scores what is missing.
Must not know how the cross-encoder was trained or how a first stage made its list.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import polars as pl
import typer
from pydantic import Field

from residuum.artefacts import manifest, trec
from residuum.artefacts.trec import PAIR
from residuum.cli import command
from residuum.cli.errors import ResiduumError
from residuum.config.schema.base import Positive, Strict
from residuum.config.schema.models import Reading
from residuum.config.schema.systems import Depth, RerankSystem
from residuum.neural import devices, pretrained
from residuum.neural.crossencoder import CrossEncoder
from residuum.neural.pairscores import Store
from residuum.neural.pretrained import Source
from residuum.neural.resumable import fingerprint
from residuum.neural.tokens import Texts
from residuum.tuning.depths import best_depth, candidates, measured, with_scores
from residuum.tuning.record import Record

app = command.app(__doc__)


class Scoring(Strict):
    """Pairs per batch, which has its say in the last digits; pairs that a kill can cost."""

    batch_size: Positive
    part_pairs: Positive = 8192


class Tried(Strict):
    """What is tried: the depths of each run, and measures of the reranked lists.

    `R(rel=2)`, without a cutoff, is the recall of the candidates, else taken at relevance 1.
    """

    depths: dict[str, list[Positive]] = Field(min_length=1)
    measures: list[str] = Field(min_length=1)


@app.command("score")
def score(
    run: Annotated[list[Path], typer.Option(help="first-stage run, may be repeated")],
    depth: Annotated[list[int], typer.Option(help="candidates of a query, one per --run")],
    queries: command.Queries,
    corpus: command.Corpus,
    model: Annotated[str, typer.Option(help="cross-encoder: checkpoint folder, or hub id")],
    spec: Annotated[str, typer.Option(help="JSON of batch_size")],
    store: Annotated[Path, typer.Option(help="folder that keeps scored pairs between jobs")],
    output: Annotated[Path, typer.Option(help="scores of all pairs, .trec.gz")],
    revision: command.Revision = None,
    reading: Annotated[str | None, typer.Option(help="Reading of a foreign model")] = None,
    threads: command.Threads = 1,
    device: command.Device = "auto",
    precision: command.Precision = "auto",
) -> None:
    """Score each (query, doc) pair among the top docs of any run once."""
    form = command.parse_spec(Scoring, spec)
    tops = dict(zip(run, depth, strict=True))
    lists = {path: trec.cut(trec.read_run(path), top) for path, top in tops.items()}
    chosen = devices.choose(device, precision, threads)
    encoder = _encoder(model, revision, reading, chosen)
    local = [Path(model)] if Path(model).is_dir() else []
    setting = {
        "reading": encoder.settings.model_dump(mode="json"),
        "hub": None if local else [model, pretrained.commit(encoder.model) or revision],
        "batch_size": form.batch_size,
        "threads": threads,
        "device": chosen.name,
        "precision": chosen.precision,
    }
    texts = [queries, corpus / "manifest.json"]
    weights = [part for folder in local for part in pretrained.parts(folder)]
    mark = fingerprint("residuum.neural.pairscores", setting, [*texts, *weights])
    kept = Store(store, mark)
    wanted = pl.concat(lists.values()).select(PAIR).unique(maintain_order=True)
    todo = wanted.join(kept.read(), on=PAIR, how="anti")
    named = Texts(queries, corpus, "a first-stage run")
    kept.fill(todo, encoder, named, form.batch_size, form.part_pairs)
    scored = trec.rank(wanted.join(kept.read(), on=PAIR, how="left"))
    trec.write_run(output, scored, "scores")
    setting["depths"] = {str(path): top for path, top in tops.items()}
    facts = {**shared(lists, scored), **encoder.sizes.facts()}
    manifest.write(output, facts, setting, [*lists, *texts, *local], "residuum.rerank")


def _encoder(
    model: str, revision: str | None, reading: str | None, device: devices.Device
) -> CrossEncoder:
    if reading is not None:
        how = command.parse_spec(Reading, reading)
        return CrossEncoder(Source(model, revision, whole=True), how, device)
    if not Path(model).is_dir():
        raise ResiduumError(f"{model}: not a directory; a model of the hub needs --reading")
    return CrossEncoder.load(Path(model), device)


def shared(lists: Mapping[Path, pl.DataFrame], scored: pl.DataFrame) -> dict[str, Any]:
    """Return the pairs scored, those of each run, and the share saved by scoring a pair once."""
    each = {str(path): top.height for path, top in lists.items()}
    alone = sum(each.values())
    return {
        "pairs": scored.height,
        "pairs_without_sharing": alone,
        "saved": 1 - scored.height / alone if alone else 0.0,
        "pairs_per_run": each,
        "queries": scored["query_id"].n_unique(),
        "docs": scored["doc_id"].n_unique(),
    }


@app.command("depths")
def depths(
    spec: Annotated[str, typer.Option(help="JSON of depths and measures")],
    run: Annotated[list[str], typer.Option(help="name and first-stage run: NAME=RUN")],
    scores: Annotated[Path, typer.Option(help="pairs that score made")],
    qrels: command.Qrels,
    output: Annotated[Path, typer.Option(help="TSV of run, depth, query_id, measure, value")],
) -> None:
    """Evaluate each run at every depth, and at depth 0, where nothing is reranked."""
    form = command.parse_spec(Tried, spec)
    named = command.named_paths("--run", run, form.depths)
    scored, judged = trec.read_run(scores), trec.read_qrels(qrels)
    tables = {
        name: measured(
            candidates(path, max(form.depths[name]), scored, scores),
            judged,
            form.depths[name],
            form.measures,
        )
        for name, path in named.items()
    }
    rows = [table.with_columns(run=pl.lit(name)) for name, table in tables.items()]
    trec.write_depths(output, pl.concat(rows))
    facts = {"runs": sorted(named), "queries": judged["query_id"].n_unique()}
    inputs = [*dict.fromkeys(named.values()), scores, qrels]
    manifest.write(output, facts, form, inputs, "residuum.rerank")


@app.command("cut")
def cut(
    run: Annotated[Path, typer.Option(help="first-stage run")],
    scores: Annotated[Path, typer.Option(help="pairs that score made")],
    name: Annotated[str, typer.Option(help="the run's name in --curve")],
    spec: Annotated[str, typer.Option(help="RerankSystem as JSON")],
    tag: command.Tag,
    output: command.Run,
    record: Annotated[Path, typer.Option(help="JSON to write: the depth and what was tried")],
    curve: Annotated[
        Path | None, typer.Option(help="what depths wrote of the tuning split, if depth has a grid")
    ] = None,
) -> None:
    """Rerank down to the fixed depth, or to that of the best mean on the tuning split."""
    system = command.parse_spec(RerankSystem, spec)
    chosen = _depth(system.depth, name, curve)
    depth = int(chosen.setting["depth"])
    listed = candidates(run, depth, trec.read_run(scores), scores)
    whole = with_scores(listed, depth)
    trec.write_run(output, whole, tag)
    inputs = [run, scores, *([curve] if curve else [])]
    facts = {"depth": depth, "hits": whole.height}
    manifest.write(output, facts, system, inputs, "residuum.rerank")
    chosen.write(record, system, inputs, "residuum.rerank")


def _depth(depth: Depth, name: str, curve: Path | None) -> Record:
    if depth.value is not None:
        return Record.fixed({"depth": depth.value})
    if curve is None:
        raise ResiduumError("depth is chosen on a tuning split: give --curve, written by depths")
    return best_depth(trec.read_depths(curve), name, depth, curve)


if __name__ == "__main__":
    command.main(app)
