"""Score candidates with a reranker once, for all first stages and all depths, and cut.

Command: `python -m residuum.rerank score|depths|cut ...`. A reranker is a cross-encoder, or an
encoder whose vectors score pairs. Only score loads it, for one shard of a split's queries; started
again, for the same pairs or more, it scores what is missing. The others read all shards' scores in
the order of query ids, so that memory holds some queries' lists.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol

import numpy as np
import polars as pl
import typer
from pydantic import Field

from residuum.artefacts import files, manifest, trec
from residuum.cli import command
from residuum.cli.errors import ResiduumError
from residuum.cli.progress import track
from residuum.code.tables import OpenTable
from residuum.config.measures import cutoff
from residuum.config.schema.base import Positive, Strict
from residuum.config.schema.encoder import TextKind
from residuum.config.schema.reading import Reading, Windows
from residuum.config.schema.settings import Depth
from residuum.config.schema.systems import RerankSystem
from residuum.neural import devices, pretrained
from residuum.neural.resumable import fingerprint, log, open_folder
from residuum.neural.tokens import Cut, PassageStore, Readable, Texts, TokenStore, windows_of
from residuum.tuning.choosing import Record, choose, folds_of
from residuum.tuning.evaluation import evaluate

if TYPE_CHECKING:
    from residuum.neural.learners import ScorePairs

app = command.app(__doc__)
SCORED = pl.Schema({"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64})
LISTED = pl.Schema({**SCORED, "rank": pl.Int64()})
Scores = Annotated[list[Path], typer.Option(help="pairs that score made, of each shard in order")]
CANDIDATE_RECALL = re.compile(r"R(?:\(rel=(\d+)\))?")


class Reranker(Protocol):
    """A model that scores pairs of a query and a doc, given as tokens."""

    settings: Strict
    model: Any
    sizes: devices.AdaptiveBatchSize

    def cut(self, windows: Windows | None) -> Cut:
        """Return the function that cuts a doc's record into texts: its text, or its passages."""

    def tokenise(self, texts: Iterable[str], kind: TextKind) -> Iterator[np.ndarray]:
        """Yield each text's token ids, cut to the length of queries or docs."""

    def lengths(self, queries: np.ndarray, docs: np.ndarray) -> np.ndarray:
        """Return what pairs' times rise with, given their numbers of tokens: integers (pairs,)."""

    def asked(self, queries: Sequence[np.ndarray], batch_size: int) -> ScorePairs:
        """Return a function that scores docs for queries."""


RERANKERS: OpenTable[Any] = OpenTable(
    {
        "cross-encoder": "residuum.neural.crossencoder:CrossEncoder",
        "encoder": "residuum.neural.matching:Matcher",
    },
    "kind of reranker",
)


class Scoring(Strict):
    """Pairs or texts per batch, which last digits depend on; pairs that a kill can cost.

    Without a kind, the reranker is an encoder, whose own files say which one.
    """

    kind: Literal["cross-encoder"] | None = None
    batch_size: Positive
    part_pairs: Positive = 8192


class Tried(Strict):
    """What is tried: the depths of each run, and measures of the reranked lists."""

    depths: dict[str, list[Positive]] = Field(min_length=1)
    measures: list[str] = Field(min_length=1)


