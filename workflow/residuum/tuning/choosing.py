"""Choose among tried settings, for all queries or for each fold, and record the choice.

Usage: `choose(settings, values, query_ids, "RR@10", fold_of).write(path, ...)`. `Record` is the
form of every `tuning/**.json`.
"""

import json
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from residuum.artefacts import files, intact, manifest, trec
from residuum.cli import command
from residuum.cli.errors import ResiduumError
from residuum.config.schema.base import Strict
from residuum.config.schema.settings import OnQueries
from residuum.config.specs import derive

LAMBDA = "lambda"  # key of a setting that holds the weight of a part
Setting = dict[str, int | float]
Values = NDArray[np.float64]


class Tried(Strict):
    """A setting of the grid, and the mean of its values: over all queries, or over each fold."""

    setting: Setting
    means: list[float]


class Choice(Strict):
    """The setting of all queries or of a fold; `at_edge` names its parameters at the grid's edge.

    `mean` is the mean over the queries that chose it (with folds: the other folds' queries).
    `held_out` is the mean over the fold's own queries.
    """

    setting: Setting
    at_edge: list[str] = Field(default=[])
    queries: int = 0
    mean: float | None = None
    held_out: float | None = None


class Record(Strict):
    """The choices, their measure and number of judged queries; `fold_of` has every query's fold."""

    choices: list[Choice]
    measure: str | None = None
    queries: int = 0
    tried: list[Tried] = Field(default=[])
    within: float | None = Field(
        default=None,
        exclude_if=lambda within: within is None,
        description="the first is taken that lies within so many standard errors of the best",
    )
    fold_of: dict[str, int] = Field(default={})

    @classmethod
    def read(cls, path: Path) -> "Record":
        """Read a record. An error names the file and the key."""
        return command.parse_spec(cls, files.read_bytes(intact.checked(path)), str(path))

    @classmethod
    def given(cls, name: str, value: float) -> "Record":
        """Return the record of a fixed value."""
        return cls(choices=[Choice(setting={name: value})])

    def settings(
        self, query_ids: Iterable[str], source: Path | None, what: str, key: str
    ) -> dict[str, Setting]:
        """Return the setting of each query: that of its fold, or the one of all.

        A query of no fold raises ResiduumError. It names `source`, the file of the choices, `what`
        was chosen, and the `key` that says on which split.
        """
        if not self.fold_of:
            return dict.fromkeys(query_ids, self.choices[0].setting if self.choices else {})
        of_queries, each = self.of_queries(), list(query_ids)
        if unknown := [query_id for query_id in each if query_id not in of_queries]:
            fault = f"query {unknown[0]} is in none of the folds that {what} was chosen for"
            raise ResiduumError(f"{source}: {fault}. Let {key}.tune_on name the split searched")
        return {query_id: of_queries[query_id] for query_id in each}

    def of_queries(self) -> dict[str, Setting]:
        """Return the setting of each query with folds; {} without folds."""
        return {query_id: self.choices[fold].setting for query_id, fold in self.fold_of.items()}

    def facts(self) -> dict[str, object]:
        """Return the chosen settings for the manifest of a run."""
        settings = [choice.setting for choice in self.choices]
        return {"folds": settings} if self.fold_of else dict(settings[0])

    def write(
        self, path: Path, spec: Strict | Mapping[str, object], inputs: list[Path], stage: str
    ) -> None:
        """Write the record and its manifest."""
        made = self.model_dump()
        files.write_text(path, json.dumps(made, indent=1) + "\n")
        facts = {key: made[key] for key in ("choices", "measure", "queries")}
        manifest.write(path, facts, spec, inputs, stage)


class Tuned(NamedTuple):
    """The record chosen for a run on the queries of a split."""

    run: str
    split_ref: str
    record: Record

    @classmethod
    def read(cls, path: Path) -> "Tuned":
        """Read a record; its path, <dataset>/<split>/<run>.json, gives the split and the run."""
        return cls(path.stem, "/".join(path.parts[-3:-1]), Record.read(path))


