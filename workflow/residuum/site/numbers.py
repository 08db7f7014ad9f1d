"""The data behind a page's numbers, as the page's script reads them.

Usage: `data = Numbers(folder, provenance).behind(sheet)`, a mapping of JSON types. Values per query
are stored in base64 as 16-bit integers. Times the page's step, they give a measure to four digits.
"""

import base64
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from residuum.artefacts import intact, trec
from residuum.inspect import explaining
from residuum.inspect.addressing import PATHS, Cell
from residuum.pages import derived
from residuum.pages.entries import page_id
from residuum.pages.jobs import Judged
from residuum.pages.verdicts import LedgerRow
from residuum.site.folder import Folder, Sheet
from residuum.site.provenance import Provenance
from residuum.site.tested import Test, tests_of
from residuum.site.text import shown

STEPS = 32_767  # the largest signed integer of 16 bits
ENDS = 5  # queries at each end of a difference, shown with their text
Data = dict[str, Any]  # as JSON


class Values(NamedTuple):
    """A number's values per query, (queries,), and the number of its set of queries.

    For a change, they are the values of the changed row.
    """

    queries: int
    values: np.ndarray

    def packed(self, step: float) -> Data:
        """Return the values as multiples of a step, in base64."""
        whole = np.rint(self.values / step).astype("<i2")
        return {"queries": self.queries, "data": base64.b64encode(whole.tobytes()).decode()}


