"""Compare TREC runs of any origin: measures, paired tests, and a table like the papers' tables.

Usage: `compared(judged, runs, measures, tests)` on frames, whose pages are those of `report` on
files. Neither needs config/ or Snakemake.
"""

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import polars as pl
from pydantic import ValidationError

from residuum import paired
from residuum.artefacts import exported, files, trec
from residuum.cli import command
from residuum.cli.errors import NotRun, ResiduumError, printable, unknown
from residuum.collections.files import read_qrels
from residuum.config import measures
from residuum.config.measures import is_hit, is_tested, mean
from residuum.config.schema.tests import Tests
from residuum.pages import grids, layout, notes
from residuum.pages.layout import Layout, TextCell
from residuum.paired import Comparison, ScoreMatrix, reproduction
from residuum.paired.comparisons import digits
from residuum.paired.coverage import Coverage, coverage
from residuum.tuning.evaluation import evaluate, refuse_unjudged

SEPARATOR = re.compile(r"[\s,]+(?![^(]*\))")  # white space or commas, but not within brackets
JSON = ".json"  # ending of BEIR's runs
ENDINGS = re.compile(r"(\.gz|\.trec|\.run|\.txt|\.res|\.json)+$")
RELEVANT = 1  # lowest relevance that counts in measures without a level
Scores = dict[tuple[str, str], ScoreMatrix]  # (run, measure): values per query


def report(
    qrels: Path,
    runs: Sequence[str],
    measures: Sequence[str],
    options: Mapping[str, object],
    baselines: Sequence[str] = (),
    original: str | None = None,
    missing: Literal["refuse", "zero"] = "refuse",
    form: Literal["markdown", "latex"] = "markdown",
    output: Path | None = None,
    workers: int = 1,
) -> str:
    """Return the pages of a comparison, tested by `Tests`' options.

    The values are written without rounding to `output`. With an `original` run, every other run is
    compared with the original alone, and a page says how close it is.
    """
    tests, judged = tests_of(options), read_qrels(qrels)
    named, remarks = read(runs, judged, missing)
    requested = split(measures)
    made = compared(judged, named, requested, tests, remarks, baselines, original, workers)
    if output:
        files.write_text(output, made.table().write_csv(separator="\t"))
    return layout.together(made.pages(), form)


def tests_of(options: Mapping[str, object]) -> Tests:
    """Return how runs are tested, by the options of `Tests`."""
    try:
        return Tests.model_validate(options)
    except ValidationError as error:
        raise ResiduumError(command.describe("options", error)) from None


def split(measures: Sequence[str]) -> list[str]:
    """Return the measures that texts name, parted by commas or white space."""
    requested = [*dict.fromkeys(n for text in measures for n in SEPARATOR.split(text) if n)]
    if not requested:
        raise ResiduumError("--measures is empty; name some, as 'RR@10 nDCG@10'")
    return requested


@dataclass(frozen=True)
class Compared:
    """Runs on the same judged queries, their values, and the tests of their differences."""

    runs: Mapping[str, pl.DataFrame]
    scores: Scores
    rows: list[Comparison]
    remarks: Sequence[str]
    baselines: Sequence[str]
    original: str | None

    def pages(self) -> dict[str, Layout]:
        """Return the pages by name: what the command prints."""
        pages = {
            "runs": values_page(self.scores, self.rows, list(self.remarks)),
            "comparisons": tests_page(self.rows),
        }
        measures = dict.fromkeys(measure for _, measure in self.scores)
        if hits := [measure for measure in measures if is_hit(measure)]:
            both = coverages(self.scores, hits, self.baselines)
            pages["complementarity"] = complementarity_page(both)
        if self.original is not None:
            pages["reproduction"] = reproduction_page(self._close())
        return pages

    def table(self) -> pl.DataFrame:
        """Return all comparisons, unrounded, a line each."""
        if self.original is None:
            return grids.frame(self.rows, Comparison)
        return grids.frame(self._close(), Reproduction)

    def _close(self) -> list["Reproduction"]:
        return against(self.rows, self.scores, self.runs)


