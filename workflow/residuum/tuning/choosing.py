"""Choose among settings that were tried: the best mean, the first of the grid among equals.

Usage: `record = choose(settings, values, query_ids, "RR@10", fold_of)`; with folds each gets what
is best on the others' queries (cross-validation). Means are exact before they are rounded, so that
equals stay equal whatever the order of queries. Must not know what a setting means or files.
"""

import math
import sys
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from residuum.tuning.record import Choice, Record, Setting, Tried

Values = NDArray[np.float64]


def choose(
    settings: Sequence[Setting],
    values: Values,
    query_ids: Sequence[str],
    measure: str,
    fold_of: Mapping[str, int] | None = None,
) -> Record:
    """Return the record of a choice; warn on stderr where it is at an edge of the grid.

    `values` has shape (settings, queries), in the order of `query_ids`, which are the judged ones;
    `fold_of` has every query, judged or not, and each fold has a judged one.
    """
    fold = np.array([fold_of[query_id] if fold_of else 0 for query_id in query_ids])
    members = [fold == number for number in range(int(fold.max()) + 1)]
    choices = [_choice(settings, values, own, bool(fold_of)) for own in members]
    _warn(choices)
    by_fold = [means(values[:, own]) for own in members]
    tried = zip(settings, zip(*by_fold, strict=True), strict=True)
    return Record(
        choices=choices,
        measure=measure,
        queries=len(query_ids),
        tried=[Tried(setting=setting, means=list(row)) for setting, row in tried],
        fold_of=dict(fold_of or {}),
    )


def _choice(
    settings: Sequence[Setting], values: Values, own: NDArray[np.bool_], folds: bool
) -> Choice:
    chosen_on = means(values[:, ~own] if folds else values)
    best = chosen_on.index(max(chosen_on))
    return Choice(
        setting=settings[best],
        at_edge=edges(settings[best], settings),
        queries=int(own.sum()),
        mean=chosen_on[best],
        held_out=means(values[best : best + 1, own])[0] if folds else None,
    )


def means(values: Values) -> list[float]:
    """Return the mean of each row, exact before it is rounded."""
    return [math.fsum(row) / len(row) for row in values.tolist()]


def edges(chosen: Setting, settings: Sequence[Setting]) -> list[str]:
    """Name the parameters whose chosen value is the least or the greatest of several."""
    tried = {name: {setting[name] for setting in settings} for name in chosen}
    return [
        name
        for name, all_of in tried.items()
        if len(all_of) > 1 and chosen[name] in (min(all_of), max(all_of))
    ]


def _warn(choices: Sequence[Choice]) -> None:
    for number, choice in enumerate(choices, start=1):
        where = ", ".join(f"{name} {choice.setting[name]}" for name in choice.at_edge)
        fold = f"fold {number}: " if len(choices) > 1 else ""
        if where:
            print(f"warning: {fold}{where} at an edge of the grid", file=sys.stderr)
