"""Read files of records: JSON lines, CSV, Parquet, Arrow, or TSV without a header.

Usage: `for where, record in records(path): ...`. `where` names file and line, for messages.
"""

import csv
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from residuum.artefacts import trec
from residuum.cli import scalars
from residuum.cli.errors import ResiduumError
from residuum.collections.lines import MOST_SHOWN, ended, numbered
from residuum.config import roots

Record = Mapping[str, object]
ROWS_AT_ONCE = 10_000  # rows of a Parquet file in memory
MOST_NESTED = 50  # nesting levels in a record
CR = "Was it made by an old Mac? Lines end with LF, not with CR alone: convert the file"
TSV = ("doc_id", "text")
# Words of a header, which TSV has elsewhere: of the first column, and of the others.
FIRST = {"doc_id", "docid", "docno", "query_id", "query-id", "qid", "id", "_id", "pid"}
OTHERS = {"text", "title", "body", "url", "contents", "passage", "query", "question"}
ARROW = b"ARROW1"
# Column names of others: BEIR, its datasets on the hub, and common JSON.
KNOWN = {
    "doc_id": ("doc_id", "_id", "id", "corpus-id"),
    "query_id": ("query_id", "_id", "id", "query-id"),
    "relevance": ("relevance", "score"),
}


def named(path: Path) -> bool:
    """Say whether a file's form, by its ending, has named columns."""
    return roots.ending(path) in NAMED


def records(path: Path, columns: Sequence[str] = ()) -> Iterator[tuple[str, Record]]:
    """Yield (where, record) in the file's order; `where` is such as `docs.jsonl, line 7`.

    A form without column names is TSV with these `columns`. By default they are doc_id and text,
    and the text may hold tabs. A line that is no such record raises ResiduumError.
    """
    read = NAMED.get(roots.ending(path))
    if read and columns:
        text = "its columns have names; `columns` in the source is of TSV: leave it out"
        raise ResiduumError(f"{path}: {text}, and say what differs by `names`.")
    yield from read(path) if read else _tsv(path, tuple(columns) or TSV)


def _jsonl(path: Path) -> Iterator[tuple[str, Record]]:
    for number, line in numbered(path):
        where = f"{path}, line {number}"
        try:
            record = json.loads(line, object_pairs_hook=_once)
        except json.JSONDecodeError as error:
            text = f"not JSON ({error.msg} at character {error.pos + 1}): {line[:MOST_SHOWN]}"
            again = "Was the file cut short? Get it again; it has one object a line"
            again = CR if "\r" in line else again
            raise ResiduumError(f"{where}: {text}. {again}.") from None
        except ValueError as error:
            raise ResiduumError(f"{where}: {error}") from None
        except RecursionError:
            record = None
        if line.count("[") + line.count("{") > MOST_NESTED and _deep(record):
            text = f"nested too deeply, more than {MOST_NESTED} levels: {line[:MOST_SHOWN]}"
            raise ResiduumError(f"{where}: {text}")
        if not isinstance(record, dict):
            text = f"expected a JSON object, found {line[:MOST_SHOWN]}"
            raise ResiduumError(f"{where}: {text}")
        yield where, record


def _deep(record: object) -> bool:
    """Say whether values are nested more than 50 levels deep; None means too deep to be read.

    Functions that walk through a record call themselves for each level.
    """
    level = [record] if isinstance(record, dict | list) else []
    for _ in range(MOST_NESTED):
        values = (one.values() if isinstance(one, dict) else one for one in level)
        level = [part for parts in values for part in parts if isinstance(part, dict | list)]
    return bool(level) or record is None


def _once(pairs: list[tuple[str, object]]) -> Record:
    """Return an object's pairs as a dict; a repeated key is a ValueError."""
    record = dict(pairs)
    if len(record) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"key {max(keys, key=keys.count)} is given twice")
    return record


def _tsv(path: Path, columns: tuple[str, ...]) -> Iterator[tuple[str, Record]]:
    for number, line in numbered(path):
        values = line.split("\t", 1) if columns == TSV else line.split("\t")
        if len(values) != len(columns):
            text = f"expected {' TAB '.join(columns)}, found {line[:MOST_SHOWN]!r}"
            known = f"Other forms are known by their endings: {', '.join(NAMED)}"
            raise ResiduumError(f"{path}, line {number}: {text}. {known}.")
        if number == 1:
            refuse_header(path, line)
        if columns == TSV and re.search(r"\r\S+\t", values[1]):
            raise ResiduumError(f"{path}, line {number}: several docs in one line. {CR}.")
        yield f"{path}, line {number}", dict(zip(columns, values, strict=True))


def refuse_header(path: Path, line: str) -> None:
    """Raise ResiduumError if the first line of a TSV file is a header; TSV has none here."""
    first, *others = line.lower().split("\t")
    if first in FIRST and others and {*others} <= OTHERS:
        raise ResiduumError(f"{path}, line 1: a header, {line!r}. Delete it: TSV has none.")


def _csv(path: Path) -> Iterator[tuple[str, Record]]:
    return csv_rows(path, (line for _, line in ended(path)))