@app.command("score")
def score(
    run: Annotated[list[Path], typer.Option(help="first-stage run, may be repeated")],
    depth: Annotated[
        list[int], typer.Option(help="candidates of a query; one number for each --run")
    ],
    queries: command.Queries,
    corpus: command.Corpus,
    model: Annotated[list[str], typer.Option(help="reranker: checkpoint folder, or hub id")],
    spec: Annotated[str, typer.Option(help="JSON of Scoring: kind, batch_size and part_pairs")],
    store: Annotated[Path, command.written("folder that keeps scored pairs between jobs")],
    output: Annotated[Path, command.written("scores of all pairs, .trec.gz")],
    revision: command.Revision = None,
    pickled: command.Pickled = False,
    reading: Annotated[
        str | None, typer.Option(help="JSON of Reading, for a model that residuum did not train")
    ] = None,
    threads: command.Threads = 1,
    device: command.Device = "auto",
    precision: command.Precision = "auto",
    arithmetic: command.Arithmetic = "native",
    fold: command.Folds = None,
    windows: command.Windows = None,
    asking: Annotated[
        Path | None, typer.Option(help="checkpoint that reads queries, if it is not the docs'")
    ] = None,
    shard: command.Shard = 0,
    of: command.Of = 1,
) -> None:
    """Score each (query, doc) pair among the top docs of any run once, for one shard of queries.

    A doc that is read in passages has the score of its best passage; of a late encoder, it has the
    vectors of all its passages. With --fold, given as often as --model, each model scores the pairs
    of its own fold's queries.
    """
    config = command.parse_spec(Scoring, spec)
    form = windows_of(windows)
    cuts = dict(zip(run, depth, strict=True))
    required, each = _required(cuts, _within(queries, shard, of))
    chosen = devices.choose(device, precision, threads, arithmetic)
    texts, named = [queries, corpus / "manifest.json"], Texts(queries, corpus, "a first-stage run")
    parts = []
    if not config.kind and (reading or revision or pickled):
        option = "--reading" if reading else "--revision" if revision else "--pickled"
        raise ResiduumError(f"{option} is of a cross-encoder: give --spec a kind, or leave it out")
    for name, folder, share in shares(required, model, fold or [], store):
        encoder = reranker_of(config, name, revision, reading, pickled, asking, chosen)
        local = Path(name).is_dir()
        setting = {
            "reading": encoder.settings.model_dump(mode="json"),
            "hub": None if local else [name, pretrained.commit(encoder.model) or revision],
            "batch_size": config.batch_size,
            "threads": threads,
            "device": chosen.name,
            "precision": chosen.precision,
            "arithmetic": chosen.arithmetic,
            **({"windows": form.model_dump()} if form else {}),
        }
        folders = [path for path in (Path(name), asking) if path and path.is_dir()]
        checkpoint = [file for path in folders for file in pretrained.parts(path)]
        with files.alone(folder):
            kept = Store(folder, fingerprint("residuum.rerank", setting, [*texts, *checkpoint]))
            rest = share.join(kept.read(), on=trec.PAIR, how="anti")
            kept.fill(rest, encoder, named, config.batch_size, config.part_pairs, form)
            parts.append(share.join(kept.read(), on=trec.PAIR, how="left"))
    scored = trec.rank(pl.concat([part for part in parts if part.height] or parts[:1]))
    trec.write_run(output, scored, "scores")
    alone = sum(each.values())
    facts = {
        "shard": {"number": shard, "of": of},
        "pairs": scored.height,
        "pairs_without_sharing": alone,
        "saved": 1 - scored.height / alone if alone else 0.0,
        "pairs_per_run": each,
        "queries": scored["query_id"].n_unique(),
        "docs": scored["doc_id"].n_unique(),
    }
    setting["depths"] = {str(path): cut for path, cut in cuts.items()}
    models = [path for path in map(Path, model) if path.is_dir()]
    inputs = [*cuts, *texts, *models, *([asking] if asking else []), *(fold or [])]
    manifest.write(output, {**facts, **encoder.sizes.facts()}, setting, inputs, "residuum.rerank")


def _within(queries: Path, shard: int, of: int) -> pl.Expr:
    """Return the filter of a shard's queries, which are neighbours in the order of their ids.

    An id that the file of queries lacks falls into one of the shards, too.
    """
    if not 0 <= shard < of:
        raise ResiduumError(f"--shard {shard} --of {of}: shards are counted from 0 to {of - 1}")
    ids, mine = sorted(trec.read_queries(queries)), pl.lit(value=True)
    first, end = len(ids) * shard // of, len(ids) * (shard + 1) // of
    if shard:
        mine &= pl.col("query_id") >= ids[first] if first < len(ids) else pl.lit(value=False)
    if shard < of - 1 and end < len(ids):
        mine &= pl.col("query_id") < ids[end]
    return mine