def choose(
    settings: Sequence[Setting],
    values: Values,
    query_ids: Sequence[str],
    measure: str,
    fold_of: Mapping[str, int] | None = None,
    bounded: bool = True,
) -> Record:
    """Return the record of the best mean, the first of equals; warn of values at the grid's edge.

    Settings that are not `bounded` are all possible settings, and have no edge.

    `values` has shape (settings, queries), in the order of `query_ids`, which are the judged
    queries. `fold_of` has every query, judged or not. With it, each fold gets the best setting on
    the other folds' queries (cross-validation). Raises ResiduumError for a fold without a judged
    query, or with all of them.
    """
    fold = np.array([fold_of[query_id] if fold_of else 0 for query_id in query_ids])
    folds = 1 + max(fold_of.values()) if fold_of else 1
    by_fold, choices = [], []
    for number in range(folds):
        inside = fold == number
        if fold_of and (inside.all() or not inside.any()):
            which = (
                "all judged queries are in it" if inside.all() else "none of its queries is judged"
            )
            raise ResiduumError(f"fold {number + 1} of {folds}: {which}, so that nothing is chosen")
        held_out = means(values[:, inside])
        chosen_on = means(values[:, ~inside]) if fold_of else held_out
        best = chosen_on.index(max(chosen_on))
        choice = Choice(
            setting=settings[best],
            at_edge=edges(settings[best], settings) if bounded else [],
            queries=int(inside.sum()),
            mean=chosen_on[best],
            held_out=held_out[best] if fold_of else None,
        )
        warn_of_edges(choice, f"fold {number + 1}: " if folds > 1 else "")
        by_fold.append(held_out)
        choices.append(choice)
    tried = zip(settings, zip(*by_fold, strict=True), strict=True)
    return Record(
        choices=choices,
        measure=measure,
        queries=len(query_ids),
        tried=[Tried(setting=setting, means=list(row)) for setting, row in tried],
        fold_of=dict(fold_of or {}),
    )


def means(values: Values) -> list[float]:
    """Return the mean of each row, exactly rounded: the order of queries does not matter."""
    return [math.fsum(row) / len(row) for row in values.tolist()]


def warn_of_edges(choice: Choice, which: str = "") -> None:
    """Warn on standard error of a choice at an edge of its grid; `which` names the fold."""
    if choice.at_edge:
        at = ", ".join(f"{name} {choice.setting[name]}" for name in choice.at_edge)
        print(f"warning: {which}{at} at an edge of the grid", file=sys.stderr)


def edges(chosen: Setting, settings: Sequence[Setting]) -> list[str]:
    """Return the parameters whose chosen value is the least or greatest of several tried values."""
    tried = {name: {setting[name] for setting in settings} for name in chosen}
    return [
        name
        for name, all_of in tried.items()
        if len(all_of) > 1 and chosen[name] in (min(all_of), max(all_of))
    ]


def folds_of(
    setting: OnQueries, listed: Iterable[str], judged: Iterable[str], paths: Sequence[Path] | None
) -> dict[str, int]:
    """Return each query's fold: of a collection's own folds, or else drawn; {} without both.

    `listed` are the queries that have lists, of which some may be unjudged.
    """
    own = read_folds(judged, paths or [])
    if own or not setting.drawn:
        return own
    known = {*judged}
    return split_folds(sorted(known.union(listed)), known, *setting.drawn)


def split_folds(query_ids: list[str], judged: set[str], folds: int, seed: int) -> dict[str, int]:
    """Return the fold of each query: dealt in turn, in the order of a seeded hash of the id.

    Judged queries are dealt first, so that the folds also have nearly equal numbers of them.
    """
    if len(judged) < folds:
        fault = f"{len(judged)} judged queries cannot be split into {folds} folds"
        raise ResiduumError(f"{fault}. Use fewer folds or more queries.")
    dealt = sorted(query_ids, key=lambda q: (q not in judged, derive(seed, "fold", q), q))
    fold = {query_id: number % folds for number, query_id in enumerate(dealt)}
    return {query_id: fold[query_id] for query_id in query_ids}


def read_folds(query_ids: Iterable[str], paths: Sequence[Path]) -> dict[str, int]:
    """Return each query's fold by a collection's own folds, one file each; {} without files."""
    folds = [trec.read_queries(path) for path in paths]
    fold_of: dict[str, int] = {}
    for path in (path for path, queries in zip(paths, folds, strict=True) if not queries):
        raise ResiduumError(f"{path}: a fold without a query. Leave it out of `folds:`")
    for query_id in chain(query_ids, *folds) if folds else ():
        numbers = [number for number, queries in enumerate(folds) if query_id in queries]
        if len(numbers) != 1:
            listed = ", ".join(str(number + 1) for number in numbers) or "none"
            fault = f"query {query_id} is in {len(numbers)} of the {len(folds)} folds ({listed})"
            raise ResiduumError(f"{fault}; folds divide the queries: each is in exactly one")
        fold_of[query_id] = numbers[0]
    return fold_of
