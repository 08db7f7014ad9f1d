"""Score candidates with a cross-encoder once, for all first stages and all depths, and cut.

python -m residuum.rerank score --run RUN ... --depth N --model DIR ... --output PAIRS.trec.gz
python -m residuum.rerank sweep --run NAME=RUN ... --scores PAIRS.trec.gz ... --output TSV
python -m residuum.rerank cut   --run RUN --scores PAIRS.trec.gz --tuning TSV ... --output RUN

Only score loads the model; killed and started again, or asked for more, it scores what is missing.
Must not know how the cross-encoder was trained or how a first stage made its list.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from math import fsum
from pathlib import Path
from typing import Annotated, Any

import polars as pl
import typer
from pydantic import Field

from residuum.core import cells, command, files, manifest, schema, trec
from residuum.core.errors import ResiduumError
from residuum.evaluate import evaluate, parse
from residuum.neural import devices, pretrained
from residuum.neural.crossencoder import CrossEncoder
from residuum.neural.pairscores import PAIR, Store, Texts, fill
from residuum.neural.resume import fingerprint

CANDIDATE_RECALL = re.compile(r"R(?:\(rel=(\d+)\))?")
app = command.app(__doc__)


class Scoring(schema.Strict):
    """Pairs per batch, which has its say in the last digits; pairs that a kill can cost."""

    batch_size: schema.Positive
    part_pairs: schema.Positive = 8192


class Sweep(schema.Strict):
    """What is tried: the depths of each run, and measures of the reranked lists.

    `R(rel=2)`, without a cutoff, is the recall of the candidates, else taken at relevance 1.
    """

    depths: dict[str, list[schema.Positive]] = Field(min_length=1)
    measures: list[str] = Field(min_length=1)


@app.command("score")
def score(
    run: Annotated[list[Path], typer.Option(help="first-stage run, may be repeated")],
    depth: Annotated[list[int], typer.Option(help="candidates of a query, one per --run")],
    queries: Annotated[Path, typer.Option(help="queries.tsv of the split")],
    corpus: Annotated[Path, typer.Option(help="corpus folder")],
    model: Annotated[str, typer.Option(help="cross-encoder: checkpoint folder, or hub id")],
    spec: Annotated[str, typer.Option(help="JSON of batch_size")],
    store: Annotated[Path, typer.Option(help="folder that keeps scored pairs between jobs")],
    output: Annotated[Path, typer.Option(help="scores of all pairs, .trec.gz")],
    revision: Annotated[str | None, typer.Option(help="hub commit of --model")] = None,
    reading: Annotated[str | None, typer.Option(help="schema.Reading of a foreign model")] = None,
    threads: Annotated[int, typer.Option(help="CPU threads; the last digits depend on it")] = 1,
    device: Annotated[str, typer.Option(help="auto, cuda, mps or cpu")] = "auto",
    precision: Annotated[str, typer.Option(help="auto, fp32 or bf16")] = "auto",
) -> None:
    """Score each (query, doc) pair among the top docs of any run once."""
    form = command.parse_spec(Scoring, spec)
    tops = dict(zip(run, depth, strict=True))
    lists = {path: _top(trec.read_run(path), top) for path, top in tops.items()}
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
        artefact=shared(lists, scored),
        spec={**setting, "depths": {str(path): top for path, top in tops.items()}},
        inputs=[*lists, *texts, *local],
        module="residuum.rerank",
    )


def _encoder(
    model: str, revision: str | None, reading: str | None, device: devices.Device
) -> CrossEncoder:
    if reading is not None:
        how = command.parse_spec(schema.Reading, reading)
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


def _top(run: pl.DataFrame, depth: int) -> pl.DataFrame:
    return run.filter(pl.col("rank") <= depth)


@app.command("sweep")
def sweep(
    spec: Annotated[str, typer.Option(help="JSON of depths and measures")],
    run: Annotated[list[str], typer.Option(help="name and first-stage run: NAME=RUN")],
    scores: Annotated[Path, typer.Option(help="pairs that score made")],
    qrels: Annotated[Path, typer.Option(help="TREC qrels")],
    output: Annotated[Path, typer.Option(help="TSV of run, depth, query_id, measure, value")],
) -> None:
    """Evaluate each run at every depth, and at depth 0, where nothing is reranked."""
    form = command.parse_spec(Sweep, spec)
    named = {name: Path(path) for name, _, path in (text.partition("=") for text in run)}
    scored, judged = trec.read_run(scores), trec.read_qrels(qrels)
    if set(named) != set(form.depths):
        raise ResiduumError(f"--spec: depths of {sorted(form.depths)}, but runs {sorted(named)}")
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
    columns = list(cells.SWEEP)
    table = pl.concat(rows).select(columns).sort(columns[:-1])
    files.write_text(output, table.write_csv(None, separator="\t", quote_style="never"))
    manifest.write(
        manifest.beside(output),
        artefact={"runs": sorted(named), "queries": judged["query_id"].n_unique()},
        spec=form.model_dump(mode="json"),
        inputs=[*dict.fromkeys(named.values()), scores, qrels],
        module="residuum.rerank",
    )


def candidates(path: Path, depth: int, scored: pl.DataFrame, scores: Path) -> pl.DataFrame:
    """Return a run with the scores of its top `depth` docs in place of its own, best first.

    Columns query_id, doc_id, rank (in the first stage), score (null below the depth); ties go
    by doc_id. Raises ResiduumError if a doc of the top has no score.
    """
    run = trec.read_run(path).drop("score")
    joined = run.join(scored.select(*PAIR, "score"), on=PAIR, how="left").with_columns(
        pl.when(pl.col("rank") <= depth).then("score")
    )
    lacking = _top(joined, depth).filter(pl.col("score").is_null())
    if lacking.height:
        query_id, doc_id = lacking.sort("query_id", "rank").row(0)[:2]
        raise ResiduumError(
            f"{scores}: no score for query {query_id}, doc {doc_id}, which {path} has above rank "
            f"{depth + 1} ({lacking.height} pairs lack one). Delete the scores and run again."
        )
    return joined.sort("query_id", "score", "doc_id", descending=[False, True, False])


def reranked(listed: pl.DataFrame, depth: int) -> pl.DataFrame:
    """Return what `candidates` gave with the ranks that reranking the top `depth` docs gives."""
    place = pl.int_range(pl.len()).over("query_id") + 1
    rest = listed.filter(pl.col("rank") > depth)
    return pl.concat([_top(listed, depth).with_columns(place.alias("rank")), rest])


def measured(
    listed: pl.DataFrame, qrels: pl.DataFrame, depths: list[int], asked: list[str]
) -> pl.DataFrame:
    """Return depth, query_id, measure, value for every judged query at depth 0 and the others.

    Beside the measures there are `recall`, the share of the relevant docs among the top `depth`,
    and `pairs`, the docs reranked.
    """
    level, measures = _parted(asked)
    last = _last_rank(measures)
    tables: list[pl.DataFrame] = []
    for depth in sorted({0, *depths}):
        ranks = reranked(listed, depth)
        seen = ranks if last is None else _top(ranks, last)
        found = [evaluate(seen, qrels, measures)] if measures else []
        found += _sizes(_top(listed, depth), qrels, level)
        tables += [table.with_columns(depth=pl.lit(depth, pl.Int64)) for table in found]
    return pl.concat(tables)


def _parted(measures: list[str]) -> tuple[int, list[str]]:
    """Split off the recall of candidates; return its relevance level and the other measures."""
    recalls = [found for name in measures if (found := CANDIDATE_RECALL.fullmatch(name))]
    levels = {int(found[1] or 1) for found in recalls} or {1}
    if len(levels) > 1:
        raise ResiduumError(f"--spec: measures: candidate recall at one level, found {levels}")
    others = [name for name in measures if not CANDIDATE_RECALL.fullmatch(name)]
    return levels.pop(), list(dict.fromkeys(others))


def _last_rank(measures: list[str]) -> int | None:
    """Return the rank below which no measure looks; None if one looks at everything."""
    cutoffs = [parse(name).params.get("cutoff") for name in measures]
    return None if None in cutoffs else max(cutoffs, default=1)


def _sizes(top: pl.DataFrame, qrels: pl.DataFrame, level: int) -> list[pl.DataFrame]:
    relevant = qrels.filter(pl.col("relevance") >= level)
    hits = top.join(relevant, on=PAIR, how="semi").group_by("query_id").len("hits")
    counts = relevant.group_by("query_id").len("relevant")
    lengths = top.group_by("query_id").len("pairs")
    table = qrels.select("query_id").unique().sort("query_id")
    for known in (hits, counts, lengths):
        table = table.join(known, on="query_id", how="left", maintain_order="left")
    recall = (pl.col("hits") / pl.col("relevant")).fill_null(0.0)
    columns = {cells.RECALL: recall, cells.PAIRS: pl.col("pairs").fill_null(0).cast(pl.Float64)}
    return [
        table.select("query_id", pl.lit(name).alias("measure"), value.alias("value"))
        for name, value in columns.items()
    ]


@app.command("cut")
def cut(
    run: Annotated[Path, typer.Option(help="first-stage run")],
    scores: Annotated[Path, typer.Option(help="pairs that score made")],
    tuning: Annotated[Path, typer.Option(help="what sweep wrote of the tuning split")],
    name: Annotated[str, typer.Option(help="the run's name in --tuning")],
    spec: Annotated[str, typer.Option(help="schema.RerankSystem as JSON")],
    tag: Annotated[str, typer.Option(help="last column of the run")],
    output: Annotated[Path, typer.Option(help="run to write")],
    record: Annotated[Path, typer.Option(help="JSON to write: the depth and what was tried")],
) -> None:
    """Rerank down to the depth of the best mean on the tuning split; the smallest among equals."""
    system = command.parse_spec(schema.RerankSystem, spec)
    choice = best_depth(cells.read_sweep(tuning), name, system.depth, tuning)
    if choice["at_edge"]:
        print(f"warning: depth {choice['depth']} sits at an edge of its grid", file=sys.stderr)
    listed = candidates(run, choice["depth"], trec.read_run(scores), scores)
    whole = with_scores(listed, choice["depth"])
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


def best_depth(sweep: pl.DataFrame, name: str, depth: schema.Depth, source: Path) -> dict[str, Any]:
    """Return the depth of the grid with the best mean, and the means that were compared."""
    own = sweep.filter((pl.col("run") == name) & (pl.col("measure") == depth.measure))
    tried = []
    for point in sorted(set(depth.grid)):
        values = own.filter(pl.col("depth") == point)["value"].to_list()
        if not values:
            raise ResiduumError(f"{source}: no {depth.measure} of {name} at depth {point}")
        tried.append({"depth": point, "value": fsum(values) / len(values)})
    best = max(tried, key=lambda entry: entry["value"])
    return {
        "depth": best["depth"],
        "at_edge": best["depth"] in (tried[0]["depth"], tried[-1]["depth"]),
        "measure": depth.measure,
        "tried": tried,
        "queries": own["query_id"].n_unique(),
    }


def with_scores(listed: pl.DataFrame, depth: int) -> pl.DataFrame:
    """Return the reranked run: query_id, doc_id, rank, score.

    The top has the reranker's scores. Below it the first stage's order stands, in scores that
    fall by 1 from rank to rank, the first of them 1 below the lowest of the top.
    """
    lowest = pl.col("score").min().over("query_id")
    below = lowest - (pl.col("rank") - depth)
    return trec.rank(listed.with_columns(pl.coalesce("score", below).alias("score")))


if __name__ == "__main__":
    command.main(app)
