"""Whether a model learned: its values on candidates that no step saw, against its start's.

Usage: `verdict, queries = by_ranks(scores, qrels, "RR@10")`. `Learned` is the form of the files
that stage learning writes; `read_all(paths)` reads them.
"""

import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from pydantic import Field

from residuum.artefacts import files, intact, trec
from residuum.cli import command
from residuum.config.schema.base import Strict
from residuum.config.specs import derive
from residuum.tuning import ceilings
from residuum.tuning.choosing import Values
from residuum.tuning.evaluation import of_rankings

SHUFFLES = 20  # random orders of the candidates whose mean stands for chance
ERRORS = 2  # standard errors by which a model must exceed chance
# Measures of models that rank no docs, by the name of what they are compared with.
SHUFFLED = "shuffled docs"
MEASURES = {"mean target": "squared error", "start": "-log p of a token"}


class Learned(Strict):
    """Whether a model learned, with the reason, and the pre-flight of its start.

    `means` has the means of the trained model and of the models or baselines compared with it. They
    are by `measure` over the queries (docs, for errors) of a split. `better` and `worse` count
    queries against the first comparison. `preflight` comes from the model's manifest. `course` has
    the means of a loss's cos^2 over the first and the last tenth of the steps, from its log.
    """

    split_ref: str
    learned: bool
    reason: str
    measure: str
    examples: int
    means: dict[str, float]
    better: int
    worse: int
    preflight: dict[str, float] = Field(default={})
    course: dict[str, tuple[float, float]] = Field(default={}, exclude_if=lambda course: not course)

    @classmethod
    def read(cls, path: Path) -> "Learned":
        """Read a verdict. An error names the file and the key."""
        return command.parse_spec(cls, files.read_bytes(intact.checked(path)), str(path))

    def write(self, path: Path) -> None:
        """Write the verdict."""
        files.write_text(path, json.dumps(self.model_dump(), indent=1) + "\n")


def read_all(paths: Iterable[Path]) -> dict[str, Learned]:
    """Return the verdicts by model, as <model>/seed<n> of their paths."""
    return {f"{path.parent.name}/{path.stem}": Learned.read(path) for path in paths}


class Verdict(NamedTuple):
    """Whether values are better, the reason, means by name, counts against the first comparison."""

    learned: bool
    reason: str
    means: dict[str, float]
    better: int
    worse: int


def by_ranks(scores: pl.DataFrame, qrels: pl.DataFrame, measure: str) -> tuple[Verdict, int]:
    """Judge scores of candidates (query_id, doc_id, start, trained); also count the queries.

    A model learned if its mean is above its start's and above chance. Chance is the mean of random
    orders of the same candidates, plus two standard errors. Equal scores are ordered at random, as
    in the random orders.
    """
    orders = [_order(scores, pl.col("trained")), _order(scores, pl.col("start"))]
    orders += [_order(scores, pl.lit(0.0), seed) for seed in range(1, SHUFFLES + 1)]
    trained, start, *random = of_rankings(orders, qrels, measure)
    chance = np.mean(random, axis=0)
    error = error_of(trained - chance)
    means = {"trained": _mean(trained), "start": _mean(start), "random order": _mean(chance)}
    above = means["trained"] > means["random order"] + ERRORS * error
    verdict = _verdict(trained - start, means, measure)
    if above or not verdict.learned:
        return verdict, len(trained)
    text = f"{measure} {means['trained']:.3f} is within {ERRORS} standard errors of a random order"
    reason = f"{text} of the same candidates, {means['random order']:.3f} ± {error:.3f}"
    return verdict._replace(learned=False, reason=reason), len(trained)


def by_columns(scores: pl.DataFrame, qrels: pl.DataFrame, measure: str) -> dict[str, Values]:
    """Return the values (queries,) of each order of candidates.

    `scores` has query_id, doc_id and a column of scores for each order.
    """
    names = [name for name in scores.columns if name not in trec.PAIR]
    orders = [_order(scores, pl.col(name)) for name in names]
    return dict(zip(names, of_rankings(orders, qrels, measure), strict=True))


class OnCandidates(NamedTuple):
    """What a reranker makes of a run's first docs: its mean, that of random orders, and the error.

    The error is that of the difference of both means, over queries.
    """

    run: str
    depth: int
    mean: float
    chance: float
    error: float

    @property
    def above(self) -> float:
        """How many standard errors the reranker is above random orders."""
        gain = self.mean - self.chance
        return gain / self.error if self.error else math.copysign(math.inf, gain)