class Numbers:
    """The data of a folder's pages; metrics and query texts are read once."""

    def __init__(self, folder: Folder, provenance: Provenance) -> None:
        self._folder, self._provenance = folder, provenance
        self._metrics = cache(lambda path: trec.read_metrics(intact.made(path)))
        self._texts = cache(self._read_texts)
        self._ledger: dict[tuple[str, str, str], list[LedgerRow]] = {}
        for row in folder.ledger:
            self._ledger.setdefault((row.table, row.row, row.column), []).append(row)

    def behind(self, sheet: Sheet) -> Data:
        """Return the data behind a page's numbers or claims; {} for a page without either."""
        if sheet.entry.claims:
            return self._claims(sheet)
        if sheet.job is None:
            return {}
        sets: dict[tuple[str, ...], tuple[int, str]] = {}  # query ids: number of the set, split
        values, reasons = dict[str, Values](), dict[str, int]()
        cells = Data()
        for cell in sheet.cells:
            made = explaining.made(cell, self._metrics)
            shown_values = explaining.per_query(made[:1])
            if not shown_values.is_empty():
                new = len(sets), str(cell.line.split_ref)
                number, _ = sets.setdefault(tuple(shown_values["query_id"]), new)
                values[cell.place] = Values(number, shown_values["value"].to_numpy())
            cells[cell.place] = self._cell(cell, made, reasons)
        tests = tests_of(self._folder, sheet)
        step = step_of(values)
        return {
            "page": sheet.name,
            "results": self._folder.named,
            "labels": _labels(sheet.job),
            "cells": cells,
            "step": step,
            "values": {place: number.packed(step) for place, number in values.items()},
            "sets": [self._set(ids, *at, values, tests) for ids, at in sets.items()],
            "tests": _packed(tests),
            "reasons": list(reasons),
            "provenance": self._provenance.behind(
                key for cell in cells.values() for key in cell["from"]
            ),
        }

    def _claims(self, sheet: Sheet) -> Data:
        cells, reasons, labels = Data(), dict[str, int](), dict[str, str]()
        pages = {other.name: other for other in self._folder.sheets}
        for claim in sheet.entry.claims:
            at = (sheet.name, claim.id)
            rows = [row for key, alike in self._ledger.items() if key[:2] == at for row in alike]
            made: Data = {
                "header": shown(claim.says),
                "verdicts": [_verdict(row, reasons) for row in rows],
            }
            if claim.holds:
                rests = page_id(sheet.paper, claim.holds.page)
                made["rests"] = rests
                if (other := pages.get(rests)) and other.job:
                    made["places"] = [cell.place for cell in other.cells]
                    labels |= _labels(other.job)
            cells[claim.id] = _without_nothing(made)
        return {
            "claims": True,
            "page": sheet.name,
            "labels": labels,
            "cells": cells,
            "tests": _packed(tests_of(self._folder, sheet)),
            "reasons": list(reasons),
        }

    def _cell(self, cell: Cell, made: list[derived.Value], reasons: dict[str, int]) -> Data:
        """Return a number's data; its reasons are indices into the page's list of reasons."""
        line = cell.line
        rows = self._ledger.get((line.table, line.row, line.column), [])
        why = line.not_run and shown(f"{line.absence}: {line.not_run}")
        known = {
            "address": cell.address,
            "header": shown(explaining.header(cell)),
            "measure": line.measure,
            "split": line.split_ref,
            "n": line.n,
            "measured": line.measured,
            "seeds": [float(value) for value in str(line.per_seed or "").split()],
            "std": line.std,
            "interval": explaining.interval(cell),
            "change_from": cell.page.change_from(line.row, line.column),
            "counts": explaining.counts(cell, made),
            "reported": cell.page.entry.reported.get(line.row, {}).get(line.column),
            "absence": why and reasons.setdefault(why, len(reasons)),
            "verdicts": [_verdict(row, reasons) for row in rows],
        }
        return _without_nothing(known) | {"from": self._provenance.keys(cell.roots)}

    def _set(
        self,
        ids: tuple[str, ...],
        number: int,
        split: str,
        values: Mapping[str, Values],
        tests: list[Test],
    ) -> Data:
        """Return the ids of a set of queries, and the texts that a chart may show."""
        by_number = {
            place: number_values.values
            for place, number_values in values.items()
            if number_values.queries == number
        }
        named = sorted({int(n) for order in _orders(by_number, tests) for n in _ends(order)})
        texts = self._texts(split)
        return {
            "split": split,
            "ids": [shown(query) for query in ids],
            "texts": {n: shown(texts[ids[n]]) for n in named if ids[n] in texts},
        }

    def _read_texts(self, split_ref: str) -> dict[str, str]:
        """Return the query texts of a split, or {} if the folder lacks them, as a bundle does."""
        dataset, _, split = split_ref.partition("/")
        path = self._folder.results / PATHS.queries.fill(dataset=dataset, split=split)
        return trec.read_queries(path) if path.is_file() else {}


def step_of(values: Mapping[str, Values]) -> float:
    """Return the page's step, by which equal values become equal integers in every row."""
    largest = (float(np.abs(number.values).max(initial=0.0)) for number in values.values())
    return max(largest, default=0.0) / STEPS or 1.0


def _orders(values: Mapping[str, np.ndarray], tests: list[Test]) -> Iterator[np.ndarray]:
    """Yield the arrays that charts sort: each number's values, and each test's differences."""
    yield from values.values()
    for test in tests:
        a, b = (values.get(f"{row}/{test.column}") for row in (test.a, test.b))
        if a is not None and b is not None and len(a) == len(b):
            yield a - b


def _ends(values: np.ndarray) -> np.ndarray:
    """Return the indices of the smallest and the largest values; ties go to the first."""
    down, up = (np.argsort(signed, kind="stable")[:ENDS] for signed in (-values, values))
    return np.concatenate([down, up])


def _labels(page: Judged) -> dict[str, str]:
    return {row: shown(label) for row, label in page.entry.labels().items()}


def _packed(tests: list[Test]) -> Data:
    return {"names": Test._fields, "rows": [[*test] for test in tests]}


def _verdict(row: LedgerRow, reasons: dict[str, int]) -> Data:
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


def _without_nothing(data: Data) -> Data:
    return {key: value for key, value in data.items() if value not in (None, "", [])}
