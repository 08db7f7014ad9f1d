"""What stands behind the numbers of a page, as the page's script reads it.

Usage: `data = Numbers(folder, lineage).of(sheet)`, a mapping that is JSON. Values per query are
16-bit integers times a step, in base64: four digits of a measure. Must not know HTML.
"""

import base64
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from residuum.artefacts import trec
from residuum.inspect import explaining
from residuum.inspect.addressing import PATHS, Cell
from residuum.pages.verdicts import LedgerRow
from residuum.paired import Comparison
from residuum.site.folder import Folder, Sheet
from residuum.site.lineage import Lineage
from residuum.site.text import shown

STEPS = 32_767  # the largest signed integer of 16 bits
ENDS = 5  # queries at each end of a difference, whose texts are shown
TESTED = (
    *("column", "a", "b", "family", "difference", "low", "high", "p", "p_adjusted", "significant"),
    *("p_over_seeds", "seeds_agreeing", "effect", "wins", "ties", "losses"),
)


class Packed(NamedTuple):
    """Values of some queries: which set of queries, the step of the integers, and these."""

    queries: int
    step: float
    data: str

    @classmethod
    def of(cls, values: np.ndarray, queries: int) -> "Packed":
        """Pack values (queries,), each to a step: their largest over 32,767."""
        step = float(np.abs(values).max(initial=0.0)) / STEPS or 1.0
        whole = np.rint(values / step).astype("<i2")
        return cls(queries, step, base64.b64encode(whole.tobytes()).decode())


class Numbers:
    """The data of the pages of a folder; metrics and query texts are read once."""

    def __init__(self, folder: Folder, lineage: Lineage) -> None:
        self._folder, self._lineage = folder, lineage
        self._metrics = cache(trec.read_metrics)
        self._texts = cache(self._read_texts)
        self._ledger: dict[tuple[str, str, str], list[LedgerRow]] = {}
        for row in folder.ledger:
            self._ledger.setdefault((row.table, row.row, row.column), []).append(row)

    def of(self, sheet: Sheet) -> dict[str, Any]:
        """Return all that a page's numbers rest on; nothing of a page without numbers."""
        if sheet.kind == "claims":
            return self._claims(sheet)
        if sheet.job is None:
            return {}
        sets: dict[tuple[str, ...], int] = {}
        packed: dict[str, tuple[Packed, np.ndarray]] = {}
        splits: list[str] = []
        cells, reasons = dict[str, Any](), dict[str, int]()
        for cell in sheet.cells:
            values = explaining.values(cell, self._metrics)
            place = f"{cell.line.row}/{cell.line.column}"
            if not values.is_empty():
                ids = tuple(values["query_id"])
                number = sets.setdefault(ids, len(sets))
                if number == len(splits):
                    splits.append(str(cell.line.split_ref))
                own = values["value"].to_numpy()
                packed[place] = Packed.of(own, number), own
            cells[place] = self._cell(cell, reasons)
        keys = self._lineage.behind(key for cell in cells.values() for key in cell["from"])
        groups = self._lineage.groups
        return {
            "page": sheet.name,
            "results": str(self._folder.results),
            "labels": {row.id: shown(row.label) for row in sheet.job.table.rows},
            "cells": cells,
            "values": {place: own._asdict() for place, (own, _) in packed.items()},
            "sets": [self._set(ids, splits[n], sheet, packed, n) for ids, n in sets.items()],
            "tests": {"names": TESTED, "rows": [_test(test) for test in sheet.tests]},
            "tested": _how(sheet.tests),
            "reasons": list(reasons),
            "lineage": {key: [groups[key].title, *groups[key].parents] for key in keys},
        }

    def _claims(self, sheet: Sheet) -> dict[str, Any]:
        """Return the sentences of a page, their tests, and the page that each rests on."""
        cells, reasons = dict[str, Any](), dict[str, int]()
        for claim in sheet.entry["claims"]:
            at = (sheet.name, claim["id"])
            rows = [row for key, own in self._ledger.items() if key[:2] == at for row in own]
            verdicts = [_verdict(row, reasons) for row in rows]
            held = f"{sheet.paper}-{claim['holds']['page']}" if claim.get("holds") else ""
            made = {"header": shown(claim["says"]), "verdicts": verdicts, "rests": held}
            cells[claim["id"]] = _without_nothing(made)
        tests = {"names": TESTED, "rows": [_test(test) for test in sheet.tests]}
        return {
            "claims": True, "page": sheet.name, "cells": cells, "tests": tests, "labels": {},
            "tested": _how(sheet.tests), "reasons": list(reasons), "values": {}, "lineage": {},
        }  # fmt: skip

    def _cell(self, cell: Cell, reasons: dict[str, int]) -> dict[str, Any]:
        """Return a number; its reasons are numbers of those that the page has so far."""
        own = cell.line
        rows = self._ledger.get((own.table, own.row, own.column), [])
        return _without_nothing(
            {
                "address": cell.address,
                "header": shown(explaining.header(cell)),
                "measure": own.measure,
                "split": own.split_ref,
                "n": own.n,
                "measured": own.measured,
                "seeds": [float(value) for value in str(own.per_seed or "").split()],
                "std": own.std,
                "low": own.ci_low,
                "high": own.ci_high,
                "reported": cell.page.table.reported.get(own.row, {}).get(own.column),
                "absence": own.not_run
                and reasons.setdefault(shown(f"{own.absence}: {own.not_run}"), len(reasons)),
                "verdicts": [_verdict(row, reasons) for row in rows],
            }
        ) | {"from": self._lineage.keys(cell.roots)}

    def _set(
        self,
        ids: tuple[str, ...],
        split: str,
        sheet: Sheet,
        packed: Mapping[str, tuple[Packed, np.ndarray]],
        number: int,
    ) -> dict[str, Any]:
        """Return the ids of some queries, and the texts of those that a picture may name."""
        own = {place: values for place, (of, values) in packed.items() if of.queries == number}
        named = sorted({int(n) for order in _orders(own, sheet.tests) for n in _ends(order)})
        texts = self._texts(split)
        return {
            "split": split,
            "ids": [shown(query) for query in ids],
            "texts": {n: shown(texts[ids[n]]) for n in named if ids[n] in texts},
        }

    def _read_texts(self, split_ref: str) -> dict[str, str]:
        """Return the queries of a split; none where they are not in the folder, as in a bundle."""
        dataset, _, split = split_ref.partition("/")
        path = self._folder.results / PATHS.queries.fill(dataset=dataset, split=split)
        return trec.read_queries(path) if path.is_file() else {}


