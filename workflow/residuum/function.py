"""Fuse the runs of several systems by a Python function of one's own, and choose a parameter of it.

Command: `python -m residuum.function tune|fuse ...`. The function is called once for each query,
`fuse(lists, **parameters)`. `lists` is {part: {doc_id: score}}: parts in the spec's order, docs in
that of their ranks, {} for a part without a list. It returns {doc_id: score} of docs of the lists.
"""

import math
import runpy
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, cast

import polars as pl
import typer

from residuum.artefacts import manifest, trec
from residuum.artefacts.streams import chunks
from residuum.cli import command
from residuum.cli.errors import ResiduumError, unknown
from residuum.cli.progress import track
from residuum.config.measures import cutoff
from residuum.config.schema.systems import FunctionSystem
from residuum.tuning.choosing import Record, Setting, choose, folds_of
from residuum.tuning.evaluation import of_rankings

app = command.app(__doc__)
DECIMALS = 12  # of scores, whose unit the function chooses
QUERIES_AT_ONCE = 256  # bounds the pairs in memory

Given = dict[str, dict[str, float]]  # part: doc_id: score
SpecText = Annotated[str, typer.Option(help="schema.FunctionSystem as JSON")]
File = Annotated[Path, typer.Option(help="Python file that has the function")]


@app.command()
def tune(
    spec: SpecText,
    run: command.PartRuns,
    file: File,
    qrels: command.Qrels,
    output: Annotated[Path, command.written("JSON to write")],
    fold: command.Folds = None,
) -> None:
    """Choose the parameter: the best mean, and of equal means the first of the grid.

    If the split has folds, or the spec draws some, each fold gets the value that is best on the
    other folds.
    """
    system = command.parse_spec(FunctionSystem, spec)
    if system.tuned is None:
        raise ResiduumError("the function has no tuned parameter: there is nothing to tune")
    runs, lists = _read(system, run)
    function = Loaded(file, system.function.name)
    judged = trec.read_qrels(qrels)
    query_ids = judged["query_id"].unique().sort().to_list()
    folds = folds_of(system.tuned, lists.query_ids, query_ids, fold)
    depth = min(system.k, cutoff(system.tuned.measure) or system.k)
    settings: list[Setting] = [{system.tuned.parameter: value} for value in system.tuned.grid]
    asked = sorted({*query_ids}.intersection(lists.query_ids))
    if not asked:
        raise ResiduumError(f"{qrels}: none of its queries has a list. Give runs of that split")
    tried = [
        pl.concat(lists.fused(function, lambda _, setting=setting: setting, depth, asked))
        for setting in track(settings, "tune", len(settings), "values")
    ]
    values = of_rankings(tried, judged, system.tuned.measure)
    record = choose(settings, values, query_ids, system.tuned.measure, folds)
    inputs = [*runs.values(), file, qrels, *(fold or [])]
    record.write(output, system, inputs, "residuum.function")


@app.command()
def fuse(
    spec: SpecText,
    run: command.PartRuns,
    file: File,
    tag: command.Tag,
    output: command.Run,
    tuning: Annotated[
        Path | None, typer.Option(help="JSON that tune wrote, if a parameter is tuned")
    ] = None,
) -> None:
    """Write the run of the docs that the function scores, by its scores and then by doc_id."""
    system = command.parse_spec(FunctionSystem, spec)
    if (tuning is None) != (system.tuned is None):
        raise ResiduumError("give --tuning if a parameter is tuned, and only then")
    runs, lists = _read(system, run)
    function = Loaded(file, system.function.name)
    record = Record.read(tuning) if tuning else Record(choices=[])
    settings = record.settings(lists.query_ids, tuning, "a value", "tuned")
    parts = lists.fused(function, settings.__getitem__, system.k, lists.query_ids)
    empty = f"{file}: the function returned no doc for any query"
    hits = trec.write_run(output, parts, tag, empty).hits
    facts: dict[str, object] = {"queries": len(lists.query_ids), "hits": hits}
    facts |= record.facts() if tuning else {}
    inputs = [*runs.values(), file, *([tuning] if tuning else [])]
    manifest.write(output, facts, system, inputs, "residuum.function")


def _read(system: FunctionSystem, run: list[str]) -> tuple[dict[str, Path], "Lists"]:
    """Return the paths of PART=PATH, a run of each part, and their lists."""
    runs = command.named_paths("--run", run, system.parts)
    tables = {part: trec.read_run(path) for part, path in runs.items()}
    trec.refuse_apart({path: {*tables[part]["query_id"]} for part, path in runs.items()})
    return runs, Lists(system, tables)


