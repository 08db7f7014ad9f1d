"""Fuse the runs of several systems: a weighted sum of their scores, and the choice of the weight.

Command: `python -m residuum.fusion tune|fuse ...`. Sources: CLEAR Eq. 8 and section 4, where lambda
weighs the lexical run: lambda * lexical + dense; RoC Eq. 11, where it weighs the dense run.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Annotated

import numpy as np
import polars as pl
import typer

from residuum.artefacts import contracts, manifest, trec
from residuum.artefacts.streams import chunks
from residuum.cli import command
from residuum.cli.errors import ResiduumError
from residuum.config.measures import by_judgements, cutoff, level, reads
from residuum.config.schema.systems import FusionSystem, Normalisation
from residuum.tuning import judgements, unions, weights
from residuum.tuning.choosing import (
    LAMBDA,
    Record,
    Setting,
    Values,
    choose,
    folds_of,
)
from residuum.tuning.evaluation import of_rankings

app = command.app(__doc__)
QUERIES_AT_ONCE = 256  # bounds the pairs in memory
SCALED_DECIMALS = 12
LEAST = 1e-9  # that scores are divided by, as in ranx
QUERY_BITS = 16  # of a pair's key, for the number of its query

SpecText = Annotated[str, typer.Option(help="schema.FusionSystem as JSON")]
Scores = Annotated[list[str] | None, typer.Option(help="a file of true scores: SYSTEM=SCORES")]


@app.command()
def tune(
    spec: SpecText,
    run: command.PartRuns,
    output: Annotated[Path, command.written("JSON to write")],
    qrels: Annotated[
        Path | None, typer.Option(help="TREC qrels of the split, unless the measure is by answers")
    ] = None,
    scores: Scores = None,
    fold: command.Folds = None,
    answers: Annotated[
        Path | None, typer.Option(help="answers of the split, for a measure by answers")
    ] = None,
    corpus: Annotated[
        Path | None, typer.Option(help="corpus folder, for a measure by answers")
    ] = None,
) -> None:
    """Choose lambda on the tuning split: the best mean, and of equal means the first of the grid.

    If the split has folds, or the spec draws some, each fold gets the lambda that is best on the
    other folds. An exact grid also tries 0 and a weight beyond all changes of a value. For a
    measure by answers, docs that hold an answer are relevant, among those that a list can show at
    some lambda.
    """
    system = command.parse_spec(FusionSystem, spec)
    weighting = system.interpolation
    grid, measure = weighting.grid, weighting.measure
    if grid is None or measure is None:
        raise ResiduumError(f"lambda is fixed at {weighting.value}: there is nothing to tune")
    files = Files(system, run, scores or [])
    query_ids, judge = _judging(measure, qrels, answers, corpus)
    with files.refusing_apart():
        record = chosen(system, files.read(), query_ids, judge, fold)
    if record is None:
        named = ", ".join(dict.fromkeys(map(str, files.runs.values())))
        raise ResiduumError(f"{named}: no list of a judged query. Give runs of that split")
    inputs = [*files.runs.values(), *(path for _, path in files.scores), *(fold or [])]
    inputs += [path for path in (qrels, answers, corpus and corpus / "manifest.json") if path]
    record.write(output, system, inputs, "residuum.fusion")


def chosen(
    system: FusionSystem,
    read: Iterable["Lists"],
    query_ids: Sequence[str],
    judge: Callable[[pl.DataFrame], pl.DataFrame],
    fold: list[Path] | None = None,
) -> Record | None:
    """Return the choice of lambda from a grid on judged queries; None if none of them has a list.

    `judge` returns the judgements of the pairs that a list can show.
    """
    weighting = system.interpolation
    grid, measure = weighting.grid, weighting.measure
    assert grid is not None and measure is not None, "lambda is not fixed"
    depth = min(system.k, cutoff(measure) or system.k)
    listed, parts = set[str](), list[pl.DataFrame]()
    for lists in read:
        listed |= lists.query_ids()
        for some in lists.unions(query_ids):
            near = (
                weights.undominated(some, depth)
                if grid == "exact"
                else weights.contenders(some, grid, depth)
            )
            parts.append(trec.owned(near))
    if not parts:
        return None
    folds = folds_of(weighting, listed, query_ids, fold)
    pairs = pl.concat(parts)
    judged = judge(pairs)
    tried = (
        _weights_that_change(pairs, judged, measure, depth, query_ids, folds)
        if grid == "exact"
        else grid
    )
    runs = [ranked(pairs, weight, depth, _decimals(system)) for weight in tried]
    values = of_rankings(runs, judged, by_judgements(measure))
    settings: list[Setting] = [{LAMBDA: weight} for weight in tried]
    return choose(settings, values, query_ids, measure, folds, bounded=grid != "exact")


def _weights_that_change(
    pairs: pl.DataFrame,
    judged: pl.DataFrame,
    measure: str,
    depth: int,
    query_ids: Sequence[str],
    folds: Mapping[str, int],
) -> list[float]:
    """Return the best of all weights at which a list changes; with folds, those of other folds.

    A pair that nobody judged is not relevant.
    """
    relevance = pairs.join(judged, on=trec.PAIR, how="left", maintain_order="left")["relevance"]
    marked = pairs.with_columns(relevant=(relevance >= level(measure)).fill_null(False))

    def find(some_ids: Sequence[str]) -> list[float]:
        some = marked.filter(pl.col("query_id").is_in(some_ids))
        return weights.best(some, some["relevant"], by_judgements(measure), depth)

    return weights.of_folds(find, query_ids, folds)


def _judging(
    measure: str, qrels: Path | None, answers: Path | None, corpus: Path | None
) -> tuple[list[str], Callable[[pl.DataFrame], pl.DataFrame]]:
    """Return the ids of the queries, and what gives the judgements of pairs that lists can show."""
    by_answers = reads(measure) == "answers"
    if by_answers and answers and corpus:
        query_ids = sorted(contracts.read_answers(answers))
        return query_ids, lambda pairs: judgements.of_lists(pairs, query_ids, answers, corpus)
    if qrels and not by_answers:
        judged = trec.read_qrels(qrels)
        return judged["query_id"].unique().sort().to_list(), lambda pairs: judged
    needed = "--answers and --corpus" if by_answers else "--qrels"
    raise ResiduumError(f"interpolation.measure: {measure}: give {needed}")


@app.command()
def fuse(
    spec: SpecText,
    run: command.PartRuns,
    tag: command.Tag,
    output: command.Run,
    tuning: Annotated[
        Path | None, typer.Option(help="JSON that tune wrote, unless lambda is fixed")
    ] = None,
    scores: Scores = None,
    requested: Annotated[
        list[str] | None,
        typer.Option(
            help="PART=K: the part's run has the best K of all docs; repeat for each part"
        ),
    ] = None,
) -> None:
    """Write the fused run with the lambda that tune chose, or with the spec's fixed one.

    The manifest has the share of queries whose first docs are provably those of an exact search. It
    lacks this share if a part gives no true scores or is not `requested`, or a weight is below 0.
    """
    system = command.parse_spec(FusionSystem, spec)
    if system.interpolation.value is not None:
        record = Record.given(LAMBDA, system.interpolation.value)
    elif tuning:
        record = Record.read(tuning)
    else:
        raise ResiduumError("lambda is chosen on a tuning split: give --tuning, written by tune")
    files = Files(system, run, scores or [])
    factors = [float(choice.setting[LAMBDA]) for choice in record.choices]
    proof = unions.Proof(system, factors, requested or [])
    with files.refusing_apart():
        trec.write_run(output, fused(system, files.read(), record, proof, tuning), tag)
    inputs = [*files.runs.values(), *([tuning] if tuning else []), *(p for _, p in files.scores)]
    manifest.write(output, record.facts() | proof.facts(), system, inputs, "residuum.fusion")


def fused(
    system: FusionSystem,
    read: Iterable["Lists"],
    record: Record,
    proof: unions.Proof,
    tuning: Path | None = None,
) -> Iterator[pl.DataFrame]:
    """Yield the fused lists of some queries at once, for which the proof counts queries."""
    for lists in read:
        for pairs in lists.unions():
            weight = _weights(pairs, record, tuning)
            run = ranked(pairs, weight, system.k, _decimals(system))
            if proof.requested:
                query_ids = pairs["query_id"].unique(maintain_order=True).to_list()
                most = lists.outside(query_ids, proof.requested)
                score = _weights(most, record, tuning) * most["weighted"] + most["rest"]
                proof.add(run, most.select("query_id", score=score))
            yield run


def _weights(pairs: pl.DataFrame, record: Record, tuning: Path | None) -> pl.Series | float:
    """Return the lambda of every pair: one for all, or that of its query's fold."""
    if not record.fold_of:
        return float(record.choices[0].setting[LAMBDA])
    query_ids = pairs["query_id"].unique(maintain_order=True)
    settings = record.settings(query_ids, tuning, "lambda", "interpolation")
    of_query = {query_id: setting[LAMBDA] for query_id, setting in settings.items()}
    return pairs["query_id"].replace_strict(of_query, return_dtype=pl.Float64)


