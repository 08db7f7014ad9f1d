"""The answers to the queries of a split, as JSON lines: one writer, one validating reader.

Usage: `write(path, {"0": ["Wilhelm Conrad Röntgen"]})`, `read(path)`.
Must not know where answers come from or how docs are searched for them.
"""

import json
from collections.abc import Mapping
from pathlib import Path

from residuum.artefacts import files
from residuum.cli.errors import ResiduumError


def write(path: Path, answers: Mapping[str, list[str]]) -> None:
    """Write `{"query_id": ..., "answers": [...]}` for each query, in the order given."""
    lines = (
        json.dumps({"query_id": query_id, "answers": found}, ensure_ascii=False) + "\n"
        for query_id, found in answers.items()
    )
    files.write_text(path, "".join(lines))


def read(path: Path) -> dict[str, list[str]]:
    """Read {query_id: answers}; a query has one answer or more."""
    answers: dict[str, list[str]] = {}
    for number, line in enumerate(files.read_lines(path), start=1):
        try:
            record = json.loads(line)
            answers[record["query_id"]] = list(record["answers"])
        except (ValueError, KeyError, TypeError) as error:
            raise ResiduumError(f"{path}, line {number}: {error}; found {line[:60]!r}") from None
        if not answers[record["query_id"]]:
            raise ResiduumError(f"{path}, line {number}: query {record['query_id']} has no answer")
    return answers
