"""Score candidates with a cross-encoder once, for all first stages and all depths, and cut.

python -m residuum.rerank score --run RUN ... --depth N --model DIR ... --output PAIRS.trec.gz
python -m residuum.rerank depths --run NAME=RUN ... --scores PAIRS.trec.gz ... --output TSV
python -m residuum.rerank cut --run RUN --scores PAIRS.trec.gz --curve TSV ... --output RUN

Only score loads the model; killed and started again, or asked for more, it scores what is missing.
Must not know how the cross-encoder was trained or how a first stage made its list.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import polars as pl
import typer
from pydantic import Field

from residuum.artefacts import depth_curves, files, manifest, trec
from residuum.cli import command
from residuum.cli.errors import ResiduumError
from residuum.config.schema.base import Positive, Strict
from residuum.config.schema.models import Reading
from residuum.config.schema.systems import RerankSystem
from residuum.neural import devices, pretrained
from residuum.neural.crossencoder import CrossEncoder
from residuum.neural.pairscores import PAIR, Store, Texts, fill
from residuum.neural.resume import fingerprint
from residuum.tuning.choosing import Record
from residuum.tuning.depths import best_depth, candidates, measured, with_scores

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
    config = command.parse_spec(Scoring, spec)
    cuts = dict(zip(run, depth, strict=True))
    lists = {path: trec.cut(trec.read_run(path), cut) for path, cut in cuts.items()}
    chosen = devices.choose(device, precision, threads)
    local = Path(model).is_dir()
    if reading is not None:
        read = command.parse_spec(Reading, reading)
        encoder = CrossEncoder.released(model, revision, read, chosen)
    elif local:
        encoder = CrossEncoder.load(Path(model), chosen)
    else:
        raise ResiduumError(f"{model} is not a directory; a model of the hub needs --reading")
    setting = {
        "reading": encoder.reading.model_dump(mode="json"),
        "hub": None if local else [model, pretrained.commit(encoder.model) or revision],
        "batch_size": config.batch_size,
        "threads": threads,
        "device": chosen.name,
        "precision": chosen.precision,
    }
    texts = [queries, corpus / "manifest.json"]
    checkpoint = pretrained.parts(Path(model)) if local else []
    mark = fingerprint("residuum.neural.pairscores", setting, [*texts, *checkpoint])
    kept = Store(store, mark)
    required = pl.concat(lists.values()).select(PAIR).unique(maintain_order=True)
    todo = required.join(kept.read(), on=PAIR, how="anti")
    fill(kept, todo, encoder, Texts(queries, corpus), config.batch_size, config.part_pairs)
    scored = trec.rank(required.join(kept.read(), on=PAIR, how="left"))
    trec.write_run(output, scored, "scores")
    each = {str(path): top.height for path, top in lists.items()}
    alone = sum(each.values())
    facts = {
        "pairs": scored.height,
        "pairs_without_sharing": alone,
        "saved": 1 - scored.height / alone if alone else 0.0,
        "pairs_per_run": each,
        "queries": scored["query_id"].n_unique(),
        "docs": scored["doc_id"].n_unique(),
    }
    setting["depths"] = {str(path): cut for path, cut in cuts.items()}
    inputs = [*lists, *texts, *([Path(model)] if local else [])]
    manifest.write(output, {**facts, **encoder.sizes.facts()}, setting, inputs, "residuum.rerank")


@app.command("depths")
def depths(
    spec: Annotated[str, typer.Option(help="JSON of depths and measures")],
    run: Annotated[list[str], typer.Option(help="name and first-stage run: NAME=RUN")],
    scores: Annotated[Path, typer.Option(help="pairs that score made")],
    qrels: command.Qrels,
    output: Annotated[Path, typer.Option(help="TSV of run, depth, query_id, measure, value")],
) -> None:
    """Evaluate each run at every depth, and at depth 0, where nothing is reranked."""
    config = command.parse_spec(Tried, spec)
    runs = command.named_paths("--run", run, config.depths)
    scored, judged = trec.read_run(scores), trec.read_qrels(qrels)
    columns, tables = list(depth_curves.COLUMNS), []
    for name, path in runs.items():
        listed = candidates(path, max(config.depths[name]), scored, scores)
        curve = measured(listed, judged, config.depths[name], config.measures)
        tables.append(curve.with_columns(run=pl.lit(name)).select(columns))
    table = pl.concat(tables).sort(columns[:-1])
    files.write_text(output, table.write_csv(None, separator="\t", quote_style="never"))
    facts = {"runs": sorted(runs), "queries": judged["query_id"].n_unique()}
    inputs = [*dict.fromkeys(runs.values()), scores, qrels]
    manifest.write(output, facts, config, inputs, "residuum.rerank")


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
    if system.depth.value is not None:
        chosen = Record.fixed({"depth": system.depth.value})
    elif curve:
        chosen = best_depth(depth_curves.read(curve), name, system.depth, curve)
    else:
        raise ResiduumError("depth is chosen on a tuning split: give --curve, written by depths")
    depth = int(chosen.setting["depth"])
    reranked = with_scores(candidates(run, depth, trec.read_run(scores), scores), depth)
    trec.write_run(output, reranked, tag)
    inputs = [run, scores, *([curve] if curve else [])]
    facts = {"depth": depth, "hits": reranked.height}
    manifest.write(output, facts, system, inputs, "residuum.rerank")
    chosen.write(record, system, inputs, "residuum.rerank")


if __name__ == "__main__":
    command.main(app)