def on_candidates(curve: pl.DataFrame, qrels: pl.DataFrame, measure: str) -> list[OnCandidates]:
    """Return what a reranker makes of each run's docs down to the deepest depth of its curve.

    `curve` is a curve over depths. Chance is the expected value of a random order of the same docs,
    by the number of relevant docs among them, so `measure` must count first relevant docs alone,
    of any level.
    """
    relevant = dict(qrels.filter(pl.col("relevance") >= 1).group_by("query_id").len().rows())
    judged, made = qrels["query_id"].unique(), list[OnCandidates]()
    for (run,), rows in curve.partition_by("run", as_dict=True, maintain_order=True).items():
        depth = int(rows["depth"].to_numpy().max())
        there = rows.filter((pl.col("depth") == depth) & pl.col("query_id").is_in(judged.implode()))
        wide = there.pivot("measure", index="query_id", values="value").sort("query_id")
        read = wide.select("query_id", trec.RECALL, trec.DOCS_RERANKED).iter_rows()
        counts = [(round(recall * relevant.get(q, 0)), round(docs)) for q, recall, docs in read]
        chances = [ceilings.chance(measure, [1] * n, [1] * n, docs) for n, docs in counts]
        gain = wide[measure].to_numpy() - np.array(chances, dtype=float)
        error = error_of(gain)
        mean = _mean(wide[measure].to_numpy())
        made.append(OnCandidates(str(run), depth, mean, mean - _mean(gain), error))
    return made


def with_candidates(verdict: Verdict, runs: Sequence[OnCandidates], measure: str) -> Verdict:
    """Add to a reranker's verdict what it makes of the candidates that it will see.

    It learned only if it is more than two standard errors above chance on those of every run. Means
    are those of the run with which it fares worst.
    """
    if not runs:
        return verdict
    worst = min(runs, key=lambda one: one.above)
    docs = f"first {worst.depth} docs of {worst.run}"
    means = {**verdict.means, docs: worst.mean, "random order of these": worst.chance}
    verdict = verdict._replace(means=means)
    if worst.above > ERRORS or not verdict.learned:
        return verdict
    text = (
        f"{measure} {worst.mean:.3f} on the {docs} is within {ERRORS} standard errors of a random"
    )
    reason = f"{text} order of them, {worst.chance:.3f} ± {worst.error:.3f}"
    return verdict._replace(learned=False, reason=reason)


def by_errors(trained: Values, other: Values, name: str, shuffled: Values | None = None) -> Verdict:
    """Judge errors of examples, where less is better, against the errors of `name`.

    With `shuffled` errors, a model learned only if it is also more than two standard errors below
    them.
    """
    means = {"trained": _mean(trained), name: _mean(other)}
    if shuffled is None:
        return _verdict(other - trained, means, MEASURES[name])
    gain, means = shuffled - trained, {**means, SHUFFLED: _mean(shuffled)}
    verdict = _verdict(other - trained, means, MEASURES[name])
    error = error_of(gain)
    if _mean(gain) > ERRORS * error or not verdict.learned:
        return verdict
    text = f"{MEASURES[name]} {means['trained']:.4g} is within {ERRORS} standard errors of that of"
    reason = f"{text} {SHUFFLED}, {means[SHUFFLED]:.4g} ± {error:.2g}"
    return verdict._replace(learned=False, reason=reason)


def error_of(gain: Values) -> float:
    """Return the standard error of a mean; infinite for a single value."""
    return float(gain.std(ddof=1)) / math.sqrt(len(gain)) if len(gain) > 1 else math.inf


def _verdict(gain: Values, means: dict[str, float], measure: str) -> Verdict:
    (_, trained), (name, other), *_ = means.items()
    learned = float(math.fsum(gain)) > 0
    word = "better than" if learned else "no better than"
    reason = f"{measure} {trained:.4g} is {word} {other:.4g}, that of the {name}"
    return Verdict(learned, reason, means, int((gain > 0).sum()), int((gain < 0).sum()))


def _order(scores: pl.DataFrame, by: pl.Expr, seed: int = 0) -> pl.DataFrame:
    """Return the candidates ranked by a score; a hash of ids and seed orders equal scores."""
    chance = [derive(seed, "order", *pair) for pair in scores.select(trec.PAIR).iter_rows()]
    ranked = scores.with_columns(pl.Series("chance", chance), score=-by).sort(
        "query_id", "score", "chance", "doc_id"
    )
    return ranked.select(*trec.PAIR, trec.POSITION.alias("rank"))


def _mean(values: Values) -> float:
    return math.fsum(values) / len(values)