def _required(cuts: dict[Path, int], mine: pl.Expr) -> tuple[pl.DataFrame, dict[str, int]]:
    """Return the pairs of queries and docs to score, each once, and how many each run has."""
    pairs, each = [pl.DataFrame(schema=SCORED).select(trec.PAIR)], dict.fromkeys(map(str, cuts), 0)
    for tables in trec.read_together([*cuts]):
        tops = []
        for (path, depth), table in zip(cuts.items(), tables, strict=True):
            tops.append(trec.cut(table.filter(mine), depth).select(trec.PAIR))
            each[str(path)] += tops[-1].height
        pairs.append(trec.owned(pl.concat(tops).unique(maintain_order=True)))
    return pl.concat(pairs), each


def shares(
    pairs: pl.DataFrame, models: list[str], folds: list[Path], store: Path
) -> Iterator[tuple[str, Path, pl.DataFrame]]:
    """Yield each model, the folder of its store, and its share of the pairs: all, or its fold's."""
    if len(models) != (len(folds) or 1):
        raise ResiduumError(f"--fold: {len(folds)} folds for {len(models)} models; one for each")
    if not folds:
        yield models[0], store, pairs
        return
    for model, path in zip(models, folds, strict=True):
        in_fold = pl.col("query_id").is_in(list(trec.read_queries(path)))
        yield model, store / path.parent.name, pairs.filter(in_fold)


def reranker_of(
    config: Scoring,
    model: str,
    revision: str | None,
    reading: str | None,
    pickled: bool,
    asking: Path | None,
    device: devices.Device,
) -> Reranker:
    """Return the model that scores pairs: a cross-encoder, or an encoder where no kind is given."""
    if config.kind:
        return load(model, revision, reading, pickled, device)
    made: Reranker = RERANKERS["encoder"].load(Path(model), asking, device)
    return made


def load(
    model: str, revision: str | None, reading: str | None, pickled: bool, device: devices.Device
) -> Reranker:
    """Return a cross-encoder: our own, or with `reading` one that others trained."""
    form, local = RERANKERS["cross-encoder"], Path(model).is_dir()
    if reading is None and not local:
        raise ResiduumError(f"{model}: not a directory; a model of the hub needs --reading")
    if reading is None:
        made: Reranker = form.load(Path(model), device)
        return made
    read = command.parse_spec(Reading, reading, "--reading")
    source = pretrained.Source(model, revision, released=True, pickled=pickled)
    made = form(source, read, device).freeze()
    return made


class Store:
    """Scored pairs, kept in files that appear whole. Pairs of other work are thrown away."""

    def __init__(self, folder: Path, mark: str) -> None:
        open_folder(folder, mark)
        self.folder = folder

    def read(self) -> pl.DataFrame:
        """Return query_id, doc_id, score of all stored pairs; drop a damaged part."""
        kept = list[pl.DataFrame]()
        for path in sorted(self.folder.glob("part-*.parquet")):
            try:
                kept.append(pl.read_parquet(path.read_bytes()).select(*SCORED))
            except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
                log(f"{path}: cannot be read, its pairs are scored again ({error})")
                path.unlink()
        scored = pl.concat(kept or [pl.DataFrame(schema=SCORED)])
        return scored.unique(trec.PAIR, keep="first", maintain_order=True)

    def _add(self, scored: pl.DataFrame) -> None:
        parts = self.folder.glob("part-*.parquet")
        numbers = [int(path.stem.partition("-")[2]) for path in parts]
        with files.whole(self.folder / f"part-{max(numbers, default=-1) + 1:05d}.parquet") as path:
            scored.write_parquet(path)

    def fill(
        self,
        rest: pl.DataFrame,
        model: Reranker,
        texts: Readable,
        batch_size: int,
        part_pairs: int,
        windows: Windows | None = None,
    ) -> None:
        """Score pairs (query_id, doc_id) and keep them, a file for each part of `scored_parts`."""
        for part in scored_parts(rest, model, texts, batch_size, part_pairs, windows):
            self._add(part)


