"""Score candidates with a cross-encoder once, for all first stages and all depths, and cut.

python -m residuum.rerank score --run RUN ... --depth N --model DIR ... --output PAIRS.trec.gz
python -m residuum.rerank sweep --run NAME=RUN ... --scores PAIRS.trec.gz ... --output TSV
python -m residuum.rerank cut   --run RUN --scores PAIRS.trec.gz --tuning TSV ... --output RUN

Only score loads the model; killed and started again, or asked for more, it scores what is missing.
Must not know how the cross-encoder was trained or how a first stage made its list.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import polars as pl
import typer
from pydantic import Field

from residuum import depths
from residuum.core import command, depth_curves, files, manifest, trec
from residuum.core.errors import ResiduumError
from residuum.core.schema.base import Positive, Strict
from residuum.core.schema.models import Reading
from residuum.core.schema.systems import RerankSystem
from residuum.neural import devices, pretrained
from residuum.neural.crossencoder import CrossEncoder
from residuum.neural.pairscores import PAIR, Store, Texts, fill
from residuum.neural.resume import fingerprint

app = command.app(__doc__)


class Scoring(Strict):
    """Pairs per batch, which has its say in the last digits; pairs that a kill can cost."""

    batch_size: Positive
    part_pairs: Positive = 8192


class Sweep(Strict):
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
    lists = {path: depths.top(trec.read_run(path), top) for path, top in tops.items()}
    chosen = devices.choose(device, precision, threads)
    encoder = _encoder(model, revision, reading, chosen)
    local = [Path(model)] if Path(model).is_dir() else []
    setting = {
        "reading": encoder.reading.model_dump(mode="json"),
        "hub": None if local else [model, encoder.revision or revision],
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
    fill(kept, todo, encoder, Texts(queries, corpus), form.batch_size, form.part_pairs)
    scored = trec.rank(wanted.join(kept.read(), on=PAIR, how="left"))
    trec.write_run(output, scored, "scores")
    manifest.write(
        manifest.beside(output),
        artefact={**shared(lists, scored), **encoder.room.facts()},
        spec={**setting, "depths": {str(path): top for path, top in tops.items()}},
        inputs=[*lists, *texts, *local],
        module="residuum.rerank",
    )


def _encoder(
    model: str, revision: str | None, reading: str | None, device: devices.Device
) -> CrossEncoder:
    if reading is not None:
        how = command.parse_spec(Reading, reading)
        return CrossEncoder.released(model, revision, how, device)
    if not Path(model).is_dir():
        raise ResiduumError(f"{model} is no folder; a model of the hub needs --reading")
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


@app.command("sweep")
def sweep(
    spec: Annotated[str, typer.Option(help="JSON of depths and measures")],
    run: Annotated[list[str], typer.Option(help="name and first-stage run: NAME=RUN")],
    scores: Annotated[Path, typer.Option(help="pairs that score made")],
    qrels: command.Qrels,
    output: Annotated[Path, typer.Option(help="TSV of run, depth, query_id, measure, value")],
) -> None:
    """Evaluate each run at every depth, and at depth 0, where nothing is reranked."""
    form = command.parse_spec(Sweep, spec)
    named = command.named_paths("--run", run, form.depths)
    scored, judged = trec.read_run(scores), trec.read_qrels(qrels)
    tables = {
        name: depths.measured(
            depths.candidates(path, max(form.depths[name]), scored, scores),
            judged,
            form.depths[name],
            form.measures,
        )
        for name, path in named.items()
    }
    rows = [table.with_columns(run=pl.lit(name)) for name, table in tables.items()]
    columns = list(depth_curves.COLUMNS)
    table = pl.concat(rows).select(columns).sort(columns[:-1])
    files.write_text(output, table.write_csv(None, separator="\t", quote_style="never"))
    manifest.write(
        manifest.beside(output),
        artefact={"runs": sorted(named), "queries": judged["query_id"].n_unique()},
        spec=form.model_dump(mode="json"),
        inputs=[*dict.fromkeys(named.values()), scores, qrels],
        module="residuum.rerank",
    )


@app.command("cut")
def cut(
    run: Annotated[Path, typer.Option(help="first-stage run")],
    scores: Annotated[Path, typer.Option(help="pairs that score made")],
    tuning: Annotated[Path, typer.Option(help="what sweep wrote of the tuning split")],
    name: Annotated[str, typer.Option(help="the run's name in --tuning")],
    spec: Annotated[str, typer.Option(help="RerankSystem as JSON")],
    tag: command.Tag,
    output: command.Run,
    record: Annotated[Path, typer.Option(help="JSON to write: the depth and what was tried")],
) -> None:
    """Rerank down to the depth of the best mean on the tuning split; the smallest among equals."""
    system = command.parse_spec(RerankSystem, spec)
    choice = depths.best_depth(depth_curves.read(tuning), name, system.depth, tuning)
    if choice["at_edge"]:
        print(f"warning: depth {choice['depth']} sits at an edge of its grid", file=sys.stderr)
    listed = depths.candidates(run, choice["depth"], trec.read_run(scores), scores)
    whole = depths.with_scores(listed, choice["depth"])
    trec.write_run(output, whole, tag)
    files.write_text(record, json.dumps(choice, indent=1) + "\n")
    facts = {"depth": choice["depth"], "hits": whole.height}
    for path, artefact in ((output, facts), (record, choice)):
        manifest.write(
            manifest.beside(path),
            artefact=artefact,
            spec=system.model_dump(mode="json"),
            inputs=[run, scores, tuning],
            module="residuum.rerank",
        )


if __name__ == "__main__":
    command.main(app)