class Files:
    """A run of each part of a fusion, and scores of docs that a part did not retrieve."""

    def __init__(self, system: FusionSystem, run: list[str], scores: list[str]) -> None:
        """Take PART=PATH: a run of each part, files of those that give true scores."""
        self.system, self.runs = system, command.named_paths("--run", run, system.parts)
        self.scores = command.pairs(scores)
        scoring = dict.fromkeys(part for part, _ in system.true_scores())
        for part in scoring:
            if part not in dict(self.scores):
                raise ResiduumError(f"{part} gives true scores: name their files with --scores")
        self._true = [(part, path) for part, path in self.scores if part in scoring]

    @contextmanager
    def refusing_apart(self) -> Iterator[None]:
        """Say of an error that the runs are of two splits, if they are: it may follow from that."""
        try:
            yield
        except ResiduumError:
            ids = {
                path: {query_id for part in trec.read_lists(path) for query_id in part["query_id"]}
                for path in self.runs.values()
            }
            trec.refuse_apart(ids)
            raise

    def read(self) -> Iterator["Lists"]:
        """Yield the lists of some queries, then of others with larger ids."""
        parts, paths = zip(*self.runs.items(), *self._true, strict=True)
        for tables in trec.read_together(paths, joined=len(self.runs)):
            yield Lists(self.system, list(zip(parts, tables, strict=True)), self.scores)


