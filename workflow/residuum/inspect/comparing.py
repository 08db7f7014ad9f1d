"""Compare TREC runs of any origin: measures, paired tests and a table like those of the papers.

Usage: `residuum compare QRELS RUN RUN ... --measures nDCG@10 --test permutation --correction holm`,
or `compare(judged, runs, measures, tests)` for the same as frames. Needs no config and no DAG.
Must not know systems, papers or scales.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import typer
from pydantic import ValidationError

from residuum.cli import command
from residuum.cli.errors import ResiduumError, unknown
from residuum.config.schema.papers import Tests

if TYPE_CHECKING:
    import polars as pl

    from residuum.pages.layout import Layout
    from residuum.paired import Comparison, ScoreMatrix

SEPARATOR = re.compile(r"[\s,]+(?![^(]*\))")  # white space or commas, but not within brackets


class Compared(NamedTuple):
    """What `compare` returns: values per query of each (run, measure), and the comparisons."""

    scores: dict[tuple[str, str], ScoreMatrix]
    tests: list[Comparison]


def verb(
    qrels: Annotated[Path, typer.Argument(help="TREC qrels, plain or gzipped")],
    runs: Annotated[
        list[str],
        typer.Argument(help="TREC runs, plain or gzipped, two or more; join folds by commas"),
    ],
    measures: Annotated[
        list[str],
        typer.Option("--measures", "--measure", help="ir_measures names, as 'RR@10 nDCG@10'"),
    ],
    test: Annotated[str, typer.Option(help="permutation, t-test or wilcoxon")] = "permutation",
    correction: Annotated[str, typer.Option(help="none, bonferroni or holm")] = "holm",
    family: Annotated[
        Literal["column", "table"],
        typer.Option(help="corrected together: those of a measure, or all"),
    ] = "column",
    alpha: Annotated[float, typer.Option(help="threshold of the adjusted p")] = 0.05,
    resamples: Annotated[int, typer.Option(help="sign flips of the permutation test")] = 99_999,
    seed: Annotated[int, typer.Option(help="seed of the resamples")] = 1,
    baseline: Annotated[
        list[str] | None, typer.Option(help="only pairs with one of these runs; by file name")
    ] = None,
    missing: Annotated[
        Literal["refuse", "zero"],
        typer.Option(help="a judged query that a run lacks is an error, or counts 0"),
    ] = "refuse",
    form: Annotated[Literal["markdown", "latex"], typer.Option(help="of what is printed")] = (
        "markdown"
    ),
    output: Annotated[
        Path | None, typer.Option(help="TSV of all comparisons, unrounded, to write too")
    ] = None,
    workers: Annotated[int, typer.Option(help="threads; p does not depend on them")] = 1,
) -> None:
    """Test every pair of runs on the same judged queries, and print the table."""
    from residuum.artefacts import files, trec
    from residuum.inspect import external_runs
    from residuum.pages import layout, tsv
    from residuum.paired import Comparison

    options = {"test": test, "correction": correction, "family": family, "alpha": alpha}
    tests = _tests({**options, "resamples": resamples, "seed": seed})
    judged = trec.read_qrels(qrels)
    named, notes = external_runs.read(runs)
    lists, absent = external_runs.same_queries(named, judged, missing)
    split = (name for text in measures for name in SEPARATOR.split(text) if name)
    requested = list(dict.fromkeys(split))
    if not requested:
        raise ResiduumError("--measures is empty; name some, as 'RR@10 nDCG@10'")
    compared = compare(judged, lists, requested, tests, baseline or (), workers)
    notes += [*absent, *external_runs.without_relevant(judged), *_notes(tests, compared)]
    render = {"markdown": layout.markdown, "latex": layout.latex}[form]
    pages = [values_page(compared, requested, notes), tests_page(compared)]
    print("\n".join(map(render, pages)))
    if output:
        table = tsv.frame(compared.tests, Comparison)
        files.write_text(output, table.write_csv(separator="\t"))


def _tests(options: dict[str, object]) -> Tests:
    try:
        return Tests.model_validate(options)
    except ValidationError as error:
        raise ResiduumError(command.describe("options", error)) from None


def compare(
    judged: pl.DataFrame,
    runs: Mapping[str, pl.DataFrame],
    measures: Sequence[str],
    tests: Tests,
    baselines: Sequence[str] = (),
    workers: int = 1,
) -> Compared:
    """Evaluate runs on the judged queries and test every pair, or those with a baseline.

    `judged` has query_id, doc_id, relevance; a run query_id, doc_id, rank, score. A judged query
    that a run lacks counts 0. Raises ResiduumError where nothing can be compared.
    """
    from residuum import paired

    scores = _scores(judged, runs, measures)
    pairs = [
        paired.Pair(a, b, measure, measure, measure if tests.family == "column" else "all")
        for measure in measures
        for a, b in _pairs(list(runs), baselines)
    ]
    rows = paired.compare(scores, pairs, tests, workers)
    return Compared(scores, paired.adjust(rows, tests.correction, tests.alpha))


def _pairs(names: list[str], baselines: Sequence[str]) -> list[tuple[str, str]]:
    if len(names) < 2:
        raise ResiduumError("give two runs or more: there is nothing to compare")
    for name in baselines:
        if name not in names:
            raise ResiduumError(f"--baseline: {unknown('run', name, names)}")
    ordered = [*(n for n in names if n not in baselines), *(n for n in names if n in baselines)]
    pairs = itertools.combinations(ordered, 2)
    return [pair for pair in pairs if not baselines or set(pair) & set(baselines)]


def _scores(
    judged: pl.DataFrame, runs: Mapping[str, pl.DataFrame], measures: Sequence[str]
) -> dict[tuple[str, str], ScoreMatrix]:
    import polars as pl

    from residuum.evaluate import evaluate
    from residuum.paired import ScoreMatrix

    scores: dict[tuple[str, str], ScoreMatrix] = {}
    for name, run in runs.items():
        values = evaluate(run, judged, list(measures))
        for measure in measures:
            own = values.filter(pl.col("measure") == measure).sort("query_id")
            column = own["value"].to_numpy().reshape(-1, 1)
            scores[name, measure] = ScoreMatrix(own["query_id"].to_list(), [name], column)
    return scores


def _notes(tests: Tests, compared: Compared) -> list[str]:
    from residuum.paired import notes

    drawn = (test.method for test in compared.tests if not test.method.startswith("exact,"))
    methods = ", ".join(dict.fromkeys(drawn))
    note = notes.tests_note(tests, "measure")
    return [
        f"Superscripts: runs significantly beaten. {note}{f' Method: {methods}.' * bool(methods)}",
        *notes.remarks(
            compared.tests, tests.alpha, lambda test: f"{test.a} and {test.b} in {test.measure}"
        ),
    ]


def values_page(compared: Compared, measures: Sequence[str], notes: list[str]) -> Layout:
    """Lay out a line per run with its means; raised are the numbers of the runs it beats."""
    from residuum.pages.layout import Layout, TextCell, span

    names = list(dict.fromkeys(name for name, _ in compared.scores))
    index = {name: number for number, name in enumerate(names, start=1)}
    beaten: dict[tuple[str, str], list[int]] = {}
    for test in compared.tests:
        if test.significant:
            better, worse = test.ordered
            beaten.setdefault((better, test.measure), []).append(index[worse])

    def cell(name: str, measure: str) -> TextCell:
        mean = compared.scores[name, measure].values.mean()
        return TextCell(f"{mean:.4f}", span(beaten.get((name, measure), [])))

    rows = [
        [TextCell(f"{number} {name}"), *(cell(name, measure) for measure in measures)]
        for name, number in index.items()
    ]
    align = ["l", *"c" * len(measures)]
    return Layout("Runs", "means over the judged queries", ["Run", *measures], rows, notes, align)


def tests_page(compared: Compared) -> Layout:
    """Lay out a line per comparison: difference, interval, p, effect, wins, what n could show."""
    from residuum.pages.layout import Layout, TextCell

    header = ["Measure", "A", "B", "A - B", "95% interval", "p", "p adjusted", "effect size"]
    header += ["wins/ties/losses", "detectable at 80% power"]
    notes = [
        "A - B: mean difference, bold where significant; t interval; effect size: mean over "
        "standard deviation of the differences; detectable: the smallest difference that these "
        "queries would show four times in five, uncorrected."
    ]
    rows = []
    for test in compared.tests:
        difference = TextCell(f"{test.difference:+.4f}", bold=((0, 7),) * test.significant)
        rest = map(TextCell, _statistics(test))
        rows.append([*map(TextCell, (test.measure, test.a, test.b)), difference, *rest])
    align = ["l", "l", "l", *"r" * 7]
    return Layout("Comparisons", "paired over queries", header, rows, notes, align)


def _statistics(test: Comparison) -> list[str]:
    """Return what follows the difference; empty where it does not exist."""
    low, high = test.ci_low, test.ci_high
    return [
        "" if low is None or high is None else f"[{low:+.4f}, {high:+.4f}]",
        f"{test.p:.2g}",
        f"{test.p_adjusted:.2g}",
        "" if test.effect is None else f"{test.effect:+.2f}",
        f"{test.wins}/{test.ties}/{test.losses}",
        "" if test.min_detectable is None else f"{test.min_detectable:.4f}",
    ]