def compared(
    judged: pl.DataFrame,
    runs: Mapping[str, pl.DataFrame],
    measures: Sequence[str],
    tests: Tests,
    remarks: Sequence[str],
    baselines: Sequence[str] = (),
    original: str | None = None,
    workers: int = 1,
) -> Compared:
    """Compare runs that `read` or `restricted` returned; `remarks` come first under the values."""
    if original is not None:
        baselines = [_original(original, runs, baselines)]
    scores, rows = compare(judged, runs, measures, tests, baselines, workers)
    drawn = (row.method for row in rows if not row.method.startswith("exact,"))
    methods = ", ".join(dict.fromkeys(drawn))
    pairs = [(f"{row.a} and {row.b} in {row.measure}", row) for row in rows]
    remarks = [
        *remarks,
        f"Superscripts: runs significantly beaten. {notes.tests_note(tests, 'measure')}"
        + f" Method: {methods}." * bool(methods),
        *notes.remarks(pairs, tests.alpha),
    ]
    return Compared(runs, scores, rows, remarks, baselines, original)


def _original(name: str, runs: Mapping[str, object], baselines: Sequence[str]) -> str:
    """Return the original run's name, or refuse an unknown run and further baselines."""
    if baselines:
        raise ResiduumError(
            "--original compares all runs with the original run: leave out --baseline"
        )
    if name not in runs:
        raise ResiduumError(f"--original: {unknown('run', name, runs)}")
    return name


def read(
    runs: Sequence[str | Path], judged: pl.DataFrame, missing: Literal["refuse", "zero"]
) -> tuple[dict[str, pl.DataFrame], list[str]]:
    """Return the runs by name, restricted to the judged queries, and remarks for the reader.

    Files that a text joins by commas are the folds of one run, which is named after all of them. A
    judged query without a list raises ResiduumError, or gives a remark if `missing` is "zero".
    """
    queries, remarks = judged_queries(judged)
    named: dict[str, pl.DataFrame] = {}
    for given in runs:
        parts = [given] if isinstance(given, Path) else given.split(",")
        paths = [Path(part) for part in parts if part]
        if not paths:
            raise ResiduumError(f"'{given}' names no run")
        name = printable(" + ".join(ENDINGS.sub("", path.name) for path in paths))
        if name in named:
            raise ResiduumError(f"two runs are named {name} ({paths[0]}). Rename one of the files.")
        run = pooled(paths, remarks)
        named[name], more = restricted(name, run, queries, judged, missing)
        remarks += [f"{name}: {len(paths)} folds, pooled."] * (len(paths) > 1)
        remarks += more
    return named, remarks


def judged_queries(judged: pl.DataFrame) -> tuple[list[str], list[str]]:
    """Return the sorted ids of the judged queries, and remarks on the judgements."""
    best = judged.group_by("query_id").agg(pl.col("relevance").max()).sort("query_id")
    queries, empty = best["query_id"].to_list(), (best["relevance"] < RELEVANT).sum()
    if empty == len(queries):
        raise ResiduumError("the qrels hold no relevant doc: every measure would be 0")
    remarks = [f"{len(queries)} judged queries."]
    if empty:
        remarks.append(f"Judged queries without a relevant doc, which count 0 for all: {empty}.")
    return queries, remarks