class Lists:
    """The lists of the parts of a fusion, query by query."""

    def __init__(self, system: FunctionSystem, tables: Mapping[str, pl.DataFrame]) -> None:
        """Take a run of each part."""
        self._parameters = system.parameters
        self._lists = {
            part: table.group_by("query_id", maintain_order=True).agg("doc_id", "score")
            for part, table in tables.items()
        }
        self._rows = {
            part: {query_id: row for row, query_id in enumerate(lists["query_id"])}
            for part, lists in self._lists.items()
        }
        self.query_ids = sorted({query_id for rows in self._rows.values() for query_id in rows})

    def of(self, query_id: str) -> Given:
        """Return {part: {doc_id: score}} of a query."""
        given: Given = {}
        for part, lists in self._lists.items():
            row = self._rows[part].get(query_id)
            docs, scores = ([], []) if row is None else lists.row(row)[1:]
            given[part] = dict(zip(docs, scores, strict=True))
        return given

    def fused(
        self,
        function: "Loaded",
        setting_of: Callable[[str], Setting],
        k: int,
        query_ids: list[str],
    ) -> Iterator[pl.DataFrame]:
        """Yield the ranked docs of some queries at once. `setting_of` gives a query's parameter."""
        for some in chunks(query_ids, QUERIES_AT_ONCE):
            rows: list[tuple[str, str, float]] = []
            for query_id in some:
                parameters = {**self._parameters, **setting_of(query_id)}
                scores = function(query_id, self.of(query_id), parameters)
                rows += [(query_id, doc_id, score) for doc_id, score in scores.items()]
            yield trec.rank(pl.DataFrame(rows, trec.HITS, orient="row"), k, DECIMALS)


class Loaded:
    """A function of the user's file. Errors name the file, the query and the line that failed."""

    def __init__(self, path: Path, name: str) -> None:
        """Run the file and take its function; ResiduumError if it fails or has no such function."""
        self._path, self._tried = path, False
        try:
            names = runpy.run_path(str(path), run_name=path.stem)
        except (Exception, SystemExit) as error:
            raise ResiduumError(f"{path}: cannot be run: {self._words(error)}") from None
        functions = [key for key, value in names.items() if callable(value)]
        if name not in functions:
            raise ResiduumError(f"{path}: {unknown('function', name, functions)}")
        self._function = cast(Callable[..., object], names[name])

    def __call__(
        self, query_id: str, given: Given, parameters: Mapping[str, object]
    ) -> dict[str, float]:
        """Return the scores of a query's docs, checked: numbers, of docs that a list holds."""
        scores = self._called(query_id, given, parameters)
        if not self._tried and scores != self._called(query_id, given, parameters):
            raise self._error(
                query_id,
                "other scores when it is called again. Let it depend on its arguments alone, and "
                "draw numbers from a generator that it seeds",
            )
        self._tried = True
        return scores

    def _called(
        self, query_id: str, given: Given, parameters: Mapping[str, object]
    ) -> dict[str, float]:
        lists = {part: {**scores} for part, scores in given.items()}  # which it may change
        try:
            made = self._function(lists, **parameters)
        except (Exception, SystemExit) as error:
            text = f"{self._path}: query {query_id}"
            raise ResiduumError(f"{text}: {self._words(error)}") from None
        if not isinstance(made, Mapping):
            text = f"returned {type(made).__name__}; return a dictionary, {{doc_id: score}}"
            raise self._error(query_id, text)
        known: set[str] = set().union(*given.values())
        scores: dict[str, float] = {}
        for doc_id, score in made.items():
            if doc_id not in known:
                raise self._error(query_id, f"returned doc {doc_id!r}, which no list holds")
            try:
                scores[doc_id] = float(score)
            except (TypeError, ValueError, OverflowError):
                scores[doc_id] = math.nan
            if not math.isfinite(scores[doc_id]):
                text = f"returned {score!r} for doc {doc_id}, which is no finite number"
                raise self._error(query_id, text)
        return scores

    def _error(self, query_id: str, text: str) -> ResiduumError:
        return ResiduumError(f"{self._path}: query {query_id}: {text}")

    def _words(self, error: BaseException) -> str:
        """Return the type and the text of an error, and the last line of the file on its way."""
        what = f"{type(error).__name__}: {error}".removesuffix(": ")
        frames = traceback.extract_tb(error.__traceback__)
        lines = [frame for frame in frames if frame.filename == str(self._path)]
        return f"line {lines[-1].lineno}, `{lines[-1].line}`: {what}" if lines else what


if __name__ == "__main__":
    command.main(app)
