"""Docs and splits in the form that every source of collections gives them.

Usage: `join_fields(record, source)` for a doc, `Rows(queries, qrels, answers)` for a split.
"""

import math
from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from residuum.cli.errors import ResiduumError
from residuum.config.schema.files import InFiles
from residuum.config.schema.sources import IrdsSource

MOST_QUOTED = 60  # characters shown of a faulty value


class Rows(NamedTuple):
    """A split: (query_id, text), (query_id, doc_id, relevance), {query_id: answers}.

    `reworded` of an adverse split counts its changed queries, and the words replaced in them.
    """

    queries: list[tuple[str, str]]
    qrels: list[tuple[str, str, int]]
    answers: Mapping[str, list[str]] = {}
    files: Sequence[Path] = ()  # the files that ir_datasets read
    reworded: Mapping[str, int] = {}

    def of_queries(self, ids: Container[str]) -> "Rows":
        """Return the rows of the given query ids, in the same order."""
        return Rows(
            [row for row in self.queries if row[0] in ids],
            [row for row in self.qrels if row[0] in ids],
            {query_id: texts for query_id, texts in self.answers.items() if query_id in ids},
        )


def join_fields(record: Mapping[str, object], source: IrdsSource | InFiles) -> dict[str, str]:
    """Join a doc's text fields into `text`; keep several text fields, and `fields`, by name.

    A field that is itself called text, beside a title say, is kept as `body`. A missing field is a
    ValueError.
    """
    names = [*source.text_fields, *source.fields]
    if missing := [name for name in ("doc_id", *names) if name not in record]:
        raise ValueError(f"no field {', '.join(missing)}; the doc has {', '.join(record)}")
    values = {name: _plain(record[name]) for name in names}
    text = " ".join(values[name] for name in source.text_fields if values[name])
    kept = names if len(source.text_fields) > 1 else source.fields
    if "text" in kept and "body" in kept:
        raise ResiduumError("a doc has the fields text and body: name one of them, not both")
    return {"text": text, **{("body" if n == "text" else n): values[n] for n in kept}}


def _plain(value: object) -> str:
    """Return a field as text: a number as written, None as "", the sections of a body joined.

    NaN, a boolean, and a field with fields of its own are ValueErrors.
    """
    if isinstance(value, (list, tuple)):
        return " ".join(part for part in map(_plain, value) if part)
    if isinstance(value, bool | dict) or (isinstance(value, float) and not math.isfinite(value)):
        raise ValueError(f"a field must hold text, found {value!r}"[:MOST_QUOTED])
    return "" if value is None else str(value)


def unquoted(value: str) -> str:
    """Return a value without CSV's surrounding quotes; doubled quotes become single.

    An unclosed quote is a ValueError.
    """
    if not value.startswith('"'):
        return value
    inner = value[1:-1]
    if len(value) < 2 or value[-1] != '"' or '"' in inner.replace('""', ""):
        raise ValueError(f"a quote is not closed, or not doubled: {value[:MOST_QUOTED]}")
    return inner.replace('""', '"')