def scored_parts(
    pairs: pl.DataFrame,
    model: Reranker,
    texts: Readable,
    batch_size: int,
    part_pairs: int,
    windows: Windows | None = None,
) -> Iterator[pl.DataFrame]:
    """Yield query_id, doc_id, score of pairs (query_id, doc_id), `part_pairs` at once.

    The longest come first. Memory holds the tokens of each text once, and the pairs' ids. Sorting
    by length lets a part fill its batches; then the pairs of a doc are neighbours, so that an
    encoder reads it once, or twice where a part ends. Raises ResiduumError if a text is missing.
    """
    if not pairs.height:
        return
    query_texts = texts.read("query", {*pairs["query_id"]})
    queries = TokenStore(query_texts, partial(model.tokenise, kind="query"))
    texts_of, records = model.cut(windows), texts.docs({*pairs["doc_id"]})
    doc_texts = ((doc_id, texts_of(record)) for doc_id, record in records)
    docs = PassageStore(doc_texts, partial(model.tokenise, kind="doc"))
    length = model.lengths(
        _lengths(pairs["query_id"], lambda ids: map(len, queries.tokens(ids))),
        _lengths(pairs["doc_id"], lambda ids: (max(map(len, p)) for p in docs.tokens(ids))),
    )
    ordered = pairs.with_columns(length=-length).sort("length", "doc_id", "query_id")
    asked = pairs["query_id"].unique().sort()
    scores = model.asked(queries.tokens(asked.to_list()), batch_size)
    parts = -(-pairs.height // part_pairs)
    for part in track(ordered.iter_slices(part_pairs), "score", total=parts, unit="parts"):
        read = part["doc_id"].unique(maintain_order=True)
        numbers = _numbers(part["query_id"], asked), _numbers(part["doc_id"], read)
        made = scores(docs.tokens(read.to_list()), *numbers)
        yield part.select(trec.PAIR).with_columns(score=made)


def _numbers(ids: pl.Series, known: pl.Series) -> np.ndarray:
    """Return the place of each id among the known ones."""
    return ids.replace_strict(known, range(len(known)), return_dtype=pl.Int64).to_numpy()


def _lengths(ids: pl.Series, sizes: Callable[[list[str]], Iterable[int]]) -> np.ndarray:
    keys = ids.unique()
    each = list(sizes(keys.to_list()))
    return ids.replace_strict(keys, each, return_dtype=pl.Int64).to_numpy()


@app.command("depths")
def depths(
    spec: Annotated[str, typer.Option(help="JSON of Tried: depths and measures")],
    run: Annotated[list[str], typer.Option(help="name and first-stage run: NAME=RUN")],
    scores: Scores,
    qrels: command.Qrels,
    output: Annotated[Path, command.written("TSV of run, depth, query_id, measure, value")],
) -> None:
    """Evaluate each run at every depth, and at depth 0, where nothing is reranked."""
    config = command.parse_spec(Tried, spec)
    runs = command.named_paths("--run", run, config.depths)
    judged = trec.read_qrels(qrels)
    left, tables = dict.fromkeys(runs, judged), list[pl.DataFrame]()

    def measure(name: str, lists: pl.DataFrame, some: pl.DataFrame) -> None:
        if some.height:
            curve = measured(lists, some, config.depths[name], config.measures)
            tables.append(curve.with_columns(run=pl.lit(name)))

    deepest = {name: (path, max(config.depths[name])) for name, path in runs.items()}
    for part in candidates(deepest, scores):
        for name, listed in part.items():
            some = left[name].join(listed, on="query_id", how="semi", maintain_order="left")
            left[name] = left[name].join(listed, on="query_id", how="anti", maintain_order="left")
            lists = listed.join(some, on="query_id", how="semi", maintain_order="left")
            measure(name, lists, some)
    for name, rest in left.items():
        measure(name, pl.DataFrame(schema=LISTED), rest)
    trec.write_curve(output, pl.concat(tables))
    facts = {"runs": sorted(runs), "queries": judged["query_id"].n_unique()}
    inputs = [*dict.fromkeys(runs.values()), *scores, qrels]
    manifest.write(output, facts, config, inputs, "residuum.rerank")


@app.command("cut")
def cut(
    run: Annotated[Path, typer.Option(help="first-stage run")],
    scores: Scores,
    name: Annotated[str, typer.Option(help="the run's name in --curve")],
    spec: Annotated[str, typer.Option(help="RerankSystem as JSON")],
    tag: command.Tag,
    output: command.Run,
    record: Annotated[Path, command.written("JSON to write: the depth and what was tried")],
    curve: Annotated[Path | None, typer.Option(help="TSV of depths, if depth is tuned")] = None,
    fold: command.Folds = None,
) -> None:
    """Rerank down to the fixed depth, or to that of the best mean on the tuning split.

    If the split has folds, or the spec draws some, each fold gets the depth that is best on the
    other folds. Below that depth docs keep the first stage's order. Their scores fall by 1 from the
    reranker's lowest score.
    """
    system = command.parse_spec(RerankSystem, spec)
    if fixed := system.depth.fixed():
        chosen = Record.given("depth", fixed)
    elif curve:
        read = trec.read_lists(run) if system.depth.drawn else ()
        listed = {query_id for part in read for query_id in part["query_id"].unique()}
        tried = trec.read_curve(curve)
        chosen = best_depth(tried, name, system.depth, curve, listed, fold)
    else:
        raise ResiduumError("depth is chosen on a tuning split: give --curve, written by depths")
    parts = candidates({name: (run, deepest(chosen))}, scores)
    lists = (reranked(part[name], depths_of(part[name], chosen, curve)) for part in parts)
    written = trec.write_run(output, lists, tag)
    inputs = [run, *scores, *([curve] if curve else []), *(fold or [])]
    facts = chosen.facts() | {"hits": written.hits}
    manifest.write(output, facts, system, inputs, "residuum.rerank")
    chosen.write(record, system, inputs, "residuum.rerank")


def deepest(record: Record) -> int:
    """Return the largest of the depths that were chosen."""
    return max(int(choice.setting["depth"]) for choice in record.choices)


def depths_of(listed: pl.DataFrame, record: Record, source: Path | None) -> pl.Expr | int:
    """Return the depth of each line of lists: one for all, or that of its query's fold.

    Raises ResiduumError for a query of no fold; `source` names where depths were tried.
    """
    if not record.fold_of:
        return deepest(record)
    query_ids = listed["query_id"].unique(maintain_order=True)
    settings = record.settings(query_ids, source, "the depth", "depth")
    of_query = {query_id: setting["depth"] for query_id, setting in settings.items()}
    return pl.col("query_id").replace_strict(of_query, return_dtype=pl.Int64)


def reranked(listed: pl.DataFrame, depth: pl.Expr | int) -> pl.DataFrame:
    """Rank lists as `candidates` yields them; below the depth scores fall by 1 from the lowest."""
    top = pl.when(pl.col("rank") <= depth).then("score")
    below = top.min().over("query_id") - (pl.col("rank") - depth)
    return trec.rank(listed.with_columns(score=pl.coalesce(top, below)))


def candidates(
    runs: Mapping[str, tuple[Path, int]], scores: Sequence[Path]
) -> Iterator[dict[str, pl.DataFrame]]:
    """Yield, by name, runs with the scores of their top docs in place of their own, best first.

    A run's value is its path, and how many docs of a query are at the top. Runs come in parts of
    whole queries, with the columns of LISTED. The rank is that of the first stage, and the score is
    null below the top. Raises ResiduumError for a doc at the top that has no score.
    """
    paths = [*dict.fromkeys(path for path, _ in runs.values())]
    for *tables, scored in trec.read_together(paths, shards=scores):
        part = dict(zip(paths, tables, strict=True))
        listed = {name: joined(part[path], depth, scored) for name, (path, depth) in runs.items()}
        for name, (path, depth) in runs.items():
            lacking = trec.cut(listed[name], depth).filter(pl.col("score").is_null())
            if lacking.height:
                query_id, doc_id = lacking.sort("query_id", "rank").row(0)[:2]
                fault = f"no score for query {query_id}, doc {doc_id}, which {path} has above rank"
                more = f"({lacking.height} pairs lack one). Delete the scores and run again."
                place = scores[0] if len(scores) == 1 else scores[0].parent
                raise ResiduumError(f"{place}: {fault} {depth + 1} {more}")
        yield listed


def joined(run: pl.DataFrame, depth: int | pl.Expr, scores: pl.DataFrame) -> pl.DataFrame:
    """Return lists with scores of their top docs in place of their own, best first."""
    both = run.drop("score").join(scores.select(*SCORED), on=trec.PAIR, how="left")
    both = both.with_columns(pl.when(pl.col("rank") <= depth).then("score"))
    return both.sort("query_id", "score", "doc_id", descending=[False, True, False])


def measured(
    listed: pl.DataFrame, qrels: pl.DataFrame, depths: list[int], names: list[str]
) -> pl.DataFrame:
    """Return depth, query_id, measure, value for every judged query at depth 0 and the others.

    Two more measures are `docs_reranked` and `recall`, the share of the relevant docs among the top
    `depth`. Docs of relevance 1 count as relevant, or of the relevance that `R(rel=2)` names.
    """
    recalls = [match for name in names if (match := CANDIDATE_RECALL.fullmatch(name))]
    levels = {int(match[1] or 1) for match in recalls} or {1}
    if len(levels) > 1:
        raise ResiduumError(
            f"--spec: measures: give candidate recall at one level, not at {levels}"
        )
    measures = list(dict.fromkeys(n for n in names if not CANDIDATE_RECALL.fullmatch(n)))
    cutoffs = [cutoff(name) for name in measures]
    last = max([depth for depth in cutoffs if depth], default=1)
    tables: list[pl.DataFrame] = []
    for depth in sorted({0, *depths}):
        top, rest = trec.cut(listed, depth), listed.filter(pl.col("rank") > depth)
        reranked = pl.concat([top.with_columns(rank=trec.POSITION), rest])
        seen = trec.cut(reranked, last) if all(cutoffs) else reranked
        curve = [evaluate(seen, qrels, measures)] if measures else []
        curve.append(_sizes(top, qrels, *levels))
        tables.append(pl.concat(curve).with_columns(depth=pl.lit(depth, pl.Int64)))
    return pl.concat(tables)


def _sizes(top: pl.DataFrame, qrels: pl.DataFrame, level: int) -> pl.DataFrame:
    relevant = qrels.filter(pl.col("relevance") >= level)
    hits = top.join(relevant, on=trec.PAIR, how="semi")
    table = qrels.select("query_id").unique()
    for name, rows in {"hits": hits, "relevant": relevant, "top": top}.items():
        table = table.join(rows.group_by("query_id").len(name), on="query_id", how="left")
    recall = (pl.col("hits") / pl.col("relevant")).fill_null(0.0).alias(trec.RECALL)
    docs = pl.col("top").fill_null(0).cast(pl.Float64).alias(trec.DOCS_RERANKED)
    columns = table.select("query_id", recall, docs)
    return columns.unpivot(index="query_id", variable_name="measure", value_name="value")


def best_depth(
    curve: pl.DataFrame,
    name: str,
    depth: Depth,
    source: Path,
    listed: Iterable[str] = (),
    fold: Sequence[Path] | None = None,
) -> Record:
    """Return the record of the depth of a run that is chosen from a grid, for each fold if any.

    `listed` are the queries that the run has lists of.
    """
    measure, grid = str(depth.measure), list(dict.fromkeys(depth.grid or []))
    of_run = curve.filter(run=name, measure=measure)
    values = [of_run.filter(depth=tried)["value"].to_list() for tried in grid]
    if [] in values:
        missing = grid[values.index([])]
        raise ResiduumError(f"{source}: no {measure} of {name} at depth {missing}")
    query_ids = of_run.filter(depth=grid[0])["query_id"].to_list()
    folds = folds_of(depth, listed, query_ids, fold)
    return choose([{"depth": tried} for tried in grid], np.array(values), query_ids, measure, folds)


if __name__ == "__main__":
    command.main(app)