def restricted(
    name: str,
    run: pl.DataFrame,
    queries: Sequence[str],
    judged: pl.DataFrame,
    missing: Literal["refuse", "zero"],
) -> tuple[pl.DataFrame, list[str]]:
    """Return a run's lists of the judged queries, and remarks on what it lacks, as `read` does."""
    lacking, remarks = sorted({*queries} - {*run["query_id"]}), list[str]()
    if len(lacking) == len(queries):
        ranked = f"it ranks docs for {min(run['query_id'])}" if run.height else "it is empty"
        raise ResiduumError(
            f"{name}: no line for any judged query, such as {queries[0]}; {ranked}. Are the qrels "
            "those of its topics?"
        )
    if lacking and missing == "refuse":
        raise ResiduumError(
            f"{name}: no line for query {lacking[0]}, which is judged ({len(lacking)} of "
            f"{len(queries)} judged queries lack a list). Runs over different queries cannot "
            "be compared; with --missing zero these queries count 0."
        )
    if lacking:
        remarks.append(f"{name}: {len(lacking)} judged queries without a list count 0.")
    if run.join(judged, on=trec.PAIR, how="semi").is_empty():
        remarks.append(f"{name}: no list holds a judged doc. Are the qrels of its corpus?")
    return run.filter(pl.col("query_id").is_in(queries)), remarks


def pooled(paths: Sequence[Path], remarks: list[str]) -> pl.DataFrame:
    """Read the folds of a cross-validated run as one frame; folds must share no query."""
    folds: list[pl.DataFrame] = []
    source: dict[str, Path] = {}
    for path in paths:
        try:
            fold, note = read_run(path)
        except NotRun as reason:
            raise ResiduumError(f"{path}: not a run, it was refused: {reason}") from None
        for query_id in fold["query_id"].unique(maintain_order=True):
            if query_id in source:
                raise ResiduumError(
                    f"{path}: holds query {query_id}, which {source[query_id]} holds too; folds to "
                    "pool share no query"
                )
            source[query_id] = path
        folds.append(fold)
        remarks += [f"{ENDINGS.sub('', path.name)}: {note}."] if note else []
    return pl.concat(folds)


def read_run(path: Path) -> tuple[pl.DataFrame, str]:
    """Read a run of any origin, TREC's or BEIR's JSON; say what was made of its ranks, if anything.

    The ending `.json` tells BEIR's, which has no ranks.
    """
    return (exported.read_beir(path), "") if JSON in path.suffixes else trec.read_any_run(path)


def compare(
    judged: pl.DataFrame,
    runs: Mapping[str, pl.DataFrame],
    measures: Sequence[str],
    tests: Tests,
    baselines: Sequence[str] = (),
    workers: int = 1,
) -> tuple[Scores, list[Comparison]]:
    """Evaluate runs on the judged queries and test every pair, or those with a baseline.

    `judged` has query_id, doc_id, relevance; a run query_id, doc_id, rank, score. A judged query
    that a run lacks counts 0. Raises ResiduumError where nothing can be compared.
    """
    if len(runs) < 2:
        raise ResiduumError("give two runs or more: there is nothing to compare")
    for name in baselines:
        if name not in runs:
            raise ResiduumError(f"--baseline: {unknown('run', name, runs)}")
    scores = measured(judged, runs, measures)
    names = sorted(runs, key=lambda name: name in baselines)
    pairs = [
        paired.Pair(a, b, measure, measure, measure if tests.family == "column" else "all")
        for measure in filter(is_tested, measures)
        for a, b in itertools.combinations(names, 2)
        if not baselines or {a, b} & set(baselines)
    ]
    rows = paired.compare(scores, pairs, tests, workers)
    return scores, paired.adjust(rows, tests.correction, tests.alpha)


def measured(
    judged: pl.DataFrame, runs: Mapping[str, pl.DataFrame], measures: Sequence[str]
) -> Scores:
    """Return the values per judged query of each run and measure; 0 where a run has no list."""
    scores: Scores = {}
    for name, run in runs.items():
        values = evaluate(run, judged, measures).sort("query_id")
        for measure in measures:
            by_query = values.filter(measure=measure)
            column = by_query["value"].to_numpy().reshape(-1, 1)
            scores[name, measure] = ScoreMatrix(by_query["query_id"].to_list(), column)
    highest = {m: max(scores[name, m].values.max() for name in runs) for m in measures}
    refuse_unjudged(highest, judged, "the qrels")
    return scores