class _Scores:
    """The docs and scores of a file, and the rows of each query: where they start and end."""

    def __init__(self, table: pl.DataFrame) -> None:
        """Take the lines of a run, by rising query_id."""
        spans = table["query_id"].rle().struct.unnest()
        ends = spans["len"].cum_sum()
        self.doc_id, self.score = table["doc_id"], table["score"].to_numpy()
        bounds = zip(ends - spans["len"], ends, strict=True)
        self.spans: dict[str, tuple[int, int]] = dict(zip(spans["value"], bounds, strict=True))

    def scaling(self, how: Normalisation) -> dict[str, tuple[float, float]]:
        """Return what is taken from a query's scores, and what they are divided by then."""
        spans = self.spans.items()
        return {query_id: _scaling(self.score[slice(*span)], how) for query_id, span in spans}

    def hits(
        self, query_ids: Sequence[str]
    ) -> tuple[pl.Series, np.ndarray, np.ndarray, np.ndarray]:
        """Return doc_id, score, query's number of some queries' docs, and each one's last score."""
        starts, ends = self._bounds(query_ids)
        rows = np.concatenate(list(map(np.arange, starts, ends)))
        numbers = np.repeat(np.arange(len(starts)), ends - starts)
        return self.doc_id.gather(rows), self.score[rows], numbers, self.last(query_ids)[1]

    def last(self, query_ids: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return how many docs some queries have, and each one's last score: 0 without a list."""
        starts, ends = self._bounds(query_ids)
        scores = self.score if len(self.score) else np.zeros(1)
        return ends - starts, np.where(ends > starts, scores[ends - 1], 0.0)

    def _bounds(self, query_ids: Sequence[str]) -> np.ndarray:
        return np.array([self.spans.get(query_id, (0, 0)) for query_id in query_ids]).T


class Lists:
    """The lists of a fusion's parts, and the scores of docs that a part did not retrieve."""

    def __init__(
        self,
        system: FusionSystem,
        tables: Sequence[tuple[str, pl.DataFrame]],
        scores: Sequence[tuple[str, Path]],
    ) -> None:
        """Take the lists of all parts, then true scores, each with its part; name `scores`."""
        self.system, self._names = system, scores
        self._sources = [(part, _Scores(table)) for part, table in tables]
        self._count = len(system.parts)  # of runs, which come first
        how = system.normalise
        of_runs = self._sources[: self._count]
        self._scaling = {part: run.scaling(how) for part, run in of_runs} if how else {}

    def query_ids(self) -> set[str]:
        """Return the ids of the queries that any part has a list for."""
        runs = self._sources[: self._count]
        return {query_id for _, run in runs for query_id in run.spans}

    def unions(self, query_ids: Sequence[str] | None = None) -> Iterator[pl.DataFrame]:
        """Yield query_id, doc_id, weighted, rest of all lists' docs, some sorted queries at once.

        `weighted` is the score that bears the weight, `rest` the sum of the others.
        """
        known = self.query_ids()
        chosen = known if query_ids is None else known.intersection(query_ids)
        for some in chunks(sorted(chosen), QUERIES_AT_ONCE):
            yield self._union(some)

    def _union(self, query_ids: Sequence[str]) -> pl.DataFrame:
        hits = [source.hits(query_ids) for _, source in self._sources]
        doc_ids, raw, numbers, last = zip(*hits, strict=True)
        of_rows = zip(self._sources, raw, numbers, strict=True)
        values = [self._scaled(part, some, query_ids, rows) for (part, _), some, rows in of_rows]
        of_queries = zip(self._sources, last, strict=True)
        lowest = [self._scaled(part, some, query_ids) for (part, _), some in of_queries]
        doc_id, number = pl.concat(doc_ids), np.concatenate(numbers)
        first, pair = _distinct(number, doc_id)
        ends = np.cumsum([len(scores) for scores in values])
        retrieved = first < ends[self._count - 1]
        scores = {part: np.full(len(first), np.nan) for part in self.system.parts}
        pairs = np.split(pair, ends[:-1])
        for (part, _), given, rows in reversed([*zip(self._sources, values, pairs, strict=True)]):
            scores[part][rows] = given  # its list over true ones
        query, first = number[first[retrieved]], first[retrieved]
        ids = pl.Series(query_ids, dtype=pl.String)
        table = pl.DataFrame({"query_id": ids.gather(query), "doc_id": doc_id.gather(first)})
        listed = {part: ~np.isnan(scores[part][retrieved]) for part in self.system.parts}
        filled = {
            part: self._filled(part, scores[part][retrieved], table, least[query])
            for part, least in zip(self.system.parts, lowest[: self._count], strict=True)
        }
        if self.system.combine == "mnz":
            return self._multiplied(table, np.sum([*filled.values()], axis=0), listed)
        return self._summed(table, filled)

    def _scaled(
        self, part: str, scores: Values, query_ids: Sequence[str], rows: np.ndarray | None = None
    ) -> Values:
        """Return a part's scores, scaled as each query's list is; row i is of query `rows[i]`."""
        if not self._scaling:
            return scores
        scaling = self._scaling[part]
        by, size = np.array([scaling.get(query_id, (0.0, 1.0)) for query_id in query_ids]).T
        which = slice(None) if rows is None else rows
        scaled: Values = (scores - by[which]) / size[which]
        return scaled

    def _multiplied(
        self, table: pl.DataFrame, total: Values, listed: dict[str, np.ndarray]
    ) -> pl.DataFrame:
        """Return each doc's sum of scores, times the weights of the lists that hold the doc."""
        weighting = self.system.interpolation
        factors = {part: weighting.others.get(part, 1.0) for part in listed}
        weighted = total * listed.pop(weighting.weighted)
        others = [factors[part] * has for part, has in listed.items()]
        rest = total * np.sum(others, axis=0)
        return table.with_columns(weighted=weighted, rest=rest)

    def outside(self, query_ids: Sequence[str], requested: Mapping[str, int]) -> pl.DataFrame:
        """Return query_id, weighted, rest: the most that a doc of no list may have."""
        lasts = {part: source.last(query_ids) for part, source in self._sources[: self._count]}
        most = {part: unions.most_outside(*last, requested[part]) for part, last in lasts.items()}
        return self._summed(pl.DataFrame({"query_id": query_ids}), most)

    def _summed(self, table: pl.DataFrame, scores: dict[str, Values]) -> pl.DataFrame:
        weighting = self.system.interpolation
        weighted = scores.pop(weighting.weighted)
        rest, *others = (scores[part] * weighting.others.get(part, 1.0) for part in scores)
        return table.with_columns(weighted=weighted, rest=sum(others, start=rest))

    def _filled(self, part: str, scores: Values, pairs: pl.DataFrame, lowest: Values) -> Values:
        """Give the docs that a part did not retrieve a score by its rule, or raise an error."""
        lacking, rule = np.isnan(scores), self.system.rule(part)
        if rule != "true_score":
            return np.where(lacking, lowest if rule == "minimum" else 0.0, scores)
        if lacking.any():
            query_id, doc_id = pairs.filter(lacking).sort(trec.PAIR).row(0)
            paths = ", ".join(str(path) for scored, path in self._names if scored == part)
            fault = f"no score of {part} for query {query_id}, doc {doc_id}"
            raise ResiduumError(f"{paths}: {fault}. Delete the file and run again.")
        return scores


def _scaling(scores: Values, how: Normalisation) -> tuple[float, float]:
    """Return what is taken from the scores of a list, and what they are divided by then."""
    if how == "zmuv":
        by, size = scores.mean(), scores.std()
    elif how == "max":
        by, size = 0.0, scores.max()
    else:
        by = scores.min()
        size = scores.max() - by if how == "min-max" else (scores - by).sum()
    return float(by), max(float(size), LEAST)


def _distinct(number: np.ndarray, doc_id: pl.Series) -> tuple[np.ndarray, np.ndarray]:
    """Return the first row of each pair of query and doc, sorted by query, and each row's pair.

    Pairs are told apart by a hash of the doc_id; where two docs share it, by another one.
    """
    for seed in count():
        low = doc_id.hash(seed).to_numpy() >> np.uint64(QUERY_BITS)
        keys = low | (number.astype(np.uint64) << np.uint64(64 - QUERY_BITS))
        _, first, pair = np.unique(keys, return_index=True, return_inverse=True)
        later = np.flatnonzero(first[pair] != np.arange(len(keys)))
        if (doc_id.gather(later) == doc_id.gather(first[pair[later]])).all():
            break
    return first, pair


def ranked(
    pairs: pl.DataFrame,
    weight: float | pl.Series,
    k: int,
    decimals: int = trec.SCORE_DECIMALS,
) -> pl.DataFrame:
    """Rank by `weight * weighted + rest` and cut at k; weights may be given per pair."""
    score = weight * pl.col("weighted") + pl.col("rest")
    return trec.rank(pairs.select(*trec.PAIR, score=score), k, decimals)


def _decimals(system: FusionSystem) -> int:
    """Return the decimals of fused scores: more of them where lists are scaled to small scores."""
    return SCALED_DECIMALS if system.normalise else trec.SCORE_DECIMALS


if __name__ == "__main__":
    command.main(app)