def _orders(values: Mapping[str, np.ndarray], tests: list[Comparison]) -> Iterator[np.ndarray]:
    """Yield what pictures sort: the values of each number, and the differences of each test."""
    yield from values.values()
    for test in tests:
        a, b = (values.get(f"{row}/{test.column}") for row in (test.a, test.b))
        if a is not None and b is not None and len(a) == len(b):
            yield a - b


def _ends(values: np.ndarray) -> np.ndarray:
    """Return which queries have the smallest and the largest values, the first ones of equals."""
    down, up = (np.argsort(signed, kind="stable")[:ENDS] for signed in (-values, values))
    return np.concatenate([down, up])


def _test(test: Comparison) -> list[object]:
    """Return a test, as TESTED; the interval is over seeds and queries where there are seeds."""
    ends = (test.seed_low, test.seed_high)
    low, high = ends if test.seed_low is not None else (test.ci_low, test.ci_high)
    numbers = {"low": low, "high": high}
    made = (numbers.get(name, getattr(test, name, None)) for name in TESTED)
    return [float(f"{value:.6g}") if isinstance(value, float) else value for value in made]


def _how(tests: list[Comparison]) -> str:
    return f"{tests[0].test} test, correction {tests[0].correction}" if tests else ""


def _verdict(row: LedgerRow, reasons: dict[str, int]) -> dict[str, Any]:
    return _without_nothing(
        {
            "kind": row.kind,
            "claim": shown(row.claim),
            "verdict": row.verdict,
            "reason": reasons.setdefault(shown(row.reason), len(reasons)),
            "holm": row.under_holm,
            "same": row.same_as,
        }
    )


def _without_nothing(of: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in of.items() if value not in (None, "", [])}