def values_page(scores: Scores, tests: Sequence[Comparison], remarks: list[str]) -> Layout:
    """Lay out each run's means on a line; raised numbers name the runs that it beats."""
    names, measures = (list(dict.fromkeys(each)) for each in zip(*scores, strict=True))
    beaten: dict[tuple[str, str], list[int]] = {key: [] for key in scores}
    for test in tests:
        if test.beats:
            better, worse = test.beats
            beaten[better, test.measure].append(names.index(worse) + 1)
    cells = {
        key: TextCell(f"{mean(key[1], matrix.values[:, 0]):.4f}", layout.span(beaten[key]))
        for key, matrix in scores.items()
    }
    rows = [
        [TextCell(f"{number} {name}"), *(cells[name, measure] for measure in measures)]
        for number, name in enumerate(names, start=1)
    ]
    align = "l" + "c" * len(measures)
    return Layout("Runs", "means over the judged queries", ["Run", *measures], rows, remarks, align)


def tests_page(tests: Sequence[Comparison]) -> Layout:
    """Lay out each comparison on a line: difference, interval, p, effect, wins, power."""
    header = ["Measure", "A", "B", "A - B", "95% interval", "p", "p\nadjusted", "effect\nsize"]
    header += ["wins/ties/losses", "detectable\nat 80% power"]
    remarks = [
        "A - B: mean difference, bold where significant; t interval; effect size: mean over "
        "standard deviation of the differences; detectable: the smallest difference that these "
        "queries would show four times in five, uncorrected."
    ]
    rows = []
    for test in tests:
        low, high = test.ci_low, test.ci_high
        difference = TextCell(f"{test.difference:+.4f}", bold=((0, 7),) * bool(test.beats))
        statistics = [
            "" if low is None or high is None else f"[{low:+.4f}, {high:+.4f}]",
            f"{test.p:.2g}",
            f"{test.p_adjusted:.2g}",
            "" if test.effect is None else f"{test.effect:+.2f}",
            f"{test.wins}/{test.ties}/{test.losses}",
            "" if test.min_detectable is None else f"{test.min_detectable:.4f}",
        ]
        names = map(TextCell, (test.measure, test.a, test.b))
        rows.append([*names, difference, *map(TextCell, statistics)])
    align = "lll" + "r" * 7
    return Layout("Comparisons", "paired over queries", header, rows, remarks, align)


HEADER = ["Measure", "D", "S", "in D", "in S", "D - S", "both", "neither", "RoC", "95% interval"]


REMARK = (
    "Queries that the runs D and S answer; RoC, the ratio of complementarity, is the share of D's "
    "that S does not answer: 1 where they share none. The interval is Wilson's, over queries. Of a "
    "hybrid, D is the dense part and S the lexical part, not the hybrid itself."
)


def coverages(
    scores: Mapping[tuple[str, str], ScoreMatrix], hits: Sequence[str], baselines: Sequence[str]
) -> dict[tuple[str, str, str], Coverage]:
    """Return the counts of each measure, D and S: pairs in both roles, or S a baseline."""
    names = list(dict.fromkeys(name for name, _ in scores))
    roles = [(d, s) for d, s in itertools.permutations(names, 2) if not baselines or s in baselines]
    return {
        (measure, d, s): coverage(scores[d, measure], scores[s, measure])
        for measure in hits
        for d, s in roles
    }


def complementarity_page(both: Mapping[tuple[str, str, str], Coverage]) -> Layout:
    """Lay out the counts of each measure and pair on a line."""
    lines = [
        [TextCell(text) for text in (*names, *_cells(counts))] for names, counts in both.items()
    ]
    align = "lll" + "r" * 7
    return Layout("Complementarity", "Lee et al., ACL 2023", HEADER, lines, [REMARK], align)


def _cells(both: Coverage) -> list[str]:
    counts = (both.first, both.second, both.residual, both.overlap, both.failures)
    if both.ratio is None or both.low is None or both.high is None:
        ratio = ["", ""]  # D answers nothing
    else:
        ratio = [f"{both.ratio:.4f}", f"[{both.low:.4f}, {both.high:.4f}]"]
    return [*(f"{count:g}" for count in counts), *ratio]


