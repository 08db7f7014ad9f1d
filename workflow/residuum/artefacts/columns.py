"""Write tables of text lines, and read them strictly; errors name the bad line.

Usage: `columns.read(path, {"query_id": pl.String, "value": pl.Float64}, header=True)`.
"""

import codecs
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

import polars as pl

from residuum.artefacts import files, intact
from residuum.cli.errors import NotRun, ResiduumError

Columns = dict[str, type[pl.DataType]]
REFUSED = "# not run: "
MOST_SHOWN = 200  # characters of a line that cannot be read
RECODE = "Write the file in UTF-8, as by iconv -f latin1 -t utf-8, or get it again."


def csv(table: pl.DataFrame, separator: str) -> str:
    """Return the lines of a table, without a header."""
    return table.write_csv(None, separator=separator, include_header=False, quote_style="never")


def read(path: Path, columns: Columns, header: bool = False) -> pl.DataFrame:
    """Read lines with the given columns; with a header, tabs separate them, else white space.

    A line that does not fit raises ResiduumError with its number. A file that holds a reason
    instead of lines raises NotRun.
    """
    text = files.read_bytes(intact.checked(path)).removeprefix(codecs.BOM_UTF8)
    if text.startswith(REFUSED.encode()):
        raise NotRun(text.decode(errors="replace").removeprefix(REFUSED).strip())
    if text.startswith(files.GZIP):
        raise ResiduumError(f"{path}: gzip data in a file that is not named .gz; rename it")
    if not text or text.isspace():
        raise ResiduumError(f"{path}: the file is empty; expected columns {', '.join(columns)}")
    files.refuse_joined(path, text)
    names = text.partition(b"\n")[0].decode(errors="replace")
    if header and names != "\t".join(columns):
        raise ResiduumError(
            f"{path}, line 1: expected {', '.join(columns)}, found {names[:MOST_SHOWN]!r}"
        )
    odd = not header and (b"\t" in text or b"\r" in text)
    table = None if odd else _parsed(text, columns, header)
    if table is None and not header:  # retry with single spaces, as trec_eval reads
        text = b"\n".join(b" ".join(line.split()) for line in text.rstrip().splitlines()) + b"\n"
        table = _parsed(text, columns, header)
    if table is None:
        _refuse_line(path, text, columns, header)
    return table


def read_parts(path: Path, columns: Columns, size: int) -> Iterator[pl.DataFrame]:
    """Yield lines as `read` reads them, in parts of about `size` bytes; memory holds one part.

    What is no plain table of lines is read whole, and gives the error of `read`.
    """
    done, blocks = 0, iter(files.read_blocks(intact.checked(path), size) if path.is_file() else ())
    while True:
        try:
            text = next(blocks, None)
        except ResiduumError:
            if done:
                raise
            break
        if text is None and done:
            return
        table = _parsed(text, columns, header=False) if text and _plain(text) else None
        if table is None:
            break
        done += table.height
        yield table
    yield read(path, columns).slice(done)


def _plain(text: bytes) -> bool:
    """Say whether a block is of lines alone, without tabs, carriage returns, byte order marks."""
    others = codecs.BOM_UTF8, REFUSED.encode(), files.GZIP
    odd = b"\t" in text or b"\r" in text or b"\n" + codecs.BOM_UTF8 in text
    return not odd and not text.startswith(others)


def _parsed(text: bytes, columns: Columns, header: bool) -> pl.DataFrame | None:
    """Return a table, or None if a line has other columns, or a value that is no number."""
    separator = "\t" if header else " "
    with suppress(pl.exceptions.PolarsError):
        table = pl.read_csv(
            text, separator=separator, has_header=header, schema=columns, quote_char=None
        )
        return None if table.null_count().sum_horizontal().item() else table
    return None


def _refuse_line(path: Path, text: bytes, columns: Columns, header: bool) -> NoReturn:
    lines = text.removesuffix(b"\n").split(b"\n")[header:]
    for number, coded in enumerate(lines, 1 + header):
        try:
            line = coded.decode()
        except UnicodeDecodeError as error:
            fault = f"not UTF-8 ({error.reason} at byte {error.start} of the line)"
            raise ResiduumError(f"{path}, line {number}: {fault}. {RECODE}") from None
        words = line.split("\t" if header else " ")
        if len(words) != len(columns) or not all(words):
            rule = f"expected {len(columns)} columns ({', '.join(columns)})"
            raise ResiduumError(
                f"{path}, line {number}: {rule}, found {len(words)}: {line[:MOST_SHOWN]!r}"
            )
        for (name, dtype), word in zip(columns.items(), words, strict=True):
            if pl.Series([word]).cast(dtype, strict=False).null_count():
                rule = f"{name} must be a number, found {word!r}"
                raise ResiduumError(f"{path}, line {number}: {rule}")
    raise ResiduumError(f"{path}: cannot be read")


def repeats(*columns: str) -> pl.Expr:
    """Return an expression: whether an earlier line has the same values in these columns."""
    return ~pl.struct(*columns).is_first_distinct()


def refuse(path: Path, table: pl.DataFrame, bad: pl.Expr, rule: str, header: bool = False) -> None:
    """Raise an error that names the first bad line, its values, and the number of bad lines."""
    lines = table.with_row_index("line", 1 + header).filter(bad)
    if lines.height:
        line, *values = lines.row(0)
        shown = ", ".join(map("{} {}".format, table.columns, values))
        more = f" ({lines.height} such lines)" if lines.height > 1 else ""
        raise ResiduumError(f"{path}, line {line}: {rule}; found {shown}{more}")