def csv_rows(
    path: Path | str, lines: Iterable[str], remedy: str = "Fix the line."
) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield (where, row) of CSV with a header; another text raises ResiduumError."""
    csv.field_size_limit(sys.maxsize)  # a long doc is one field
    reader = csv.reader(lines, strict=True)
    header, start = list[str](), 1
    try:
        for cells in reader:
            where, start = f"{path}, line {start}", reader.line_num + 1
            if cells and header and len(cells) != len(header):
                text = f"{len(cells)} columns, where the header has {len(header)}"
                shown = ",".join(cells)[:MOST_SHOWN]
                raise ResiduumError(f"{where}: {text}: {shown!r}. {remedy}")
            if cells and header:
                yield where, dict(zip(header, cells, strict=True))
            header = header or once(where, cells)
    except csv.Error as error:
        hint = "Double a quote within quotes, and close them; a line ends with LF, not CR alone"
        raise ResiduumError(f"{path}, line {start}: not CSV ({error}). {hint}. {remedy}") from None
    if not header:
        raise ResiduumError(f"{path}: not CSV with a header: the file is empty. {remedy}")


def once(where: str, names: list[str]) -> list[str]:
    """Return the names in a header; a repeated name raises ResiduumError."""
    if twice := [name for name in names if name and names.count(name) > 1]:
        text = f"the header has {twice[0][:MOST_SHOWN]!r} twice; which column is meant?"
        raise ResiduumError(f"{where}: {text} Rename one.")
    return names


def _parquet(path: Path) -> Iterator[tuple[str, Record]]:
    import polars as pl

    try:
        lazy = pl.scan_parquet(path, glob=False)
        for start in range(0, lazy.select(pl.len()).collect().item(), ROWS_AT_ONCE):
            rows = lazy.slice(start, ROWS_AT_ONCE).collect()
            # Reading numbers as integers loses no leading zeros: a column of numbers has none.
            for number, record in enumerate(rows.iter_rows(named=True), start=start + 1):
                where = f"{path}, row {number}"
                yield where, _texts(where, record)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        text = f"cannot be read as Parquet ({error})"
        raise ResiduumError(f"{path}: {text}. Get the file again.") from None


def _arrow(path: Path) -> Iterator[tuple[str, Record]]:
    """Read Arrow data: a stream, as datasets' save_to_disk writes, or Arrow's file format."""
    import polars as pl

    try:
        with open(path, "rb") as handle:
            stream = handle.read(len(ARROW)) != ARROW
        table = (pl.read_ipc_stream if stream else pl.read_ipc)(path)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        text = f"cannot be read as Arrow ({error})"
        raise ResiduumError(f"{path}: {text}. Get the file again.") from None
    for number, record in enumerate(table.iter_rows(named=True), start=1):
        where = f"{path}, row {number}"
        yield where, _texts(where, record)


def _texts(where: str, record: Record) -> Record:
    """Return a record whose integers and bytes have become texts; bytes must be UTF-8."""
    try:
        return {name: _text(value) for name, value in record.items()}
    except UnicodeDecodeError as error:
        text = f"bytes that are not UTF-8 ({error.reason}): {error.object[:MOST_SHOWN]!r}"
        raise ResiduumError(f"{where}: {text}. Write the column as text.") from None


def _text(value: object) -> object:
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, list):
        return [_text(part) for part in value]
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


NAMED: dict[str, Callable[[Path], Iterator[tuple[str, Record]]]] = {
    ".jsonl": _jsonl,
    ".ndjson": _jsonl,
    ".csv": _csv,
    ".parquet": _parquet,
    ".arrow": _arrow,
}


ENDINGS = f"{', '.join(NAMED)} or .tsv, gzipped or not"


def writable(text: str) -> bool:
    """Say whether UTF-8 can hold a text; escapes in JSON can split a character in two."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def value(record: Record, meaning: str, names: Mapping[str, str]) -> object:
    """Return the value in the column of a doc_id, a query_id or a relevance.

    `names` maps the file's own column names, and precedes the known names. Without such a column
    the result is a ValueError.
    """
    given = [theirs for theirs, ours in names.items() if ours == meaning]
    column = next((name for name in (*given, *KNOWN[meaning]) if name in record), None)
    if column is None:
        has, say = ", ".join(record), f"source.names: {{COLUMN: {meaning}}}"
        raise ValueError(f"no field {meaning}; the record has {has}. Say which it is: {say}")
    return record[column]


def id_of(record: Record, meaning: str, names: Mapping[str, str]) -> str:
    """Return a record's doc_id or query_id; ValueError unless it is text without white space."""
    given = value(record, meaning, names)
    if not isinstance(given, str):
        shown = json.dumps(given, default=str)
        text = f"{meaning} must be text, in quotes: 007 is another id than 7; found {shown}"
        raise ValueError(text)
    if given.split() != [given]:
        raise ValueError(f"the id {given!r} is empty or holds white space")
    return given


def grade_of(record: Record, names: Mapping[str, str]) -> int:
    """Return a judgement's relevance as an integer; any other value is a ValueError."""
    given = value(record, "relevance", names)
    grade = scalars.number(str(given).strip())
    if grade is None or grade != grade // 1:
        raise ValueError(f"relevance must be a whole number, found {given!r}")
    if abs(grade) > trec.MOST_RELEVANCE:
        most = f"between -{trec.MOST_RELEVANCE} and {trec.MOST_RELEVANCE}"
        raise ValueError(f"relevance must lie {most}, found {str(given)[:MOST_SHOWN]!r}")
    return int(grade)