Orders = dict[str, list[str]]  # query_id: docs in order


@dataclass(frozen=True)
class Reproduction(Comparison):
    """A comparison whose b is the original run; docs/statistics.md defines its columns."""

    rmse: float
    depth: int | None  # the measure's cutoff, to which rankings are compared
    tau_union: float | None
    rbo: float


def against(
    tests: Sequence[Comparison],
    scores: Mapping[tuple[str, str], ScoreMatrix],
    runs: Mapping[str, pl.DataFrame],
) -> list[Reproduction]:
    """Return the comparisons with the original run (b), with measures of how close a is to b.

    Rankings are compared per query, to the cutoff of the measure; values are means over queries.
    """
    taus: dict[tuple[str, int | None], tuple[float | None, float]] = {}
    rows = []
    for test in tests:
        depth = measures.cutoff(test.measure)
        queries = scores[test.b, test.measure].query_ids
        if (test.a, depth) not in taus:
            original, other = (orders(runs[name], depth) for name in (test.b, test.a))
            taus[test.a, depth] = _rankings(original, other, queries)
        values = (scores[name, test.measure].values[:, 0] for name in (test.b, test.a))
        tau, rbo = taus[test.a, depth]
        error = reproduction.rmse(*values)
        rows.append(Reproduction(**vars(test), rmse=error, depth=depth, tau_union=tau, rbo=rbo))
    return rows


def orders(run: pl.DataFrame, depth: int | None = None) -> Orders:
    """Return the docs of each query in their order, {query_id: doc_ids}, down to a depth."""
    kept = run if depth is None else run.filter(pl.col("rank") <= depth)
    lists = kept.sort("query_id", "rank").group_by("query_id", maintain_order=True).agg("doc_id")
    return dict(lists.iter_rows())


def _rankings(
    original: Orders, other: Orders, queries: Sequence[str]
) -> tuple[float | None, float]:
    """Return mean Kendall's tau union over queries (None if undefined) and mean RBO."""
    pairs = [(original.get(query, []), other.get(query, [])) for query in queries]
    taus = [tau for pair in pairs if (tau := reproduction.kendall_tau_union(*pair)) is not None]
    overlaps = [reproduction.rank_biased_overlap(*pair) for pair in pairs]
    tau = digits(math.fsum(taus) / len(taus)) if taus else None
    return tau, digits(math.fsum(overlaps) / len(overlaps))


def reproduction_page(rows: Sequence[Reproduction]) -> Layout:
    """Lay out each measure and run on a line: means, difference, p, RMSE, ranking similarity."""
    header = ["Measure", "Run", "original", "run", "difference", "p\nadjusted", "RMSE"]
    header += ["Kendall's\ntau union", "RBO", "down to\nrank"]
    lines = []
    for row in rows:
        values = [
            f"{row.mean_b:.4f}",
            f"{row.mean_a:.4f}",
            f"{row.difference:+.4f}",
            f"{row.p_adjusted:.2g}",
            f"{row.rmse:.4f}",
            "" if row.tau_union is None else f"{row.tau_union:.3f}",
            f"{row.rbo:.3f}",
            str(row.depth or "last"),
        ]
        lines.append(list(map(TextCell, [row.measure, row.a, *values])))
    remarks = [
        f"Original: {rows[0].b}. RMSE: root mean square error of the values per query; Kendall's "
        "tau of the union of both rankings and rank-biased overlap (persistence "
        f"{reproduction.PERSISTENCE}), as far down as the measure looks: 1 where they agree, means "
        "over queries. A small p says that the runs differ; a large one does not say that they "
        "agree."
    ]
    align = "ll" + "r" * 8
    return Layout("Reproduction", "Breuer et al., SIGIR 2020", header, lines, remarks, align)
